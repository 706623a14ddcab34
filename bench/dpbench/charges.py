"""Cost of charges in MD: molten salt with a potential that has charges of its elements, the same one without, and without beside coul/long.

    cd bench && python -m dpbench.charges MODEL [--sizes 216 1728 ...] [--ranks 1 2]      prints rows of a table, us per atom and step

MODEL: a .dp of Na and Cl whose charges a run has found (`pair_coeff * * new Na Cl` without a baseline). Sizes are 8 k^3. `lmp` and `mpiexec` have to be in the path.
"""

import argparse
import json
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import h5py

WAYS = {"without charges": ("pair_style dptrain precision single\npair_coeff * * plain.dp Na Cl", ()),
        "sums over all atoms": ("pair_style dptrain precision single kspace no\npair_coeff * * charges.dp Na Cl", range(20000)),
        "mesh (pppm 1e-4)": ("pair_style dptrain precision single kspace pppm 1e-4\npair_coeff * * charges.dp Na Cl", ()),
        "without, beside coul/long 8.0 and pppm 1e-5": (
            "set type 1 charge 1\nset type 2 charge -1\npair_style hybrid/overlay dptrain precision single coul/long 8.0\n"
            "pair_coeff * * dptrain plain.dp Na Cl\npair_coeff * * coul/long\nkspace_style pppm 1e-5", ())}
INPUT = """units metal
atom_style charge
lattice custom 5.8 a1 1 0 0 a2 0 1 0 a3 0 0 1 basis 0 0 0 basis 0.5 0.5 0 basis 0.5 0 0.5 basis 0 0.5 0.5 &
    basis 0.5 0 0 basis 0 0.5 0 basis 0 0 0.5 basis 0.5 0.5 0.5
region box block 0 {cells} 0 {cells} 0 {cells}
create_box 2 box
create_atoms 1 box basis 5 2 basis 6 2 basis 7 2 basis 8 2
mass 1 22.99
mass 2 35.453
velocity all create 600 4711
timestep 0.001
{way}
fix n all nve
run {first}
run {steps}
"""


def without_charges(source, target):
    """The same model but for its only term, whose charges are those of a search and no parameters."""
    shutil.copy(source, target)
    with h5py.File(target, "r+") as file:
        tree = json.loads(file.attrs["json"])
        (term,) = tree["model"].pop("terms")
        del tree["model_def_script"]["terms"]
        assert term["type"] == "charges" and term["kind"] == "fixed"
        tree["model"]["@version"] = 2
        file.attrs["json"] = json.dumps(tree)


def cost(folder, way, atoms, ranks):
    """us per atom and step, of the second of two runs."""
    steps = max(10, 400000 // atoms)
    cells = round((atoms / 8) ** (1 / 3))
    (folder / "in.cost").write_text(INPUT.format(cells=cells, way=way, first=max(2, steps // 10), steps=steps))
    run = subprocess.run(["mpiexec", "-n", str(ranks), "lmp", "-in", "in.cost"], cwd=folder, check=True, capture_output=True, text=True)
    seconds = float(re.findall(r"Loop time of (\S+)", run.stdout)[-1])
    return 1e6 * seconds / steps / atoms


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--sizes", type=int, nargs="+", default=[216, 512, 1728, 21952, 216000], help="atoms, about")
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--repeat", type=int, default=3, help="the fastest of so many counts")
    options = parser.parse_args()
    sizes = [8 * round((size / 8) ** (1 / 3)) ** 3 for size in options.sizes]
    print(f"| way | ranks | {' | '.join(f'{size} atoms' for size in sizes)} |\n|{'---|' * (2 + len(sizes))}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        shutil.copy(options.model, folder / "charges.dp")
        without_charges(folder / "charges.dp", folder / "plain.dp")
        for ranks in options.ranks:
            rows = {name: [] for name in WAYS}
            for size in sizes:
                best = dict.fromkeys(WAYS, float("inf"))
                for _ in range(options.repeat):  # in turn: the machine is not always as fast
                    for name, (way, possible) in WAYS.items():
                        if not possible or size in possible:
                            best[name] = min(best[name], cost(folder, way, size, ranks))
                for name, value in best.items():
                    rows[name].append(f"{value:.3g}" if value < float("inf") else "")
            for name, row in rows.items():
                print(f"| {name} | {ranks} | {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
