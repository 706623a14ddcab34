"""Whether error bars hold: trainings on one trajectory, tested on another one of the same kind.

    cd bench && python -m dpbench.bars [NAME ...] [--data FOLDER] [--seeds 1 2] [--steps 2000] [--descriptor nep]      prints rows of a table

NAME: of reference_data.py (default: all of them), or files NAME.train.xyz and NAME.test.xyz in FOLDER. Each training has the
defaults but for its length: one frame in ten is held out, in blocks, and the error bars are measured on these. The row has, for the
test trajectory: the force error, the part of the errors below their bars (in all, by element, in the worst ten frames in a row),
the largest bar of a frame over its largest error (geometric mean and spread, a factor), and Spearman's rank correlation of bars and
errors of atoms, in the mean over the elements. `dptrain` and `lmp` have to be in the path.
"""

import argparse
import json
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from . import tested
from .reference_data import LAMMPS_SYSTEMS, lammps_frames, write_extxyz
from .scores import spearman

COLUMNS = ["data", "seed", "force error, eV/A", "below their 90 % bars, %", "by element, %", "worst ten frames, %",
           "largest bar over largest error", "rank correlation"]
TEN = 10  # frames


def write_data(name, folder):
    for part, seed in (("train", 1), ("test", 11)):
        write_extxyz(folder / f"{name}.{part}.xyz", lammps_frames(name, seed))


def train(folder, name, elements, seed, steps, descriptor):
    """The folder of a training, with model-STEPS.dp."""
    place = folder / f"{name}-{seed}"
    place.mkdir()
    training = {"training_data": {"systems": str(folder / f"{name}.train.xyz")}, "numb_steps": steps, "save_freq": steps, "seed": seed,
                "save_ckpt": "model"}
    model = {"type_map": elements, "descriptor": {"type": descriptor, "seed": seed}, "fitting_net": {"seed": seed}}
    (place / "input.json").write_text(json.dumps({"model": model, "training": training}))
    subprocess.run(["dptrain", "train", "input.json"], cwd=place, check=True, capture_output=True, text=True)
    return place


def frame_sizes(path):
    """Symbols of each frame of an extended XYZ file."""
    lines, frames = path.read_text().splitlines(), []
    while lines:
        atoms = int(lines[0])
        frames.append([line.split()[0] for line in lines[2:2 + atoms]])
        lines = lines[2 + atoms:]
    return frames


def row(folder, name, elements, seed, steps, descriptor):
    place = train(folder, name, elements, seed, steps, descriptor)
    test = folder / f"{name}.test.xyz"
    expected, found = tested.forces(place, f"model-{steps}.dp", test)
    bar, error = np.loadtxt(place / "detail.b.out").T
    frames = frame_sizes(test)
    symbols = np.concatenate(frames)
    number = np.repeat(np.arange(len(frames)), [len(frame) for frame in frames])
    below = error <= bar
    of_frame = np.array([below[number == k].mean() for k in range(len(frames))])
    windows = np.convolve(of_frame, np.full(TEN, 1 / TEN), "valid")
    ratio = np.log([bar[number == k].max() / error[number == k].max() for k in range(len(frames))])
    rank = np.mean([spearman(bar[symbols == e], error[symbols == e]) for e in elements])
    return [name, seed, f"{np.sqrt(np.mean((found - expected) ** 2)):.4f}", f"{100 * below.mean():.0f}",
            ", ".join(f"{e} {100 * below[symbols == e].mean():.0f}" for e in elements), f"{100 * windows.min():.0f}",
            f"{np.exp(ratio.mean()):.2f} ({np.exp(ratio.std()):.2f})", f"{rank:.2f}"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", metavar="NAME", nargs="*")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--descriptor", default="power_spectrum")
    options = parser.parse_args()
    print(f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        for name in options.names or LAMMPS_SYSTEMS:
            if options.data:
                for part in ("train", "test"):
                    (folder / f"{name}.{part}.xyz").symlink_to((options.data / f"{name}.{part}.xyz").resolve())
            else:
                write_data(name, folder)
            elements = list(dict.fromkeys(np.concatenate(frame_sizes(folder / f"{name}.train.xyz")).tolist()))
            for seed in options.seeds:
                cells = row(folder, name, elements, seed, options.steps, options.descriptor)
                print(f"| {' | '.join(map(str, cells))} |", flush=True)


if __name__ == "__main__":
    main()
