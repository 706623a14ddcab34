"""Calculators for ASE (https://ase-lib.org), which is an optional dependency: pip install ase.

    from dptrain.ase import Calculator
    atoms.calc = Calculator("model.dp")

and one that learns while a run goes on, from any other calculator:

    from dptrain.ase import OnTheFly
    atoms.calc = OnTheFly("input.json", reference=EMT(), save="model.dp")
"""

from __future__ import annotations

import numpy as np
from ase.calculators.calculator import Calculator as BaseCalculator
from ase.calculators.calculator import all_changes
from ase.atoms import Atoms
from ase.stress import full_3x3_to_voigt_6_stress, voigt_6_to_full_3x3_stress

from dptrain.calculators import energy_of
from dptrain.data_frames import charge_of
from dptrain.potential import Error, Potential
from dptrain.session import Session


class Calculator(BaseCalculator):
    """Energy, free_energy, forces, energies and, for atoms with a cell, stress; of a model with charges, these. Of a model with error bars
    `results["error_bars"]` has how large the error of each force can be, eV/Angstrom.

    model: a Potential, or the name of a model file (.dp, .pth) or checkpoint. precision: as of Potential.
    """

    implemented_properties = ["energy", "free_energy", "forces", "stress", "energies", "charges"]

    def __init__(self, model, precision="double", **options):
        super().__init__(**options)
        self.potential = model if isinstance(model, Potential) else Potential(model, precision)

    def check_state(self, atoms, tol=1e-15):
        """What of the atoms has changed; their total charge as well, which is among their `info`."""
        changes = super().check_state(atoms, tol)
        return changes if self.atoms is None or charge_of(atoms) == charge_of(self.atoms) else [*changes, "initial_charges"]

    def calculate(self, atoms=None, properties=("energy",), system_changes=all_changes):
        """All properties at once. Raises dptrain.Error for elements that the model does not know."""
        super().calculate(atoms, properties, system_changes)
        found = self.potential.evaluate(self.atoms)
        self.results = {"energy": found.energy, "free_energy": found.energy, "forces": found.forces, "energies": found.energies}
        if found.error_bars is not None:
            self.results["error_bars"] = found.error_bars
        if found.charges is not None:
            self.results["charges"] = found.charges
        if self.atoms.cell.rank == 3:
            # ASE: stress is the derivative of the energy by the strain over the volume
            self.results["stress"] = full_3x3_to_voigt_6_stress(-found.virial / self.atoms.get_volume())


class OnTheFly(BaseCalculator):
    """Learns a potential while ASE moves the atoms with it: energy, free_energy, forces and, for atoms with a cell, stress.

    model: input.json of a new model, or a model file or checkpoint. reference: any ASE calculator. The options are those of
    dptrain.Session. Each new configuration is one step of a run, so this is for dynamics; for an optimizer train first, and then
    use Calculator. `session` is the Session: call its end() after the run, or use the calculator in a `with` statement. There is a
    stress where the reference has one; else from the first training on, the model's.
    """

    implemented_properties = ["energy", "free_energy", "forces", "stress"]

    def __init__(self, model, reference, **options):
        super().__init__()
        if isinstance(reference, type) or not hasattr(reference, "get_property"):
            raise Error(f"reference={reference!r} is not possible: use a calculator of ASE, as EMT()")
        self.reference = reference
        self.session = Session(model, self._label, **options)

    def _label(self, positions, elements, cell):
        if cell is not None and len(positions) == len(self.atoms):
            # the cell of the session may be strained, and has edges in directions that are not periodic
            pbc = self.atoms.pbc
            cell_and_pbc = {"cell": np.where(pbc[:, None], cell, self.atoms.cell.array), "pbc": pbc}
        else:  # a cut-out has a cell of its own
            cell_and_pbc = {"cell": cell, "pbc": cell is not None}
        atoms = Atoms(elements, positions=positions, **cell_and_pbc)
        atoms.calc = self.reference
        forces = atoms.get_forces()
        energy = energy_of(atoms)
        if cell is None:
            return energy, forces, forces.T @ positions
        try:
            virial = -voigt_6_to_full_3x3_stress(atoms.get_stress()) * atoms.get_volume() if atoms.cell.rank == 3 else None
        except NotImplementedError:
            virial = None
        return energy, forces, virial

    def calculate(self, atoms=None, properties=("energy",), system_changes=all_changes):
        """One step of the run, for a new configuration."""
        if self.results and not system_changes:
            return  # a stress that is missing stays so
        super().calculate(atoms, properties, system_changes)
        now = self.session.step(self.atoms.get_positions(), self.atoms.get_chemical_symbols(), self.atoms.cell.array, self.atoms.pbc)
        self.results = {"energy": now.energy, "free_energy": now.energy, "forces": now.forces}
        if self.atoms.cell.rank == 3 and now.virial is not None:
            self.results["stress"] = full_3x3_to_voigt_6_stress(-now.virial / self.atoms.get_volume())

    def __enter__(self):
        return self

    def __exit__(self, *what):
        self.session.__exit__(*what)
