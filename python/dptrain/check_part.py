"""What a part of ``dptrain check`` has found: tables, sentences, figures, and what is wrong, by how severe it is."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum


class CheckError(Exception):
    """The check cannot be made, or a part of it; the text says why and what to do."""


class LeftOut(CheckError):
    """A part has no meaning here; the text says why."""


class Severity(IntEnum):
    """Of what is wrong; the most severe comes first."""

    HOLE = 0  # atoms fall into each other
    STOPPED = 1  # a run of LAMMPS did not come to its end
    UNSTABLE = 2  # the structure is no minimum, or falls apart
    OUTSIDE = 3  # the model knows nothing of what it was asked
    INACCURATE = 4  # numbers that differ from those of the reference, or from what physics demands
    UNKNOWN = 5  # a part that could not be done, or is not to be relied on


@dataclass(frozen=True)
class Problem:
    """Something wrong: one sentence with a number and where."""

    severity: Severity
    text: str


@dataclass
class Table:
    """Rows of words below their head."""

    head: list
    rows: list = field(default_factory=list)


@dataclass
class Part:
    """One part of the report. explanation: what was done. listing: text with lines of its own. figures: (what it shows,
    PNG). left_out: why the part was not made."""

    name: str
    title: str
    explanation: str = ""
    tables: list = field(default_factory=list)
    notes: list = field(default_factory=list)
    listing: str = ""
    problems: list = field(default_factory=list)
    figures: list = field(default_factory=list)
    left_out: str = ""

    def note(self, text):
        self.notes.append(text)

    def problem(self, severity, text):
        self.problems.append(Problem(severity, text))


def reason_of(error):
    """What an exception says, in one line."""
    text = " ".join(str(error).split())
    return text if isinstance(error, CheckError) else f"{type(error).__name__}: {text}".rstrip(": ")


def of_all(part, sides, measure):
    """What `measure` gives for each side. The model comes first, and must have it; a reference that has not is noted, and None."""
    values = [measure(sides[0])]
    for side in sides[1:]:
        try:
            values.append(measure(side))
        except Exception as error:  # calculators raise what they like
            part.note(f"The {side.name} could not do this: {reason_of(error)}.")
            values.append(None)
    return values


def row(label, values, form):
    """A row of a table; a dash where there is no value."""
    return [label, *("-" if value is None else format(value, form) for value in values)]


def compare(part, label, values, form, unit, tolerance):
    """A problem where the value of the model is more than the part `tolerance` of the reference's away from that."""
    if len(values) < 2 or values[0] is None or not values[1]:
        return
    model, reference = values
    off = abs(model / reference - 1.0)
    if not off <= tolerance:  # also where it is no number
        part.problem(Severity.INACCURATE, f"{label} is {model:{form}} {unit}, that of the reference {reference:{form}} {unit}: "
                                          f"{100 * off:.3g} % away.")


def falls(values, nothing):
    """Where a sequence that should rise all the way falls below its largest value so far by more than `nothing`:
    (index of that value, index of the lowest one behind it) of each place."""
    found, top, low = [], 0, None
    for k, value in enumerate(values):
        if value >= values[top]:
            if low is not None:
                found.append((top, low))
            top, low = k, None
        elif values[top] - value > nothing and (low is None or value < values[low]):
            low = k
    return found if low is None else [*found, (top, low)]
