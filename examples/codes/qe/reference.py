"""Quantum ESPRESSO as a calculator of ASE: dptrain label requests --calculator reference.qe"""

import os

from ase.calculators.espresso import Espresso, EspressoProfile

PSEUDO = os.environ.get("ESPRESSO_PSEUDO", "/usr/share/espresso/pseudo")
CONTROL = {"tprnfor": True, "tstress": True, "disk_io": "none"}
SYSTEM = {"ecutwfc": 24, "ecfixed": 16, "qcutz": 30, "q2sigma": 3, "nosym": True, "noinv": True}


def qe(command="pw.x", calculation="scf", **electrons):
    """One process of pw.x for each configuration."""
    data = {"control": {**CONTROL, "calculation": calculation}, "system": SYSTEM, "electrons": {"conv_thr": 1e-9, **electrons}}
    return Espresso(profile=EspressoProfile(command=command, pseudo_dir=PSEUDO), pseudopotentials={"Si": "Si.pz-vbc.UPF"},
                    kpts=(2, 2, 2), input_data=data)


def qe_socket(command="pw.x", **electrons):
    """One process of pw.x for all configurations; its input has the cell of the first one, whatever that is."""
    return qe(command, "vc-relax", **electrons).socketio(unixsocket=f"espresso-{os.getpid()}")
