"""Reads what a training writes: learning curves and LAMMPS' log files."""

from __future__ import annotations

from pathlib import Path

import numpy as np


class FileError(Exception):
    """A file that cannot be read as what it should be; the text names the file and says why."""


def read_text(path):
    """Text of a file. Bytes that are no text become question marks, so that a wrong file is told by its contents."""
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise FileError(f"{path}: {error.strerror}") from None


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
        raise FileError(f"{path}: no training step in it yet")
    every = dict.fromkeys(name for row in rows for name in row)
    return {name: np.array([row.get(name, np.nan) for row in rows]) for name in every}


def names_columns(line):
    return line.startswith("#") and "step" in line.split()


def numbers_of(path, number, line, count):
    try:
        row = [float(word) for word in line.split()]
    except ValueError:
        raise FileError(f"{path}:{number}: not a number in: {line}") from None
    if len(row) != count:
        raise FileError(f"{path}:{number}: {len(row)} numbers where {count} columns are named")
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
        raise FileError(f"{path}: not a LAMMPS log with thermo output: no line begins with Step")
    return [dict(zip(names, np.array(rows, dtype=float).reshape(-1, len(names)).T)) for names, rows in runs]
