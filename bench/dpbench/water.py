"""Frames of a deepmd npy system as LAMMPS data files, and parts of systems."""

from pathlib import Path

import numpy as np

from .errors import BenchError

MASSES = {"O": 15.9994, "H": 1.00794}


def read_array(system, name):
    """An array of all frames of a system."""
    sets = sorted(Path(system).glob("set.*"))
    if not sets:
        raise BenchError(f"bench: {system} has no set.* folder")
    return np.concatenate([np.load(s / f"{name}.npy") for s in sets])


def read_frame(system, index=0):
    """(cell 3x3, coordinates [n][3], types [n], names of the types) of one frame."""
    system = Path(system)
    boxes, coords = read_array(system, "box"), read_array(system, "coord")
    if index >= len(boxes):
        raise BenchError(f"bench: {system} has {len(boxes)} frames: there is no frame {index}")
    box = boxes[index].astype(float).reshape(3, 3)
    coord = coords[index].astype(float).reshape(-1, 3)
    types = np.loadtxt(system / "type.raw", dtype=int).reshape(-1)
    return box, coord, types, (system / "type_map.raw").read_text().split()


def shifts_of(copies):
    """Places of the copies of a cell repeated copies[k] times along edge k, in edges: integers [copies][3]."""
    return np.array([[i, j, k] for i in range(copies[0]) for j in range(copies[1]) for k in range(copies[2])])


def write_data(path, system, copies, index=0):
    """LAMMPS data file of a frame repeated copies[k] times along axis k; returns the number of atoms.

    Only for orthogonal cells: that of the water set is one.
    """
    box, coord, types, names = read_frame(system, index)
    edges = np.diag(box)
    if not np.allclose(box, np.diag(edges)):
        raise BenchError(f"bench: the cell of {system} is not orthogonal")
    shifts = shifts_of(copies)
    x = ((coord % edges)[None] + (shifts * edges)[:, None]).reshape(-1, 3)
    t = np.tile(types, len(shifts))
    with open(path, "w") as file:
        file.write(f"water\n\n{len(x)} atoms\n{len(names)} atom types\n\n")
        for letter, length in zip("xyz", edges * copies):
            file.write(f"0 {length:.17g} {letter}lo {letter}hi\n")
        file.write("\nMasses\n\n" + "".join(f"{k + 1} {MASSES.get(n, 10.0)}\n" for k, n in enumerate(names)))
        file.write("\nAtoms # atomic\n\n")
        for k, (kind, r) in enumerate(zip(t, x)):
            file.write(f"{k + 1} {kind + 1} {r[0]:.17g} {r[1]:.17g} {r[2]:.17g}\n")
    return len(x)


def write_subset(target, system, frames):
    """A system with the first `frames` frames of another one; returns their number."""
    system, target = Path(system), Path(target)
    (target / "set.000").mkdir(parents=True, exist_ok=True)
    for name in ("type.raw", "type_map.raw"):
        (target / name).write_text((system / name).read_text())
    count = 0
    for name in ("box", "coord", "energy", "force"):
        array = read_array(system, name)[:frames]
        np.save(target / "set.000" / f"{name}.npy", array)
        count = len(array)
    return count


def write_replicated(target, system, frames, copies):
    """A system of the first `frames` frames of another one, each repeated copies[k] times along edge k of its cell, with the
    labels that follow from it; returns the atoms of a frame."""
    system, target = Path(system), Path(target)
    (target / "set.000").mkdir(parents=True, exist_ok=True)
    shifts = shifts_of(copies)
    energy, force = read_array(system, "energy").reshape(-1), read_array(system, "force")
    arrays = {"coord": [], "box": [], "force": [], "energy": []}
    for index in range(frames):
        box, coord, types, names = read_frame(system, index)
        arrays["coord"].append((coord[None] + (shifts @ box)[:, None]).reshape(-1))
        arrays["box"].append((box * np.array(copies)[:, None]).reshape(-1))
        arrays["force"].append(np.tile(force[index].astype(float), len(shifts)))
        arrays["energy"].append(float(energy[index]) * len(shifts))
    for name, values in arrays.items():
        np.save(target / "set.000" / f"{name}.npy", np.array(values))
    (target / "type.raw").write_text("".join(f"{t}\n" for t in np.tile(types, len(shifts))))
    (target / "type_map.raw").write_text("\n".join(names) + "\n")
    return len(types) * len(shifts)
