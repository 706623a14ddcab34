#!/usr/bin/env python3
"""How many labels four temperatures need: four runs with a model of their own each, and four partitions that share one.

Usage: bench/replicas.py [--seeds N] [--steps N] [--threshold F] [--shared F] [--train N] [--lmp LMP] [--mpiexec MPIEXEC] [--keep FOLDER]

64 silicon atoms with the Stillinger-Weber potential as the reference, `mode active` with a given threshold, at four temperatures: once
as four separate runs, once as `-partition 1 1 1 1` with `share yes`, with the same random numbers. The models are tested on
configurations of four independent runs of the reference. A separate model knows its own temperature; the shared one must be
as good on each of them, and has four times the optimizer steps per label, as many as the four runs together. Prints a Markdown table. `lmp` and `mpiexec` are looked for on the PATH.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from dpbench.silicon import BOX

TEMPERATURES = (300, 800, 1300, 1800)  # K
LEARN = """{variables}{box}velocity all create $(2*v_T) ${{seed}} loop geom
pair_style dptrain precision single
pair_coeff * * new Si
fix learn all dptrain reference pair sw coeff "* * Si.sw Si" end mode active every 10 threshold {threshold} seed 1 &
    memory no save 100000 {model} {share}
fix bath all langevin $T $T 0.1 ${{seed}}
fix n all nve
run {steps}
"""
TEST = """{box}velocity all create {double} {seed} loop geom
pair_style sw
pair_coeff * * Si.sw Si
fix test all dptrain model new Si reference run warmup 1000000 every {every} dataset test{T} memory no disp 1 test{T}.out
fix bath all langevin {T} {T} 0.1 {seed}
fix n all nve
run {steps}
"""


def call(words, folder):
    done = subprocess.run([str(w) for w in words], cwd=folder, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))}: {(done.stdout + done.stderr)[-1500:]}")
    return done.stdout


def force_error(model, test, folder):
    """Root mean square of the force errors, eV/Angstrom."""
    text = call([sys.executable, "-m", "dptrain", "test", "-m", model, "-s", test, "-np", "1"], folder)
    return float(re.findall(r"Force  RMSE\s*: (\S+) eV", text)[-1])


def labels(text):
    """Frames and calls of the reference that the summary of a run names."""
    return tuple(map(int, re.findall(r"Fix dptrain learn: \d+ steps, (\d+) reference calls .*, (\d+) frames", text)[-1]))


def measure(folder, seed, options):
    """[(temperature, labels and error of its own model, error of the shared one)], labels of the shared model."""
    folder.mkdir(parents=True, exist_ok=True)
    seeds = [4928459 + 1000 * seed + k for k in range(len(TEMPERATURES))]
    mpi = [options.mpiexec, "-n"]
    for T in TEMPERATURES:
        (folder / "in.test").write_text(TEST.format(box=BOX, T=T, double=2 * T, seed=777 + seed, steps=options.steps, every=options.steps // 40))
        call([options.lmp, "-in", "in.test", "-log", "none"], folder)
    own = []
    for T, number in zip(TEMPERATURES, seeds):
        text = LEARN.format(variables=f"variable T index {T}\nvariable seed index {number}\n", box=BOX, threshold=options.threshold,
                            model=f"own{T}.dp", share="", steps=options.steps)
        (folder / "in.own").write_text(text.replace("threshold", f"disp 100 own{T}.out threshold"))
        own.append(labels(call([options.lmp, "-in", "in.own", "-log", "none"], folder)))
    variables = f"variable T world {' '.join(map(str, TEMPERATURES))}\nvariable seed world {' '.join(map(str, seeds))}\n"
    (folder / "in.shared").write_text(LEARN.format(variables=variables, box=BOX, threshold=options.shared or options.threshold,
                                                   model="shared.dp", share=f"share yes train {options.train}", steps=options.steps))
    call([*mpi, len(TEMPERATURES), options.lmp, "-partition", *["1"] * len(TEMPERATURES), "-in", "in.shared", "-log", "none"], folder)
    shared = labels((folder / "screen.0").read_text())
    rows = [(T, calls, frames, force_error(f"own{T}.dp", f"test{T}", folder), force_error("shared.dp", f"test{T}", folder))
            for T, (calls, frames) in zip(TEMPERATURES, own)]
    return rows, shared


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--steps", type=int, default=4000)
    parser.add_argument("--threshold", type=float, default=0.3)
    parser.add_argument("--shared", type=float, help="threshold of the partitions (default: the same)")
    parser.add_argument("--train", type=int, default=400, help="optimizer steps per label of the shared model (default: %(default)s)")
    parser.add_argument("--lmp", default="lmp")
    parser.add_argument("--mpiexec", default="mpiexec")
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    with tempfile.TemporaryDirectory() as temporary:
        top = (options.keep or Path(temporary)).resolve()
        print("| seed | K | calls | labels | force error, own model, eV/A | shared model |\n|---|---|---|---|---|---|")
        for seed in range(options.seeds):
            rows, (calls, frames) = measure(top / str(seed), seed, options)
            for T, own_calls, own_frames, own_error, shared_error in rows:
                print(f"| {seed} | {T} | {own_calls} | {own_frames} | {own_error:.4f} | {shared_error:.4f} |")
            total = [sum(row[k] for row in rows) for k in (1, 2)]
            print(f"| {seed} | all, own models | {total[0]} | {total[1]} | | |")
            print(f"| {seed} | all, shared model | {calls} | {frames} | | |")
            print(f"| {seed} | ratio | {total[0] / calls:.2f} | {total[1] / frames:.2f} | | |", flush=True)


if __name__ == "__main__":
    main()
