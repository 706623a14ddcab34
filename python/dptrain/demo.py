"""A first run that shows something: silicon is learned from nothing during a run of LAMMPS, tested against its reference, and drawn.

    dptrain demo [FOLDER] [-np N]

The inputs are those of examples/silicon. They are copied to FOLDER, unless they are there already: edit them, and run again.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import textwrap
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dptrain import plugin_folder
from dptrain.demo_figure import Findings, plot_demo
from dptrain.dumps import compare, largest_errors
from dptrain.lammps_run import interrupted_by_signals, run_lammps
from dptrain.launcher import LaunchError, cores
from dptrain.logs import FileError, read_course, read_events, read_profile
from dptrain.progress import StatusLine, read_progress

FIRST_GUESS = 2.0  # seconds before the time left is shown


@dataclass(frozen=True)
class Part:
    """One run of LAMMPS: its input and further options, its share of the time of all, and its stage until its log names one."""

    input: str
    share: float
    stage: str
    options: tuple = ()

    @property
    def log(self):
        return ".".join(["log", self.input.partition(".")[2], *self.options[2:3]])


PARTS = (Part("in.learn", 0.53, "starting"), Part("in.reference", 0.07, "testing"), Part("in.compare", 0.03, "testing"),
         Part("in.run", 0.13, "running", ("-var", "potential", "sw", "-var", "rdf", "reference")), Part("in.run", 0.24, "running"))
OUTPUTS = ("silicon.dp", "silicon.dp.ckpt", "silicon.dp.frames", "lcurve.out", "reference.crystal.dump", "reference.melt.dump",
           "predicted.crystal.dump", "predicted.melt.dump", "rdf.learned.dat", "rdf.reference.dat", "demo.png")  # of an earlier run


class DemoError(Exception):
    """A part of the demo failed; the text is what LAMMPS says and where its log is."""


def prepare(folder):
    """Inputs are in the folder, results of an earlier run are not. Another folder that has something in it is refused."""
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()) and not any((folder / part.input).exists() for part in PARTS):
        raise DemoError(f"{folder} has other files: name a new folder, or one of an earlier demo")
    for name in sorted({part.input for part in PARTS}):
        if not (folder / name).exists():
            source = Path(plugin_folder()) / "silicon" / name
            if not source.exists():
                raise DemoError(f"{folder}: {name} is not there, and this installation does not have it: use the folder examples/silicon "
                                "of the sources")
            shutil.copy(source, folder)
    for name in (*OUTPUTS, *(part.log for part in PARTS)):
        (folder / name).unlink(missing_ok=True)


class Demo:
    """The runs of LAMMPS in a folder, on so many ranks, and the line that says how far they are. scale: length of the runs."""

    def __init__(self, folder, ranks, scale, out):
        self.folder, self.ranks, self.scale = folder, ranks, scale
        self.line, self.start, self.done = StatusLine(out), time.monotonic(), 0.0

    @property
    def seconds(self):
        """Since the start."""
        return time.monotonic() - self.start

    def show(self, text, done):
        """The line, with the time that the part of the work that is not done will take."""
        left = self.seconds * (1.0 - done) / done if done > 0 and self.seconds > FIRST_GUESS else None
        self.line.show(text if left is None else f"{text}  {left:.0f} s left")

    def run(self, part):
        """One run of LAMMPS, to its end."""
        path = self.folder / part.log

        def look():
            progress = read_progress(path, part.stage)
            self.show(str(progress), self.done + part.share * progress.fraction)

        message = run_lammps(self.folder, self.ranks, part.log, ["-var", "scale", str(self.scale), *part.options, "-in", part.input], look)
        if message:
            raise DemoError(f"{part.input}: {message}\nSee {path}, the whole log, and try dptrain doctor")
        self.done += part.share


def findings(folder):
    """What the files of the runs say."""
    course = read_course(folder / "log.learn")
    dumps = {part: (folder / f"reference.{part}.dump", folder / f"predicted.{part}.dump") for part in ("crystal", "melt")}
    return Findings(read_events(folder / "log.learn"), course,
                    {part: compare(*paths) for part, paths in dumps.items()},
                    {part: largest_errors(*paths) for part, paths in dumps.items()},
                    read_profile(folder / "rdf.learned.dat"), read_profile(folder / "rdf.reference.dat"))


def sentences(found, folder, seconds):
    """Three sentences: what happened, how good it is, what to do next."""
    steps, calls, labels = found.course["step"][-1], found.events["calls"][-1], found.events["frames"][-1]
    crystal, melt = (found.tests[part] for part in ("crystal", "melt"))
    percent = [100 * test.force_rmse / test.force_rms for test in (crystal, melt)]
    rdf = np.abs(found.rdf_learned[1] - found.rdf_reference[1]).max()
    yield (f"In {seconds:.0f} s, tests included, a potential for silicon was learned from nothing, during a run of {steps:.0f} steps in "
           "which a crystal melts: "
           f"the potential itself moved the atoms, and the reference (Stillinger-Weber) was asked {calls:.0f} times, "
           f"in {100 * calls / steps:.2f} % of the steps, for {labels:.0f} labels.")
    yield (f"On trajectories of the reference that it has never seen its force error is {percent[0]:.1f} % in the crystal and "
           f"{percent[1]:.1f} % in the melt ({crystal.force_rmse:.3f} and {melt.force_rmse:.3f} eV/A), its energy error "
           f"{1e3 * crystal.energy_rmse:.1f} and {1e3 * melt.energy_rmse:.1f} meV/atom, the largest force error of a frame "
           f"{found.over_expected:.1f} times the one it expects (rms), and g(r) of the melt differs by at most {rdf:.2f}; "
           f"look at {folder / 'demo.png'}.")
    yield ("Next, do it step by step (manual, Tutorial_silicon), take your own material in place of silicon in "
           f"{folder / 'in.learn'}, or run the potential: pair_style dptrain, pair_coeff * * {folder / 'silicon.dp'} Si.")


def run_demo(folder, ranks, scale, out):
    """All runs, the picture, and the three sentences."""
    prepare(folder)
    demo = Demo(folder, ranks, scale, out)
    try:
        for part in PARTS:
            demo.run(part)
        demo.show("drawing", demo.done)
        found = findings(folder)
        plot_demo(found, folder / "demo.png")
    finally:
        demo.line.clear()
    width = min(100, shutil.get_terminal_size((100, 24)).columns)
    for sentence in sentences(found, folder, demo.seconds):
        out.write(textwrap.fill(sentence, width, break_long_words=False, break_on_hyphens=False) + "\n")


def main(arguments=None):
    """Command line. Returns the exit status."""
    parser = argparse.ArgumentParser(prog="dptrain demo", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", default="dptrain-demo", type=Path, metavar="FOLDER", help="default: dptrain-demo")
    parser.add_argument("-np", type=int, default=min(2, cores()), metavar="N", help="number of MPI ranks (default: 2, or 1 on one core)")
    parser.add_argument("--scale", type=float, default=1.0, metavar="S", help="length of the runs (default: 1)")
    options = parser.parse_args(arguments)
    if options.np < 1 or not 0 < options.scale < np.inf:
        parser.error("N is at least 1, and S above 0")
    try:
        with interrupted_by_signals():
            run_demo(options.folder, options.np, options.scale, sys.stdout)
    except (DemoError, LaunchError, FileError, OSError) as error:
        print(f"dptrain: error: {error}".rstrip(), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
