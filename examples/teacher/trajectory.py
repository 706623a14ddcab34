"""Molecular dynamics of the teacher alone, on which its student is tested. Runs in the environment of the teacher:

    teacher/bin/python trajectory.py test.xyz --frames 60
"""

import argparse

import numpy as np
from sevenn.calculator import SevenNetCalculator


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
    atoms.calc = SevenNetCalculator(arguments.model, device=arguments.device)
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
    parser.add_argument("file", help="data set, extended XYZ")
    parser.add_argument("--frames", type=int, default=60)
    parser.add_argument("--seed", type=int, default=11)
    parser.add_argument("--model", default="7net-0", help="as SevenNet names its models")
    parser.add_argument("--device", default="cpu")
    trajectory(parser.parse_args())


if __name__ == "__main__":
    main()
