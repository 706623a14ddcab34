"""Labeled configurations on their way from one file to another."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

MARKS = ("ref_", "dft_")  # of reference values, which win over others
ENERGY, FORCES, VIRIAL, STRESS = ("free_energy", "energy"), ("forces", "force"), ("virial", "virials"), ("stress",)


BOHR, HARTREE = 0.529177210903, 27.211386245988  # Angstrom, eV; CODATA 2018
WEIGHT = "force_weight"  # column of extended XYZ: weights of the forces of a cut-out, whose outer ones mean nothing
INCOMPLETE = "its last table or frame is not complete"


class ReadError(Exception):
    """A file that cannot be read; the text says why and what to do."""


class CutOff(Exception):
    """The file ends within a frame, or is damaged there; frames before it are good. The text says what was met."""


@dataclass
class Frame:
    """A configuration with its labels; None for what it does not have."""

    symbols: list  # [N] names of elements
    positions: np.ndarray  # [N][3] Angstrom
    cell: np.ndarray | None = None  # [3][3] vectors a, b, c, Angstrom
    periodic: tuple = (False, False, False)
    energy: float | None = None  # eV, of which the forces are the derivative
    forces: np.ndarray | None = None  # [N][3] eV/Angstrom
    virial: np.ndarray | None = None  # [3][3] eV, - stress * volume
    converged: bool = True  # the electronic structure
    predicted: bool = False  # by a model within the code, no reference
    unread: dict = field(default_factory=dict)  # "energy", "forces", "virial": a name that may mean it and is not read; "names": all
    charge: float | None = None  # e, of all atoms
    weight: float | None = None  # of the frame in a training; None: 1

    def identity(self):
        """What tells a configuration from others, to six decimals."""
        cell = b"" if self.cell is None else np.round(self.cell, 6).tobytes()
        return tuple(self.symbols), self.periodic, self.charge, cell, np.round(self.positions, 6).tobytes()

    def is_finite(self):
        given = (self.positions, self.cell, self.energy, self.forces, self.virial)
        return all(np.isfinite(value).all() for value in given if value is not None)


@dataclass
class Names:
    """Names of labels that the user gives; None: the usual ones."""

    energy: str | None = None
    forces: str | None = None
    virial: str | None = None
    stress: str | None = None


def matrix(values):
    """3x3 of nine numbers, or of six in the order xx yy zz yz xz xy; None for other numbers of them."""
    flat = np.asarray(values, float).ravel()
    if flat.size == 6:
        flat = flat[[0, 5, 4, 5, 1, 3, 4, 3, 2]]
    return flat.reshape(3, 3) if flat.size == 9 else None


def preferred(values, names):
    """Value of the best of the names that are there, in any case and with the marks of reference values; and whether it has one."""
    lower = {key.lower(): value for key, value in values.items() if isinstance(key, str) and value is not None}
    for marks in (MARKS, ("",)):
        for name in names:
            for mark in marks:
                if mark + name in lower:
                    return lower[mark + name], bool(mark)
    return None, False


def chosen(values, given, names):
    """The same, where the user may have given the one name."""
    return (values.get(given), True) if given else preferred(values, names)


def unread_names(frame, scalars, columns):
    """Names that look like labels the frame does not have."""
    found = {}
    for label, parts, values, sizes in (("energy", ("ener", "etot", "toten", "e_tot", "e0"), scalars, (1,)),
                                        ("forces", ("forc", "frc", "grad"), columns, (3 * len(frame.symbols),)),
                                        ("virial", ("virial", "stress", "press"), scalars, (6, 9))):
        if getattr(frame, label) is not None:
            continue
        for name, value in values.items():
            numbers = np.asarray(value) if not isinstance(value, (str, dict)) else np.zeros(0)
            if any(part in str(name).lower() for part in parts) and numbers.dtype.kind in "fi" and numbers.size in sizes:
                found.setdefault(label, str(name))
    others = [str(name) for name in {**scalars, **columns} if name not in ("numbers", "positions", "key_value_pairs", "data", "unique_id")]
    if others:
        found["names"] = ", ".join(others)
    return found


def frame_of(atoms, names=None):
    """The frame of ASE's Atoms: its results as they are stored, so forces of fixed atoms too.

    Labels are among the results, in `info` and in `arrays`; those that codes mark as reference values win, as in this package's
    reader of extended XYZ."""
    names = names or Names()
    results = {key: value for key, value in getattr(atoms.calc, "results", {}).items() if value is not None}
    pairs = {**atoms.info.get("key_value_pairs", {}), **atoms.info.get("data", {})} if isinstance(atoms.info.get("data", {}), dict) else {}
    scalars = {**pairs, **atoms.info, **results}
    columns = {**{key: value for key, value in pairs.items() if np.ndim(value) == 2}, **atoms.arrays, **results}
    cell = atoms.cell.complete().array if atoms.pbc.any() else None
    frame = Frame(list(atoms.symbols), np.array(atoms.positions, float), cell, tuple(bool(flag) for flag in atoms.pbc))
    energy, _ = chosen(scalars, names.energy, ENERGY)
    counts = number_of(atoms, ("energy_weight",)) != 0.0  # GPUMD's word for frames without an energy
    frame.energy = float(np.ravel(energy)[0]) if counts and np.size(energy) == 1 and energy is not None else None
    forces, _ = chosen(columns, names.forces, FORCES)
    frame.forces = None if forces is None or np.shape(forces) != (len(atoms), 3) else np.array(forces, float)
    frame.virial = virial_of(scalars, names, atoms)
    frame.charge = charge_of(atoms)
    frame.weight = number_of(atoms, ("weight",))
    frame.unread = unread_names(frame, scalars, columns)
    return frame


def charge_of(atoms):
    """The total charge of ASE's Atoms, e; None: they do not tell."""
    return number_of(atoms, ("total_charge", "charge"))


def number_of(atoms, names):
    """What ASE's Atoms tell by one of these names, as this package's reader of extended XYZ finds it; None: nothing."""
    number, _ = preferred(atoms.info, names)
    return float(number) if isinstance(number, (int, float, np.number)) and np.isfinite(number) else None


def virial_of(scalars, names, atoms):
    """Of a virial, or of a stress if that alone is there or marked as reference value."""
    virial, is_marked = (None, False) if names.stress else chosen(scalars, names.virial, VIRIAL)
    stress, has_mark = (None, False) if names.virial else chosen(scalars, names.stress, STRESS)
    if virial is not None and not (has_mark and not is_marked):
        return matrix(virial)
    if stress is None or atoms.cell.rank < 3 or matrix(stress) is None:
        return None
    return -matrix(stress) * abs(np.linalg.det(atoms.cell.array))
