"""Error bars: the compute, model_devi.out, selection from a rerun, Python."""

import h5py
import numpy as np
import pytest
from ase.io import read

from lammps_runner import frames_of, run_lammps
from silicon import ATOMS, learn, learned_crystal, write_input

RAMP = "fix bath all temp/csvr 300 1500 0.05 4827\nfix n all nve\n"
# printed with 17 digits; sums over atoms in another order
RANKS = 1e-9


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """Folder with si.dp, a model with error bars, and hot.dump, a trajectory that leaves what it knows."""
    folder = tmp_path_factory.mktemp("model")
    write_input(folder)
    run_lammps(folder, learned_crystal(temperature=300)).check()
    run_lammps(folder, f"{ATOMS}pair_style sw\npair_coeff * * Si.sw Si\nvelocity all scale 600\n{RAMP}"
               "dump d all custom 10 hot.dump id type x y z\ndump_modify d format float %.17g sort id\nrun 400\n").check()
    return folder


def rerun(folder, commands, ranks=1, pair="pair_style dptrain\npair_coeff * * si.dp Si\n"):
    return run_lammps(folder, f"{ATOMS}{pair}{commands}\nthermo 1\nrerun hot.dump dump x y z\n", ranks).check()


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_expected_errors_follow_true_errors(model, ranks):
    rerun(model, f"compute u all dptrain/uncertainty/atom\ndump d all custom 10 u{ranks}.dump id fx fy fz c_u x y z\n"
          "dump_modify d format float %.17g sort id", ranks)
    rerun(model, "dump d all custom 10 true.dump id fx fy fz\ndump_modify d format float %.17g sort id", pair="pair_style sw\npair_coeff * * Si.sw Si\n")
    mine, true = frames_of(model / f"u{ranks}.dump"), frames_of(model / "true.dump")
    expected = mine[..., 4]
    error = np.linalg.norm(mine[..., 1:4] - true[..., 1:4], axis=-1)
    # largest of a frame: a model of 23 frames is never much too sure, and the order of the frames is that of the errors
    ratio = error.max(axis=1)[1:] / expected.max(axis=1)[1:]
    assert (ratio < 3.0).all()
    assert np.median(ratio) > 0.05
    order = lambda values: np.argsort(np.argsort(values))  # noqa: E731
    assert np.corrcoef(order(error.max(axis=1)), order(expected.max(axis=1)))[0, 1] > 0.8
    if ranks > 1 and (model / "u1.dump").exists():
        assert np.allclose(expected, frames_of(model / "u1.dump")[..., 4], rtol=1e-7)  # W amplifies rounding by up to 1e5


def test_python_and_ase_have_the_same_bars(model):
    """Of the first and the last configuration of the trajectory; and the file tells what they were measured on."""
    pytest.importorskip("dptrain")
    from ase import Atoms
    from dptrain import load
    from dptrain.ase import Calculator
    rerun(model, "compute u all dptrain/uncertainty/atom\ndump d all custom 400 p.dump id x y z c_u\ndump_modify d format float %.17g sort id")
    potential = load(model / "si.dp")
    known = potential.info["error_bars"]
    assert known["coverage"] == 0.9 and known["frames"] >= 9 and "labels before they were learned" in known["source"]
    assert known["atoms"]["Si"] == 64 * known["frames"] and known["scale"]["Si"] > 0.0
    for frame in frames_of(model / "p.dump"):
        atoms = Atoms("Si64", positions=frame[:, 1:4], cell=[10.862] * 3, pbc=True, calculator=Calculator(potential))
        atoms.get_potential_energy()
        assert np.allclose(atoms.calc.results["error_bars"], frame[:, 4], rtol=1e-7)  # ditto
        assert np.array_equal(potential.evaluate(atoms).error_bars, atoms.calc.results["error_bars"])


def test_model_devi_of_error_bars(model):
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
    result = rerun(model, f"fix s all dptrain reference run mode active accuracy 0.05 dataset picked{ranks}", ranks)
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
    text = "fix s all dptrain reference run mode active accuracy 0.05 dataset twice"
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


@pytest.mark.parametrize("ask, who", [("compute u all dptrain/uncertainty/atom", "Compute dptrain/uncertainty/atom"),
                                      ("fix p all pair 1 dptrain uncertainty 0", "Pair style dptrain")])
def test_bars_of_a_model_without_them_are_refused(ask, who, tmp_path):
    """Mode passive does not measure them; the message says what does."""
    write_input(tmp_path)
    run_lammps(tmp_path, learn("every 5 train 5 warmup 2 save 1000 passive.dp", run="run 20")).check()
    result = run_lammps(tmp_path, f"{ATOMS}pair_style dptrain\npair_coeff * * passive.dp Si\n{ask}\nrun 3\n")
    assert result.status != 0
    assert f"{who}: the model passive.dp has no error bars: train it with fix dptrain in 'mode active'" in result.errors()[0]


def test_coverage_is_what_is_asked_for(tmp_path):
    """A larger part of the errors below larger bars: of the same labels, as nothing is decided by the bars here."""
    write_input(tmp_path)
    found = {}
    for coverage in (0.5, 0.9, 0.99):
        text = learn(f"mode active every 2 train 5 warmup 3 accuracy 1e-07 limit 1e6 repeat audit 0 holdout 0 duplicate 0 coverage {coverage} "
                     "follow reference save 1000 si.dp", run="run 40")
        result = run_lammps(tmp_path, text).check()
        bars = h5py.File(tmp_path / "si.dp")["dptrain_bars/bars"]
        found[coverage] = float(np.ravel(bars["scale"])[0])
        assert f"promised {100 * coverage:.3g} %" in result.output
        assert ("more labels to tell 99 %" in result.output) == (coverage == 0.99)
    assert found[0.5] < found[0.9] < found[0.99]
    for wrong in ("0.3", "1", "x"):
        result = run_lammps(tmp_path, learn(f"mode active coverage {wrong}", run="run 1"))
        assert result.status != 0 and f"coverage {wrong} is not possible" in result.errors()[0]
