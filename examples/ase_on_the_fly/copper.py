"""Learns copper on the fly, with ASE's effective medium theory as the reference."""

import sys

import numpy as np
from ase import units
from ase.build import bulk
from ase.calculators.emt import EMT
from ase.md.langevin import Langevin

from dptrain.ase import OnTheFly

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
atoms = bulk("Cu", cubic=True).repeat(3)
random = np.random.default_rng(1)
atoms.set_momenta(random.normal(size=(len(atoms), 3)) * np.sqrt(1200 * units.kB * atoms.get_masses())[:, None])
with OnTheFly("copper.json", reference=EMT(), every=10, train=100, seed=1, save="copper.dp", disp="lcurve.out", disp_every=20) as learner:
    atoms.calc = learner
    Langevin(atoms, 2 * units.fs, temperature_K=600, friction=0.02 / units.fs, rng=random, fixcm=False).run(steps)
report = learner.session.report()
print(f"{report['reference_calls']} of {steps} steps asked the reference")
