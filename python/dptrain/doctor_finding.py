"""What a check of `dptrain doctor` says."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Finding:
    """level: ok, warning, or error, with which LAMMPS and this package do not work; what: the subject, one or two words; found: one line;
    advice: what to do."""

    level: str
    what: str
    found: str
    advice: str = ""


def ok(what, found):
    """A finding that needs no attention."""
    return Finding("ok", what, found)


def warning(what, found, advice):
    """It works, but not as well as it could, or not in all cases."""
    return Finding("warning", what, found, advice)


def error(what, found, advice):
    """It does not work."""
    return Finding("error", what, found, advice)
