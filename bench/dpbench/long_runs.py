"""Whether atoms keep apart and energy is conserved in a long run, hotter than what was learned.

    cd bench && python -m dpbench.long_runs MODEL FRAMES[@N] TEMPERATURE [options]     prints a row of a table

Frame N (default: the last) of the file FRAMES, which ASE reads, is repeated 2 x 2 x 1 times and runs at fixed volume:
100 ps at TEMPERATURE (Langevin, 0.1 ps), then 10 ps at constant energy with half of the time step. All pairs are looked
at in every step. The row has the closest pair of each two elements over their smallest learned distance (where the wall
of the model begins), the drift of the energy, the cost, and whether the run holds: it ended, no pair was below 0.8 of
its smallest learned distance, and the energy did not drift by more than 0.1 meV/atom/ps. `lmp` has to be in the path.

Where it is hot and dense, atoms come closer than 0.8 of what was learned with the true forces, too. `--reference FILE`,
the LAMMPS commands of what the model has learned from, makes the same run with that: it tells what is to be expected.
"""

import argparse
import math
import re
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from .pair_scan import pairs_of, smallest_learned

CLOSEST = 0.8  # of the smallest learned distance: what is demanded
DRIFT = 0.1  # meV/atom/ps
BIN = 0.005  # Angstrom, of the histogram of distances
WINDOW = 1000  # steps of a histogram, and between two outputs of the first run
COLUMNS = ["case", "atoms", "T, K", "step, fs", "closest pair over smallest learned distance (by which ps)",
           "constant energy: T, K; scatter, meV/atom; drift, meV/atom/ps", "us/atom/step, processor time", "holds"]

INPUT = """\
units           metal
atom_style      {style}
atom_modify     map yes
read_data       start.data
{potential}
velocity        all create {temperature} {seed} loop geom
compute         distances all rdf {bins} {pairs} cutoff {cutoff}
fix             distances all ave/time 1 {window} {window} c_distances[*] mode vector file distances.txt
thermo          {window}
thermo_style    custom step time temp pe etotal press
thermo_modify   format float %.10g flush yes
fix             nve all nve
timestep        {timestep}
fix             bath all langevin {temperature} {temperature} 0.1 {seed} zero yes
run             {steps}
write_data      end.data nocoeff
unfix           bath
thermo          100
timestep        $({timestep}/2)
run             {nve_steps}
"""


def read_frame(name):
    """The frame that FILE or FILE@N names."""
    from ase.io import read

    path, _, number = name.partition("@")
    return read(path, index=int(number or -1))


def pair_lines(args, elements):
    """The LAMMPS commands of the potential: those of the model, or of the reference."""
    if args.reference:
        return Path(args.reference).read_text().strip()
    wall = f" wall {args.wall}" if args.wall else ""
    return (f"pair_style      dptrain precision single{wall}\n"
            f"pair_coeff      * * {Path(args.model).resolve()} {' '.join(elements)}")


def write_input(folder, potential, frame, args):
    """start.data and in.run in `folder`; the pairs that are looked at, as (name, smallest learned distance, types)."""
    from ase.data import atomic_masses, atomic_numbers
    from ase.io import write

    elements = [e for e in potential.type_map if e in frame.get_chemical_symbols()]
    pairs = [("-".join(p), smallest_learned(potential, p), [elements.index(e) + 1 for e in p])
             for p in pairs_of(potential) if set(p) <= set(elements)]
    if any(begin is None for _, begin, _ in pairs):
        raise SystemExit(f"{args.model} has no walls: its smallest learned distances are not known")
    frame = frame.repeat(args.copies)
    frame.wrap()
    frame.set_masses([atomic_masses[n] for n in frame.numbers])
    charges = {e: float(q) for e, q in (c.split("=") for c in args.charges)}
    if charges:
        frame.set_initial_charges([charges[e] for e in frame.get_chemical_symbols()])
    style = "charge" if charges else "atomic"
    frame.calc = None
    write(folder / "start.data", frame, format="lammps-data", specorder=elements, masses=True, atom_style=style)
    cutoff = min(1.2 * max(begin for _, begin, _ in pairs), potential.rcut)
    (folder / "in.run").write_text(INPUT.format(
        style=style, potential=pair_lines(args, elements), temperature=args.temperature, seed=args.seed,
        bins=math.ceil(cutoff / BIN), cutoff=cutoff, window=WINDOW,
        pairs=" ".join(str(t) for _, _, types in pairs for t in types), timestep=args.timestep,
        steps=round(args.time / args.timestep), nve_steps=round(2 * args.nve_time / args.timestep)))
    return pairs, len(frame)


def closest_pairs(path, count):
    """(distance, step by which it was) of the closest pair of each two elements; (inf, 0) without any."""
    found = [(math.inf, 0)] * count
    step = 0
    for line in path.read_text().splitlines() if path.exists() else []:
        words = line.split()
        if line.startswith("#"):
            continue
        if len(words) == 2:  # the head of a histogram
            step = int(words[0])
        elif len(words) == 2 + 2 * count:  # number, distance, then g(r) and coordination number of each two elements
            below = float(words[1]) - BIN / 2
            for k in range(count):
                if float(words[2 + 2 * k]) > 0.0 and below < found[k][0]:
                    found[k] = below, step
    return found


def thermo_tables(log):
    """Thermo output of each run: columns step, time, temperature, potential energy, total energy, pressure."""
    tables = []
    for line in log.splitlines():
        if line.split()[:2] == ["Step", "Time"]:
            tables.append([])
        elif tables and re.fullmatch(r"\s*\d+(\s+[-+.\deEnaif]+){5}\s*", line):
            tables[-1].append([float(w) for w in line.split()])
    return [np.array(t) for t in tables]


def energy_drift(table, atoms):
    """(drift in meV/atom/ps, rms of what is left around it in meV/atom) of the total energy."""
    time, energy = table[:, 1], 1000.0 * table[:, 4] / atoms
    line = np.polynomial.Polynomial.fit(time, energy, 1)
    return line.convert().coef[1], float(np.std(energy - line(time)))


def when(step, args):
    """Time in ps at a step."""
    return round(min(step * args.timestep, args.time) + max(step * args.timestep - args.time, 0.0) / 2.0, 3)


def row(args, folder):
    """Runs LAMMPS in `folder`; the cells of the row."""
    import dptrain

    potential = dptrain.load(args.model)
    pairs, atoms = write_input(folder, potential, read_frame(args.frames), args)
    command = ["lmp", "-in", "in.run", "-screen", "none", "-log", "log.run"]
    failed = subprocess.run(command, cwd=folder, capture_output=True).returncode
    log = (folder / "log.run").read_text()
    tables = thermo_tables(log)
    ended = not failed and len(tables) == 2 and bool(np.all(np.isfinite(np.concatenate(tables))))

    found = closest_pairs(folder / "distances.txt", len(pairs))
    ratios = [(distance / begin, f"{name} {distance / begin:.3f} of {begin:.2f} A ({when(step, args):g})")
              for (name, begin, _), (distance, step) in zip(pairs, found)]
    drift, scatter = energy_drift(tables[1], atoms) if ended else (math.nan, math.nan)
    temperature = float(np.mean(tables[1][:, 2])) if ended else math.nan
    loop = re.search(r"Loop time of (\S+) on \d+ procs for (\d+) steps.*?([\d.]+)% CPU", log, re.DOTALL)
    speed = 1e6 * float(loop[1]) * float(loop[3]) / 100.0 / int(loop[2]) / atoms if loop else math.nan
    holds = "yes" if ended and min(ratios)[0] >= CLOSEST and abs(drift) <= DRIFT else "NO"
    if not ended:
        step = int(tables[-1][-1, 0]) if tables and len(tables[-1]) else 0
        holds += f", stopped after step {step}: {log.strip().splitlines()[-1].strip()}"
    return [args.name or Path(args.model).stem, str(atoms), f"{args.temperature:g}", f"{1000 * args.timestep:g}",
            "; ".join(text for _, text in ratios), f"{temperature:.0f}; {scatter:.3f}; {drift:+.4f}", f"{speed:.1f}",
            holds]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="file of the potential")
    parser.add_argument("frames", help="file that ASE reads; with @N frame N of it, from 0 or, from the end, -1")
    parser.add_argument("temperature", type=float, help="K")
    parser.add_argument("--name", help="of the case in the table (default: that of the file)")
    parser.add_argument("--copies", type=int, nargs=3, default=[2, 2, 1], help="of the frame (default: 2 2 1)")
    parser.add_argument("--timestep", type=float, default=0.001, help="ps (default: 0.001; with hydrogen take 0.0005)")
    parser.add_argument("--time", type=float, default=100.0, help="ps at the temperature (default: 100)")
    parser.add_argument("--nve-time", type=float, default=10.0, help="ps at constant energy (default: 10)")
    parser.add_argument("--charges", nargs="+", default=[], metavar="El=Q", help="for a potential with a baseline")
    parser.add_argument("--reference", help="file with the pair_style that moves the atoms in place of the model")
    parser.add_argument("--wall", help="keyword `wall` of the pair style: yes, no or a distance")
    parser.add_argument("--seed", type=int, default=1, help="of velocities and thermostat")
    parser.add_argument("--folder", help="where the files of the run stay (default: they are removed)")
    parser.add_argument("--header", action="store_true", help="print the head of the table first")
    return parser.parse_args()


def main():
    args = arguments()
    if args.header:
        print("| " + " | ".join(COLUMNS) + " |\n" + "|---" * len(COLUMNS) + "|")
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(args.folder or scratch)
        folder.mkdir(parents=True, exist_ok=True)
        print("| " + " | ".join(row(args, folder)) + " |", flush=True)


if __name__ == "__main__":
    main()
