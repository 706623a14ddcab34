"""Potentials frozen by DeePMD-kit 3.2 in pair_style dptrain and fix dptrain, against DeePMD-kit's Python and `lmp`.

DPTRAIN_DEEPMD names DeePMD-kit's `dp` (or `dp` is on the PATH); its Python makes the models. Programs of the build are in
DPTRAIN_BUILD, or build/.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

HERE = Path(__file__).resolve().parent
BIN = Path(sys.executable).parent
BUILD = Path(os.environ.get("DPTRAIN_BUILD", HERE.parents[1] / "build"))
DP = os.environ.get("DPTRAIN_DEEPMD") or shutil.which("dp")
pytestmark = [pytest.mark.story("interop"),
              pytest.mark.skipif(not DP, reason="DeePMD-kit is not here: set DPTRAIN_DEEPMD to its dp executable")]

NKTV2P = 1.6021765e6
LOCAL = ["se_e2_a", "se_e3", "se_atten_v2", "dpa1", "dpa1_strip", "hybrid", "zbl", "excluded_pairs", "no_hydrogen", "small_sel",
         "default_fparam", "fparam"]
MESSAGES = ["dpa2", "dpa3", "hybrid_messages"]
FPARAM = {"fparam": [0.2, 0.4]}
ATOMS = 24
QUIET = {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "", "DP_INTRA_OP_PARALLELISM_THREADS": "1", "DP_INTER_OP_PARALLELISM_THREADS": "1",
         "MPIR_CVAR_CH4_PROGRESS_THROTTLE": "1", "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT": "64", "MPIR_CVAR_ENABLE_HEAVY_YIELD": "1"}

INPUT = """units metal
read_data {data}
pair_style {style}
pair_coeff * * {coeff}
compute e all pe/atom
thermo_style custom step pe pxx pyy pzz pxy pxz pyz vol
dump 1 all custom 1 out.dump id fx fy fz c_e
dump_modify 1 sort id format float %.17g
run 0
print "RESULT $(pe:%.17g) $(pxx*vol:%.17g) $(pyy*vol:%.17g) $(pzz*vol:%.17g) $(pxy*vol:%.17g) $(pxz*vol:%.17g) $(pyz*vol:%.17g)"
"""


def run(command, folder, **variables):
    done = subprocess.run(list(map(str, command)), cwd=folder, capture_output=True, text=True, timeout=500,
                          env={**os.environ, **QUIET, **variables})
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    return done.stdout


def deepmd(folder, *words, version=""):
    """A script or program of the environment of DeePMD-kit; `version` is a folder with another version of its package."""
    return run([Path(DP).parent / words[0], *words[1:]], folder, PYTHONPATH=str(version), LAMMPS_PLUGIN_PATH="")


def frame():
    """Atoms at random places that are not too close, in a tilted cell."""
    random = np.random.default_rng(1)
    cell = np.array([[7.0, 0, 0], [0.4, 7.3, 0], [0, -0.3, 7.6]])
    coord = []
    while len(coord) < ATOMS:
        new = random.random(3)
        away = [np.linalg.norm((d - np.round(d)) @ cell) for d in np.array(coord).reshape(-1, 3) - new]
        if not away or min(away) > 1.0:
            coord.append(new)
    return np.array(coord) @ cell, np.repeat([0, 1], [8, 16]), cell


def write_data(path, coord, types, cell):
    lines = ["frame\n", f"{len(types)} atoms", "2 atom types", *(f"0 {cell[k, k]} {'xyz'[k]}lo {'xyz'[k]}hi" for k in range(3)),
             f"{cell[1, 0]} {cell[2, 0]} {cell[2, 1]} xy xz yz\n", "Masses\n", "1 16.0", "2 1.0\n", "Atoms\n"]
    lines += [f"{i + 1} {t + 1} {x:.17g} {y:.17g} {z:.17g}" for i, (t, (x, y, z)) in enumerate(zip(types, coord))]
    path.write_text("\n".join(lines) + "\n")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Folder with models, frame.data, a system and what DeePMD-kit says of the frame."""
    folder = tmp_path_factory.mktemp("archives")
    deepmd(folder, "python", HERE / "make_script_models.py", folder)
    write_frame(folder)
    names = LOCAL + MESSAGES + ["float32"]
    deepmd(folder, "python", HERE / "evaluate_archives.py", "frame.json", "expected.json", *(f"{name}.pth" for name in names))
    return folder


def write_frame(folder):
    """frame.data, frame.json and the system of the frame."""
    coord, types, cell = frame()
    write_data(folder / "frame.data", coord, types, cell)
    (folder / "frame.json").write_text(json.dumps({"coord": coord.tolist(), "box": cell.reshape(-1).tolist(), "types": types.tolist(),
                                                   "fparam": FPARAM}))
    write_system(folder / "system", coord, types, cell)


def write_system(folder, coord, types, cell):
    """Two frames with random labels."""
    random = np.random.default_rng(5)
    (folder / "set.000").mkdir(parents=True)
    np.savetxt(folder / "type.raw", types, fmt="%d")
    (folder / "type_map.raw").write_text("O\nH\n")
    arrays = {"coord": (coord + 0.05 * random.normal(size=(2, *coord.shape))).reshape(2, -1), "box": np.repeat(cell.reshape(1, 9), 2, 0),
              "energy": np.array([-20.0, -21.0]), "force": random.normal(size=(2, 3 * len(types))), "virial": random.normal(size=(2, 9))}
    for name, values in arrays.items():
        np.save(folder / "set.000" / f"{name}.npy", values)


def evaluate(folder, made, style, coeff, lmp=(BIN / "mpiexec", "-n", 1, BIN / "lmp")):
    """Energy, forces, virial (xx yy zz xy xz yz), atomic energies."""
    (folder / "in.one").write_text(INPUT.format(data=made / "frame.data", style=style, coeff=coeff))
    text = run([*lmp, "-in", "in.one", "-log", "none"], folder)
    (words,) = [line.split()[1:] for line in text.splitlines() if line.startswith("RESULT")]
    numbers = np.array(words, float)
    rows = np.loadtxt(folder / "out.dump", skiprows=9)
    return numbers[0], rows[:, 1:4], numbers[1:] / NKTV2P, rows[:, 4]


def command(folder, line):
    (folder / "in.command").write_text(line + "\n")
    return run([BIN / "lmp", "-in", "in.command", "-log", "none"], folder)


def check(found, expected, tolerance):
    energy, force, virial, atom_energy = found
    full = np.array(expected["virial"])
    symmetric = 0.5 * (full + full.T)[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
    assert abs(energy - expected["energy"]) <= tolerance
    assert np.abs(force - expected["force"]).max() <= tolerance
    # LAMMPS' conversion of pressures has 8 digits
    assert np.abs(virial - symmetric).max() <= max(tolerance, 2e-8 * np.abs(symmetric).max())
    assert np.abs(atom_energy - expected["atom_energy"]).max() <= tolerance


@pytest.mark.parametrize("ranks", [1, 2, 4])
@pytest.mark.parametrize("name", LOCAL + MESSAGES)
def test_equal_to_python(name, ranks, made, tmp_path):
    style = "dptrain" + (" fparam 0.2 0.4" if name == "fparam" else "")
    found = evaluate(tmp_path, made, style, f"{made}/{name}.pth O H", (BIN / "mpiexec", "-n", ranks, BIN / "lmp"))
    # the same program in the same precision: only sums over blocks and ranks have another order
    check(found, json.loads((made / "expected.json").read_text())[name], 1e-10)


def test_float32(made, tmp_path):
    expected = json.loads((made / "expected.json").read_text())["float32"]
    check(evaluate(tmp_path, made, "dptrain precision single", f"{made}/float32.pth O H"), expected, 1e-5)


def test_se_e2_a_becomes_native(made, tmp_path):
    native = evaluate(tmp_path, made, "dptrain native yes", f"{made}/se_e2_a.pth O H")
    script = evaluate(tmp_path, made, "dptrain native no", f"{made}/se_e2_a.pth O H")
    for a, b in zip(native, script):
        assert np.abs(a - b).max() <= 1e-12 * max(1.0, np.abs(b).max())


INPUT_JSON = {
    "learning_rate": {"type": "exp", "start_lr": 1e-3, "stop_lr": 1e-3}, "optimizer": {"type": "Adam"},
    "loss": {"type": "ener", "start_pref_e": 1, "limit_pref_e": 1, "start_pref_f": 10, "limit_pref_f": 10, "start_pref_v": 0.5, "limit_pref_v": 0.5},
    "training": {"numb_steps": 1000},
}


def norm(values):
    return np.sqrt(sum(np.sum(np.square(v)) for v in values.values()))


@pytest.mark.parametrize("name", ["dpa1", "se_atten_v2", "se_e3", "hybrid", "zbl", "excluded_pairs", "default_fparam", "dpa2", "dpa3"])
def test_gradient_and_adam(name, made, tmp_path):
    (tmp_path / "input.json").write_text(json.dumps(INPUT_JSON))
    deepmd(tmp_path, "python", HERE / "train_with_deepmd.py", made / f"{name}.pth", made / "system", 20, "expected.json")
    expected = json.loads((tmp_path / "expected.json").read_text())
    ways = [(1, "space", []), (2, "frames", [])] + ([] if name in MESSAGES else [(1, "space", [7]), (2, "space", [5])])
    for ranks, distribution, chunk in ways:
        words = [BUILD / "unittest/lib/loss_gradient", made / f"{name}.pth", made / "system", "input.json", 20, distribution, *chunk]
        found = json.loads(run([BIN / "mpiexec", "-n", ranks, *words], tmp_path))
        assert set(found["gradient"]) == set(expected["gradient"])
        assert abs(found["loss"] - expected["loss"]) <= 1e-12 * expected["loss"]
        difference = {k: np.subtract(v, expected["gradient"][k]) for k, v in found["gradient"].items()}
        assert norm(difference) <= 1e-9 * norm(expected["gradient"])
        # Adam divides by the size of gradients: those that are nearly 0 make rounding larger
        for key, values in found["parameters"].items():
            assert np.abs(np.subtract(values, expected["parameters"][key])).max() <= 1e-8


TUNE = """units metal
read_data {data}
pair_style {style}
pair_coeff * * {model} O H
fix nve all nve
timestep 1.0e-5
fix t all dptrain reference pair lj/cut 5.0 coeff "* * 0.02 2.0" end mode passive every 5 train 10 save 10000 tuned.pth optimizer adam
run 5
write_data last.data nocoeff
"""


@pytest.mark.parametrize("name", ["se_e2_a", "dpa1", "zbl", "dpa2"])
def test_saved_archives_run_in_deepmd(name, made, tmp_path):
    (tmp_path / "in.tune").write_text(TUNE.format(data=made / "frame.data", style="dptrain", model=made / f"{name}.pth"))
    run([BIN / "mpiexec", "-n", 2, BIN / "lmp", "-in", "in.tune", "-log", "none"], tmp_path)
    ours = evaluate(tmp_path, made, "dptrain", "tuned.pth O H")
    theirs = evaluate(tmp_path, made, f"deepmd {tmp_path}/tuned.pth", "O H", (Path(DP).parent / "lmp",)) if name != "dpa2" else None
    deepmd(tmp_path, "python", HERE / "evaluate_archives.py", made / "frame.json", "expected.json", "tuned.pth")
    expected = json.loads((tmp_path / "expected.json").read_text())["tuned"]
    check(ours, expected, 1e-10)
    if theirs:
        assert np.abs(theirs[1] - expected["force"]).max() <= 1e-9
    before = json.loads((made / "expected.json").read_text())[name]
    assert np.abs(np.array(expected["force"]) - before["force"]).max() > 1e-3  # it has learned something
    facts = """
import json, sys, torch, deepmd.pt.cxx_op
a, b = (torch.jit.load(p) for p in sys.argv[1:])
for m in "get_type_map get_min_nbor_dist get_model_def_script get_rcut".split():
    assert getattr(a, m)() == getattr(b, m)(), m
assert [k for k in a.state_dict()] == [k for k in b.state_dict()] and not a.training
assert [p.requires_grad for p in a.parameters()] == [p.requires_grad for p in b.parameters()]
"""
    deepmd(tmp_path, "python", "-c", facts, tmp_path / "tuned.pth", made / f"{name}.pth")


def test_energy_bias_of_a_bridged_model(made, tmp_path):
    """The constants of a ZBL-bridged model are those of its parts: after the refit the label's energy comes out."""
    text = TUNE.format(data=made / "frame.data", style="dptrain", model=made / "zbl.pth")
    small = {**INPUT_JSON, "learning_rate": {"type": "exp", "start_lr": 1e-12, "stop_lr": 1e-12}}
    (tmp_path / "input.json").write_text(json.dumps(small))
    (tmp_path / "in.tune").write_text(text.replace("train 10", "train 1 input input.json").replace("run 5", "run 0"))
    run([BIN / "lmp", "-in", "in.tune", "-log", "none"], tmp_path)
    label = evaluate(tmp_path, made, "lj/cut 5.0", "0.02 2.0")[0]
    # both were computed anew: rounding of a sum of 24 energies, and a step of 1e-12
    assert abs(evaluate(tmp_path, made, "dptrain", "tuned.pth O H")[0] - label) <= 1e-7


def test_dp_test_reads_saved_archives(made, tmp_path):
    (tmp_path / "in.tune").write_text(TUNE.format(data=made / "frame.data", style="dptrain", model=made / "dpa1.pth"))
    run([BIN / "lmp", "-in", "in.tune", "-log", "none"], tmp_path)
    done = subprocess.run([DP, "--pt", "test", "-m", "tuned.pth", "-s", made / "system"], cwd=tmp_path, capture_output=True, text=True,
                          env={**os.environ, **QUIET, "PYTHONPATH": ""}, timeout=300)
    theirs = [line.split(":")[-1].split()[0] for line in done.stderr.splitlines() if "Force  RMSE" in line]
    text = command(tmp_path, f"dptrain test -m tuned.pth -s {made}/system")
    ours = [line.split(":")[-1].split()[0] for line in text.splitlines() if "Force  RMSE" in line]
    assert theirs and float(theirs[0]) == pytest.approx(float(ours[0]), rel=1e-6)  # printed with 7 digits


@pytest.mark.parametrize("name, words", [("spin", "spin model"), ("dipole", "predicts dipole"), ("aparam", "numb_aparam"), ("fparam", "numb_fparam")])
def test_refused_by_name(name, words, made, tmp_path):
    (tmp_path / "in.one").write_text(INPUT.format(data=made / "frame.data", style="dptrain", coeff=f"{made}/{name}.pth O H"))
    done = subprocess.run([str(BIN / "lmp"), "-in", "in.one", "-log", "none"], cwd=tmp_path, capture_output=True, text=True,
                          env={**os.environ, **QUIET}, timeout=300)
    assert done.returncode != 0 and words in done.stdout + done.stderr


def test_convert_without_deepmd(made, tmp_path):
    command(tmp_path, f"dptrain convert {made}/se_e2_a.pth native.dp")
    native = evaluate(tmp_path, made, "dptrain", "native.dp O H")
    check(native, json.loads((made / "expected.json").read_text())["se_e2_a"], 1e-10)
