"""Copper of effective medium theory for the tests of sessions: a run in ASE, single frames, and their reference."""

import numpy as np
from ase import units
from ase.build import bulk
from ase.calculators.emt import EMT
from ase.md.langevin import Langevin
from real_script import ROOT

EXAMPLE = ROOT / "examples" / "ase_on_the_fly"


def copper(seed=1):
    atoms = bulk("Cu", cubic=True).repeat(2)
    random = np.random.default_rng(seed)
    atoms.set_velocities(random.normal(scale=0.04, size=(len(atoms), 3)))
    return atoms, Langevin(atoms, 2 * units.fs, temperature_K=600, friction=0.02 / units.fs, rng=random, fixcm=False)


def emt(positions, elements, cell):
    """A reference that knows nothing of the atoms of a calculator."""
    atoms = bulk("Cu", cubic=True).repeat(2)
    atoms.set_positions(positions)
    atoms.set_cell(cell)
    atoms.calc = EMT()
    stress = atoms.get_stress(voigt=False)
    return atoms.get_potential_energy(), atoms.get_forces(), -stress * atoms.get_volume()


def frames(number, amplitude=0.05, seed=3):
    random = np.random.default_rng(seed)
    atoms = bulk("Cu", cubic=True).repeat(2)
    for _ in range(number):
        yield atoms.get_positions() + random.normal(scale=amplitude, size=(len(atoms), 3)), atoms.cell.array
