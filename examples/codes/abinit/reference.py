"""ABINIT as a calculator of ASE: dptrain label requests --calculator reference.abinit"""

import os
from pathlib import Path

from ase.calculators.abinit import Abinit, AbinitProfile
from ase.calculators.calculator import CalculationFailed

PSEUDO = os.environ.get("ABINIT_PP_PATH", "/usr/share/abinit/psp")  # with 14si.pspgth
SETTINGS = {"pps": "pspgth", "ecut": 8 * 27.2113860217, "ecutsm": 0.5, "ngkpt": [2, 2, 2], "nshiftk": 1,
            "shiftk": [0, 0, 0], "kptopt": 1, "nsym": 1, "nstep": 50, "tolvrs": 1e-10, "prtwf": 0, "prtden": 0}


class ConvergedAbinit(Abinit):
    """ABINIT prints a warning where the electrons have not converged, and goes on."""

    def calculate(self, *args, **kwargs):
        super().calculate(*args, **kwargs)
        log = Path(self.directory) / self.template.outputname
        if "not enough SCF cycles" in log.read_text(errors="replace"):
            raise CalculationFailed(f"the electrons have not converged: {log}")


def profile(command):
    return AbinitProfile(command=command, pp_paths=PSEUDO)


def abinit(command="abinit", **more):
    """One process of ABINIT for each configuration."""
    return ConvergedAbinit(profile=profile(command), **{**SETTINGS, **more})


def abinit_socket(command="abinit", **more):
    """One process of ABINIT for all configurations; it begins with the first one, whatever that is."""
    relax = {"ntime": 1000000, "tolmxf": 1e-36, "dilatmx": 1.15}
    name = f"abinit-{os.getpid()}"
    return Abinit(profile=profile(command), **{**SETTINGS, **relax, **more}).socketio(unixsocket=name)
