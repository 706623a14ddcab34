"""Fixtures of the tests that run LAMMPS."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from lammps_runner import run_lammps  # noqa: E402


@pytest.fixture
def lammps(tmp_path):
    """Function: input text, ranks -> Result; all runs of a test share one folder."""
    return lambda text, ranks=1, options=(), **environment: run_lammps(tmp_path, text, ranks, options, **environment)
