"""Learns a molecule on the fly, with the tight-binding method GFN2-xTB (tblite) as the reference."""

import sys

import numpy as np
from ase import units
from ase.build import molecule
from ase.md.langevin import Langevin
from tblite.ase import TBLite

from dptrain.ase import OnTheFly

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
atoms = molecule("CH3CH2OH")
random = np.random.default_rng(1)
atoms.set_momenta(random.normal(size=(len(atoms), 3)) * np.sqrt(600 * units.kB * atoms.get_masses())[:, None])
reference = TBLite(method="GFN2-xTB", verbosity=0)
with OnTheFly("ethanol.json", reference=reference, every=5, train=100, seed=1, save="ethanol.dp", disp="lcurve.out", disp_every=20) as learner:
    atoms.calc = learner
    Langevin(atoms, 0.5 * units.fs, temperature_K=300, friction=0.01 / units.fs, rng=random, fixcm=False).run(steps)
report = learner.session.report()
print(f"{report['reference_calls']} of {steps} steps asked the reference")
