"""Hot rock salt, 96 ions, and potentials with charges for it."""

import json
import shutil

import h5py

from lammps_runner import run_lammps
from silicon import MODEL, TRAINING

# a density that does not fit to the ranks
SALT = """units metal
atom_style {style}
atom_modify map yes
lattice fcc 5.64 origin 0.05 0.05 0.05
region box {region}
create_box 2 box
create_atoms 1 box
lattice fcc 5.64 origin 0.55 0.05 0.05
create_atoms 2 box
mass 1 22.99
mass 2 35.45
displace_atoms all random 0.2 0.2 0.2 4711 units box
velocity all create 300 87287 loop geom
timestep 0.0005
"""
BLOCK, PRISM = "block 0 2 0 2 0 3", "prism 0 2 0 2 0 3 0.3 -0.2 0.4"
PAIR = "pair_style dptrain {words}\npair_coeff * * {file} Na Cl\n"
CHARGE, SIGMA = 0.9, 1.2
MESH = "kspace pppm 1e-6"


def atoms(region=BLOCK, style="atomic"):
    return SALT.format(region=region, style=style)


def pair(file="salt.dp", words="kspace no"):
    return PAIR.format(file=file, words=words)


def with_charge(source, target, charge, total=0.0):
    """The same net with other charges."""
    shutil.copy(source, target)
    with h5py.File(target, "r+") as file:
        tree = json.loads(file.attrs["json"])
        for part in ("model", "model_def_script"):
            tree[part]["terms"][0].update(values={"Na": charge, "Cl": -charge}, total=total)
        file.attrs["json"] = json.dumps(tree)


def make_models(folder):
    """salt.dp has charges, zero.dp the same net without; in net.dp a net adds to them."""
    model = json.loads(json.dumps(MODEL))
    model["type_map"] = ["Na", "Cl"]
    learn = 'fix t all dptrain reference pair lj/cut 6.0 coeff "* * 0.05 2.4" end mode passive every 5 warmup 1 train 5 save 1000 {}\n'
    for kind, name in (("environment", "net.dp"), ("fixed", "salt.dp")):
        model["terms"] = [{"type": "charges", "kind": kind, "values": {"Na": CHARGE, "Cl": -CHARGE}, "sigma": SIGMA}]
        (folder / "input.json").write_text(json.dumps({"model": model, **TRAINING}))
        run_lammps(folder, atoms() + pair("input.json") + learn.format(name) + "fix n all nve\nrun 10\n").check()
    with_charge(folder / "salt.dp", folder / "zero.dp", 0.0)
