"""Reads what a training writes: learning curves and LAMMPS' log files."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np


class FileError(Exception):
    """A file that cannot be read as what it should be; the text names the file and says why."""


def read_text(path):
    """Text of a file. Bytes that are no text become question marks, so that a wrong file is told by its contents."""
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror}; check the name and its permissions") from None


def read_lcurve(path):
    """Columns of an lcurve.out by name (``step``, ``rmse_trn``, ``rmse_e_trn``, ..., ``lr``), arrays of equal length.

    A training that was resumed with other terms in its loss has a second line of names; what a row has not is nan. Where it
    went on from an older checkpoint, the rows that were written once more are left out.
    """
    lines = read_text(path).splitlines()
    if not lines or not names_columns(lines[0]):
        raise FileError(f"{path}: not a learning curve: the first line must name the columns (# step ... lr)")
    rows = []
    for number, line in enumerate(lines, 1):
        if names_columns(line):
            names = line.lstrip("#").split()
        elif line.strip() and not line.startswith("#"):
            row = dict(zip(names, numbers_of(path, number, line, len(names))))
            while rows and rows[-1]["step"] >= row["step"]:
                rows.pop()
            rows.append(row)
    if not rows:
        raise FileError(f"{path}: no training step in it yet: wait for the first")
    every = dict.fromkeys(name for row in rows for name in row)
    return {name: np.array([row.get(name, np.nan) for row in rows]) for name in every}


def names_columns(line):
    return line.startswith("#") and "step" in line.split()


def numbers_of(path, number, line, count):
    try:
        row = [float(word) for word in line.split()]
    except ValueError:
        raise FileError(f"{path}:{number}: not a number, and only numbers are allowed, in: {line}") from None
    if len(row) != count:
        raise FileError(f"{path}:{number}: {len(row)} numbers where {count} columns are named: write the file again")
    return row


def read_log(path):
    """The thermo tables of a LAMMPS log file, one dict {column: array} for each run, in the one-line style.

    With ``thermo_style custom step temp pe f_learn f_learn[4]`` the columns of a ``fix learn all dptrain`` are named
    ``f_learn``, ``f_learn[4]``: see the page of fix dptrain for what they are. A run that was cut off ends early.
    """
    runs, names = [], None
    for line in read_text(path).splitlines():
        words = line.split()
        if words[:1] == ["Step"]:
            names, rows = words, []
            runs.append((names, rows))
        elif names and line.startswith("Loop time of"):
            names = None
        elif names and len(words) == len(names):
            try:
                rows.append([float(word) for word in words])
            except ValueError:
                pass  # a warning in between
    if not runs:
        raise FileError(f"{path}: not a LAMMPS log with thermo output: a line must begin with Step")
    return [dict(zip(names, np.array(rows, dtype=float).reshape(-1, len(names)).T)) for names, rows in runs]


EVENT_WORDS = ("why", "learned", "moved_by")  # columns of the events that hold words


def names_events(line):
    """Whether a line of a log names the columns of the events of `mode active`."""
    words = line.split()
    return words[:2] == ["dptrain", "step"] and "why" in words


def read_events(path):
    """The events of ``fix dptrain ... mode active`` in a LAMMPS log, {column: array} by the names in their header line.

    Numbers are float, nan where the log has a dash; ``why``, ``learned`` and ``moved_by`` are text. The events of several
    runs follow each other. A line that was cut off is left out.
    """
    names, rows = None, []
    for line in read_text(path).splitlines():
        words = line.split()
        if names_events(line):
            names = words[1:]
        elif names and words[:1] == ["dptrain"] and len(words) == len(names) + 1:
            rows.append(dict(zip(names, words[1:])))
    if names is None:
        raise FileError(f"{path}: no events of fix dptrain ... mode active: a line must begin with 'dptrain step'")
    if not rows:
        raise FileError(f"{path}: no event of fix dptrain ... mode active in it yet: wait for the first")
    every = dict.fromkeys(name for row in rows for name in row)
    return {name: event_column(path, name, [row.get(name, "-") for row in rows]) for name in every}


def event_column(path, name, words):
    if name in EVENT_WORDS:
        return np.array(words)
    try:
        return np.array([np.nan if word == "-" else float(word) for word in words])
    except ValueError:
        raise FileError(f"{path}: column {name} of the events: not a number, and only numbers are allowed, among "
                        f"{' '.join(words[:5])} ...") from None


def read_profile(path):
    """The latest block of a file of ``fix ave/time`` with ``mode vector``, such as a radial distribution function: its columns
    without the number of the row, array [columns][rows]."""
    rows = [line.split() for line in read_text(path).splitlines() if line.strip() and not line.startswith("#")]
    heads = [k for k, row in enumerate(rows) if len(row) == 2]  # `step rows` begins a block
    block = rows[heads[-1] + 1:] if heads else []
    if not block or rows[heads[-1]][1] != str(len(block)) or len(set(map(len, block))) > 1:
        raise FileError(f"{path}: this is no file of fix ave/time, or it was cut off: write it with mode vector to the end")
    return np.array(block, dtype=float)[:, 1:].T


def read_rewinds(path):
    """Steps at which the run of a LAMMPS log has gone back to a trusted state, array."""
    found = re.findall(r"^Fix dptrain: step (\d+): .*; back to the state of step \d+, rewind \d+ of \d+", read_text(path), re.MULTILINE)
    return np.array([int(step) for step in found], dtype=float)


def read_course(path):
    """What the thermo tables of a log with `mode active` say at each step, {name: array}: ``step``, and those of ``temp``,
    ``expected`` and ``threshold`` (f_ID[13] and f_ID[14] of the fix, under these names too) that all tables have."""
    fix = re.search(r"^\s*fix\s+(\S+)\s+\S+\s+dptrain\s", read_text(path), re.MULTILINE)
    of_fix = f"f_{fix.group(1)}" if fix else ""
    columns = {"step": ["Step"], "temp": ["Temp", "T"], "expected": ["expected", f"{of_fix}[13]"],
               "threshold": ["threshold", f"{of_fix}[14]"]}
    try:
        runs = read_log(path)
    except FileError:
        return {}
    course = {}
    for name, places in columns.items():
        found = [next((run[place] for place in places if place in run), None) for run in runs]
        if all(values is not None for values in found):
            course[name] = np.concatenate(found)
    return course
