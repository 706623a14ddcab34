#!/usr/bin/env python3
"""Makes unittest/reference/nep: NEP potentials of all kinds with random numbers, and what calorine computes with them.

    python -m venv FOLDER; FOLDER/bin/pip install "calorine==4.1"
    FOLDER/bin/python tools/make_reference_nep.py

Its raw module reads NEP3, NEP4, NEP5, cutoffs of elements, all ZBL and all many-body terms.
NAME.txt are the potentials; reference.json has for each the atoms, and energies (eV), forces (eV/Angstrom) and virials (eV, sum of F (x) r)
in float64.
"""

import contextlib
import json
import os
import tempfile
from pathlib import Path

import _nepy
import numpy as np

FOLDER = Path(__file__).resolve().parents[1] / "unittest" / "reference" / "nep"
SIDE, CLOSEST = 8.0, 1.6  # Angstrom
ELEMENTS = {1: ["Si"], 2: ["Ti", "O"], 3: ["Pb", "Cs", "I"], 5: ["Al", "O", "H", "Cu", "Pd"]}

# name -> first token, elements, cutoffs (of all, or of each element), zbl, l_max
KINDS = {
    "nep4": ("nep4", 1, [(5.0, 4.0)], None, "4 1 0"),
    "nep4_three_body": ("nep4", 2, [(5.0, 4.5)], None, "4 0 0"),
    "nep4_two": ("nep4", 2, [(6.0, 4.0)], None, "4 1 1"),
    "nep4_five": ("nep4", 5, [(5.0, 4.0)], None, "4 1 0"),
    "nep4_cutoffs": ("nep4", 3, [(5.0, 4.0), (6.0, 4.5), (5.5, 3.5)], None, "4 1 0"),
    "nep3": ("nep3", 1, [(5.0, 4.0)], None, "4 1 1"),
    "nep3_two": ("nep3", 2, [(5.0, 4.0)], None, "4 0 0"),
    "nep5": ("nep5", 3, [(5.0, 4.0)], None, "4 1 1"),
    "nep4_zbl": ("nep4_zbl", 2, [(5.0, 4.0)], "zbl 1 2", "4 1 0"),
    "nep4_zbl_factor": ("nep4_zbl", 3, [(5.0, 4.0)], "zbl 1 2.4 0.7", "4 1 0"),
    "nep4_zbl_flexible": ("nep4_zbl", 3, [(5.0, 4.0)], "zbl 0 0", "4 1 0"),
    "nep5_zbl": ("nep5_zbl", 2, [(5.0, 4.0), (4.5, 3.5)], "zbl 1.1 2.2", "4 1 1"),
    "nep3_zbl": ("nep3_zbl", 2, [(5.0, 4.0)], "zbl 0.75 1.9", "4 0 0"),
    "nep4_112": ("nep4", 2, [(5.0, 4.0)], None, "2 0 0 1"),
    "nep4_123": ("nep4", 2, [(5.0, 4.0)], None, "3 0 0 0 1"),
    "nep4_233": ("nep4", 2, [(5.0, 4.0)], None, "3 1 0 0 0 1"),
    "nep4_134": ("nep4", 2, [(5.0, 4.0)], None, "4 0 0 0 0 0 1"),
    "nep4_all": ("nep4", 2, [(5.0, 4.0)], None, "8 1 1 1 1 1 1"),
}
N_MAX, BASIS, NEURONS = (4, 3), (5, 4), 6


def atoms_of(elements, random):
    """Positions [n][3] and a cell with skewed edges, whose atoms are not closer than CLOSEST, and the elements of the atoms."""
    cell = np.diag([SIDE, 1.1 * SIDE, 0.9 * SIDE]) + random.uniform(-1, 1, (3, 3)) * (1 - np.eye(3))
    places = []
    images = np.array([[i, j, k] for i in (-1, 0, 1) for j in (-1, 0, 1) for k in (-1, 0, 1)]) @ cell
    while len(places) < 30:
        place = random.uniform(0, 1, 3) @ cell
        if all(np.linalg.norm(place - other + images, axis=1).min() > CLOSEST for other in places):
            places.append(place)
    return np.array(places), cell, [elements[k % len(elements)] for k in range(len(places))]


def text_of(kind, numbers, l_max=None):
    """The file with these numbers: of the nets, coefficients, scaler, ZBL."""
    token, count, cutoffs, zbl, flags = KINDS[kind]
    elements = ELEMENTS[count]
    lines = [f"{token} {count} {' '.join(elements)} ", *([zbl] if zbl else []),
             f"cutoff {' '.join(f'{radial:g} {angular:g}' for radial, angular in cutoffs)} 100 60", f"n_max {N_MAX[0]} {N_MAX[1]}",
             f"basis_size {BASIS[0]} {BASIS[1]}", f"l_max {l_max or flags}", f"ANN {NEURONS} 0"]
    return "\n".join([*lines, *(f"{number:.7e}" for number in np.concatenate(numbers))]) + "\n"


def size_of_descriptor(kind):
    flags = [int(word) for word in KINDS[kind][4].split()]
    return N_MAX[0] + 1 + (N_MAX[1] + 1) * (flags[0] + sum(flag > 0 for flag in flags[1:]))


def numbers_of(kind, random):
    """Random ones of the file but for the scaler, which is 1."""
    token, count, _, zbl, _ = KINDS[kind]
    size = size_of_descriptor(kind)
    nets = []
    for _ in range(1 if token.startswith("nep3") else count):
        nets += [random.normal(0, 1.5 / np.sqrt(size), NEURONS * size), random.normal(0, 0.5, NEURONS), random.normal(0, 0.5, NEURONS)]
        if token.startswith("nep5"):
            nets.append(random.normal(0, 1, 1))
    nets.append(random.normal(0, 1, 1))
    coefficients = [random.normal(0, 1, count**2 * (n + 1) * (k + 1)) for n, k in zip(N_MAX, BASIS)]
    flexible = []
    if zbl == "zbl 0 0":
        for _ in range(count * (count + 1) // 2):
            flexible.append(np.concatenate([[random.uniform(0.8, 1.2), random.uniform(2.0, 2.5)],
                                            np.ravel([[random.uniform(0.05, 0.5), random.uniform(0.2, 3.0)] for _ in range(4)])]))
    return nets + coefficients, np.ones(size), flexible


def calorine(path, places, cell, symbols):
    """Its object for these atoms."""
    with contextlib.nullcontext():
        return _nepy.NEPY(str(path), len(places), list(cell.T.ravel()), symbols, list(places.T.ravel()), [1.0] * len(places))


def make(kind, random):
    places, cell, symbols = atoms_of(ELEMENTS[KINDS[kind][1]], random)
    numbers, scaler, flexible = numbers_of(kind, random)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "nep.txt"
        path.write_text(text_of(kind, [*numbers, scaler, *flexible]))
        found = np.reshape(calorine(path, places, cell, symbols).get_descriptors(), (len(scaler), len(places)))
        scaler = 1.0 / np.ptp(found, axis=1)
        path.write_text(text_of(kind, [*numbers, scaler, *flexible]))
        energies, forces, virials = calorine(path, places, cell, symbols).get_potential_forces_and_virials()
    # as GPUMD spells the flag of 222
    flags = KINDS[kind][4].split()
    spelled = " ".join([flags[0], "2" if flags[1] == "1" else "0", *flags[2:]])
    (FOLDER / f"{kind}.txt").write_text(text_of(kind, [*numbers, scaler, *flexible], spelled))
    forces = np.reshape(forces, (3, -1)).T
    virial = np.reshape(virials, (9, -1)).sum(axis=1)
    assert np.abs(forces.sum(axis=0)).max() < 1e-9
    return {"cell": cell.tolist(), "symbols": symbols, "positions": places.tolist(), "energies": list(energies), "forces": forces.tolist(),
            "virial": virial.reshape(3, 3).tolist()}


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    found = {kind: make(kind, np.random.default_rng(number)) for number, kind in enumerate(KINDS)}
    (FOLDER / "reference.json").write_text(json.dumps(found, indent=None, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
