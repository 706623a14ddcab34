"""What `explore` of fix dptrain brings: potentials learned from nothing in a run at one volume, with and without it, tested on other
trajectories of the reference, at other volumes and temperatures, and in production at constant pressure in a larger box.

    cd bench && python -m dpbench.explore [NAME ...] [--steps 1000] [--seeds 1 2] [--production PS]      prints rows of two tables

NAME: of reference_data.py (default: five of them), crystals at their lattice constant. `dptrain` and `lmp` have to be in the path.
"""

import argparse
import re
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from . import tested
from .from_nothing import reference
from .reference_data import LAMMPS_SYSTEMS, VIRIAL, box_of_crystal, labels, potentials_variable, read_frames, write_extxyz

SYSTEMS = ["sw-silicon", "nial", "copper", "sw-gan", "sio2"]
LEARNING_STEPS = 10500
TEMPERATURE = {"sw-silicon": 1200, "nial": 1200, "copper": 1000, "sw-gan": 1500, "sio2": 1500, "mgo": 1500, "iron": 1000, "tersoff-sic": 1500, "inp": 800}
# volume in terms of that of the learning run, temperature in terms of its temperature
TESTS = {"as learned": (1.0, 1.0), "volume 0.9": (0.9, 1.0), "volume 1.1": (1.1, 1.0), "volume 1.25": (1.25, 1.0), "1.5 T": (1.0, 1.5)}
TEST_SEED, TEST_FRAMES = 777, 30
HOTTER = (1.0, 1.5)  # of productions
COLUMNS = ["system", "seed", "explore", "calls", "seconds", *(f"{name}: force %, energy meV/atom" for name in TESTS)]


def charges(name):
    """Commands that give them to the atoms."""
    return [command for command in LAMMPS_SYSTEMS[name].potential if command.startswith("set ")]


def setup(name, seed, potential, size=1):
    """Commands of the crystal, `size` times as long as that of the learning run, with small random displacements."""
    return [*box_of_crystal(name, size), *charges(name), f"displace_atoms all random 0.05 0.05 0.05 {seed} units box", *potential,
            f"timestep {LAMMPS_SYSTEMS[name].timestep}", f"velocity all create 600 {seed}"]


def of_reference(name):
    return [command for command in LAMMPS_SYSTEMS[name].potential if not command.startswith("set ")]


def of_model(name, model):
    return ["pair_style dptrain precision single", f"pair_coeff * * {model} {' '.join(LAMMPS_SYSTEMS[name].masses)}"]


def heated(name, temperature, seed, steps):
    return ["fix nve all nve", f"fix bath all temp/csvr 300 {temperature} 0.1 {seed}", f"run {steps}"]


def lmp(folder, log, lines):
    (folder / f"in.{log}").write_text("\n".join(lines) + "\n")
    subprocess.run(["lmp", "-in", f"in.{log}", "-screen", "none", "-log", f"{log}.log"], cwd=folder, check=True, env=potentials_variable())
    return (folder / f"{log}.log").read_text()


def test_frames(folder, name, volume, temperature):
    """Every 100 steps, of the reference; written to an extended XYZ file, whose path is returned."""
    every, factor = 100, volume ** (1 / 3)
    lmp(folder, "test", [
        *setup(name, TEST_SEED, of_reference(name)), f"change_box all x scale {factor} y scale {factor} z scale {factor} remap",
        *heated(name, temperature, TEST_SEED, 3000), f"fix bath all temp/csvr {temperature} {temperature} 0.1 {TEST_SEED + 1}",
        VIRIAL, *labels("test", every), f"run {TEST_FRAMES * every}"])
    path = folder / f"{name}-{volume}-{temperature}.xyz"
    write_extxyz(path, read_frames(folder, "test", list(LAMMPS_SYSTEMS[name].masses)))
    return path


def errors(folder, model, path):
    force = tested.percent(*tested.forces(folder, model, path))
    energy = np.loadtxt(folder / "detail.e_peratom.out")
    return f"{force:.1f}, {1000 * np.sqrt(((energy[:, 1] - energy[:, 0]) ** 2).mean()):.1f}"


def learn(folder, name, seed, steps):
    """Writes a model; its row of the first table without the errors."""
    model = f"{name}-{seed}-{steps}.dp"
    words = f"explore {steps}" if steps else ""
    temperature = TEMPERATURE[name]
    log = lmp(folder, "learn", [
        *setup(name, seed, of_model(name, "new")),
        f"fix learn all dptrain {reference(LAMMPS_SYSTEMS[name].potential)} every 10 seed {seed} save 100000 {model} {words}",
        "fix nve all nve", f"fix bath all temp/csvr {temperature} {temperature} 0.1 {seed}", f"run {LEARNING_STEPS}"])
    calls = re.findall(r"\d+ steps, (\d+) reference calls \([\d.]+ %\)(?: and (\d+) to explore)?", log)[-1]
    seconds = re.findall(r"  seconds: .* all ([\d.]+)", log)[-1]
    return model, [name, seed, steps or "no", " + ".join(filter(None, calls)), f"{float(seconds):.0f}"]


def production(folder, name, potential, temperature, picoseconds):
    """Mean density (g/cm^3) of the second half at 1 bar, and what the watch says."""
    log = lmp(folder, "production", [
        *setup(name, TEST_SEED, potential, 2), *heated(name, temperature, TEST_SEED, 3000), "unfix nve", "unfix bath",
        "variable d equal density", "thermo 1000", f"fix npt all npt temp {temperature} {temperature} 0.1 iso 1 1 1.0",
        "fix mean all ave/time 10 50 500 v_d file density", f"run {int(picoseconds / LAMMPS_SYSTEMS[name].timestep)}"])
    density = np.loadtxt(folder / "density")[:, 1]
    watched = re.findall(r"Pair dptrain: watched .*", log)
    outside = re.search(r"outside of what was learned at (\d+) of", watched[-1]) if watched else None
    return f"{density[len(density) // 2:].mean():.3f}" + (f" (outside at {outside[1]})" if outside else "")


def table(title, columns):
    print(f"\n{title}\n\n| {' | '.join(columns)} |\n|{'---|' * len(columns)}", flush=True)


def print_row(cells):
    print(f"| {' | '.join(str(cell) for cell in cells)} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", metavar="NAME", nargs="*")
    parser.add_argument("--steps", type=int, default=1000, help="of each short run")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--production", type=float, default=0.0, metavar="PS", help="length of runs at constant pressure; 0: none")
    options = parser.parse_args()
    names = options.names or SYSTEMS
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        models = {}
        table("Errors on other trajectories of the reference", COLUMNS)
        for name in names:
            tests = [test_frames(folder, name, volume, TEMPERATURE[name] * factor) for volume, factor in TESTS.values()]
            for seed in options.seeds:
                for steps in (0, options.steps):
                    model, row = learn(folder, name, seed, steps)
                    models.setdefault(name, []).append((model, f"seed {seed}, explore {steps or 'no'}"))
                    print_row(row + [errors(folder, model, path) for path in tests])
        if not options.production:
            return
        table(f"Density at 1 bar, {options.production:g} ps in a box of 8 times the atoms", ["system", "temperature, K", "potential", "density"])
        for name in names:
            for factor in HOTTER:
                temperature = factor * TEMPERATURE[name]
                runs = [(of_reference(name), "reference"), *((of_model(name, model), words) for model, words in models[name])]
                for potential, words in runs:
                    print_row([name, f"{temperature:g}", words, production(folder, name, potential, temperature, options.production)])


if __name__ == "__main__":
    main()
