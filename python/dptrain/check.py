"""`dptrain check`: whether a potential can be trusted for production, on a structure that the user gives.

The parts are functions of check_statics, check_crystal, check_dynamics and check_data; this file has the command line and their order.
"""

from __future__ import annotations

import argparse
import sys
import time

from dptrain import __version__
from dptrain.arguments import positive
from dptrain.progress import StatusLine

NAMES = ("structure", "dimers", "cells", "elastic", "vacancy", "phonons", "dynamics", "data")  # of the parts, in their order
NEED_CELL = ("cells", "elastic", "vacancy")
DESCRIPTION = """Tells whether a potential can be trusted for production: two atoms alone, squeezed cells, elastic constants, vacancies, phonons and
dynamics of a structure, beside those of a reference if there is one. The report is FOLDER/check.txt and FOLDER/check.html, which
begin with what is wrong."""
EPILOG = """examples
  dptrain check Si.mlearn.dp POSCAR
  dptrain check Si.mlearn.dp POSCAR --reference "pair_style sw" "pair_coeff * * Si.sw Si" --picoseconds 5
  dptrain check model.dp water.xyz --reference dptrain:model=large.dp --data validation --skip elastic vacancy"""


def parser():
    made = argparse.ArgumentParser(prog="dptrain check", description=DESCRIPTION, epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("model", metavar="MODEL", help="model file or checkpoint")
    made.add_argument("structure", metavar="STRUCTURE", help="a crystal, a frame of a liquid or a molecule, in any format that ASE reads")
    made.add_argument("--format", metavar="NAME[:key=value,...]", help="format of STRUCTURE, by ASE's name (default: by the name of the file)")
    made.add_argument("--reference", nargs="+", metavar="WORDS", help="a calculator of ASE, NAME[:key=value,...], or commands of LAMMPS: pair_style, "
                      "pair_coeff, pair_modify, kspace_style, kspace_modify, units (default: metal), each in quotes")
    made.add_argument("--elements", nargs="+", metavar="NAME", help="of the atom types of a reference in LAMMPS (default: as they first appear in "
                      "STRUCTURE)")
    made.add_argument("--data", nargs="+", metavar="DIR", help="data sets that the model is tested on")
    made.add_argument("--temperature", type=positive(float), default=300.0, metavar="K", help="of the dynamics (default: 300)")
    made.add_argument("--atoms", type=positive(int), default=500, metavar="N", help="at least so many atoms in the dynamics (default: 500)")
    made.add_argument("--picoseconds", type=positive(float), default=50.0, metavar="P", help="of each of three runs (default: 50)")
    made.add_argument("--timestep", type=positive(float), metavar="FS", help="of the dynamics (default: 1, with hydrogen 0.5)")
    made.add_argument("-np", type=positive(int), default=1, metavar="N", help="number of MPI ranks of the dynamics and of --data (default: 1)")
    made.add_argument("-o", "--output", default="dptrain-check", metavar="FOLDER", help="of the report and of the runs (default: dptrain-check)")
    made.add_argument("--skip", nargs="+", default=[], choices=NAMES, metavar="PART", help=f"parts to leave out: {', '.join(NAMES)}")
    return made


def functions(show):
    """{name: function of a Subject that makes the part}. show: gets text about how far a part is."""
    from dptrain import check_crystal, check_data, check_dynamics, check_statics

    return {"structure": check_statics.structure, "dimers": check_statics.dimers, "cells": check_statics.cells, "elastic": check_crystal.elastic,
            "vacancy": check_crystal.vacancy, "phonons": check_crystal.phonons,
            "dynamics": lambda subject: check_dynamics.dynamics(subject, show), "data": check_data.data}


def why_left_out(name, subject):
    """Why a part is not made; empty if it is."""
    if name in subject.options.skip:
        return "--skip"
    if name in NEED_CELL and not subject.has_cell:
        return "it needs a cell that is periodic in all directions"
    return "there is no --data" if name == "data" and not subject.options.data else ""


def make_part(name, make, subject):
    """The Part of this name. What goes wrong in it does not end the check."""
    from dptrain.check_part import LeftOut, Part, Severity, reason_of

    reason = why_left_out(name, subject)
    if reason:
        return Part(name, name.capitalize(), left_out=reason)
    try:
        return make(subject)
    except LeftOut as why:
        return Part(name, name.capitalize(), left_out=str(why))
    except Exception as error:  # calculators and optimizers raise what they like
        part = Part(name, name.capitalize())
        part.problem(Severity.UNKNOWN, f"This part could not be done: {reason_of(error)}.")
        return part


def make_parts(subject, out):
    """All parts, with a line that says which one is being made."""
    line = StatusLine(out)
    start, parts, head = time.monotonic(), [], ""
    makers = functions(lambda text: line.show(f"{head}  {text}"))
    try:
        for number, name in enumerate(NAMES, 1):
            head = f"{name}  part {number} of {len(NAMES)}"
            line.show(f"{head}  {time.monotonic() - start:.0f} s")
            parts.append(make_part(name, makers[name], subject))
    finally:
        line.clear()
    return parts


def facts_of(subject):
    """{name: value} of what was checked."""
    periodic = "periodic" if subject.has_cell else f"{subject.structure.pbc.sum() or 'no'} periodic directions"
    facts = {"model": subject.options.model,
             "structure": f"{subject.options.structure}, {subject.structure.get_chemical_formula()}, {periodic}"}
    for side in subject.sides[1:]:
        facts["reference"] = side.text
    return facts


def make_folder(folder):
    """The folder is there, and can be written in: this is known before the work is done."""
    from dptrain.check_part import CheckError

    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "check.txt").write_text("", encoding="utf-8")
    except OSError as error:
        raise CheckError(f"{folder} cannot be written in: {error.strerror}; name another folder: -o FOLDER") from error


def check(options, out):
    """Makes the parts, writes the report, and prints the text."""
    from dptrain import check_report
    from dptrain.check_subject import read_subject

    subject = read_subject(options)
    make_folder(subject.folder)
    title, facts, parts = f"dptrain check {__version__}", facts_of(subject), make_parts(subject, out)
    text = check_report.text_of(title, facts, parts)
    (subject.folder / "check.txt").write_text(text, encoding="utf-8")
    (subject.folder / "check.html").write_text(check_report.html_of(title, facts, parts), encoding="utf-8")
    out.write(f"{text}\nThe report with figures is {subject.folder / 'check.html'}\n")


def require(package, what):
    """An optional package that the check needs."""
    from importlib.util import find_spec

    if find_spec(package) is None:
        raise ImportError(f"{what} is missing: install it with pip install {package}")


def main(words=None):
    """Entry point of `dptrain check`. Returns the exit status."""
    options = parser().parse_args(words)
    try:
        require("ase", "ASE")
        require("matplotlib", "matplotlib")
        from dptrain.check_part import CheckError
        from dptrain.lammps_run import interrupted_by_signals
        from dptrain.launcher import LaunchError

        try:
            with interrupted_by_signals():
                check(options, sys.stdout)
        except (CheckError, LaunchError, OSError) as error:
            print(f"dptrain: error: {error}", file=sys.stderr)
            return 1
    except ImportError as error:
        print(f"dptrain: error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
