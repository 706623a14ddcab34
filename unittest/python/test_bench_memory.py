"""The part `memory` of the benchmark: bounded runs, the search of a limit, table and figure, on recorded output."""

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))
from dpbench import memory, memory_options, models, process, settings  # noqa: E402
from dpbench.errors import BenchError  # noqa: E402

EVENTS = [{"event": "start", "ranks": 2, "frames": 1, "atoms": 1536},
          {"event": "block", "step": 1, "steps": 1, "seconds": 0.34},
          {"event": "block", "step": 2, "steps": 1, "seconds": 0.25},
          {"event": "end", "step": 2, "memory": {"frames": 118080, "halo": 16776, "neighbor rows": 276100, "optimizer": 8113456},
           "memory_before_training": 364765184.0, "memory_peak": 629731328.0}]


class FakeOurs:
    """Takes the place of this package: notes how it was called."""

    def __init__(self):
        self.calls = []

    def train(self, what, cwd, words, ranks):
        steps = json.loads((cwd / "input.json").read_text())["training"]["numb_steps"]
        self.calls.append((ranks, words[words.index("--replicate") + 1], steps))
        return "\n".join(map(json.dumps, EVENTS))


def some_settings(folder, **keys):
    return settings.Settings(parts=[], repeats=1, quick=False, data=folder, work=folder, out=folder, name="x", venv=folder,
                             build=None, tensorflow=folder, pytorch=folder, **keys)


def run_python(code, folder, memory_bytes=2**33, limit=process.LIMIT):
    return process.run_bounded(process.Recorder({}), "x", [sys.executable, "-c", code], folder, {}, memory_bytes, limit)


def test_bounded_runs_say_why_they_end(tmp_path):
    fine = run_python("print('done'); x = b'1' * 10**8", tmp_path)
    assert (fine["end"], fine["text"]) == ("", "done\n") and fine["peak"] > 10**8
    assert run_python("raise SystemExit(3)", tmp_path)["end"] == "failed"
    assert run_python("print('pin_memory is set'); raise SystemExit(3)", tmp_path)["end"] == "failed"
    late = run_python("import time; time.sleep(600)", tmp_path, limit=0.3)
    assert late["end"] == "stopped after 0 s" and late["seconds"] < 600


def test_memory_that_is_used_is_bounded(tmp_path):
    """Memory that is reserved and not used does not count; a request that the system refuses does."""
    held = run_python("import time; x = b'1' * (3 * 10**8); time.sleep(600)", tmp_path, 2**28)
    assert held["end"] == process.NO_MEMORY and held["seconds"] < 600 and held["peak"] > 2**28
    assert run_python("import mmap; x = mmap.mmap(-1, 2**30)", tmp_path, 2**28)["end"] == ""
    assert run_python("import resource as r; r.setrlimit(r.RLIMIT_AS, (2**28, 2**28)); x = bytearray(2**30)",
                      tmp_path)["end"] == process.NO_MEMORY


@pytest.mark.parametrize("line", ["  what():  std::bad_alloc", "DefaultCPUAllocator: can't allocate memory: you tried to allocate 9",
                                  "numpy: Unable to allocate 3. GiB", "OOM when allocating tensor with shape[9,9]"])
def test_words_of_programs_without_memory(line):
    assert process.REFUSED.search(line)


def test_shapes_go_from_cube_to_cube():
    assert memory.shapes((1, 2, 4)) == [(1, 1, 1), (1, 1, 2), (1, 2, 2), (2, 2, 2), (2, 2, 4), (2, 4, 4), (4, 4, 4)]
    assert memory.shapes(memory.REPLICAS)[::memory.COARSE] == [(n,) * 3 for n in memory.REPLICAS]


@pytest.mark.parametrize("limit, runs", [(0, [0]), (1, [0, 3, 1]), (2, [0, 3, 1, 2]), (4, [0, 3, 6, 4]), (6, [0, 3, 6, 4, 5]),
                                         (7, [0, 3, 6])])
def test_search_of_the_limit(limit, runs):
    """Of sizes 0 to 6, those below the limit end."""
    order = []

    def run(size):
        order.append(size)
        return {"atoms": size, "end": "" if size < limit else "out of memory"}

    rows = memory.up_to_the_limit(run, list(range(7)))
    assert order == runs and [r["atoms"] for r in rows] == sorted(runs)
    assert max((r["atoms"] for r in rows if not r["end"]), default=-1) == limit - 1  # the limit is known exactly


def test_rows_of_ours(tmp_path):
    ours = FakeOurs()
    rows = memory.measure_ours(some_settings(tmp_path, cores=2), ours, (1, 18))
    assert ours.calls == [(1, "1", 3), (1, "18", 1), (2, "1", 3), (2, "18", 1)]
    assert rows[-1]["frame"] == 2 * (118080 + 16776 + 276100)
    assert (rows[-1]["peak"], rows[-1]["before"], rows[-1]["seconds_per_step"]) == (629731328.0, 364765184.0, 0.25)


def test_input_of_the_peer(tmp_path):
    chosen = some_settings(tmp_path)
    tree = memory.peer_input(chosen, tmp_path / "data")
    plain = models.training_input(models.Kind(), chosen, memory.PEER_STEPS, start_lr=1e-3)
    assert tree["training"]["training_data"] == {"systems": [str(tmp_path / "data")], "batch_size": 1}
    assert tree["model"]["fitting_net"] == plain["model"]["fitting_net"]
    assert "validation_data" not in tree["training"] and not tree["training"]["disp_training"]


def test_smallest_frame_must_end(tmp_path, monkeypatch):
    broken = {"atoms": 192, "peak": 1, "seconds": 1.0, "end": "failed", "text": "no module deepmd"}
    monkeypatch.setattr(memory, "peer_side", lambda *_: lambda copies: broken)
    with pytest.raises(BenchError, match="no module deepmd"):
        memory.measure_peer(some_settings(tmp_path), "PyTorch", None, (1, 2), 2**30)


def test_options(tmp_path):
    """Each is one run; with several batches in a step the step has all of them."""
    ours = FakeOurs()
    rows = memory_options.measure(some_settings(tmp_path, cores=2), ours)
    assert [r["option"] for r in rows] == list(memory_options.CHOICES)
    assert {r["ranks"] for r in rows if r["option"] != "one rank"} == {2} and rows[1]["ranks"] == 1
    steps = dict(zip(memory_options.CHOICES, (call[2] for call in ours.calls)))
    assert steps["batch 1, acc_freq 8"] == 8 * memory_options.STEPS and steps["none"] == memory_options.STEPS
    assert rows[0]["optimizer"] == 8113456 and rows[0]["workspace"] == 0 and rows[0]["seconds"] == 0.25
