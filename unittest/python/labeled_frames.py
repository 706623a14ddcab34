"""Configurations with labels of a potential, and a command that converts files of them."""

import copy
import functools
from pathlib import Path

import numpy as np
import pytest

ase_io = pytest.importorskip("ase.io", reason="ASE reads most of the formats")
from ase.build import bulk  # noqa: E402
from ase.calculators.lj import LennardJones  # noqa: E402
from ase.calculators.singlepoint import SinglePointCalculator  # noqa: E402
from dptrain import convert as command  # noqa: E402

HARTREE, BOHR, KILOBAR = 27.211386245988, 0.529177210903, 6.241509074e-4  # eV, Angstrom, eV/Angstrom^3


def labeled(atoms, sigma=2.3):
    """With the labels of a potential, as a file would hold them."""
    atoms.calc = LennardJones(sigma=sigma, epsilon=0.2, rc=4.5, smooth=True)
    results = {"energy": atoms.get_potential_energy(), "forces": atoms.get_forces(apply_constraint=False)}
    if atoms.pbc.all():
        results["stress"] = atoms.get_stress()
    atoms.calc = SinglePointCalculator(atoms, **results)
    return atoms


def crystal(count=12, step=0.02, strain=0.005):
    """Configurations of a solid beside each other: atoms move, and the cell is strained."""
    return copy.deepcopy(solid(count, step, strain))


@functools.lru_cache
def solid(count, step, strain):
    frames = []
    rng = np.random.default_rng(3)
    start = bulk("Cu", cubic=True)
    start.symbols[1] = "Ni"
    start.rattle(0.05, seed=1)
    for _ in range(count):
        atoms = start.copy()
        change = rng.normal(size=(3, 3)) * strain
        atoms.set_cell(atoms.cell.array @ (np.eye(3) + 0.5 * (change + change.T)), scale_atoms=True)
        atoms.positions += rng.normal(size=(4, 3)) * step
        frames.append(labeled(atoms))
    return frames


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """words -> (exit status, what was said, frames of the written file)."""
    monkeypatch.chdir(tmp_path)

    def convert(*words):
        status = command.main([str(word) for word in words])
        captured = capsys.readouterr()
        target = Path(str(words[1]))
        frames = ase_io.read(target, ":", format="extxyz") if status == 0 and target.is_file() else []
        return status, captured.out + captured.err, frames

    return convert


def same(frames, expected, energy=1e-8, forces=1e-8, virial=1e-6):
    """The frames have the labels and positions of the expected ones, in their order."""
    assert len(frames) == len(expected)
    for frame, other in zip(frames, expected):
        assert list(frame.symbols) == list(other.symbols)
        assert frame.get_potential_energy() == pytest.approx(other.get_potential_energy(), abs=energy)
        np.testing.assert_allclose(frame.get_forces(apply_constraint=False), other.calc.results["forces"], atol=forces)
        np.testing.assert_allclose(frame.positions, other.positions, atol=forces)
        if other.pbc.all():
            np.testing.assert_allclose(frame.cell.array, other.cell.array, atol=forces)
        if "stress" in other.calc.results:
            np.testing.assert_allclose(frame.info["virial"], -other.get_stress(voigt=False) * other.get_volume(), atol=virial)


def without_stress(frames):
    for atoms in frames:
        atoms.calc.results.pop("stress", None)
    return frames
