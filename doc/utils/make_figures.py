#!/usr/bin/env python3
"""Draws the figures of the manual, doc/src/img, from the logs in the folders of the examples and from the results of the benchmark.

    python doc/utils/make_figures.py [-o FOLDER] [NAME ...]     all of them, or those that are named

A figure has 60 kB at most. To draw a figure anew, run the example (README.md in its folder), and put its log in place of the old one.
"""

import argparse
import json
import re
import sys
from pathlib import Path

import numpy as np
from PIL import Image

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "bench")]

from dptrain.figures import PALETTE, new_figure, plot_active, plot_lcurve, save_figure  # noqa: E402
from dptrain.logs import read_course, read_events, read_log, read_rewinds, read_text  # noqa: E402

WIDTH, COLORS = 1100, 40  # pixels, and colors of the finished picture


def log_of(example, name=""):
    """The newest log of an example whose name has this part."""
    found = sorted((ROOT / "examples" / example).glob(f"log.*.{name or example}.*"))
    if not found:
        raise SystemExit(f"make_figures: there is no log.*.{name or example}.* in examples/{example}")
    return found[-1]


def shrink(file):
    """Makes a picture small enough for a repository: no wider than WIDTH, with COLORS colors."""
    with Image.open(file) as picture:
        small = picture.convert("RGB")
    if small.width > WIDTH:
        small = small.resize((WIDTH, round(small.height * WIDTH / small.width)), Image.Resampling.LANCZOS)
    small.quantize(COLORS, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(file, optimize=True)


def active(example, name=""):
    """Function that draws the course of an active run: errors and threshold, labels and calls, temperature."""
    def draw(file):
        log = log_of(example, name)
        plot_active(read_events(log), read_course(log), read_rewinds(log), file)
    return draw


def learning(example, name="", error="rmse_f"):
    """Function that draws what the thermo output of a learning run says: temperature, and force error of the last batch."""
    def draw(file):
        runs = [run for run in read_log(log_of(example, name)) if error in run]
        figure, axes = new_figure(2, 1, (6.4, 4.0), sharex=True)
        for axis, column, label, color in ((axes[0, 0], "Temp", "temperature (K)", PALETTE[6]),
                                           (axes[1, 0], error, "force error of\nthe batch (eV/\u00c5)", PALETTE[0])):
            for run in runs:
                shown = run[column] > 1e-9  # not those of an ideal lattice, which has no forces
                axis.plot(run["Step"][shown], run[column][shown], color=color, linewidth=1.4)
            axis.set_ylabel(label)
        axes[1, 0].set_yscale("log")
        axes[1, 0].set_xlabel("MD step")
        figure.align_ylabels(axes)
        save_figure(figure, file)
    return draw


def selection(file):
    """The energy of the trajectory of active_select, and the frames that each round has selected."""
    log = log_of("active_select")
    events = [line.split() for line in read_text(log).splitlines()]
    rounds, found = [], []
    for words in events:
        if words[:1] == ["dptrain"] and words[2:3] == ["selected,"]:
            found.append(float(words[1]))
        elif words[:3] == ["Fix", "dptrain", "pick:"]:
            rounds.append(found)
            found = []
    runs = [run for run in read_log(log) if len(run["Step"]) > 15 and "E_pair" in run]
    step, energy = runs[0]["Step"], runs[0]["E_pair"]
    figure, axes = new_figure(1, 1, (6.4, 3.4))
    axis = axes[0, 0]
    axis.plot(step, energy, color=PALETTE[7], linewidth=1.2, label="trajectory, expected by the first model")
    for k, steps in enumerate(rounds):
        axis.scatter(steps, np.interp(steps, step, energy), s=60, color=PALETTE[k], zorder=3, label=f"selected, round {k + 1}")
    axis.set_xlabel("MD step")
    axis.set_ylabel("energy (eV)")
    axis.legend(frameon=False, fontsize=8)
    save_figure(figure, file)


def replicas(file):
    """Expected force error at each temperature of replicas, whose partitions train one model."""
    last = log_of("replicas")
    figure, axes = new_figure(1, 1, (6.4, 3.4))
    axis = axes[0, 0]
    for k, log in enumerate(sorted(last.parent.glob(f"{last.stem}.*"))):
        run, told = read_log(log)[0], re.search(r"^at (\d+ K):", read_text(log), re.MULTILINE)
        shown = run["expected"] > 0
        axis.plot(run["Step"][shown], run["expected"][shown], color=PALETTE[k], label=told.group(1))
    axis.set_yscale("log")
    axis.set_xlabel("MD step")
    axis.set_ylabel("largest expected\nforce error (eV/\u00c5)")
    axis.legend(frameon=False, fontsize=8)
    save_figure(figure, file)


def offline(file):
    """Learning curve of the example offline, from the lines that dptrain train prints."""
    rows = []
    for line in read_text(log_of("offline")).splitlines():
        found = re.match(r"step +(\d+) +trn: (.*?) +val: (.*?) +lr (\S+)", line)
        if not found:
            continue
        row = {"step": float(found.group(1)), "lr": float(found.group(4))}
        for kind, errors in (("trn", found.group(2)), ("val", found.group(3))):
            row |= {f"rmse_{name}_{kind}": float(error) for name, error in re.findall(r"\b([efv]) (\S+)", errors)}
        rows.append(row)
    plot_lcurve([{name: np.array([row[name] for row in rows]) for name in rows[0]}], file)


def bench(name):
    """Function that draws a figure of the benchmark from its results."""
    def draw(file):
        from dpbench import plots
        getattr(plots, f"plot_{name}")(json.loads((ROOT / "bench" / "results" / "bench.json").read_text()), file)
    return draw


FIGURES = {
    "example_nial": learning("nial"),
    "example_socket": learning("socket", "water"),
    "example_spool": learning("spool", "water"),
    "example_codes": active("codes", "qe"),
    "example_active_silicon": active("active_silicon"),
    "example_active_alloy": active("active_alloy"),
    "active_water": active("active_water"),
    "example_salt": active("salt"),
    "example_teacher": active("teacher"),
    "example_active_select": selection,
    "example_active_cutout": active("active_cutout"),
    "example_ase_on_the_fly": active("ase_on_the_fly", "ethanol"),
    "example_replicas": replicas,
    "example_fine_tune": learning("fine_tune"),
    "example_nep_fine_tune": learning("nep_fine_tune", "fine_tune"),
    "example_offline": offline,
    "dptrain_memory": bench("memory"),
    "dptrain_uncertainty": bench("uncertainty"),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", choices=[[], *FIGURES], help="figures to draw: " + " ".join(FIGURES))
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "doc" / "src" / "img", metavar="FOLDER")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    for name in options.names or FIGURES:
        file = options.output / f"{name}.png"
        FIGURES[name](str(file))
        shrink(file)
        print(f"{file}: {file.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
