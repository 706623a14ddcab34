"""SevenNet-0, a foundation model for many elements, as the reference of in.learn. It runs in an environment of its own:

    python3 -m venv teacher
    teacher/bin/pip install sevenn
    teacher/bin/python teacher.py answer unix:perovskite learn.init.xyz     # answers LAMMPS until the run ends
    teacher/bin/python teacher.py trajectory test.xyz --frames 60           # frames of a run of its own, as a data set
"""

import argparse
import time

import numpy as np


def calculator(arguments):
    from sevenn.calculator import SevenNetCalculator

    return SevenNetCalculator(arguments.model, device=arguments.device)


def answer(arguments):
    """Waits for LAMMPS, and answers it over the i-PI protocol."""
    from pathlib import Path

    from ase.calculators.socketio import SocketClient
    from ase.io import read

    while not Path(arguments.atoms).exists():
        time.sleep(0.2)
    atoms = read(arguments.atoms)
    atoms.calc = calculator(arguments)
    atoms.get_forces()  # what takes long at first
    SocketClient(unixsocket=arguments.socket.removeprefix("unix:")).run(atoms, use_stress=True)


def trajectory(arguments):
    """NVT molecular dynamics of the teacher alone, 300 to 700 K."""
    from ase import Atoms, units
    from ase.calculators.singlepoint import SinglePointCalculator
    from ase.io import write
    from ase.md.langevin import Langevin
    from ase.md.velocitydistribution import MaxwellBoltzmannDistribution

    rng = np.random.default_rng(arguments.seed)
    sites = [(0, 0, 0), (0.5, 0.5, 0.5), (0.5, 0.5, 0), (0.5, 0, 0.5), (0, 0.5, 0.5)]
    atoms = Atoms("CsPbI3", scaled_positions=sites, cell=[6.35] * 3, pbc=True).repeat(2)
    atoms.rattle(0.05, rng=rng)
    atoms.calc = calculator(arguments)
    MaxwellBoltzmannDistribution(atoms, temperature_K=600, rng=rng)
    motion = Langevin(atoms, 4 * units.fs, temperature_K=300, friction=0.01 / units.fs, rng=rng)
    motion.run(50)
    frames = []
    for k in range(arguments.frames):
        motion.set_temperature(temperature_K=300 + 400 * k / arguments.frames)
        motion.run(20)
        frame = atoms.copy()
        frame.calc = SinglePointCalculator(frame, energy=atoms.get_potential_energy(), forces=atoms.get_forces(), stress=atoms.get_stress())
        frames.append(frame)
    write(arguments.file, frames)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    server = commands.add_parser("answer")
    server.add_argument("socket", help="unix:NAME, as in in.learn")
    server.add_argument("atoms", help="written by LAMMPS")
    server.set_defaults(work=answer)
    runner = commands.add_parser("trajectory")
    runner.add_argument("file", help="data set, extended XYZ")
    runner.add_argument("--frames", type=int, default=60)
    runner.add_argument("--seed", type=int, default=11)
    runner.set_defaults(work=trajectory)
    for command in (server, runner):
        command.add_argument("--model", default="7net-0", help="as SevenNet names its models")
        command.add_argument("--device", default="cpu")
    arguments = parser.parse_args()
    arguments.work(arguments)


if __name__ == "__main__":
    main()
