"""Potentials of GPUMD: MD beside calorine, whose C++ is NEP_CPU's, and training beside torchnep, one core each.

    python -m venv FOLDER; FOLDER/bin/pip install calorine==4.1 "torchnep[ase,torch]==1.0.7"
    cd bench && python -m dpbench.nep md nep.txt --python FOLDER/bin/python [--elements Ni Al] [--lattice 3.6] [--cells 8]
    cd bench && python -m dpbench.nep train DATA --python FOLDER/bin/python --elements Si --cutoff 5.5 5 [--epochs 40] [--steps 300 600 1200]

md prints us per atom and step of both, and their ratio. The crystal has the elements in turn, at 600 K. calorine: velocity Verlet of ASE with
its calculator CPUNEP, and the calls of its C++ alone, each with the neighbor lists that it makes.
train: DATA has train.xyz and test.xyz; potentials have torchnep's default size. It prints errors on test.xyz, of the better one of torchnep's two potentials and of ours after so many
steps, beside processor seconds of the whole programs, and how many times as long torchnep has taken as the first of ours that is as good.
"""

import argparse
import json
import os
import re
import resource
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
TORCHNEP = """import torch
from torchnep import train_nep
torch.set_num_threads(1)
train_nep("torchnep.in", "train.xyz", output_dir="out", device="cpu", run_seed={seed}, restart=False, prediction_interval=0)
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


def processor_seconds(words, folder):
    """Of a command and its children, user and system, on one thread."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with open(folder / "bench.log", "w") as log:
        subprocess.run(words, cwd=folder, check=True, stdout=log, stderr=log, env={**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def errors(model, folder):
    """Root mean squares over test.xyz: forces, eV/Angstrom, and energies, eV an atom."""
    text = subprocess.run(["dptrain", "test", "-m", model, "-s", "test.xyz"], cwd=folder, check=True, capture_output=True, text=True).stdout
    return tuple(float(re.findall(rf"{name}\s*: (\S+)", text)[-1]) for name in ("Force  RMSE", "Energy RMSE/Natoms"))


def train(options):
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        for name in ("train.xyz", "test.xyz"):
            shutil.copy(options.data / name, folder / name)
        radial, angular = options.cutoff
        (folder / "torchnep.in").write_text(
            f"version 4\ntype {len(options.elements)} {' '.join(options.elements)}\ncutoff {radial} {angular}\n"
            f"n_max 4 4\nbasis_size 8 8\nl_max 4 1\nneuron 30\nbatch {options.batch}\nepoch {options.epochs}\n"
            f"lr_scheduler step\nscheduler_patience {max(1, options.epochs // 12)}\n")
        (folder / "train.py").write_text(TORCHNEP.format(seed=options.seed))
        seconds = processor_seconds([options.python, "train.py"], folder)
        peer = min(errors(f"out/nep_{name}.txt", folder) for name in ("best", "final"))
        rows.append((f"torchnep, {options.epochs} epochs", seconds, *peer))
        descriptor = {"type": "nep", "rcut_radial": radial, "rcut_angular": angular, "n_max_radial": 4, "n_max_angular": 4,
                      "basis_size_radial": 8, "basis_size_angular": 8}
        model = {"type_map": options.elements, "descriptor": descriptor, "fitting_net": {"neuron": [30]}}
        for steps in options.steps:
            training = {"training_data": {"systems": "train.xyz"}, "numb_steps": steps, "seed": options.seed}
            (folder / "input.json").write_text(json.dumps({"model": model, "training": training}))
            seconds = processor_seconds(["dptrain", "train", "input.json"], folder)
            rows.append((f"here, {steps} steps", seconds, *errors("model.ckpt.dp", folder)))
    for name, seconds, force, energy in rows:
        print(f"{name:24} {seconds:8.1f} s   forces {force:.4f} eV/A   energies {1000 * energy:7.2f} meV an atom")
    good = next((row for row in rows[1:] if row[2] <= peer[0] and row[3] <= peer[1]), None)
    print(f"torchnep took {rows[0][1] / good[1]:.0f} times as long as '{good[0]}'" if good else "none of ours is as good")


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parts = parser.add_subparsers(dest="part", required=True)
    part = parts.add_parser("md")
    part.add_argument("potential", type=Path)
    part.add_argument("--python", required=True, help="that of an environment with calorine")
    part.add_argument("--elements", nargs="+", help="of the crystal, the first of the potential unless given")
    part.add_argument("--lattice", type=float, default=3.8, help="Angstrom")
    part.add_argument("--cells", type=int, default=6)
    part.add_argument("--structure", default="fcc", help="of ASE's function bulk")
    part.add_argument("--repeat", type=int, default=3)
    part = parts.add_parser("train")
    part.add_argument("data", type=Path)
    part.add_argument("--python", required=True, help="that of an environment with torchnep")
    part.add_argument("--elements", nargs="+", required=True)
    part.add_argument("--cutoff", type=float, nargs=2, required=True, help="radial and angular, Angstrom")
    part.add_argument("--epochs", type=int, default=40, help="of torchnep")
    part.add_argument("--batch", type=int, default=3, help="of torchnep, frames")
    part.add_argument("--steps", type=int, nargs="+", default=[300, 600, 1200], help="of ours")
    part.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def md(options):
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
    OPTIONS = parse()
    (md if OPTIONS.part == "md" else train)(OPTIONS)
