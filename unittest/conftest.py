"""Of all pytest files: soaks, of which a part is done each day."""

import os
import random
import time

import pytest


def pytest_addoption(parser):
    parser.addoption("--all", action="store_true", help="soaks in their full length, not the part whose turn it is today")


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


@pytest.fixture(autouse=True)
def environment():
    """What a test sets in the environment (also the command line, which prepares it for lmp) is gone before the next one."""
    before = dict(os.environ)
    yield
    os.environ.clear()
    os.environ.update(before)
