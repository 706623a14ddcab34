"""What `accuracy` of fix dptrain leads to: potentials learned from nothing in a run, tested on another trajectory of the reference.

    cd bench && python -m dpbench.from_nothing [NAME ...] [--words "accuracy 2%"] [--seeds 1 2]      prints rows of a table

NAME: of reference_data.py (default: six of them). The run is the one that makes the test data, with other random numbers: a crystal is
heated, melts, and cools, in 10,500 steps. `dptrain` and `lmp` have to be in the path.
"""

import argparse
import re
import subprocess
import tempfile
from pathlib import Path

from . import tested
from .reference_data import CRYSTAL_FRAMES, LAMMPS_SYSTEMS, MELT_FRAMES, lammps_frames, lammps_input, potentials_variable, write_extxyz

COLUMNS = ["system", "seed", "calls", "% of the steps", "seconds", "training, s", "wanted, %", "held-out, %", "latest answers, %", "test, %", "crystal, %", "melt, %"]
SYSTEMS = ["sw-silicon", "nial", "sw-gan", "sio2", "nacl", "mgo"]
CRYSTAL, FRAMES = CRYSTAL_FRAMES + 1, CRYSTAL_FRAMES + MELT_FRAMES + 2  # of the test: each phase begins with its first step
TEST_SEED = 11


def reference(potential):
    """Words of the fix for what `potential`, commands of LAMMPS, computes."""
    style = next(line.split(" ", 1)[1] for line in potential if line.startswith("pair_style"))
    coeff = " ".join(f'coeff "{line.split(" ", 1)[1]}"' for line in potential if line.startswith("pair_coeff"))
    kspace = " ".join(f'kspace "{line.split(" ", 1)[1]}"' for line in potential if line.startswith("kspace_style"))
    return f"reference pair {style} {coeff} {kspace} end"


def learning_input(name, seed, words):
    """The run of the reference on a potential that is learned; it writes no frames."""
    system = LAMMPS_SYSTEMS[name]
    lines = []
    for line in lammps_input(name, seed).splitlines():
        if line.startswith("pair_style"):
            lines += ["pair_style dptrain precision single", f"pair_coeff * * new {' '.join(system.masses)}",
                      f"fix learn all dptrain {reference(system.potential)} every 10 seed {seed} save 100000 model.dp {words}"]
        elif not re.match(r"pair_coeff|kspace_style|compute pressure|dump|undump|fix energy|unfix energy", line):
            lines.append(line)
    return "\n".join(lines) + "\n"


def row(folder, name, seed, words):
    place = folder / f"{name}-{seed}"
    place.mkdir()
    (place / "in.learn").write_text(learning_input(name, seed, words))
    subprocess.run(["lmp", "-in", "in.learn", "-screen", "none"], cwd=place, check=True, env=potentials_variable())
    log = (place / "log.lammps").read_text()
    runs = re.findall(r"(\d+) steps, (\d+) reference calls", log)
    steps, calls = (sum(int(run[k]) for run in runs) for k in (0, 1))
    training, everything = (sum(map(float, re.findall(rf"{word} ([\d.]+)", "\n".join(re.findall(r"  seconds: .*", log)))))
                            for word in ("training", "all"))
    percent = r"\(([\d.e+-]+) % of the forces\)"
    wanted, held_out, latest = re.findall(rf"accuracy: wanted \S+ {percent}, reached \S+ {percent}.*, \S+ {percent} at the latest", log)[-1]
    expected, found = (force.reshape(FRAMES, -1) for force in tested.forces(place, "model.dp", folder / f"{name}.test.xyz"))
    parts = [f"{tested.percent(expected[part], found[part]):.1f}" for part in (slice(None), slice(CRYSTAL), slice(CRYSTAL, None))]
    return [name, seed, calls, f"{100 * calls / steps:.2f}", f"{everything:.0f}", f"{training:.0f}", wanted, held_out, latest, *parts]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", metavar="NAME", nargs="*")
    parser.add_argument("--words", default="", help="further words of the fix")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2])
    options = parser.parse_args()
    print(f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        for name in options.names or SYSTEMS:
            write_extxyz(folder / f"{name}.test.xyz", lammps_frames(name, TEST_SEED))
            for seed in options.seeds:
                print(f"| {' | '.join(str(cell) for cell in row(folder, name, seed, options.words))} |", flush=True)


if __name__ == "__main__":
    main()
