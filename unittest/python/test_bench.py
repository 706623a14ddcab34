"""The benchmark's own logic: numbers from logs, turns and ratios, choice of the best, tables, files of configurations.

The snippets of logs are what LAMMPS, dp and bench_train print, shortened.
"""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))
from dpbench import (accuracy, active, curves, inference, kernels, logs, machine, main, models, pairing, plots, report,  # noqa: E402
                     ranks, scores, settings, statistics, tables, training, uncertainty, water)
from dpbench.errors import BenchError  # noqa: E402
from dpbench.process import Recorder, run  # noqa: E402

LAMMPS = """
Loop time of 0.235365 on 2 procs for 5 steps with 1536 atoms
Neighbor list builds = 0
Loop time of 0.96769 on 2 procs for 20 steps with 1536 atoms
Pair    | 0.94409    | 0.94925    | 0.95442    |   0.5 | 98.09
Neighbor list builds = 2
"""
DP = """
[2026-11-21 14:40:54,483] DEEPMD INFO    Batch      25: total wall time = 2.20 s, eta = 0:00:06 at 2026-11-21 14:41
[2026-11-21 14:40:55,795] DEEPMD INFO    Batch      50: total wall time = 1.31 s, eta = 0:00:02 at 2026-11-21 14:40
[2026-11-21 14:40:58,810] DEEPMD INFO    average training time: 0.0539 s/batch (exclude first 25 batches)
"""
LCURVE = """# step         rmse_val    rmse_trn  rmse_e_val  rmse_e_trn  rmse_f_val  rmse_f_trn         lr
# If there is no available reference data, rmse_*_{val,trn} will print nan
      0      2.39e+01    2.29e+01    1.62e+00    1.61e+00    7.49e-01    7.39e-01    5.0e-03
     50      1.86e+01    1.76e+01    2.48e-01    2.38e-01    1.10e-01    1.26e-01    2.5e-03
    100      8.93e-01    7.93e-01    1.43e-02    1.33e-02    9.95e-02    7.95e-02    1.0e-06
"""


def block(step, steps, seconds):
    return {"event": "block", "step": step, "steps": steps, "seconds": seconds}


def test_lammps_loop_time_is_that_of_the_last_run():
    us, builds = logs.lammps_loop(LAMMPS)
    assert us == pytest.approx(0.96769 / 20 / 1536 * 1e6, rel=1e-12)
    assert builds == 2
    with pytest.raises(BenchError, match="no 'Loop time'"):
        logs.lammps_loop("ERROR: Unknown pair style")


def test_dump_is_read_by_id(tmp_path):
    path = tmp_path / "force.dump"
    path.write_text("ITEM: TIMESTEP\n0\nITEM: ATOMS id fx fy fz\n2 1.5 0 -1\n1 0.25 2e-3 3\n")
    assert logs.lammps_dump(path) == {2: (1.5, 0, -1), 1: (0.25, 2e-3, 3)}
    path.write_text("ITEM: ATOMS id type x\n1 1 0\n")
    with pytest.raises(BenchError, match="expected id fx fy fz"):
        logs.lammps_dump(path)


def test_dp_times_and_curve():
    assert logs.dp_average_step(DP) == 0.0539
    with pytest.raises(BenchError, match="average training time"):
        logs.dp_average_step("killed")
    curve = logs.learning_curve(LCURVE)
    assert curve["step"] == [0, 50, 100]
    assert curve["rmse_f_val"] == [0.749, 0.110, 0.0995]
    with pytest.raises(BenchError, match="no rows"):
        logs.learning_curve("# step rmse\n")


def test_bench_train_report_without_the_first_block():
    text = "\n".join(json.dumps(e) for e in [block(5, 5, 9.0), block(10, 5, 1.0), block(20, 10, 3.5), {"event": "end"}])
    found = logs.events(text)
    assert logs.step_seconds(found["block"]) == pytest.approx(4.5 / 15)
    assert logs.step_seconds(found["block"][:1]) == pytest.approx(9.0 / 5)
    with pytest.raises(BenchError, match="not complete"):
        logs.events(json.dumps(block(5, 5, 1.0)))
    with pytest.raises(BenchError, match="no block"):
        logs.step_seconds([])


def test_sides_take_turns_and_ratios_are_of_one_turn():
    order = []

    def measure(side):
        order.append(side)
        # the machine is half as fast in the second turn: the ratio does not see it
        return {"a": 1.0, "b": 3.0}[side] * (2.0 if len(order) in (3, 4) else 1.0)

    values = pairing.take_turns(["a", "b"], measure, 3)
    assert order == ["a", "b", "b", "a", "a", "b"]
    three = {"median": 3.0, "min": 3.0, "max": 3.0, "values": [3.0] * 3}
    assert pairing.ratios(values, ["a"]) == {"b": three}
    # of two own sides the better one counts, and the other one is no peer
    assert pairing.ratios({**values, "c": [v / 2 for v in values["b"]]}, ["b", "a"])["c"]["values"] == [1.5] * 3
    assert set(pairing.ratios(values, ["b", "a"])) == set()
    assert pairing.summary([5, 1, 2]) == {"median": 2, "min": 1, "max": 5, "values": [5, 1, 2]}
    assert pairing.best({"x": [1.0], "y": [2.0], "z": [0.5]}, ["x", "y", "w"]) == "x"
    assert pairing.best(values, ["w"]) is None


def curve(*points):
    return [{"step": int(s), "seconds": s, "rmse_f": f, "rmse_e": 1e-3} for s, f in points]


def test_time_to_accuracy_names_the_best_of_each_side():
    ours = {"small": curve((1, 0.3), (2, 0.11), (3, 0.06)), "large": curve((1, 0.4), (6, 0.04))}
    peers = {"p": curve((10, 0.3), (40, 0.099)), "q": curve((5, 0.15), (80, 0.11))}
    rows = {r["target"]: r for r in accuracy.table(ours, peers)}
    assert (rows[0.20]["ours"], rows[0.20]["peer"], rows[0.20]["ratio"]) == ("small", "q", 2.5)
    assert (rows[0.10]["our_seconds"], rows[0.10]["peer"], rows[0.10]["peer_reached"]) == (3, "p", True)
    # nobody of the peer gets to 0.07: the most accurate run counts with all of its time
    assert (rows[0.07]["peer"], rows[0.07]["peer_seconds"], rows[0.07]["peer_reached"]) == ("p", 40, False)
    assert (rows[0.05]["ours"], rows[0.05]["ratio"]) == ("large", 40 / 6)
    pairs = accuracy.paired_ratios([ours["small"], ours["large"]], [peers["p"], peers["q"]])
    assert pairs["0.20"]["values"] == [20.0, 5 / 6]
    assert pairs["0.10"]["values"] == [40 / 3]
    assert "0.07" not in pairs


def test_google_benchmark_and_roofline():
    entries = [{"name": "gemm_peak/double/1024", "run_name": "gemm_peak/double/1024", "run_type": "aggregate",
                "aggregate_name": "median", "cpu_time": 4e7, "time_unit": "ns", "GFLOP/s": 50.0},
               {"name": "gemm_peak/double/1024_mean", "run_name": "gemm_peak/double/1024", "run_type": "aggregate",
                "aggregate_name": "mean", "cpu_time": 9e7, "time_unit": "ns", "GFLOP/s": 1.0},
               {"name": "forward/double", "run_type": "iteration", "cpu_time": 1e4, "time_unit": "us", "us/atom": 60.0}]
    found = kernels.parse(json.dumps({"benchmarks": entries}))
    assert found["gemm_peak/double/1024"]["seconds"] == pytest.approx(0.04)
    # 1600 x 240 + 2 x 240 x 240 + 240 products, two operations each
    assert kernels.fitting_flops("standard") == 2 * (1600 * 240 + 2 * 240 * 240 + 240)
    row = next(r for r in kernels.with_roofline(found, "standard")["rows"] if r["name"] == "forward/double")
    assert row["of_roofline"] == pytest.approx(2 * kernels.fitting_flops("standard") / 50.0 * 1e-3 / 60.0)
    parts = {f"{name}/single": {"seconds": t} for name, t in (("both_passes", 0.7), ("table_build", 0.2), ("adam_step", 0.1))}
    assert kernels.adam_share(parts, "single") == pytest.approx(0.1)
    assert kernels.adam_share(parts, "double") is None


def write_frames(folder, frames):
    """A system with two sets; each number of a frame is its place."""
    place = 0
    for k, count in enumerate(frames):
        (folder / "Si2" / f"set.{k:03}").mkdir(parents=True)
        for name in active.ARRAYS:
            np.save(folder / "Si2" / f"set.{k:03}" / f"{name}.npy", np.repeat(np.arange(place, place + count)[:, None], 6, 1))
        place += count
    for name, text in (("type.raw", "0 0"), ("type_map.raw", "Si")):
        (folder / "Si2" / name).write_text(text)


def test_frames_are_drawn_at_random(tmp_path):
    write_frames(tmp_path / "pool", [7, 5])
    active.choose(tmp_path / "pool", tmp_path / "some", 6, 1)
    arrays, system = active.read_system(tmp_path / "some")
    assert system == tmp_path / "some" and (system / "type_map.raw").read_text() == "Si"
    chosen = arrays["coord"][:, 0]
    assert len(set(chosen)) == 6 and 0 <= chosen.min() and chosen.max() < 12
    assert all((values == arrays["coord"]).all() for values in arrays.values())
    active.choose(tmp_path / "pool", tmp_path / "others", 6, 2)
    assert set(active.read_system(tmp_path / "others")[0]["coord"][:, 0]) != set(chosen)
    with pytest.raises(BenchError, match="13 frames are to be drawn from 12"):
        active.choose(tmp_path / "pool", tmp_path / "many", 13, 1)


def test_log_of_a_learning_run():
    text = ("  audits: 10, 0 above the threshold, 0 above three thresholds\n"
            "  audits: 31, 6 above the threshold, 1 above three thresholds\n"
            "learned: 53 frames, 143 reference calls in 20000 steps (0.71 %), 2700 optimizer steps\n")
    assert active.learning_log(text) == {"frames": 53, "calls": 143, "steps": 20000, "audits": 31, "audits_above": 6,
                                         "audits_far_above": 1}
    with pytest.raises(BenchError, match="did not end"):
        active.learning_log("ERROR: lost atoms")


def test_inputs_of_both_sides_describe_the_same_training(tmp_path):
    chosen = some_settings(tmp_path)
    kind = models.Kind("small", "single")
    peer = models.training_input(kind, chosen, 100, start_lr=1e-3, valid=tmp_path / "v", valid_frames=20)
    ours = models.our_input(kind, chosen, 100, start_lr=1e-3, valid=tmp_path / "v", valid_frames=20)
    data = peer["training"].pop("validation_data")
    assert data["batch_size"] * data["numb_btch"] == 20  # all validation frames, each once
    assert ours == peer
    assert peer["model"]["descriptor"]["precision"] == "float32"
    assert models.Kind(rcut=8.0).sel == [112, 220]


def test_data_file_repeats_the_cell(tmp_path):
    system = tmp_path / "system"
    (system / "set.000").mkdir(parents=True)
    (system / "type.raw").write_text("0\n1\n")
    (system / "type_map.raw").write_text("O\nH\n")
    shapes = {"box": 9, "coord": 6, "energy": 1, "force": 6}
    for name, width in shapes.items():
        array = np.arange(3 * width, dtype=float).reshape(3, width)
        np.save(system / "set.000" / f"{name}.npy", np.tile(np.diag([4.0, 5, 6]).ravel(), (3, 1)) if name == "box" else array)
    path = tmp_path / "x.data"
    assert water.write_data(path, system, (2, 1, 1)) == 4
    rows = [line.split() for line in path.read_text().split("Atoms # atomic")[1].splitlines() if line.strip()]
    assert [r[1] for r in rows] == ["1", "2", "1", "2"]
    # coordinates 0 1 2 and 3 4 5 in the cell 4 5 6, and the same beside it
    assert [[float(v) for v in r[2:]] for r in rows] == [[0, 1, 2], [3, 4, 5], [4, 1, 2], [7, 4, 5]]
    assert "0 8 xlo xhi" in path.read_text()
    assert water.write_subset(tmp_path / "part", system, 2) == 2
    assert np.array_equal(np.load(tmp_path / "part/set.000/force.npy"), np.arange(12.0).reshape(2, 6))


def test_commands_are_recorded_without_folders_of_the_machine(tmp_path):
    recorder = Recorder({tmp_path: "$WORK", tmp_path / "env": "$ENV"})
    output, seconds = run(recorder, "greet", ["sh", "-c", "echo $OMP_NUM_THREADS", tmp_path / "env/x"], tmp_path,
                          {"OMP_NUM_THREADS": 3})
    assert output == "3\n" and seconds > 0
    assert recorder.commands == [{"what": "greet", "command": "OMP_NUM_THREADS=3 sh -c echo $OMP_NUM_THREADS $ENV/x"}]
    with pytest.raises(BenchError, match="exit status 7"):
        run(recorder, "fail", ["sh", "-c", "exit 7"], tmp_path, {})


def test_frames_of_several_sets_follow_each_other(tmp_path):
    for k in range(2):
        folder = tmp_path / f"set.00{k}"
        folder.mkdir()
        np.save(folder / "box.npy", np.tile(np.eye(3).ravel() * (k + 4), (2, 1)))
        np.save(folder / "coord.npy", np.full((2, 3), k + 0.5))
    (tmp_path / "type.raw").write_text("0\n")
    (tmp_path / "type_map.raw").write_text("O\n")
    box, coord, types, names = water.read_frame(tmp_path, 2)
    assert (box[0, 0], coord.tolist(), list(types), names) == (5.0, [[1.5] * 3], [0], ["O"])
    with pytest.raises(BenchError, match="has 4 frames: there is no frame 4"):
        water.read_frame(tmp_path, 4)


def some_settings(folder, **keys):
    return settings.Settings(parts=[], repeats=1, quick=True, data=folder, work=folder, out=folder, name="x", venv=folder, build=None,
                             tensorflow=folder, pytorch=folder, **keys)


class FakeOurs:
    """Takes the place of this package: notes how it was called and reports two blocks."""

    def __init__(self):
        self.calls = []

    def train(self, what, cwd, words, ranks, threads=1):
        self.calls.append((ranks, threads))
        valid = {"event": "valid", "step": 10, "train_seconds": 1.0, "elapsed": 2.0, "rmse_e": 0.1, "rmse_f": 0.2}
        return "\n".join(json.dumps(e) for e in [block(5, 5, 9.0), block(10, 5, 1.0), valid, {"event": "end"}])


def test_our_side_uses_all_cores_as_ranks_and_as_threads(tmp_path):
    ours = FakeOurs()
    chosen = some_settings(tmp_path, cores=4)
    for name in settings.OURS:
        assert training.time_ours(name, models.Kind("small"), chosen, ours, tmp_path / name) == pytest.approx(0.2)
    accuracy.curve_of_ours(accuracy.OURS[0], chosen, ours, tmp_path, tmp_path / "accuracy", 1)
    assert ours.calls == [(4, 1), (1, 4), (1, 4)]
    sides = inference.make_sides(models.Kind(), {"model.dp": "m.dp"}, ours, {}, (), threads=4)
    assert [(s.name, s.ranks, s.variables) for s in sides] == [
        (settings.RANKS, None, {}), (settings.THREADS, 1, {"OMP_NUM_THREADS": 4})]


def test_end_of_scaling():
    """Eight ranks take 2.65 ms each, 21.2 ms together: not twice the 11 ms of one rank; sixteen take 32.4."""
    fit = {"fixed": 1e-3, "work": 1e-5, "latency": 1e-4, "inverse_bandwidth": 1e-9, "calls": 3.0}
    assert ranks.predict(fit, 1000, 1, 1e5) == pytest.approx(11e-3)  # nothing travels on one rank
    assert ranks.predict(fit, 1000, 10, 1e5) == pytest.approx(1e-3 + 1e-3 + 3e-4 + 1e-4)
    assert ranks.end_of_scaling(fit, 1000, 1e5) == 8 and ranks.end_of_scaling(fit, 1, 1e5) == 1


RESULTS = Path(__file__).resolve().parents[2] / "bench" / "results"


def test_report_and_figures_of_what_was_measured(tmp_path):
    """The page in bench/results is that of the results beside it; all rows of a table have the columns of its header."""
    result = json.loads((RESULTS / "bench.json").read_text())
    text = report.document(result)
    assert text == (RESULTS / "bench.md").read_text() and text.isascii() and set(result["parts"]) <= set(settings.PARTS)
    for table in (t for t in text.split("\n\n") if t.startswith("|")):
        assert len({row.count("|") for row in table.splitlines()}) == 1
    figures = plots.plot_all(result, tmp_path, "bench")
    assert {f.name for f in figures} == {f.name for f in RESULTS.glob("bench_*.png")}
    assert all(f.read_bytes().startswith(b"\x89PNG") for f in figures)


def test_parts_of_other_sources_are_not_kept(tmp_path, capsys):
    """Sources are the same where their contents are: a commit of the results alone changes the name only."""
    path = tmp_path / "bench.json"
    facts = {"date": "then", "quick": False, "hardware": {"processor": "P"}, "sources": {"commit": "0123", "hash": "abc"}}
    assert main.kept_parts(path, facts, False) == {"facts": {}, "parts": {}}
    result = {"facts": {"training": facts, "kernels": {**facts, "sources": {"commit": "0123", "hash": "old"}}, "scaling": {**facts, "quick": True}},
              "parts": {"training": [1], "kernels": [2], "scaling": [3]}}
    path.write_text(json.dumps(result))
    kept = main.kept_parts(path, {**facts, "date": "later", "sources": {**facts["sources"], "commit": "f"}}, False)
    assert kept == {"facts": {"training": facts}, "parts": {"training": [1]}}
    assert "hence dropped: kernels, scaling" in capsys.readouterr().out
    assert set(main.kept_parts(path, facts, True)["parts"]) == {"training", "kernels"}
    path.write_text(json.dumps({"parts": result["parts"], "sources": {}}))  # a file of another form
    assert main.kept_parts(path, facts, True) == {"facts": {}, "parts": {}}


def flat_curve(level):
    """A learning curve of 21 rows with constant errors."""
    return {"step": list(range(21)), **{name: [level] * 21 for name in curves.COLUMNS}}


def test_learning_curves_are_compared_by_the_scatter_of_seeds():
    rows = curves.compare([flat_curve(0.1), flat_curve(0.1 * 10**0.2)], [flat_curve(0.1 * 10**0.1), flat_curve(0.1 * 10**0.3)])
    assert len(rows) == 4 * curves.BLOCKS
    # log10: 0.1 +- 0.1 against 0.2 +- 0.1, where a spread of 0.1 sqrt 2 of two values makes 0.1 of their mean
    assert rows[0]["ours"] == pytest.approx(0.1 * 10**0.1) and rows[0]["t"] == pytest.approx(-0.1 / np.sqrt(0.02))


def test_answers_of_statistics():
    ours = "recommended sel: 44 80\nmin_nbor_dist: 0.876301\nmax_nbor_size: [38 72]\n"
    theirs = "DEEPMD INFO    min_nbor_dist: 0.876301\n[12:00] DEEPMD INFO    max_nbor_size: [38, 72]\n"
    assert statistics.answer(ours) == statistics.answer(theirs) == (0.876301, [38, 72])
    with pytest.raises(BenchError, match="no min_nbor_dist"):
        statistics.answer("Killed")


def test_sides_of_statistics_must_agree(tmp_path):
    def side(text, end=""):
        return lambda *_: {"seconds": 2.0, "end": end, "peak": 1, "text": text}

    good, other = ("min_nbor_dist: 0.5\nmax_nbor_size: [3 %d]" % k for k in (4, 5))
    sides = {"dptrain, 1 rank": side(good), "TensorFlow": side(good), "PyTorch": side("", "out of memory")}
    row = statistics.compare(sides, "data", tmp_path, tmp_path, 1, 2)
    assert row["max_neighbors"] == [3, 4] and row["end"]["PyTorch"] == "out of memory"
    assert row["ratio"]["TensorFlow"]["values"] == [1.0, 1.0]
    with pytest.raises(BenchError, match="TensorFlow finds"):
        statistics.compare({**sides, "TensorFlow": side(other)}, "data", tmp_path, tmp_path, 1, 1)
    with pytest.raises(BenchError, match="dptrain, 1 rank: failed"):
        statistics.compare({**sides, "dptrain, 1 rank": side("", "failed")}, "data", tmp_path, tmp_path, 1, 1)


def test_cost_of_frames_and_what_larger_ones_would_take():
    def row(ours, peer, end=""):
        seconds = {"dptrain, 1 rank": ours, "TensorFlow": peer}
        return {"seconds": {k: pairing.summary([v]) for k, v in seconds.items()}, "end": {"dptrain, 1 rank": "", "TensorFlow": end}}

    one, many, large = row(1.0, 10.0), row(1.04, 50.0), row(2.0, 3.0, "out of memory")
    cost = statistics.per_frame(one, many, 21)
    assert cost == pytest.approx({"dptrain, 1 rank": 0.002, "TensorFlow": 2.0})
    assert statistics.estimates(large, one, cost, 100.0) == {"TensorFlow": {"seconds": 210.0, "ratio": 105.0}}
    assert statistics.estimates(many, one, cost, 100.0) == {}
    assert statistics.per_frame(one, large, 2) == {"dptrain, 1 rank": 1.0}


def test_data_of_statistics(tmp_path):
    """Repeated frames keep their density; generated data have the size that was asked for."""
    system = tmp_path / "system"
    (system / "set.000").mkdir(parents=True)
    (system / "type.raw").write_text("0\n1\n")
    (system / "type_map.raw").write_text("O H\n")
    random = np.random.default_rng(1)
    for name, width in {"coord": 6, "box": 9, "force": 6}.items():
        np.save(system / "set.000" / f"{name}.npy", random.random((3, width)))
    np.save(system / "set.000" / "energy.npy", random.random(3))
    assert water.write_replicated(tmp_path / "large", system, 2, (2, 1, 3)) == 12
    box, coord, types, names = water.read_frame(tmp_path / "large", 1)
    old_box, old = water.read_frame(system, 1)[:2]
    assert np.allclose(box, old_box * np.array([[2], [1], [3]])) and len(types) == 12 and names == ["O", "H"]
    assert np.allclose(coord[-2:], old + old_box[0] + 2 * old_box[2])
    energies, forces = (water.read_array(tmp_path / "large", name) for name in ("energy", "force"))
    assert np.allclose(energies, 6 * water.read_array(system, "energy")[:2])
    assert np.allclose(forces[1], np.tile(water.read_array(system, "force")[1], 6))
    frames = statistics.write_many(tmp_path / "many", system, 1e6)
    assert frames == int(1e6 / (8 * 22)) and len(water.read_array(tmp_path / "many", "coord")) == frames
    assert len(list((tmp_path / "many").glob("set.*"))) == 2


def test_results_are_written_in_few_lines(tmp_path):
    result = {"parts": {"long": [{"value": 1.23456789e-7 * k, "name": "x"} for k in range(200)], "empty": {}, "short": [1, None, "a"]}}
    tables.write_results(tmp_path / "bench.json", result)
    text = (tmp_path / "bench.json").read_text()
    assert json.loads(text)["parts"]["short"] == [1, None, "a"] and len(text.splitlines()) < 20
    values = [entry["value"] for entry in json.loads(text)["parts"]["long"]]
    assert values == pytest.approx([1.23456789e-7 * k for k in range(200)], rel=1e-5)


def test_hash_of_the_sources(tmp_path):
    def write(name, text):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
        return machine.sources_hash(tmp_path)

    hashes = [write(name, "x") for name in ("lib/a.cpp", "src/a.cpp", "bench/dpbench/a.py")]
    assert len(set(hashes)) == 3
    for name in ("bench/results/bench.json", "bench/work/log", "bench/dpbench/__pycache__/a.pyc", "doc/a.md"):
        assert write(name, "x") == hashes[-1]
    assert write("lib/a.cpp", "y") != hashes[-1]


@pytest.mark.parametrize("words, message", [
    (["speed"], "unknown part 'speed'"), (["--repeats", "0"], "--repeats 0 is not possible"),
    (["--data", "/nonexistent"], "no deepmd npy data"), (["training"], "--data DIR, or set DPTRAIN_SHARED"),
    (["--report-only", "--out", "/nonexistent"], "does not exist")])
def test_wrong_input_is_one_line(words, message, capsys, monkeypatch):
    monkeypatch.delenv("DPTRAIN_SHARED", raising=False)
    assert main.main(words) == 1
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1


def test_area_below_the_roc_curve():
    """Against all pairs of a positive and a negative; the area below the points of the curve is the same."""
    random = np.random.default_rng(3)
    score, positive = random.integers(0, 20, 300) / 7, random.random(300) < 0.3
    pairs = (score[positive][:, None] > score[~positive]) + 0.5 * (score[positive][:, None] == score[~positive])
    assert scores.auc(score, positive) == pytest.approx(pairs.mean(), rel=1e-12)
    x, y = (np.array(v) for v in scores.roc(score, positive))
    assert (np.diff(x) * (y[1:] + y[:-1]) / 2).sum() == pytest.approx(pairs.mean(), abs=2e-5)  # rounded
    assert scores.auc(score, score > 1) == 1 and scores.auc(-score, score > 1) == 0
    assert scores.auc(score, score > 99) is None
    x, y = scores.roc(random.random(100000), random.random(100000) < 0.5)
    assert len(x) <= scores.CURVE_POINTS and x[0] == y[0] == 0 and x[-1] == y[-1] == 1


def test_ranks_alarms_and_reliability():
    assert scores.mean_ranks([5, 1, 5, 2]).tolist() == [3.5, 1, 3.5, 2]
    error = np.arange(1.0, 101.0)
    assert scores.spearman(error**3, error) == pytest.approx(1, rel=1e-12)
    assert scores.spearman(-error, error) == pytest.approx(-1, rel=1e-12)
    assert scores.spearman(0 * error, error) is None
    assert scores.caught(error, error > 50, 0.1) == 1
    assert scores.caught(-error, error > 50, 0.1) == 0
    assert scores.scale_of(error / 4, error) == pytest.approx(4, rel=1e-12)
    groups = scores.reliability(error, 2 * error, bins=5)
    assert len(groups) == 5 and all(true == pytest.approx(2 * said, rel=1e-12) for said, true in groups)
    assert groups[0][0] == pytest.approx(np.sqrt((np.arange(1, 21.0) ** 2).mean()), rel=1e-12)


def test_frames_of_an_evaluation(tmp_path):
    frame = "ITEM: TIMESTEP\n0\nITEM: ATOMS id fx c_u\n1 0.5 {0}\n2 1.5 3\n"
    (tmp_path / "evaluated.dump").write_text(frame.format(7) + frame.format(8))
    assert uncertainty.column("c_u")(tmp_path).tolist() == [[7, 3], [8, 3]]
    (tmp_path / "evaluated.dump").write_text("")
    with pytest.raises(BenchError, match="no frames"):
        uncertainty.column("c_u")(tmp_path)
