#!/usr/bin/env python3
"""How far `precision single` and `mixed` are from `double`, and how fast each is, for one trained model of water.

Usage: bench/precision_table.py MODEL.dp [SYSTEM] [--frames N] [--lmp LMP] [--no-speed]

SYSTEM is a deepmd npy system with an orthogonal cell (default: data_3 of the folder water that bench/README.md names). For
its first N frames energy, forces and virial are computed in each precision; then MD of the first frame, repeated twice along
each axis, is timed on one rank with one thread, three times in turn: the shortest processor time counts, which other work on
the machine changes least. Prints a Markdown table. `lmp` is looked for on the PATH; where its plugin is not installed,
LAMMPS_PLUGIN_PATH names it.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))
from dpbench.errors import BenchError  # noqa: E402
from dpbench.inference import INPUT, REBUILD, WARM_UP  # noqa: E402
from dpbench.logs import lammps_dump, lammps_loop  # noqa: E402
from dpbench.report import markdown  # noqa: E402
from dpbench.settings import default_data  # noqa: E402
from dpbench.water import read_frame, write_data  # noqa: E402

PRECISIONS = ("double", "single", "mixed")
BAR_ANGSTROM3 = 1.0 / 1.6021765e6  # eV, as LAMMPS has it in units metal
COPIES = (2, 2, 2)
STEPS, TURNS = 40, 3
MARK = "FRAME"

FRAME = """clear
units metal
atom_style atomic
boundary p p p
read_data {data}
pair_style dptrain precision {precision}
pair_coeff * * {model} {elements}
compute w all pressure NULL virial
thermo_style custom step pe c_w[*]
run 0
write_dump all custom {dump} id fx fy fz modify format float %.17g
print "{mark} $(pe:%.17g) $(vol:%.17g) $(c_w[1]:%.17g) $(c_w[2]:%.17g) $(c_w[3]:%.17g) &
 $(c_w[4]:%.17g) $(c_w[5]:%.17g) $(c_w[6]:%.17g)"
"""


def lammps(program, folder, text):
    """Output of LAMMPS for an input text, on one rank with one thread."""
    (folder / "in.lammps").write_text(text)
    done = subprocess.run([program, "-in", "in.lammps", "-log", "none"], cwd=folder, capture_output=True, text=True,
                          env={**os.environ, "OMP_NUM_THREADS": "1"})
    if done.returncode != 0:
        raise BenchError(f"precision_table: {program} failed (exit status {done.returncode}):\n"
                         + "\n".join((done.stdout + done.stderr).splitlines()[-15:]))
    return done.stdout


def evaluate(program, folder, model, elements, frames, precision):
    """Energies per atom [frame] in eV, forces [frame][n][3] in eV/Angstrom, virials per atom [frame][6] in eV."""
    text = "".join(FRAME.format(data=f"{k}.data", precision=precision, model=model, elements=elements, dump=f"{k}.dump",
                                mark=MARK) for k in range(frames))
    lines = [line.split()[1:] for line in lammps(program, folder, text).splitlines() if line.startswith(MARK + " ")]
    forces = []
    for k in range(frames):
        rows = lammps_dump(folder / f"{k}.dump")
        forces.append([rows[i] for i in sorted(rows)])
    forces, numbers = np.array(forces), np.array(lines, dtype=float)
    natoms = forces.shape[1]
    return numbers[:, 0] / natoms, forces, numbers[:, 2:] * numbers[:, 1:2] * BAR_ANGSTROM3 / natoms


def differences(found, exact):
    """Largest difference of energy per atom (eV), largest and rms one of force components over the rms force, largest one
    of a virial component per atom (eV)."""
    energy, force, virial = (np.abs(a - b) for a, b in zip(found, exact))
    rms_force = np.sqrt(np.mean(exact[1] ** 2))
    return energy.max(), force.max() / rms_force, np.sqrt(np.mean(force**2)) / rms_force, virial.max()


def processor_time(text):
    """us of processor time per atom and step of the last run in a LAMMPS output."""
    shares = re.findall(r"^(\S+)% CPU use with", text, re.M)
    if not shares:
        raise BenchError("precision_table: no line '% CPU use' in the output of LAMMPS:\n" + text[-800:])
    return lammps_loop(text)[0] * float(shares[-1]) / 100


def speeds(program, folder, model, elements):
    """{precision: us of processor time per atom and step of MD}"""
    values = {precision: [] for precision in PRECISIONS}
    for _ in range(TURNS):
        for precision in PRECISIONS:
            text = INPUT.format(data="large.data", style=f"dptrain precision {precision}", coeff=f"{model} {elements}",
                                rebuild=REBUILD) + f"run {WARM_UP}\nrun {STEPS}\n"
            values[precision].append(processor_time(lammps(program, folder, text)))
    return {precision: min(v) for precision, v in values.items()}


def table(results, times):
    """Markdown; `times` may be empty."""
    header = ["precision", "energy, eV/atom", "force, largest / rms", "force, rms / rms", "virial, eV/atom"]
    rows = [[p, *(f"{v:.1e}" for v in differences(results[p], results["double"]))] for p in PRECISIONS[1:]]
    if times:
        header.append("us/atom/step")
        rows.insert(0, [PRECISIONS[0], "", "", "", ""])
        for row in rows:
            row.append(f"{times[row[0]]:.1f}")
    return markdown(header, rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("system", type=Path, nargs="?")
    parser.add_argument("--frames", type=int, default=20)
    parser.add_argument("--lmp", default="lmp")
    parser.add_argument("--no-speed", action="store_true")
    args = parser.parse_args()
    try:
        system, model = args.system or default_data() / "data_3", args.model.resolve()
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            for k in range(args.frames):
                write_data(folder / f"{k}.data", system, (1, 1, 1), k)
            write_data(folder / "large.data", system, COPIES)
            elements = " ".join(read_frame(system)[3])
            results = {p: evaluate(args.lmp, folder, model, elements, args.frames, p) for p in PRECISIONS}
            energy, force, _ = results["double"]
            print(f"{args.frames} frames of {system.name} in double: {energy.mean():.3f} eV/atom, "
                  f"rms force {np.sqrt(np.mean(force**2)):.3f} eV/A\n")
            print(table(results, {} if args.no_speed else speeds(args.lmp, folder, model, elements)))
    except BenchError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
