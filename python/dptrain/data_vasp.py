"""Outputs of VASP: OUTCAR by a reader of its own, vasprun.xml by ASE.

ASE's reader of OUTCAR stops at forces without van der Waals beside the others, at more than ten elements and at steps of VASP's own force
field, and does not tell which steps have converged.
"""

from __future__ import annotations

import re

import numpy as np

from dptrain.data_codes import complete_lines, open_text
from dptrain.data_frames import INCOMPLETE, CutOff, Frame, ReadError, frame_of

KILOBAR = 6.241509074e-4  # eV/Angstrom^3
DECIMAL = re.compile(r"[-+]?\d+\.\d+")  # numbers of fixed width may touch each other


def decimals(line):
    return [float(word) for word in DECIMAL.findall(line)]


class Outcar:
    """Reads an OUTCAR line by line; `frames` yields one for each ionic step."""

    def __init__(self, lines):
        self.lines = iter(lines)
        self.elements, self.titles, self.counts = [], [], []  # of types: by VRHFIN, by the titles of POTCAR, numbers of atoms
        self.limit, self.tolerance, self.cell, self.without = None, 0.0, None, 0
        self.forget()

    def forget(self):
        """What belongs to one step."""
        self.positions, self.forces, self.stress, self.iteration, self.changes, self.refused = None, None, None, 0, None, False

    def take(self, count):
        """Numbers of the next lines. Raises EOFError at the end of the file."""
        rows = [decimals(line) for _, line in zip(range(count), self.lines)]
        if len(rows) < count:
            raise EOFError(INCOMPLETE)
        return rows

    def header(self, line):
        """What stands once, before the first step."""
        if "VRHFIN" in line:
            self.elements.append(re.match(r"\s*([A-Za-z]+)", line.split("=")[1])[1])
        elif line.startswith(" POTCAR:"):  # PAW_PBE Fe_pv 06Sep2000
            self.titles.append(re.match(r"[A-Z][a-z]?", line.split()[2])[0])
        elif "ions per type" in line:
            self.counts += [int(word) for word in line.split("=")[1].split()]
        elif re.match(r"\s*NELM\s*=", line):
            self.limit = int(re.search(r"=\s*(\d+)", line)[1])
        elif re.match(r"\s*EDIFF\s*=", line):
            self.tolerance = float(line.split("=")[1].split()[0])

    def step(self, line):
        """What belongs to a step or changes with it."""
        if "direct lattice vectors" in line:
            self.cell = np.array([row[:3] for row in self.take(3)])
        elif "TOTAL-FORCE" in line and "(ML)" not in line:
            next(self.lines)
            table = np.array([row[:6] for row in self.take(sum(self.counts))])
            self.positions, self.forces = table[:, :3], table[:, 3:]
        elif line.startswith("  in kB"):
            self.stress = decimals(line)
        elif " Iteration " in line:
            self.iteration = int(re.search(r"\(\s*(\d+)\)", line)[1])
        elif "total energy-change (2. order)" in line:
            self.changes = [abs(float(word)) for word in re.findall(r"[-+]?\d*\.\d+(?:E[-+]\d+)?", line.split(":")[1])]
        elif "EDIFF was not reached" in line:
            self.refused = True

    def converged(self):
        """Whether the electronic loop has ended by EDIFF. VASP 5 says so also where NELM has ended it."""
        if self.refused:
            return False
        at_limit = self.limit is not None and self.iteration >= self.limit
        return not at_limit or bool(self.changes) and max(self.changes) < self.tolerance

    def frames(self):
        """Raises EOFError or ValueError where the file ends within a step."""
        for line in self.lines:
            self.header(line)
            self.step(line)
            if "FREE ENERGIE OF THE ION-ELECTRON SYSTEM" not in line:
                continue
            if " ML " not in line:  # else a step of VASP's own force field, no calculation
                rows = self.take(2)
                if self.positions is None:
                    self.without += 1
                else:
                    yield self.frame(rows[1][0])
            self.forget()

    def symbols(self):
        """Elements of the atoms. The titles of POTCAR stand twice, but for the last types in some versions."""
        elements = self.elements or self.titles[:len(self.counts)]
        if len(elements) != len(self.counts):
            raise ReadError(f"the OUTCAR names {len(elements)} elements and {len(self.counts)} numbers of ions per type, as some versions of VASP do "
                            "with more than ten: give the vasprun.xml of the run")
        return [element for element, count in zip(elements, self.counts) for _ in range(count)]

    def frame(self, energy):
        virial = None
        if self.stress and len(self.stress) == 6:
            xx, yy, zz, xy, yz, zx = self.stress
            virial = np.array([[xx, xy, zx], [xy, yy, yz], [zx, yz, zz]]) * KILOBAR * abs(np.linalg.det(self.cell))
        return Frame(self.symbols(), self.positions, self.cell, (True, True, True), energy, self.forces, virial, self.converged())


def read_outcar(path, options):
    """Frames of an OUTCAR: energies are 'free  energy   TOTEN', of which the forces are derivatives."""
    outcar = Outcar(complete_lines(path))
    try:
        yield from outcar.frames()
    except (EOFError, ValueError, IndexError, RuntimeError, TypeError) as error:
        raise CutOff(str(error)) from error
    if outcar.without:
        options.note(f"{path}: {outcar.without} steps have no positions and forces (NWRITE): give the vasprun.xml of the run instead")


def read_vasprun(path, options):
    """Frames of a vasprun.xml: energies are e_fr_energy."""
    from ase.io.vasp import read_vasp_xml

    converged = vasprun_converged(path)
    with open_text(path) as file:
        try:
            frames = [frame_of(atoms) for atoms in read_vasp_xml(file, slice(None))]
        except IndexError as error:
            raise ReadError(f"{path} has steps without electronic iterations, as of VASP's machine-learned force fields: give the OUTCAR of the run, "
                            "which tells them apart") from error
    for frame, is_converged in zip(frames, converged):
        frame.converged = is_converged
        yield frame


def vasprun_converged(path):
    """Of each complete step: fewer electronic iterations than NELM, or a last change of the energy below EDIFF."""
    import xml.etree.ElementTree as ElementTree

    limit, tolerance, found = None, 0.0, []
    with open_text(path) as file:
        try:
            for _, element in ElementTree.iterparse(file):
                name = element.get("name")
                if element.tag == "i" and name in ("NELM", "EDIFF") and element.text:
                    limit, tolerance = (int(element.text), tolerance) if name == "NELM" else (limit, float(element.text))
                elif element.tag == "calculation":
                    energies = [float(step.find("energy/i[@name='e_fr_energy']").text) for step in element.findall("scstep")]
                    change = abs(energies[-1] - energies[-2]) if len(energies) > 1 else 0.0
                    found.append(limit is None or len(energies) < limit or change < tolerance)
                    element.clear()
        except (ElementTree.ParseError, AttributeError):
            found.append(True)  # cut off: ASE keeps the last step where it has an energy
    return found
