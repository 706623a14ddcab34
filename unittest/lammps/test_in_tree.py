"""LAMMPS with the package inside (tools/build-in-tree): what LAMMPS says of it, and a plugin beside it. Skipped for a plugin."""

import os
import subprocess
from pathlib import Path

import pytest

from lammps_runner import LAMMPS, lammps_packages, lammps_variables
from silicon import ATOMS

PACKAGES = lammps_packages()
PLUGIN = Path(os.environ.get("DPTRAIN_BUILD", Path(__file__).parents[2] / "build-wheel")) / "src" / "USER-DPTRAIN" / "dptrainplugin.so"

pytestmark = pytest.mark.skipif("USER-DPTRAIN" not in PACKAGES, reason="the package is not inside this LAMMPS")


def test_lammps_knows_the_package(lammps):
    text = lammps("info config\n").check().output
    assert "USER-DPTRAIN" in text.partition("Installed packages")[2]


def test_help_lists_the_styles():
    text = subprocess.run([str(LAMMPS), "-h"], capture_output=True, text=True, env=lammps_variables()).stdout
    styles = text.partition("List of individual style options")[2].split()
    assert {"dptrain", "dptrain/uncertainty/atom"} <= set(styles)


def test_models_of_the_package_are_found_by_name(lammps):
    lammps(f"{ATOMS}pair_style dptrain\npair_coeff * * Si.mlearn.dp Si\nrun 0\n", LAMMPS_POTENTIALS="/nowhere").check()


@pytest.mark.skipif("KOKKOS" in PACKAGES, reason="this LAMMPS has the KOKKOS package")
@pytest.mark.parametrize("command", ["pair_style dptrain/kk", "fix t all dptrain/kk reference run", "compute u all dptrain/uncertainty/atom/kk"])
def test_names_of_kokkos_say_what_is_missing(command, lammps):
    result = lammps(f"{ATOMS}{command}\n")
    assert result.status != 0
    assert any("needs a LAMMPS with the KOKKOS package" in line for line in result.errors())


@pytest.mark.skipif("PLUGIN" not in PACKAGES or not PLUGIN.exists(), reason="no PLUGIN package, or no plugin was built")
def test_a_plugin_is_left_alone(lammps):
    result = lammps(f"plugin load {PLUGIN}\n{ATOMS}pair_style dptrain\npair_coeff * * Si.mlearn.dp Si\nrun 0\nplugin list\n").check()
    if f"Open of file {PLUGIN} failed" in result.output:
        pytest.skip("the plugin is for another machine")
    assert "has the package USER-DPTRAIN inside" in result.output
    assert "pair style plugin dptrain" not in result.output
