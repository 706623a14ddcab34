"""Force errors against the cutoff: how far does a potential have to look?

    cd bench && python -m dpbench.reach NAME [NAME ...] [--cutoffs 4 5 6 7 8 9 10] [--seeds 1 2]
    python -m dpbench.reach --tables FILE [FILE ...] --figure PNG      # draws what was printed

NAME is a reference of reference_data.py (sw-silicon, sw-gan, nial, copper, sio2, mgo, nacl), whose trajectory of seed 1 is learned and that of
seed 11 tested, or NAME=TRAIN,TEST with two data sets. Prints a table as it goes on; the last line of a data set is what the defaults choose.
"""

import argparse
import json
import re
import subprocess
import tempfile
from pathlib import Path

import numpy as np

STEPS = 3000


def data_of(word, folder):
    """(name, data set to learn, data set for the test)"""
    from dpbench.reference_data import lammps_frames, write_extxyz

    name, _, files = word.partition("=")
    if files:
        return name, *(str(Path(file).resolve()) for file in files.split(","))
    paths = [folder / f"{name}.{part}.xyz" for part in ("train", "test")]
    for path, seed in zip(paths, (1, 11)):
        write_extxyz(path, lammps_frames(name, seed))
    return name, *map(str, paths)


def elements_of(data):
    """Of an extended XYZ file, or of a folder in DeePMD-kit's format."""
    if Path(data).is_dir():
        return (Path(data) / "type_map.raw").read_text().split()
    from ase.io import read

    return sorted(set(read(data, 0).symbols))


def dptrain(folder, *words):
    return subprocess.run(["dptrain", *words], cwd=folder, capture_output=True, text=True, check=True).stdout


def error(train, test, cutoff, seed, steps):
    """(cutoff in Angstrom, rms force error on the test data in eV/Angstrom, seconds of the training); cutoff None: that of the defaults."""
    descriptor = {"type": "power_spectrum", "seed": seed, **({"rcut": cutoff} if cutoff else {})}
    document = {"model": {"type_map": elements_of(train), "descriptor": descriptor, "fitting_net": {"seed": seed}},
                "training": {"training_data": {"systems": train}, "numb_steps": steps, "save_freq": steps, "save_ckpt": "model", "seed": seed}}
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "input.json").write_text(json.dumps(document))
        output = dptrain(folder, "train", "input.json", "--precision", "single", "--output", "out.json")
        seconds = float(re.findall(r"step \d+ in (\S+) s", output)[-1])
        tested = dptrain(folder, "test", "-m", f"model-{steps}.dp", "-s", test)
        chosen = json.loads(Path(folder, "out.json").read_text())["model"]["descriptor"]["rcut"]
    return chosen, float(re.findall(r"Force  RMSE        : (\S+)", tested)[-1]), seconds


def read_tables(paths):
    """{name: [(cutoff, errors by seed, whether it is that of the defaults)]} of printed tables."""
    found = {}
    for path in paths:
        for line in Path(path).read_text().splitlines():
            cells = [cell.strip() for cell in line.split("|")[1:-1]]
            if len(cells) == 4 and re.match(r"[0-9.]", cells[1]):
                rows = found.setdefault(cells[0], [])
                rows.append((float(cells[1].split()[0]), [float(e) for e in cells[2].split(",")], "default" in cells[1]))
    return found


def draw(found, path):
    from dptrain.figures import new_figure

    figure, axes = new_figure(1, 1, (6.4, 4.0))
    axis = axes[0, 0]
    for name, rows in found.items():
        given = sorted((cutoff, errors) for cutoff, errors, is_default in rows if not is_default)
        (line,) = axis.semilogy([cutoff for cutoff, _ in given], [np.mean(errors) for _, errors in given], "o-", markersize=4, label=name)
        for cutoff, errors, is_default in rows:
            if is_default:
                axis.semilogy(cutoff, np.mean(errors), "s", markersize=9, markerfacecolor="none", color=line.get_color())
    axis.set_xlabel("cutoff (\u00c5)")
    axis.set_ylabel("force error (eV/\u00c5)")
    axis.legend(frameon=False, fontsize=8)
    figure.savefig(path, dpi=150, bbox_inches="tight")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--cutoffs", nargs="*", type=float, default=[4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0])
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--tables", nargs="+", default=[], metavar="FILE")
    parser.add_argument("--figure", metavar="PNG", help="squares are what the defaults choose")
    options = parser.parse_args()
    if options.names:
        print("| data | cutoff, A | force error, eV/A, by seed | seconds |\n|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for word in options.names:
            name, train, test = data_of(word, Path(folder))
            for cutoff in [*options.cutoffs, None]:
                runs = [error(train, test, cutoff, seed, options.steps) for seed in options.seeds]
                print(f"| {name} | {runs[0][0]:g}{' (default)' if cutoff is None else ''} | {', '.join(f'{run[1]:.4f}' for run in runs)} | "
                      f"{np.mean([run[2] for run in runs]):.0f} |", flush=True)
    if options.figure:
        draw(read_tables(options.tables), options.figure)


if __name__ == "__main__":
    main()
