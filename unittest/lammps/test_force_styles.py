"""The tests of unittest/force-styles, which LAMMPS' own test_pair_style reads too: energy, stress and forces of pair styles before and
after four steps, from another program (make_tests.py there)."""

import json
from pathlib import Path

import numpy as np
import pytest
import yaml

from lammps_runner import lammps_packages

FOLDER = Path(__file__).resolve().parents[1] / "force-styles"
NKTV2P = 1.6021765e6  # units metal
STRESS = ("xx", "yy", "zz", "xy", "xz", "yz")
KOKKOS = {"KOKKOS", "USER-DPTRAIN"} <= set(lammps_packages())
WAYS = {"plain": ("on", ()), "newton_off": ("off", ()), "kokkos": ("on", ("newton", "on", "neigh", "half")),
        "kokkos_newton_off": ("off", ("newton", "off", "neigh", "full"))}
# the commands of test_pair_style.cpp
INPUT = """variable newton_pair index {newton}
variable input_dir index {folder}
{pre_commands}
include {folder}/{input_file}
pair_style {pair_style}
{coeffs}
pair_modify table 0
pair_modify table/disp 0
{post_commands}
compute s all pressure NULL pair
thermo_style custom step evdwl ecoul vol c_s[*]
thermo_modify format float %.17g
dump f all custom 4 f.dump.* id fx fy fz
dump_modify f sort id format float %.17g
run 0 post no
fix 1 all nve
run 4 post no
"""


def read(file):
    """All values as texts."""
    return yaml.load(file.read_text(), yaml.BaseLoader)


def numbers(text):
    """Table of a block without the ids of its lines."""
    return np.array([line.split()[1:] for line in text.splitlines()], float)


def same(found, expected, tolerance):
    """LAMMPS' comparison: the difference in units of the smaller of the two numbers."""
    found, expected = np.asarray(found), np.asarray(expected)
    scale = np.minimum(np.abs(found), np.abs(expected))
    assert np.all(np.abs(found - expected) <= tolerance * np.where(scale > 0.0, scale, 1.0)), (found - expected) / scale


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("file", sorted(FOLDER.glob("*-pair-*.yaml")), ids=lambda file: file.stem)
def test_pair_style(file, way, lammps):
    if way.startswith("kokkos") and not KOKKOS:
        pytest.skip("LAMMPS has no KOKKOS package with these styles")
    newton, package = WAYS[way]
    test = read(file)
    epsilon = float(test["epsilon"])
    coeffs = "\n".join(f"pair_coeff {line}" for line in test["pair_coeff"].splitlines())
    options = ["-k", "on", "-sf", "kk", "-pk", "kokkos", *package] if package else []
    result = lammps(INPUT.format(folder=FOLDER, newton=newton, coeffs=coeffs, **test), 1, options).check()
    assert not package or "kk/device" in result.output  # of its neighbor list
    thermo = result.thermo()
    for name, row, step in (("init", 0, 0), ("run", -1, 4)):
        assert thermo["Step"][row] == step
        stress = [thermo[f"c_s[{k + 1}]"][row] * thermo["Volume"][row] / NKTV2P for k in range(6)]
        forces = result.dump(f"f.dump.{step}")[:, 1:]
        assert len(forces) == int(test["natoms"])
        same(forces, numbers(test[f"{name}_forces"]), epsilon)
        same(stress, np.array(test[f"{name}_stress"].split(), float), epsilon)
        same([thermo["E_vdwl"][row], thermo["E_coul"][row]], [float(test[f"{name}_vdwl"]), float(test[f"{name}_coul"])], epsilon)


def test_the_numbers_are_those_of_deepmd():
    """Forces of the first frame of a case of unittest/reference, which DeePMD-kit has computed."""
    frame = json.loads((FOLDER.parent / "reference" / "two_side" / "expected.json").read_text())["frames"][0]["python"]
    test = read(FOLDER / "manybody-pair-dptrain_se_e2_a.yaml")
    expected = np.reshape(frame["force"], (-1, 3))
    assert np.abs(numbers(test["init_forces"]) - expected).max() < 1e-9 * np.abs(expected).max()
    assert float(test["init_vdwl"]) == pytest.approx(frame["energy"], rel=1e-12)
