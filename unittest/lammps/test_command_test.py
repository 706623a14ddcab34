"""The command `dptrain test`: errors of a model on data sets, in LAMMPS on several ranks."""

import json

import numpy as np
import pytest

from lammps_runner import REFERENCE

CASES = sorted(path.parent.name for path in REFERENCE.glob("train_*/grad.npy"))
TRAIN_A = REFERENCE / "train_a"


def printed(result):
    """{name: number} of the last block of errors, those of all systems."""
    block = result.output.split("weighted average of errors")[1].split("\n# ---")[0]
    lines = [line.split(":") for line in block.splitlines()[2:]]
    return {" ".join(name.split()): float(value.split()[0]) for name, value in lines}


def rmse_of_deepmd(case):
    """RMSE of energy, force and virial from the losses that DeePMD-kit has for the frames of a case."""
    numbers = json.loads((case / "expected.json").read_text())
    atoms = np.load(next(case.glob("system/set.*/force.npy"))).shape[1] // 3
    square = {term: numbers["initial"][f"loss_{term}"] / numbers[f"pref_{term}"] for term in "efv"}
    return {"Energy RMSE": np.sqrt(square["e"] * atoms), "Energy RMSE/Natoms": np.sqrt(square["e"] / atoms), "Force RMSE": np.sqrt(square["f"]),
            "Virial RMSE": np.sqrt(square["v"] * atoms), "Virial RMSE/Natoms": np.sqrt(square["v"] / atoms)}


@pytest.mark.parametrize("ranks", (1, 2, 4))
@pytest.mark.parametrize("name", CASES)
def test_errors_are_those_of_deepmd(name, ranks, lammps, tmp_path):
    case = REFERENCE / name
    result = lammps(f"dptrain test -m {case}/model.dp -s {case}/system -d detail\n", ranks).check()
    found = printed(result)
    for key, value in rmse_of_deepmd(case).items():
        assert found[key] == pytest.approx(value, rel=1e-6), key  # seven digits are printed
    for suffix, key in (("e", "Energy"), ("f", "Force"), ("v", "Virial"), ("s", "Stress")):
        table = np.loadtxt(tmp_path / f"detail.{suffix}.out", ndmin=2)
        label, value = np.split(table, 2, axis=1)
        assert found[f"{key} MAE"] == pytest.approx(np.abs(label - value).mean(), rel=1e-6)
        assert found[f"{key} RMSE"] == pytest.approx(np.sqrt(((label - value) ** 2).mean()), rel=1e-6)


def test_validation_systems_are_relative_to_the_input(lammps, tmp_path):
    folder = tmp_path / "there"
    folder.mkdir()
    (folder / "data").symlink_to(TRAIN_A / "system")
    section = {"type_map": ["O", "H"], "descriptor": {"type": "se_e2_a", "sel": [10, 10]}, "fitting_net": {}}
    training = {"training_data": {"systems": ["nowhere"]}, "validation_data": {"systems": ["data"]}, "numb_steps": 1}
    (folder / "input.json").write_text(json.dumps({"model": section, "learning_rate": {}, "loss": {}, "training": training}))
    result = lammps(f"dptrain test -m {TRAIN_A}/model.dp --valid-data there/input.json\n").check()
    assert printed(result)["Force RMSE"] == pytest.approx(rmse_of_deepmd(TRAIN_A)["Force RMSE"], rel=1e-6)
    failed = lammps(f"dptrain test -m {TRAIN_A}/model.dp --train-data there/input.json\n", 2)
    assert failed.status != 0 and "nowhere" in "".join(failed.errors())


def test_single_precision_is_near(lammps):
    result = lammps(f"dptrain test -m {TRAIN_A}/model.dp -s {TRAIN_A}/system --precision single\n").check()
    assert printed(result)["Force RMSE"] == pytest.approx(rmse_of_deepmd(TRAIN_A)["Force RMSE"], rel=1e-5)


@pytest.mark.parametrize(
    "words, text",
    (
        ("-m none.dp -s {system}", "none.dp"),
        ("-m {model} -s none", "none"),
        ("-m {model}", "'.' holds no system"),
        ("-m {model} -s {system} -f list", "-f,--datafile"),
        ("-m {model} -s {system} -n -3", "found -3, use a number not below 0"),
        ("-m {model} -s {system} -a", "atom_ener"),
        ("-m {model} -s {system} -d none/detail", "none/detail.e.out"),
        ("-s {system}", "--model"),
    ),
)
def test_what_cannot_be_done_is_named(words, text, message):
    result = message("dptrain test " + words.format(model=TRAIN_A / "model.dp", system=TRAIN_A / "system") + "\n", 2)
    assert result.status != 0
    assert text in "".join(result.errors()), result.output[-1500:]
