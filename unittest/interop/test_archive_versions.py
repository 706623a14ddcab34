"""Potentials frozen by earlier versions of DeePMD-kit, against the Python of that version.

DPTRAIN_DEEPMD_VERSIONS names a folder with one folder for each version, its name the version, made by

    pip install --no-deps --target FOLDER/3.0.0 deepmd-kit==3.0.0 && find FOLDER/3.0.0 -name libdeepmd_op_pt.so -delete

(its operators are for another PyTorch than that of DPTRAIN_DEEPMD, with which it runs here; none of these models calls one).
"""

import json
import os
from pathlib import Path

import numpy as np
import pytest
from test_archives import BIN, BUILD, DP, HERE, INPUT_JSON, TUNE, check, deepmd, evaluate, norm, run, write_frame

VERSIONS = Path(os.environ.get("DPTRAIN_DEEPMD_VERSIONS", "/nonexistent"))
FOLDERS = sorted(path for path in VERSIONS.glob("*") if (path / "deepmd").is_dir())
pytestmark = [pytest.mark.story("interop"),
              pytest.mark.skipif(not DP or not FOLDERS, reason="set DPTRAIN_DEEPMD and DPTRAIN_DEEPMD_VERSIONS")]
ALL = ["se_e2_a", "se_e3", "se_atten_v2", "dpa1", "hybrid", "zbl", "excluded_pairs", "small_sel", "fparam"]


def models_of(version):
    """DPA-3 came with 3.1; from 3.1.3 on DPA-2 is frozen only where the operators are."""
    number = tuple(map(int, version.split(".")))
    return ALL + (["dpa2"] if number < (3, 1, 3) else []) + (["dpa3"] if number >= (3, 1) else [])


@pytest.fixture(scope="module", params=FOLDERS, ids=lambda path: path.name)
def made(request, tmp_path_factory):
    """(folder with models, frame.data, a system and what DeePMD-kit says of the frame; folder of the version)."""
    folder, names = tmp_path_factory.mktemp("versions"), models_of(request.param.name)
    deepmd(folder, "python", HERE / "make_script_models.py", folder, *names, version=request.param)
    write_frame(folder)
    deepmd(folder, "python", HERE / "evaluate_archives.py", "frame.json", "expected.json", *(f"{name}.pth" for name in names),
           version=request.param)
    return folder, request.param


@pytest.mark.parametrize("ranks", [1, 2])
def test_equal_to_python(ranks, made, tmp_path):
    folder, _ = made
    for name, expected in json.loads((folder / "expected.json").read_text()).items():
        style = "dptrain native no" + (" fparam 0.2 0.4" if name == "fparam" else "")
        # 1e-10: as in test_archives.py
        check(evaluate(tmp_path, folder, style, f"{folder}/{name}.pth O H", (BIN / "mpiexec", "-n", ranks, BIN / "lmp")), expected, 1e-10)


def test_native_form(made, tmp_path):
    folder, _ = made
    expected = json.loads((folder / "expected.json").read_text())["se_e2_a"]
    check(evaluate(tmp_path, folder, "dptrain", f"{folder}/se_e2_a.pth O H"), expected, 1e-10)


def test_gradient_and_adam(made, tmp_path):
    folder, version = made
    (tmp_path / "input.json").write_text(json.dumps(INPUT_JSON))
    for name in set(models_of(version.name)) & {"dpa1", "zbl", "dpa2", "dpa3"}:
        deepmd(tmp_path, "python", HERE / "train_with_deepmd.py", folder / f"{name}.pth", folder / "system", 20, "expected.json", version=version)
        expected = json.loads((tmp_path / "expected.json").read_text())
        found = json.loads(run([BUILD / "unittest/lib/loss_gradient", folder / f"{name}.pth", folder / "system", "input.json", 20, "space"],
                               tmp_path))
        difference = {k: np.subtract(v, expected["gradient"][k]) for k, v in found["gradient"].items()}
        assert norm(difference) <= 1e-9 * norm(expected["gradient"]), name
        for key, values in found["parameters"].items():
            assert np.abs(np.subtract(values, expected["parameters"][key])).max() <= 1e-8, name


@pytest.mark.parametrize("name", ["se_e2_a", "dpa1", "zbl"])
def test_saved_archives(name, made, tmp_path):
    """That version and DeePMD-kit's own `lmp` read what was trained here."""
    folder, version = made
    (tmp_path / "in.tune").write_text(TUNE.format(data=folder / "frame.data", style="dptrain", model=folder / f"{name}.pth"))
    run([BIN / "lmp", "-in", "in.tune", "-log", "none"], tmp_path)
    ours = evaluate(tmp_path, folder, "dptrain", "tuned.pth O H")
    deepmd(tmp_path, "python", HERE / "evaluate_archives.py", folder / "frame.json", "expected.json", "tuned.pth", version=version)
    check(ours, json.loads((tmp_path / "expected.json").read_text())["tuned"], 1e-10)
    if name == "se_e2_a":
        return  # pair_style deepmd takes other neighbors where a type has more within cutoff and skin than its sel, for versions before 3.2
    theirs = evaluate(tmp_path, folder, f"deepmd {tmp_path}/tuned.pth", "O H", (Path(DP).parent / "lmp",))
    assert np.abs(theirs[1] - ours[1]).max() <= 1e-9
