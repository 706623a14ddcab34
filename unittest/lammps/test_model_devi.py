"""Committee and model_devi.out of `pair_style dptrain`: the file against separate runs of the single models and NumPy."""

import numpy as np
import pytest

from committee import COLUMNS, deviations, make_member
from lammps_runner import REFERENCE
from silicon import learn, write_input

WATER, ALLOY = REFERENCE / "two_side", REFERENCE / "triclinic_3type"
COMMITTEE = "committee m1.dp m2.dp m3.dp end"
BAR = 1.6021765e6  # LAMMPS' bar Angstrom^3 per eV
# seven digits are printed
PRINTED = 1e-6

SYSTEMS = {"water": ("liquid.data", WATER, "O H", ""), "alloy": ("all3.data", ALLOY, "Al Cu Ni", ""),
           "cluster": ("cluster.data", WATER, "O H", "boundary f f f")}


@pytest.fixture
def models(tmp_path):
    """m0.dp to m3.dp in the folder of the test, of water unless asked otherwise; m3 has a longer cutoff."""
    def make(source=WATER, rcut=4.6):
        for seed in range(4):
            make_member(source / "model.dp", tmp_path / f"m{seed}.dp", seed, rcut=rcut if seed == 3 else None)
    make()
    return make


def system(name="water", style="", file="m0.dp", before="", units="metal"):
    data, folder, elements, boundary = SYSTEMS[name]
    return f"units {units}\natom_modify map yes\n{boundary}\n{before}\nread_data {folder}/{data}\n" \
           f"pair_style dptrain {style}\npair_coeff * * {file} {elements}\n"


RUN = """velocity all create 300 4711
fix n all nve
timestep 0.0002
dump t all custom 2 traj.dump id type x y z
dump_modify t sort id format float %.17g
thermo_style custom step pe pxx pyz
thermo_modify format float %.17g
thermo 2
run 6
"""
EVALUATE = """compute v all pressure NULL pair
dump e all custom 1 {name}.forces id fx fy fz
dump_modify e sort id format float %.17g
thermo_style custom step vol c_v[1] c_v[2] c_v[3] c_v[4] c_v[5] c_v[6]
thermo_modify format float %.17g
thermo 1
rerun traj.dump dump x y z
"""


def rows_of(path):
    """(words of the header, numbers) of model_devi.out."""
    header, *lines = path.read_text().splitlines()
    assert header[0] == "#"
    return header[1:].split(), np.array([line.split() for line in lines], float)


def evaluated(lammps, tmp_path, name, **options):
    """Forces [frames][models][atoms][3] and virials [frames][models][9] of all four models, each in a run of its own."""
    forces, virials = [], []
    for k in range(4):
        table = lammps(system(name, file=f"m{k}.dp", **options) + EVALUATE.format(name=k)).check().thermo()
        v = np.array([table[f"c_v[{c}]"] * table["Volume"] / BAR for c in (1, 4, 5, 4, 2, 6, 5, 6, 3)]).T
        frames = (tmp_path / f"{k}.forces").read_text().split("ITEM: ATOMS id fx fy fz\n")[1:]
        forces.append([[line.split()[1:] for line in f.split("ITEM")[0].splitlines()] for f in frames])
        virials.append(v)
    return np.swapaxes(np.array(forces, float), 0, 1), np.swapaxes(np.array(virials), 0, 1)


@pytest.mark.parametrize("ranks", [1, 2, 4])
@pytest.mark.parametrize("name", SYSTEMS)
def test_numbers_of_single_models(name, ranks, models, lammps, tmp_path):
    """Every second step has a row with the deviations of four separate evaluations; the run is the one without a committee."""
    models(SYSTEMS[name][1], rcut=None)
    alone = lammps(system(name) + RUN, ranks).check().thermo()
    run = lammps(system(name, f"{COMMITTEE} out_freq 2 atomic") + RUN, ranks).check().thermo()
    assert all(np.array_equal(run[column], alone[column]) for column in alone)

    names, rows = rows_of(tmp_path / "model_devi.out")
    assert names == [*COLUMNS, "atm_devi_f(N)"]
    assert rows[:, 0].tolist() == [0, 2, 4, 6]
    forces, virials = evaluated(lammps, tmp_path, name)
    for row, f, v in zip(rows, forces, virials):
        numbers, atoms = deviations(f, v)
        assert numbers[0] > 1e-4 and numbers[3] > 1e-3  # the models differ
        np.testing.assert_allclose(row[1:], [*numbers, *atoms], rtol=PRINTED)


@pytest.mark.parametrize("ranks", [1, 4])
def test_longer_cutoff_of_a_member(ranks, models, lammps, tmp_path):
    """Lists and ghosts reach as far as the member that needs most; a member may name its elements in another order."""
    make_member(WATER / "model.dp", tmp_path / "m2.dp", 9, type_map=["H", "O"])
    lammps(system(style=f"{COMMITTEE} model_devi 2 devi.out", before="neighbor 0.1 bin") + RUN, ranks).check()
    rows = rows_of(tmp_path / "devi.out")[1]
    for row, f, v in zip(rows, *evaluated(lammps, tmp_path, "water")):
        np.testing.assert_allclose(row[1:], deviations(f, v)[0], rtol=PRINTED)
    assert not (tmp_path / "model_devi.out").exists()


@pytest.mark.parametrize("units, energy", [("metal", 1.0), ("real", 23.060549)])
def test_relative_deviations_and_units(units, energy, models, lammps, tmp_path):
    """Levels are in the units of the simulation, absolute deviations too; 1e-5: LAMMPS' constants are rounded."""
    lammps(system() + RUN).check()
    forces, virials = evaluated(lammps, tmp_path, "water")
    one, level, level_v = (system(style=f"{COMMITTEE} out_freq 2 out_file {name}.out {words}", units=units)
                           for name, words in (("plain", ""), ("f", f"relative {0.3 * energy}"), ("v", f"relative_v {0.2 * energy} atomic")))
    for text in (one, level, level_v):
        lammps(text + "rerun traj.dump dump x y z\n", 2).check()
    for name, arguments, factor in (("plain", (None, None), [energy] * 6), ("f", (0.3, None), [energy] * 3 + [1] * 3),
                                    ("v", (None, 0.2), [1] * 3 + [energy] * 3)):
        rows = rows_of(tmp_path / f"{name}.out")[1]
        assert len(rows) == 4
        for row, f, v in zip(rows, forces, virials):
            np.testing.assert_allclose(row[1:7], np.multiply(deviations(f, v, *arguments)[0], factor), rtol=1e-5)


@pytest.mark.parametrize("ranks", [1, 2])
def test_hybrid_overlay(ranks, models, lammps, tmp_path):
    """A second style beside the model moves the atoms, and has no part in the deviation."""
    single = system(style=f"{COMMITTEE} out_freq 1 out_file single.out")
    lammps(single + "run 0\n").check()
    both = single.replace("single.out", "both.out").replace("pair_style dptrain", "pair_style hybrid/overlay zbl 1.0 2.0 dptrain")
    both = both.replace("* * m0.dp", "* * dptrain m0.dp") + "pair_coeff 1 1 zbl 8 8\npair_coeff 1 2 zbl 8 1\npair_coeff 2 2 zbl 1 1\nrun 0\n"
    lammps(both, ranks).check()
    np.testing.assert_allclose(rows_of(tmp_path / "both.out")[1], rows_of(tmp_path / "single.out")[1], rtol=PRINTED)


def test_null_types_have_no_deviation(models, lammps, tmp_path):
    text = system(style=f"{COMMITTEE} out_freq 1 atomic").replace("pair_style dptrain", "pair_style hybrid zero 4.0 dptrain")
    lammps(text.replace("* * m0.dp O H", "* * dptrain m0.dp O NULL") + "pair_coeff 1*2 2 zero\nrun 0\n", 2).check()
    atoms = rows_of(tmp_path / "model_devi.out")[1][0, 7:]
    lines = (WATER / "liquid.data").read_text().split("Atoms")[1].splitlines()[1:]
    oxygen = np.array([t == "1" for _, t in sorted((int(w[0]), w[1]) for w in map(str.split, lines) if w)])
    assert (atoms[~oxygen] == 0).all() and (atoms[oxygen] > 0).all()


def test_rows_of_several_runs(models, lammps, tmp_path):
    """Each run writes its first step again, as each evaluation of the forces at such a step does; frames of a rerun
    follow; `clear` and a new pair_style start a new file."""
    style = system(style=f"{COMMITTEE} out_freq 3")
    text = style + RUN + "run 2\nundump t\nrerun traj.dump dump x y z\n"
    lammps(text, 2).check()
    assert rows_of(tmp_path / "model_devi.out")[1][:, 0].tolist() == [0, 3, 6, 6, 0, 6]
    lammps(text + "clear\n" + style + "run 0\n").check()
    assert rows_of(tmp_path / "model_devi.out")[1][:, 0].tolist() == [0]
    lammps(style + "pair_style dptrain\npair_coeff * * m0.dp O H\nrun 0\n").check()
    assert len(rows_of(tmp_path / "model_devi.out")[1]) == 1  # a pair_style that was never run has not touched the file


def test_restart_file(models, lammps, tmp_path):
    """Members and keywords come back with the restart file, and the rows follow those that are there."""
    style = f"precision single {COMMITTEE} out_freq 2 atomic relative 0.5 relative_v 0.25"
    lammps(system(style=style) + RUN.replace("run 6", "run 8")).check()
    whole = rows_of(tmp_path / "model_devi.out")
    lammps(system(style=style) + RUN.replace("run 6", "run 4") + "write_restart at4\n").check()
    part = (tmp_path / "model_devi.out").read_bytes()
    again = "atom_modify map yes\nread_restart at4\n{style}pair_coeff * * m0.dp O H\nfix n all nve\ntimestep 0.0002\nrun 4\n"
    for words in ("", f"pair_style dptrain {style}\n"):
        (tmp_path / "model_devi.out").write_bytes(part)
        lammps(again.format(style=words), 2).check()
        assert (tmp_path / "model_devi.out").read_bytes().startswith(part)
        names, rows = rows_of(tmp_path / "model_devi.out")
        assert names == whole[0] and rows[:, 0].tolist() == [0, 2, 4, 4, 6, 8]
        # single precision, and the order of sums on two ranks
        np.testing.assert_allclose(rows[[0, 1, 2, 4, 5]], whole[1], rtol=2e-4)
    (tmp_path / "model_devi.out").unlink()
    lammps(again.format(style="")).check()
    assert rows_of(tmp_path / "model_devi.out")[0] == whole[0]


def test_model_that_is_trained_meanwhile(lammps, tmp_path):
    """While the reference moves the atoms there is no row; then the model of the run is the newest one."""
    for seed in (1, 2):
        write_input(tmp_path, model={"seed": seed})
        lammps(learn(f"every 1 train 5 warmup 2 save 5 si{seed}.dp", "run 3")).check()
    pair = "pair_style dptrain committee si1.dp si2.dp end model_devi 1 devi.out\npair_coeff * * input.json Si"
    write_input(tmp_path, model={"seed": 3})
    lammps(learn("every 1 train 5 warmup 4", "run 6", pair=pair), 2).check()
    rows = rows_of(tmp_path / "devi.out")[1]
    assert rows[:, 0].tolist() == [4, 5, 6] and (np.diff(rows[:, 6]) != 0).all()


@pytest.mark.parametrize("ranks", [1, 4])
def test_deviation_of_each_atom_at_any_step(ranks, models, lammps, tmp_path):
    """compute dptrain/uncertainty/atom committee: the members are evaluated where the file does not ask for them, too."""
    ask = "compute u all dptrain/uncertainty/atom committee\n"
    text = system(style=f"{COMMITTEE} out_freq 4 atomic relative 0.5") + ask + RUN
    lammps(text.replace("id type x y z\n", "id type x y z c_u\n"), ranks).check()
    frames = [np.array([line.split() for line in f.split("ITEM")[0].splitlines()], float)[:, 5]
              for f in (tmp_path / "traj.dump").read_text().split("ITEM: ATOMS id type x y z c_u\n")[1:]]
    forces, virials = evaluated(lammps, tmp_path, "water")
    assert len(frames) == len(forces) == 4 and rows_of(tmp_path / "model_devi.out")[1][:, 0].tolist() == [0, 4]
    for found, f, v in zip(frames, forces, virials):
        np.testing.assert_allclose(found, deviations(f, v)[1], rtol=1e-9)
    refused = lammps(system() + ask + "run 0\n")
    assert refused.status != 0 and "the pair style has no committee" in refused.errors()[0]


def test_members_count_in_the_memory(models, lammps):
    report = 'run 0\ninfo memory\n'
    alone, four = (lammps(system(style=style) + report).check().output for style in ("", f"{COMMITTEE} out_freq 1"))
    memory = [float(text.split("Per MPI rank memory allocation (min/avg/max) = ")[1].split()[0]) for text in (alone, four)]
    assert memory[1] > memory[0]


def test_the_same_model_twice(models, lammps):
    output = lammps(system(style="committee m1.dp m0.dp m1.dp end") + "run 0\n").check().output
    assert output.count("has the same parameters as a model before it") == 2
    assert "has the same" not in lammps(system(style=COMMITTEE) + "run 0\n").check().output


BAD = [
    ("committee m1.dp m2.dp", ["committee without end: give committee FILE2"]),
    ("committee m1.dp out_freq 10", ["committee without end before the keyword out_freq"]),
    ("committee end", ["committee has no members"]),
    ("committee m1.dp nothing.dp end", ["cannot open file 'nothing.dp'"]),
    ("committee m1.dp alloy.dp end", ["element O is not in the model alloy.dp: use its elements, Al Cu Ni, or NULL"]),
    ("committee m1.dp input.json end", ["input.json of the committee describes a new model"]),
    ("committee m1.dp text.dp end", ["text.dp"]),
    (f"{COMMITTEE} out_freq 0", ["out_freq 0 is not possible", "from 1"]),
    (f"{COMMITTEE} out_freq often", ["out_freq often is not possible"]),
    (f"{COMMITTEE} out_freq", ["Illegal pair_style dptrain out_freq command: missing argument(s)"]),
    (f"{COMMITTEE} model_devi 10", ["Illegal pair_style dptrain model_devi command: missing argument(s)"]),
    (f"{COMMITTEE} out_freq 1 relative 0", ["relative 0 is not possible: give a positive number"]),
    (f"{COMMITTEE} out_freq 1 relative_v atomic", ["relative_v atomic is not possible"]),
    (f"{COMMITTEE} atomic", ["atomic is about a file of model deviations", "out_freq"]),
    (f"{COMMITTEE} out_file nowhere/devi.out", ["cannot write the model deviations 'nowhere/devi.out'"]),
    (f"{COMMITTEE} model_devi 1 folder", ["cannot write the model deviations 'folder'"]),
    ("out_freq 10", ["model_devi.out needs a committee", "committee FILE2"]),
    ("committe m1.dp end", ["Unknown pair style dptrain keyword committe", "committee, out_freq, out_file, model_devi, atomic"])]


@pytest.mark.parametrize("style, texts", BAD)
def test_bad_input(style, texts, models, message, tmp_path):
    make_member(ALLOY / "model.dp", tmp_path / "alloy.dp", 1)
    (tmp_path / "input.json").write_text('{"model": {"type_map": ["O", "H"], "descriptor": {"type": "se_e2_a", "rcut": 4.0, '
                                         '"rcut_smth": 0.5, "neuron": [4], "axis_neuron": 2, "sel": "auto"}, "fitting_net": {"neuron": [4]}}, '
                                         '"learning_rate": {}, "loss": {}, "training": {"numb_steps": 1}}')
    (tmp_path / "text.dp").write_text("no model\n")
    (tmp_path / "folder").mkdir()
    result = message(system(style=style) + "run 0\n", 2)
    assert result.status != 0 and len(result.errors()) == 1, result.output[-2000:]
    for text in texts:
        assert text in result.errors()[0]


def test_disk_full(models, message):
    result = message(system(style=f"{COMMITTEE} out_freq 1 out_file /dev/full") + "run 0\n", 2)
    assert result.status != 0 and len(result.errors()) == 1
    assert "cannot write the model deviations '/dev/full'" in result.errors()[0]
