"""Models with the descriptor power_spectrum in runs of LAMMPS: made from nothing by `pair_coeff * * new`, learned and used on any
number of ranks, in chunks of any size, in both precisions, beside other styles, in Python. Their formulas are tested in the
library."""

import numpy as np
import pytest

from lammps_runner import run_lammps
from silicon import ATOMS, learn

NKTV2P = 1.6021765e6  # units metal
RATTLE = "displace_atoms all random 0.1 0.1 0.1 4711 units box\n"
NEW = "pair_style dptrain\npair_coeff * * new Si"
# silicon carbide in a tilted cell
CARBIDE = """units metal
atom_modify map yes
lattice diamond 4.36
region box prism 0 2 0 2 0 2 0.5 0.3 -0.4
create_box 2 box
create_atoms 1 box basis 5 2 basis 6 2 basis 7 2 basis 8 2
mass * 20.0
velocity all create 2000 87287 loop geom
timestep 0.001
""" + RATTLE
LEARN = """pair_style dptrain
pair_coeff * * new Si C
fix t all dptrain mode passive reference pair tersoff coeff "* * SiC.tersoff Si C" end every 3 warmup 3 train 10 save 1000 sic.dp
fix n all nve
run 15
"""
USE = "pair_style dptrain {words}\npair_coeff * * {folder}/sic.dp {elements}\n"
REPORT = """thermo_style custom step pe pxx pyy pzz pxy pxz pyz lx ly lz xy xz yz
thermo_modify format float %.17g
dump report all custom 1 {name}.dump id type x y z fx fy fz
dump_modify report sort id format float %.17g
run 0
"""


@pytest.fixture(scope="module")
def carbide(tmp_path_factory):
    """Folder with sic.dp, a model of silicon and carbon that has learned a few frames."""
    folder = tmp_path_factory.mktemp("carbide")
    run_lammps(folder, CARBIDE + LEARN).check()
    return folder


class Values:
    """Energy, pressures [6], cell [3][3] and types, positions and forces of all atoms, in an order that does not depend on the ranks."""

    def __init__(self, result, name):
        thermo = {key: values[0] for key, values in result.thermo().items()}
        self.energy, self.pressure = thermo["PotEng"], np.array([thermo[k] for k in ("Pxx", "Pyy", "Pzz", "Pxy", "Pxz", "Pyz")])
        self.cell = np.array([[thermo["Lx"], 0, 0], [thermo["Xy"], thermo["Ly"], 0], [thermo["Xz"], thermo["Yz"], thermo["Lz"]]])
        rows = result.dump(f"{name}.dump")
        rows = rows[np.lexsort(np.round(rows[:, 2:5].T, 6))]
        self.types, self.positions, self.forces = rows[:, 1].astype(int), rows[:, 2:5], rows[:, 5:]


@pytest.fixture
def evaluate(lammps, carbide):
    """Function: name, words of the pair style, ranks -> Values of the carbide crystal at rest."""
    def values(name, words="", ranks=1, elements="Si C", pair=USE, atoms=CARBIDE):
        pair = pair.format(words=words, folder=carbide, elements=elements)
        return Values(lammps(atoms + "velocity all set 0 0 0\n" + pair + REPORT.format(name=name), ranks).check(), name)
    return values


def difference(found, expected):
    """Largest difference of energy, pressures and forces, each relative to its largest value."""
    return max(np.abs(a - b).max() / np.abs(b).max() for a, b in ((found.energy, expected.energy), (found.pressure, expected.pressure),
                                                                  (found.forces, expected.forces)))


def losses(lammps, ranks, optimizer):
    """Loss of each of the steps of a new model, while the reference moves the atoms."""
    text = learn(f"every 1 warmup 2 train 1 follow reference optimizer {optimizer}", pair=NEW, run="run 30", thermo="thermo 1\n")
    return lammps(text.replace("velocity", RATTLE + "velocity"), ranks).check().thermo()["f_t"][1:]


@pytest.mark.parametrize("optimizer, later", [("adam", 1e-11), ("soap", 1e-6)])
def test_the_same_training_on_any_ranks(optimizer, later, lammps):
    """Two labels are one step of rounding alone. What the optimizer makes of it in thirty steps was 2e-13 with Adam; 1e-8 with SOAP,
    in whose bases directions of the same size turn into each other."""
    one = losses(lammps, 1, optimizer)
    assert len(one) == 30 and one.min() < 0.8 * one[0]
    for ranks in (2, 4):
        growth = np.abs(losses(lammps, ranks, optimizer) / one - 1)
        assert growth[0] < 1e-12 and growth.max() < later, ranks


def test_ranks_and_chunks_do_not_matter(evaluate):
    """Sums in another order: 1e-12 of the largest value."""
    one = evaluate("one")
    assert np.abs(one.forces).max() > 1 and np.abs(one.pressure).max() > 1e4  # eV/Angstrom, bar
    for words, ranks in (("", 2), ("", 4), ("chunk 1", 1), ("chunk 7", 2), ("chunk 100000", 1)):
        assert difference(evaluate("other", words, ranks), one) < 1e-12, (words, ranks)


def test_single_precision(evaluate):
    """24 binary digits in each number, some hundred of them in a sum."""
    assert 1e-9 < difference(evaluate("single", "precision single"), evaluate("double")) < 1e-5


def test_forces_and_pressure_are_derivatives_of_the_energy(lammps, carbide):
    """fix numdiff moves each atom and strains the box by 1e-4: central differences err by about 1e-7 of the forces."""
    text = CARBIDE + USE.format(words="", folder=carbide, elements="Si C") + """fix f all numdiff 1 1e-4
fix v all numdiff/virial 1 1e-4
compute p all pressure NULL virial
thermo_style custom step pe c_p[1] c_p[2] c_p[3] c_p[4] c_p[5] c_p[6] f_v[1] f_v[2] f_v[3] f_v[6] f_v[5] f_v[4]
thermo_modify format float %.17g
dump d all custom 1 numdiff.dump id fx fy fz f_f[1] f_f[2] f_f[3]
dump_modify d format float %.17g
run 0
"""
    result = lammps(text, 2).check()
    table, thermo = result.dump("numdiff.dump"), result.thermo()
    assert np.abs(table[:, 1:4] - table[:, 4:7]).max() < 2e-6 * np.abs(table[:, 1:4]).max()
    pressure, differences = (np.array([thermo[f"{name}[{k}]"][0] for k in order])
                             for name, order in (("c_p", (1, 2, 3, 4, 5, 6)), ("f_v", (1, 2, 3, 6, 5, 4))))
    assert np.abs(pressure - differences).max() < 1e-5 * np.abs(pressure).max()


def test_null_atoms_are_not_there(evaluate):
    """Atoms of a type that is NULL change nothing."""
    three = CARBIDE.replace("create_box 2", "create_box 3") + "set group all type/fraction 3 0.2 12345\n"
    hybrid = "pair_style hybrid dptrain zero 4.0\npair_coeff * * dptrain {folder}/sic.dp Si C NULL\npair_coeff * 3 zero\n"
    with_null = evaluate("null", atoms=three, pair=hybrid)
    without = evaluate("without", atoms=three + "group none type 3\ndelete_atoms group none compress no\n", pair=hybrid)
    assert 40 < len(without.forces) < 60 and not with_null.forces[with_null.types == 3].any()
    with_null.forces = with_null.forces[with_null.types != 3]
    assert difference(with_null, without) < 1e-12


def test_elements_follow_the_atom_types(evaluate):
    """The same atoms with the types the other way round."""
    swapped = CARBIDE.replace("create_atoms 1 box basis 5 2 basis 6 2 basis 7 2 basis 8 2",
                              "create_atoms 2 box basis 5 1 basis 6 1 basis 7 1 basis 8 1")
    assert swapped != CARBIDE
    assert difference(evaluate("swapped", elements="C Si", atoms=swapped), evaluate("plain")) < 1e-12


def test_hybrid_overlay_is_the_sum(evaluate):
    zbl = "zbl 1.0 2.0\npair_coeff 1 1 {0}14 14\npair_coeff 1 2 {0}14 6\npair_coeff 2 2 {0}6 6\n"
    both = "pair_style hybrid/overlay dptrain {words} zbl 1.0 2.0\npair_coeff * * dptrain {folder}/sic.dp {elements}\n"
    overlay = evaluate("both", ranks=2, pair=both + zbl.format("zbl ").split("\n", 1)[1])
    model, alone = evaluate("model"), evaluate("zbl", pair="pair_style " + zbl.format(""))
    assert alone.energy > 1  # eV
    for name in ("energy", "pressure", "forces"):
        setattr(model, name, getattr(model, name) + getattr(alone, name))
    assert difference(overlay, model) < 1e-12


def test_a_new_model_beside_another_style(lammps):
    """`new` in a hybrid style, and learned from the run with `model new`: the same labels, the same training."""
    pair = "pair_style hybrid/overlay dptrain lj/cut 3.0\npair_coeff * * dptrain new Si\npair_coeff * * lj/cut 0 1"
    options, run = "every 2 warmup 2 train 5 follow reference seed 1", "run 8"
    zbl = 'baseline pair zbl 1.0 2.0 coeff "* * 14 14" end'
    overlay = lammps(learn(f"{options} {zbl}", pair=pair, run=run), 2).check()
    assert "new model from 2 frames" in overlay.output
    passive = lammps(learn(f"{options} {zbl} model new Si", pair="pair_style sw\npair_coeff * * Si.sw Si", reference="reference run",
                           run=run), 2).check()
    found, expected = overlay.thermo(), passive.thermo()
    assert found["f_t[7]"][-1] == expected["f_t[7]"][-1] == 25  # five for each label
    # labels are differences of large sums; SOAP lets their rounding grow
    assert np.allclose(found["f_t[4]"][1:], expected["f_t[4]"][1:], rtol=1e-6)


@pytest.mark.parametrize("ranks", [1, 2])
def test_resume_continues_to_the_same_numbers(ranks, lammps):
    """Bit by bit, from the checkpoint or with `new` and the settings that it stands for."""
    options = "every 5 warmup 2 train 5 save 1000 si.dp"
    whole = lammps(learn(options, pair=NEW, run="run 15\nrun 15"), ranks).check().thermo()
    lammps(learn(options, pair=NEW, run="run 15\nwrite_restart si.restart"), ranks).check()
    for model in ("si.dp.ckpt", "new"):
        text = learn(options.replace("si.dp", "next.dp") + " resume si.dp", pair=NEW.replace("new", model), run="run 15")
        rest = lammps("read_restart si.restart\n" + text.split("loop geom\n")[1], ranks).check()
        assert "resumed from si.dp.ckpt: 4 frames, 20 optimizer steps" in rest.output
        rows = rest.thermo()
        for name in ("f_t", "f_t[1]", "f_t[3]", "f_t[4]", "f_t[7]"):
            assert rest.same_numbers(rows[name][-1], whole[name][-1]), (model, name)


def test_tilted_cell_that_moves(lammps):
    """Constant pressure, tiled domains that are balanced: any number of ranks gives the same training."""
    atoms = ATOMS.replace("atom_style", "comm_style tiled\natom_style").replace("block 0 2 0 2 0 2", "prism 0 2 0 2 0 2 0.9 0.3 -0.4")
    text = learn("every 2 warmup 2 train 5 follow reference optimizer adam", pair=NEW, run="run 12", thermo="thermo 2\n",
                 integrate="fix n all npt temp 2000 2000 0.1 tri 0 0 1\nfix b all balance 3 1.0 rcb").replace(ATOMS, atoms)
    one, three = (lammps(text, ranks).check().thermo() for ranks in (1, 3))
    for name in ("PotEng", "Press", "f_t", "f_t[1]", "f_t[3]", "f_t[4]", "f_t[5]"):
        assert np.allclose(three[name], one[name], rtol=1e-7, atol=1e-10), name


def test_active_learning_from_nothing(lammps):
    """A new model labels every third step whatever `every` is; then the model moves the atoms, and its error is near what it says."""
    options = "mode active every 10 warmup 4 train 40 audit 0 accuracy 0.1 save 1000 si.dp"
    text = learn(options, pair=NEW, run="run 60", thermo="thermo 1\n").replace("velocity", RATTLE + "velocity")
    thermo = lammps(text, 2).check().thermo()
    labels, moved = thermo["f_t[1]"], thermo["f_t[15]"]
    assert list(labels[[0, 3, 6]]) == [1, 2, 3] and moved[0] == 0 and moved[-1] == 1
    assert thermo["f_t[2]"][-1] < 0.7 * len(labels)
    used = lammps(f"{ATOMS}pair_style dptrain\npair_coeff * * si.dp Si\ncompute u all dptrain/uncertainty/atom\n"
                  "compute m all reduce max c_u\nthermo_style custom step pe c_m\nrun 0\n").check()
    assert 0 < used.thermo()["c_m"][0] < np.inf and not used.warnings("Compute dptrain")


def test_python_has_the_same_numbers(evaluate, carbide):
    """Potential and ASE's calculator beside the pair style: energy, forces, stress of the tilted cell."""
    ase = pytest.importorskip("ase")
    dptrain = pytest.importorskip("dptrain")
    try:
        potential = dptrain.load(str(carbide / "sic.dp"))
    except ImportError as error:
        pytest.skip(f"the compiled module is not here: {error}")
    from dptrain.ase import Calculator

    expected = evaluate("lammps")
    symbols = [("Si", "C")[t - 1] for t in expected.types]
    found = potential.evaluate(expected.positions, symbols, expected.cell)
    assert found.energy == pytest.approx(expected.energy, rel=1e-12)
    assert np.abs(found.forces - expected.forces).max() < 1e-12 * np.abs(expected.forces).max()
    atoms = ase.Atoms(symbols, expected.positions, cell=expected.cell, pbc=True, calculator=Calculator(str(carbide / "sic.dp")))
    assert atoms.get_potential_energy() == found.energy and np.array_equal(atoms.get_forces(), found.forces)
    pressure = -atoms.get_stress()[[0, 1, 2, 5, 4, 3]] * NKTV2P
    assert np.abs(pressure - expected.pressure).max() < 1e-11 * np.abs(expected.pressure).max()
