"""PySCF as a calculator of ASE: dptrain client --calculator reference.Molecule --socket unix:molecule learn.init.xyz"""

import numpy as np
from ase.calculators.calculator import CalculationFailed, Calculator, all_changes
from ase.units import Bohr, Hartree
from pyscf import dft, gto


class Molecule(Calculator):
    """A molecule without cell. xc, basis, charge and spin (number of unpaired electrons) as PySCF has them."""

    implemented_properties = ["energy", "forces"]
    default_parameters = {"xc": "pbe", "basis": "def2-svp", "charge": 0, "spin": 0, "conv_tol": 1e-9, "max_cycle": 100}

    def calculate(self, atoms=None, properties=("energy",), system_changes=all_changes):
        super().calculate(atoms, properties, system_changes)
        wanted = self.parameters
        molecule = gto.M(atom=[[atom.symbol, atom.position] for atom in self.atoms], unit="Angstrom", basis=wanted.basis,
                         charge=wanted.charge, spin=wanted.spin, verbose=0)
        method = dft.KS(molecule, xc=wanted.xc).set(conv_tol=wanted.conv_tol, max_cycle=wanted.max_cycle)
        energy = method.kernel()
        if not method.converged:
            raise CalculationFailed(f"the electrons have not converged within {wanted.max_cycle} cycles")
        gradient = method.nuc_grad_method().set(grid_response=True).kernel()
        self.results = {"energy": energy * Hartree, "forces": -np.asarray(gradient) * Hartree / Bohr}
