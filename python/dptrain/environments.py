"""Commands that compute labels, in another Python: the environment of a calculator, in which nothing of this package is installed."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from pathlib import Path

from dptrain.arguments import positive

# this folder as the package dptrain, without what else is installed beside it
BEGIN = """
import importlib.util, sys
folder, *words = sys.argv[1:]
if sys.version_info < (3, 9):
    sys.exit(f"dptrain: error: {sys.executable} is Python {sys.version.split()[0]}: give --python one that is 3.9 or newer")
try:
    import numpy, ase
except ImportError as error:
    sys.exit(f"dptrain: error: {error}. Install it with {sys.executable} -m pip install ase")
spec = importlib.util.spec_from_file_location("dptrain", folder + "/__init__.py", submodule_search_locations=[folder])
sys.modules["dptrain"] = package = importlib.util.module_from_spec(spec)
spec.loader.exec_module(package)
from dptrain.cli import main
sys.exit(main(words))
"""
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "TF_NUM_INTRAOP_THREADS")


class PythonError(Exception):
    """The other Python cannot be used; the text says why and what to do."""


def add_arguments(parser):
    parser.add_argument("--python", metavar="PATH",
                        help="another Python, or the folder of its environment, in which the calculator runs: it needs ASE and the package of "
                             "the calculator, and nothing of this package")
    parser.add_argument("--threads", type=positive(int), metavar="K", help="threads of the calculator (default: OMP_NUM_THREADS, else all cores)")


def program(path):
    """The Python that `path`, of itself or of the folder of its environment, means."""
    given = Path(path).expanduser()
    if given.is_dir():
        found = given / "bin" / "python"
        if not found.exists():
            raise PythonError(f"--python {path}: there is no bin/python in this folder: give the folder of a virtual or conda environment, or "
                              "its Python")
        return str(found)
    found = shutil.which(str(given))
    if not found:
        raise PythonError(f"--python {path}: there is no such program: give the Python of the calculator's environment, as in "
                          "teacher/bin/python")
    return found


def enter(command, words):
    """Goes on as the same command in the Python and with the threads that its words ask for; returns where they ask for none."""
    parser = argparse.ArgumentParser(prog=f"dptrain {command}", add_help=False, allow_abbrev=False)
    add_arguments(parser)
    options, others = parser.parse_known_args(words)
    if options.python is None and options.threads is None:
        return
    python = program(options.python) if options.python is not None else sys.executable
    environment = dict(os.environ)
    environment.pop("PYTHONHOME", None)
    if options.threads is not None:
        environment.update(dict.fromkeys(THREADS, str(options.threads)))
    sys.stdout.flush()
    # not resolved: a virtual environment is known by the place of its link
    os.execve(python, [python, "-c", BEGIN, str(Path(__file__).parent.absolute()), command, *others], environment)
