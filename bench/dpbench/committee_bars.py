"""Error bars of one model beside those of a committee of four, on the same data.

    cd bench && python -m dpbench.committee_bars [NAME ...] [--steps 2000] [--cold]      prints rows of a table

NAME: of reference_data.py (default: four of them). Four models with other random numbers learn the same frames of one trajectory, but for two blocks of them, which calibrate both:
the factor that covers nine in ten of the force errors there, for each element; for the committee it multiplies the standard deviation of the four forces of an atom,
whose mean is what is right or wrong. Tested on another trajectory. With --cold the crystal alone is learned, and tested are both phases: the area below the
curve that tells frames of the melt from those of the crystal by the largest bar. `dptrain` and `lmp` have to be in the path.
"""

import argparse
import json
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from . import tested
from .bars import frame_sizes
from .reference_data import CRYSTAL_FRAMES, lammps_frames, write_extxyz
from .scores import auc, spearman

SYSTEMS = ["sw-silicon", "nial", "sw-gan", "nacl"]
MEMBERS, COVERED, BLOCK = 4, 0.9, 6
COLUMNS = ["data", "learned", "who", "force error, eV/A", "below their 90 % bars, %", "by element, %", "rank correlation", "melt told from crystal, area", "seconds of training"]


def blocks(frames):
    """Two blocks of frames, at a third and at two thirds of the trajectory, and the others."""
    places = {k + i for k in (len(frames) // 3, 2 * len(frames) // 3) for i in range(BLOCK)}
    return [frames[k] for k in sorted(places)], [frame for k, frame in enumerate(frames) if k not in places]


def forces(place, model, path):
    """Reference and forces [atoms][3], bars and errors."""
    return *tested.forces(place, model, path), np.loadtxt(place / "detail.b.out")[:, 0]


def member(folder, elements, seed, steps):
    place = folder / f"member-{seed}"
    place.mkdir()
    model = {"type_map": elements, "descriptor": {"type": "power_spectrum", "seed": seed}, "fitting_net": {"seed": seed}}
    training = {"training_data": {"systems": str(folder / "train.xyz")}, "validation_data": {"systems": str(folder / "held.xyz")}, "numb_steps": steps,
                "save_freq": steps, "seed": seed, "save_ckpt": "model"}
    (place / "input.json").write_text(json.dumps({"model": model, "training": training}))
    log = subprocess.run(["dptrain", "train", "input.json", "--precision", "single"], cwd=place, check=True, capture_output=True, text=True).stdout
    found = [line for line in log.splitlines() if line.startswith("finished after step")][-1].split()
    subprocess.run(["ln", "-sf", f"model-{found[3]}.dp", "last.dp"], cwd=place, check=True)
    return place, float(found[5])


def rows(folder, name, steps, cold):
    frames, test = lammps_frames(name, 1), lammps_frames(name, 11)
    held, train = blocks(frames[:CRYSTAL_FRAMES + 1] if cold else frames)
    for part, some in (("train", train), ("held", held), ("test", test)):
        write_extxyz(folder / f"{part}.xyz", some)
    elements = list(dict.fromkeys(frames[0][0]))
    members = [member(folder, elements, seed, steps) for seed in range(1, MEMBERS + 1)]
    sizes = {part: frame_sizes(folder / f"{part}.xyz") for part in ("held", "test")}
    found = {part: [forces(place, "last.dp", folder / f"{part}.xyz") for place, _ in members] for part in sizes}

    def of_committee(part):
        each = np.stack([force for _, force, _ in found[part]])
        return each.mean(axis=0), np.sqrt(((each - each.mean(axis=0)) ** 2).sum(axis=2).mean(axis=0))

    mean, spread = of_committee("test")
    held_mean, held_spread = of_committee("held")
    symbols, held_symbols = (np.concatenate(sizes[part]) for part in ("test", "held"))
    bar = spread.copy()
    for element in elements:
        some = held_symbols == element
        ratio = np.linalg.norm(held_mean - found["held"][0][0], axis=1)[some] / held_spread[some]
        bar[symbols == element] *= np.quantile(ratio, COVERED)
    one = found["test"][0]
    for who, force, bars, seconds in (("one model", one[1], one[2], members[0][1]), ("committee", mean, bar, sum(seconds for _, seconds in members))):
        error = np.linalg.norm(force - one[0], axis=1)
        below = error <= bars
        first = np.cumsum([0, *(len(frame) for frame in sizes["test"])])
        largest = np.array([bars[a:b].max() for a, b in zip(first[:-1], first[1:])])
        melted = np.arange(len(largest)) > CRYSTAL_FRAMES
        yield [name, "crystal" if cold else "all", who, f"{np.sqrt(((force - one[0]) ** 2).mean()):.4f}", f"{100 * below.mean():.0f}",
               ", ".join(f"{e} {100 * below[symbols == e].mean():.0f}" for e in elements),
               f"{np.mean([spearman(bars[symbols == e], error[symbols == e]) for e in elements]):.2f}",
               f"{auc(largest, melted):.2f}" if cold else "-", f"{seconds:.0f}"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", metavar="NAME", nargs="*")
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--cold", action="store_true")
    options = parser.parse_args()
    print(f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}", flush=True)
    for name in options.names or SYSTEMS:
        with tempfile.TemporaryDirectory() as folder:
            for row in rows(Path(folder), name, options.steps, options.cold):
                print(f"| {' | '.join(str(cell) for cell in row)} |", flush=True)


if __name__ == "__main__":
    main()
