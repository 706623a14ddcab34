"""A small data set like water at its density, made from nothing: 64 molecules, labels of soft pair forces."""

import numpy as np

EDGE = 12.42  # Angstrom, 0.1 % from the density of water
MOLECULES = 4  # along each edge
FRAMES = 4
BOND, ANGLE = 0.9572, np.radians(104.52)
CUTOFF = 6.0  # of the labels; the nearest image is enough
STRENGTH = np.array([[1.5, -0.8], [-0.8, 0.9]])  # eV, by types O and H
MASSES = (15.9994, 1.00794)


def molecule(rng):
    """O and two H around the origin in a random direction: [3][3]."""
    half = ANGLE / 2
    shape = BOND * np.array([[0, 0, 0], [np.sin(half), 0, np.cos(half)], [-np.sin(half), 0, np.cos(half)]])
    q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    return shape @ q.T


def nearest(vectors):
    return vectors - EDGE * np.round(vectors / EDGE)


def positions(rng):
    """Molecules on a lattice, each moved a little, in the one of several directions that keeps most distance: [192][3]."""
    spacing = EDGE / MOLECULES
    cells = np.stack(np.meshgrid(*3 * [np.arange(MOLECULES)], indexing="ij"), -1).reshape(-1, 3)
    placed = np.empty((0, 3))
    for cell in cells:
        trials = [spacing * (cell + 0.5) + rng.uniform(-0.15, 0.15, 3) + molecule(rng) for _ in range(30)]
        space = [np.linalg.norm(nearest(t[:, None] - placed[None]), axis=-1).min() if len(placed) else 1.0 for t in trials]
        placed = np.vstack([placed, trials[int(np.argmax(space))]])
    return placed % EDGE


def labels(coord, types):
    """Energy, forces [n][3] and virial [3][3] of E = sum over pairs of a (1 - r/rc)^3."""
    d = nearest(coord[None] - coord[:, None])  # from i to j
    r = np.linalg.norm(d, axis=-1)
    np.fill_diagonal(r, np.inf)
    x = np.clip(1.0 - r / CUTOFF, 0.0, None)
    a = STRENGTH[types[:, None], types[None]]
    pull = 3.0 * a * x**2 / CUTOFF / r  # -dE/dr / r of each pair
    pair_force = -pull[:, :, None] * d  # on i
    return 0.5 * (a * x**3).sum(), pair_force.sum(1), -0.5 * np.einsum("ija,ijb->ab", pair_force, d)


def write_system(folder, seed=7):
    """Writes a system in DeePMD-kit's npy layout; returns (coordinates of the first frame, types)."""
    rng = np.random.default_rng(seed)
    types = np.tile([0, 1, 1], MOLECULES**3)
    frames = [positions(rng) for _ in range(FRAMES)]
    values = [labels(coord, types) for coord in frames]
    data = folder / "set.000"
    data.mkdir(parents=True, exist_ok=True)
    np.save(data / "coord.npy", np.array(frames).reshape(FRAMES, -1))
    np.save(data / "box.npy", np.tile((EDGE * np.eye(3)).ravel(), (FRAMES, 1)))
    np.save(data / "energy.npy", np.array([energy for energy, _, _ in values]))
    np.save(data / "force.npy", np.array([force for _, force, _ in values]).reshape(FRAMES, -1))
    np.save(data / "virial.npy", np.array([virial for _, _, virial in values]).reshape(FRAMES, -1))
    (folder / "type.raw").write_text("\n".join(map(str, types)) + "\n")
    (folder / "type_map.raw").write_text("O\nH\n")
    return frames[0], types


def write_lammps_data(path, coord, types):
    """The frame as a LAMMPS data file of atom_style atomic."""
    lines = ["water", "", f"{len(coord)} atoms", "2 atom types", ""]
    lines += [f"0 {EDGE} {letter}lo {letter}hi" for letter in "xyz"]
    lines += ["", "Masses", "", *(f"{k + 1} {mass}" for k, mass in enumerate(MASSES)), "", "Atoms # atomic", ""]
    lines += [f"{k + 1} {t + 1} {x:.12g} {y:.12g} {z:.12g}" for k, (t, (x, y, z)) in enumerate(zip(types, coord))]
    path.write_text("\n".join(lines) + "\n")
