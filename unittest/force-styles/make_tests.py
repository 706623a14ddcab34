#!/usr/bin/env python3
"""Makes the tests manybody-pair-dptrain_*.yaml and their data files, in the format of LAMMPS' unittest/force-styles.

    python unittest/force-styles/make_tests.py [FOLDER]

FOLDER is where they are written, this one unless it is given. The numbers do not come from the code that is tested: energies are
those of unittest/interop/numpy_model.py, which sums over images and pairs of neighbors and is compared with DeePMD-kit and
featomic, forces and stresses its differences of sixth order (good to 1e-8 of the largest), and the run is four steps of
velocity Verlet in numpy. EPSILON is relative to each component; the smallest is about a thousandth of the largest.
"""

import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "interop"))
from numpy_model import NumpyModel  # noqa: E402

EPSILON = "1.0e-06"
STEPS, TIMESTEP = 4, 1e-4
FORCE_TO_ACCELERATION = 1 / 1.0364269e-4  # units metal, as LAMMPS has it
COMPONENTS = [(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)]
WATER = "reference/two_side/model.dp"
ALLOY = "../potentials/NiAl.jea.dp"  # relative to the folder unittest


def water(random):
    """Cell, elements, types and positions of nine molecules in disorder."""
    lines = (HERE.parent / "reference" / "two_side" / "liquid.data").read_text().split("Atoms # atomic")[1].split("\n")
    rows = np.array([line.split() for line in lines if line.strip()], float)
    return np.diag([5.4, 5.7, 6.1]), ["O", "H"], rows[:, 1].astype(int), rows[:, 2:]


def alloy(random):
    """The same of a rattled B2 crystal in a tilted cell."""
    sites = np.stack(np.meshgrid(*[np.arange(2)] * 3, indexing="ij"), -1).reshape(-1, 3)
    cell = np.array([[5.76, 0, 0], [0.5, 5.8, 0], [-0.4, 0.3, 5.7]])
    fractions = np.concatenate([sites, sites + 0.5]) / 2 + 0.1
    return cell, ["Ni", "Al"], np.repeat([1, 2], 8), fractions @ cell + 0.12 * random.standard_normal((16, 3))


MASSES = {"O": 15.9994, "H": 1.008, "Ni": 58.71, "Al": 26.982}
TESTS = {"se_e2_a": (WATER, water, "data.water"), "power_spectrum": (ALLOY, alloy, "data.nial")}
DATA = """LAMMPS data file, made by make_tests.py

{natoms} atoms
2 atom types

0.0 {x} xlo xhi
0.0 {y} ylo yhi
0.0 {z} zlo zhi
{tilt}
Masses

1 {masses[0]}
2 {masses[1]}

Atoms # atomic

{atoms}

Velocities

{velocities}
"""
TEST = """---
lammps_version: 4 Feb 2025
date_generated: make_tests.py
epsilon: {epsilon}
skip_tests: single
prerequisites: ! |
  pair dptrain
pre_commands: ! |
  variable data_file index ${{input_dir}}/{data}
post_commands: ! ""
input_file: in.dptrain
pair_style: dptrain
pair_coeff: ! |
  * * ${{input_dir}}/../{model} {elements}
extract: ! ""
natoms: {natoms}
init_vdwl: {init[0]}
init_coul: 0
init_stress: ! |2-
  {init[1]}
init_forces: ! |2
{init[2]}
run_vdwl: {run[0]}
run_coul: 0
run_stress: ! |2-
  {run[1]}
run_forces: ! |2
{run[2]}
...
"""


def rows(values, *columns):
    """A line for each atom: its id, further columns, and numbers that are read as written."""
    return "\n".join(" ".join(map(repr, (k + 1, *map(int, more), *map(float, row)))) for k, (row, *more) in enumerate(zip(values, *columns)))


def values(model, positions, types, cell, forces):
    """Energy, stress and forces as the test has them."""
    stress = " ".join(f"{model.virial(positions, types, cell, a, b):23.16e}" for a, b in COMPONENTS)
    table = "\n".join(f"  {k + 1:3} " + " ".join(f"{f:23.16e}" for f in row) for k, row in enumerate(forces))
    return f"{model.energy(positions, types, cell):.16g}", stress, table


def write(name, folder):
    file, system, data = TESTS[name]
    random = np.random.default_rng(7)
    cell, elements, types, positions = system(random)
    model = NumpyModel(HERE.parent / file)
    kinds = np.array([model.type_map.index(element) for element in elements])[types - 1]
    masses = np.array([MASSES[element] for element in elements])
    velocities = 10.0 / np.sqrt(masses[types - 1])[:, None] * random.standard_normal(positions.shape)
    tilt = "" if np.count_nonzero(cell) == 3 else f"{cell[1, 0]} {cell[2, 0]} {cell[2, 1]} xy xz yz\n"
    (folder / data).write_text(DATA.format(natoms=len(types), x=cell[0, 0], y=cell[1, 1], z=cell[2, 2], tilt=tilt, masses=masses,
                                           atoms=rows(positions, types), velocities=rows(velocities)))

    def forces():
        return np.array([[model.force(positions, kinds, cell, i, k) for k in range(3)] for i in range(len(kinds))])

    kick = 0.5 * TIMESTEP * FORCE_TO_ACCELERATION / masses[types - 1][:, None]
    force = forces()
    init = values(model, positions, kinds, cell, force)
    for _ in range(STEPS):
        velocities = velocities + kick * force
        positions = positions + TIMESTEP * velocities
        force = forces()
        velocities = velocities + kick * force
    run = values(model, positions, kinds, cell, force)
    (folder / f"manybody-pair-dptrain_{name}.yaml").write_text(
        TEST.format(epsilon=EPSILON, data=data, model=file, elements=" ".join(elements), natoms=len(types), init=init, run=run))


if __name__ == "__main__":
    for test in TESTS:
        write(test, Path(sys.argv[1]) if len(sys.argv) > 1 else HERE)
