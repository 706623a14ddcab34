"""Predictions and MD of a model through ASE, run by the part `labels` in the environment of the program that made it:

    labels_ase.py predict KIND MODEL FRAMES.xyz OUT.npz     energies and forces of all frames
    labels_ase.py md KIND MODEL FRAME.xyz SECONDS           prints: MD us_per_atom_and_step, in seconds of the processor
"""

import sys
import time

sys.path.pop(0)  # this folder: its statistics.py would take the place of Python's

import numpy as np  # noqa: E402
from ase import units  # noqa: E402
from ase.io import read  # noqa: E402
from ase.md.velocitydistribution import MaxwellBoltzmannDistribution  # noqa: E402
from ase.md.verlet import VelocityVerlet  # noqa: E402

WARM_UP = 4  # steps before the clock starts: programs that compile do it here


def calculator(kind, model):
    if kind == "torchnep":
        import torch
        from torchnep.ase_calculator import NEP

        torch.set_num_threads(1)
        return NEP(model, dtype="float32")
    if kind == "ace":
        from ace_jax.calc import ACECalculator

        return ACECalculator(model)
    from deepmd.calculator import DP

    return DP(model)


def predict(kind, model, frames, out):
    calc = calculator(kind, model)
    energies, forces = [], []
    for atoms in read(frames, ":"):
        atoms.calc = calc
        energies.append(atoms.get_potential_energy())
        forces.append(atoms.get_forces())
    np.savez(out, energies=np.array(energies, float), forces=np.concatenate(forces))


def md(kind, model, frame, seconds):
    atoms = read(frame)
    atoms.calc = calculator(kind, model)
    MaxwellBoltzmannDistribution(atoms, temperature_K=300, rng=np.random.default_rng(1))
    dynamics = VelocityVerlet(atoms, 0.5 * units.fs)
    dynamics.run(WARM_UP)
    start, steps = time.process_time(), 0
    while time.process_time() - start < float(seconds):
        dynamics.run(2)
        steps += 2
    print("MD", (time.process_time() - start) / (steps * len(atoms)) * 1e6)


if __name__ == "__main__":
    {"predict": predict, "md": md}[sys.argv[1]](*sys.argv[2:])
