"""Parts of ``dptrain check`` about a relaxed structure: elastic constants, vacancies, vibrations."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from ase import units

from dptrain.check_part import LeftOut, Part, Severity, Table, compare, of_all, row
from dptrain.check_plots import plot_modes
from dptrain.check_subject import relax, repeated

STRAIN = 0.005
STEP = 0.01  # Angstrom, by which atoms are moved for the second derivatives
MOST_ATOMS = 200  # of a structure whose vibrations are computed
SUPERCELL = 60  # atoms at least, that one is taken out of
VACANCY_FORCE = 1e-3  # eV/Angstrom, of a relaxed vacancy
RATTLE = 0.05  # Angstrom, of all atoms at the start of its relaxation: without it the symmetry of the crystal would stay
IMAGINARY = 0.1  # THz, from where on a mode counts as imaginary
TERAHERTZ = 1e3 * units.fs / (2.0 * np.pi)  # of an angular frequency in ASE's unit of time
MODULUS, FREQUENCY, VACANCY = 0.2, 0.1, 0.2  # parts of the reference's value that the model's may be away
VOIGT = ("xx", "yy", "zz", "yz", "xz", "xy")
LISTED = 12  # groups of equal frequencies that are named


def strain_of(component, size):
    """The deformation [3][3] of one Voigt component; shears are engineering strains."""
    strain = np.eye(3)
    i, j = ((0, 0), (1, 1), (2, 2), (1, 2), (0, 2), (0, 1))[component]
    strain[i, j] += size / (1 if i == j else 2)
    if i != j:
        strain[j, i] += size / 2
    return strain


@dataclass
class Stiffness:
    """constants: elastic constants [6][6] in GPa, symmetrized; loose: in how many strains the ions did not relax to the end."""

    constants: np.ndarray
    loose: int


def stiffness(side):
    """The Stiffness of the relaxed structure; ions relax in each strain."""
    start = side.minimum
    constants, loose = np.zeros((6, 6)), 0
    for component in range(6):
        stresses = []
        for size in (STRAIN, -STRAIN):
            atoms = start.copy()
            atoms.set_cell(start.cell.array @ strain_of(component, size), scale_atoms=True)
            end = relax(atoms, side.calculator)
            stresses.append(end.atoms.get_stress())
            loose += not end.converged
        constants[component] = (stresses[0] - stresses[1]) / (2.0 * STRAIN) / units.GPa
    return Stiffness(0.5 * (constants + constants.T), loose)


@dataclass
class Moduli:
    """Bulk and shear modulus in GPa, averages of Voigt, Reuss and Hill; the last two are None for a structure that is unstable."""

    bulk: tuple
    shear: tuple


def moduli(constants):
    """Moduli of elastic constants [6][6]."""
    def averages(c, factor):
        axial, mixed, shear = np.trace(c[:3, :3]), c[0, 1] + c[0, 2] + c[1, 2], np.trace(c[3:, 3:])
        return (axial + 2.0 * mixed) * factor[0], (factor[1] * (axial - mixed) + factor[2] * shear) / 15.0

    bulk, shear = averages(constants, (1.0 / 9.0, 1.0, 3.0))
    if np.linalg.eigvalsh(constants)[0] <= 0.0:
        return Moduli((bulk, None, None), (shear, None, None))
    soft = averages(np.linalg.inv(constants), (1.0, 4.0, 3.0))  # of the compliances: the inverse moduli
    reuss = 1.0 / soft[0], 1.0 / soft[1]
    return Moduli((bulk, reuss[0], 0.5 * (bulk + reuss[0])), (shear, reuss[1], 0.5 * (shear + reuss[1])))


def elastic(subject):
    """Elastic constants, and whether the structure is stable."""
    part = Part("elastic", "Elastic constants", f"By stress at strains of +-{100 * STRAIN:.1f} % of the relaxed structure, with relaxed ions.")
    found = of_all(part, subject.sides, stiffness)
    averages = [one and moduli(one.constants) for one in found]
    lowest = [one and np.linalg.eigvalsh(one.constants)[0] for one in found]
    table = Table(subject.heads)
    for name in ("bulk", "shear"):
        for k, kind in enumerate(("Voigt", "Reuss", "Hill")):
            table.rows.append(row(f"{name} modulus, {kind} (GPa)", [one and getattr(one, name)[k] for one in averages], ".1f"))
    table.rows.append(row("lowest eigenvalue (GPa)", lowest, ".1f"))
    part.tables.append(table)
    for side, one in zip(subject.sides, found):
        if one:
            rows = [row(VOIGT[k], np.round(one.constants[k], 1) + 0.0, ".1f") for k in range(6)]
            part.tables.append(Table([f"C (GPa), {side.name}", *VOIGT], rows))
        if one and one.loose:
            part.problem(Severity.UNKNOWN, f"In {one.loose} of 12 strains the ions did not relax to the end with the {side.name}.")
    if lowest[0] <= 0.0:
        too = "; so it is with the reference" if len(lowest) > 1 and lowest[1] is not None and lowest[1] <= 0.0 else ""
        part.problem(Severity.UNSTABLE, "The structure is mechanically unstable: its elastic constants have the eigenvalue "
                                        f"{lowest[0]:.3g} GPa{too}.")
    for name in ("bulk", "shear"):
        compare(part, f"the {name} modulus (Voigt)", [one and getattr(one, name)[0] for one in averages], ".1f", "GPa", MODULUS)
    return part


@dataclass
class Vacancies:
    """count: atoms of the supercell; whole: its energy; without: energies with one atom of each element taken out, eV."""

    count: int
    whole: float
    without: dict
    converged: bool

    def taken_out(self, element):
        """E(N-1) - E(N) in eV."""
        return self.without[element] - self.whole

    def formation(self, composition):
        """Energy in eV to take the atoms of a formula unit, {element: number}, out of different places and add one unit to the crystal: for
        one element E(N-1) - (N-1)/N E(N)."""
        atoms = sum(composition.values())
        return sum(number * self.taken_out(element) for element, number in composition.items()) + atoms * self.whole / self.count


def vacancies(side, elements):
    """The Vacancies of the relaxed structure: the first atom of each element is taken out."""
    cell = repeated(side.minimum, SUPERCELL)
    names = cell.get_chemical_symbols()
    without, converged = {}, True
    for element in elements:
        atoms = cell.copy()
        del atoms[names.index(element)]
        atoms.rattle(RATTLE, seed=1)
        end = relax(atoms, side.calculator, force=VACANCY_FORCE)
        without[element], converged = end.atoms.get_potential_energy(), converged and end.converged
    return Vacancies(len(cell), side.energy(cell), without, converged)


def vacancy(subject):
    """Energies of vacancies."""
    elements = subject.elements
    part = Part("vacancy", "Vacancies")
    found = of_all(part, subject.sides, lambda side: vacancies(side, elements))
    part.explanation = f"One atom is taken out of {found[0].count} at the volume of the perfect structure, and the others relax. "
    table = Table(subject.heads)
    if len(elements) == 1:
        part.explanation += "The formation energy is E(N-1) - (N-1)/N E(N)."
    else:
        part.explanation += ("E(N-1) - E(N) is the energy to take an atom out to where its energy is the model's zero: it can be compared with "
                             "that of a reference with the same zero only. The energy of a Schottky defect (one vacancy for each atom of a formula "
                             "unit, far from each other, and the unit put onto the crystal) does not depend on the zero.")
        table.rows += [row(f"E(N-1) - E(N), {element} (eV)", [one and one.taken_out(element) for one in found], ".3f") for element in elements]
    unit = subject.structure.symbols.formula.reduce()[0]
    label = "vacancy formation energy" if len(elements) == 1 else f"energy of a Schottky defect, {unit}"
    energies = [one and one.formation(unit.count()) for one in found]
    table.rows.append(row(f"{label} (eV)", energies, ".3f"))
    part.tables.append(table)
    if energies[0] < 0.0:
        part.problem(Severity.UNSTABLE, f"Taking atoms out gains energy: {energies[0]:.3f} eV for one formula unit.")
    for side, one in zip(subject.sides, found):
        if one and not one.converged:
            part.problem(Severity.UNKNOWN, f"A relaxation of {one.count - 1} atoms around a vacancy did not converge with the {side.name}.")
    compare(part, f"the {label}", energies, ".3f", "eV", VACANCY)
    return part


def hessian(atoms):
    """Second derivatives of the energy [3N][3N] in eV/Angstrom^2, by central differences of forces; not symmetrized."""
    found = np.empty((3 * len(atoms), 3 * len(atoms)))
    start = atoms.get_positions()
    for k, (atom, axis) in enumerate(itertools.product(range(len(atoms)), range(3))):
        forces = []
        for step in (STEP, -STEP):
            moved = start.copy()
            moved[atom, axis] += step
            atoms.set_positions(moved)
            forces.append(atoms.get_forces().ravel())
        found[k] = (forces[1] - forces[0]) / (2.0 * STEP)
    atoms.set_positions(start)
    return found


def rigid_motions(atoms):
    """Mass-weighted motions that cost no energy, [3N][...]: translations, and rotations where no direction is periodic."""
    motions = [np.tile(axis, (len(atoms), 1)) for axis in np.eye(3)]
    if not atoms.pbc.any():
        motions += [np.cross(axis, atoms.positions - atoms.get_center_of_mass()) for axis in np.eye(3)]
    return np.column_stack([(np.sqrt(atoms.get_masses())[:, None] * motion).ravel() for motion in motions])


def frequencies(atoms):
    """Frequencies in THz, ascending, without those of rigid motions; imaginary ones are negative."""
    weights = np.repeat(atoms.get_masses(), 3)**-0.5
    dynamical = hessian(atoms) * np.outer(weights, weights)
    left, sizes, _ = np.linalg.svd(rigid_motions(atoms))
    inner = left[:, int((sizes > 1e-6 * sizes[0]).sum()):]  # all that is not rigid
    squares = np.linalg.eigvalsh(inner.T @ (0.5 * (dynamical + dynamical.T)) @ inner)
    return np.sign(squares) * np.sqrt(np.abs(squares)) * TERAHERTZ


def listed(values):
    """Frequencies in one line, equal ones together; the middle of many is left out."""
    groups = [(name, len(list(group))) for name, group in itertools.groupby(f"{value:.2f}" for value in np.round(values, 2) + 0.0)]
    words = [name if number == 1 else f"{name} ({number} times)" for name, number in groups]
    if len(words) > LISTED:
        words = [*words[:LISTED // 2], "...", *words[-LISTED // 2:]]
    return ", ".join(words)


def phonons(subject):
    """Frequencies at Gamma, or vibrations of a molecule."""
    count = len(subject.structure)
    is_molecule = not subject.structure.pbc.any()
    part = Part("phonons", "Vibrations" if is_molecule else "Phonons at Gamma")
    if count == 1:
        raise LeftOut("one atom has no vibrations at Gamma: give a larger cell")
    if count > MOST_ATOMS:
        raise LeftOut(f"{count} atoms are more than {MOST_ATOMS}: give a smaller cell")
    part.explanation = (f"Frequencies of the relaxed structure by central differences of forces, atoms moved by {STEP} A, without translations"
                        + (" and rotations." if is_molecule else ". Of a larger cell they are those of all wave vectors that it holds."))
    found = of_all(part, subject.sides, lambda side: frequencies(side.attach(side.minimum)))
    part.tables.append(Table(subject.heads, [
        row("lowest (THz)", [None if one is None else one[0] for one in found], ".2f"),
        row("highest (THz)", [None if one is None else one[-1] for one in found], ".2f"),
        row("imaginary modes", [None if one is None else int((one < -IMAGINARY).sum()) for one in found], "d")]))
    for side, one in zip(subject.sides, found):
        if one is not None:
            part.note(f"Frequencies of the {side.name} (THz): {listed(one)}.")
    tell_imaginary(part, found, subject.sides)
    if len(found) > 1 and found[1] is not None:
        off = float(np.sqrt(np.mean((found[0] - found[1])**2)))
        part.note(f"Root mean square of the differences: {off:.2f} THz.")
        if off > FREQUENCY * found[1][-1]:
            part.problem(Severity.INACCURATE, f"The frequencies are {off:.2f} THz (root mean square) away from those of the reference, whose highest "
                                              f"is {found[1][-1]:.2f} THz.")
    part.figures.append(("Frequencies at Gamma", plot_modes(found)))
    return part


def tell_imaginary(part, found, sides):
    """A problem where the model has imaginary modes."""
    numbers = [0 if one is None else int((one < -IMAGINARY).sum()) for one in found]
    if numbers[0]:
        too = f"; the reference has {numbers[1]}" if len(sides) > 1 and found[1] is not None else ""
        part.problem(Severity.UNSTABLE, f"The structure is no minimum: it has {numbers[0]} imaginary mode{'s' * (numbers[0] > 1)}, the largest of "
                                        f"{-found[0][0]:.2f}i THz{too}.")
