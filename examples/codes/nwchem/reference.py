"""NWChem as a calculator of ASE: dptrain label requests --calculator reference.nwchem"""

from ase.calculators.nwchem import NWChem


def nwchem(command="nwchem PREFIX.nwi > PREFIX.nwo", **more):
    """ASE writes noautosym, so that there is no symmetry."""
    settings = {"theory": "dft", "basis": "6-31g",
                "dft": {"xc": "pbe96", "grid": "fine", "iterations": 100, "convergence": {"energy": 1e-8}}}
    return NWChem(command=command, **{**settings, **more})
