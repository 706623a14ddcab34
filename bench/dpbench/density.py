"""Density of molten salt over 100 ps, in a box eight times as large as the one in which a potential was learned.

    cd bench && python -m dpbench.density [MODEL ...] [--seeds 4711 4712] [--temperatures 1500 1200] [--length 100]      prints rows of a table

MODEL: .dp files of Na and Cl; default: one of each seed is learned here, by `pair_coeff * * new Na Cl` alone, of 216 ions that are heated from 300
to 1600 K in 10 ps at zero pressure. The reference (Tosi and Fumi) has the first row, over 30 ps. Errors of the forces in percent of their root
mean square and of the pressure (mean, bar) are those on frames of the reference at the first temperature, 216 ions in 60 ps. 1728 ions, steps of
2 fs, after melting at 1800 K; g/cm3, and means of each fifth of the run. `dptrain` and `lmp` have to be in the path.
"""

import argparse
import re
import tempfile
from pathlib import Path

import numpy as np

from . import tested
from .explore import charges, lmp, of_model, of_reference
from .from_nothing import reference
from .reference_data import BAR, LAMMPS_SYSTEMS, VIRIAL, box_of_crystal, labels, read_frames, write_extxyz

SYSTEM = LAMMPS_SYSTEMS["nacl"]
CHARGES = charges("nacl")
COLUMNS = ["potential", "charge", "calls", "force, %", "pressure, bar"]
FRAMES, EVERY = 31, 1000  # of the test at one temperature, steps of 2 fs between two of them


def learned(folder, seed):
    """A model of a run from nothing, the charge of Na, and the number of reference calls."""
    model = f"{seed}.dp"
    log = lmp(folder, f"learn-{seed}", [
        *box_of_crystal("nacl"), *CHARGES, f"velocity all create 600 {seed}",
        *of_model("nacl", "new"), f"fix learn all dptrain {reference(SYSTEM.potential)} mode active every 10 save 1000 {model}",
        "fix npt all npt temp 300 1600 0.1 iso 0 0 0.5", "timestep 0.001", "run 10000"])
    return folder / model, re.findall(r"charges .*Na (\S+?):", log)[-1], re.findall(r"(\d+) reference calls", log)[-1]


def melt(size, potential, temperature):
    """Commands for a melt at zero pressure that has forgotten its crystal, `size` times as long as the box that learns."""
    return [*box_of_crystal("nacl", size), *CHARGES, *potential, "velocity all create 3000 99 loop geom", "timestep 0.002",
            "fix npt all npt temp 1800 1800 0.1 iso 0 0 0.5", "run 2500",
            f"fix npt all npt temp {temperature} {temperature} 0.1 iso 0 0 0.5", "run 5000", "reset_timestep 0"]


def test_data(folder, temperature):
    """Labeled frames of the reference, in a box whose volume changes."""
    lmp(folder, "test", [*melt(1, of_reference("nacl"), temperature), VIRIAL, *labels("test", EVERY), f"run {(FRAMES - 1) * EVERY}"])
    write_extxyz(folder / "test.xyz", read_frames(folder, "test", list(SYSTEM.masses)), virials=True)


def errors(folder, model):
    """Of the forces in percent, and the mean of that of the pressure in bar."""
    error = tested.percent(*tested.forces(folder, model, "test.xyz"))
    virials = np.loadtxt(folder / "detail.v.out")[:, [0, 4, 8, 9, 13, 17]]
    volumes = [np.prod(np.array(line.split('"')[1].split(), float)[::4]) for line in (folder / "test.xyz").read_text().splitlines() if "Lattice" in line]
    pressure = (virials[:, 3:] - virials[:, :3]).mean(axis=1) / volumes / BAR
    return f"{error:.2f}", f"{pressure.mean():.0f}"


def density(folder, potential, temperature, length):
    """Mean over so many ps, and those of its fifths."""
    steps = 10 * round(50 * length)
    lmp(folder, "density", [*melt(2, potential, temperature), "variable density equal density",
                            f"fix mean all ave/time 10 {steps // 50} {steps // 5} v_density file density.txt", f"run {steps}"])
    fifths = np.loadtxt(folder / "density.txt")[:, 1]
    return f"{fifths.mean():.3f} ({', '.join(f'{fifth:.3f}' for fifth in fifths)})"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", metavar="MODEL", nargs="*", type=Path)
    parser.add_argument("--seeds", type=int, nargs="+", default=[4711, 4712], help="of velocities of the runs that learn")
    parser.add_argument("--temperatures", type=float, nargs="+", default=[1500, 1200], help="K")
    parser.add_argument("--length", type=float, default=100, help="of a run, ps")
    options = parser.parse_args()
    columns = COLUMNS + [f"{temperature:g} K" for temperature in options.temperatures]
    print(f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)

        def row(cells, potential, length):
            densities = [density(folder, potential, temperature, length) for temperature in options.temperatures]
            print(f"| {' | '.join([*cells, *densities])} |", flush=True)

        test_data(folder, options.temperatures[0])
        row(["reference", "1", "", "", ""], of_reference("nacl"), min(30, options.length))
        found = [(model.resolve(), "", "") for model in options.models] or [learned(folder, seed) for seed in options.seeds]
        for model, charge, calls in found:
            row([model.name, charge, calls, *errors(folder, model)], of_model("nacl", model), options.length)


if __name__ == "__main__":
    main()
