"""Error bars of `dptrain train`: measured on frames that it holds out or on validation data; what `dptrain test` says of them."""

import json
import re
import shutil

import h5py
import numpy as np
import pytest

from lammps_runner import run_lammps
from silicon import ATOMS, write_input

SW = "pair_style sw\npair_coeff * * Si.sw Si\n"
LABELS = "fix d all dptrain model input.json Si reference run every {every} warmup 1000000 dataset {name}\n"
MEASURED = re.compile(r"error bars: 90 % of the force errors are below their bars, measured on (\d+) frames (.+?) \(atoms: Si (\d+)\)")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Folder with two data sets of a hot crystal: known (100 frames) and other (20 of another run)."""
    folder = tmp_path_factory.mktemp("data")
    write_input(folder)
    for name, seed, frames in (("known", 4711, 100), ("other", 99, 20)):
        heat = f"{SW}velocity all create 2400 {seed}\nfix n all nve\nrun 100\nreset_timestep 1\n"
        run_lammps(folder, ATOMS + heat + LABELS.format(every=10, name=name) + f"run {10 * frames}\n").check()
    return folder


def train(folder, options="", ranks=1, sections=None, **training):
    """Result of a short training on `known`."""
    training = {"training_data": {"systems": ["known"]}, "numb_steps": 150, "save_ckpt": "model", "save_freq": 1000, **training}
    document = {"model": {"type_map": ["Si"], "descriptor": {"type": "power_spectrum", "rcut": 5.0}},
                "training": {key: value for key, value in training.items() if value is not None}, **(sections or {})}
    (folder / "train.json").write_text(json.dumps(document))
    return run_lammps(folder, f"dptrain train train.json {options}\n", ranks)


def bars_of(path):
    with h5py.File(path) as file:
        return {name: np.ravel(file[f"dptrain_bars/bars/{name}"])[0] for name in ("scale", "frames", "known_atom", "known_frame")}


def found(result):
    """Part of the errors that are below their bars, as `dptrain test` says for all systems."""
    return [(int(a), int(b)) for a, b in re.findall(r"Force error bars   : promised (\d+) %, found (\d+) % of 1280 atoms", result.output)][-1]


def test_on_frames_that_are_held_out(data):
    """One in ten; on two ranks the same bars. On another run of the same kind about as many errors are below them as promised."""
    frames, words, atoms = MEASURED.search(train(data).check().output).groups()
    assert (int(frames), words, int(atoms)) == (10, "that were held out, in blocks", 640)
    one = bars_of(data / "model.dp")
    assert one["frames"] == 10 and one["scale"] > 0 and one["known_atom"] > one["known_frame"] > 0.9
    result = run_lammps(data, "dptrain test -m model -s other -d detail\n").check()
    # 20 frames of 64 atoms that are not independent
    promised, below = found(result)
    assert promised == 90 and 78 <= below <= 98
    bar, error = np.loadtxt(data / "detail.b.out").T
    force = np.loadtxt(data / "detail.f.out")
    assert np.allclose(error, np.linalg.norm(force[:, 3:] - force[:, :3], axis=1), rtol=1e-12)
    assert round(100 * np.mean(error <= bar)) == below
    assert found(run_lammps(data, "dptrain test -m model -s other\n", 3).check()) == (promised, below)
    train(data, ranks=2).check()
    two = bars_of(data / "model.dp")
    # 150 steps amplify the rounding of another order of sums
    assert two["frames"] == 10 and two["scale"] == pytest.approx(one["scale"], rel=0.3)


def test_on_validation_data(data):
    """All frames are trained on then."""
    result = train(data, validation_data={"systems": ["other"]}).check()
    frames, words, _ = MEASURED.search(result.output).groups()
    assert (int(frames), words) == (20, "of the validation data") and "training data: 1 systems, 100 frames" in result.output
    # the very frames that they were measured on
    assert found(run_lammps(data, "dptrain test -m model -s other\n").check())[1] in (89, 90, 91)


def test_without(data):
    """Nothing held out: no bars, and what asks for them is told how to get some; numb_steps 0 measures them and changes nothing else."""
    result = train(data, held_out=0.0).check()
    assert "no error bars: they need forces of frames that are not trained on" in result.output
    assert "Force error bars" not in run_lammps(data, "dptrain test -m model -s other\n").check().output
    asked = run_lammps(data, f"{ATOMS}pair_style dptrain\npair_coeff * * model.dp Si\ncompute u all dptrain/uncertainty/atom\nrun 0\n")
    assert asked.status != 0 and "has no error bars: train it" in asked.errors()[0]
    (data / "given.dp").write_bytes((data / "model.dp").resolve().read_bytes())
    measured = train(data, "--init-model given.dp", numb_steps=0, save_ckpt="measured").check()
    assert MEASURED.search(measured.output)
    with h5py.File(data / "given.dp") as before, h5py.File(data / "measured.dp") as after:
        assert [file["dptrain_bars/bars/scale"].size for file in (before, after)] == [0, 1]
        names = [name for name in before if name.startswith("variable_")]
        assert len(names) > 5 and all(np.array_equal(before[name][()], after[name][()]) for name in names)
    assert 60 <= found(run_lammps(data, "dptrain test -m measured -s other\n").check())[1] <= 99


JUDGED = re.compile(r"error on frames that are not trained on: (\S+), on training frames (\S+) \(rms of forces, eV/Angstrom\), with the average weights of step (\d+), "
                    r"which are kept(?:; (\S+) at the end)?")


def force_error(folder, model, system):
    output = run_lammps(folder, f"dptrain test -m {model} -s {system}\n").check().output
    return float(re.findall(r"Force  RMSE +: (\S+)", output)[-1])


@pytest.fixture(scope="module")
def noise(data, tmp_path_factory):
    """Folder with a data set whose forces are random numbers, which cannot be learned but by heart."""
    folder = tmp_path_factory.mktemp("noise")
    shutil.copytree(data / "known", folder / "noise")
    paths = list((folder / "noise").rglob("force.npy"))
    assert paths
    for path in paths:
        np.save(path, np.random.default_rng(7).normal(size=np.load(path).shape))
    return folder


@pytest.mark.parametrize("ranks", [1, 2])
def test_ends_when_it_no_longer_gets_better(ranks, noise):
    """Errors on other frames do not fall. Without a length the training ends soon after the 1000 steps that it waits for at least, and the file has the weights of the smallest
    error, not the last ones."""
    result = train(noise, "--precision single", ranks, training_data={"systems": ["noise"]}, numb_steps=None).check()
    assert "numb_steps is not given: 10000 steps at most" in result.output
    best, learned, step, end = JUDGED.search(result.output).groups()
    assert int(step) < 5000 and float(best) <= float(end or best) and float(learned) < float(best)
    assert 1000 < int(re.search(r"finished after step (\d+) ", result.output).group(1)) < 5000
    # the file has those weights; the line's numbers are rounded to three digits
    assert force_error(noise, "model", "noise") == pytest.approx(np.sqrt(0.9 * float(learned)**2 + 0.1 * float(best)**2), rel=0.01)


def test_a_given_length_is_kept_where_the_rate_falls(noise):
    """A schedule has an end: the training gets there, and the best weights are kept too."""
    result = train(noise, training_data={"systems": ["noise"]}, numb_steps=1500, sections={"learning_rate": {"stop_lr_ratio": 0.01}}).check()
    best, _, step, end = JUDGED.search(result.output).groups()
    assert "finished after step 1500 " in result.output and int(step) <= 1500 and float(best) <= float(end or best)


def test_goes_on_after_an_interruption(noise):
    """What was best before counts after it too."""
    whole = train(noise, training_data={"systems": ["noise"]}, numb_steps=600, save_ckpt="whole").check()
    train(noise, training_data={"systems": ["noise"]}, numb_steps=250, save_ckpt="part").check()
    rest = train(noise, "--restart part", training_data={"systems": ["noise"]}, numb_steps=600, save_ckpt="part").check()
    assert JUDGED.search(rest.output).groups() == JUDGED.search(whole.output).groups()
    with h5py.File(noise / "whole.dp") as one, h5py.File(noise / "part.dp") as other:
        assert np.array_equal(one["dptrain/average"][()], other["dptrain/average"][()])
    # where no step is left the errors are those that were found before
    again = train(noise, "--restart part", training_data={"systems": ["noise"]}, numb_steps=600, save_ckpt="part").check()
    assert JUDGED.search(again.output).groups() == JUDGED.search(rest.output).groups()


def test_errors_that_are_far_above_those_of_training_are_told(noise):
    """Where the factor is above 3, and only there."""
    result = train(noise, training_data={"systems": ["noise"]}, numb_steps=400, held_out=0.5, sections={"loss": {"start_pref_e": 0, "limit_pref_e": 0}}).check()
    best, learned, *_ = JUDGED.search(result.output).groups()
    assert ("WARNING: errors on frames that are not trained on are" in result.output) == (float(best) > 3 * float(learned))


def test_few_frames_are_told(data):
    result = train(data, held_out=0.05).check()
    assert "WARNING: 5 frames are too few for bars that cover 90 %: add frames until 9 or more are not trained on" in result.output


def test_bad_words(data):
    for part, text in ((0.7, "held_out"), (-0.1, "held_out")):
        result = train(data, held_out=part)
        assert result.status != 0 and text in result.errors()[0] and "0.5" in result.errors()[0]
    result = train(data, numb_steps=0)
    assert result.status != 0 and "numb_steps: 0 leaves a model as it is and measures its error bars: give the model" in result.errors()[0]
