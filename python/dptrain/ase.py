"""A calculator for ASE (https://ase-lib.org), which is an optional dependency: pip install ase.

    from dptrain.ase import Calculator
    atoms.calc = Calculator("model.dp")
"""

from __future__ import annotations

from ase.calculators.calculator import Calculator as BaseCalculator
from ase.calculators.calculator import all_changes
from ase.stress import full_3x3_to_voigt_6_stress

from dptrain.potential import Potential


class Calculator(BaseCalculator):
    """Energy, free_energy, forces, energies and, for atoms with a cell, stress.

    model: a Potential, or the name of a model file (.dp, .pth) or checkpoint. precision: as of Potential.
    """

    implemented_properties = ["energy", "free_energy", "forces", "stress", "energies"]

    def __init__(self, model, precision="double", **options):
        super().__init__(**options)
        self.potential = model if isinstance(model, Potential) else Potential(model, precision)

    def calculate(self, atoms=None, properties=("energy",), system_changes=all_changes):
        """All properties at once. Raises dptrain.Error for elements that the model does not know."""
        super().calculate(atoms, properties, system_changes)
        found = self.potential.evaluate(self.atoms)
        self.results = {"energy": found.energy, "free_energy": found.energy, "forces": found.forces, "energies": found.energies}
        if self.atoms.cell.rank == 3:
            # ASE: stress is the derivative of the energy by the strain over the volume
            self.results["stress"] = full_3x3_to_voigt_6_stress(-found.virial / self.atoms.get_volume())
