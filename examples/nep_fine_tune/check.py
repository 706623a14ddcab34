"""Forces of tuned.txt in calorine, GPUMD's Python package, beside those of this package, on a frame of the folder check."""

import glob

import numpy as np
from ase import Atoms
from calorine.calculators import CPUNEP

import dptrain

folder = glob.glob("check/*/set.*")[0]
cell, positions = (np.load(f"{folder}/{name}.npy")[-1].reshape(-1, 3) for name in ("box", "coord"))
atoms = Atoms(["Si"] * len(positions), positions, cell=cell, pbc=True)
here = dptrain.load("tuned.txt").evaluate(atoms)
atoms.calc = CPUNEP("tuned.txt")
print(f"largest difference of force components, eV/A: {np.abs(atoms.get_forces() - here.forces).max():.1e}, "
      f"of energies, eV: {abs(atoms.get_potential_energy() - here.energy):.1e}")
