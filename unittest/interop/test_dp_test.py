"""`dptrain test` against `dp test` of DeePMD-kit on the same model and data: printed lines and detail files.

Needs DeePMD-kit 3.2 with PyTorch: DPTRAIN_DEEPMD names its `dp`, or `dp` is on the PATH.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

BIN = Path(sys.executable).parent
HERE = Path(__file__).resolve().parent
REFERENCE = HERE.parent / "reference"
PATIENT = {"MPIR_CVAR_CH4_PROGRESS_THROTTLE": "1", "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT": "64",
           "MPIR_CVAR_ENABLE_HEAVY_YIELD": "1"}
WATER, METAL = REFERENCE / "train_a" / "model.dp", REFERENCE / "triclinic_3type_two_side" / "model.dp"
# the same formulas in another order of the sums, and tables that follow the nets to 1e-12
TOLERANCE = 1e-10


# ------------------------------------------------------------------------------------------- data


class Data:
    """Labeled frames of three metals with random labels, as systems below one folder."""

    def __init__(self, folder):
        self.folder, self.random = folder, np.random.default_rng(5)

    def frames(self, natoms, count, size):
        """count frames: atoms around the points of a grid in a triclinic cell."""
        grid = np.array([(i, j, k) for i in range(3) for j in range(3) for k in range(3)]) / 3
        cell = size * (np.eye(3) + 0.15 * self.random.standard_normal((count, 3, 3)))
        places = np.stack([grid[self.random.permutation(27)[:natoms]] for _ in range(count)])
        coord = (places + 0.08 * self.random.random((count, natoms, 3))) @ cell
        return coord, cell

    def write(self, name, types, count=4, size=6.0, names="Ni Al Cu", without=(), nopbc=False, sets=1, mixed=None):
        """One system in npy format. `mixed`: types of each frame."""
        natoms = len(types)
        coord, cell = self.frames(natoms, count, size)
        normal = self.random.standard_normal
        arrays = dict(coord=coord, box=cell, energy=10 * normal(count), force=normal((count, natoms, 3)), virial=normal((count, 9)),
                      atom_ener=normal((count, natoms)), atom_pref=self.random.integers(0, 3, (count, natoms)).astype(float))
        if mixed is not None:
            arrays["real_atom_types"] = np.array(mixed)
        root = self.folder / name
        for k, rows in enumerate(np.array_split(np.arange(count), sets)):
            (root / f"set.{k:03}").mkdir(parents=True)
            for key, value in arrays.items():
                if key not in without:
                    np.save(root / f"set.{k:03}" / f"{key}.npy", value[rows].reshape(len(rows), -1).squeeze(1) if key == "energy" else value[rows].reshape(len(rows), -1))
        (root / "type.raw").write_text("\n".join(map(str, types)) + "\n")
        (root / "type_map.raw").write_text("\n".join(names.split()) + "\n")
        if nopbc:
            (root / "nopbc").touch()
        return root

    def join(self, name, small, large):
        """One system of the frames of two, the small ones padded with virtual atoms."""
        atoms = [len((root / "type.raw").read_text().split()) for root in (small, large)]
        root = self.folder / name
        (root / "set.000").mkdir(parents=True)
        for path in (small / "set.000").iterdir():
            a, b = np.load(path), np.load(large / "set.000" / path.name)
            if a.shape[1:] != b.shape[1:]:
                width = (atoms[1] - atoms[0]) * a.shape[1] // atoms[0]
                a = np.pad(a, ((0, 0), (0, width)), constant_values=-1 if path.stem == "real_atom_types" else 0)
            np.save(root / "set.000" / path.name, np.concatenate((a, b)))
        for file in ("type.raw", "type_map.raw"):
            shutil.copy(large / file, root / file)


EXTRA = ("atom_ener", "atom_pref")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("systems")
    made = Data(folder)
    made.write("a/cluster", [0, 1, 1, 2, 0], count=3, nopbc=True, without=EXTRA)
    made.write("a/crystal", [2, 0, 1, 1, 0, 2, 2, 0, 1], count=7, sets=3, without=EXTRA)
    made.write("b/energies", [1, 2] * 6, count=2, without=(*EXTRA, "force", "virial"))
    made.write("b/no_energy", [0] * 4, count=5, names="Cu", without=(*EXTRA, "energy"))
    made.write("weighted", [0, 1, 2, 1, 0, 2], count=3)
    made.write("mixed", [0] * 6, count=5, without=EXTRA, mixed=made.random.integers(0, 3, (5, 6)))
    four = made.write("parts/four", [0] * 4, count=3, without=EXTRA, mixed=made.random.integers(0, 3, (3, 4)))
    six = made.write("parts/six", [0] * 6, count=2, without=EXTRA, mixed=made.random.integers(0, 3, (2, 6)))
    made.join("padded", four, six)
    (folder / "list.txt").write_text(f"{folder}/b/energies\n{folder}/a/crystal\n")
    training = {"training_data": {"systems": ["a", "b/energies"]}, "validation_data": {"systems": "b"}, "numb_steps": 1}
    section = {"type_map": ["Al", "Cu", "Ni"], "descriptor": {"type": "se_e2_a", "sel": [10, 10, 10]}, "fitting_net": {}}
    (folder / "input.json").write_text(json.dumps({"model": section, "learning_rate": {}, "loss": {}, "training": training}))
    return folder


# ------------------------------------------------------------------------------------------- both programs

# name: model, arguments of deepmd.entrypoints.test.test; {data} is the folder of the systems
TASKS = {
    "water": (WATER, dict(system=str(REFERENCE / "train_a" / "system"))),
    "folder": (METAL, dict(system="{data}/a")),
    "list": (METAL, dict(datafile="{data}/list.txt")),
    "first": (METAL, dict(system="{data}/a/crystal", numb_test=4)),
    "missing": (METAL, dict(system="{data}/b")),
    "atomic": (METAL, dict(system="{data}/weighted", atomic=True)),
    "mixed": (METAL, dict(system="{data}/mixed")),
    "parts": (METAL, dict(system="{data}/parts")),
    "train": (METAL, dict(train_json="{data}/input.json")),
    "valid": (METAL, dict(valid_json="{data}/input.json")),
}
WORDS = dict(system="-s", datafile="-f", numb_test="-n", atomic="-a", train_json="--train-data", valid_json="--valid-data")


def arguments_of(name, data):
    return {key: value.format(data=data) if isinstance(value, str) else value for key, value in TASKS[name][1].items()}


@pytest.fixture(scope="module")
def dp():
    """DeePMD-kit's executable; its Python lies beside it."""
    path = os.environ.get("DPTRAIN_DEEPMD") or shutil.which("dp")
    if not path:
        pytest.skip("DeePMD-kit is not here: set DPTRAIN_DEEPMD to its dp executable")
    return Path(path)


@pytest.fixture(scope="module")
def theirs(dp, data, tmp_path_factory):
    """{name: lines} of DeePMD-kit, and its folder with the detail files."""
    folder = tmp_path_factory.mktemp("theirs")
    tasks = [dict(dp=str(model), pth=str(folder / (model.parent.name + ".pth")), arguments={**arguments_of(name, data), "detail_file": f"{folder}/{name}"})
             for name, (model, _) in TASKS.items()]
    (folder / "tasks.json").write_text(json.dumps(tasks))
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "", "DP_INTRA_OP_PARALLELISM_THREADS": "1", "DP_INTER_OP_PARALLELISM_THREADS": "1"}
    done = subprocess.run([str(dp.parent / "python"), str(HERE / "dp_test_with_deepmd.py"), "tasks.json", "output.json"], cwd=folder, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr[-3000:]
    return folder, dict(zip(TASKS, json.loads((folder / "output.json").read_text())))


def run_task(folder, name, data, ranks, detail):
    """Lines of `dptrain test` with the arguments of a task."""
    words = []
    for key, value in arguments_of(name, data).items():
        words += [WORDS[key]] if value is True else [WORDS[key], str(value)]
    return run_ours(folder, TASKS[name][0], words, ranks, detail)


def run_ours(folder, model, words, ranks, detail):
    """Lines of `dptrain test` in LAMMPS."""
    words = ["-m", str(model), "-d", str(detail), *words]
    (folder / "in.test").write_text("dptrain test " + " ".join(words) + "\n")
    done = subprocess.run([str(BIN / "mpiexec"), "-n", str(ranks), str(BIN / "lmp"), "-in", "in.test", "-log", "none"], cwd=folder, capture_output=True, text=True, timeout=300,
                          env={"OMP_NUM_THREADS": "1", **PATIENT, **os.environ})
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    return done.stdout.splitlines()


def report_in(lines):
    """From the first line of the report to the last one."""
    first = next(k for k, line in enumerate(lines) if "output of dp test" in line)
    last = len(lines) - next(k for k, line in enumerate(reversed(lines)) if line.startswith("# ------"))
    return lines[first:last]


def words_and_numbers(line):
    """A line with its numbers taken out, and the numbers."""
    words, numbers = [], []
    for word in line.split():
        try:
            numbers.append(float(word))
            words.append("NUMBER")
        except ValueError:
            words.append(word)
    return words, numbers


# ------------------------------------------------------------------------------------------- tests


@pytest.mark.parametrize("ranks", (1, 2))
@pytest.mark.parametrize("name", TASKS)
def test_report_and_details_of_dp_test(name, ranks, theirs, data, tmp_path):
    folder, printed = theirs
    ours = report_in(run_task(tmp_path, name, data, ranks, tmp_path / "ours"))
    expected = report_in(printed[name])
    compare_lines(ours, expected)
    compare_details(tmp_path / "ours", folder / name)


def compare_lines(ours, expected):
    assert len(ours) == len(expected)
    for a, b in zip(ours, expected):
        words_a, numbers_a = words_and_numbers(a)
        words_b, numbers_b = words_and_numbers(b)
        assert words_a == words_b
        # seven digits are printed: the last one may be rounded the other way
        assert np.allclose(numbers_a, numbers_b, rtol=1.1e-6, atol=0), (a, b)


def compare_details(ours, expected):
    """Files PREFIX.*.out of two prefixes."""
    files = sorted(path.name[len(expected.name):] for path in expected.parent.glob(f"{expected.name}.*.out"))
    assert files == sorted(path.name[len(ours.name):] for path in ours.parent.glob(f"{ours.name}.*.out"))
    assert {".e.out", ".f.out", ".v.out", ".e_peratom.out", ".v_peratom.out"} <= set(files)
    for suffix in files:
        a, b = (Path(str(prefix) + suffix).read_text().splitlines() for prefix in (ours, expected))
        assert [line for line in a if line[0] == "#"] == [line for line in b if line[0] == "#"], suffix
        a, b = (np.array([[float(word) for word in line.split()] for line in text if line[0] != "#"]) for text in (a, b))
        assert a.shape == b.shape
        if suffix in (".e.out", ".f.out", ".v.out"):
            assert np.array_equal(a[:, : a.shape[1] // 2], b[:, : b.shape[1] // 2]), suffix
        assert np.abs(a - b).max() <= TOLERANCE * max(1.0, np.abs(b).max()), suffix


def test_virtual_atoms_do_not_count(theirs, data, tmp_path):
    """Padded frames of two sizes have the errors of the two systems without padding together."""
    ours = report_in(run_ours(tmp_path, METAL, ["-s", f"{data}/padded"], 2, tmp_path / "ours"))
    errors = [[line for line in lines[-14:] if " : " in line or ": " in line] for lines in (ours, report_in(theirs[1]["parts"]))]
    errors = [[line for line in lines if line[0] != "#"] for lines in errors]
    assert len(errors[0]) == 12
    compare_lines(*errors)
    forces = np.loadtxt(tmp_path / "ours.f.out")
    assert np.abs(forces - np.loadtxt(theirs[0] / "parts.f.out")).max() <= TOLERANCE * np.abs(forces).max()


def test_details_do_not_depend_on_the_ranks(dp, data, tmp_path):
    texts = []
    for ranks in (1, 3):
        run_task(tmp_path, "first", data, ranks, tmp_path / f"ranks{ranks}")
        texts.append({path.name.split(".", 1)[1]: path.read_text() for path in tmp_path.glob(f"ranks{ranks}.*.out")})
    assert texts[0] == texts[1] and len(texts[0]) == 6
