"""Outputs of CP2K: energies, forces, stress and convergence from the output, positions and cells of further steps from the files
PROJECT-pos-1.xyz, PROJECT-frc-1.xyz and PROJECT-1.cell beside it.

The file PROJECT-1.stress is not read: its stress contains the motion of the atoms, which no potential has.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dptrain.data_codes import complete_lines
from dptrain.data_frames import BOHR, HARTREE, INCOMPLETE, CutOff, Frame, ReadError

PRESSURE = {"gpa": 6.241509074e-3, "bar": 6.241509074e-7, "kbar": 6.241509074e-4, "pa": 6.241509074e-12, "mpa": 6.241509074e-6}  # eV/Angstrom^3
SAME_ENERGY = 2e-9  # Hartree: the files beside the output have ten decimals


@dataclass
class Evaluation:
    """One energy in the output, with what belongs to it."""

    energy: float  # Hartree
    converged: bool
    forces: np.ndarray | None = None  # [N][3] Hartree/Bohr
    stress: np.ndarray | None = None  # [3][3] eV/Angstrom^3, positive under compression


def number_at_end(line):
    return float(line.split()[-1])


class Output:
    """What an output says: the project, the first positions, the cell, and the evaluations."""

    def __init__(self, path):
        self.lines = [line.rstrip("\n") for line in complete_lines(path)]
        self.path = path
        self.project = self.word("GLOBAL| Project name") or "PROJECT"
        self.ensemble = self.word("MD_PAR| Ensemble type", "MD| Ensemble Type") or ""
        self.run_type = self.word("GLOBAL| Run type") or ""
        self.evaluations, self.cut = [], None
        self.symbols, self.positions = self.coordinates()
        try:
            self.evaluate()
        except (ValueError, IndexError) as error:
            self.cut = f"{type(error).__name__}: {error}"

    def word(self, *titles):
        return next((line.split()[-1] for line in self.lines if any(title in line for title in titles)), None)

    def coordinates(self):
        """Elements and first positions, or (None, None)."""
        begin = next((k for k, line in enumerate(self.lines) if re.match(r"\s*Atom\s+Kind\s+Element\s+X", line)), None)
        if begin is None:
            return None, None
        symbols, positions = [], []
        for line in self.lines[begin + 1:]:
            words = line.split()
            if len(words) < 7 and positions:
                break
            if len(words) >= 7:
                symbols.append(element(words[2]))
                positions.append([float(word) for word in words[4:7]])
        return symbols, np.array(positions)

    def cell(self):
        """[3][3] Angstrom, from lengths and angles, which have more digits than the vectors; or None."""
        rows = {}
        for line in self.lines:
            found = re.match(r"\s*CELL(?:_TOP)?\|\s*(Vector ([abc])|Angle \(., ?.\), (\w+))\s+\[\w+\]:?\s+(.*)", line)
            if found and not line.lstrip().startswith("CELL_TOP"):
                rows.setdefault(found[2] or found[3], found[4])
        if not {"a", "b", "c"} <= set(rows):
            return None
        rough = np.array([[float(word) for word in rows[k].split()[:3]] for k in "abc"])
        lengths = np.array([number_at_end(rows[k]) for k in "abc"])
        if not {"alpha", "beta", "gamma"} <= set(rows):
            return rough
        alpha, beta, gamma = np.cos(np.radians([number_at_end(rows[k]) for k in ("alpha", "beta", "gamma")]))
        sine = np.sqrt(1.0 - gamma ** 2)
        third = [beta, (alpha - beta * gamma) / sine]
        exact = np.array([[1.0, 0.0, 0.0], [gamma, sine, 0.0], [*third, np.sqrt(1.0 - third[0] ** 2 - third[1] ** 2)]]) * lengths[:, None]
        return exact if np.abs(exact - rough).max() < 2e-3 else rough * (lengths / np.linalg.norm(rough, axis=1))[:, None]

    def periodic(self):
        found = self.word("CELL| Periodicity") or "XYZ"
        return tuple(axis in found for axis in "XYZ")

    def evaluate(self):
        """Fills the list of evaluations. ValueError or IndexError: the text ends within one."""
        converged, k = True, 0
        while k < len(self.lines):
            line = self.lines[k]
            if "SCF run NOT converged" in line or "SCF loop FAILED to converge" in line:
                converged = False
            elif "SCF run converged" in line or "outer SCF loop converged" in line:
                converged = True
            elif "ENERGY| Total FORCE_EVAL" in line:
                self.evaluations.append(Evaluation(number_at_end(line), converged))
            elif self.evaluations and re.match(r"\s*(FORCES\| )?ATOMIC FORCES (in )?\[", line, re.IGNORECASE):
                self.evaluations[-1].forces, k = self.forces_at(k + 1)
            elif self.evaluations and re.search(r"stress tensor \[(\w+)", line, re.IGNORECASE) and "igenv" not in line:
                self.evaluations[-1].stress, k = self.stress_at(k)
            k += 1

    def forces_at(self, k):
        """The table of forces from line k on, and the line of its end: a sum, or in newer versions nothing."""
        rows = []
        while k < len(self.lines):
            words = self.lines[k].replace("FORCES|", " ").split()
            if words[:3] == ["SUM", "OF", "ATOMIC"] or words[:1] == ["Sum"] or (rows and not words):
                return np.array(rows), k
            if words and words[0].isdigit():
                numbers = words[1:4] if "FORCES|" in self.lines[k] else words[3:6]
                rows.append([float(word) for word in numbers])
            k += 1
        raise ValueError(INCOMPLETE)

    def stress_at(self, k):
        """The stress tensor whose title is line k, eV/Angstrom^3, and the line of its end."""
        unit = re.search(r"\[(\w+)", self.lines[k])[1].lower()
        rows = []
        while len(rows) < 3:
            k += 1
            words = self.lines[k].replace("STRESS|", " ").split()
            if len(words) == 4 and words[0].lower() == "xyz"[len(rows)]:
                rows.append([float(word) for word in words[1:]])
        if unit not in PRESSURE:
            raise ReadError(f"{self.path}: the stress is in {unit}: leave it out of the run, or set STRESS_UNIT to one of {', '.join(PRESSURE)}")
        return np.array(rows) * PRESSURE[unit], k


def element(name):
    """Fe of FE, Fe1, Fe_up."""
    return re.match(r"[A-Za-z]{1,2}", name)[0].capitalize()


def blocks(path):
    """Steps of a file of CP2K in XYZ: (step, energy in Hartree, elements, [N][3] numbers). CutOff at an incomplete one."""
    lines = complete_lines(path)
    for line in lines:
        if not line.strip():
            continue
        try:
            count, title = int(line), next(lines)
            rows = [next(lines).split() for _ in range(count)]
            values = np.array([[float(word) for word in row[1:4]] for row in rows])
            if values.shape != (count, 3):
                raise ValueError(INCOMPLETE)
        except (ValueError, StopIteration) as error:
            raise CutOff(INCOMPLETE) from error
        step, energy = re.search(r"i\s*=\s*(\d+)", title), re.search(r"E\s*=\s*(\S+)", title)
        yield int(step[1]) if step else None, float(energy[1]) if energy else None, [element(row[0]) for row in rows], values


def by_step(path):
    """{step: last numbers of it}; empty without the file."""
    found = {}
    if path.exists():
        try:
            for step, _, _, values in blocks(path):
                found[step] = values
        except CutOff:
            pass
    return found


def cells(path):
    """{step: [3][3] Angstrom} of a file PROJECT-1.cell."""
    found = {}
    if path.exists():
        for line in path.read_text().splitlines():
            words = line.split()
            if len(words) >= 11 and words[0].isdigit():
                found[int(words[0])] = np.array([float(word) for word in words[2:11]]).reshape(3, 3)
    return found


def read_cp2k(path, options):
    """Frames of an output, or of PROJECT-pos-1.xyz alone: then without stress, and nobody knows what has converged."""
    path = Path(path)
    if path.name.endswith("-pos-1.xyz"):
        yield from trajectory(path, None, options)
        return
    output = Output(path)
    if not output.evaluations:
        raise ReadError(f"{path} has no line 'ENERGY| Total FORCE_EVAL': give the output of a CP2K run that has computed energies")
    positions = path.parent / f"{output.project}-pos-1.xyz"
    if positions.exists() and output.run_type not in ("ENERGY", "ENERGY_FORCE"):
        yield from trajectory(positions, output, options)
    elif output.positions is None or output.cell() is None:
        raise ReadError(f"{path} has no positions and there is no {positions.name} beside it: keep the files of the run together, or run with "
                        "PRINT_LEVEL MEDIUM")
    else:
        if len(output.evaluations) > 1:
            options.note(f"{path}: {positions.name} is not beside it: the first of {len(output.evaluations)} steps is kept, whose positions it has")
        yield completed(output.symbols, output.positions, output.cell(), output, output.evaluations[0])
    if output.cut:
        raise CutOff(output.cut)


def completed(symbols, positions, cell, output, evaluation, forces=None, energy=None):
    """The frame of an evaluation, which may be None; forces from a file, Hartree/Bohr, have more digits than those of the output."""
    periodic = output.periodic() if output else (True, True, True)
    frame = Frame(symbols, positions, cell if any(periodic) else None, periodic)
    energy = evaluation.energy if evaluation else energy
    forces = forces if forces is not None or evaluation is None else evaluation.forces
    frame.energy = None if energy is None else energy * HARTREE
    frame.forces = None if forces is None or np.shape(forces) != np.shape(positions) else forces * HARTREE / BOHR
    if evaluation is None:
        frame.converged = output is None
        return frame
    frame.converged = evaluation.converged
    if evaluation.stress is not None and all(periodic):
        frame.virial = evaluation.stress * abs(np.linalg.det(cell))
    return frame


def trajectory(path, output, options):
    """Frames of PROJECT-pos-1.xyz with what else there is of the same steps; the evaluation is the next one with the same energy."""
    stem = str(path)[:-len("-pos-1.xyz")]
    forces, cell_of = by_step(Path(stem + "-frc-1.xyz")), cells(Path(stem + "-1.cell"))
    fixed = output.cell() if output else None
    changes = output and (output.ensemble.startswith("NP") or output.run_type == "CELL_OPT")
    if not cell_of and (fixed is None or changes):
        raise ReadError(f"{path}: cells of the steps are missing: the run must print them (&MOTION &PRINT &CELL) into {Path(stem).name}-1.cell"
                        + (", or give the output of CP2K instead, which has a fixed cell" if output is None else ""))
    if output is None:
        options.note(f"{path}: without the output of CP2K there is no stress, and steps whose SCF has not converged are not known: give the output instead")
    place = 0
    for step, energy, symbols, positions in blocks(path):
        evaluation = None
        if output:
            place, evaluation = next_evaluation(output.evaluations, place, energy)
        cell = cell_of.get(step, None if cell_of else fixed)
        if cell is None:
            continue  # cells are printed more seldom than positions
        yield completed(symbols, positions, cell, output, evaluation, forces.get(step), energy)


def next_evaluation(evaluations, place, energy):
    """(place behind it, evaluation) with this energy from `place` on; (place, None) without one."""
    for k in range(place, len(evaluations)):
        if energy is not None and abs(evaluations[k].energy - energy) < SAME_ENERGY:
            return k + 1, evaluations[k]
    return place, None
