"""Forces and energies of two LAMMPS dumps of the same frames: a reference's and a model's.

A dump is a text file of LAMMPS' ``dump custom`` with the columns ``id fx fy fz`` and, for the energies, ``c_pe`` (a
``compute pe/atom``), for error bars ``c_u`` (a ``compute dptrain/uncertainty/atom``), in ``units metal``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dptrain.logs import FileError


@dataclass
class Frame:
    """One snapshot of a dump, atoms in order of their ids: forces [natoms][3] in eV/A, energies [natoms] in eV or None, expected
    force errors [natoms] in eV/A or None."""

    step: int
    force: np.ndarray
    energy: np.ndarray | None
    expected: np.ndarray | None = None


@dataclass
class Comparison:
    """Predicted against reference values of all frames: forces [n][3] (eV/A), energies [frames] (eV/atom; may be None)."""

    force_reference: np.ndarray
    force_predicted: np.ndarray
    energy_reference: np.ndarray | None
    energy_predicted: np.ndarray | None
    frames: int

    @property
    def force_rmse(self):
        """Root mean square over all force components, eV/A."""
        return rms(self.force_predicted - self.force_reference)

    @property
    def force_rms(self):
        """Root mean square of the reference's force components, eV/A."""
        return rms(self.force_reference)

    @property
    def energy_rmse(self):
        """Root mean square of the energy error over the frames, eV/atom; None without energies."""
        return None if self.energy_reference is None else rms(self.energy_predicted - self.energy_reference)


def rms(values):
    return float(np.sqrt(np.mean(np.square(values))))


def read_dump(path):
    """All frames of a dump."""
    frames = []
    with open(path) as file:
        while line := file.readline():
            if line.strip() != "ITEM: TIMESTEP":
                raise FileError(f"{path}: not a LAMMPS text dump: found '{line.strip()}' instead of 'ITEM: TIMESTEP'")
            frames.append(read_snapshot(path, file))
    if not frames:
        raise FileError(f"{path}: no frame in it: write the dump again")
    return frames


def read_snapshot(path, file):
    step = int(file.readline())
    natoms = columns = None
    while columns is None:
        line = file.readline()
        if not line:
            raise FileError(f"{path}: step {step}: the file ends inside a frame: write it again")
        if line.startswith("ITEM: NUMBER OF ATOMS"):
            natoms = int(file.readline())
        elif line.startswith("ITEM: ATOMS"):
            columns = line.split()[2:]
    missing = {"id", "fx", "fy", "fz"} - set(columns)
    if missing:
        raise FileError(f"{path}: step {step}: missing columns: {' '.join(sorted(missing))}: add them to the dump command")
    rows = [file.readline().split() for _ in range(natoms)]
    if any(len(row) != len(columns) for row in rows):
        raise FileError(f"{path}: step {step}: the file ends inside a frame: write it again")
    table = {name: [row[k] for row in rows] for k, name in enumerate(columns)}
    order = np.argsort(np.array(table["id"], dtype=np.int64))
    force = np.array([table["fx"], table["fy"], table["fz"]], dtype=float).T[order]
    energy, expected = (np.array(table[name], dtype=float)[order] if name in table else None for name in ("c_pe", "c_u"))
    return Frame(step, force, energy, expected)


def read_both(reference_path, predicted_path):
    """All frames of two dumps, which must be the same ones."""
    reference, predicted = read_dump(reference_path), read_dump(predicted_path)
    steps = [[(frame.step, len(frame.force)) for frame in frames] for frames in (reference, predicted)]
    if steps[0] != steps[1]:
        raise FileError(f"{reference_path} and {predicted_path} hold different frames: {describe(reference)} and "
                        f"{describe(predicted)}: write both with the same dump command")
    return reference, predicted


def largest_errors(reference_path, predicted_path):
    """Largest expected and largest true force error of an atom in each frame of two dumps, [frames] each, eV/A. The second has
    the column c_u."""
    reference, predicted = read_both(reference_path, predicted_path)
    if any(frame.expected is None for frame in predicted):
        raise FileError(f"{predicted_path}: there is no column c_u: write the compute dptrain/uncertainty/atom with that ID")
    true = [np.linalg.norm(p.force - r.force, axis=1).max() for r, p in zip(reference, predicted)]
    return np.array([frame.expected.max() for frame in predicted]), np.array(true)


def compare(reference_path, predicted_path):
    """The Comparison of two dumps of the same frames."""
    reference, predicted = read_both(reference_path, predicted_path)

    def energies(frames):
        return np.array([frame.energy.mean() for frame in frames])

    with_energy = all(frame.energy is not None for frame in reference + predicted)
    return Comparison(np.concatenate([frame.force for frame in reference]),
                      np.concatenate([frame.force for frame in predicted]),
                      energies(reference) if with_energy else None,
                      energies(predicted) if with_energy else None, len(reference))


def describe(frames):
    return f"{len(frames)} frames from step {frames[0].step} to {frames[-1].step}"
