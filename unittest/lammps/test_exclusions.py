"""`neigh_modify exclude` and fixes that try moves: what is excluded from all others is not there for `pair_style dptrain`, other
exclusions are refused, and `fix dptrain` learns from the configurations of the run alone."""

import numpy as np
import pytest

from lammps_runner import REFERENCE
from silicon import write_input
from test_potentials import FOLDER

MODEL = FOLDER / "Si.mlearn.dp"
WATER = REFERENCE / "two_side"
# displacements come from positions, so that deleted atoms change nothing for the others
CRYSTAL = """units metal
{before}
atom_modify map yes
lattice diamond 5.431
region box block 0 2 0 2 0 2
create_box 2 box
create_atoms 1 box
mass * 28.0855
displace_atoms all random 0.1 0.1 0.1 4711
group one id 17 40
{types}
"""
PAIR = f"pair_style dptrain\npair_coeff * * {MODEL} Si Si\n"
REPORT = """compute e all pe/atom
compute s all stress/atom NULL virial
compute u all dptrain/uncertainty/atom
dump d all custom 1 {name}.dump id fx fy fz c_e c_s[1] c_s[4] c_u
dump_modify d sort id format float %.17g
thermo_style custom step atoms pe pxx pxy
thermo_modify format float %.17g
run 0
"""
DELETE = "delete_atoms group one compress no\n"


def crystal(pair=PAIR, before="", types="", exclude=""):
    return CRYSTAL.format(before=before, types=types) + pair + exclude + "\n"


def report(lammps, name, text, ranks=1):
    """Energy, pressures and dump of a single point."""
    result = lammps(text + REPORT.format(name=name), ranks).check()
    table = result.thermo()
    return result, np.array([table[c][-1] for c in ("PotEng", "Pxx", "Pxy")]), result.dump(f"{name}.dump")


@pytest.mark.parametrize("newton", ["on", "off"])
@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("style", ["dptrain", "hybrid/overlay dptrain zero 4.0"])
def test_hidden_atoms_are_not_there(style, ranks, newton, lammps):
    """Energy, virial, forces, energies, stresses and uncertainties of the others are those without the hidden atoms, to 1e-12 of
    the largest; hidden ones have zeros."""
    pair = f"pair_style {style}\npair_coeff * * {'dptrain ' if 'hybrid' in style else ''}{MODEL} Si Si\n"
    pair += "pair_coeff * * zero\n" if "hybrid" in style else ""
    before = f"newton {newton}"
    _, sums, atoms = report(lammps, "hidden", crystal(pair, before, exclude="neigh_modify exclude group one all"), ranks)
    _, expected, others = report(lammps, "deleted", crystal(pair, before, exclude=DELETE), ranks)
    assert sums == pytest.approx(expected, rel=1e-12)
    hidden = np.isin(atoms[:, 0], (17, 40))
    assert hidden.sum() == 2 and (atoms[hidden, 1:] == 0).all()
    np.testing.assert_allclose(atoms[~hidden], others, rtol=0, atol=1e-12 * np.abs(others).max())
    assert np.abs(others[:, 7]).min() > 0


def test_a_hidden_type(lammps):
    """Excluded from all types, said once; a type that is not excluded stays."""
    exclude = "neigh_modify exclude type 1 2\nneigh_modify exclude type 2 2"
    types = "set group one type 2"
    result, sums, _ = report(lammps, "hidden", crystal(types=types, exclude=exclude), 2)
    assert result.output.count("excludes atoms of type 2 from all others") == 1
    assert sums == pytest.approx(report(lammps, "deleted", crystal(types=types, exclude=DELETE))[1], rel=1e-12)


@pytest.mark.parametrize("ranks", [1, 2])
def test_hidden_atoms_beside_a_committee(ranks, lammps, tmp_path):
    """A committee on the same atoms agrees with itself where one of its members is the model: deviation zero, for hidden atoms too."""
    (tmp_path / "copy.dp").write_bytes(MODEL.read_bytes())
    pair = PAIR.replace("pair_style dptrain", "pair_style dptrain committee copy.dp end out_freq 1 atomic")
    lammps(crystal(pair, exclude="neigh_modify exclude group one all") + "run 0\n", ranks).check()
    row = np.loadtxt(tmp_path / "model_devi.out")
    assert row.shape == (7 + 64,) and np.abs(row).max() < 1e-12


@pytest.mark.parametrize("types, exclude", [
    ("set group one type 2", "type 1 1"), ("set group one type 2", "type 1 2"), ("", "group one one"),
    ("group rest subtract all one", "group one rest"), ("", "molecule/intra all"), ("", "molecule/inter all")])
def test_pairs_cannot_be_left_out(types, exclude, lammps):
    result = lammps(crystal(before="atom_style molecular", types=types, exclude=f"neigh_modify exclude {exclude}") + "run 0\n", 2)
    assert result.status != 0
    (line,) = [line for line in result.errors() if line.startswith("ERROR")]
    assert f"Pair style dptrain: 'neigh_modify exclude {exclude}' leaves out some pairs of an atom" in line
    assert "neigh_modify exclude group ID all" in line


@pytest.mark.parametrize("exclude", ["group none none", "type 2 2", "group one none"])
def test_exclusions_without_atoms_change_nothing(exclude, lammps):
    _, sums, _ = report(lammps, "x", crystal(types="group none empty", exclude=f"neigh_modify exclude {exclude}"))
    assert np.array_equal(sums, report(lammps, "y", crystal())[1])


def test_atoms_that_the_model_does_not_see_may_be_excluded(lammps):
    pair = f"pair_style hybrid/overlay dptrain zero 4.0\npair_coeff * * dptrain {MODEL} Si NULL\npair_coeff * * zero\n"
    system = {"pair": pair, "types": "set group one type 2"}
    text = REPORT.replace("c_u", "").replace("compute u all dptrain/uncertainty/atom", "")
    energies = [lammps(crystal(**system, exclude=e) + text.format(name="x")).check().thermo()["PotEng"][-1]
                for e in ("neigh_modify exclude type 2 2", "")]
    assert energies[0] == energies[1]


GAS = """units metal
atom_modify map yes
region b block 0 400 0 400 0 400
create_box 1 b
mass 1 28.0855
create_atoms 1 random 10 773 b overlap 30 maxtry 1000
pair_style dptrain
pair_coeff * * {model} Si
neighbor 0.5 bin
neigh_modify delay 0 every 1
variable kT equal 8.617333262e-5*10000
variable L3 equal (sqrt(4.135667403e-3^2/(2*PI*28.0855*1.0364269e-4*v_kT)))^3
variable mu equal v_kT*ln(10*v_L3/vol)+({e1})
fix g all gcmc 1 20 0 1 991 10000 $(v_mu) 0.1 full_energy
thermo 1
thermo_style custom step atoms pe
thermo_modify format float %.17g
run 300
"""


def test_ideal_gas_of_fix_gcmc(lammps):
    """Atoms that never meet: with this chemical potential there are ten in the mean (Poisson; about 150 independent values,
    so that 1.5 are five standard deviations), and the energy is that of so many separate atoms. Where a deleted atom keeps its
    energy there is one."""
    alone = lammps("units metal\nregion b block 0 400 0 400 0 400\ncreate_box 1 b\nmass 1 28.0855\ncreate_atoms 1 single 9 9 9\n"
                   f"pair_style dptrain\npair_coeff * * {MODEL} Si\nrun 0\nprint \"RESULT e $(pe:%.17g)\"\n").check().value("e")
    table = lammps(GAS.format(model=MODEL, e1=alone)).check().thermo()
    assert table["Atoms"][50:].mean() == pytest.approx(10, abs=1.5)
    assert table["PotEng"] == pytest.approx(table["Atoms"] * alone, rel=1e-9)


# --- moves that fixes try

GCMC = "fix m all gcmc 1 10 5 1 771 5000 -3.0 0.3 full_energy"
MOVES = {"gcmc": GCMC, "widom": "fix m all widom 1 5 1 4711 900 full_energy",
         "swap": "fix m all atom/swap 1 5 4711 900 types 1 2"}
DYNAMICS = """velocity all create 800 551 loop geom
thermo 1
thermo_style custom step atoms pe
fix n all nve
dump d all custom 2 run.dump id x y z
dump_modify d sort id format float %.17g
"""
LABELS = 'fix t all dptrain mode passive input input.json reference pair sw coeff "* * Si.sw Si Si" end every 2 train 1 dataset labels save 1000 x.dp'
MIXED = "set type 1 type/fraction 2 0.5 4711"


def frames_of(path):
    """Positions [atoms][3] of the frames of a dump."""
    blocks = path.read_text().split("ITEM: ATOMS id x y z\n")[1:]
    return [np.array([line.split()[1:] for line in block.split("ITEM")[0].splitlines()], float) for block in blocks]


def labels_of(folder):
    """Positions [atoms][3] and energy of all labels of a data set."""
    frames = []
    for system in folder.iterdir():
        for part in system.glob("set.*"):
            coord, energy = np.load(part / "coord.npy"), np.load(part / "energy.npy").ravel()
            frames += [(x.reshape(-1, 3), e) for x, e in zip(coord, energy)]
    return frames


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("where", ["before", "after"])
@pytest.mark.parametrize("move", MOVES)
def test_labels_are_of_the_run_alone(move, where, ranks, lammps, tmp_path):
    """One label for each step at which there is one, of the positions of that step, with the energy of a run of its own."""
    (tmp_path / "input.json").write_text('{"optimizer": {"type": "Adam"}, "learning_rate": {"type": "exp", "start_lr": 1e-30, "stop_lr": 1e-30}}')
    fixes = [MOVES[move], LABELS] if where == "before" else [LABELS, MOVES[move]]
    table = lammps(crystal(types=MIXED) + DYNAMICS + "\n".join(fixes) + "\nrun 6\n", ranks).check().thermo()
    labels = labels_of(tmp_path / "labels")
    steps = frames_of(tmp_path / "run.dump")
    assert len(labels) == len(steps) == 4
    if move == "gcmc":
        assert len(set(table["Atoms"])) > 1
    box = 2 * 5.431
    for x in steps:
        found = [e for y, e in labels if y.shape == x.shape and np.abs((x - y + box / 2) % box - box / 2).max() < 1e-9]
        assert len(found) == 1
        atoms = "\n".join(f"create_atoms 1 single {a:.17g} {b:.17g} {c:.17g}" for a, b, c in x % box)
        single = lammps(f"units metal\nregion b block 0 {box} 0 {box} 0 {box}\ncreate_box 1 b\nmass 1 28.0855\n{atoms}\n"
                        'pair_style sw\npair_coeff * * Si.sw Si\nrun 0\nprint "RESULT e $(pe:%.17g)"\n').check()
        assert found[0] == pytest.approx(single.value("e"), abs=1e-6)


@pytest.mark.parametrize("move", MOVES)
def test_learning_leaves_the_moves_alone(move, lammps, tmp_path):
    """Before the first label the run is the one without learning."""
    (tmp_path / "input.json").write_text('{"optimizer": {"type": "Adam"}, "learning_rate": {"type": "exp", "start_lr": 1e-30, "stop_lr": 1e-30}}')
    text = crystal(types=MIXED) + DYNAMICS + "thermo_modify format float %.17g\nreset_timestep 1\n" + MOVES[move]
    alone = lammps(text + "\nrun 6\n").check().thermo()
    learning = lammps(text + f"\n{LABELS}\nrun 6\n".replace("every 2", "every 100")).check().thermo()
    assert np.array_equal(alone["Atoms"], learning["Atoms"])
    np.testing.assert_allclose(learning["PotEng"], alone["PotEng"], rtol=1e-9)


def test_rows_of_model_devi_are_of_the_run_alone(lammps, tmp_path):
    """One row for each step; with atomic, all rows have the columns of the first one, and an atom that is gone is nan."""
    pair = PAIR.replace("pair_style dptrain", "pair_style dptrain model_devi 1 devi.out atomic")
    result = lammps(crystal(pair) + DYNAMICS + GCMC + "\nrun 6\n", 2).check()
    rows = np.loadtxt(tmp_path / "devi.out")
    atoms = result.thermo()["Atoms"]
    assert rows.shape == (7, 7 + 64) and rows[:, 0].tolist() == list(range(7))
    assert atoms.max() > 64  # some have come
    assert "of the atoms have no column in devi.out" in result.output


def test_columns_of_model_devi_are_those_of_ids(lammps, tmp_path):
    """Atoms with gaps in their IDs, of which one vanishes; a run from a restart file goes on with the same columns."""
    pair = PAIR.replace("pair_style dptrain", "pair_style dptrain model_devi 1 devi.out atomic")
    text = crystal(pair, exclude=DELETE) + "run 0\nwrite_restart x.restart\ngroup gone id 2\ndelete_atoms group gone compress no\nrun 0\n"
    lammps(text, 2).check()
    header, ids, first, second = (tmp_path / "devi.out").read_text().splitlines()
    expected = [k for k in range(1, 65) if k not in (17, 40)]
    assert header.endswith("atm_devi_f(N)") and ids == "# IDs of the atoms of atm_devi_f: " + " ".join(map(str, expected))
    first, second = (np.array(line.split(), float)[7:] for line in (first, second))
    assert len(first) == len(second) == 62
    assert np.flatnonzero(np.isnan(second)).tolist() == [1] and not np.isnan(first).any()
    lammps("read_restart x.restart\ngroup gone id 5\ndelete_atoms group gone compress no\n"
           f"pair_coeff * * {MODEL} Si Si\nrun 0\n").check()
    rows = np.loadtxt(tmp_path / "devi.out")
    assert rows.shape == (3, 69) and np.flatnonzero(np.isnan(rows[2, 7:])).tolist() == [expected.index(5)]


# --- learning

@pytest.mark.parametrize("exclude", ["group one all", "group one one"])
@pytest.mark.parametrize("pair, model", [("pair_style sw\npair_coeff * * Si.sw Si Si\n", f"model {MODEL} Si Si"), (PAIR, "")])
@pytest.mark.parametrize("reference", ["run", "pair"])
def test_no_labels_with_exclusions(reference, pair, model, exclude, lammps):
    if reference == "run" and not model:
        pytest.skip("the model would be trained on itself")
    source = "run" if reference == "run" else 'pair sw coeff "* * Si.sw Si Si" end'
    result = lammps(crystal(pair, exclude=f"neigh_modify exclude {exclude}") +
                    f"fix t all dptrain {model} reference {source} every 2 train 1\nrun 4\n", 2)
    assert result.status != 0
    assert any(f"'neigh_modify exclude {exclude}' leaves out" in line for line in result.errors()), result.output[-2000:]


def test_moves_need_a_model(silicon, tmp_path):
    """During the first steps of a new model its energies are none."""
    write_input(tmp_path)
    pair = "pair_style dptrain\npair_coeff * * input.json Si Si\n"
    result = silicon(crystal(pair, types=MIXED) + DYNAMICS + LABELS.replace("input input.json ", "") + f"\n{MOVES['swap']}\nrun 6\n")
    assert result.status != 0
    assert any("there is no model yet that could give them (input.json)" in line for line in result.errors()), result.output[-2000:]


def test_sgcmc_is_refused(lammps):
    result = lammps(crystal(types=MIXED) + LABELS.replace("input input.json ", "") +
                    "\nfix m all sgcmc 2 0.1 900 0.0\nrun 4\n")
    assert result.status != 0 and any("does not work with fix m of style sgcmc" in line for line in result.errors())
