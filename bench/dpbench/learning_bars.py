"""Whether error bars hold while a run learns: crystals that are heated, compressed or expanded from nothing known.

    cd bench && python -m dpbench.learning_bars [NAME ...] [--seeds 1 2]      prints rows of a table

NAME: of reference_data.py (default: six of them). Each run learns for 2000 steps up to its temperature (see explore.py), then for 10,000 while it goes
to 2.5 times the temperature, or to 0.8 or 1.25 times the volume. After every 500 steps the log says how many of the force errors of the latest labels (30 at most) were
below their bars before they were learned: the row has the lowest and the last of these numbers. `lmp` has to be in the path.
"""

import argparse
import re
import tempfile
from pathlib import Path

from .explore import TEMPERATURE, lmp, of_model, print_row, setup, table
from .from_nothing import reference
from .reference_data import LAMMPS_SYSTEMS

SYSTEMS = ["sw-silicon", "nial", "copper", "sw-gan", "sio2", "mgo"]
FIRST, STEPS, PART = 2000, 10000, 500
WAYS = {"heated": (2.5, 1.0), "compressed": (1.0, 0.8), "expanded": (1.0, 1.25)}  # times the temperature, the volume
COLUMNS = ["system", "seed", "run", "calls", "below their 90 % bars, %: lowest, last", "by element", "held-out force error, %"]


def learn(folder, name, seed, way):
    hotter, volume = WAYS[way]
    temperature, edge = TEMPERATURE[name], volume ** (1 / 3)
    bath = f"fix bath all temp/csvr {{}} {{}} 0.1 {seed}"
    deform = [f"fix deform all deform 10 x scale {edge} y scale {edge} z scale {edge} remap x"] if volume != 1.0 else []
    log = lmp(folder, "learn", [
        *setup(name, seed, of_model(name, "new")),
        f"fix learn all dptrain {reference(LAMMPS_SYSTEMS[name].potential)} every 10 seed {seed} save 100000 {name}-{seed}-{way}.dp", "fix nve all nve",
        bath.format(300, temperature), f"run {FIRST}", bath.format(temperature, hotter * temperature), *deform,
        *[f"run {PART} start {FIRST} stop {FIRST + STEPS}"] * (STEPS // PART)])
    found = re.findall(r"promised 90 %, found (\d+) % of \d+ atoms \((.*?)\)", log)
    calls = sum(int(number) for number in re.findall(r"(\d+) reference calls \(", log))
    return [name, seed, way, calls, f"{min(int(part) for part, _ in found)}, {found[-1][0]}", found[-1][1].replace(" %", ""),
            re.findall(r"reached [\d.]+ \(([\d.]+) %", log)[-1]]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", metavar="NAME", nargs="*")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2])
    options = parser.parse_args()
    table("Error bars of runs that learn", COLUMNS)
    with tempfile.TemporaryDirectory() as folder:
        for name in options.names or SYSTEMS:
            for seed in options.seeds:
                for way in WAYS:
                    print_row(learn(Path(folder), name, seed, way))


if __name__ == "__main__":
    main()
