"""Of all pytest files: the three sorts of tests (CONTRIBUTING.md), and what a test leaves in the environment.

core: no mark. story(kind) and soak(kind): of each kind, one that the commit's hash chooses (choice.py); all with --all, with -k,
and where a test is named on the command line (FILE::TEST)."""

import os
import random
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from choice import number, pick  # noqa: E402


def pytest_addoption(parser):
    parser.addoption("--all", action="store_true", help="all stories and soaks, not one of each kind")


def pytest_configure(config):
    for sort in ("story(kind): a long way through the program that a user goes", "soak(kind): faults at random moments, many times"):
        config.addinivalue_line("markers", f"{sort}; of each kind, one is done, chosen by the commit's hash")
    if config.getoption("--all"):
        os.environ["DPTRAIN_PICK"] = "all"
    os.environ["DPTRAIN_PICK"] = pick()  # the processes of pytest-xdist choose the same


def pytest_report_header(config):
    return f"stories and soaks: DPTRAIN_PICK={os.environ['DPTRAIN_PICK']}"


def pytest_collection_modifyitems(config, items):
    named = config.getoption("keyword") or any("::" in str(word) for word in config.args)
    if named or os.environ["DPTRAIN_PICK"] == "all":
        return
    kinds = {}
    for item in items:
        mark = item.get_closest_marker("story") or item.get_closest_marker("soak")
        if mark:
            kinds.setdefault(f"{mark.name} {mark.args[0]}", []).append(item)
    # by name: of the same tests the same one, in whatever order they were found
    stay = {sorted(found, key=lambda item: item.nodeid)[number(kind, len(found))].nodeid for kind, found in kinds.items()}
    left_out = [item for found in kinds.values() for item in found if item.nodeid not in stay]
    config.hook.pytest_deselected(items=left_out)
    gone = {item.nodeid for item in left_out}
    items[:] = [item for item in items if item.nodeid not in gone]


@pytest.fixture
def soak():
    """Function: rounds of a soak, rounds of a part of it, seed -> how many rounds to do, and random numbers for them. The whole
    soak with --all; else a part, with numbers of the commit's hash."""
    def share(whole, part, seed):
        if os.environ["DPTRAIN_PICK"] == "all":
            return whole, random.Random(seed)
        print(f"{part} of {whole} rounds: those of DPTRAIN_PICK={os.environ['DPTRAIN_PICK']}")
        return part, random.Random(f"{seed} {os.environ['DPTRAIN_PICK']}")
    return share


@pytest.fixture(autouse=True)
def environment():
    """What a test sets in the environment (also the command line, which prepares it for lmp) is gone before the next one."""
    before = dict(os.environ)
    yield
    os.environ.clear()
    os.environ.update(before)
