"""Structures that students of `dpbench.teachers` learn, and how."""

import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from ase import Atoms
from ase.build import bulk, make_supercell, molecule
from ase.io import read

SPC_FW = """units real
atom_style full
pair_style lj/cut/coul/dsf 0.2 4.6
bond_style harmonic
angle_style harmonic
read_data data
pair_coeff 1 1 0.1554253 3.165492
pair_coeff 2 2 0 1
bond_coeff 1 529.581 1.012
angle_coeff 1 37.95 113.24
minimize 0 1 200 1000
velocity all create 300 {seed}
fix move all nve
fix bath all langevin 300 300 50 {seed}
timestep 0.5
run 20000
write_dump all custom end.dump id element x y z modify element O H sort id
"""


def perovskite(repeat=1):
    """CsPbI3, cubic places of the atoms: 20 atoms with the axes of the orthorhombic phase, or `repeat`^3 cubic cells."""
    a = 6.30
    places = [[0.5, 0.5, 0.5], [0, 0, 0], [0.5, 0, 0], [0, 0.5, 0], [0, 0, 0.5]]
    cubic = Atoms("CsPbI3", scaled_positions=places, cell=[a] * 3, pbc=True)
    if repeat > 1:
        return cubic.repeat(repeat)
    cell = make_supercell(cubic, [[1, 1, 0], [-1, 1, 0], [0, 0, 2]])
    cell.wrap()
    return cell


def nial(counts=(4, 3, 3)):
    return bulk("NiAl", "cesiumchloride", a=2.887).repeat(counts)


def rutile():
    """TiO2, 6 atoms."""
    a, c, x = 4.594, 2.959, 0.305
    places = [[0, 0, 0], [0.5, 0.5, 0.5], [x, x, 0], [-x, -x, 0], [0.5 + x, 0.5 - x, 0.5], [0.5 - x, 0.5 + x, 0.5]]
    return Atoms("Ti2O4", scaled_positions=places, cell=[a, a, c], pbc=True)


def water(seed, counts=(3, 3, 4)):
    """A box of water at 300 K and 1 g/cm^3, of 10 ps of SPC/Fw molecules (https://doi.org/10.1063/1.2136877) that begin on a lattice."""
    edge = (18.015 / 0.6022) ** (1 / 3)  # Angstrom, of the volume of a molecule
    box, random, atoms = edge * np.array(counts), np.random.default_rng(seed), Atoms()
    for place in np.ndindex(*counts):
        one = molecule("H2O")
        one.euler_rotate(*random.uniform(0, 360, 3), center="COM")
        one.positions += edge * (np.array(place) + 0.5) - one.get_center_of_mass()
        atoms += one
    first = range(1, len(atoms), 3)
    data = ["water", "", f"{len(atoms)} atoms", f"{2 * len(first)} bonds", f"{len(first)} angles", "2 atom types", "1 bond types", "1 angle types",
            *(f"0 {length} {axis}lo {axis}hi" for axis, length in zip("xyz", box)), "", "Masses", "", "1 15.999", "2 1.008", "", "Atoms # full", "",
            *(f"{k + 1} {k // 3 + 1} {1 + (k % 3 > 0)} {0.41 if k % 3 else -0.82} {x} {y} {z}" for k, (x, y, z) in enumerate(atoms.positions)),
            "", "Bonds", "", *(f"{2 * k + j} 1 {o} {o + j}" for k, o in enumerate(first) for j in (1, 2)),
            "", "Angles", "", *(f"{k + 1} 1 {o + 1} {o} {o + 2}" for k, o in enumerate(first))]
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "data").write_text("\n".join(data) + "\n")
        (Path(folder) / "in").write_text(SPC_FW.format(seed=seed))
        subprocess.run(["lmp", "-in", "in", "-log", "none", "-screen", "none"], cwd=folder, check=True)
        return read(Path(folder) / "end.dump", format="lammps-dump-text")


@dataclass
class System:
    """structure: what is learned; words: of `dptrain learn`; box: of the teacher's dynamics at `temperature` (K, the last one of the run)
    with steps of `timestep` fs; it has the orientation of the structure."""

    structure: object
    words: str
    box: object
    temperature: float
    timestep: float


SYSTEMS = {
    "CsPbI3": System(perovskite, "--temperature 300 600 --pressure 1 --size 12", lambda: perovskite().repeat((1, 2, 1)), 600, 4),
    "NiAl": System(nial, "--temperature 300 1000 --pressure 1 --size 8", lambda: nial((2, 2, 3)), 1000, 2),
    "TiO2": System(rutile, "--temperature 300 1000 --pressure 1 --size 8.8", lambda: rutile().repeat(2), 1000, 2),
    "water": System(lambda: water(1), "--temperature 300 --size 9", lambda: water(2, (3, 3, 3)), 300, 0.5),
}
