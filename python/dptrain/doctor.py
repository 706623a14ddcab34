"""`dptrain doctor`: what is installed, whether it works together, how fast it is, and what to do about what is wrong.

The checks are functions that yield findings (doctor_checks, doctor_runs, doctor_benchmark); this file prints them.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import platform
import tempfile
import time

from dptrain import __version__, doctor_benchmark, doctor_checks, doctor_runs
from dptrain.doctor_finding import error

DESCRIPTION = """Tells whether LAMMPS with this package works here: versions, the plugin, MPI, processors, memory, disk, and in about ten
seconds whether MD and training are as fast as they should be. A line for each finding; those that are no 'ok' say what to do. Put the
whole output into a report of a problem."""
MARGIN = " " * 25


def lines_of(finding):
    """The lines that are printed for a finding: level, subject, what was found; what to do below it."""
    yield f"{finding.level:8} {finding.what:15} {finding.found}".rstrip()
    if finding.advice:
        yield f"{MARGIN}-> {finding.advice}"


def header():
    """What the report is about: version, time, system, processor."""
    return {"dptrain": __version__, "time": time.strftime("%Y-%m-%d %H:%M:%S %z"), "system": f"{platform.system()} {platform.release()}",
            "processor": doctor_checks.processor()}


def findings_of(benchmark):
    """All findings, one after the other. Nothing of what is run stays on the disk."""
    for check in doctor_checks.CHECKS:
        yield from check()
    try:
        folder = tempfile.TemporaryDirectory(prefix="dptrain-doctor-")
    except OSError as problem:
        yield error("temporary files", str(problem), "set TMPDIR to a folder that can be written")
        return
    with folder:
        lab = doctor_runs.Lab(folder.name)
        yield from doctor_runs.check_runs(lab)
        if benchmark and lab.works:
            yield from doctor_benchmark.check_speed(lab)


def summary(findings):
    """The last line."""
    errors, warnings = (sum(f.level == level for f in findings) for level in ("error", "warning"))
    counts = [f"{number} {name}{'s' * (number > 1)}" for number, name in ((errors, "error"), (warnings, "warning")) if number]
    if errors:
        return f"LAMMPS with this package does not work here yet: {', '.join(counts)}; see the lines with ->"
    return "LAMMPS with this package works here" + (f": {counts[0]}, see the lines with ->" if counts else ", and nothing is wrong")


def main(arguments=None):
    """Command line. Returns the exit status: 1 where there is an error among the findings."""
    parser = argparse.ArgumentParser(prog="dptrain doctor", description=DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--no-benchmark", action="store_true", help="do not measure how fast it is")
    parser.add_argument("--json", action="store_true", help="all findings as one JSON object")
    options = parser.parse_args(arguments)
    about, found = header(), []
    if not options.json:
        print(f"dptrain doctor {about['dptrain']}, {about['time']}, {about['system']}, {about['processor']}")
    for finding in findings_of(not options.no_benchmark):
        found.append(finding)
        if not options.json:
            print("\n".join(lines_of(finding)), flush=True)
    works = all(finding.level != "error" for finding in found)
    if options.json:
        print(json.dumps({**about, "works": works, "findings": [dataclasses.asdict(finding) for finding in found]}, indent=2))
    else:
        print(summary(found))
    return 0 if works else 1
