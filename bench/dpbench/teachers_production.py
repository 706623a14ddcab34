"""Dynamics of a student beside that of its teacher, in the same small box, and the student alone in larger ones: CsPbI3.

    cd bench && python -m dpbench.teachers_production MODEL.dp --teacher sevenn:7net-0 --teacher-python ENV

Adds rows to the second and the third table of results/teachers.md. Both sides run in ASE with the same integrator, so that nothing but the
forces differs; the larger boxes run in LAMMPS.
"""

import argparse
import itertools
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from ase import units
from ase.io import read, write
from ase.md.nose_hoover_chain import IsotropicMTKNPT
from ase.md.velocitydistribution import thermalize_momenta
from ase.neighborlist import neighbor_list

from .teachers import RESULTS, keep_row, teacher_of
from .teachers_systems import perovskite

TEMPERATURE = 500  # K
TIMESTEP = 5  # fs
EQUILIBRATION = 2.0  # ps
EVERY = 10  # steps between frames of a trajectory
PAIRS = {"Pb-I": ("Pb", "I"), "I-I": ("I", "I")}
BINS = 0.1  # Angstrom
SMALL, LONG, LARGE = 2, 4, 20  # cubic cells along an edge
SIDES = ["dynamics", "ps", "density, g/cm3", *(f"{pair} peak, A: height" for pair in PAIRS), *(f"{pair} difference" for pair in PAIRS)]
BOXES = ["student in LAMMPS", "atoms", "ps", "temperature, K", "density, g/cm3", "closest pairs, A (where walls begin)", "watch",
         "us per atom and step", "memory, GB"]


def dynamics(calculator, picoseconds, path):
    """Frames of NPT at 1 bar behind the equilibration, also in a file."""
    atoms, random, frames = perovskite(SMALL), np.random.default_rng(3), []
    atoms.calc = calculator
    thermalize_momenta(atoms, temperature_K=2 * TEMPERATURE, rng=random)
    mover = IsotropicMTKNPT(atoms, TIMESTEP * units.fs, TEMPERATURE, 1e-4 * units.GPa, tdamp=100 * units.fs, pdamp=1000 * units.fs)
    mover.run(int(1000 * EQUILIBRATION / TIMESTEP))
    for _ in range(int(1000 * picoseconds / TIMESTEP / EVERY)):
        mover.run(EVERY)
        frames.append(atoms.copy())
    write(path, frames)
    return frames


def density(atoms):
    return atoms.get_masses().sum() / atoms.get_volume() * 1.66054


def mean_and_error(values):
    """Mean, and its standard error from blocks: the largest over block lengths that leave at least five blocks."""
    values, found = np.asarray(values), []
    for length in range(1, max(2, len(values) // 5 + 1)):
        blocks = values[:len(values) // length * length].reshape(-1, length).mean(axis=1)
        found.append(blocks.std(ddof=1) / np.sqrt(len(blocks)))
    return values.mean(), max(found)


def rdf(frames, pair):
    """(centers of bins, g) up to half the box."""
    cutoff = min(frame.cell.lengths().min() for frame in frames) / 2
    edges, total = np.arange(0, cutoff, BINS), 0.0
    for frame in frames:
        numbers = [np.flatnonzero(frame.symbols == element) for element in PAIRS[pair]]
        i, j, d = neighbor_list("ijd", frame, cutoff)
        chosen = np.isin(i, numbers[0]) & np.isin(j, numbers[1])
        shells = 4 / 3 * np.pi * np.diff(edges**3) * len(numbers[1]) / frame.get_volume() * len(numbers[0])
        total = total + np.histogram(d[chosen], edges)[0] / shells
    return (edges[1:] + edges[:-1]) / 2, total / len(frames)


def peak(r, g):
    """Position and height of the first maximum, of a parabola through its three highest bins."""
    k = next(k for k in range(1, len(g) - 1) if g[k] > 1 and g[k] >= g[max(0, k - 4):k + 5].max())
    a, b, c = np.polyfit(r[k - 1:k + 2] - r[k], g[k - 1:k + 2], 2)
    return r[k] - b / (2 * a), c - b**2 / (4 * a)


def difference(one, other, pair):
    """Area between two radial distribution functions in terms of that below their mean, %."""
    (r, g), (_, h) = rdf(one, pair), rdf(other, pair)
    n = min(len(g), len(h))
    return 100 * 2 * np.abs(g[:n] - h[:n]).sum() / (g[:n] + h[:n]).sum()


def side(name, frames, against):
    """A row: `against` are frames whose radial distribution functions are compared with those of these."""
    peaks = [peak(*rdf(frames, pair)) for pair in PAIRS]
    mean, error = mean_and_error([density(frame) for frame in frames])
    return [name, f"{len(frames) * EVERY * TIMESTEP / 1000:g}", f"{mean:.3f} +- {error:.3f}", *(f"{r:.2f}: {g:.2f}" for r, g in peaks),
            *(f"{difference(frames, against, pair):.1f} %" for pair in PAIRS)]


def lammps(folder, model, cells, steps, every):
    """NPT of a larger box: the log, the frames, seconds in all and the largest memory (GB)."""
    atoms, elements = perovskite(cells), ["Cs", "Pb", "I"]
    write(folder / "data", atoms, format="lammps-data", specorder=elements, masses=True)
    (folder / "in").write_text("\n".join([
        "units metal", "atom_style atomic", "read_data data", "pair_style dptrain precision single", f"pair_coeff * * {model} {' '.join(elements)}",
        f"velocity all create {TEMPERATURE} 5 mom yes rot yes dist gaussian", "timestep 0.004",
        f"fix npt all npt temp {TEMPERATURE} {TEMPERATURE} 0.2 iso 1 1 2", "thermo 100", "thermo_style custom step temp density press",
        f"dump d all custom {every} dump id element x y z", "dump_modify d element Cs Pb I sort id", f"run {steps}"]) + "\n")
    process = subprocess.Popen(["lmp", "-in", "in", "-log", "log", "-screen", "none"], cwd=folder)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise subprocess.CalledProcessError(status, "lmp")
    return (folder / "log").read_text(), read(folder / "dump", ":", format="lammps-dump-text"), usage.ru_maxrss / 2**20


def closest(frames):
    """{pair of elements: smallest distance, Angstrom}"""
    found = {}
    for frame in frames:
        i, j, d = neighbor_list("ijd", frame, 5.0)
        for pair in itertools.combinations_with_replacement(sorted(set(frame.symbols)), 2):
            of = (frame.symbols[i] == pair[0]) & (frame.symbols[j] == pair[1])
            if of.any():
                found[pair] = min(found.get(pair, np.inf), d[of].min())
    return found


def box(name, folder, model, cells, steps, every):
    shown = subprocess.run(["dptrain", "show", str(model)], capture_output=True, text=True, check=True).stdout
    walls = {frozenset(pair): float(start) for *pair, start in re.findall(r"^ +([A-Z][a-z]?)-([A-Z][a-z]?) +([\d.]+)$", shown, re.MULTILINE)}
    folder = folder / f"{cells}"
    folder.mkdir(exist_ok=True)
    log, frames, memory = lammps(folder, model, cells, steps, every)
    rows = np.array([line.split() for line in log.splitlines() if re.fullmatch(r"( +[-\d.e+]+){4}", line.rstrip())], float)
    loop, used = map(float, re.findall(r"^Loop time of (\S+) .*?(\S+)% CPU use", log, re.MULTILINE | re.DOTALL)[-1])
    watched = re.findall(r"watched \d+ configurations: (.*?); largest", log)
    half = rows[len(rows) // 4:]
    pairs = ", ".join(f"{'-'.join(pair)} {distance:.2f} ({walls[frozenset(pair)]:.2f})" for pair, distance in sorted(closest(frames).items()))
    return [name, len(frames[0]), f"{steps * 0.004:g}", f"{half[:, 1].mean():.0f}", f"{half[:, 2].mean():.3f}", pairs, watched[-1] if watched else "-",
            f"{1e4 * used * loop / steps / len(frames[0]):.1f}", f"{memory:.2f}"]


def beside(model, options, folder):
    """Rows of student and teacher."""
    from dptrain.ase import Calculator

    student = dynamics(Calculator(str(model), "single"), options.time[1], folder / "student.xyz")
    with teacher_of(options.teacher, options.teacher_python, perovskite(SMALL), folder) as calculator:
        teacher = dynamics(calculator, options.time[0], folder / "teacher.xyz")
    half = len(teacher) // 2
    keep_row(RESULTS, SIDES, side("teacher", teacher, teacher))
    keep_row(RESULTS, SIDES, side("teacher, first half, against its second half", teacher[:half], teacher[half:]))
    keep_row(RESULTS, SIDES, side("student, as long as the teacher", student[:len(teacher)], teacher))
    keep_row(RESULTS, SIDES, side("student", student, teacher))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--teacher", default="sevenn:7net-0", metavar="NAME:MODEL")
    parser.add_argument("--teacher-python", required=True, metavar="ENV", type=Path)
    parser.add_argument("--parts", nargs="+", choices=["boxes", "beside"], default=["boxes", "beside"])
    parser.add_argument("--time", type=float, nargs=2, default=[15.0, 100.0], metavar="PS", help="of the teacher and of the student")
    parser.add_argument("--work", type=Path, metavar="FOLDER", help="keeps the trajectories")
    options = parser.parse_args()
    model = options.model.absolute()
    with tempfile.TemporaryDirectory() as temporary:
        folder = (options.work or Path(temporary)).absolute()
        folder.mkdir(parents=True, exist_ok=True)
        if "boxes" in options.parts:
            for cells, steps, every in ((LONG, 25000, 250), (LARGE, 100, 50)):
                keep_row(RESULTS, BOXES, box(f"{cells} x {cells} x {cells} cells", folder, model, cells, steps, every))
        if "beside" in options.parts:
            beside(model, options, folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
