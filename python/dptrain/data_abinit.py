"""Text outputs of ABINIT 9 and later: ASE reads one configuration of them, and takes the cell without its scale."""

from __future__ import annotations

import re

import numpy as np

from dptrain.data_codes import complete_lines
from dptrain.data_frames import INCOMPLETE, CutOff, Frame, ReadError

BOHR, HARTREE = 0.52917720859, 27.21138386  # Angstrom, eV, as in ABINIT 9
NUMBER = re.compile(r"[-+]?\d*\.?\d+(?:[EeDd][-+]?\d+)?")


def numbers(line):
    return [float(word.replace("D", "E").replace("d", "e")) for word in NUMBER.findall(line)]


def read_abinit(path, options):
    """A frame of each calculation of the ground state: one in a dataset, or one for each step of a dynamics or relaxation.

    Each has a document ResultsGS with few digits; what follows has more of them and wins."""
    text = "".join(complete_lines(path))
    if "--- !BeginCycle" not in text:
        raise ReadError(f"{path} has no documents '--- !BeginCycle': give the main output of ABINIT 9 or later (.abo, .out), or a file GSR.nc")
    for cycle in re.split(r"^--- !BeginCycle", text, flags=re.MULTILINE)[1:]:
        cycle = re.split(r"^== (?:DATASET|END DATASET)", cycle, flags=re.MULTILINE)[0]
        if "--- !ResultsGS" not in cycle:
            continue
        try:
            yield frame_of_cycle(cycle)
        except (ValueError, IndexError) as error:
            raise CutOff(str(error)) from error


def frame_of_cycle(cycle):
    """The frame of one self-consistent cycle. Raises ValueError or IndexError where the text is not complete."""
    lines = cycle.splitlines()
    document = cycle[cycle.index("--- !ResultsGS"):].split("\n...")[0].splitlines()
    rows = {key: following(document, key) for key in ("lattice_vectors", "cartesian_stress_tensor", "xred", "cartesian_forces")}
    symbols = [line.rsplit(",", 1)[1].strip(" ]") for line in rows["xred"]]
    count = len(symbols)
    cell = block(lines, "(rprimd) [bohr]", 3)
    cell = (cell if cell is not None else table(rows["lattice_vectors"], 3)) * BOHR
    forces = first(block(lines, "(fcart) [Ha/bohr]", count), block(lines, "cartesian forces (hartree/bohr) at end", count),
                   table(rows["cartesian_forces"], count))
    stress = first(block(lines, "(strten) [Ha/bohr^3]", 3), table(rows["cartesian_stress_tensor"], 3))
    positions = block(lines, "(xcart) [bohr]", count)
    if positions is None and "itime:" not in lines[1]:
        in_angstrom = block(lines, "cartesian coordinates (angstrom) at end", count)
        positions = None if in_angstrom is None else in_angstrom / BOHR
    if positions is None:
        raise ValueError(INCOMPLETE)
    steps = [line for line in lines if line.startswith(" ETOT ")]
    energy = numbers(steps[-1].split(None, 2)[2])[0] * HARTREE
    virial = None if stress is None else -stress * abs(np.linalg.det(cell)) * HARTREE / BOHR ** 3
    return Frame(symbols, positions * BOHR, cell, (True, True, True), energy, None if forces is None else forces * HARTREE / BOHR, virial,
                 converged="not enough SCF cycles to converge" not in cycle)


def first(*values):
    return next((value for value in values if value is not None), None)


def following(document, key):
    """The lines '- [...]' below a key."""
    begin = next((k for k, line in enumerate(document) if line.startswith(key)), None)
    if begin is None:
        return []
    end = begin + 1
    while end < len(document) and document[end].startswith("- ["):
        end += 1
    return document[begin + 1:end]


def table(rows, count):
    """[count][3] numbers of such lines, or None. Raises ValueError if there are others."""
    if not rows:
        return None
    values = np.array([numbers(row)[:3] for row in rows])
    if values.shape != (count, 3):
        raise ValueError(INCOMPLETE)
    return values


def block(lines, title, count):
    """[count][3] numbers: the last three of each line below the title; None without it."""
    begin = next((k for k, line in enumerate(lines) if title in line), None)
    if begin is None:
        return None
    values = np.array([numbers(line)[-3:] for line in lines[begin + 1:begin + 1 + count]])
    if values.shape != (count, 3):
        raise ValueError(INCOMPLETE)
    return values
