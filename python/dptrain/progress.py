"""How far a run of LAMMPS is, read from its log while it is written, and one line on the terminal that says so."""

from __future__ import annotations

import math
import re
import shutil
import time
from dataclasses import dataclass

from dptrain.logs import FileError, read_course, read_events, read_text

STAGE = re.compile(r"^stage: (\w+)(?: \((\d+) steps in all\))?$", re.MULTILINE)


@dataclass
class Progress:
    """What the log of a run says so far.

    stage, steps: of the latest line `stage: NAME (N steps in all)` that the input has printed, or `stage: NAME`; step: of the run.
    labels: that fix dptrain learned; expected: largest force error of an atom that it expects (eV/A), nan where it says nothing.
    """

    stage: str = "starting"
    steps: int = 0
    step: int = 0
    labels: int = 0
    expected: float = math.nan

    @property
    def fraction(self):
        """Part of the steps that are done, 0 to 1."""
        return min(1.0, self.step / self.steps) if self.steps else 0.0

    def __str__(self):
        words = [self.stage]
        if self.steps:
            words.append(f"step {self.step}/{self.steps}")
        if self.labels:
            words.append(f"{self.labels} labels")
        if math.isfinite(self.expected):
            words.append(f"largest error bar {self.expected:.2g} eV/A")
        return "  ".join(words)


def read_progress(path, stage="starting"):
    """The Progress of the run that writes this log; of any run, also one without fix dptrain. stage: until the log names one."""
    found = Progress(stage)
    try:
        stages = STAGE.findall(read_text(path))
    except FileError:
        return found
    if stages:
        found.stage, found.steps = stages[-1][0], int(stages[-1][1] or 0)
    course = read_course(path)
    found.step = last(course.get("step"), 0)
    found.expected = last(course.get("expected"), math.nan) or math.nan  # 0: there is no model yet
    try:
        events = read_events(path)
    except FileError:
        return found
    found.labels = last(events["frames"], 0)
    found.step = max(found.step, last(events["step"], 0))
    return found


def last(values, otherwise):
    """The latest of some values; whole numbers as such."""
    if values is None or len(values) == 0:
        return otherwise
    return int(values[-1]) if values[-1] == round(values[-1]) else float(values[-1])


class StatusLine:
    """One line that is written anew in its place on a terminal; elsewhere a line when its first word changes, and every
    `seconds` seconds."""

    def __init__(self, out, seconds=10.0):
        self.out, self.seconds = out, seconds
        self.in_place = out.isatty()
        self.word, self.since = None, -math.inf

    def show(self, text):
        """The text takes the place of the one before."""
        if self.in_place:
            width = shutil.get_terminal_size().columns - 1
            self.write(f"\r{text[:width]}\033[K")
        elif text.split()[0] != self.word or time.monotonic() - self.since > self.seconds:
            self.word, self.since = text.split()[0], time.monotonic()
            self.write(text + "\n")

    def clear(self):
        """The line is empty, and other text may follow."""
        if self.in_place:
            self.write("\r\033[K")

    def write(self, text):
        self.out.write(text)
        self.out.flush()
