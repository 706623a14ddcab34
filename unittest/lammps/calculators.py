"""Calculators for the clients of the tests: `dptrain client --calculator calculators.NAME`."""

import time
from pathlib import Path

import numpy as np
from ase.calculators.calculator import Calculator, all_changes
from ase.calculators.lj import LennardJones


class Slow(LennardJones):
    """Lennard-Jones that takes some seconds; writes the file `label` when a calculation has begun."""

    def __init__(self, seconds, label="begun", **options):
        super().__init__(**options)
        self.seconds, self.mark = seconds, label

    def calculate(self, *args, **kwargs):
        Path(self.mark).touch()
        time.sleep(self.seconds)
        super().calculate(*args, **kwargs)


class Held(LennardJones):
    """Lennard-Jones whose calculation number `hold` writes the file `label` and goes on when there is a file `release`."""

    count = 0

    def __init__(self, hold, label="begun", **options):
        super().__init__(**options)
        self.hold, self.mark = hold, label

    def calculate(self, *args, **kwargs):
        self.count += 1
        if self.count == self.hold:
            Path(self.mark).touch()
            while not Path("release").exists():
                time.sleep(0.05)
        super().calculate(*args, **kwargs)


class Moody(LennardJones):
    """Lennard-Jones that does not converge the second time."""

    count = 0

    def calculate(self, *args, **kwargs):
        self.count += 1
        if self.count == 2:
            raise RuntimeError("no self-consistency after 100 cycles")
        super().calculate(*args, **kwargs)


class Wrong(LennardJones):
    """Lennard-Jones whose energies, forces and stresses are multiplied by what they should not."""

    def __init__(self, energy=1.0, forces=1.0, stress=1.0, **options):
        super().__init__(**options)
        self.factors = {"energy": energy, "forces": forces, "stress": stress}

    def calculate(self, *args, **kwargs):
        super().calculate(*args, **kwargs)
        for name, factor in self.factors.items():
            self.results[name] = factor * self.results[name]
        self.results["free_energy"] = self.results["energy"]


class GammaLDA(Calculator):
    """LDA at the Gamma point with GTH pseudopotentials by PySCF (https://pyscf.org); no stress.

    ke_cutoff: of the grid, Hartree.
    """

    implemented_properties = ["energy", "free_energy", "forces"]

    def __init__(self, basis="gth-szv", ke_cutoff=20.0, **options):
        super().__init__(**options)
        self.basis, self.ke_cutoff, self.density = basis, ke_cutoff, None

    def calculate(self, atoms=None, properties=("energy",), system_changes=all_changes):
        """Raises RuntimeError where the cycles do not converge."""
        from ase.units import Bohr, Hartree
        from pyscf.pbc import dft, gto
        from pyscf.pbc.dft.multigrid import MultiGridNumInt2

        super().calculate(atoms, properties, system_changes)
        positions = list(zip(self.atoms.get_chemical_symbols(), self.atoms.positions))
        cell = gto.M(atom=positions, a=np.array(self.atoms.cell), basis=self.basis, pseudo="gth-pade", unit="A",
                     ke_cutoff=self.ke_cutoff, verbose=0)
        field = dft.RKS(cell, xc="lda,vwn")
        field._numint, field.conv_tol = MultiGridNumInt2(cell), 1e-9
        energy = field.kernel(self.density) * Hartree
        if not field.converged:
            raise RuntimeError("the self-consistent field has not converged")
        self.density = field.make_rdm1()  # a good start for the next configuration
        forces = -field.nuc_grad_method().kernel() * Hartree / Bohr
        self.results = {"energy": energy, "free_energy": energy, "forces": forces}


class Offset(LennardJones):
    """Lennard-Jones whose atoms have an energy of their own, as in quantum chemistry."""

    def __init__(self, offset, **options):
        super().__init__(**options)
        self.offset = offset

    def calculate(self, *args, **kwargs):
        super().calculate(*args, **kwargs)
        for name in ("energy", "free_energy"):
            self.results[name] += self.offset * len(self.atoms)


class Crowd(LennardJones):
    """Lennard-Jones that has no energy of a single atom."""

    def calculate(self, atoms=None, *args, **kwargs):
        if len(atoms) == 1:
            raise RuntimeError("no basis set for one atom")
        super().calculate(atoms, *args, **kwargs)
