"""``dptrain label``: a calculator of ASE (https://ase-lib.org) answers the requests of ``fix dptrain reference spool``, or labels the frames of
a file.

Any number of these processes may work on one spool, on any machines: each claims a request before it computes it.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import multiprocessing
import os
import signal
import sys
import time
from pathlib import Path

import numpy as np

from dptrain import environments
from dptrain.arguments import positive
from dptrain.calculators import NAMED, CalculatorError, label, make_calculator, parse_calculator
from dptrain.label_file import FileProblem, label_file
from dptrain.spool import ANSWER, FAILURE, REQUEST, Claim, Spool, SpoolError, is_settled, write

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
SHORTEST_PAUSE, LONGEST_PAUSE, PAUSE_GROWTH = 0.05, 2.0, 0.1  # seconds between two looks; part of the idle time
FORGET, FORGET_PER_LOOK = 30.0, 100.0  # seconds after which all requests are looked at again; times that this takes
ATTEMPTS = 3  # processes that may die over a request
FAILURES = 3  # calculations that may fail before the first success


class Ended(BaseException):
    """A signal has come: whatever goes on ends now. Not an Exception, which calculators catch."""


class Signals:
    """Makes the first signal an Ended, at once, or behind what must not be left half; further ones come too late to matter."""

    def __init__(self):
        self.received, self.waits = 0, False
        for number in SIGNALS:
            signal.signal(number, self.handle)

    def handle(self, number, frame):
        for other in SIGNALS:
            signal.signal(other, signal.SIG_IGN)
        self.received = number
        if not self.waits:
            raise Ended

    @contextlib.contextmanager
    def later(self):
        """A signal waits for the end of this block."""
        self.waits = True
        try:
            yield
        finally:
            self.waits = False
        self.check()

    @contextlib.contextmanager
    def now(self):
        """Within such a block: not here."""
        self.waits = False
        self.check()
        try:
            yield
        finally:
            self.waits = True

    def check(self):
        """For the case that a calculator has caught it."""
        if self.received:
            raise Ended


def say(text):
    sys.stdout.write(f"dptrain label: {text}\n")  # at once: several processes have one output
    sys.stdout.flush()


def answer_text(request, energy, forces, stress):
    """The request with the label added: all digits, extended XYZ as ASE reads it. stress: [3][3] eV/Angstrom^3, or None."""
    count, comment, *lines = request.rstrip("\n").split("\n")
    comment = comment.replace(":pos:R:3", ":pos:R:3:forces:R:3") + f" energy={float(energy)!r}"
    if stress is not None:
        comment += f' stress="{numbers(stress)}"'
    return "\n".join([count, comment, *(f"{line} {numbers(force)}" for line, force in zip(lines, forces))]) + "\n"


def numbers(values):
    return " ".join(repr(float(value)) for value in np.ravel(values))


class Worker:
    """Computes one request after the other."""

    def __init__(self, options, signals, number=None):
        """number: of this process, where there are several."""
        self.spool, self.options, self.signals = Spool(options.folder), options, signals
        self.calculator = make_calculator(options.calculator)
        self.own_folders = hasattr(self.calculator, "directory") and "directory" not in parse_calculator(options.calculator)[1]
        if hasattr(self.calculator, "directory") and not self.own_folders and number is not None:
            self.move_to(Path(self.calculator.directory) / f"worker-{number}")  # else they overwrite each other's files
        self.stress = not options.no_stress and "stress" in getattr(self.calculator, "implemented_properties", ["stress"])
        self.reported_stress = False
        self.labels, self.failures = 0, 0
        self.settled, self.forget = set(), 0.0  # requests that need no look, until then: users may remove what they do not like

    def move_to(self, folder):
        """The files of the code go to `folder`. Some calculators keep a Path (ASE's GenericFileIOCalculator: Espresso, Abinit,
        Aims, ...), others make or need a str."""
        before = self.calculator.directory
        self.calculator.directory = Path(folder) if isinstance(before, os.PathLike) else str(folder)

    def work(self):
        """Until there is nothing to do, or without end."""
        idle_since = time.monotonic()
        while True:
            if self.spool.exists() and self.look():
                idle_since = time.monotonic()
            elif not self.options.watch:
                return
            self.signals.check()
            parent = multiprocessing.parent_process()
            if parent and not parent.is_alive():
                return
            time.sleep(min(max(PAUSE_GROWTH * (time.monotonic() - idle_since), SHORTEST_PAUSE), LONGEST_PAUSE))

    def look(self):
        """One pass over the requests; returns whether any was computed."""
        before, start = self.labels + self.failures, time.monotonic()
        fresh = start >= self.forget
        names = self.spool.names()
        self.settled = set() if fresh else self.settled.intersection(names)
        for name in names:
            if name in self.settled:
                continue
            files = self.spool.files(name)
            if is_settled(files):
                self.settled.add(name)
            elif REQUEST in files:
                self.answer(name)
                self.signals.check()
        computed = self.labels + self.failures > before
        if fresh:
            now = time.monotonic()
            self.forget = now + (FORGET if computed else max(FORGET, FORGET_PER_LOOK * (now - start)))
        return computed

    def answer(self, name):
        """Computes a request, unless somebody else does."""
        folder = self.spool.path / name
        claim = Claim(folder, self.options.retake)
        with self.signals.later():
            try:
                attempt = claim.take()
                if attempt and not is_settled(self.spool.files(name)):
                    self.compute(name, folder, attempt)
            except FileNotFoundError:
                say(f"{name}: the request was taken back")
            except OSError as error:
                raise SpoolError(f"{folder} cannot be worked in: {error.strerror or error}; check its permissions and the disk") from error
            finally:
                claim.release()

    def compute(self, name, folder, attempt):
        """Writes the answer, or why there is none. OSError is about the files of the request."""
        request = (folder / REQUEST).read_text()
        start = time.monotonic()
        try:
            if attempt > ATTEMPTS:
                raise RuntimeError(f"{ATTEMPTS} processes have died over it; mend the calculator, and use --again")
            with self.signals.now():
                energy, forces, stress = self.calculate(folder, request)
        except Exception as error:  # calculators raise what they like
            why = f"{type(error).__name__}: {error}"
            write(folder / FAILURE, why + "\n")
            self.failures += 1
            say(f"{name}: failed: {why}, {time.monotonic() - start:.2f} s")
            if self.failures == FAILURES and not self.labels:
                raise SpoolError(f"the first {FAILURES} calculations have failed: mend what is wrong with the calculator, and use "
                                 "--again") from error
            return
        if ANSWER not in self.spool.files(name):  # somebody was quicker
            write(folder / ANSWER, answer_text(request, energy, forces, stress))
        self.labels += 1
        say(f"{name}: {energy:.6f} eV, {time.monotonic() - start:.2f} s")

    def calculate(self, folder, request):
        """Energy, forces, and stress where there is one. Files of the code are in the folder of the request."""
        from ase.io import read

        atoms = read(io.StringIO(request), format="extxyz")
        if self.own_folders:
            self.move_to(folder)
        atoms.calc = self.calculator
        periodic = any(atoms.pbc)
        if periodic and not self.stress and not self.reported_stress:
            say("no stress is computed: give the spool of the fix 'virial no'")
            self.reported_stress = True
        energy, forces, virial = label(atoms, periodic and self.stress)
        if not (np.isfinite(energy) and np.isfinite(forces).all() and np.isfinite(virial).all()):
            raise ArithmeticError("energy, forces or stress are not finite: check the configuration and the calculator")
        return energy, forces, -virial / atoms.get_volume() if periodic and self.stress else None


def run_worker(options, number=None):
    """Exit status of one worker, the number-th of several."""
    signals, worker, status = Signals(), None, 0
    try:
        try:
            import ase  # noqa: F401
        except ImportError as error:
            raise SpoolError(f"ASE is missing: install it with pip install ase ({error})") from error
        worker = Worker(options, signals, number)
        worker.work()
    except (SpoolError, CalculatorError) as error:
        print(f"dptrain label: error: {error}", file=sys.stderr)
        status = 1
    except Ended:
        status = 128 + signals.received
    if worker:
        end = f"ended by {signal.Signals(signals.received).name}" if signals.received else "the end"
        say(f"{end} after {worker.labels} labels, {worker.failures} failed")
    return status


def run_workers(options):
    """Exit status of several workers, each in a process of its own: the largest of theirs."""
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=lambda k=k: sys.exit(run_worker(options, k))) for k in range(options.jobs)]
    received = []

    def handle(number, frame):
        received.append(number)
        for worker in workers:
            if worker.is_alive():
                worker.terminate()

    for worker in workers:
        worker.start()
    for number in SIGNALS:
        signal.signal(number, handle)
    while any(worker.is_alive() for worker in workers):
        time.sleep(SHORTEST_PAUSE)  # not join(): a signal that comes just before the system call would be handled after it
    for worker in workers:
        if worker.exitcode < 0:
            print(f"dptrain label: error: process {worker.pid} was killed by {signal.Signals(-worker.exitcode).name}: "
                  "start it again", file=sys.stderr)
    if received:
        return 128 + received[0]
    return max(1 if worker.exitcode < 0 else worker.exitcode for worker in workers)


def parser():
    made = argparse.ArgumentParser(
        prog="dptrain label", allow_abbrev=False,
        description="Answers the requests of fix dptrain reference spool with a calculator of ASE, or labels the frames of a file.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="examples\n  dptrain label spool --calculator tblite:method=GFN1-xTB --watch\n"
               "  dptrain label spool --calculator ase.calculators.lj.LennardJones:sigma=3.4,epsilon=0.01,rc=8.5 --jobs 4\n"
               "  dptrain label frames.xyz -o labels.xyz --python teacher --calculator sevenn:7net-0")
    made.add_argument("folder", metavar="DIR|FILE", help="folder of 'reference spool', or a file of frames in any format that ASE reads")
    made.add_argument("-o", "--output", metavar="OUT.xyz", help="with FILE: its frames with energy, forces and stress, extended XYZ")
    made.add_argument("--format", metavar="NAME", help="of FILE, as ASE names it (default: by the name of the file)")
    made.add_argument("--calculator", required=True, metavar="NAME[:key=value,...]",
                      help=f"a name of ASE's, {', '.join(NAMED)} (also NAME:MODEL), or MODULE.CLASS; with its arguments")
    environments.add_arguments(made)
    made.add_argument("--watch", action="store_true", help="wait for further requests until a signal comes (Ctrl-C, TERM)")
    made.add_argument("--jobs", type=positive(int), metavar="K", default=1, help="work in K processes (default 1)")
    made.add_argument("--again", action="store_true",
                      help="also what has failed before, and what has an answer that the fix could not use")
    made.add_argument("--no-stress", action="store_true", help="do not compute the stress (the fix then needs 'virial no')")
    made.add_argument("--retake", type=positive(float, finite=False), metavar="SECONDS",
                      help="compute what a process of another machine has begun so long ago and not answered (default: never)")
    return made


def label_frames(options):
    """Exit status: 1 where a frame has failed."""
    if not options.output:
        raise FileProblem(f"{options.folder} is a file: give the file for its labels, -o labels.xyz")
    if options.watch or options.again or options.jobs != 1 or options.retake:
        raise FileProblem(f"{options.folder} is a file: leave --watch, --again, --jobs and --retake out, which are for the folder of 'reference spool'")
    signals = Signals()
    try:
        calculator = make_calculator(options.calculator)
        stress = not options.no_stress and "stress" in getattr(calculator, "implemented_properties", ["stress"])
        if not stress and not options.no_stress:
            say("no stress is computed: this calculator has none")
        labels, failed = label_file(options.folder, options.output, calculator, options.calculator, stress, say, options.format)
    except Ended:
        there = f"the labels that are there are in {options.output}, and " if Path(options.output).exists() else ""
        say(f"ended by a signal; {there}the same command goes on")
        return 128 + signals.received
    say(f"the end: {labels} labels in {options.output}, {failed} failed")
    return 1 if failed else 0


def work(options):
    """Exit status."""
    parse_calculator(options.calculator)
    if Path(options.folder).is_file():
        return label_frames(options)
    if options.output or options.format:
        raise FileProblem(f"there is no file {options.folder}: give one, or leave -o and --format out, which are for its frames")
    spool = Spool(options.folder)
    if not spool.exists():
        if not options.watch:
            raise SpoolError(f"there is no spool {spool.path}: fix dptrain makes it; --watch waits for it")
        say(f"waiting for {spool.path}")
    elif options.again:
        say(f"{spool.open_again()} requests are open again")
    return run_worker(options) if options.jobs == 1 else run_workers(options)


def main(words):
    """Entry point of `dptrain label`. Returns the exit status."""
    try:
        environments.enter("label", words)
        return work(parser().parse_args(words))
    except (SpoolError, FileProblem, CalculatorError, environments.PythonError) as error:
        print(f"dptrain label: error: {error}", file=sys.stderr)
        return 1
    except SystemExit as end:
        return end.code
