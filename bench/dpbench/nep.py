"""MD with a potential of GPUMD: this package and calorine, whose C++ is NEP_CPU's, one core each, one after the other and repeated.

    python -m venv FOLDER; FOLDER/bin/pip install calorine==4.1
    cd bench && python -m dpbench.nep nep.txt --python FOLDER/bin/python [--elements Ni Al] [--lattice 3.6] [--cells 8]

prints us per atom and step of both, and their ratio. The crystal is fcc with the elements in turn, at 300 K. calorine: velocity Verlet of
ASE with its calculator CPUNEP, and the calls of its C++ alone, each with the neighbor lists that it makes.
"""

import argparse
import json
import re
import shutil
import statistics
import subprocess
import tempfile
from pathlib import Path

LAMMPS = """units metal
read_data start.data
pair_style dptrain precision {precision}
pair_coeff * * nep.txt {elements}
velocity all create 600 4711
timestep 0.001
fix n all nve
run 20
run {steps}
"""
CALORINE = """import json, sys, time
import numpy as np
from ase.io import read
from ase import units
from ase.md.verlet import VelocityVerlet
from ase.md.velocitydistribution import MaxwellBoltzmannDistribution
from calorine.calculators import CPUNEP
steps = int(sys.argv[1])
atoms = read("start.xyz")
atoms.calc = CPUNEP("nep.txt")
MaxwellBoltzmannDistribution(atoms, temperature_K=600, rng=np.random.default_rng(1))
motion = VelocityVerlet(atoms, units.fs)
motion.run(2)
begin = time.process_time()
motion.run(steps)
md = time.process_time() - begin
nepy = atoms.calc.nepy
begin = time.process_time()
for _ in range(steps):
    nepy.get_potential_forces_and_virials()
calls = time.process_time() - begin
print("TIMES " + json.dumps([1e6 * t / steps / len(atoms) for t in (md, calls)]))
"""


def ours(folder, elements, precision, atoms):
    """us per atom and step, of the second of two runs."""
    steps = max(20, 400000 // atoms)
    (folder / "in.md").write_text(LAMMPS.format(precision=precision, elements=" ".join(elements), steps=steps))
    run = subprocess.run(["lmp", "-in", "in.md"], cwd=folder, check=True, capture_output=True, text=True)
    seconds = float(re.findall(r"Loop time of (\S+)", run.stdout)[-1]) * float(re.findall(r"^(\S+)% CPU use with", run.stdout, re.M)[-1]) / 100
    return 1e6 * seconds / steps / atoms


def calorine(folder, python, atoms):
    """The same of a run of ASE, and of the calls of the C++ alone."""
    (folder / "md.py").write_text(CALORINE)
    run = subprocess.run([python, "md.py", str(max(5, 20000 // atoms))], cwd=folder, check=True, capture_output=True, text=True)
    return json.loads(run.stdout.split("TIMES ")[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("potential", type=Path)
    parser.add_argument("--python", required=True, help="that of an environment with calorine")
    parser.add_argument("--elements", nargs="+", help="of the crystal, the first of the potential unless given")
    parser.add_argument("--lattice", type=float, default=3.8, help="Angstrom")
    parser.add_argument("--cells", type=int, default=6)
    parser.add_argument("--structure", default="fcc", help="of ASE's function bulk")
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    from ase.build import bulk
    from ase.io import write

    elements = options.elements or options.potential.read_text().split()[2:3]
    atoms = bulk(elements[0], options.structure, a=options.lattice, cubic=True).repeat(options.cells)
    atoms.symbols = [elements[k % len(elements)] for k in range(len(atoms))]
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        shutil.copy(options.potential, folder / "nep.txt")
        write(folder / "start.xyz", atoms)
        write(folder / "start.data", atoms, format="lammps-data", specorder=elements, masses=True)
        rows = [(*calorine(folder, options.python, len(atoms)), *(ours(folder, elements, precision, len(atoms)) for precision in ("double", "single")))
                for _ in range(options.repeat)]
    names = "calorine (ASE)", "calorine (C++ alone)", "here, double", "here, single"
    print(f"{options.potential.name}, {len(atoms)} atoms of {' '.join(elements)}: us per atom and step, median of {options.repeat}")
    for k, name in enumerate(names):
        ratio = statistics.median(row[1] / row[k] for row in rows)
        print(f"{name:22} {statistics.median(row[k] for row in rows):8.2f}   calorine's C++ takes {ratio:.2f} times as long")


if __name__ == "__main__":
    main()
