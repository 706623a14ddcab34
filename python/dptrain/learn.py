"""``dptrain learn STRUCTURE``: a potential for a structure, learned from any reference in one run of LAMMPS, whose input this command writes.

    dptrain learn POSCAR --reference sevenn:7net-0 --python teacher --temperature 300 600

The folder then has in.learn, which can be kept and changed, the potential, its labels, a picture, and errors on frames that were not learned.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import re
import shutil
import sys
import tempfile
import textwrap
import time
from pathlib import Path

from dptrain.arguments import positive
from dptrain.check_part import CheckError
from dptrain.lammps_run import interrupted_by_signals, run_lammps
from dptrain.launcher import LaunchError, end_program
from dptrain.learn_files import EARLIER_LOG, INPUT, LOG, MODEL, RESTARTS, SETTINGS, TEST_DUMP, TEST_INPUT, TEST_LOG
from dptrain.logs import FileError, read_events, read_text
from dptrain.progress import StatusLine, read_progress

TEST_FRAMES = 20
# of a run: calls, those to explore, seconds of the reference
SUMMARY = re.compile(r"^Fix dptrain learn: \d+ steps, (\d+) reference calls \([^)]*\)(?: and (\d+) to explore)?.*\n  seconds: reference ([\d.e+-]+)", re.MULTILINE)
MISSED = 1.2  # times the error that was wanted
TEST, LABELED, PICTURE = "test.xyz", "test.labels.xyz", "learn.png"


def parser():
    from dptrain import environments

    made = argparse.ArgumentParser(prog="dptrain learn", description=__doc__, allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("structure", metavar="STRUCTURE", help="POSCAR, cif, extended XYZ or another file that ASE reads; its last frame")
    made.add_argument("--reference", nargs="+", required=True, metavar="WORDS",
                      help="what is learned from: a calculator, NAME[:MODEL][,key=value,...], as of dptrain client; commands of LAMMPS, each in "
                           "quotes: pair_style, pair_coeff, pair_modify, kspace_style, kspace_modify; or spool:FOLDER, whose requests somebody answers")
    environments.add_arguments(made)
    made.add_argument("--jobs", type=int, default=1, metavar="K", help="so many calculators side by side (default: 1)")
    made.add_argument("--temperature", nargs="+", type=positive(float), default=[300.0], metavar="K", help="of the run, or at its start and its end "
                      "(default: 300)")
    made.add_argument("--pressure", type=float, metavar="BAR", help="the box follows this pressure (default: the box is fixed)")
    made.add_argument("--size", type=positive(float), default=10.0, metavar="L", help="the structure is repeated until opposite faces of the box are so far "
                      "apart, Angstrom (default: 10)")
    made.add_argument("--time", type=positive(float), default=20.0, metavar="PS", help="length of the run (default: 20)")
    made.add_argument("--timestep", type=positive(float), metavar="FS", help="default: 1, with hydrogen 0.5")
    made.add_argument("--accuracy", default="5%", metavar="A", help="force error that is wanted: a part of the forces (default: 5%%), or eV/Angstrom")
    made.add_argument("--format", metavar="NAME", help="of STRUCTURE, by ASE's name (default: by the name of the file)")
    made.add_argument("-np", type=int, default=1, metavar="N", help="number of MPI ranks (default: 1)")
    made.add_argument("-o", "--output", default="dptrain-learn", type=Path, metavar="FOLDER", help="default: dptrain-learn")
    made.add_argument("--resume", action="store_true", help="go on with the run of the folder, as its in.learn says")
    return made


def make_reference(options, elements):
    from dptrain.check_reference import COMMANDS
    from dptrain.learn_reference import SPOOL, FromCalculator, FromPairStyle, FromSpool

    if options.reference[0].split(" ")[0] in COMMANDS:
        return FromPairStyle(options.reference, elements)
    if len(options.reference) > 1:
        raise CheckError(f"--reference: found '{' '.join(options.reference)}': give one calculator, or commands of LAMMPS, each in quotes")
    if options.reference[0].startswith(SPOOL):
        return FromSpool(options.reference[0])
    return FromCalculator(options.reference[0], options)


def check_folder(folder, resume):
    """Raises CheckError where the folder is neither new nor, to go on with, that of an earlier run of this command."""
    if resume and not (folder / INPUT).exists():
        raise CheckError(f"{folder} has no {INPUT}: give the folder of an earlier run of this command (-o FOLDER), or leave --resume out")
    if not resume and folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise CheckError(f"{folder} has files: name a new folder (-o FOLDER), or go on with its run (--resume)")


def settings_of(options, plan):
    """What a run that goes on has to have in common with the one that began."""
    return {"structure": plan.atoms.get_chemical_formula(), "reference": options.reference, "temperature": options.temperature,
            "pressure": options.pressure, "size": options.size, "time": options.time, "timestep": plan.timestep, "accuracy": options.accuracy}


def check_settings(options, plan):
    """Raises CheckError where the command line is not that of the run that goes on."""
    path = options.output / SETTINGS
    try:
        before = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise CheckError(f"{path} cannot be read ({error}): it is written with {INPUT}; name another folder (-o FOLDER)") from None
    for name, value in settings_of(options, plan).items():
        if before.get(name) != value:
            raise CheckError(f"{options.output} was begun with the {name} {before.get(name)}, and this is {value}: give the same words with --resume, or "
                             "name another folder (-o FOLDER)")


class Learning:
    """The work in a folder, and the line that says how far it is."""

    def __init__(self, options, plan, reference, out):
        self.options, self.plan, self.reference, self.folder = options, plan, reference, options.output
        self.line, self.start, self.clients = StatusLine(out), time.monotonic(), []

    def show(self, text):
        self.line.show(f"{text}  {time.monotonic() - self.start:.0f} s")

    def probe(self):
        """The reference computes the first structure, before LAMMPS asks it."""
        from ase.io import write

        if not self.reference.can_label:
            return
        self.show("reference  computes the structure")
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "structure.xyz"
            write(path, self.plan.atoms, format="extxyz")
            message = self.reference.label(path, Path(folder) / "labels.xyz", lambda: None)
        if message:
            raise CheckError(f"the reference cannot compute the structure of {self.options.structure}: {message}")
        if self.plan.pressure is not None and not self.reference.has_stress:
            raise CheckError(f"--pressure: {self.plan.reference} has no stress: leave --pressure out, and learn in a fixed box")

    def run(self, log, words, stage):
        path = self.folder / log
        message = run_lammps(self.folder, self.options.np, log, words, lambda: self.look(path, stage))
        if message:
            raise CheckError(f"{message}\nSee {path}, the whole log")

    def look(self, path, stage):
        for number, client in enumerate(self.clients, 1):
            if client.poll():
                said = read_text(self.folder / f"client{number}.log").strip().splitlines()
                raise CheckError(f"the reference has ended: {said[-1] if said else 'it said nothing'}; see {self.folder / f'client{number}.log'}")
        progress = read_progress(path, stage)
        if stage == "learning" and self.plan.explores and progress.steps and progress.step >= progress.steps:
            progress.stage, progress.steps = "exploring", 0
        self.show(str(progress))

    def learn(self):
        address = f"unix:dptrain-learn-{os.getpid()}"
        words = ["-in", INPUT, "-var", "address", address]
        if self.options.resume:
            words += self.words_of_resume()
            with contextlib.suppress(FileNotFoundError):
                text = (self.folder / LOG).read_text()
                with open(self.folder / EARLIER_LOG, "a") as log:
                    log.write(text)
        self.clients = self.reference.start(self.folder, address)
        try:
            self.run(LOG, words, "learning")
        finally:
            for client in self.clients:
                end_program(client)
            self.clients = []

    def latest_restart(self):
        """Name of the latest restart file that LAMMPS can read, as a signal may have come while one was written; None: there is none."""
        there = [path for path in (self.folder / name for name in RESTARTS) if path.exists()]
        for path in sorted(there, key=lambda path: path.stat().st_mtime, reverse=True):
            if not run_lammps(self.folder, 1, "none", ["-restart2info", path.name], lambda: None):
                return path.name
        return None

    def words_of_resume(self):
        """Variables of in.learn by which it goes on with what an earlier run has left."""
        restart = self.latest_restart()
        words = ["-var", "restart", restart] if restart else []
        if (self.folder / f"{MODEL}.ckpt").exists():
            words += ["-var", "potential", f"{MODEL}.ckpt"]
        if (self.folder / f"{MODEL}.frames").exists():
            words += ["-var", "words", f"every 10 resume {MODEL}"]
        return words

    def test(self):
        """Errors on frames of another run of the potential, (force rmse, rms force, energy rmse per atom); eV, Angstrom."""
        import numpy as np
        from ase.io import read, write
        from dptrain.ase import Calculator
        from dptrain.learn_input import test_input_of

        (self.folder / TEST_INPUT).write_text(test_input_of(self.plan, TEST_FRAMES))
        self.run(TEST_LOG, ["-in", TEST_INPUT], "testing")
        frames = read(self.folder / TEST_DUMP, ":", format="lammps-dump-text")[-TEST_FRAMES:]
        for frame in frames:
            frame.pbc = self.plan.atoms.pbc
        write(self.folder / TEST, frames, format="extxyz")
        (self.folder / LABELED).unlink(missing_ok=True)
        message = self.reference.label(self.folder / TEST, self.folder / LABELED, lambda: self.show("testing  the reference labels frames"))
        if message:
            raise CheckError(f"the reference has not computed all frames of {self.folder / TEST}: {message}")
        force, energy, forces = [], [], []
        for frame in read(self.folder / LABELED, ":"):
            found = frame.copy()
            found.calc = Calculator(str(self.folder / MODEL))
            force.append(found.get_forces() - frame.get_forces())
            forces.append(frame.get_forces())
            energy.append((found.get_potential_energy() - frame.get_potential_energy()) / len(frame))
        return tuple(float(np.sqrt(np.mean(np.square(values)))) for values in (force, forces, energy))


def make_plan(options):
    """(Plan, reference) of a command line."""
    from dptrain.check_subject import is_solid, read_structure
    from dptrain.learn_input import Plan, enlarged, timestep_of

    if re.fullmatch(r"[\d.]+", options.accuracy) and float(options.accuracy) >= 1.0:
        raise CheckError(f"--accuracy {options.accuracy} is a force error of {options.accuracy} eV/Angstrom: give {options.accuracy}%, or a smaller force")
    structure = read_structure(options.structure, options.format)
    elements = list(dict.fromkeys(structure.get_chemical_symbols()))
    if len(options.temperature) > 2:
        raise CheckError(f"--temperature {' '.join(map(str, options.temperature))}: give one, or that of the start and that of the end")
    if options.pressure is not None and not is_solid(structure):
        raise CheckError("--pressure: the structure is not periodic in all directions, and has no volume: leave --pressure out")
    atoms = enlarged(structure, options.size)
    if len(atoms) < 2:
        raise CheckError(f"{options.structure}: there is one atom, and a potential is learned from forces between atoms: give a structure with two or more, or a crystal")
    reference = make_reference(options, elements)
    explores = is_solid(structure) or not structure.pbc.any()
    plan = Plan(atoms, elements, reference.text, reference.commands, "", (options.temperature[0], options.temperature[-1]), options.pressure,
                options.time, options.timestep or timestep_of(elements), options.accuracy, explores)
    return plan, reference


def speed(folder, log, ranks):
    """How long the reference takes for a label, and the potential for a step."""
    seconds = [(int(calls) + int(explored or 0), float(time)) for calls, explored, time in SUMMARY.findall(log)]
    asked = sum(calls for calls, _ in seconds)
    if not asked:
        return ""
    reference = sum(time for _, time in seconds) / asked
    loop, steps = re.findall(r"^Loop time of (\S+) on .* for (\d+) steps", read_text(folder / TEST_LOG), re.MULTILINE)[-1]
    potential = float(loop) / max(1, int(steps))
    return (f" A step takes the reference {reference:.2g} s, and the potential {potential:.2g} s ({reference / potential:.0f} times faster) on {ranks} "
            f"{'rank' if ranks == 1 else 'ranks'}.")


def counts(folder):
    """Calls of the reference and labels, over all runs in the folder: those of the latest answer."""
    for log in (LOG, EARLIER_LOG):  # a run that goes on may have asked nothing
        with contextlib.suppress(FileError, OSError):
            events = read_events(folder / log)
            return int(events["calls"][-1]), int(events["frames"][-1])
    return 0, 0


def sentences(learning, errors):
    """What happened, how good it is, what to do next."""
    folder, plan, ranks = learning.folder, learning.plan, learning.options.np
    log = "".join(read_text(path) for path in (folder / EARLIER_LOG, folder / LOG) if path.exists())
    calls, labels = counts(folder)
    percent = re.findall(r"accuracy: wanted \S+ \(([\d.e+-]+) % of the forces\)", log)
    wanted = f", where {percent[-1]} % was wanted" if percent else ""
    picture = f"; look at {folder / PICTURE}" if (folder / PICTURE).exists() else ""
    yield (f"In {time.monotonic() - learning.start:.0f} s a potential for {plan.atoms.get_chemical_formula()} was learned in a run of {plan.steps} "
           f"steps: the reference ({plan.reference}) was asked {calls} times, for {labels} labels.{speed(folder, log, ranks) if errors else ''}")
    if errors:
        force, scale, energy = errors
        yield (f"On {TEST_FRAMES} frames of another run of the potential its force error is {100 * force / scale:.2g} % ({force:.3g} of {scale:.3g} "
               f"eV/A){wanted}; its energy error {1e3 * energy:.2g} meV/atom{picture}.")
        if percent and force / scale > MISSED * 0.01 * float(percent[-1]):
            yield (f"This is more than was wanted; the errors at the end of {folder / LOG} are those of configurations next to learned ones. "
                   f"What helps where forces reach far, as among ions: a longer cutoff (rcut in an input.json, in the place of 'new' in {INPUT}, with a term of type charges).")
    else:
        yield f"Errors on held-out configurations are at the end of {folder / LOG}{wanted}{picture}."
    yield (f"Next: dptrain check {folder / MODEL} {learning.options.structure} --picoseconds 5; or run it: pair_style dptrain, pair_coeff * * "
           f"{folder / MODEL} {' '.join(plan.elements)}. More of the same: change {folder / INPUT}.")


def learn(options, out):
    from dptrain.learn_input import write_input
    from dptrain.plot import main as plot

    plan, reference = make_plan(options)
    check_folder(options.output, options.resume)
    if options.resume:
        check_settings(options, plan)
    learning = Learning(options, plan, reference, out)
    try:
        learning.probe()
        plan.words = reference.words
        if not options.resume:
            options.output.mkdir(parents=True, exist_ok=True)
            write_input(plan, options.output)
            (options.output / SETTINGS).write_text(json.dumps(settings_of(options, plan), indent=1) + "\n")
        learning.learn()
        errors = learning.test() if reference.can_label else None
        learning.show("drawing")
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            for log in (LOG, EARLIER_LOG):  # a run that goes on may have asked nothing
                if plot([str(options.output / log), "-o", str(options.output / PICTURE)]) == 0:
                    break
    finally:
        learning.line.clear()
    width = min(100, shutil.get_terminal_size((100, 24)).columns)
    for sentence in sentences(learning, errors):
        out.write(textwrap.fill(sentence, width, break_long_words=False, break_on_hyphens=False) + "\n")


def main(words=None):
    """Entry point of `dptrain learn`. Returns the exit status."""
    options = parser().parse_args(words)
    try:
        import ase  # noqa: F401
    except ImportError as error:
        print(f"dptrain: error: {error}. Install it with {sys.executable} -m pip install ase", file=sys.stderr)
        return 1
    from dptrain.calculators import CalculatorError

    try:
        with interrupted_by_signals():
            learn(options, sys.stdout)
    except KeyboardInterrupt:
        if (options.output / f"{MODEL}.frames").exists():
            advice = f"go on with the same command and --resume, all labels are in {options.output}"
        else:
            advice = f"there is no label yet; remove {options.output}, if it is there, and start again"
        print(f"dptrain learn: ended by a signal: {advice}", file=sys.stderr)
        return 130
    except (CheckError, CalculatorError, LaunchError, FileError, OSError) as error:
        print(f"dptrain: error: {error}", file=sys.stderr)
        return 1
    return 0
