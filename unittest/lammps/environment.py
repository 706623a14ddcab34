"""An environment of Python for calculators of the tests, without this package."""

import venv
from pathlib import Path

import ase


def make_environment(folder, **modules):
    """A virtual environment with ASE and what it needs, and the modules {name: text}, package__module for one of a package. Returns its folder."""
    folder = Path(folder)
    venv.create(folder, symlinks=True)
    (site,) = folder.glob("lib/python3*/site-packages")
    for place in {Path(ase.__file__).parents[1], *(Path(__import__(name).__file__).parents[1] for name in ("numpy", "scipy"))}:
        for entry in place.iterdir():
            if entry.name.startswith(("ase", "numpy", "scipy")) and not (site / entry.name).exists():
                (site / entry.name).symlink_to(entry)
    for name, text in modules.items():
        path = site / (name.replace("__", "/") + ".py")
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return folder


# a salt with damped, shifted Coulomb forces, under the name of a foundation model
SEVENN = '''
import numpy as np
from ase.calculators.calculator import Calculator, all_changes
from ase.neighborlist import neighbor_list
from scipy.special import erfc

CHARGE, RADIUS = {"Cs": 0.9, "Pb": 1.8, "I": -0.9}, {"Cs": 1.9, "Pb": 1.2, "I": 2.05}  # e, Angstrom
COULOMB, STRENGTH, HARDNESS, DAMPING, CUTOFF = 14.4, 0.28, 0.35, 0.2, 8.0  # eV Angstrom, eV, Angstrom, 1/Angstrom, Angstrom


class SevenNetCalculator(Calculator):
    implemented_properties = ["energy", "free_energy", "forces", "stress"]

    def __init__(self, model="7net-0", device="auto"):
        super().__init__()
        assert model == "7net-0"

    def calculate(self, atoms=None, properties=("energy",), system_changes=all_changes):
        super().calculate(atoms, properties, system_changes)
        i, j, r, d = neighbor_list("ijdD", self.atoms, CUTOFF)
        symbols = self.atoms.get_chemical_symbols()
        charge, radius = (np.array([table[symbol] for symbol in symbols]) for table in (CHARGE, RADIUS))
        slope = lambda x: erfc(DAMPING * x) / x**2 + 2 * DAMPING / np.sqrt(np.pi) * np.exp(-(DAMPING * x)**2) / x
        product = COULOMB * charge[i] * charge[j]
        repulsion = STRENGTH * np.exp((radius[i] + radius[j] - r) / HARDNESS)
        energy = product * (erfc(DAMPING * r) / r - erfc(DAMPING * CUTOFF) / CUTOFF + slope(CUTOFF) * (r - CUTOFF)) + repulsion
        pull = product * (slope(r) - slope(CUTOFF)) + repulsion / HARDNESS  # minus the derivative
        pairs = (pull / r)[:, None] * d
        forces = np.zeros((len(self.atoms), 3))
        np.add.at(forces, i, -pairs)
        stress = -0.5 * (d.T @ pairs) / self.atoms.get_volume()
        total = 0.5 * energy.sum()
        self.results = {"energy": total, "free_energy": total, "forces": forces, "stress": stress.flat[[0, 4, 8, 5, 2, 1]]}
'''
