"""Kinds of numbers on command lines, for argparse. Nothing but the standard library: commands for other environments use it, too."""

from __future__ import annotations


def positive(kind, finite=True):
    """A function that reads a positive number of this kind, int or float."""
    def read(text):
        value = kind(text)
        if not value > 0 or (finite and value == float("inf")):
            raise ValueError
        return value
    read.__name__ = "positive number"
    return read
