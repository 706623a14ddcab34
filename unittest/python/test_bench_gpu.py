"""Part gpu of the benchmark: a report of gpu-check becomes tables, beside the other parts."""

import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "tools")]
from dpbench import gpu, gpu_forecast, main, report, tables  # noqa: E402
from dpbench.errors import BenchError  # noqa: E402
from dpbench.settings import read_settings  # noqa: E402
from gpucheck import benchmark  # noqa: E402

NUMBERS = [
    {"what": "md", "net": "standard", "precision": "single", "atoms": 12288, "steps": 100, "us_per_atom_step": 0.195,
     "pair_us": 0.165, "neigh_us": 0.021},
    {"what": "training", "net": "standard", "precision": "double", "atoms": 192, "ranks": 1, "ms_per_step": 7.5},
    {"what": "neighbor statistics (on the host)", "atoms": 192, "ms_per_frame": 1.25},
    {"what": "kernel", "of": "MD", "kernel": "Contraction<float>", "share": 0.5, "launches": 40, "time_us": 30.0,
     "memory_percent": 61.0, "compute_percent": 20.0, "occupancy_percent": 48.0, "registers": 96},
    {"what": "agreement", "net": "small", "precision": "double", "quantity": "force", "difference": 2e-13, "allowed": 1e-8,
     "processor": 0.0}]


def write_report(path, numbers=NUMBERS):
    content = {"date": "2026-11-23 06:00 UTC", "gpus": ["NVIDIA H200, 143771 MiB, 580.0"], "processor": "a processor", "cores": 16,
               "system": "Linux", "python": "python3", "torch": "2.11.0+cu130",
               "kit": {"device": "cuda", "arch": "sm_90", "commit": "0123456789abcdef", "torch": "2.11.0", "date": "yesterday"},
               "stages": [{"name": "kernels", "state": "failed", "numbers": []},
                          {"name": "benchmark", "state": "passed", "numbers": numbers}]}
    path.write_text(json.dumps(content))
    return path


def test_a_report_becomes_a_part_of_the_result(tmp_path):
    part, facts = gpu.read_report(write_report(tmp_path / "gpu-report.json"))
    assert part["md"][0]["us_per_atom_step"] == 0.195 and part["stages"] == {"kernels": "failed", "benchmark": "passed"}
    text = report.document({"facts": {"gpu": facts}, "parts": {"gpu": part}})
    for cell in ("NVIDIA H200", "0.195", "0.165", "0.021", "on the host", "0.39", "2.00", "7.5", "1.25", "Contraction<float>", "50 %", "kernels failed", "2.0e-13",
                 "sm_90", "0123456789ab"):
        assert cell in text, cell


def test_forecasts_stand_beside_what_was_measured(tmp_path):
    mixed = {**NUMBERS[0], "precision": "mixed"}
    part, facts = gpu.read_report(write_report(tmp_path / "r.json", [*NUMBERS, mixed]))
    gpu.add_forecast(part, facts)
    pair = gpu_forecast.forecast(gpu_forecast.H200, gpu_forecast.Model("standard", 4), 12288, False).step
    assert part["md"][0]["forecast"] == pytest.approx(1e6 * pair / 12288) and "forecast" not in part["md"][1]
    train = gpu_forecast.forecast(gpu_forecast.H200, gpu_forecast.Model("standard", 8), 192, True).step
    assert part["training"][0]["forecast"] == pytest.approx(1e3 * train)
    row = next(line for line in report.document({"facts": {"gpu": facts}, "parts": {"gpu": part}}).splitlines() if "12288" in line)
    assert tables.number(part["md"][0]["forecast"]) in row


def test_kinds_of_numbers_are_those_of_gpu_check():
    assert gpu.STATISTICS == benchmark.STATISTICS


@pytest.mark.parametrize("name, found", [("NVIDIA H200, 143771 MiB", gpu_forecast.H200), ("NVIDIA H100 80GB HBM3", gpu_forecast.H100),
                                         ("NVIDIA GH200 480GB", None), ("NVIDIA H20", None)])
def test_a_gpu_is_known_by_whole_words(name, found):
    assert gpu.gpu_of([name]) is found


def test_a_commit_with_changes_is_shown_as_such(tmp_path):
    _, facts = gpu.read_report(write_report(tmp_path / "r.json"))
    facts["kit"]["commit"] += "-dirty"
    assert "commit 0123456789ab-dirty," in "".join(gpu.facts(facts))


def test_an_unknown_gpu_has_no_forecast(tmp_path):
    part, facts = gpu.read_report(write_report(tmp_path / "r.json"))
    facts["hardware"]["gpus"] = "none"
    gpu.add_forecast(part, facts)
    assert "forecast" not in part["md"][0]


def test_the_command_adds_the_part_and_keeps_the_others(tmp_path):
    path = write_report(tmp_path / "gpu-report.json")
    assert main.main(["--gpu-report", str(path), "--out", str(tmp_path)]) == 0
    first = json.loads((tmp_path / "bench.json").read_text())
    assert list(first["parts"]) == ["gpu"] and "On a GPU" in (tmp_path / "bench.md").read_text()
    assert main.main(["--gpu-report", str(write_report(path, NUMBERS[:1])), "--out", str(tmp_path)]) == 0
    assert json.loads((tmp_path / "bench.json").read_text())["parts"]["gpu"]["training"] == []


def test_reports_of_two_runs_are_put_together(tmp_path):
    first, second = write_report(tmp_path / "1.json", NUMBERS[:1]), write_report(tmp_path / "2.json", NUMBERS[1:2])
    second.write_text(second.read_text().replace('"kernels", "state": "failed"', '"kernels", "state": "not run"'))
    part, _ = gpu.read_reports([first, second])
    assert len(part["md"]) == len(part["training"]) == 1 and part["stages"]["kernels"] == "failed"
    second.write_text(second.read_text().replace("0123456789abcdef", "f" * 16))
    with pytest.raises(BenchError, match="2.json is of another kit or machine"):
        gpu.read_reports([first, second])


def test_a_report_without_numbers_adds_nothing(tmp_path):
    with pytest.raises(BenchError, match="has no numbers .stages: kernels failed"):
        gpu.read_reports([write_report(tmp_path / "r.json", [])])
    with pytest.raises(BenchError, match="leave out training, or --gpu-report"):
        read_settings(["training", "--gpu-report", "r.json"])


def test_other_parts_do_not_drop_it(tmp_path):
    path = tmp_path / "bench.json"
    part, facts = gpu.read_report(write_report(tmp_path / "r.json"))
    path.write_text(json.dumps({"facts": {"gpu": facts}, "parts": {"gpu": part}}))
    here = {"sources": {"hash": "other"}, "hardware": {"processor": "here"}, "quick": False}
    assert list(main.kept_parts(path, here, False)["parts"]) == ["gpu"]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"stages": 1}'])
def test_another_file_is_refused(tmp_path, text):
    path = tmp_path / "other.json"
    path.write_text(text)
    with pytest.raises(BenchError, match="other.json is no report of gpu-check"):
        gpu.read_report(path)


def test_an_entry_that_is_not_complete_is_refused(tmp_path):
    with pytest.raises(BenchError, match="not complete"):
        gpu.read_report(write_report(tmp_path / "r.json", [{"what": "md", "net": "small"}]))
