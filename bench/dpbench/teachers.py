"""What `dptrain learn` makes of foundation models: a table of teachers and systems.

    cd bench && python -m dpbench.teachers [SYSTEM ...] --teacher-python ENV [--teachers sevenn:7net-0 ...] [--work FOLDER]

ENV: the environment of the teachers, which has ASE, sevenn, chgnet; this one has `dptrain`, `lmp` and ASE. Each student is learned as a
user would do it, and tested on frames of its own run (as the command does), and on frames of dynamics of the teacher. Rows go to
results/teachers.md as soon as they are measured; others that are there stay. With --work the folders of the runs are kept for
`dpbench.teachers_production`.
"""

import argparse
import contextlib
import os
import re
import resource
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
from ase import Atoms, units
from ase.calculators.socketio import SocketIOCalculator
from ase.io import read, write
from ase.md.langevin import Langevin
from ase.md.velocitydistribution import thermalize_momenta

from .errors import BenchError
from .settings import ROOT
from .tables import number
from .teachers_systems import SYSTEMS

RESULTS = ROOT / "bench" / "results" / "teachers.md"
TEACHERS = ["sevenn:7net-0", "chgnet:0.3.0", "sevenn:7net-mf-0,modal=R2SCAN"]
COLUMNS = ["system", "teacher", "atoms", "calls", "CPU seconds", "own run, force %", "teacher's run, force %", "energy, meV/atom",
           "teacher, s per step", "student, s per step", "times faster"]
EQUILIBRATION, FRAMES, EVERY = 150, 10, 20  # of the teacher's dynamics: steps, frames, steps between them
FRICTION = 0.02 / units.fs
CPU = "CPU seconds:"  # added to the output of the command
EVALUATIONS = 5  # of the teacher, which its time is taken from


@contextlib.contextmanager
def teacher_of(name, python, atoms, folder):
    """A calculator of ASE whose answers come from `dptrain client` in the other Python. ASE does not tell a client that there is nothing
    more to do, so it is told not to wait; and then it says that nobody has told it."""
    warnings.filterwarnings("ignore", "Subprocess exited with status")
    write(folder / "client.init.xyz", atoms)

    def launch(atoms, properties, port, unixsocket):
        words = ["dptrain", "client", "--calculator", name, "--python", str(python), "--threads", "1", "--socket", f"unix:{unixsocket}",
                 "--wait", "1"]
        with open(folder / "client.log", "w") as log:
            return subprocess.Popen([*words, "client.init.xyz"], cwd=folder, stdout=log, stderr=subprocess.STDOUT)

    with SocketIOCalculator(unixsocket=f"teachers-{os.getpid()}", launch_client=launch) as calculator:
        yield calculator


def seconds_of_children():
    """CPU time: others may use the machine, and of two processes that wait for each other it is about the wall time of an empty one."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def learn(name, teacher, options, folder):
    """`dptrain learn` in `folder`, unless that is done: {calls, seconds, own run, student: s per step}."""
    output = folder / "learn.out"
    if not output.exists():
        write(folder / "start.xyz", SYSTEMS[name].structure())
        words = ["dptrain", "learn", "start.xyz", "--reference", teacher, "--python", str(options.teacher_python), "--threads", "1",
                 *SYSTEMS[name].words.split(), "--time", f"{options.time:g}", "-o", "learn"]
        before = seconds_of_children()
        done = subprocess.run(words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        output.write_text(f"{done.stdout}{CPU} {seconds_of_children() - before:.0f}\n")
    said = " ".join(output.read_text().split())
    if "force error is" not in said:
        raise BenchError(output.read_text().strip().splitlines()[-2])
    seconds = re.search(rf"{CPU} (\d+)", said)[1]
    calls = re.search(r"was asked (\d+) times", said)[1]
    own = re.search(r"force error is (\S+) %", said)[1]
    loop, steps, used = re.findall(r"^Loop time of (\S+) on .* for (\d+) steps.*?(\S+)% CPU use", (folder / "learn" / "log.test").read_text(),
                                   re.MULTILINE | re.DOTALL)[-1]
    return {"calls": calls, "seconds": seconds, "own": own, "student": float(loop) / int(steps) * float(used) / 100}


def seconds_of(teacher, options, frames, folder):
    """CPU time of a call of the teacher in the box that was learned in."""
    with teacher_of(teacher, options.teacher_python, frames[0], folder) as calculator:
        for number, frame in enumerate(frames[:EVALUATIONS + 1]):
            Atoms(frame.symbols, positions=frame.positions, cell=frame.cell, pbc=frame.pbc, calculator=calculator).get_forces()
            used = sum(map(int, Path(f"/proc/{calculator.server.proc.pid}/stat").read_text().rpartition(")")[2].split()[11:13]))
            before = before if number else used  # the first call has its preparations
    return (used - before) / os.sysconf("SC_CLK_TCK") / EVALUATIONS


def frames_of_teacher(name, teacher, options, tested, folder):
    """Frames of dynamics of the teacher at the last temperature of the run, from perfect places; the cell is that of the end of the test run."""
    system, atoms = SYSTEMS[name], SYSTEMS[name].box()
    if "--pressure" in system.words:
        mean = np.mean([frame.cell.array for frame in tested[-5:]], axis=0)
        learned = read(folder / "learn" / "structure.data", format="lammps-data", atom_style="atomic")
        atoms.set_cell(atoms.cell @ np.linalg.inv(learned.cell) @ mean, scale_atoms=True)
    random, frames = np.random.default_rng(7), []
    # all energy of the crystal is kinetic, and half of it becomes potential
    thermalize_momenta(atoms, temperature_K=system.temperature * (2 if "--pressure" in system.words else 1), rng=random)
    with teacher_of(teacher, options.teacher_python, atoms, folder) as atoms.calc:
        dynamics = Langevin(atoms, system.timestep * units.fs, temperature_K=system.temperature, friction=FRICTION, fixcm=False, rng=random)
        dynamics.run(EQUILIBRATION)
        for _ in range(FRAMES):
            dynamics.run(EVERY)
            frames.append(atoms.copy())
            frames[-1].info["energy"] = atoms.get_potential_energy()
            frames[-1].arrays["forces"] = atoms.get_forces()
    write(folder / "teacher.xyz", frames)
    return frames


def errors(model, frames):
    """(force error in % of the rms force, rms energy error in meV/atom)"""
    from dptrain.ase import Calculator

    force, scale, energy, calculator = [], [], [], Calculator(str(model))
    for frame in frames:
        atoms = Atoms(frame.symbols, positions=frame.positions, cell=frame.cell, pbc=frame.pbc, calculator=calculator)
        force.append((atoms.get_forces() - frame.arrays["forces"]) ** 2)
        scale.append(frame.arrays["forces"] ** 2)
        energy.append((atoms.get_potential_energy() - frame.info["energy"]) / len(atoms))
    return 100 * np.sqrt(np.mean(force) / np.mean(scale)), 1000 * np.sqrt(np.mean(np.square(energy)))


def row(name, teacher, options, folder):
    """Cells of COLUMNS."""
    folder.mkdir(parents=True, exist_ok=True)
    try:
        found = learn(name, teacher, options, folder)
    except BenchError as error:
        return [name, teacher, "-", f"failed: {error}"] + ["-"] * (len(COLUMNS) - 4)
    tested = read(folder / "learn" / "test.labels.xyz", ":")
    seconds = seconds_of(teacher, options, tested, folder)
    force, energy = errors(folder / "learn" / "model.dp", frames_of_teacher(name, teacher, options, tested, folder))
    return [name, teacher, len(tested[0]), found["calls"], found["seconds"], found["own"], number(force, 2), number(energy, 2),
            number(seconds, 2), number(found["student"], 2), number(seconds / found["student"], 2)]


def keep_row(path, columns, cells):
    """Puts a row in the table with these columns of a Markdown file, in the place of the row with the same first two cells."""
    header, line = f"| {' | '.join(columns)} |", f"| {' | '.join(map(str, cells))} |"
    lines = path.read_text().splitlines() if path.exists() else []
    if header not in lines:
        lines += [*[""] * bool(lines), header, "|" + "---|" * len(columns)]
    first = lines.index(header) + 2
    last = next((k for k in range(first, len(lines)) if not lines[k].startswith("|")), len(lines))
    same = [k for k in range(first, last) if lines[k].split(" | ")[:2] == line.split(" | ")[:2]]
    lines[same[0] if same else last:same[0] + 1 if same else last] = [line]
    path.write_text("\n".join(lines) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("systems", metavar="SYSTEM", nargs="*", help=f"of {', '.join(SYSTEMS)} (default: all)")
    parser.add_argument("--teacher-python", required=True, metavar="ENV", type=Path)
    parser.add_argument("--teachers", nargs="+", default=TEACHERS, metavar="NAME:MODEL")
    parser.add_argument("--time", type=float, default=10.0, metavar="PS", help="of the run (default: 10)")
    parser.add_argument("--work", type=Path, metavar="FOLDER", help="keeps the runs")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        for name in options.systems or SYSTEMS:
            for teacher in options.teachers:
                folder = (options.work or Path(temporary)).absolute() / f"{name}-{re.sub('[^A-Za-z0-9]+', '-', teacher)}"
                cells = row(name, teacher, options, folder)
                keep_row(RESULTS, COLUMNS, cells)
                print(*cells, sep="  ", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
