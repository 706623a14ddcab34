"""Energy that it takes to cleave a melt: what a potential knows of surfaces, at which it was never trained.

    cd bench && python -m dpbench.cleavage MODEL [MODEL ...] [--distances 0.5 1 2 4 8 12 20]      prints rows of a table, meV an atom

MODEL: .dp files of Na and Cl. 512 ions at 1200 K, from a run of the reference (the ions of Tosi and Fumi); then the upper half is moved
away as it is, in a periodic box that grows with it. `lmp` has to be in the path.
"""

import argparse
import re
import subprocess
import tempfile
from pathlib import Path

from .reference_data import LAMMPS_SYSTEMS, ROCK_SALT

CELLS, LATTICE = 4, 6.0  # Angstrom
ATOMS = 8 * CELLS**3
MELT = """units metal
atom_style charge
lattice custom {lattice} {rock_salt}
region box block 0 {cells} 0 {cells} 0 {cells}
create_box 2 box
create_atoms 1 box basis 5 2 basis 6 2 basis 7 2 basis 8 2
mass 1 22.990
mass 2 35.453
{reference}
velocity all create 3600 4711
timestep 0.002
fix npt all npt temp 1800 1200 0.1 iso 0 0 1.0
run 5000
write_data melt.data nocoeff
"""
CLEAVE = """units metal
atom_style charge
atom_modify map yes
read_data melt.data
{potential}
variable middle equal 0.5*(zlo+zhi)
region upper block INF INF INF INF ${{middle}} INF
group upper region upper
thermo_style custom step pe
run 0
{steps}
"""
STEP = """change_box all z delta 0 {more} units box
displace_atoms upper move 0 0 {more} units box
run 0
"""


def lammps(folder, name, text):
    (folder / name).write_text(text)
    return subprocess.run(["lmp", "-in", name], cwd=folder, check=True, capture_output=True, text=True).stdout


def energies(folder, potential, distances):
    """Energies in meV an atom at the distances, less that of the whole melt."""
    steps = "".join(STEP.format(more=b - a) for a, b in zip([0.0, *distances], distances))
    found = re.findall(r"^ +Step +PotEng *\n +0 +(\S+)", lammps(folder, "in.cleave", CLEAVE.format(potential=potential, steps=steps)), re.M)
    return [1e3 * (float(energy) - float(found[0])) / ATOMS for energy in found[1:]]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", type=Path)
    parser.add_argument("--distances", nargs="+", type=float, default=[0.5, 1, 2, 3, 4, 6, 8, 12, 20])
    options = parser.parse_args()
    print(f"| distance, A | {' | '.join(f'{d:g}' for d in options.distances)} |\n|{'---|' * (1 + len(options.distances))}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        reference = "\n".join(line for line in LAMMPS_SYSTEMS["nacl"].potential if not line.startswith("set"))
        charges = "set type 1 charge 1\nset type 2 charge -1\n"
        lammps(folder, "in.melt", MELT.format(lattice=LATTICE, rock_salt=ROCK_SALT, cells=CELLS, reference=charges + reference))
        ways = {"reference": charges + reference}
        for model in options.models:
            ways[str(model)] = f"pair_style dptrain kspace pppm 1e-6\npair_coeff * * {model.resolve()} Na Cl"
        for name, potential in ways.items():
            print(f"| {name} | {' | '.join(f'{energy:.1f}' for energy in energies(folder, potential, options.distances))} |", flush=True)


if __name__ == "__main__":
    main()
