"""Fixtures of the tests that run LAMMPS."""

import importlib.metadata
import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from lammps_runner import run_lammps  # noqa: E402


def pytest_sessionstart():
    """LAMMPS loads the plugin of an installed package before those of LAMMPS_PLUGIN_PATH: that one would be tested."""
    if "LAMMPS_PLUGIN_PATH" in os.environ and any(importlib.metadata.distributions(name="dptrain")):
        pytest.exit("LAMMPS_PLUGIN_PATH is set, but the dptrain that is installed here would be loaded instead: pip uninstall it", 2)


@pytest.fixture
def lammps(tmp_path):
    """Function: input text, ranks -> Result; all runs of a test share one folder."""
    return lambda text, ranks=1, options=(), **environment: run_lammps(tmp_path, text, ranks, options, **environment)
