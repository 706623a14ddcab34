"""The input of LAMMPS that ``dptrain learn`` writes: the structure in a box that is large enough, and a commented script."""

from __future__ import annotations

import math
import textwrap
from dataclasses import dataclass

import numpy as np

from dptrain.check_lammps import pressure_words, write_structure
from dptrain.learn_files import DATA, INPUT, MODEL, RESTARTS, TEST_DUMP

ROWS = 100  # of thermo output
EXPLORE = 500  # steps of each short run at the end


def heights(cell):
    """Distances between opposite faces of a cell, Angstrom; infinite along a vector of length zero."""
    return np.array([abs(cell.volume) / np.linalg.norm(np.cross(cell[k - 2], cell[k - 1])) if cell.rank == 3 else np.inf for k in range(3)])


def enlarged(atoms, size):
    """The atoms repeated along periodic directions until opposite faces are at least `size` Angstrom apart."""
    if atoms.cell.rank < 3:
        return atoms.copy()
    counts = [math.ceil(size / height - 1e-6) if periodic else 1 for height, periodic in zip(heights(atoms.cell), atoms.pbc)]
    return atoms.repeat([max(1, count) for count in counts])


def timestep_of(elements):
    """fs: half of one where there is hydrogen."""
    return 0.5 if "H" in elements else 1.0


@dataclass
class Plan:
    """What in.learn is made of.

    atoms; elements: of the atom types; reference: a comment that says what is learned from; start: lines of a comment, how the reference is
    started by hand; words: of the fix, for its labels; temperatures: at the start and at the end, K; pressure: bar, or None for a fixed
    cell; picoseconds; timestep: fs; accuracy: as the fix takes it; explores: whether short runs in other cells follow.
    """

    atoms: object
    elements: list
    reference: str
    start: list
    words: str
    temperatures: tuple
    pressure: float | None
    picoseconds: float
    timestep: float
    accuracy: str
    explores: bool

    @property
    def steps(self):
        return ROWS * math.ceil(1000.0 * self.picoseconds / self.timestep / ROWS - 1e-9)


def motion(plan):
    """The fixes that move the atoms."""
    begin, end = plan.temperatures
    fs = 1e-3  # ps
    if plan.pressure is None:
        return [f"fix             bath all temp/csvr {begin:g} {end:g} {100 * fs:g} 48271", "fix             move all nve"]
    pressure = f"{pressure_words(plan.atoms.cell)} {plan.pressure:g} {plan.pressure:g} {1000 * fs:g}"
    return [f"fix             move all npt temp {begin:g} {end:g} {100 * fs:g} {pressure}"]


def comment(text):
    return textwrap.fill(text, 110, initial_indent="# ", subsequent_indent="# ", break_long_words=False, break_on_hyphens=False)


def input_of(plan):
    """The text of in.learn."""
    begin, end = plan.temperatures
    heated = f"at {begin:g} K" if begin == end else f"while it goes from {begin:g} to {end:g} K"
    cell = ("in a fixed box" if plan.atoms.pbc.all() else "without a box that could change") if plan.pressure is None else f"at {plan.pressure:g} bar"
    types = " ".join(plan.elements)
    every = max(1, plan.steps // 20)
    lines = [
        comment(f"Learns a potential for {plan.atoms.get_chemical_formula()} from {plan.reference} in a run of {plan.steps * plan.timestep / 1000:g} ps, "
                f"{heated}, {cell}; the potential itself moves the atoms, and the reference is asked where it does not know. Written by "
                f"dptrain learn: change it, and run it again in this folder ({MODEL} is written anew) with"),
        "#", *(f"#     {line}" for line in plan.start), f"#     lmp -in {INPUT}", "",
        f"variable        steps index {plan.steps}        # of {plan.timestep:g} fs",
        f"variable        accuracy index {plan.accuracy}       # force error that is wanted: a part of the forces, or eV/Angstrom",
        f"variable        model index {MODEL}     # what is written",
        "variable        seed index 1            # another one is another run of the same kind",
        "variable        restart index none      # the latest restart file of an interrupted run, with which it goes on,",
        f'variable        potential index new     # its potential ({MODEL}.ckpt),',
        f'variable        words index "every 10"   # and its labels ("every 10 resume {MODEL}")',
        *(["variable        address index unix:learn    # where the calculator listens"] if "${address}" in plan.words else []), "",
        "units           metal", "atom_style      atomic", "boundary        " + " ".join("p" if one else "m" for one in plan.atoms.pbc),
        f'if "${{restart}} == none" then "read_data {DATA}" else "read_restart ${{restart}}"', "",
        "pair_style      dptrain precision single",
        f"pair_coeff      * * ${{potential}} {types}",
        "# the error bars of all atoms are looked at each 10 steps; labels are kept in ${model}.frames",
        f"fix             learn all dptrain {plan.words} accuracy ${{accuracy}} &",
        f"                seed ${{seed}} save 1000 ${{model}}{f' explore {EXPLORE}' if plan.explores else ''} ${{words}}", "",
        f"timestep        {plan.timestep * 1e-3:g}",
        f'if "${{restart}} == none" then "velocity all create {begin:g} $(4711+v_seed) mom yes rot yes dist gaussian"', *motion(plan), "",
        f"thermo          {plan.steps // ROWS}",
        "thermo_style    custom step temp pe press density f_learn[13] f_learn[14] f_learn[1] f_learn[2]",
        "thermo_modify   colname f_learn[13] expected colname f_learn[14] threshold colname f_learn[1] frames colname f_learn[2] calls flush yes",
        f"restart         {every} {RESTARTS[0]} {RESTARTS[1]}",
        'print           "stage: learning (${steps} steps in all)"', "run             ${steps} upto start 0 stop ${steps}"]
    return "\n".join(lines) + "\n"


def write_input(plan, folder):
    """in.learn and its structure, in a folder."""
    write_structure(plan.atoms, plan.elements, folder / DATA, "metal")
    (folder / INPUT).write_text(input_of(plan))


def test_input_of(plan, frames):
    """The text of a run of the potential alone through the same temperatures, with other random numbers, that writes frames."""
    begin, _ = plan.temperatures
    types = " ".join(plan.elements)
    every = max(1, plan.steps // frames)
    return "\n".join([
        comment("The same with the potential alone and other random numbers: frames on which it is tested."), "",
        "units           metal", "atom_style      atomic", "boundary        " + " ".join("p" if one else "m" for one in plan.atoms.pbc),
        f"read_data       {DATA}", "pair_style      dptrain precision single", f"pair_coeff      * * {MODEL} {types}",
        f"timestep        {plan.timestep * 1e-3:g}", f"velocity        all create {begin:g} 91267 mom yes rot yes dist gaussian", *motion(plan),
        f"dump            frames all custom {every} {TEST_DUMP} id element x y z", f"dump_modify     frames sort id first no element {types}",
        f"thermo          {plan.steps // ROWS}", f'print           "stage: testing ({plan.steps} steps in all)"', f"run             {plan.steps}"]) + "\n"
