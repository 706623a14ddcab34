"""Whether energies, forces and virials of a data set belong together: between two configurations that lie close to each other the energy
changes by the work of forces and virial (trapezoid rule). Finds wrong units and signs, as `fix dptrain` does with the labels of a reference
while it runs.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from dptrain.data_frames import BOHR, HARTREE

FEWEST_PAIRS = 4
LARGEST_DISPLACEMENT, LARGEST_STRAIN = 0.4, 0.1  # Angstrom, of an atom within a pair; the rule's error grows with the third power
SMALLEST_WORK = 1e-4  # eV; less is lost among the digits of files
LARGEST_DIFFERENCE, STANDARD_ERRORS = 0.4, 6.0  # of a factor from one; those of wrong units are 27.2, 1.89, 0.529, 2 and more
LEAST_CORRELATION = 0.9  # R^2 of the fit; below it a factor says nothing
LARGEST_SHARE = 0.5  # of the sum of squares: where one pair has more of it the factor is that of this pair
REMEMBERED, COMPOSITIONS = 8, 200  # configurations of a composition, the nearest of which makes a pair; compositions

OF_FORCES = (  # slope, what it looks like
    (-1.0, "the forces have the opposite sign"), (HARTREE / BOHR, "the forces are in Hartree/Bohr"), (HARTREE / 2 / BOHR, "the forces are in Ry/Bohr"),
    (1 / 23.0605, "the forces are in kcal/mol/Angstrom"), (1 / 96.4853, "the forces are in kJ/mol/Angstrom"))
OF_ENERGY = ((1 / HARTREE, "the energies are in Hartree"), (2 / HARTREE, "the energies are in Ry"), (23.0605, "the energies are in kcal/mol"),
             (96.4853, "the energies are in kJ/mol"))
BOTH_ATOMIC = 1 / BOHR  # energies in Hartree, forces in Hartree/Bohr, lengths in Angstrom
OF_VIRIAL = ((1.0, "the virials have the opposite sign", ""), (6.241509e-3, "the stress is in GPa", ""), (6.241509e-4, "the stress is in kbar", ""),
             (HARTREE / BOHR ** 3, "the stress is in Hartree/Bohr^3", ""), (HARTREE, "the virials are in Hartree", ""))
LIKENESS = 0.15  # largest relative difference from such a slope


@dataclass
class Finding:
    """The slope of the energies against the work of `label`: what is wrong with it, empty if nothing is, and the options that mend it."""

    label: str  # "forces" or "virial"
    slope: float
    pairs: int
    error: float  # standard error of the slope
    fault: str = ""
    remedy: str = ""

    def verdict(self):
        """What follows the slope in a line: the fault, or that it cannot be told whether there is one."""
        if self.fault:
            return f" (expected: 1): {self.fault}"
        if abs(self.slope - 1.0) > LARGEST_DIFFERENCE:
            return f" (expected: 1; its standard error is {self.error:.2g}, too large to tell a fault): look at units and signs"
        return ""


@dataclass
class Pair:
    """Two configurations that lie close: loss of energy, work of the forces and of the virial, eV."""

    energy: float
    forces: float
    virial: float
    atoms: int
    volume: float


class LabelWork:
    """Collects frames; `findings` says what they show."""

    def __init__(self):
        self.last, self.pairs, self.virials = {}, [], False

    def add(self, frame):
        """A frame, where it has energy and forces."""
        if frame.energy is None or frame.forces is None:
            return
        self.virials = self.virials or frame.virial is not None
        key = (tuple(frame.symbols), frame.periodic, frame.charge)
        recent = self.last.pop(key, None) or deque(maxlen=REMEMBERED)
        self.last[key] = recent  # the latest one is the last
        if len(self.last) > COMPOSITIONS:
            del self.last[next(iter(self.last))]
        near = [found for found in (change(other, frame) for other in recent) if found is not None]
        if near:
            pair = min(near, key=lambda found: found[0])[1]
            if max(abs(pair.forces), abs(pair.virial)) >= SMALLEST_WORK:
                self.pairs.append(pair)
        recent.append(frame)

    def findings(self):
        """What the pairs tell of forces and virials; and R^2 of the fit where it is too small to tell anything, else None."""
        if len(self.pairs) < FEWEST_PAIRS:
            return [], None
        columns = {"forces": np.array([pair.forces for pair in self.pairs]), "virial": np.array([pair.virial for pair in self.pairs])}
        energy = np.array([pair.energy for pair in self.pairs])
        used = [label for label, work in columns.items() if np.count_nonzero(np.abs(work) > SMALLEST_WORK / 10) >= FEWEST_PAIRS]
        if not used:
            return [], None
        matrix = np.stack([columns[label] for label in used], 1)
        scale = np.linalg.norm(matrix, axis=0)
        slopes, _, rank, _ = np.linalg.lstsq(matrix / scale, energy, rcond=1e-4)
        rest = float(np.sum((energy - matrix / scale @ slopes) ** 2))
        if rank < len(used):
            return [], None
        correlation = 1.0 - rest / max(float(np.sum(energy ** 2)), 1e-300)
        if correlation < LEAST_CORRELATION:
            return [], correlation
        inverse = np.diag(np.linalg.inv((matrix / scale).T @ (matrix / scale)))
        errors = np.sqrt(rest / max(len(energy) - len(used), 1) * inverse) / scale
        found = []
        for k, label in enumerate(used):
            square = matrix[:, k] ** 2
            if square.max() <= LARGEST_SHARE * square.sum() or len(self.pairs) <= 2 * FEWEST_PAIRS:
                finding = Finding(label, float(slopes[k] / scale[k]), int(np.count_nonzero(square)), float(errors[k]))
                if abs(finding.slope - 1.0) > max(LARGEST_DIFFERENCE, STANDARD_ERRORS * errors[k]):
                    self.explain(finding)
                found.append(finding)
        return found, None

    def explain(self, finding):
        """What is wrong, as the slope looks."""
        slope = finding.slope
        if finding.label == "virial":
            sign = -1 if slope < 0 else 1
            volume = float(np.median([pair.volume for pair in self.pairs if pair.virial]))
            known = [*OF_VIRIAL, (volume, "the virials are a stress, not multiplied by the volume", f"--stress-key KEY{' and' if sign > 0 else ', or'}"),
                     (1 / volume, "the stress is a virial, multiplied by the volume already", "--virial-key KEY, or")]
            for expected, text, key in known:
                if like(abs(slope), expected) and (expected != 1.0 or sign < 0):
                    more = " with the opposite sign" if sign < 0 and expected != 1.0 else ""
                    factor = -1 if expected == 1.0 else sign * expected
                    finding.fault, finding.remedy = text + more, (key + " " if key else "") + f"--virial-factor={factor:.7g}"
                    return
            finding.fault, finding.remedy = "units or sign of the stress are wrong (the virial is minus the volume times the stress), or the basis of the " \
                                            "calculations is not converged", f"--virial-factor={slope:.4g}"
            return
        atoms = float(np.median([pair.atoms for pair in self.pairs]))
        for expected, text in OF_FORCES:
            if like(slope, expected):
                finding.fault, finding.remedy = text, f"--forces-factor={expected:.7g}"
                return
        for expected, text in (*OF_ENERGY, (1 / atoms, "the energies are those of one atom")):
            if like(slope, expected) and expected < 0.9 or like(slope, expected) and expected > 1.5:
                finding.fault, finding.remedy = text, f"--energy-factor={1 / expected:.7g}"
                return
        if like(slope, BOTH_ATOMIC):
            finding.fault = "energies are in Hartree and forces in Hartree/Bohr"
            finding.remedy = f"--energy-factor={HARTREE:.7g} --forces-factor={HARTREE / BOHR:.7g}"
            return
        finding.fault, finding.remedy = "units or sign of the forces, or units of the energies are wrong", f"--forces-factor={slope:.4g}"


def like(value, expected):
    return abs(value / expected - 1.0) < LIKENESS


def change(old, new):
    """(distance, Pair) of two frames of the same atoms; None where they lie too far apart or a label is missing."""
    shift, strain, volume = new.positions - old.positions, np.zeros((3, 3)), 0.0
    if new.cell is not None:
        inverse = np.linalg.inv(old.cell)
        strain = inverse @ new.cell - np.eye(3)
        parts = new.positions @ np.linalg.inv(new.cell) - old.positions @ inverse
        shift = (parts - np.round(parts) * np.array(new.periodic)) @ new.cell
        volume = abs(np.linalg.det(new.cell))
    displacement, deformation = float(np.abs(shift).max()), float(np.abs(strain).max())
    if not (displacement <= LARGEST_DISPLACEMENT and deformation <= LARGEST_STRAIN):
        return None
    virial = 0.0
    if deformation > 1e-7:
        if old.virial is None or new.virial is None:
            return None
        virial = 0.5 * float(np.sum((old.virial + new.virial) * strain))
    forces = 0.5 * float(np.sum((old.forces + new.forces) * shift))
    return displacement + 3.0 * deformation, Pair(old.energy - new.energy, forces, virial, len(new.symbols), volume)
