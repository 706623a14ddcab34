"""Data sets of the part `labels`, the files that the sides read, and errors on the test frames.

A frame is (symbols, positions, cell, energy, forces), in Angstrom and eV; cells are periodic. Frames of training and test
never mix: the test frames are files of their own, another trajectory, or DeePMD-kit's fourth water system.
"""

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from . import reference_data, water
from .process import environment_of

ORDER_SEED = 11  # of the order in which frames are labeled: n labels are the first n of it
RCUTS = {"silicon (SW)": 4.5, "water": 6.0}  # Angstrom, of all sides that are trained here
MLEARN_RCUT = 5.5
SW_SEEDS = {"train": 1, "test": 2}
MASS = 28.0  # g/mol of every atom of an evaluation: nothing moves


@dataclass
class Dataset:
    """Training frames in the order in which they are labeled, and test frames; `element`: of the mlearn data."""

    name: str
    rcut: float
    train: list
    test: list
    element: str = ""

    @property
    def elements(self):
        return list(dict.fromkeys(s for symbols, *_ in self.train for s in symbols))

    @property
    def rms_force(self):
        return float(np.sqrt(np.mean(np.concatenate([f.ravel() for *_, f in self.test]) ** 2)))

    @property
    def short(self):
        return self.name.replace(" ", "-").replace("(", "").replace(")", "")


def read_extxyz(path):
    """Frames of an extended XYZ file with energies and forces."""
    from ase.io import read

    return [(a.get_chemical_symbols(), a.positions, np.array(a.cell), a.get_potential_energy(), a.get_forces())
            for a in read(path, ":")]


def read_npy(system):
    """Frames of a deepmd npy system."""
    names = (Path(system) / "type_map.raw").read_text().split()
    symbols = [names[t] for t in np.loadtxt(Path(system) / "type.raw", dtype=int).reshape(-1)]
    coord, box, energy, force = (water.read_array(system, name).astype(float) for name in ("coord", "box", "energy", "force"))
    return [(symbols, x.reshape(-1, 3), b.reshape(3, 3), float(e), f.reshape(-1, 3))
            for x, b, e, f in zip(coord, box, energy.reshape(-1), force)]


def silicon_frames(settings, which):
    """Crystal and melt of Stillinger-Weber silicon, made by LAMMPS once."""
    path = settings.work / "labels" / f"sw-{which}.xyz"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_suffix(".draft")
        variables = {"OMP_NUM_THREADS": 1, "PATH": f"{settings.venv / 'bin'}:/usr/bin:/bin"}
        subprocess.run([sys.executable, Path(reference_data.__file__), "sw-silicon", str(SW_SEEDS[which]), draft], check=True,
                       env=environment_of(variables))
        draft.rename(path)
    return read_extxyz(path)


def in_order(frames):
    return [frames[k] for k in np.random.default_rng(ORDER_SEED).permutation(len(frames))]


def read_datasets(settings):
    """All data sets that are there: each element of mlearn, Stillinger-Weber silicon, water."""
    found = []
    for path in sorted((settings.data.parent / "mlearn").glob("*-train.xyz")):
        element, test = path.name.split("-")[0], path.with_name(path.name.replace("-train", "-test"))
        if test.exists():
            found.append(Dataset(f"{element} (mlearn)", MLEARN_RCUT, in_order(read_extxyz(path)), read_extxyz(test), element))
    name = "silicon (SW)"
    found.append(Dataset(name, RCUTS[name], in_order(silicon_frames(settings, "train")), silicon_frames(settings, "test")))
    train = [frame for system in settings.train_systems for frame in read_npy(system)]
    found.append(Dataset("water", RCUTS["water"], in_order(train), read_npy(settings.valid_system)))
    return found


def write_npy(folder, frames, elements):
    """Frames as deepmd npy systems, one for each list of symbols; returns the folders."""
    groups = {}
    for frame in frames:
        groups.setdefault(tuple(frame[0]), []).append(frame)
    shutil.rmtree(folder, ignore_errors=True)
    systems = []
    for k, (symbols, group) in enumerate(groups.items()):
        system = folder / f"system-{k}"
        (system / "set.000").mkdir(parents=True)
        (system / "type.raw").write_text("".join(f"{elements.index(s)}\n" for s in symbols))
        (system / "type_map.raw").write_text("".join(f"{e}\n" for e in elements))
        for name, column in (("coord", 1), ("box", 2), ("energy", 3), ("force", 4)):
            np.save(system / "set.000" / f"{name}.npy", np.array([np.ravel(frame[column]) for frame in group]))
        systems.append(system)
    return systems


def most_neighbors(frames, elements, rcut):
    """For each element the largest number of neighbors of that element that an atom of these frames has."""
    from ase import Atoms
    from ase.neighborlist import neighbor_list

    most = np.zeros(len(elements), int)
    for symbols, x, cell, *_ in frames:
        i, j = neighbor_list("ij", Atoms(symbols, x, cell=cell, pbc=True), rcut)
        kinds = np.array([elements.index(s) for s in symbols])
        for k in range(len(elements)):
            most[k] = max(most[k], np.bincount(i[kinds[j] == k], minlength=1).max())
    return most.tolist()


def lammps_cell(cell):
    """(cell with the edges of LAMMPS: a along x, b in the xy plane; rotation): vectors v become v @ rotation."""
    rotation, upper = np.linalg.qr(np.asarray(cell).T)
    signs = np.sign(np.diag(upper))
    return (upper * signs[:, None]).T, rotation * signs


def write_lammps_data(path, symbols, x, cell, elements, masses=None):
    edges, _ = lammps_cell(cell)
    inside = (x @ np.linalg.inv(cell) % 1.0) @ edges
    with open(path, "w") as file:
        file.write(f"frame\n\n{len(x)} atoms\n{len(elements)} atom types\n\n")
        file.write("".join(f"0 {edges[k, k]:.15g} {c}lo {c}hi\n" for k, c in enumerate("xyz")))
        file.write(f"{edges[1, 0]:.15g} {edges[2, 0]:.15g} {edges[2, 1]:.15g} xy xz yz\n\nMasses\n\n")
        file.write("".join(f"{k + 1} {masses[e] if masses else MASS}\n" for k, e in enumerate(elements)))
        file.write("\nAtoms # atomic\n\n")
        file.write("".join(f"{k + 1} {elements.index(s) + 1} {r[0]:.15g} {r[1]:.15g} {r[2]:.15g}\n"
                           for k, (s, r) in enumerate(zip(symbols, inside))))


def rmse(frames, energies, forces):
    """Force error (eV/Angstrom, all components of all frames) and energy error (eV/atom, all frames), root mean squares."""
    difference = np.concatenate([(f - frame[4]).ravel() for f, frame in zip(forces, frames)])
    per_atom = np.array([(e - frame[3]) / len(frame[0]) for e, frame in zip(energies, frames)])
    return {"rmse_f": float(np.sqrt(np.mean(difference**2))), "rmse_e": float(np.sqrt(np.mean(per_atom**2)))}


def md_frame(dataset, atoms):
    """A training frame of low energy, repeated to about so many atoms: (symbols, positions, cell).

    Of the frames that have at least half of the most atoms the one with the lowest energy per atom: near equilibrium.
    """
    most = max(len(frame[0]) for frame in dataset.train)
    large = [frame for frame in dataset.train if 2 * len(frame[0]) >= most]
    symbols, x, cell = min(large, key=lambda frame: frame[3] / len(frame[0]))[:3]
    copies = [max(1, round((atoms / len(symbols)) ** (1 / 3)))] * 3
    shifts = water.shifts_of(copies)
    return list(symbols) * len(shifts), (x[None] + (shifts @ cell)[:, None]).reshape(-1, 3), cell * np.array(copies)[:, None]
