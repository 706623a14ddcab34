"""``dptrain label FILE -o OUT``: a calculator of ASE labels all frames of a file."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

from dptrain.calculators import label


REFERENCE = "reference"  # key in the comment line: what has computed the label
DIGITS = 1e-7  # Angstrom; extended XYZ has eight decimals


class FileProblem(Exception):
    """A file that cannot be used; the text says why and what to do."""


def read_frames(path, form=None):
    """All frames of a file, without constraints. form: ASE's name of its format."""
    from ase.io import read

    try:
        frames = read(path, ":", format=form)
    except Exception as error:  # readers raise what they like
        raise FileProblem(f"{path} cannot be read: {type(error).__name__}: {error}. Give a file that ASE reads, such as extended XYZ, cif or "
                          "POSCAR, and its --format where the name does not tell") from error
    if not frames:
        raise FileProblem(f"{path} has no frames: give a file with at least one")
    for frame in frames:
        frame.set_constraint()
    return frames


def labeled(atoms, calculator, with_stress):
    """A copy of the atoms that has energy, forces and stress. Raises what the calculator raises, and ArithmeticError."""
    from ase.calculators.singlepoint import SinglePointCalculator

    atoms = atoms.copy()
    atoms.calc = calculator
    stress = with_stress and atoms.cell.rank == 3 and bool(atoms.pbc.any())
    energy, forces, virial = label(atoms, stress)
    if not (np.isfinite(energy) and np.isfinite(forces).all() and np.isfinite(virial).all()):
        raise ArithmeticError("energy, forces or stress are not finite: check the configuration and the calculator")
    forces = np.asarray(forces, float)
    results = {"energy": float(energy), "free_energy": float(energy), "forces": forces}
    if stress:
        xx, xy, xz, yx, yy, yz, zx, zy, zz = np.ravel(-np.asarray(virial, float) / atoms.get_volume())
        results["stress"] = np.array([xx, yy, zz, (yz + zy) / 2, (xz + zx) / 2, (xy + yx) / 2])  # ASE before 3.23 writes no other form
    atoms.calc = SinglePointCalculator(atoms, **results)
    return atoms


class Labeled:
    """The configurations that have labels in a file already, to the digits of extended XYZ."""

    def __init__(self, path, reference):
        self.frames = {}
        if not Path(path).exists():
            return
        for frame in read_frames(path, "extxyz"):
            if frame.calc is None or "forces" not in frame.calc.results:
                raise FileProblem(f"{path} has frames without forces: give a new file for the labels, or one that this command has begun")
            if frame.info.get(REFERENCE, reference) != reference:
                raise FileProblem(f"{path} has labels of {frame.info[REFERENCE]}, and those of {reference} do not belong to them: give another file")
            self.add(frame)

    def add(self, frame):
        self.frames.setdefault(tuple(frame.numbers), []).append(frame)

    def __contains__(self, frame):
        return any((frame.pbc == other.pbc).all() and np.allclose(frame.positions, other.positions, rtol=0, atol=DIGITS)
                   and np.allclose(frame.cell, other.cell, rtol=0, atol=DIGITS) for other in self.frames.get(tuple(frame.numbers), []))


def label_file(path, output, calculator, reference, with_stress, say, form=None):
    """Appends the frames with their labels, and the name of the reference, to a file, each as soon as it is there; those that are in it already are not computed again, and
    those that fail are left out and told. Returns (frames with labels, failed)."""
    from ase.io import write

    frames = read_frames(path, form)
    if Path(output).exists() and Path(output).samefile(path):
        raise FileProblem(f"{output} is the file of the frames itself: name another one for their labels")
    there, failed = Labeled(output, reference), 0
    known = sum(frame in there for frame in frames)
    if known:
        say(f"{known} of {len(frames)} frames have labels in {output} already")
    for number, frame in enumerate(frames, 1):
        if frame in there:
            continue
        start = time.monotonic()
        try:
            done = labeled(frame, calculator, with_stress)
        except Exception as error:  # calculators raise what they like
            say(f"frame {number} of {len(frames)}: failed: {type(error).__name__}: {error}")
            failed += 1
            continue
        done.info[REFERENCE] = reference
        write(output, done, format="extxyz", append=True)
        there.add(frame)
        say(f"frame {number} of {len(frames)}: {done.calc.results['energy']:.6f} eV, {time.monotonic() - start:.2f} s")
    return len(frames) - failed, failed
