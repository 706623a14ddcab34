"""How accurate forces of charges on a mesh are, in bulk and where there is vacuum.

    cd bench && python -m dpbench.mesh MODEL      prints rows of a table, meV/A

MODEL: a .dp file of Na and Cl with charges. Rock salt with displacements of up to 0.2 Angstrom; root mean square errors of the forces
against ewald 1e-9, in slabs (p p f), which ewald does not have, against pppm 1e-8. `lmp` has to be in the path.
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np

from .explore import lmp
from .reference_data import ROCK_SALT

INPUT = """units metal
atom_modify map yes
lattice custom 5.64 {rock_salt}
region box block {region}
create_box 2 box
create_atoms 1 box basis 5 2 basis 6 2 basis 7 2 basis 8 2
mass 1 22.990
mass 2 35.453
{change}
displace_atoms all random 0.2 0.2 0.2 4711 units box
pair_style dptrain kspace {kspace}
pair_coeff * * {model} Na Cl
dump d all custom 1 forces.dump id fx fy fz
dump_modify d sort id format float %.17g
run 0
"""
CRYSTALS = {
    "256 ions": ("0 4 0 4 0 2", ""),
    "256 ions, triclinic": ("0 4 0 4 0 2", "change_box all triclinic\nchange_box all xy final 6 xz final -4 yz final 3 remap units box"),
    "film of 288 ions, 100 A of vacuum, p p p": ("0 4 0 3 0 3", "change_box all z delta -50 50 units box"),
    "slab of 288 ions, p p f, 12 A of vacuum": ("0 4 0 3 0 3", "change_box all z delta -6 6 boundary p p f units box"),
    "slab of 288 ions, p p f, 120 A of vacuum": ("0 4 0 3 0 3", "change_box all z delta -60 60 boundary p p f units box")}
WAYS = ["pppm 1e-4", "pppm 1e-5", "no"]  # no: the sums of the library, which take periodic cells


def forces(folder, model, region, change, kspace):
    lmp(folder, "mesh", [INPUT.format(rock_salt=ROCK_SALT, region=region, change=change, kspace=kspace, model=model.resolve())])
    return np.loadtxt(folder / "forces.dump", skiprows=9)[:, 1:]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", metavar="MODEL", type=Path)
    options = parser.parse_args()
    print(f"| crystal | rms force | {' | '.join(WAYS)} |\n|{'---|' * (2 + len(WAYS))}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        for name, (region, change) in CRYSTALS.items():
            slab = "p p f" in name
            expected = forces(folder, options.model, region, change, "pppm 1e-8" if slab else "ewald 1e-9")
            cells = [""] * len(WAYS)
            for k, way in enumerate(WAYS[:2] if slab else WAYS):
                found = forces(folder, options.model, region, change, way)
                cells[k] = f"{1e3 * np.sqrt(((found - expected)**2).mean()):.2f}"
            print(f"| {name} | {1e3 * np.sqrt((expected**2).mean()):.0f} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
