"""gpu-check: stages in order, one report."""

import argparse
import json
import math
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
import traceback
from pathlib import Path

from . import agreement, benchmark, lammps, profile, tests
from .process import Clock, end_all
from .report import FAILED, NO_GPU, NOT_RUN, Report, failures, number_tables
from .target import NoTorch, Target

TOTAL = 480.0  # seconds of everything
# in the order in which they run, what says most first: (name, most seconds, what it does, whether it cannot be without a GPU)
STAGES = [("host", 40, tests.host, False), ("device", 60, tests.device, False), ("kernels", 90, tests.kernels, True),
          ("agreement", 90, agreement.stage, True), ("benchmark", 150, benchmark.stage, True),
          ("lammps", 110, lammps.stage, True), ("kokkos", 90, lammps.kokkos, True), ("memcheck", 60, tests.memcheck, True), ("profile", 60, profile.stage, True),
          ("racecheck", 50, tests.racecheck, True), ("library", 150, tests.library, True)]
NAMES = [name for name, *_ in STAGES]
EPILOG = """Stages run in the order above, each within its seconds, all together within those of --limit: the later ones get what is
left, and where only some are named, each gets more. One that fails does not stop the next. Exit status 0 when nothing has failed,
1 when something has, 2 when nothing could be run, 128 + N after signal N. Without a GPU the stages that need one say so, and
nothing has failed. A report that lies in FOLDER already stays: the next one is gpu-report-2."""
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def seconds(text):
    """A time that a limit can be."""
    value = float(text)
    if not (math.isfinite(value) and value > 0.0):
        raise ValueError(text)
    return value


def parser():
    p = argparse.ArgumentParser(prog="gpu-check", formatter_class=argparse.RawDescriptionHelpFormatter, epilog=EPILOG,
                                description="Tests and measures this kit on the GPU of this machine, and writes a report.")
    p.add_argument("stages", nargs="*", metavar="STAGE",
                   help="what to run (default all): " + ", ".join(f"{name} ({seconds} s)" for name, seconds, *_ in STAGES))
    p.add_argument("--out", type=Path, default=Path("gpu-report"), metavar="FOLDER",
                   help="gpu-report.txt and gpu-report.json (default gpu-report)")
    p.add_argument("--python", metavar="PYTHON", help="the interpreter that has torch and pytest (default: the first one found)")
    p.add_argument("--limit", type=seconds, default=TOTAL, metavar="SECONDS", help=f"for everything (default {TOTAL:.0f})")
    return p


def read_kit(folder):
    """What the kit is, from kit.json; exits with a message where there is none."""
    path = folder / "kit.json"
    if not path.is_file():
        print(f"gpu-check: {path} is missing: run the gpu-check that is in an unpacked kit (tools/gpu-kit makes one)", file=sys.stderr)
        sys.exit(2)
    return json.loads(path.read_text())


def leave(number, work, reports):
    """Ends everything at once; the report is there already, and says of the stage that ran why it has not ended."""
    try:
        end_all()
        for report in reports:
            report.interrupt(f"ended by {signal.Signals(number).name}")
        shutil.rmtree(work, ignore_errors=True)
        print(f"gpu-check: ended by {signal.Signals(number).name}", file=sys.stderr, flush=True)
    finally:  # the terminal may be gone
        os._exit(128 + number)


def leave_on_signals(work, reports):
    """In a thread of its own: a signal may come while a program begins. Those that the caller ignores (nohup) stay ignored.
    `reports`: the report, as soon as there is one."""
    for number in SIGNALS:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, lambda caught, _: threading.Thread(target=leave, args=(caught, work, reports)).start())


def run_stage(report, target, clock, name, seconds, work, on_gpu):
    """One stage, whatever happens in it."""
    stage = report.begin(name)
    report.write()
    if on_gpu and not target.can_run_kernels():
        stage.end(NO_GPU)
    elif on_gpu and not target.cuda_works:
        stage.end(NOT_RUN, "nothing of the stage device works")
    elif clock.left() < 5.0:
        stage.end(NOT_RUN, "no time left")
    else:
        try:
            work(stage, target, clock.part(seconds))
        except Exception:  # the next stage has nothing to do with it
            stage.add("gpu-check itself", FAILED, log=traceback.format_exc())
            stage.end(FAILED)
    content = stage.content
    print(f"{name:12s} {content['state']:12s} {content['seconds']:6.1f} s  {content['note']}")
    for line in failures(content, 5):
        print(f"    {line}")
    for line in number_tables([n for n in content["numbers"] if n["what"] != "agreement"]):
        print(line)
    sys.stdout.flush()


def run_stages(report, target, clock, names, stages=None):
    """The named stages; where few of them can run, their seconds grow until they fill the time."""
    chosen = [stage for stage in stages or STAGES if stage[0] in names]
    needed = sum(seconds for _, seconds, _, on_gpu in chosen if target.can_run_kernels() or not on_gpu)
    factor = max(1.0, clock.left() / max(needed, 1.0))
    for name, seconds, work, on_gpu in chosen:
        run_stage(report, target, clock, name, factor * seconds, work, on_gpu)


def main(words):
    args = parser().parse_args(words)
    unknown = [name for name in args.stages if name not in NAMES]
    if unknown:
        print(f"gpu-check: unknown stage {unknown[0]!r}: allowed are {', '.join(NAMES)}", file=sys.stderr)
        return 2
    clock, kit = Clock(args.limit), Path(__file__).resolve().parent.parent
    facts = read_kit(kit)
    work, reports = Path(tempfile.mkdtemp(prefix="gpu-check-")), []
    leave_on_signals(work, reports)
    names = args.stages or NAMES
    try:
        target = Target(kit, facts, work, args.python)
        head = {"date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()), **target.describe(), "limit": args.limit, "asked for": names}
        report = Report(args.out.resolve(), head)
        reports.append(report)
        for warning in head["warnings"]:
            print(f"gpu-check: WARNING: {warning}", flush=True)
        run_stages(report, target, clock, names)
        report.content["seconds"] = round(args.limit - clock.left(), 1)
        report.write()
    except NoTorch as error:
        print(error, file=sys.stderr)
        return 2
    except OSError as error:
        print(f"gpu-check: no report can be written into {args.out} ({error}): give another folder with --out", file=sys.stderr)
        return 2
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return tell_end(report, target, args.limit)


def tell_end(report, target, limit):
    """Prints what has come of it; the exit status."""
    if report.without_time():
        print(f"gpu-check: nothing was run: {limit:g} s are too short, give --limit more", file=sys.stderr)
        return 2
    left = report.incomplete() if target.cuda_works else []
    print(f"gpu-check: {'something has FAILED' if report.failed() else 'nothing has failed'}"
          f"{'' if target.can_run_kernels() else ' (no GPU: what needs one was not run)'}; report: {report.text_file}")
    if left:
        print(f"gpu-check: not everything has been run; to go on: gpu-check {' '.join(left)}")
    return 1 if report.failed() else 0
