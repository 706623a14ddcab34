#!/usr/bin/env python3
"""How many runs of a young model explode, and how many of them `rewind` of fix dptrain saves.

Usage: bench/rewind.py [--seeds N] [--first K] [--steps N] [--ensemble nve npt] [--rewinds N] [--lmp LMP] [--keep FOLDER]

64 silicon atoms with the Stillinger-Weber potential as the reference. The model learns from a few labels of a crystal at 600 K, with
five optimizer steps for each, and is then let loose at 12,000 K with limits that hardly keep it from anything. Each seed (of
the velocities) runs without `rewind` and with it. At constant energy such a run cannot become hotter than it began, for it began in
the minimum of the potential energy, and melts; it has survived if it ends without an error, its last 100 steps are colder
than that (also at constant pressure, where a slow thermostat wants 6,000 K), and the forces of the model on its last configuration are
within the limit of the reference's. Prints a Markdown table, and what became of those that did not; --keep keeps the files.
`lmp` is looked for on the PATH.
"""

import argparse
import concurrent.futures
import os
import re
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from dpbench.silicon import BOX

THRESHOLD, LIMIT = 10.0, 30.0  # eV/Angstrom
COLD, HOT = 600.0, 12000.0  # K
ENSEMBLES = {"nve": "fix n all nve", "npt": f"fix n all npt temp {HOT / 2} {HOT / 2} 10.0 iso 0 0 2.0"}
LEARN = """velocity all create {cold} {velocities} loop geom
pair_style dptrain precision single
pair_coeff * * new Si
fix learn all dptrain reference pair sw coeff "* * Si.sw Si" end mode active every 200 warmup 4 train 5 audit 0 &
    threshold {threshold} limit {limit} repeat seed {seed} rewind {rewinds} memory no save 100000 si.dp
fix n all nve
thermo 10
thermo_style custom step temp etotal vol f_learn[1] f_learn[2] f_learn[30]
run 50
velocity all create {hot} {velocities} loop geom
unfix n
{ensemble}
run {steps}
write_data end.data
"""
FORCES = "clear\nunits metal\natom_style atomic\nread_data end.data\n{0}\nrun 0\nwrite_dump all custom {1} id fx fy fz modify sort id format float %.10g\n"
END = FORCES.format("pair_style dptrain\npair_coeff * * si.dp Si", "model.dump") + \
    FORCES.format("pair_style sw\npair_coeff * * Si.sw Si", "sw.dump")


def forces(path):
    """[natoms][3] of a dump file with one frame."""
    lines = path.read_text().split("ITEM: ATOMS")[1].splitlines()[1:]
    return np.array([[float(w) for w in line.split()[1:]] for line in lines])


def final_error(folder, lmp):
    """Largest force error of an atom of the model on the last configuration, eV/Angstrom."""
    (folder / "in.end").write_text(END)
    done = subprocess.run([lmp, "-in", "in.end", "-log", "none"], cwd=folder, capture_output=True, text=True)
    if done.returncode != 0:
        return np.inf
    return np.linalg.norm(forces(folder / "model.dump") - forces(folder / "sw.dump"), axis=1).max()


def run(folder, seed, ensemble, rewinds, options):
    """What became of a run: a dictionary with a reason where it has not survived."""
    folder.mkdir(parents=True)
    words = {"velocities": 4928459 + seed, "seed": seed + 1, "ensemble": ENSEMBLES[ensemble], "rewinds": rewinds, "steps": options.steps,
             "cold": COLD, "hot": HOT, "threshold": THRESHOLD, "limit": LIMIT}
    (folder / "in.learn").write_text(BOX + LEARN.format(**words))
    done = subprocess.run([options.lmp, "-in", "in.learn", "-log", "none"], cwd=folder, capture_output=True, text=True)
    (folder / "output").write_text(done.stdout + done.stderr)
    table = [line.split() for line in done.stdout.splitlines() if re.fullmatch(r"\s*\d+( +\S+){6}\s*", line)]
    last = np.mean([float(row[1]) for row in table[-10:]])
    result = {"labels": int(float(table[-1][4])), "calls": int(float(table[-1][5])), "rewinds": int(float(table[-1][6])), "why": ""}
    error = [line for line in (done.stdout + done.stderr).splitlines() if "ERROR" in line]
    if done.returncode != 0:
        result["why"] = error[0] if error else f"status {done.returncode}"
        return result
    result["temperature"], result["error"] = last, final_error(folder, options.lmp)
    if not last < HOT:
        result["why"] = f"{last:.0f} K at the end"
    elif not result["error"] < LIMIT:
        result["why"] = f"an error of {result['error']:.3g} eV/Angstrom at the end"
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--ensemble", nargs="+", choices=sorted(ENSEMBLES), default=["nve", "npt"])
    parser.add_argument("--rewinds", type=int, default=50)
    parser.add_argument("--lmp", default="lmp")
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    with tempfile.TemporaryDirectory() as temporary, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        top = (options.keep or Path(temporary)).resolve()
        print("| ensemble | rewind | survived | rewinds in a run | labels | calls | K at the end | largest error at the end, eV/A |")
        print("|---|---|---|---|---|---|---|---|")
        failures = []
        for ensemble in options.ensemble:
            for rewinds in (0, options.rewinds):
                runs = list(pool.map(lambda seed: run(top / f"{ensemble}{rewinds}" / str(seed), seed, ensemble, rewinds, options),
                                     range(options.first, options.first + options.seeds)))
                alive = [r for r in runs if not r["why"]]
                mean = {name: sum(r[name] for r in runs) / len(runs) for name in ("rewinds", "labels", "calls")}
                worst = max((r["error"] for r in alive), default=np.nan)
                hot = np.mean([r["temperature"] for r in alive]) if alive else np.nan
                print(f"| {ensemble} | {rewinds} | {len(alive)} of {len(runs)} | {mean['rewinds']:.1f} | {mean['labels']:.0f} | "
                      f"{mean['calls']:.0f} | {hot:.0f} | {worst:.2g} |", flush=True)
                for seed, r in enumerate(runs, options.first):
                    if r["why"]:
                        failures.append(f"{ensemble}, rewind {rewinds}, seed {seed}: {r['why'][:150]}")
        print("\n" + "\n".join(failures))


if __name__ == "__main__":
    main()
