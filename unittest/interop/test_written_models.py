"""Model files and data sets written by `fix dptrain`, read by others.

Always: an independent numpy reading of the written .dp gives the energies and forces of `pair_style dptrain`.
With DeePMD-kit (environment variable DPTRAIN_DEEPMD = its `dp` executable, or `dp` on the PATH): `dp convert-backend`
accepts the file, energies and forces agree, `dp test` and dpdata read the data set.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy_model import NumpyModel, read_tree

BIN = Path(sys.executable).parent
REFERENCE = Path(__file__).resolve().parents[1] / "reference"
HERE = Path(__file__).resolve().parent
NKTV2P = 1.6021765e6

# Reference cases whose model is trained a few steps and written again: together every field of the file.
TUNED = [
    "one_side", "two_side", "exclude_both_overflow", "pair_exclude_two_side", "atom_exclude", "gelu", "silut_silu", "relu6_relu",
    "env_protection", "embedding_resnet_dt", "float32", "float32_fitting", "atom_ener", "triclinic_3type_two_side",
]

# New models, from the `model` section of an input.json.
SMALL = {"descriptor": {"type": "se_e2_a", "rcut": 4.0, "rcut_smth": 0.5, "neuron": [4, 8], "axis_neuron": 4, "seed": 3}, "fitting_net": {"neuron": [8, 8], "seed": 4}}
NEW = {
    "new_plain": SMALL,
    "new_one_side_gelu": {"descriptor": {**SMALL["descriptor"], "sel": [24, 48], "type_one_side": True, "resnet_dt": True, "activation_function": "gelu", "set_davg_zero": True},
                          "fitting_net": {**SMALL["fitting_net"], "resnet_dt": False, "activation_function": "softplus"}},
    "new_float32": {"descriptor": {**SMALL["descriptor"], "precision": "float32", "exclude_types": [[0, 0]]}, "fitting_net": {**SMALL["fitting_net"], "precision": "float32"}},
    "new_excluded": {"descriptor": {**SMALL["descriptor"], "env_protection": 0.01}, "fitting_net": SMALL["fitting_net"], "pair_exclude_types": [[1, 1]], "atom_exclude_types": [1]},
}

TRAIN = """units metal
boundary {boundary}
atom_modify map yes
neighbor 2.0 bin
read_data {data}
pair_style dptrain
pair_coeff * * {model} {elements}
fix learn all dptrain {input} reference pair lj/cut 4.0 coeff "* * 0.02 1.2" end mode passive every 1 train 2 warmup 2 batch 2 save 100 written.dp dataset dataset
fix move all nve/limit 0.02
timestep 1e-4
run 3
"""

EVALUATE = """clear
units metal
boundary {boundary}
atom_modify map yes
neighbor 2.0 bin
read_data {data}
pair_style dptrain
pair_coeff * * written.dp {elements}
compute pea all pe/atom
thermo_style custom step pe pxx pyy pzz pxy pxz pyz vol
dump 1 all custom 1 result.dump id fx fy fz c_pea
dump_modify 1 sort id format float %.17g
run 0
print "RESULT $(pe:%.17g)"
"""


class Written:
    """A model file made by the fix, and the pair style's results for one frame."""

    def __init__(self, name, folder):
        self.folder, self.path = folder, folder / "written.dp"
        case = REFERENCE / (name if name in TUNED else "one_side")
        expected = json.loads((case / "expected.json").read_text())
        frame = max(expected["frames"], key=lambda f: f["natoms"])
        self.type_map = expected["type_map"]
        self.coord, self.types = np.array(frame["coord"]), frame["types"]
        self.box = np.reshape(frame["box"], (3, 3)) if frame["pbc"] else None
        self.float32 = "float32" in name
        words = dict(boundary="p p p" if frame["pbc"] else "f f f", data=case / frame["data"], elements=" ".join(frame["lammps_elements"]), model=case / "model.dp", input="")
        if name in NEW:
            section = {"type_map": self.type_map, **NEW[name]}
            (folder / "input.json").write_text(json.dumps({"model": section, "learning_rate": {"start_lr": 1e-3}, "training": {"numb_steps": 100}}))
            words.update(model="input.json", input="input input.json")
        (folder / "in.test").write_text(TRAIN.format(**words) + EVALUATE.format(**words))
        done = subprocess.run([str(BIN / "mpiexec"), "-n", "1", str(BIN / "lmp"), "-in", "in.test", "-log", "none"], cwd=folder, capture_output=True, text=True, timeout=300)
        self.status, self.output = done.returncode, done.stdout + done.stderr
        if self.status == 0:
            self.energy = float(next(line.split()[1] for line in self.output.splitlines() if line.startswith("RESULT")))
            dump = np.loadtxt(folder / "result.dump", skiprows=9, ndmin=2)
            self.force, self.atom_energy = dump[:, 1:4], dump[:, 4]


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Function: name -> Written, made once."""
    made = {}

    def get(name):
        if name not in made:
            made[name] = Written(name, tmp_path_factory.mktemp(name))
        assert made[name].status == 0, made[name].output[-3000:]
        return made[name]

    return get


@pytest.mark.parametrize("name", TUNED + list(NEW))
def test_numpy_reads_the_written_model(name, written):
    made = written(name)
    model = NumpyModel(made.path)
    assert model.type_map == made.type_map
    energies = model.atom_energies(made.coord, made.types, made.box)
    # energies depend on the table of the embedding net, which follows it to 1e-12 of the net's range
    assert np.abs(made.atom_energy - energies).max() <= 1e-12 * max(1.0, np.abs(energies).max())
    if name.startswith("relu") or "overflow" in name:
        return  # kinks, and neighbors that change places: no finite differences
    for i, k in ((0, 0), (len(made.types) - 1, 2)):
        force = model.force(made.coord, made.types, made.box, i, k)
        assert made.force[i, k] == pytest.approx(force, abs=1e-7 * max(1.0, np.abs(made.force).max()))


@pytest.mark.parametrize("name", TUNED)
def test_fine_tuning_keeps_what_is_not_trained(name, written):
    """Everything in the tree except weights, energy bias and time stamps is what the file had before."""
    before, after = (read_tree(p) for p in (REFERENCE / name / "model.dp", written(name).path))

    def compare(a, b, where):
        if isinstance(a, dict):
            for key in a:
                assert key in b, f"{where}/{key} is lost"
                compare(a[key], b[key], f"{where}/{key}")
        elif isinstance(a, list):
            assert len(a) == len(b), where
            for k, (x, y) in enumerate(zip(a, b)):
                compare(x, y, f"{where}/{k}")
        elif isinstance(a, np.ndarray):
            assert np.shape(a) == np.shape(b) and np.asarray(a).dtype == np.asarray(b).dtype, where
            if where.endswith(("davg", "dstd")):
                assert np.array_equal(a, b), where
        else:
            assert a == b, where

    compare(before["model"], after["model"], "")
    layer = before["model"]["fitting"]["nets"]["networks"][0]["layers"][0]["@variables"]["w"]
    assert not np.array_equal(layer, after["model"]["fitting"]["nets"]["networks"][0]["layers"][0]["@variables"]["w"])


# ------------------------------------------------------------------------------------------- with DeePMD-kit


@pytest.fixture(scope="module")
def dp():
    """DeePMD-kit's executable; its Python lies beside it."""
    path = os.environ.get("DPTRAIN_DEEPMD") or shutil.which("dp")
    if not path:
        pytest.skip("DeePMD-kit is not here: set DPTRAIN_DEEPMD to its dp executable")
    return Path(path)


def clean_environment():
    return {**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "", "DP_INTRA_OP_PARALLELISM_THREADS": "1", "DP_INTER_OP_PARALLELISM_THREADS": "1"}


@pytest.fixture(scope="module")
def deepmd_results(dp, written, tmp_path_factory):
    """DeePMD-kit's results for all written models, {name: {quantity: array}}."""
    # 3.2.0 cannot evaluate a frozen model with atom_ener (in-place operation on a view in TorchScript)
    names = [n for n in TUNED + list(NEW) if n != "atom_ener"]
    folder = tmp_path_factory.mktemp("deepmd")
    tasks = [dict(dp=str(written(n).path), pth=str(folder / f"{n}.pth"), coord=written(n).coord.tolist(), types=written(n).types,
                  box=None if written(n).box is None else written(n).box.ravel().tolist()) for n in names]
    (folder / "tasks.json").write_text(json.dumps(tasks))
    done = subprocess.run([str(dp.parent / "python"), str(HERE / "evaluate_with_deepmd.py"), "tasks.json", "results.npz"], cwd=folder, capture_output=True, text=True, env=clean_environment())
    assert done.returncode == 0, done.stderr[-3000:]
    arrays = np.load(folder / "results.npz")
    return {n: {q: arrays[f"{q}{k}"] for q in ("energy", "force", "virial", "atom_energy")} for k, n in enumerate(names)}


@pytest.mark.parametrize("name", [n for n in TUNED + list(NEW) if n != "atom_ener"])
def test_deepmd_computes_the_same(name, written, deepmd_results):
    made, theirs = written(name), deepmd_results[name]
    tolerance = 1e-5 if made.float32 else 1e-12  # DeePMD-kit computes float32 models in float32
    assert abs(made.energy - theirs["energy"][0]) <= tolerance * np.abs(made.atom_energy).sum()
    assert np.abs(made.atom_energy - theirs["atom_energy"]).max() <= tolerance * max(1.0, np.abs(made.atom_energy).max())
    # forces are sums of pair terms that cancel, and read the derivative of the table
    assert np.abs(made.force - theirs["force"]).max() <= max(tolerance, 1e-11) * max(1.0, np.abs(made.force).max())


def test_dp_convert_backend_command(dp, written, tmp_path):
    out = tmp_path / "out.pth"
    done = subprocess.run([str(dp), "convert-backend", str(written("new_plain").path), str(out)], capture_output=True, text=True, env=clean_environment())
    assert done.returncode == 0 and out.exists(), done.stderr[-3000:]


def test_dp_test_reads_the_data_set(dp, written, tmp_path):
    made = written("new_plain")
    systems = [p.parent for p in (made.folder / "dataset").rglob("type.raw")]
    assert len(systems) == 1
    subprocess.run([str(dp), "convert-backend", str(made.path), str(tmp_path / "out.pth")], check=True, capture_output=True, env=clean_environment())
    done = subprocess.run([str(dp), "--pt", "test", "-m", "out.pth", "-s", str(systems[0]), "-n", "100", "-d", "detail"], cwd=tmp_path, capture_output=True, text=True, env=clean_environment())
    assert done.returncode == 0, done.stderr[-3000:]
    labels = np.loadtxt(next(tmp_path.glob("detail.e.out")), ndmin=2)[:, 0]
    assert np.allclose(labels, np.concatenate([np.load(p) for p in sorted(systems[0].glob("set.*/energy.npy"))]), rtol=1e-12, atol=0)


def test_dpdata_reads_the_data_set(dp, written):
    made = written("new_plain")
    system = next((made.folder / "dataset").rglob("type.raw")).parent
    code = ("import sys, dpdata; s = dpdata.LabeledSystem(sys.argv[1], fmt='deepmd/npy'); "
            "print(s.get_nframes(), s.get_natoms(), ' '.join(s['atom_names']), s['forces'].shape, 'virials' in s.data)")
    done = subprocess.run([str(dp.parent / "python"), "-c", code, str(system)], capture_output=True, text=True, env=clean_environment())
    if "No module named 'dpdata'" in done.stderr:
        pytest.skip("dpdata is not installed beside DeePMD-kit")
    assert done.returncode == 0, done.stderr[-3000:]
    frames = sum(len(np.load(p)) for p in system.glob("set.*/energy.npy"))
    assert done.stdout.split()[:4] == [str(frames), str(len(made.types)), *made.type_map], done.stdout
    assert done.stdout.split()[-1] == "True", "the virial is missing"
