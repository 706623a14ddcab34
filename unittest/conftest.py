"""Of all pytest files: soaks, whose turn a part of them is, and what pytest-xdist must not divide."""

import os
import random
import time

import pytest


def pytest_addoption(parser):
    parser.addoption("--all", action="store_true", help="soaks in their full length, not the part whose turn it is today")


@pytest.hookimpl(hookwrapper=True)
def pytest_collection_modifyitems(items):
    """Tests of one file that share what a fixture has made stay in one process of pytest-xdist (--dist loadgroup), which looks
    at the marks in a hook of its own: a wrapper comes before that."""
    for item in items:
        shared = [name for name, found in item._fixtureinfo.name2fixturedefs.items() if found[-1].scope == "module"]
        if shared:
            indices = item.callspec.indices if hasattr(item, "callspec") else {}
            made = [f"{name}{indices.get(name, '')}" for name in shared]
            item.add_marker(pytest.mark.xdist_group(" ".join([item.path.stem, *sorted(made)])))
    yield


@pytest.fixture
def soak(request):
    """Function: rounds of a soak, rounds of a part of it, seed -> how many rounds to do, and random numbers for them. The whole
    soak with --all; else a part, with other numbers each day. DPTRAIN_DAY=NUMBER does again what was done on a day."""
    def share(whole, part, seed):
        if request.config.getoption("--all"):
            return whole, random.Random(seed)
        day = int(os.environ.get("DPTRAIN_DAY", time.time() // 86400))
        print(f"{part} of {whole} rounds: those of DPTRAIN_DAY={day}")
        return part, random.Random(f"{seed} {day}")
    return share
