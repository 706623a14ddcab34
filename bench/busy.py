#!/usr/bin/env python
"""Learning silicon on 1 and 2 ranks, alone and beside other busy processes; waiting ranks spin, or sleep.

    python bench/busy.py [--busy 2] [--repeats 3] [--scale 0.1]

Prints wall times (the median of the repeats, all ways in turn) and, beside other processes, the ratio to what is fair: the time
alone, times the share of the cores that is left, (ranks + busy) / cores where that is more than one.
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WAYS = {"spin": {"MPIR_CVAR_CH4_PROGRESS_THROTTLE": "0"}, "default": {}}
for polls in (64, 1024):
    WAYS[f"sleep after {polls}"] = {"MPIR_CVAR_CH4_PROGRESS_THROTTLE": "1", "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT": str(polls),
                                    "MPIR_CVAR_ENABLE_HEAVY_YIELD": "1"}
    WAYS[f"yield after {polls}"] = {**WAYS[f"sleep after {polls}"], "MPIR_CVAR_ENABLE_HEAVY_YIELD": "0"}


def learn(ranks, way, scale):
    """Seconds of a shortened examples/silicon."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(ROOT / "examples/silicon/in.learn", folder)
        environment = {key: value for key, value in os.environ.items() if not key.startswith("MPIR_CVAR")}
        environment.update(WAYS[way], OMP_NUM_THREADS="1")
        program = Path(sys.prefix) / "bin"
        start = time.monotonic()
        subprocess.run([program / "mpiexec", "-n", str(ranks), program / "lmp", "-in", "in.learn", "-log", "none", "-var", "scale", str(scale)],
                       cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)
        return time.monotonic() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--busy", type=int, default=2, help="number of other busy processes")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--scale", type=float, default=0.1, help="length of the run, as examples/silicon takes it")
    parser.add_argument("--ways", nargs="+", default=list(WAYS), choices=list(WAYS))
    options = parser.parse_args()
    cores = len(os.sched_getaffinity(0))
    alone = {}
    for busy in (0, options.busy):
        others = [subprocess.Popen([sys.executable, "-c", "while True: pass"], start_new_session=True) for _ in range(busy)]
        try:
            cases = [(ranks, way) for ranks in (1, 2) for way in (options.ways if ranks > 1 else options.ways[:1])]
            times = {case: [] for case in cases}
            for _ in range(options.repeats):
                for case in cases:
                    times[case].append(learn(*case, options.scale))
        finally:
            for other in others:
                other.kill()
        for (ranks, way), seconds in times.items():
            median = statistics.median(seconds)
            alone.setdefault((ranks, way), median)
            fair = alone[ranks, way] * max(1.0, (ranks + busy) / cores)
            print(f"{busy} others, {ranks} ranks, {way:>16}: {median:6.2f} s ({min(seconds):.2f} to {max(seconds):.2f})"
                  + (f", {median / fair:.2f} of what is fair" if busy else ""), flush=True)


if __name__ == "__main__":
    main()
