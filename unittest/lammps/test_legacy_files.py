"""Checkpoints, frames files and models of an older version are read, and trainings go on as that version went on with them: the
cases of unittest/legacy, whose files and numbers it has written.
"""

import json
import shutil
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest

LEGACY = Path(__file__).resolve().parents[1] / "legacy"
sys.path.insert(0, str(LEGACY))

from legacy_cases import CASES, numbers_of  # noqa: E402

# A few optimizer steps and MD steps from the same numbers. The same machine gives the same bits; others, and other numbers of
# ranks, add in another order, which the optimizer amplifies.
TOLERANCE = 1e-9
CURVE = 6e-3  # two digits in a file


@pytest.fixture
def legacy(tmp_path):
    """Function: copies the files of a case into the folder of the test."""
    def copy(case):
        shutil.copytree(LEGACY / case.name, tmp_path, dirs_exist_ok=True)
    return copy


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_goes_on_as_before(case, ranks, legacy, lammps, tmp_path):
    legacy(case)
    expected = json.loads((LEGACY / case.name / "expected.json").read_text())
    found = numbers_of(case, tmp_path, lammps(case.then, ranks).check())
    assert found.keys() == expected.keys()
    for name, numbers in expected.items():
        numbers = np.array(numbers)
        tolerance = CURVE if name == "lcurve" else TOLERANCE
        assert np.shape(found[name]) == numbers.shape
        assert np.abs(np.array(found[name]) - numbers).max() <= tolerance * np.abs(numbers).max(), name


@pytest.mark.parametrize("case", [case for case in CASES if case.checkpoint], ids=lambda case: case.name)
def test_is_written_again_with_names(case, legacy, lammps, tmp_path):
    """The files are of the old format, what is written from them is not."""
    legacy(case)
    (old,) = [name for name in case.kept if "ckpt" in name]
    lammps(case.then).check()
    with h5py.File(tmp_path / old) as file:
        before = file["dptrain"]
        assert before.attrs["format_version"] == 1 and "trainer_state" in before and "trainer" not in before
        steps = int(before["trainer_state"][0])
    with h5py.File(tmp_path / case.checkpoint) as file:
        after = file["dptrain"]
        assert after.attrs["format_version"] == 2 and "trainer_state" not in after and "counters" not in after
        assert after["trainer/steps"][()] > steps
        assert after["session/program"][()] == (b"dptrain train" if case.name == "train" else b"fix dptrain")
        assert len(after["trainer/optimizer/mean"]) == len(after["parameters"])
