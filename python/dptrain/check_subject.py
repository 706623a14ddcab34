"""What ``dptrain check`` looks at: the structure, the model and the reference, each with its relaxed structure."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from pathlib import Path

from ase.data import covalent_radii
from ase.filters import FrechetCellFilter
from ase.formula import Formula
from ase.io import read
from ase.neighborlist import neighbor_list
from ase.optimize import BFGS

from dptrain.ase import Calculator
from dptrain.calculators import CalculatorError, energy_of, parse_calculator
from dptrain.check_part import CheckError, LeftOut, reason_of
from dptrain.check_reference import read_reference
from dptrain.potential import Error, Potential

FORCE = 2e-4  # eV/Angstrom, largest force on an atom of a relaxed structure
STEPS = 500  # of a relaxation
CLOSEST = 0.4  # of the sum of two covalent radii: nearer atoms are a mistake


@dataclass
class Relaxed:
    """The end of a relaxation. force: largest one on an atom, eV/Angstrom."""

    atoms: object
    converged: bool
    force: float


def relax(atoms, calculator, with_cell=False, force=FORCE):
    """Relaxed positions, and cell if asked for, of a copy of the atoms."""
    atoms = atoms.copy()
    atoms.calc = calculator
    converged = BFGS(FrechetCellFilter(atoms) if with_cell else atoms, logfile=None).run(fmax=force, steps=STEPS)
    return Relaxed(atoms, bool(converged), float((atoms.get_forces()**2).sum(axis=1).max()**0.5))


class Side:
    """The model, or the reference.

    name: "model" or "reference"; text: what it is; style: PairStyleWords where it is a pair style of LAMMPS.
    """

    def __init__(self, name, text, calculator, structure, style=None):
        self.name, self.text, self.calculator, self.style = name, text, calculator, style
        self._structure = structure

    def attach(self, atoms):
        """A copy of the atoms with this side's calculator."""
        atoms = atoms.copy()
        atoms.calc = self.calculator
        return atoms

    def energy(self, atoms):
        """eV"""
        return float(energy_of(self.attach(atoms)))

    @functools.cached_property
    def relaxed(self):
        """The structure, its cell too if it has one."""
        return relax(self._structure, self.calculator, with_cell=is_solid(self._structure))

    @property
    def minimum(self):
        """The atoms of the relaxed structure, for what needs a minimum of the energy. Raises LeftOut where the relaxation did not
        converge."""
        if not self.relaxed.converged:
            raise LeftOut(f"the relaxation with the {self.name} did not converge in {STEPS} steps, and this part needs a minimum of the energy")
        return self.relaxed.atoms


@dataclass
class Subject:
    """All that the parts need. potential: of the model; sides: the model, and the reference if there is one."""

    structure: object
    potential: Potential
    sides: list
    options: object
    folder: Path

    @property
    def elements(self):
        """In the order in which they appear in the structure."""
        return list(dict.fromkeys(self.structure.get_chemical_symbols()))

    @property
    def has_cell(self):
        """Whether all three directions are periodic."""
        return is_solid(self.structure)

    @property
    def heads(self):
        """Of the columns of a table."""
        return ["", *(side.name for side in self.sides)]


def is_solid(atoms):
    """Whether the atoms have a cell that is periodic in all directions."""
    return bool(atoms.pbc.all()) and atoms.cell.rank == 3


def repeated(atoms, least):
    """The atoms repeated until there are at least so many, along the edge that is the shortest at the time."""
    counts = [1, 1, 1]
    while counts[0] * counts[1] * counts[2] * len(atoms) < least:
        edges = [count * length for count, length in zip(counts, atoms.cell.lengths())]
        counts[edges.index(min(edges))] += 1
    return atoms.repeat(counts)


def read_structure(path, form):
    """The last frame of a file, without constraints. form: NAME[:key=value,...] of ASE's formats, or None."""
    if not Path(path).is_file():
        raise CheckError(f"{path}: there is no such file: give a structure that ASE reads, such as POSCAR, cif or extended XYZ")
    try:
        name, options = parse_calculator(form) if form else (None, {})
        atoms = read(path, format=name, **options)
    except CalculatorError as error:
        message = str(error).replace("--calculator", "--format").partition(", as in ")[0]
        raise CheckError(f"{message}, as in lammps-data:atom_style=atomic") from error
    except Exception as error:  # readers raise what they like
        reason = "it ends too early" if isinstance(error, StopIteration) else reason_of(error)
        raise CheckError(f"{path}: ASE cannot read it ({reason}): give a POSCAR, cif, extended XYZ, ..., or name its format: "
                         "--format lammps-data:atom_style=atomic") from error
    if len(atoms) == 0:
        raise CheckError(f"{path}: there are no atoms in it: give a structure with at least one")
    if atoms.pbc.any() and atoms.cell[atoms.pbc].any(axis=1).sum() < atoms.pbc.sum():
        raise CheckError(f"{path}: it has periodic directions without a vector of the cell: write it with its cell")
    require_real_atoms(atoms, path)
    if (name or "").lower() == "cif" or Path(path).suffix.lower() == ".cif":
        require_whole_cif(atoms, path)
    atoms.set_constraint()
    atoms.calc = None
    return atoms


def require_whole_cif(atoms, path):
    """Raises CheckError where the formula that a CIF states is not that of its atoms: the file was cut, or atoms were not located."""
    stated = re.search(r"^_chemical_formula_sum\s+(?:'([^']*)'|\"([^\"]*)\"|([A-Za-z0-9]+)\s*$)", Path(path).read_text(errors="replace"), re.MULTILINE)
    if not stated:
        return
    try:
        formula = Formula("".join(filter(None, stated.groups())).replace(" ", ""))
    except ValueError:  # numbers that are not whole, deuterium, a question mark
        return
    if len(formula) and formula.reduce()[0].count() != Formula(atoms.get_chemical_formula()).reduce()[0].count():
        raise CheckError(f"{path}: it states the formula {formula}, and its atoms are {atoms.get_chemical_formula()}: see whether it was cut, or has "
                         "atoms whose places are missing (often H); a structure that is right all the same can be written as extended XYZ")


def require_real_atoms(atoms, path):
    """Raises CheckError for sites that are occupied in part, for what is no element, and for atoms that lie on each other."""
    for number, elements in enumerate((atoms.info.get("occupancy") or {}).values(), 1):
        if len(elements) > 1 or any(part < 1.0 - 1e-6 for part in elements.values()):
            parts = ", ".join(f"{part:g} {element}" for element, part in elements.items())
            raise CheckError(f"{path}: site {number} is occupied in part ({parts}): write an ordered structure, in which each site has one atom or "
                             "none")
    if (atoms.numbers == 0).any():
        raise CheckError(f"{path}: atom {int((atoms.numbers == 0).argmax()) + 1} is no element ({atoms.symbols[atoms.numbers == 0][0]}): name the "
                         "elements of all atoms")
    close = neighbor_list("ijd", atoms, CLOSEST * covalent_radii[atoms.numbers])
    if len(close[2]):
        k = int(close[2].argmin())
        first, second = sorted((int(close[0][k]), int(close[1][k])))
        raise CheckError(f"{path}: atoms {first + 1} ({atoms.symbols[first]}) and {second + 1} ({atoms.symbols[second]}) are {close[2][k]:.2f} Angstrom "
                         "apart, and lie on each other: correct the structure, or its cell")


def read_model(path, structure):
    """The Potential in a file, which knows all elements of the structure."""
    try:
        potential = Potential(path)
    except Error as error:
        raise CheckError(str(error)) from error
    missing = sorted(set(structure.get_chemical_symbols()) - set(potential.type_map))
    if missing:
        raise CheckError(f"the structure has {', '.join(missing)}, and {path} knows {' '.join(potential.type_map)} only: use a structure of these "
                         "elements, or another model")
    return potential


def read_subject(options):
    """The Subject of a command line."""
    structure = read_structure(options.structure, options.format)
    potential = read_model(options.model, structure)
    sides = [Side("model", options.model, Calculator(potential), structure)]
    subject = Subject(structure, potential, sides, options, Path(options.output))
    if options.reference:
        elements = options.elements or subject.elements
        unknown = sorted(set(subject.elements) - set(elements))
        if unknown:
            raise CheckError(f"--elements {' '.join(elements)}: {', '.join(unknown)} of the structure must be among them")
        calculator, style = read_reference(options.reference, elements)
        sides.append(Side("reference", "  ".join(options.reference), calculator, structure, style))
        try:
            sides[1].energy(structure)
        except Exception as error:  # calculators raise what they like
            raise CheckError(f"--reference {'  '.join(options.reference)}: it cannot compute the structure ({reason_of(error)}): correct its "
                             "words") from error
    return subject
