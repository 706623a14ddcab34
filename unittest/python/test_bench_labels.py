"""The part `labels` of the benchmark: frames in the files of the sides, errors, budgets, tables and figures."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))
from dpbench import labels, labels_data, labels_sides  # noqa: E402
from dpbench.errors import BenchError  # noqa: E402

CELL = np.array([[4.0, 0.3, 0.1], [-1.0, 5.0, 0.4], [0.2, -0.7, 6.0]])


def frame(symbols=("Si", "Si", "O"), energy=-1.0, seed=1):
    random = np.random.default_rng(seed)
    n = len(symbols)
    return list(symbols), random.random((n, 3)) @ CELL, CELL, energy, random.standard_normal((n, 3))


def test_cell_of_lammps_keeps_all_distances():
    edges, rotation = labels_data.lammps_cell(CELL)
    assert np.allclose(CELL @ rotation, edges, atol=1e-13)
    assert np.allclose(np.triu(edges, 1), 0, atol=1e-13) and (np.diag(edges) > 0).all()
    assert np.allclose(rotation @ rotation.T, np.eye(3), atol=1e-13)


def test_lammps_file_holds_the_frame(tmp_path):
    symbols, x, cell, *_ = frame()
    path = tmp_path / "frame.data"
    labels_data.write_lammps_data(path, symbols, x - 7 * cell[1], cell, ["O", "Si"])
    rows = np.array([line.split() for line in path.read_text().split("Atoms # atomic")[1].split("\n")[2:5]], float)
    edges, rotation = labels_data.lammps_cell(cell)
    shift = (rows[:, 2:] @ rotation.T - x) @ np.linalg.inv(cell)
    assert rows[:, 1].tolist() == [2, 2, 1]
    assert np.allclose(shift, np.round(shift), atol=1e-12)


def test_npy_systems_have_one_composition_each(tmp_path):
    frames = [frame(), frame(("O", "Si")), frame(seed=2, energy=-3.0)]
    systems = labels_data.write_npy(tmp_path / "data", frames, ["Si", "O"])
    again = [f for system in systems for f in labels_data.read_npy(system)]
    assert [len(f[0]) for f in again] == [3, 3, 2]
    for found, made in zip(again, (frames[0], frames[2], frames[1])):
        assert found[0] == made[0] and found[3] == made[3]
        assert np.array_equal(found[1], made[1]) and np.array_equal(found[4], made[4])


def test_errors_are_root_mean_squares():
    frames = [frame(), frame(("O", "Si"))]
    forces = [frames[0][4] + 0.5, frames[1][4] - 0.5]
    found = labels_data.rmse(frames, [frames[0][3] + 0.3, frames[1][3] - 0.4], forces)
    assert found["rmse_f"] == pytest.approx(0.5, rel=1e-12)
    assert found["rmse_e"] == pytest.approx(np.sqrt((0.1**2 + 0.2**2) / 2), rel=1e-12)


def test_neighbors_are_counted_over_periodic_images():
    cube = (["Si"], np.zeros((1, 3)), 2.0 * np.eye(3), 0.0, np.zeros((1, 3)))
    assert labels_data.most_neighbors([cube], ["Si", "O"], 2.5) == [6, 0]
    assert labels_data.most_neighbors([cube], ["Si"], 2.9) == [18]


class Training(labels_sides.Side):
    """A side whose trainings take 2 s to start and 0.1 s for a step."""

    def __init__(self, step=0.1):
        super().__init__("side", None)
        self.step = step

    def train(self, dataset, frames, steps, seed, folder, seconds):
        return 2.0 + self.step * steps

    def errors(self, dataset, folder):
        return {"rmse_f": 1.0, "rmse_e": 0.1}


def test_budget_becomes_steps_without_the_start(tmp_path):
    dataset = labels_data.Dataset("data", 5.0, [frame()] * 30, [frame()])
    settings = type("Settings", (), {"work": tmp_path})()
    plan = labels.Plan(9.0, (10, 50), (3,))
    points, cost = labels.Work(settings, plan, Training(), dataset).points()
    assert cost == pytest.approx((2.0, 0.1))
    assert [(p["labels"], p["steps"]) for p in points] == [(30, 90), (30, 30), (10, 30)]
    assert [p["seconds"] for p in points] == pytest.approx([9.0, 3.0, 3.0])
    with pytest.raises(BenchError, match="took no longer"):
        labels.Work(settings, plan, Training(step=0.0), dataset).points()


def test_data_sets_of_other_names_are_kept(tmp_path):
    settings = type("Settings", (), {"out": tmp_path, "name": "bench", "label_data": ("Si",)})()
    old = {"seconds": 60.0, "missing": {"POD, Si (mlearn)": "x", "POD, water": "y"}, "datasets": [{"name": "Si (mlearn)"}, {"name": "water"}]}
    (tmp_path / "bench.json").write_text(json.dumps({"parts": {"labels": old}}))
    assert labels.kept_data(settings, 60.0, ["Si (mlearn)"]) == ([{"name": "water"}], {"POD, water": "y"})
    assert labels.kept_data(settings, 30.0, ["Si (mlearn)"]) == ([], {})
