"""The console script with the real LAMMPS command: exit statuses, what is printed, Ctrl-C, checkpoints."""

import json
import signal
from pathlib import Path

import numpy as np
import pytest
from real_script import ROOT, RealScript, dptrain

CASE = ROOT / "unittest" / "reference" / "train_a"


def write_input(folder, steps):
    """An input.json for a small net on the water frames of the reference case."""
    section = {"type_map": ["O", "H"], "descriptor": {"type": "se_e2_a", "rcut": 4.0, "rcut_smth": 0.5, "sel": [40, 80], "neuron": [4, 8],
                                                      "axis_neuron": 4, "seed": 1}, "fitting_net": {"neuron": [8, 8], "seed": 1}}
    (folder / "input.json").write_text(json.dumps({
        "model": section, "learning_rate": {"start_lr": 1e-3}, "loss": {},
        "training": {"training_data": {"systems": [str(CASE / "system")], "batch_size": 1}, "numb_steps": steps, "disp_freq": 5, "save_freq": 10,
                     "seed": 1}}))


@pytest.fixture
def script(tmp_path):
    return RealScript(tmp_path)


def test_help(script):
    for command in ("train", "test", "stat", "convert", "plot"):
        status, out, err = script(command, "--help")
        assert (status, err) == (0, "") and f"dptrain {command}" in out and "LAMMPS (" not in out, command


@pytest.mark.parametrize("words, status, message", [
    (["train"], 2, "dptrain: INPUT is required. Run: dptrain train --help\n"), (["stat", "-s", "x"], 2, "Run: dptrain stat --help\n"),
    (["train", "none.json"], 1, "dptrain: error: "), (["train", "no $ne & 'x'.json"], 1, "no $ne & 'x'.json"),
    (["test", "-m", "none.dp", "-s", "x", "-np", "2"], 1, "dptrain: error: ")])
def test_errors(words, status, message, script, tmp_path):
    found, out, err = script(*words)
    assert found == status and message in err and err.startswith("dptrain: ") and ".cpp:" not in err, err
    assert "ERROR" not in out and not list(tmp_path.glob("log*"))


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_training(ranks, script, tmp_path):
    write_input(tmp_path, 20)
    status, out, err = script("train", "input.json", "-np", ranks)
    assert (status, err) == (0, ""), err
    assert "LAMMPS" not in out and "Total wall time" not in out and not (tmp_path / "log.lammps").exists()
    assert list(dptrain.read_lcurve(tmp_path / "lcurve.out")["step"]) == [1, 5, 10, 15, 20]
    # the checkpoint is converted, and both are the same potential
    newest = tmp_path / Path((tmp_path / "checkpoint").read_text().split()[-1]).name
    status, out, err = script("convert", newest, "model.dp")
    assert (status, err) == (0, ""), err
    assert dptrain.is_checkpoint(newest) and not dptrain.is_checkpoint(tmp_path / "model.dp")
    coord = np.load(CASE / "system" / "set.000" / "coord.npy")[0].reshape(-1, 3)
    box = np.load(CASE / "system" / "set.000" / "box.npy")[0].reshape(3, 3)
    types = np.loadtxt(CASE / "system" / "type.raw", dtype=int)
    a, b = (dptrain.load(path).evaluate(coord, types, box) for path in (newest, tmp_path / "model.dp"))
    assert a.energy == b.energy and np.array_equal(a.forces, b.forces)
    dptrain.save(newest, tmp_path / "saved.dp")
    assert (tmp_path / "saved.dp").read_bytes() == (tmp_path / "model.dp").read_bytes()
    status, out, err = script("plot", "lcurve.out")
    assert (status, err) == (0, "") and (tmp_path / "lcurve.png").stat().st_size > 1000


def test_convert_keeps_checkpoints(script, tmp_path):
    write_input(tmp_path, 2)
    assert script("train", "input.json")[0] == 0
    numbered = tmp_path / "model.ckpt-2.dp"
    before = numbered.read_bytes()
    for words, message in ((("model.ckpt.dp", "model.ckpt.dp"), "same file"), (("model.ckpt", "model.ckpt-2.dp"), "same file"),
                           ((ROOT / "unittest" / "reference" / "triclinic_3type" / "model.dp", "model.ckpt.dp"), "is a checkpoint"),
                           (("input.json", "m.dp"), "input.json is not a model"), (("model.ckpt", "m.zip"), "known are .dp"), (("model.ckpt", "m.txt"), "only models with descriptor nep"),
                           (("model.ckpt", "/proc/m.dp"), "/proc/m.dp")):
        status, out, err = script("convert", *words)
        assert (status, out) == (1, "") and message in err and err.startswith("dptrain: error: ") and err.count("dptrain: error") == 1, err
    assert numbered.read_bytes() == before
    assert script("convert", "model.ckpt", "model.dp") == (0, "wrote model.dp\n", "")
    assert script("convert", "model.ckpt", "model.dp") == (0, "wrote model.dp\n", ""), "a model file may be written again"


@pytest.mark.parametrize("ranks", [1, 2])
def test_ctrl_c_saves_a_checkpoint_that_goes_on(ranks, script, tmp_path):
    write_input(tmp_path, 1000000)
    process = script.start("train", "input.json", "-np", ranks)
    lines = []
    while not any(line.startswith("step ") for line in lines):
        lines.append(process.stdout.readline())
        assert lines[-1], (lines, process.stderr.read())
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=300)
    assert (process.returncode, err) == (130, "") and "checkpoint" in out, out + err
    saved = list(tmp_path.glob("model.ckpt-*.dp"))
    assert saved and all(dptrain.is_checkpoint(path) for path in saved)
    step = max(int(path.stem.rpartition("-")[2]) for path in saved)
    write_input(tmp_path, step + 5)
    status, out, err = script("train", "input.json", "--restart", f"model.ckpt-{step}.dp")
    assert (status, err) == (0, ""), err
    assert (tmp_path / f"model.ckpt-{step + 5}.dp").exists()
