"""How long a training from data sets should be: trainings that end by themselves beside trainings of a fixed length with a rate that falls.

    cd bench && python -m dpbench.length [NAME ...] [--data FOLDER] [--frames N] [--seeds 1 2]      prints rows of a table

NAME: of reference_data.py (default: all of them), or files NAME.train.xyz and NAME.test.xyz in FOLDER. Errors are root mean squares
on the test trajectory. `--frames`: so many of the training frames, at equal distances. `dptrain` and `lmp` have to be in the path.
"""

import argparse
import json
import re
import subprocess
import tempfile
import time
from pathlib import Path

from .bars import frame_sizes, write_data
from .reference_data import LAMMPS_SYSTEMS

COLUMNS = ["data", "frames", "seed", "training", "steps", "seconds", "held-out force error, eV/A", "training", "test", "test energy, meV/atom"]
FIXED = {"training": {"numb_steps": 10000, "enable_ema": False, "held_out": 0.0, "change_bias_after_training": False},
         "learning_rate": {"type": "cosine", "start_lr": 0.01, "stop_lr_ratio": 1e-3},
         "loss": {"start_pref_e": 0.02, "limit_pref_e": 10, "start_pref_f": 1000, "limit_pref_f": 100}}
TRAININGS = {"default": {}, "10000 steps, cosine": FIXED}


def some_frames(path, number):
    """The text of `number` frames of an extended XYZ file, at equal distances."""
    lines, frames = path.read_text().splitlines(keepends=True), []
    while lines:
        size = int(lines[0]) + 2
        frames.append("".join(lines[:size]))
        lines = lines[size:]
    number = min(number or len(frames), len(frames))
    return number, "".join(frames[k * len(frames) // number] for k in range(number))


def train_and_test(place, document, test):
    """Of a training in the folder with this input: what it says, its seconds, and the errors of its test, of the forces in eV/A, of the energy
    in eV an atom, and of the stress in eV/A^3 where the test has virials."""
    (place / "input.json").write_text(json.dumps(document))

    def dptrain(*words):
        return subprocess.run(["dptrain", *words, "--precision", "single"], cwd=place, check=True, capture_output=True, text=True).stdout

    begin = time.monotonic()
    said = dptrain("train", "input.json")
    seconds = time.monotonic() - begin
    tested = dptrain("test", "-m", "model.ckpt.dp", "-s", str(test.resolve()))
    return said, seconds, *(float(found[-1]) for words in ("Force  RMSE", "Energy RMSE/Natoms", "Stress RMSE")
                            if (found := re.findall(rf"{words} *: (\S+)", tested)))


def row(folder, data, name, number, seed, kind):
    """A training in the folder, on the files in `data`, and its test."""
    place = Path(tempfile.mkdtemp(dir=folder))
    frames, text = some_frames(data / f"{name}.train.xyz", number)
    (place / "train.xyz").write_text(text)
    elements = sorted({symbol for frame in frame_sizes(place / "train.xyz") for symbol in frame})
    document = {"model": {"type_map": elements, "descriptor": {"type": "power_spectrum", "seed": seed}, "fitting_net": {"seed": seed}},
                **{section: dict(words) for section, words in TRAININGS[kind].items()}}
    document["training"] = {**document.get("training", {}), "training_data": {"systems": "train.xyz"}, "seed": seed}
    said, seconds, force, energy, *_ = train_and_test(place, document, data / f"{name}.test.xyz")
    steps = re.findall(r"finished after step (\d+)", said)[0]
    judged = re.search(r"error on frames that are not trained on: (\S+), on training frames (\S+)", said)
    return [name, frames, seed, kind, steps, f"{seconds:.0f}", *(judged.groups() if judged else ("", "")), f"{force:.4f}", f"{1e3 * energy:.2f}"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", metavar="NAME", nargs="*")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--frames", type=int, default=0, help="default: all")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2])
    options = parser.parse_args()
    print(f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        data = options.data or folder
        for name in options.names or LAMMPS_SYSTEMS:
            if not options.data:
                write_data(name, folder)
            for seed in options.seeds:
                for kind in TRAININGS:
                    print(f"| {' | '.join(map(str, row(folder, data, name, options.frames, seed, kind)))} |", flush=True)


if __name__ == "__main__":
    main()
