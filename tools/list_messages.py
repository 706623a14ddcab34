#!/usr/bin/env python3
"""Lists all errors and warnings of the package in doc/src/Errors_dptrain.rst, and those that do not tell what to do.

Usage: tools/list_messages.py [--check]   writes the page; exit status 1 if there is a message without advice.
``--check`` writes nothing: exit status 1 also where the page is not up to date.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.dont_write_bytecode = True

from messages.advice import SPEAKER, has_advice  # noqa: E402
from messages.cpp import Program, words_outside  # noqa: E402
from messages.page import page, with_brackets  # noqa: E402
from messages.python_sources import python_messages  # noqa: E402
from messages.tokens import read_source  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "doc/src/Errors_dptrain.rst"
CPP = ["lib/dptrain", "src/USER-DPTRAIN", "python/bindings"]


def all_messages():
    """(path, kind, text) of all messages in the sources."""
    files = sorted(p for folder in CPP for p in (ROOT / folder).rglob("*") if p.suffix in (".h", ".cpp"))
    found = Program([read_source(p.relative_to(ROOT).as_posix(), p.read_text()) for p in files]).messages()
    for path in sorted((ROOT / "python/dptrain").glob("*.py")):
        found += python_messages(path.relative_to(ROOT).as_posix(), path.read_text())
    return [message for message in found if words_outside(SPEAKER.sub("", message[2]))]


def without_advice(messages):
    return sorted({f"{path}: no advice in: {with_brackets(text)}" for path, _, text in messages if not has_advice(text)})


def main(arguments):
    messages = all_messages()
    faults = without_advice(messages)
    text = page(messages)
    if "--check" not in arguments:
        PAGE.write_text(text)
    elif not PAGE.exists() or PAGE.read_text() != text:
        faults.append(f"{PAGE.relative_to(ROOT)} is not up to date: run tools/list_messages.py")
    print("\n".join(faults) if faults else f"list_messages: {len(messages)} messages, all with advice")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
