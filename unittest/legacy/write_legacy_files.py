"""Writes the folders of the cases: files of an older version of the program, and expected.json, what that version has computed
when it went on from them.

    PYTHON unittest/legacy/write_legacy_files.py local.pth [NAME ...]

PYTHON is that of the environment in which the older version is installed, as `tools/install` makes it: commit 49ce779, the last
one with checkpoints of format 1. local.pth is what the program write_script_toy of the tests writes.
"""

import json
import shutil
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "lammps")]

from lammps_runner import run_lammps  # noqa: E402
from legacy_cases import CASES, numbers_of  # noqa: E402


def write(case, archive):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copy(archive, folder / "local.pth")
        case.prepare(folder)
        run_lammps(folder, case.first).check()
        target = HERE / case.name
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir()
        for kept in case.kept:
            copy = shutil.copytree if (folder / kept).is_dir() else shutil.copy
            copy(folder / kept, target / kept)
        result = run_lammps(folder, case.then).check()
        (target / "expected.json").write_text(json.dumps(numbers_of(case, folder, result)) + "\n")


def main():
    archive, *names = sys.argv[1:]
    for case in CASES:
        if not names or case.name in names:
            write(case, archive)


if __name__ == "__main__":
    main()
