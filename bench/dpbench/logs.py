"""Numbers from what LAMMPS, `dp train` and bench_train print."""

import json
import re
from pathlib import Path

from .errors import BenchError


def lammps_loop(text):
    """us per atom and step of the last run in a LAMMPS output, and how often it built its neighbor lists."""
    loops = re.findall(r"^Loop time of (\S+) on \d+ procs? for (\d+) steps with (\d+) atoms", text, re.M)
    if not loops:
        raise BenchError("bench: no 'Loop time' in the output of LAMMPS:\n" + text[-800:])
    seconds, steps, atoms = loops[-1]
    builds = re.findall(r"^Neighbor list builds = (\d+)", text, re.M)
    if int(steps) == 0:
        raise BenchError("bench: the last run of LAMMPS has no steps")
    return float(seconds) / (int(steps) * int(atoms)) * 1e6, int(builds[-1]) if builds else 0


def lammps_dump(path):
    """{atom id: (fx, fy, fz)} of the last frame of a dump with columns id fx fy fz."""
    block = Path(path).read_text().split("ITEM: ATOMS")[-1].splitlines()
    if block[0].split() != ["id", "fx", "fy", "fz"]:
        raise BenchError(f"bench: {path} has columns {block[0].strip()!r}, expected id fx fy fz")
    rows = (line.split() for line in block[1:])
    return {int(r[0]): (float(r[1]), float(r[2]), float(r[3])) for r in rows if len(r) == 4}


def dp_average_step(text):
    """Seconds per training step as `dp train` prints at its end, validation and the first block left out."""
    found = re.findall(r"average training time: (\S+) s/batch", text)
    if not found:
        raise BenchError("bench: no 'average training time' in the output of dp train:\n" + text[-800:])
    return float(found[-1])


def progress_step(text):
    """Seconds per training step as `dptrain train` prints them, without the first step and the first block."""
    found = [float(rate) for rate in re.findall(r"^step .* (\S+) steps/s", text, re.M)]
    if len(found) < 3:
        raise BenchError("bench: fewer than three lines with steps/s in the output of dptrain train:\n" + text[-800:])
    return sum(1.0 / rate for rate in found[2:]) / len(found[2:])


def learning_curve(text):
    """lcurve.out as {column: values}; columns as in its header, `step` first."""
    columns, rows = None, []
    for line in text.splitlines():
        words = line.split()
        if words[:2] == ["#", "step"]:
            columns = words[1:]
        elif columns and len(words) == len(columns) and not line.lstrip().startswith("#"):
            rows.append([float(w) for w in words])
    if not rows:
        raise BenchError("bench: lcurve.out has no rows")
    return {name: [row[k] for row in rows] for k, name in enumerate(columns)}


def events(text):
    """The lines of bench_train as {event: [objects]}."""
    result = {}
    for line in text.splitlines():
        entry = json.loads(line)
        result.setdefault(entry["event"], []).append(entry)
    if "end" not in result:
        raise BenchError("bench: the output of bench_train is not complete")
    return result


def step_seconds(blocks):
    """Seconds per training step of bench_train: all timed blocks but the first (warm-up), as `dp train` does."""
    timed = blocks[1:] or blocks
    if not timed:
        raise BenchError("bench: bench_train has reported no block: fewer steps than --report-every")
    return sum(b["seconds"] for b in timed) / sum(b["steps"] for b in timed)
