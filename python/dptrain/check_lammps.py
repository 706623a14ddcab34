"""The runs of LAMMPS that ``dptrain check`` makes: their input, their structure, and what they leave."""

from __future__ import annotations

import itertools
import math
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from ase.io import write

from dptrain.lammps_run import run_lammps
from dptrain.launcher import quote_for_lammps
from dptrain.logs import FileError, read_log, read_profile, read_text
from dptrain.progress import read_progress

ROWS = 200  # of thermo output in each run
BINS = 150  # of a radial distribution function
VACUUM = 10.0  # Angstrom, around the atoms in directions that are not periodic
FEMTOSECOND = {"metal": 0.001, "real": 1.0}  # in the units of LAMMPS
WATCHED = "Pair dptrain: watched "
INPUT, DATA, LOG, PROFILE = "in.check", "structure.data", "log.lammps", "rdf.dat"


@dataclass
class Plan:
    """Runs of a structure, one after the other.

    atoms; elements: of the atom types; commands: of the potential; units; ensembles: NPT, NVT, NVE; steps: of each; timestep in fs;
    temperature in K; reach: of the radial distribution function of the first ensemble, Angstrom, or None.
    """

    atoms: object
    elements: list
    commands: list
    units: str
    ensembles: list
    steps: int
    timestep: float
    temperature: float
    reach: float | None

    @property
    def pairs(self):
        """Of elements in the structure, of which there are radial distribution functions."""
        present = set(self.atoms.get_chemical_symbols())
        return list(itertools.combinations_with_replacement([name for name in self.elements if name in present], 2))


def steps_of(picoseconds, timestep):
    """Steps of a run of at least so long, a multiple of ROWS. timestep in fs."""
    return ROWS * math.ceil(1000.0 * picoseconds / timestep / ROWS - 1e-9)


def pressure_words(cell):
    """How fix npt changes a cell: its shape stays if it is a cube, its angles if they are right ones."""
    if np.abs(cell.angles() - 90.0).max() > 0.01:
        return "tri"
    return "iso" if np.ptp(cell.lengths()) < 1e-3 * cell.lengths()[0] else "aniso"


def fix_line(plan, ensemble):
    """The fix that makes an ensemble, at zero pressure."""
    fs = FEMTOSECOND[plan.units]
    bath = f"temp {plan.temperature:g} {plan.temperature:g} {100 * fs:g}"
    return {"NPT": f"fix move all npt {bath} {pressure_words(plan.atoms.cell)} 0 0 {1000 * fs:g}", "NVT": f"fix move all nvt {bath}",
            "NVE": "fix move all nve"}[ensemble]


def rdf_lines(plan):
    """Radial distribution functions, averaged over the second half of a run."""
    pairs = " ".join(f"{plan.elements.index(a) + 1} {plan.elements.index(b) + 1}" for a, b in plan.pairs)
    every = plan.steps // ROWS
    return [f"comm_modify cutoff {plan.reach + 2.5:g}", f"compute rdf all rdf {BINS} {pairs} cutoff {plan.reach:g}",
            f"fix rdf all ave/time {every} {ROWS // 2} {plan.steps} c_rdf[*] mode vector file {PROFILE}"]


def input_of(plan):
    """The text of an input of LAMMPS."""
    lines = [f"units {plan.units}", "atom_style atomic", "boundary " + " ".join("p" if one else "m" for one in plan.atoms.pbc), "box tilt large",
             f"read_data {DATA}", *plan.commands, f"velocity all create {plan.temperature:g} 4711 mom yes rot yes dist gaussian",
             f"timestep {plan.timestep * FEMTOSECOND[plan.units]:g}", "thermo_style custom step temp pe etotal press vol density",
             "thermo_modify flush yes", f"thermo {plan.steps // ROWS}"]
    for number, ensemble in enumerate(plan.ensembles):
        with_rdf = plan.reach is not None and number == 0
        lines += [f'print "stage: {ensemble} ({plan.steps * len(plan.ensembles)} steps in all)"', fix_line(plan, ensemble),
                  *(rdf_lines(plan) if with_rdf else []), f"run {plan.steps}", *(["unfix rdf"] if with_rdf else []), "unfix move"]
    return "\n".join(lines) + "\n"


def write_structure(atoms, elements, path, units):
    """A data file of LAMMPS, with vacuum around the atoms in directions that are not periodic. elements: of the atom types."""
    atoms = atoms.copy()
    for axis in np.flatnonzero(~atoms.pbc):
        atoms.center(vacuum=VACUUM, axis=int(axis))
    write(path, atoms, format="lammps-data", specorder=list(elements), masses=True, units=units, atom_style="atomic")


def write_plan(plan, folder):
    """Input and structure, in a folder; what an earlier run has left there is removed."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in (LOG, PROFILE):
        (folder / name).unlink(missing_ok=True)
    write_structure(plan.atoms, plan.elements, folder / DATA, plan.units)
    (folder / INPUT).write_text(input_of(plan))


def model_commands(path, elements):
    """Of a model file, which is watched."""
    return ["pair_style dptrain watch 100", f"pair_coeff * * {quote_for_lammps(os.path.abspath(path))} {' '.join(elements)}"]


@dataclass
class Outcome:
    """What runs of a Plan have left.

    courses: {ensemble: {"time": ps, "temperature": K, "density": g/cm^3, "energy": total, meV/atom less its mean, ...}} of those that have
    begun, the last one perhaps cut off; watched: the line of the watch of each ensemble that came to its end; profile: {pair: (r, g)};
    message: why LAMMPS stopped, or "".
    """

    courses: dict
    watched: dict
    profile: dict | None
    message: str


def read_outcome(plan, folder, message):
    """The Outcome of what is in the folder."""
    path = Path(folder) / LOG
    text = read_text(path) if path.exists() else ""
    try:
        runs = read_log(path)
    except FileError:
        runs = []
    courses = {ensemble: course_of(run, plan) for ensemble, run in zip(plan.ensembles, runs) if len(run["Step"])}
    watched = [line for line in text.splitlines() if line.startswith(WATCHED)]
    profile = None
    if (folder / PROFILE).exists() and not (message and len(courses) < 2):
        r, *columns = read_profile(folder / PROFILE)
        profile = {"-".join(pair): (r, columns[2 * k]) for k, pair in enumerate(plan.pairs)}
    return Outcome(courses, dict(zip(plan.ensembles, watched)), profile, message)


def course_of(run, plan):
    """Columns of a thermo table as an Outcome has them."""
    energy = 1e3 * run["TotEng"] / len(plan.atoms)
    return {"time": 1e-3 * plan.timestep * run["Step"], "temperature": run["Temp"], "density": run["Density"], "energy": energy - energy.mean()}


def carry_out(plan, folder, ranks, show):
    """The Outcome of a Plan, whose runs are made in a folder."""
    write_plan(plan, folder)
    message = run_lammps(folder, ranks, LOG, ["-in", INPUT], lambda: show(read_progress(folder / LOG)))
    return read_outcome(plan, folder, message)
