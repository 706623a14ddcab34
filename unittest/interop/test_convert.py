"""`dptrain convert`: to DeePMD-kit's formats and back, energies and forces stay. Needs DeePMD-kit's `dp` (DPTRAIN_DEEPMD or PATH)
for all but the messages."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "python"))
from real_script import RealScript, dptrain  # noqa: E402
from test_console import write_input  # noqa: E402

CASE = HERE.parent / "reference" / "triclinic_3type"
DP = os.environ.get("DPTRAIN_DEEPMD") or shutil.which("dp")
needs_deepmd = pytest.mark.skipif(not DP, reason="DeePMD-kit is not here: set DPTRAIN_DEEPMD to its dp executable")


@pytest.fixture
def script(tmp_path):
    made = RealScript(tmp_path)
    made.variables.update(DPTRAIN_DEEPMD=str(DP or ""), CUDA_VISIBLE_DEVICES="")
    return made


def largest_frame():
    return max(json.loads((CASE / "expected.json").read_text())["frames"], key=lambda f: f["natoms"])


def evaluate(folder, *models, frame=None):
    """Energies and forces of a frame by each model, through DeePMD-kit; and the frame."""
    frame = frame or largest_frame()
    code = ("import sys, json, numpy as np\nfrom deepmd.infer import DeepPot\nf = json.load(open('frame.json'))\n"
            "r = [DeepPot(m).eval(np.array(f['coord'])[None], np.array(f['box'])[None], f['types']) for m in sys.argv[1:]]\n"
            "np.savez('r.npz', energy=[x[0].ravel()[0] for x in r], force=[x[1][0] for x in r])")
    (folder / "frame.json").write_text(json.dumps(frame))
    done = subprocess.run([str(Path(DP).parent / "python"), "-c", code, *models], cwd=folder, capture_output=True, text=True,
                          env={**os.environ, "CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"})
    assert done.returncode == 0, done.stderr[-2000:]
    found = np.load(folder / "r.npz")
    return found["energy"], found["force"], frame


@needs_deepmd
def test_to_pth_and_back(script, tmp_path):
    for words in ((CASE / "model.dp", "model.pth"), ("model.pth", "again.dp")):
        status, out, err = script("convert", *words)
        assert (status, err) == (0, "") and f"wrote {words[1]}" in out, err
    energy, force, frame = evaluate(tmp_path, "model.pth", "again.dp")
    expected = frame["python"]
    # 1e-10: what evaluations of the same model agree to. DeePMD-kit has no forces from a .dp file
    assert np.abs(energy - expected["energy"]).max() <= 1e-10 * np.abs(expected["atom_energy"]).sum()
    assert np.abs(force[0] - expected["force"]).max() <= 1e-10 * np.abs(expected["force"]).max()
    try:
        found = dptrain.load(tmp_path / "again.dp").evaluate(frame["coord"], frame["types"], frame["box"])
    except ImportError:
        pytest.skip("the compiled module is not here")
    assert np.abs(found.forces - force[0]).max() <= 1e-10 * np.abs(force[0]).max()


@needs_deepmd
def test_checkpoint_to_pth(script, tmp_path):
    """Of a training of two steps; the .dp file beside is what this package itself makes of it."""
    write_input(tmp_path, 2)
    assert script("train", "input.json")[0] == 0
    for name in ("model.pth", "model.dp"):
        status, out, err = script("convert", "model.ckpt-2.dp", name)
        assert (status, err) == (0, ""), err
    rng = np.random.default_rng(4)
    frame = {"coord": (rng.permutation(27)[:12, None] // [9, 3, 1] % 3 * 2.0 + rng.uniform(0, 0.5, (12, 3))).tolist(), "types": [0, 1, 1] * 4,
             "box": np.diag([6.5] * 3).ravel().tolist()}
    energy, _, _ = evaluate(tmp_path, "model.pth", "model.dp", frame=frame)
    assert energy[0] == pytest.approx(energy[1], rel=1e-10)


@needs_deepmd
def test_what_deepmd_cannot_read(script, tmp_path):
    (tmp_path / "broken.pth").write_text("hello")
    status, out, err = script("convert", "broken.pth", "model.dp")
    assert status == 1 and "DeePMD-kit cannot convert broken.pth" in err and not (tmp_path / "model.dp").exists()


def test_a_deepmd_without_torch(script, tmp_path):
    """The message names files that are still there, and the format that its backend has."""
    dp = tmp_path / "dp"
    dp.write_text("#!/bin/sh\necho \"ModuleNotFoundError: No module named 'torch'\" >&2\nexit 1\n")
    dp.chmod(0o755)
    status, out, err = script("convert", CASE / "model.dp", "model.pth", "--dp", dp)
    assert status == 1 and "for that of TensorFlow convert to .pb" in err
    assert f"run {dp} convert-backend {CASE / 'model.dp'} model.pth" in err and str(CASE / "model.dp") in err
    named = re.findall(r"(?<![\w.])/[^\s'\",;:()]+", err)
    assert all(Path(name).exists() for name in named), named  # none of a folder that is gone by now


def test_without_deepmd(script, tmp_path):
    script.variables.update(DPTRAIN_DEEPMD="", PATH="/usr/bin:/bin")
    if shutil.which("dp", path=f"{sys.prefix}/bin:/usr/bin:/bin"):
        pytest.skip("DeePMD-kit is in this very environment")
    status, out, err = script("convert", CASE / "model.dp", "model.pth")
    assert status == 1 and "pip install 'deepmd-kit[torch]'" in err and "reads .dp and .pth files" in err
    status, out, err = script("convert", CASE / "model.dp", "model.pth", "--dp", "/nowhere/dp")
    assert status == 1 and "/nowhere/dp is not a program" in err


@pytest.mark.parametrize("words, message", [
    (("none.dp", "b.dp"), "none.dp: No such file"), ((CASE / "model.dp", "model"), "end of the name"),
    ((CASE / "model.dp", "no/b.dp"), "there is no folder no")])
def test_messages(words, message, script):
    status, out, err = script("convert", *words)
    assert status == 1 and message in err and err.startswith("dptrain: error: ") and err.count("\n") == 1


def test_from_dp_to_dp(script, tmp_path):
    assert script("convert", CASE / "model.dp", "copy.dp")[0] == 0
    from numpy_model import NumpyModel

    frame = largest_frame()
    found = NumpyModel(tmp_path / "copy.dp").atom_energies(np.array(frame["coord"]), frame["types"], np.reshape(frame["box"], (3, 3)))
    assert np.abs(found - frame["python"]["atom_energy"]).max() <= 1e-12 * np.abs(found).max()
