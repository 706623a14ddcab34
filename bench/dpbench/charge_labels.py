"""What charges bring with 20, 60 and 120 labels: trainings with charges that are searched and without, tested on another trajectory.

    cd bench && python -m dpbench.charge_labels [NAME ...] [--frames 20 60 120] [--seeds 1 2]      prints rows of a table

NAME: of reference_data.py (default: six with charges). Labels are energy, forces and virial. Errors of the forces in percent of their root mean
square, of the energy in meV an atom, of the stress in bar. Seeds are of trajectory and net. `dptrain` and `lmp` have to be in the path.
"""

import argparse
import re
import tempfile
from pathlib import Path

import numpy as np

from .length import some_frames, train_and_test
from .reference_data import BAR, LAMMPS_SYSTEMS, lammps_frames, write_extxyz

SYSTEMS = ["nacl", "lif", "mgo", "caf2", "al2o3", "tio2"]
COLUMNS = ["system", "frames", "seed", "found", *(f"{error}, {kind}" for error in ("force", "energy", "stress") for kind in ("charges", "none"))]
TEST_SEED = 11


def errors(place, terms, elements, seed, test, scale):
    """What the training says of charges, force error in percent, energy error in meV an atom, stress error in bar."""
    document = {"model": {"type_map": elements, "descriptor": {"type": "power_spectrum", "seed": seed}, "fitting_net": {"seed": seed},
                          **({"terms": terms} if terms else {})},
                "training": {"training_data": {"systems": "train.xyz"}, "seed": seed}}
    said, _, force, energy, stress = train_and_test(place, document, test)
    found = re.findall(r"charges ((?:[A-Z][a-z]? \S+ ?)+): after", said)
    return found[0] if found else "none", (100 * force / scale, 1e3 * energy, stress / BAR)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", metavar="NAME", nargs="*")
    parser.add_argument("--frames", type=int, nargs="+", default=[20, 60, 120])
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2])
    options = parser.parse_args()
    print(f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        for name in options.names or SYSTEMS:
            elements, test = list(LAMMPS_SYSTEMS[name].masses), folder / f"{name}.test.xyz"
            frames = lammps_frames(name, TEST_SEED)
            write_extxyz(test, frames, virials=True)
            scale = np.sqrt(np.mean([np.mean(forces**2) for *_, forces, _ in frames]))
            for seed in options.seeds:
                write_extxyz(folder / "all.xyz", lammps_frames(name, seed), virials=True)
                for number in options.frames:
                    found, text = some_frames(folder / "all.xyz", number)
                    (folder / "train.xyz").write_text(text)
                    (charges, learned), (_, without) = (errors(folder, terms, elements, seed, test, scale) for terms in ([{"type": "charges"}], []))
                    cells = [name, found, seed, charges, *(f"{value:.2f}" for pair in zip(learned, without) for value in pair)]
                    print(f"| {' | '.join(map(str, cells))} |", flush=True)


if __name__ == "__main__":
    main()
