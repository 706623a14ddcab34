"""What the last hidden layer says of errors: the compute, model_devi.out, selection from a rerun."""

import numpy as np
import pytest
from ase.io import read

from lammps_runner import run_lammps
from silicon import ATOMS, PAIR, REFERENCE, learn, write_input

RAMP = "fix bath all temp/csvr 300 1500 0.05 4827\nfix n all nve\n"
# printed with 17 digits; sums over atoms in another order
RANKS = 1e-9


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """Folder with si.dp, a model that knows its uncertainty, and hot.dump, a trajectory that leaves what it knows."""
    folder = tmp_path_factory.mktemp("model")
    write_input(folder)
    run_lammps(folder, f"{ATOMS}{PAIR}\nfix t all dptrain {REFERENCE} mode active every 5 train 40 threshold 0.5 save 100000 si.dp\n"
               "velocity all scale 300\nfix n all nve\nrun 100\n").check()
    run_lammps(folder, f"{ATOMS}pair_style sw\npair_coeff * * Si.sw Si\nvelocity all scale 600\n{RAMP}"
               "dump d all custom 10 hot.dump id type x y z\ndump_modify d format float %.17g sort id\nrun 400\n").check()
    return folder


def rerun(folder, commands, ranks=1, pair="pair_style dptrain\npair_coeff * * si.dp Si\n"):
    return run_lammps(folder, f"{ATOMS}{pair}{commands}\nthermo 1\nrerun hot.dump dump x y z\n", ranks).check()


def frames_of(path):
    """[frames][atoms][columns] of a dump, in order of the ids."""
    blocks = path.read_text().split("ITEM: TIMESTEP")[1:]
    return np.array([[[float(w) for w in line.split()] for line in block.split("ITEM: ATOMS")[1].splitlines()[1:]] for block in blocks])


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_expected_errors_follow_true_errors(model, ranks):
    rerun(model, f"compute u all dptrain/uncertainty/atom\ncompute r all dptrain/uncertainty/atom raw\n"
          f"dump d all custom 10 u{ranks}.dump id fx fy fz c_u c_r\ndump_modify d format float %.17g sort id", ranks)
    rerun(model, "dump d all custom 10 true.dump id fx fy fz\ndump_modify d format float %.17g sort id", pair="pair_style sw\npair_coeff * * Si.sw Si\n")
    mine, true = frames_of(model / f"u{ranks}.dump"), frames_of(model / "true.dump")
    expected, raw = mine[..., 4], mine[..., 5]
    error = np.linalg.norm(mine[..., 1:4] - true[..., 1:4], axis=-1)
    assert np.allclose(expected, raw * (expected[0, 0] / raw[0, 0]), rtol=1e-12)
    # largest of a frame: a model of 23 frames is never much too sure, and the order of the frames is that of the errors
    ratio = error.max(axis=1)[1:] / expected.max(axis=1)[1:]
    assert (ratio < 3.0).all()
    assert np.median(ratio) > 0.05
    order = lambda values: np.argsort(np.argsort(values))  # noqa: E731
    assert np.corrcoef(order(error.max(axis=1)), order(expected.max(axis=1)))[0, 1] > 0.8
    if ranks > 1 and (model / "u1.dump").exists():
        assert np.allclose(expected, frames_of(model / "u1.dump")[..., 4], rtol=1e-7)  # W amplifies rounding by up to 1e5


def test_model_devi_of_the_last_layer(model):
    result = rerun(model, "compute u all dptrain/uncertainty/atom\ncompute a all reduce max c_u\ncompute b all reduce min c_u\n"
                   "compute c all reduce ave c_u\nthermo_style custom step c_a c_b c_c\nthermo_modify format float %.17g",
                   pair="pair_style dptrain model_devi 10 devi.out\npair_coeff * * si.dp Si\n")
    table = np.loadtxt(model / "devi.out")
    thermo = result.thermo()
    assert len(table) == 41
    assert (table[:, 1:4] == 0.0).all()  # nothing is known of the virial
    for column, name in ((4, "c_a"), (5, "c_b"), (6, "c_c")):
        assert np.allclose([table[0, column], table[-1, column]], [thermo[name][0], thermo[name][-1]], rtol=1e-6)  # as printed


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_selection_from_a_trajectory(model, ranks):
    result = rerun(model, f"fix s all dptrain reference run mode active threshold 0.5 dataset picked{ranks}", ranks)
    steps = [int(line.split()[1]) for line in result.output.splitlines() if line.startswith("dptrain ") and "selected" in line]
    assert 2 <= len(steps) < 41
    picked = read(model / f"picked{ranks}" / "selected.extxyz", index=":")
    assert [frame.info["step"] for frame in picked] == steps
    assert all(frame.info["expected_error"] > 0.5 for frame in picked)
    system = model / f"picked{ranks}" / "Si64_noenergy_noforce_novirial"
    coord = np.load(system / "set.000" / "coord.npy")
    assert np.allclose(coord.reshape(len(steps), -1), [frame.positions.ravel() for frame in picked], atol=1e-12)
    first = frames_of(model / "hot.dump")[steps[0] // 10][:, 2:5]
    cell = np.diag(picked[0].cell)
    assert np.abs((picked[0].positions - first + cell / 2) % cell - cell / 2).max() < 1e-9
    if ranks > 1:
        assert steps == [frame.info["step"] for frame in read(model / "picked1" / "selected.extxyz", index=":")]


def test_selected_configurations_are_known_then(model):
    text = "fix s all dptrain reference run mode active threshold 0.5 dataset twice"
    result = run_lammps(model, f"{ATOMS}pair_style dptrain\npair_coeff * * si.dp Si\n{text}\n"
                        "rerun hot.dump dump x y z\nrerun hot.dump dump x y z\n").check()
    summaries = [line for line in result.output.splitlines() if "configurations selected" in line]
    first, both = (int(line.split()[3]) for line in summaries)
    assert both - first < first  # the second time fewer


@pytest.mark.parametrize("ranks", [1, 2])
def test_fix_pair_reads_what_the_compute_says(model, ranks):
    """Also with a trigger, which the style does not need."""
    rerun(model, "compute u all dptrain/uncertainty/atom\nfix p all pair 1 dptrain uncertainty 0\nfix q all pair 1 dptrain uncertainty 1\n"
          "dump d all custom 10 p.dump id c_u f_p f_q\ndump_modify d format float %.17g sort id", ranks)
    table = frames_of(model / "p.dump")
    assert table[..., 1].max() > 0.0
    assert np.array_equal(table[..., 1], table[..., 2]) and np.array_equal(table[..., 1], table[..., 3])


def test_an_uncertainty_without_unit_is_warned_of_once(tmp_path):
    """Mode passive does not compare it with the reference."""
    write_input(tmp_path)
    run_lammps(tmp_path, learn("every 5 train 5 warmup 2 save 1000 passive.dp", run="run 20")).check()
    result = run_lammps(tmp_path, f"{ATOMS}pair_style dptrain\npair_coeff * * passive.dp Si\nfix p all pair 1 dptrain uncertainty 0\nrun 3\nrun 3\n").check()
    assert result.output.count("the uncertainty of passive.dp was never compared with a reference") == 1
