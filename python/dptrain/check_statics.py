"""Parts of ``dptrain check`` about single configurations: the structure, two atoms alone, cells that are squeezed and stretched."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from ase import Atoms
from ase.data import atomic_numbers, covalent_radii
from ase.eos import EquationOfState
from ase.units import GPa

from dptrain.check_part import CheckError, Part, Severity, Table, compare, falls, of_all, row
from dptrain.check_plots import plot_cells, plot_dimers
from dptrain.check_subject import STEPS

CLOSEST, GRID = 0.5, 0.02  # Angstrom, of two atoms that approach
DENT, HOLE = 0.01, 0.1  # eV, falls of energy of two atoms: from where on they are told, and from where on they are wrong
SQUEEZED = 0.01  # eV/atom, falls of energy of a squeezed cell that are wrong
SCALES = np.arange(75, 126) / 100.0  # of lengths of a cell
NEAR = 0.03  # of 1: scales from which the equation of state is taken
ENERGY, ENERGY_PART = 0.05, 0.2  # eV/atom, and part of the reference's, by which the energy of a scaled cell may be another one
BARS = 5.0  # times the bar at the volume of least energy, from where on the model knows nothing
VOLUME, MODULUS = 0.02, 0.2  # parts of the reference's value that the model's may be away
RUNAWAY = 1.5  # times the volume, or the inverse of it, of a structure that does not hold together


def structure(subject):
    """The structure as it is given, and relaxed."""
    part = Part("structure", "Structure", "The structure as it was given, and after positions"
                + (" and cell" if subject.has_cell else "") + " were relaxed.")
    given = [side.attach(subject.structure) for side in subject.sides]
    relaxed = of_all(part, subject.sides, lambda side: side.relaxed)
    count = len(subject.structure)

    def of_relaxed(measure):
        return [None if end is None else measure(end) for end in relaxed]

    energies = of_relaxed(lambda end: end.atoms.get_potential_energy() / count)
    table = Table(subject.heads, [
        row("energy as given (eV/atom)", [side.energy(subject.structure) / count for side in subject.sides], ".4f"),
        row("largest force as given (eV/A)", [np.linalg.norm(atoms.get_forces(), axis=1).max() for atoms in given], ".4f"),
        row("energy relaxed (eV/atom)", energies, ".4f")])
    if subject.has_cell:
        table.rows.append(row("volume as given (A^3/atom)", [subject.structure.get_volume() / count] * len(given), ".3f"))
        volumes = of_relaxed(lambda end: end.atoms.get_volume() / count)
        table.rows.append(row("volume relaxed (A^3/atom)", volumes, ".3f"))
        table.rows.append(row("edges relaxed (A)", of_relaxed(lambda end: Edges(end.atoms.cell.lengths())), ".4f"))
        compare(part, "the relaxed volume", volumes, ".3f", "A^3/atom", VOLUME)
        tell_runaway(part, volumes[0], subject.structure.get_volume() / count)
    part.tables.append(table)
    for side, end in zip(subject.sides, relaxed):
        if end is not None and not end.converged:
            part.problem(Severity.UNKNOWN, f"The relaxation with the {side.name} did not converge in {STEPS} steps: the largest force is "
                                           f"{end.force:.3g} eV/A. This is normal for a frame of a liquid.")
    return part


class Edges(tuple):
    """Lengths that are formatted one by one."""

    def __format__(self, form):
        return " ".join(format(length, form) for length in self)


def tell_runaway(part, relaxed, given):
    """A problem where the volume is another one altogether after the relaxation. Volumes in Angstrom^3 per atom."""
    if not 1.0 / RUNAWAY < relaxed / given < RUNAWAY:
        part.problem(Severity.UNSTABLE, f"The structure does not hold together: its volume went from {given:.3f} to {relaxed:.3f} A^3/atom in the "
                                        "relaxation. Other parts are about what is left of it.")


@dataclass
class Curve:
    """Two atoms: distances in Angstrom, ascending; energies in eV, zero at the largest distance; forces in eV/Angstrom, positive where
    they push the atoms apart."""

    distances: np.ndarray
    energies: np.ndarray
    forces: np.ndarray


def dimer_curve(side, pair, cutoff, in_cell):
    """The Curve of two elements. in_cell: in a large periodic cell, for calculators that need one."""
    distances = np.append(np.arange(CLOSEST, cutoff - 0.5 * GRID, GRID), cutoff)
    box = {"cell": [4.0 * cutoff] * 3, "pbc": True} if in_cell else {}
    energies, forces = [], []
    for distance in distances:
        atoms = side.attach(Atoms(pair, [[0.0, 0.0, 0.0], [distance, 0.0, 0.0]], **box))
        forces.append(atoms.get_forces()[1, 0])
        energies.append(atoms.get_potential_energy())
    return Curve(distances, np.array(energies) - energies[-1], np.array(forces))


def contact_of(potential, pair):
    """A distance of two elements that atoms come to, Angstrom: the smallest learned one, else 0.8 of the sum of their covalent radii."""
    walls = potential.info.get("walls") or {}
    radii = sum(covalent_radii[atomic_numbers[element]] for element in pair)
    return walls.get("-".join(pair)) or walls.get("-".join(reversed(pair))) or 0.8 * radii


def minimum_of(curve, contact):
    """Index of the lowest energy between 0.9 and 2 times the contact distance."""
    inside = np.flatnonzero((curve.distances >= 0.9 * contact) & (curve.distances <= 2.0 * contact))
    if len(inside) == 0:
        raise CheckError(f"the cutoff is {curve.distances[-1]:.3g} A, and the atoms touch at {contact:.3g} A: the cutoff must be above that")
    return int(inside[np.argmin(curve.energies[inside])])


def tell_holes(part, pair, curve, minimum, contact):
    """What there is to say of each place inside the minimum where the energy falls while the atoms come closer."""
    inward = curve.energies[minimum::-1]
    unknown = curve.distances[~np.isfinite(curve.energies)]
    if len(unknown):
        part.problem(Severity.HOLE, f"The energy of two atoms {pair} is no number at {unknown[-1]:.2f} A.")
    for top, low in falls(inward, DENT):
        begin, end = minimum - top, minimum - low
        depth, pull = inward[top] - inward[low], -curve.forces[end:begin + 1].min()
        place = f"from {curve.distances[begin]:.2f} to {curve.distances[end]:.2f} A their energy falls by {depth:.3g} eV"
        if depth > HOLE and curve.distances[end] < contact:
            part.problem(Severity.HOLE, f"Two atoms {pair} fall into a hole: {place}, and a force of up to {pull:.3g} eV/A pulls them together.")
        else:
            why = "too little to hold atoms there" if depth <= HOLE else "to a distance that such atoms do have"
            part.note(f"{pair}: {place}, {why}; the energy at the first of these distances is {inward[top]:.3g} eV.")


def dimers(subject):
    """Two atoms alone in space, for each two elements."""
    part = Part("dimers", "Two atoms alone", f"Energy of two atoms alone in space from {CLOSEST} A to the cutoff, against that at the cutoff. "
                "Inside the minimum it must rise all the way.")
    table = Table(subject.heads)
    curves = {}
    in_cell = bool(subject.structure.pbc.any())
    for pair in itertools.combinations_with_replacement(subject.elements, 2):
        name = "-".join(pair)
        found = of_all(part, subject.sides, lambda side: dimer_curve(side, pair, subject.potential.rcut, in_cell))
        contact = contact_of(subject.potential, pair)
        lowest = [None if curve is None else minimum_of(curve, contact) for curve in found]
        tell_holes(part, name, found[0], lowest[0], contact)
        known = list(zip(found, lowest))
        table.rows += [
            row(f"{name}: energy at {CLOSEST} A (eV)", [curve and curve.energies[0] for curve, _ in known], ".4g"),
            row(f"{name}: minimum (A)", [curve and curve.distances[k] for curve, k in known], ".2f"),
            row(f"{name}: energy there (eV)", [curve and curve.energies[k] for curve, k in known], ".3f")]
        curves[name] = found
    part.tables.append(table)
    part.figures.append(("Energy of two atoms; on the left near the minimum, on the right all of it", plot_dimers(curves)))
    return part


@dataclass
class Squeezed:
    """A cell whose lengths are scaled: volumes in Angstrom^3 and energies in eV, both per atom; bars: largest error bar of a force at
    each, eV/Angstrom, or None. fit: (volume, energy, bulk modulus in GPa) of the minimum, or None where there is none."""

    volumes: np.ndarray
    energies: np.ndarray
    bars: np.ndarray | None
    fit: tuple | None


def fit_of(volumes, energies):
    """(V0, E0, B in GPa) by the equation of Birch and Murnaghan; None where the energies have no minimum."""
    try:
        volume, energy, modulus = EquationOfState(volumes, energies, eos="birchmurnaghan").fit()
    except (ValueError, RuntimeError):
        return None
    return (volume, energy, modulus / GPa) if volumes[0] < volume < volumes[-1] else None


def squeeze(side):
    """The relaxed cell of a side, Squeezed; positions scale with it."""
    start, count = side.relaxed.atoms, len(side.relaxed.atoms)
    volumes, energies, bars = [], [], []
    for scale in SCALES:
        atoms = side.attach(start)
        atoms.set_cell(start.cell * scale, scale_atoms=True)
        energies.append(atoms.get_potential_energy() / count)
        volumes.append(atoms.get_volume() / count)
        if "error_bars" in side.calculator.results:
            bars.append(np.max(side.calculator.results["error_bars"]))
    volumes, energies = np.array(volumes), np.array(energies)
    near = np.abs(SCALES - 1.0) < NEAR + 1e-9
    return Squeezed(volumes, energies, np.array(bars) if bars else None, fit_of(volumes[near], energies[near]))


def tell_squeezed(part, found):
    """Problems of the model's cell under compression, and how far its error bars are small."""
    start = int(np.argmin(np.abs(SCALES - 1.0)))
    inward, volumes = found.energies[start::-1], found.volumes[start::-1]
    if not np.isfinite(found.energies).all():
        part.problem(Severity.HOLE, f"The energy of the cell is no number at {found.volumes[~np.isfinite(found.energies)][-1]:.2f} A^3/atom.")
    for top, low in falls(inward, SQUEEZED):
        part.problem(Severity.HOLE, f"The squeezed cell falls into a hole: from {volumes[top]:.2f} to {volumes[low]:.2f} A^3/atom its energy "
                                    f"falls by {inward[top] - inward[low]:.3g} eV/atom.")
    if found.fit is None:
        part.problem(Severity.UNSTABLE, f"The energy has no minimum within {100 * NEAR:.0f} % of the lengths of the relaxed cell, "
                                        f"{found.volumes[start]:.3f} A^3/atom: there is no bulk modulus.")
    if found.bars is not None:
        known = found.bars < BARS * found.bars[start]
        low = next((k for k in range(start, -1, -1) if not known[k]), None)
        high = next((k for k in range(start, len(known)) if not known[k]), None)
        ends = [f"{word} {found.volumes[k]:.2f} A^3/atom (lengths times {SCALES[k]:.2f})"
                for word, k in (("below", low), ("above", high)) if k is not None]
        part.note(f"Error bar of the forces of the relaxed cell: {found.bars[start]:.3g} eV/A; "
                  + (f"it is more than {BARS:.0f} times that {' and '.join(ends)}." if ends
                     else f"it stays below {BARS:.0f} times that at all these volumes."))
    else:
        part.note("The model has no error bars.")


def tell_other_energies(part, found, reference):
    """The first volumes on both sides of the relaxed cell at which the energy is not that of the reference."""
    start = int(np.argmin(np.abs(SCALES - 1.0)))
    of_model = found.energies - found.energies[start]
    of_reference = np.interp(found.volumes, reference.volumes, reference.energies - reference.energies[start])
    wrong = np.abs(of_model - of_reference) > ENERGY + ENERGY_PART * np.abs(of_reference)
    low = next((k for k in range(start, -1, -1) if wrong[k]), None)
    high = next((k for k in range(start, len(wrong)) if wrong[k]), None)
    places = [f"from {found.volumes[k]:.2f} A^3/atom {way} (lengths times {SCALES[k]:.2f}: {of_model[k]:+.3f} instead of {of_reference[k]:+.3f} eV/atom)"
              for way, k in (("down", low), ("up", high)) if k is not None]
    if places:
        part.problem(Severity.INACCURATE, f"The energy against that of the relaxed cell is not the reference's {' and '.join(places)}: let the model learn such volumes "
                                          "(fix dptrain ... explore N strain S: lengths times 1 - 2 S / 3 and 1 + S).")


def cells(subject):
    """Energy against volume."""
    part = Part("cells", "Squeezed and stretched cells", f"The relaxed cell with lengths times {SCALES[0]} to {SCALES[-1]}, positions scaled with "
                "it. On compression its energy must rise all the way. Volume, energy and bulk modulus of the minimum are those of a "
                f"Birch-Murnaghan equation through lengths within {100 * NEAR:.0f} %.")
    found = of_all(part, subject.sides, squeeze)
    fits = [squeezed.fit if squeezed is not None and squeezed.fit else (None, None, None) for squeezed in found]
    part.tables.append(Table(subject.heads, [
        row("volume V0 (A^3/atom)", [fit[0] for fit in fits], ".3f"), row("energy E0 (eV/atom)", [fit[1] for fit in fits], ".4f"),
        row("bulk modulus B (GPa)", [fit[2] for fit in fits], ".1f")]))
    tell_squeezed(part, found[0])
    for other in found[1:]:
        if other is not None:
            tell_other_energies(part, found[0], other)
    compare(part, "the bulk modulus of the equation of state", [fit[2] for fit in fits], ".1f", "GPa", MODULUS)
    part.figures.append(("Energy against volume; error bars of the model", plot_cells(found)))
    return part
