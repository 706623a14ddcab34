"""References with long-range Coulomb or dispersion forces: a kspace style of the fix, beside none or another one of the run."""

import numpy as np
import pytest

from labels import NATIVE, assert_same, label_values, native_values, stored_values, system_of
from silicon import write_input

# rock salt that moves, with a density that does not fit to the ranks
SALT = """units metal
atom_style charge
atom_modify map yes
lattice fcc 5.64 origin 0.05 0.05 0.05
region box {region}
create_box 2 box
lattice fcc 5.64 origin 0.05 0.05 0.05
create_atoms 1 box
lattice fcc 5.64 origin 0.55 0.05 0.05
create_atoms 2 box
mass 1 22.99
mass 2 35.45
set type 1 charge 1.0
set type 2 charge -1.0
displace_atoms all random 0.2 0.2 0.2 4711 units box
velocity all create 1500 87287 loop geom
timestep 0.001
"""
BLOCK, PRISM = "block 0 2 0 2 0 3", "prism 0 2 0 2 0 3 0.3 -0.2 0.4"
COEFF = ["1 1 0.006 2.35", "2 2 0.0048 3.6", "1 2 0.0053 3.0"]
PAIR = "pair_style dptrain\npair_coeff * * input.json Na Cl\n"
# (style, coefficients, kspace, kspace_modify, pair_modify)
CASES = {
    "ewald": ("lj/cut/coul/long 6.0 7.0", COEFF, "ewald 1.0e-5", [], []),
    "pppm": ("lj/cut/coul/long 6.0 7.0", COEFF, "pppm 1.0e-5", ["order 4 gewald 0.35", "mesh 12 12 20"], []),
    "msm": ("lj/cut/coul/msm 6.0 7.0", COEFF, "msm 1.0e-3", ["pressure/scalar no"], []),
    "dispersion": ("lj/long/coul/long long long 7.0", COEFF, "ewald/disp 1.0e-4", [], []),
    "overlay": ("hybrid/overlay born 6.0 coul/long 7.0", ["* * born 0.1 0.3 2.5 1.0 1.0", "* * coul/long"], "pppm 1.0e-5", [], ["pair coul/long table 0"]),
    "hybrid": ("hybrid lj/cut/coul/long 6.0 7.0 lj/cut/coul/long 5.0 7.0",
               ["1 1 lj/cut/coul/long 1 0.006 2.35", "2 2 lj/cut/coul/long 2 0.0048 3.6", "1 2 lj/cut/coul/long 2 0.0053 3.0"], "pppm 1.0e-5", [], []),
}


def words(case, keyword="reference"):
    """Words of the keyword of the fix."""
    style, coeff, kspace, kspace_modify, modify = CASES[case]
    return f"{keyword} pair {style} " + " ".join(f'coeff "{c}"' for c in coeff) + "".join(f' modify "{m}"' for m in modify) + \
        f' kspace "{kspace}"' + "".join(f' kspace_modify "{m}"' for m in kspace_modify) + " end"


def native(case):
    """The same as commands."""
    style, coeff, kspace, kspace_modify, modify = CASES[case]
    return f"pair_style {style}\n" + "".join(f"pair_coeff {c}\n" for c in coeff) + "".join(f"pair_modify {m}\n" for m in modify) + \
        f"kspace_style {kspace}\n" + "".join(f"kspace_modify {m}\n" for m in kspace_modify)


@pytest.fixture
def salt(lammps, tmp_path):
    write_input(tmp_path, types=["Na", "Cl"])
    return lammps


@pytest.mark.parametrize("ranks", [1, 2, 4])
@pytest.mark.parametrize("case, region", [(case, BLOCK) for case in CASES] + [("ewald", PRISM), ("pppm", PRISM)])
def test_same_as_the_styles_of_a_run(case, region, ranks, salt, tmp_path):
    """The grid, the splitting and the sums are the same: nothing but rounding differs."""
    atoms = SALT.format(region=region)
    salt(f"{atoms}{PAIR}fix t all dptrain mode passive {words(case)} every 1 warmup 100 dataset data\nrun 0\n", ranks).check()
    assert_same(label_values(tmp_path / "data"), native_values(salt(atoms + native(case) + NATIVE, ranks)), 1e-11)


@pytest.mark.parametrize("ranks", [1, 2, 4])
@pytest.mark.parametrize("case", ["ewald", "pppm", "overlay"])
def test_driven_run_with_a_changing_box(case, ranks, salt):
    """The reference moves atoms and box, domains are balanced: trajectory, energy and pressure of a run with its styles.
    Splitting and grid are those of the first box in both, so that rounding alone, which 30 steps amplify, is left."""
    atoms = SALT.format(region=PRISM if case == "ewald" else BLOCK)
    move = "fix n all npt temp 1500 1500 0.05 {0} 0 0 0.05\nfix b all balance 5 1.0 shift xyz 5 1.01\nthermo 5\n" \
           "thermo_style custom step pe press vol\nthermo_modify format float %.17g\nrun 20\nchange_box all x scale 1.03 remap\nrun 10\n"
    move = move.format("tri" if case == "ewald" else "aniso")
    driven = salt(f"{atoms}{PAIR}fix t all dptrain mode passive {words(case)} every 100 warmup 100\n{move}", ranks).check().thermo()
    expected = salt(atoms + native(case) + move, ranks).check().thermo()
    assert np.ptp(expected["Volume"][:5]) > 1
    for name in ("PotEng", "Press", "Volume"):
        assert np.abs(driven[name] - expected[name]).max() < 1e-8 * np.abs(expected[name]).max(), name


@pytest.mark.parametrize("ranks", [1, 2])
def test_run_with_a_kspace_style_of_its_own(ranks, salt, tmp_path):
    """The run goes on as if there were no fix, and the label is not that of the run."""
    atoms = SALT.format(region=BLOCK)
    columns = "fix n all npt temp 1500 1500 0.05 aniso 0 0 0.05\nthermo 5\nthermo_style custom step pe press\nthermo_modify format float %.17g\n"
    dump = "dump d all custom 5 path.dump id type q x y z\ndump_modify d format float %.17g sort id\n"
    fix = f"fix t all dptrain model input.json Na Cl {words('pppm')} every 5 warmup 100 dataset data\n"
    with_fix = salt(f"{atoms}{native('ewald')}{fix}{columns}{dump}run 10\n", ranks).check().thermo()
    alone = salt(f"{atoms}{native('ewald')}{columns}run 10\n", ranks).check().thermo()
    for name in ("PotEng", "Press"):
        assert np.array_equal(with_fix[name], alone[name]), name
    labels = system_of(tmp_path / "data")
    # the grid of the first box is kept in the run, and made for each box here
    rerun = f"{atoms}{native('pppm')}thermo 5\nthermo_style custom step pe\nthermo_modify format float %.17g\nrerun path.dump dump x y z box yes\n"
    expected = salt(rerun, ranks).check().thermo()["PotEng"]
    assert np.abs(labels["energy"].ravel() - expected).max() < 1e-10 * np.abs(expected).max()
    assert np.abs(labels["energy"].ravel() - with_fix["PotEng"]).max() > 1e-7 * np.abs(expected).max()


@pytest.mark.parametrize("ranks", [1, 2])
def test_charges_as_a_baseline(ranks, salt, tmp_path):
    """What is left for the model of a reference with charges: the rest. The pair style of the run puts them in again."""
    atoms = SALT.format(region=BLOCK)
    baseline = 'baseline pair coul/long 7.0 coeff "* *" modify "table 0" kspace "pppm 1.0e-5" end'
    run = "thermo_style custom step pe press\nthermo_modify format float %.17g\nfix n all nve\nrun 5\n"
    driven = salt(f"{atoms}{PAIR}fix t all dptrain mode passive {words('overlay')} {baseline} every 100 warmup 100 dataset data\n{run}", ranks).check()
    expected = salt(atoms + native("overlay") + run, ranks).check().thermo()
    for name in ("PotEng", "Press"):
        assert np.abs(driven.thermo()[name] - expected[name]).max() < 1e-9 * np.abs(expected[name]).max(), name
    born = native_values(salt(f"{atoms}pair_style born 6.0\npair_coeff * * 0.1 0.3 2.5 1.0 1.0\n{NATIVE}", ranks))
    values = stored_values(tmp_path / "dptrain.t.frames", frame=0)
    # differences of numbers that are up to a hundred times larger
    assert_same(values, born, 1e-9)
