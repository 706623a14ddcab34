"""The part of ``dptrain check`` about dynamics: density, structure and energy of runs of LAMMPS, and whether the model knows them."""

from __future__ import annotations

import numpy as np

from dptrain.check_lammps import FEMTOSECOND, Plan, carry_out, model_commands, steps_of
from dptrain.check_part import Part, Severity, Table, compare, row
from dptrain.check_plots import plot_course, plot_rdf
from dptrain.check_subject import repeated

DRIFT = 0.1  # meV/atom/ps, of the energy of NVE
SETTLED = 2.0  # %, of the density in the second half of NPT
APART = 1.5  # times the density at the start, or the inverse of it, of a structure that fell apart
DENSITY = 0.02  # part of the reference's value that the model's may be away
REACH = 6.0  # Angstrom at least, of radial distribution functions
INSIDE = "inside of what was learned"


def timestep_of(subject):
    """fs"""
    return subject.options.timestep or (0.5 if "H" in subject.elements else 1.0)


def plan_of(subject, commands, elements, units, ensembles):
    """The Plan of a side."""
    atoms = repeated(subject.structure, subject.options.atoms) if subject.has_cell else subject.structure
    timestep = timestep_of(subject)
    return Plan(atoms, elements, commands, units, ensembles, steps_of(subject.options.picoseconds, timestep), timestep,
                subject.options.temperature, max(REACH, subject.potential.rcut) if subject.has_cell else None)


def second_half(course, quantity):
    """Mean, and change in percent by a straight line, of a quantity in the second half of a run; None where there is none of it."""
    if course is None or len(course["time"]) < 4:
        return None, None
    half = len(course["time"]) // 2
    time, values = course["time"][half:], course[quantity][half:]
    slope = np.polyfit(time, values, 1)[0]
    return values.mean(), 100.0 * slope * (time[-1] - time[0]) / values.mean()


def drift_of(course):
    """Slope of the total energy, meV/atom/ps."""
    return None if course is None or len(course["time"]) < 4 else np.polyfit(course["time"], course["energy"], 1)[0]


def reference_plan(subject, part, ensembles):
    """The Plan of the reference, or None and a note why there is none."""
    style = subject.sides[1].style
    if style is None:
        part.note("Dynamics of the reference are not made: it is no pair style of LAMMPS.")
    elif style.units not in FEMTOSECOND:
        part.note(f"Dynamics of the reference are not made: its units are {style.units}, and possible are {', '.join(FEMTOSECOND)}.")
    elif not subject.has_cell:
        part.note("Dynamics of the reference are not made: without a cell there is no density to compare.")
    else:
        commands = [line for line in style.lines if not line.startswith("units ")]
        return plan_of(subject, commands, list(style.elements), style.units, ensembles[:1])
    return None


def tell_stop(part, plan, outcome, folder):
    """A problem where LAMMPS stopped with the model."""
    if not outcome.message:
        return
    begun = list(outcome.courses)
    where = f"in {begun[-1]}, after {outcome.courses[begun[-1]]['time'][-1]:.3g} ps" if begun else f"before {plan.ensembles[0]} began"
    part.problem(Severity.STOPPED, f"LAMMPS stopped {where}: {' '.join(outcome.message.split())} (see {folder}).")


def tell_watch(part, outcome, info):
    """What the watch says of each run. info: of the Potential."""
    if not info.get("error_bars"):
        alone = "looks at distances of atoms alone" if info.get("walls") else "has nothing to look at"
        part.note(f"The model has no error bars, and the watch {alone}.")
    for ensemble, line in outcome.watched.items():
        part.note(f"{ensemble}: {line}")
        if INSIDE not in line:
            part.problem(Severity.OUTSIDE, f"In {ensemble} the model left what it has learned: {line.partition(': ')[2]}.")


def tell_density(part, course, density, change):
    """Problems of the density in NPT."""
    start, end = course["density"][0], course["density"][-1]
    if not 1.0 / APART < end / start < APART:
        part.problem(Severity.UNSTABLE, f"The structure does not hold together in NPT: its density went from {start:.4g} to {end:.4g} g/cm^3.")
    elif change is not None and abs(change) > SETTLED:
        part.problem(Severity.UNKNOWN, f"The density has not settled: it changes by {change:+.2g} % in the second half of NPT, around "
                                       f"{density:.4g} g/cm^3; make the run longer (--picoseconds).")


def first_peak(profile, pair):
    """(r, g) of the highest point of a radial distribution function."""
    if profile is None:
        return None, None
    r, g = profile[pair]
    return r[np.argmax(g)], g.max()


def tables_of(subject, part, outcomes, pairs):
    """Density, structure, temperature and energy of the model, beside those of the reference."""
    table = Table(subject.heads)
    courses = [outcome.courses if outcome else {} for outcome in outcomes]
    if subject.has_cell:
        halves = [second_half(course.get("NPT"), "density") for course in courses]
        table.rows += [row("density, second half of NPT (g/cm^3)", [half[0] for half in halves], ".4f"),
                       row("its change in that time (%)", [half[1] for half in halves], "+.2f")]
        if "NPT" in courses[0]:
            tell_density(part, courses[0]["NPT"], *halves[0])
        compare(part, "the density", [half[0] for half in halves], ".4f", "g/cm^3", DENSITY)
        for pair in pairs:
            peaks = [first_peak(outcome and outcome.profile, pair) for outcome in outcomes]
            table.rows += [row(f"highest g(r) of {pair}", [peak[1] for peak in peaks], ".2f"),
                           row(f"at the distance (A), {pair}", [peak[0] for peak in peaks], ".2f")]
    for ensemble in ("NPT", "NVT", "NVE"):
        means = [second_half(course.get(ensemble), "temperature")[0] for course in courses]
        if any(mean is not None for mean in means):
            table.rows.append(row(f"temperature, second half of {ensemble} (K)", means, ".1f"))
    drifts = [drift_of(course.get("NVE")) for course in courses]
    if drifts[0] is not None:
        table.rows.append(row("drift of the energy in NVE (meV/atom/ps)", drifts, "+.4f"))
    if drifts[0] is not None and abs(drifts[0]) > DRIFT:
        part.problem(Severity.INACCURATE, f"In NVE the energy drifts by {drifts[0]:+.3g} meV/atom/ps: take a shorter time step (--timestep).")
    if table.rows:
        part.tables.append(table)


def tell_rdf(part, outcomes, pairs):
    """How far radial distribution functions are apart."""
    profiles = [outcome and outcome.profile for outcome in outcomes]
    if len(profiles) > 1 and all(profiles):
        for pair in pairs:
            (r, g), (_, other) = (profile[pair] for profile in profiles)
            off = np.abs(g - other)
            part.note(f"g(r) of {pair}: the largest difference from the reference is {off.max():.2f}, at {r[np.argmax(off)]:.2f} A.")
    if any(profiles):
        part.figures.append(("Radial distribution functions, second half of NPT", plot_rdf(pairs, profiles)))


def dynamics(subject, show):
    """Runs at constant pressure, volume and energy; show: gets text about how far they are."""
    ensembles = ["NPT", "NVT", "NVE"] if subject.has_cell else ["NVT", "NVE"]
    part = Part("dynamics", "Dynamics")
    plan = plan_of(subject, model_commands(subject.potential.path, subject.elements), subject.elements, "metal", ensembles)
    picoseconds = 1e-3 * plan.steps * plan.timestep
    part.explanation = (f"{len(plan.atoms)} atoms, {', '.join(ensembles)} one after the other, {picoseconds:g} ps each, {plan.temperature:g} K, "
                        f"time step {plan.timestep:g} fs" + (", zero pressure." if subject.has_cell else "."))
    folder = subject.folder / "dynamics" / "model"
    outcomes = [carry_out(plan, folder, subject.options.np, lambda progress: show(f"model  {progress}"))]
    other = reference_plan(subject, part, ensembles) if len(subject.sides) > 1 else None
    if other:
        place = subject.folder / "dynamics" / "reference"
        outcomes.append(carry_out(other, place, subject.options.np, lambda progress: show(f"reference  {progress}")))
        if outcomes[1].message:
            part.note(f"LAMMPS stopped with the reference: {' '.join(outcomes[1].message.split())} (see {place}).")
    outcomes += [None] * (len(subject.sides) - len(outcomes))
    tell_stop(part, plan, outcomes[0], folder)
    tell_watch(part, outcomes[0], subject.potential.info)
    pairs = ["-".join(pair) for pair in plan.pairs]
    tables_of(subject, part, outcomes, pairs)
    tell_rdf(part, outcomes, pairs)
    if outcomes[0].courses:
        part.figures.append(("Course of the runs", plot_course([outcome and outcome.courses for outcome in outcomes])))
    return part
