"""gpu-check's own logic, without a GPU: time limits, stages that fail, the size of the report, what it says of the machine."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
from gpucheck import agreement, benchmark, logs, main, plan, process, profile, report, tests  # noqa: E402
from gpucheck import target as machine  # noqa: E402

HEAD = {"date": "now"}


def new_report(tmp_path, **options):
    return report.Report(tmp_path / "report", HEAD, **options)


def read(tmp_path):
    return json.loads((tmp_path / "report" / "gpu-report.json").read_text())


def alive(pid):
    """Whether a process still runs; one that has ended and waits for its parent does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


# --- programs and their limits ---------------------------------------------------------------------------------------

def test_a_program_that_takes_too_long_is_ended_with_its_children(tmp_path):
    script = "sleep 60 & echo $! > child; echo started; wait"
    outcome = process.run(process.Job("slow", ["sh", "-c", script], 0.5), tmp_path, dict(os.environ))
    assert outcome.timed_out and outcome.status is None and not outcome.ok
    assert 0.4 < outcome.seconds < 5.0 and outcome.output == "started\n"
    assert not alive(int((tmp_path / "child").read_text()))
    assert not process.RUNNING


def test_children_in_process_groups_of_their_own_are_ended_too(tmp_path):
    """As the ranks of mpiexec."""
    script = ("import os, sys, time\npid = os.fork()\n"
              "if pid == 0:\n    os.setpgid(0, 0)\n    time.sleep(60)\nopen('child', 'w').write(str(pid))\n")
    outcome = process.run(process.Job("group", [sys.executable, "-c", script], 10.0), tmp_path, dict(os.environ))
    assert outcome.ok and not alive(int((tmp_path / "child").read_text()))


def test_a_program_that_is_not_there_fails(tmp_path):
    outcome = process.run(process.Job("none", ["/no/such/program"]), tmp_path, {})
    assert not outcome.ok and outcome.status == 127 and "No such file" in outcome.output
    assert tests.state_of(outcome) == report.FAILED


def test_jobs_stop_when_the_time_of_the_stage_is_over(tmp_path):
    """Those in work are cut off, the others have not been run; none of them has failed."""
    states = {}
    jobs = [process.Job(str(k), ["sleep", "30" if k else "0"]) for k in range(5)]
    begin = time.monotonic()
    process.run_all(jobs, 2, tmp_path, dict(os.environ), process.Clock(1.5),
                    lambda job, outcome: states.update({job.name: tests.state_of(outcome)}))
    assert time.monotonic() - begin < 8.0
    assert states == {"0": report.PASSED, "1": report.CUT_OFF, "2": report.CUT_OFF, "3": report.NOT_RUN, "4": report.NOT_RUN}


def test_a_job_has_a_limit_of_its_own(tmp_path):
    states = []
    process.run_all([process.Job("slow", ["sleep", "30"], 0.3)], 1, tmp_path, dict(os.environ), process.Clock(60.0),
                    lambda job, outcome: states.append(tests.state_of(outcome)))
    assert states == [report.TIMED_OUT]


def test_parts_of_a_clock_do_not_exceed_it():
    time_now = [0.0]
    clock = process.Clock(100.0, lambda: time_now[0])
    assert clock.part(30.0).left() == 30.0
    time_now[0] = 90.0
    assert clock.left() == 10.0 and clock.part(30.0).left() == 10.0
    time_now[0] = 200.0
    assert clock.part(30.0).left() == 0.0


# --- stages ----------------------------------------------------------------------------------------------------------

def target(runs=True):
    return SimpleNamespace(can_run_kernels=lambda: runs, needs_gpu=lambda: True, cuda_works=True)


def passing(stage, _target, _clock):
    stage.add("one", report.PASSED)
    stage.end()


def raising(_stage, _target, _clock):
    raise ValueError("a fault in a stage")


def failing(stage, _target, _clock):
    stage.add("one", report.FAILED, 1.0, "why it failed", failed=["A.b"])
    stage.end()


def run_stages(tmp_path, clock, runs=True):
    stages = [("first", 10, raising, True), ("second", 10, failing, True), ("third", 10, passing, False)]
    result = new_report(tmp_path)
    main.run_stages(result, target(runs), clock, ["first", "second", "third"], stages)
    return result, [stage["state"] for stage in read(tmp_path)["stages"]]


def test_a_stage_that_fails_does_not_stop_the_next(tmp_path):
    result, states = run_stages(tmp_path, process.Clock(60.0))
    assert states == [report.FAILED, report.FAILED, report.PASSED] and result.failed()
    first, second, _ = read(tmp_path)["stages"]
    assert "a fault in a stage" in first["items"][0]["log"]
    assert second["items"][0]["log"] == "why it failed"
    text = (tmp_path / "report" / "gpu-report.txt").read_text()
    assert "why it failed" in text and "failed: A.b" in text
    assert "what failed:\nfirst: failed: gpu-check itself\nsecond: failed: one: A.b\n" in text


def test_without_a_gpu_stages_say_so_and_nothing_has_failed(tmp_path):
    result, states = run_stages(tmp_path, process.Clock(60.0), runs=False)
    assert states == [report.NO_GPU, report.NO_GPU, report.PASSED] and not result.failed() and not result.without_time()


def test_no_stage_begins_when_the_time_is_over(tmp_path):
    result, states = run_stages(tmp_path, process.Clock(1.0))
    assert states == ["not run"] * 3 and not result.failed() and result.without_time()


def test_later_stages_get_what_is_left(tmp_path):
    now, given = [0.0], []

    def greedy(stage, _target, clock):
        given.append(clock.left())
        now[0] += clock.left()
        stage.end()

    stages = [(name, 60, greedy, False) for name in "abc"]
    main.run_stages(new_report(tmp_path), target(), process.Clock(100.0, lambda: now[0]), "abc", stages)
    assert given == [60.0, 40.0] and now[0] == 100.0


def test_where_nothing_of_the_device_works_nothing_else_is_tried(tmp_path):
    def broken(stage, where, _clock):
        stage.add("torch", report.FAILED)
        where.cuda_works = False
        stage.end()

    result = new_report(tmp_path)
    stages = [("device", 10, broken, False), ("kernels", 10, failing, True), ("host", 10, passing, False)]
    main.run_stages(result, target(), process.Clock(60.0), ["device", "kernels", "host"], stages)
    assert [stage["state"] for stage in read(tmp_path)["stages"]] == [report.FAILED, report.NOT_RUN, report.PASSED]


@pytest.mark.parametrize("torch, works", [("exit 0", True), ("exit 1", False)])
def test_the_device_works_if_anything_but_nvidia_smi_does(torch, works, tmp_path, monkeypatch):
    script = tmp_path / "python"
    script.write_text(f"#!/bin/sh\n{torch}\n")
    script.chmod(0o755)
    (tmp_path / "bin").mkdir()
    monkeypatch.setattr(tests, "find_smi", lambda: "/bin/true")
    here = SimpleNamespace(can_run_kernels=lambda: True, needs_gpu=lambda: True, cuda_works=True, python=script, kit=tmp_path, gpus=["a"],
                           python_environment=lambda: {}, environment=lambda: {}, program=lambda name: tmp_path / name)
    tests.device(new_report(tmp_path).begin("device"), here, process.Clock(60.0))
    assert here.cuda_works == works


def test_few_stages_share_the_whole_time(tmp_path):
    given = []

    def note(stage, _target, clock):
        given.append(clock.left())
        stage.end()

    stages = [("a", 10, note, False), ("b", 30, note, False), ("c", 60, note, False)]
    main.run_stages(new_report(tmp_path), target(), process.Clock(80.0, lambda: 0.0), ["a", "b"], stages)
    assert given == [20.0, 60.0]
    given.clear()
    stages[1] = ("b", 30, note, True)
    main.run_stages(new_report(tmp_path), target(runs=False), process.Clock(80.0, lambda: 0.0), ["a", "b"], stages)
    assert given == [80.0]  # without a GPU


def test_a_stage_is_in_the_file_while_it_runs(tmp_path):
    """A machine that goes away loses only what has not ended."""
    def look(stage, _target, _clock):
        stage.add("one", report.PASSED)
        assert read(tmp_path)["stages"][-1]["items"][0]["name"] == "one"
        stage.number(what="md", us_per_atom_step=0.5)
        assert read(tmp_path)["stages"][-1]["numbers"] == [{"what": "md", "us_per_atom_step": 0.5}]
        stage.end()

    result = new_report(tmp_path)
    main.run_stages(result, target(), process.Clock(60.0), ["only"], [("only", 10, look, True)])
    assert not result.failed()


def test_every_stage_has_a_name_of_its_own_and_time_to_work():
    assert len(set(main.NAMES)) == len(main.STAGES)
    assert all(seconds >= 10 for _, seconds, *_ in main.STAGES)
    assert main.TOTAL <= 480


@pytest.mark.parametrize("end, state", [("1 failed", report.FAILED), ("", report.CUT_OFF)])
def test_a_part_without_time_to_end_has_failed_where_a_case_has(end, state, tmp_path):
    stage = new_report(tmp_path).begin("lammps")
    output = "a.py::one PASSED\n" + ("a.py::two FAILED\n" if end else "")
    tests.note_test(stage, process.Job("part 1", []), process.Outcome("part 1", None, 5.0, output), logs.pytest)
    assert stage.content["items"][0]["state"] == state and stage.content["items"][0]["passed"] == ["a.py::one"]


# --- the machine -----------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("script, found, trouble", [
    ("echo 'NVIDIA H200, 143771 MiB, 580.159.03, 9.0'", ["NVIDIA H200, 143771 MiB, 580.159.03, 9.0"], ""),
    ("echo No devices were found; exit 6", [], ""),
    ("echo NVIDIA-SMI has failed because of the driver; exit 9", [], "nvidia-smi: NVIDIA-SMI has failed because of the driver"),
    ("sleep 60", [], "nvidia-smi: no answer within 0.5 s")])
def test_what_nvidia_smi_says(script, found, trouble, tmp_path, monkeypatch):
    (tmp_path / "smi").write_text(f"#!/bin/sh\n{script}\n")
    (tmp_path / "smi").chmod(0o755)
    monkeypatch.setattr(machine, "find_smi", lambda: str(tmp_path / "smi"))
    monkeypatch.setattr(machine, "gpus_of_driver", lambda: [])
    monkeypatch.setattr(machine, "SMI_LIMIT", 0.5 if "sleep" in script else 10.0)
    assert machine.gpus() == (found, trouble)
    assert not process.RUNNING


def test_a_driver_that_does_not_answer_is_a_failure(tmp_path):
    here = SimpleNamespace(can_run_kernels=lambda: False, gpu_trouble="nvidia-smi: no driver")
    result = new_report(tmp_path)
    tests.device(result.begin("device"), here, process.Clock(60.0))
    assert result.failed() and read(tmp_path)["stages"][0]["items"][0]["log"] == "nvidia-smi: no driver"


def test_what_does_not_fit_together_is_said(kit, tmp_path, monkeypatch):
    folder, python = kit("cuda")
    smi = ["NVIDIA A100, 81920 MiB, 580.1, 8.0"]
    monkeypatch.setattr(machine, "gpus", lambda: (smi, ""))
    here = machine.Target(folder, {"device": "cuda", "arch": "sm_90", "torch": "2.12.0+cu130"}, tmp_path, str(python))
    version, packages, arch = here.warnings()
    assert "made with torch 2.12.0+cu130" in version and "has no numpy and no pytest" in packages and "--arch sm_80" in arch
    smi[:] = ["NVIDIA H200, 143771 MiB, 580.1, 9.0"]
    here = machine.Target(folder, {"device": "cuda", "arch": "sm_90", "torch": "2.11.0+cu126"}, tmp_path, str(python))
    assert len(list(here.warnings())) == 1


def test_the_python_whose_torch_fits_is_taken(kit, tmp_path, monkeypatch):
    _, python = kit("cuda")
    other = tmp_path / "other"
    (other / "lib").mkdir(parents=True)
    (other / "lib" / "libtorch_cpu.so").touch()
    (other / "version.py").write_text("__version__ = '2.6.0'\n")
    first = tmp_path / "first"
    first.write_text(f"#!/bin/sh\necho {other}\n")
    first.chmod(0o755)
    monkeypatch.setattr(machine, "candidates", lambda _: [str(first), str(python)])
    assert machine.find_python("2.11.0+cu130")[0] == str(python)
    assert machine.find_python("2.12.0")[0] == str(first)


def test_gpus_without_nvidia_smi(tmp_path):
    """Those that have a device file: a container may see some of the driver's only."""
    assert machine.gpus_of_driver(tmp_path) == []
    (tmp_path / "dev").mkdir()
    for name in ("nvidia1", "nvidia2", "nvidiactl", "nvidia-uvm"):
        (tmp_path / "dev" / name).touch()
    for minor, model in enumerate(["NVIDIA A100", "NVIDIA H200"]):
        folder = tmp_path / "proc" / "driver" / "nvidia" / "gpus" / f"0000:0{minor}:00.0"
        folder.mkdir(parents=True)
        (folder / "information").write_text(f"Model: \t\t {model}\nIRQ:   \t\t 7\nDevice Minor: \t {minor}\n")
    assert machine.gpus_of_driver(tmp_path) == ["NVIDIA H200", machine.UNKNOWN_GPU]


def test_folders_of_the_caller_come_last(kit, tmp_path, monkeypatch):
    """In a container the driver is found through them alone."""
    folder, python = kit("cpu")
    for name in ("driver", "tools"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("PATH", f"{os.environ['PATH']}:{tmp_path / 'tools'}")
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path / "driver"))
    monkeypatch.setenv("PYTHONPATH", "/modules")
    monkeypatch.setattr(machine, "DRIVER", tmp_path / "none")
    monkeypatch.setattr(machine, "gpus", lambda: (["NVIDIA H200"], ""))
    here = machine.Target(folder, {"device": "cpu", "torch": "2.11.0"}, tmp_path, str(python))
    variables, of_python = here.environment(), here.python_environment(MORE=1)
    assert variables["PATH"].startswith(str(folder / "bin")) and variables["PATH"].endswith(f":{tmp_path / 'tools'}")
    libraries = variables["LD_LIBRARY_PATH"].split(":")
    assert libraries[0] == str(tmp_path / "torch" / "lib") and libraries[-1] == str(tmp_path / "driver")
    assert of_python["LD_LIBRARY_PATH"] == str(tmp_path / "driver") and of_python["MORE"] == "1"
    assert variables["PYTHONPATH"] == of_python["PYTHONPATH"] == "/modules"
    (tmp_path / "none" / "lib64").mkdir(parents=True)
    assert machine.caller_libraries() == [str(tmp_path / "driver"), str(tmp_path / "none" / "lib64")]


# --- the report ------------------------------------------------------------------------------------------------------

def test_a_full_report_stays_below_its_limit(tmp_path):
    result = new_report(tmp_path)
    for name in ("kernels", "library"):
        stage = result.begin(name)
        stage.content["items"] = [{"name": f"test {k}", "state": report.FAILED, "seconds": 1.0, "log": "x" * 3000,
                                   "failed": [f"Suite.Case{n}" for n in range(20)]} for k in range(1000)]
        stage.end()
    for suffix in ("json", "txt"):
        assert (tmp_path / "report" / f"gpu-report.{suffix}").stat().st_size < 1 << 20
    assert read(tmp_path)["stages"][0]["state"] == report.FAILED
    assert len(result.content["stages"][0]["items"][0]["log"]) == 3000  # what is in memory stays whole


def test_a_report_does_not_replace_another_one(tmp_path):
    for k, name in enumerate(["gpu-report.json", "gpu-report-2.json", "gpu-report-3.json"]):
        result = new_report(tmp_path)
        result.begin("kernels").end(note=str(k))
        assert json.loads((tmp_path / "report" / name).read_text())["stages"][0]["note"] == str(k)
    assert json.loads((tmp_path / "report" / "gpu-report.json").read_text())["stages"][0]["note"] == "0"


def test_logs_are_shortened_before_names_are_left_out(tmp_path):
    result = new_report(tmp_path, largest=10_000)
    stage = result.begin("kernels")
    stage.content["items"] = [{"name": f"test {k}", "state": report.FAILED, "seconds": 1.0, "log": "x" * 2000, "failed": ["A.b"]}
                              for k in range(20)]
    stage.end()
    items = read(tmp_path)["stages"][0]["items"]
    assert len(items) == 20 and all(item["failed"] == ["A.b"] and len(item["log"]) < 600 for item in items)


# --- profile ---------------------------------------------------------------------------------------------------------

def test_ncu_that_may_not_read_counters_is_not_there(tmp_path, monkeypatch):
    ncu = tmp_path / "ncu"
    ncu.write_text("#!/bin/sh\necho '==ERROR== ERR_NVGPUCTRPERM - The user does not have permission'\nexit 1\n")
    ncu.chmod(0o755)
    monkeypatch.setattr(profile, "find_tool", lambda name: str(ncu))
    here = SimpleNamespace(work=tmp_path, kit=tmp_path, program=lambda name: tmp_path / name, environment=lambda: dict(os.environ))
    result = new_report(tmp_path)
    profile.stage(result.begin("profile"), here, process.Clock(60.0))
    stage = read(tmp_path)["stages"][0]
    assert stage["state"] == "not there" and "may not read the counters" in stage["note"] and not result.failed()


# --- agreement and benchmark -----------------------------------------------------------------------------------------

def numbers(scale=1.0):
    return {"size": 3, "rms": 2.0, "sample": [scale, -2.0, 3.0]}


def test_agreement_is_measured_by_the_root_of_the_mean_square():
    assert agreement.difference(numbers(1.0 + 1e-6), numbers()) == pytest.approx(5e-7)
    assert agreement.difference({**numbers(), "size": 4}, numbers()) == float("inf")
    assert agreement.difference({**numbers(), "sample": [float("nan"), -2.0, 3.0]}, numbers()) == float("inf")
    assert agreement.difference({**numbers(), "sample": [None, -2.0, 3.0]}, numbers()) == float("inf")


@pytest.mark.parametrize("precision", plan.PRECISIONS)
def test_a_case_within_its_tolerances_passes_and_one_beyond_fails(precision, tmp_path):
    names = plan.TOLERANCES[precision]
    expected = {p: {name: numbers() for name in names} for p in plan.PRECISIONS}
    for factor, state in ((0.5, report.PASSED), (2.0, report.FAILED)):
        stage = new_report(tmp_path).begin("agreement")
        found = {name: numbers(1.0 + factor * 2.0 * tolerance) for name, tolerance in names.items()}
        agreement.note_case(stage, "small", precision, found, expected)
        assert stage.content["items"][0]["state"] == state
        assert [n["difference"] / n["allowed"] for n in stage.content["numbers"]] == pytest.approx([factor] * len(names), rel=1e-3)


def test_md_of_all_sizes_is_one_input():
    kit = SimpleNamespace(kit=Path("/kit"))
    text = benchmark.md_input(kit, "small", "mixed", [(1, 500), (2, 10)])
    assert text.count("\nclear\n") + text.startswith("clear\n") == 2 and "replicate 2 2 2" in text
    assert "pair_style dptrain precision mixed" in text and "run 20\nrun 500" in text and "run 10\nrun 10" in text


# --- the whole program -----------------------------------------------------------------------------------------------

@pytest.fixture
def kit(tmp_path):
    """A kit of scripts, and a Python that knows a torch."""
    folder, torch = tmp_path / "kit", tmp_path / "torch"
    (folder / "bin").mkdir(parents=True)
    for name in ("gpu-check", "gpucheck"):
        (folder / name).symlink_to(ROOT / "tools" / name)
    (torch / "lib").mkdir(parents=True)
    (torch / "lib" / "libtorch_cpu.so").touch()
    (torch / "version.py").write_text("__version__ = '2.11.0+cu130'\n")
    scripts = {"lmp": "echo pair styles: dptrain", "test_json_document": "echo '[       OK ] Json.Reads (0 ms)'",
               "test_contraction": "exit 1"}
    for name, script in scripts.items():
        (folder / "bin" / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / "bin" / name).chmod(0o755)
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\necho {torch}\necho\n")
    python.chmod(0o755)

    def write(device):
        facts = {"device": device, "arch": "sm_90", "commit": "0" * 40, "torch": "2.11.0", "date": "today"}
        (folder / "kit.json").write_text(json.dumps(facts))
        return folder, python
    return write


def command_of(folder, python, tmp_path, *words):
    # a copy, because gpu-check looks for kit.json where it lies itself
    for name in ("gpu-check", "gpucheck"):
        if (folder / name).is_symlink():
            source = (folder / name).resolve()
            (folder / name).unlink()
            subprocess.run(["cp", "-r", str(source), str(folder / name)], check=True)
    return [sys.executable, str(folder / "gpu-check"), *words, "--python", str(python), "--out", str(tmp_path / "report")]


def gpu_check(folder, python, tmp_path, *words):
    return subprocess.run(command_of(folder, python, tmp_path, *words), cwd=tmp_path, env={"PATH": "/nowhere"}, capture_output=True, text=True, timeout=60)


def test_a_kit_for_gpus_on_a_machine_without_one(kit, tmp_path):
    done = gpu_check(*kit("cuda"), tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "no GPU: what needs one was not run" in done.stdout
    states = {stage["name"]: stage["state"] for stage in read(tmp_path)["stages"]}
    assert list(states) == main.NAMES
    assert states.pop("host") == report.PASSED and set(states.values()) == {report.NO_GPU}
    items = {item["name"]: item for item in read(tmp_path)["stages"][0]["items"]}
    assert items["json_document"]["passed"] == ["Json.Reads"]


@pytest.mark.parametrize("device, words", [("cuda", ["-k", "on", "g", "1", "-sf", "kk"]), ("cpu", ["-k", "on", "t", "1", "-sf", "kk"])])
def test_a_kit_with_the_kokkos_package(device, words, kit, tmp_path):
    folder, python = kit(device)
    facts = json.loads((folder / "kit.json").read_text())
    assert not machine.Target(folder, facts, tmp_path, str(python)).has_kokkos()
    lmp = folder / "kokkos" / "bin" / "lmp"
    lmp.parent.mkdir(parents=True)
    lmp.write_text("#!/bin/sh\necho sw/kk dptrain/kk\n")
    lmp.chmod(0o755)
    target = machine.Target(folder, facts, tmp_path, str(python))
    target.gpus = []
    assert list(map(str, target.kokkos_words())) == words
    assert target.environment(**target.kokkos_variables())["DPTRAIN_TEST_BIN"] == str(lmp.parent)
    done = gpu_check(folder, python, tmp_path, "host")
    items = {item["name"]: item["state"] for item in read(tmp_path)["stages"][0]["items"]}
    assert items["lmp with KOKKOS knows dptrain/kk"] == report.PASSED, done.stdout + done.stderr


def test_a_kit_without_the_kokkos_package_says_so(kit, tmp_path):
    gpu_check(*kit("cpu"), tmp_path, "kokkos")
    assert [(stage["state"], stage["note"]) for stage in read(tmp_path)["stages"]] == [("not there", "the kit was made without --lammps")]


def test_a_stage_that_fails_gives_the_exit_status(kit, tmp_path):
    done = gpu_check(*kit("cpu"), tmp_path, "kernels", "host")
    assert done.returncode == 1 and "something has FAILED" in done.stdout
    assert [stage["name"] for stage in read(tmp_path)["stages"]] == ["host", "kernels"]


def test_no_time_at_all_gives_its_exit_status(kit, tmp_path):
    done = gpu_check(*kit("cuda"), tmp_path, "--limit", "1")
    assert done.returncode == 2 and "nothing was run: 1 s are too short" in done.stderr


@pytest.mark.parametrize("number", main.SIGNALS)
def test_a_signal_ends_everything(number, kit, tmp_path):
    """No program is left, no folder of work, and what was ended has not failed."""
    folder, python = kit("cuda")
    (tmp_path / "temporary").mkdir()
    child = tmp_path / "child"
    for name in ("lmp", "test_json_document"):
        (folder / "bin" / name).write_text(f"#!/bin/sh\necho pair styles: dptrain\n[ {name} = lmp ] && exit 0\n"
                                           f"sleep 60 & echo $! > {child}.new; mv {child}.new {child}; wait\n")
    running = subprocess.Popen(command_of(folder, python, tmp_path, "host"), cwd=tmp_path, stderr=subprocess.PIPE, text=True,
                               preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),  # ignored in background jobs of a shell
                               env={"PATH": os.environ["PATH"], "TMPDIR": str(tmp_path / "temporary")})
    end = time.monotonic() + 30.0
    while not child.exists() and time.monotonic() < end:
        time.sleep(0.05)
    running.send_signal(number)
    _, text = running.communicate(timeout=30)
    assert running.returncode == 128 + number and f"ended by {signal.Signals(number).name}" in text
    assert not alive(int(child.read_text())) and not list((tmp_path / "temporary").iterdir())
    (stage,) = read(tmp_path)["stages"]
    assert {item["state"] for item in stage["items"]} == {report.PASSED}
    assert stage["state"] == f"ended by {signal.Signals(number).name}"


def test_bad_input_has_one_message(kit, tmp_path):
    folder, python = kit("cuda")
    done = gpu_check(folder, python, tmp_path, "speed")
    assert done.returncode == 2 and "unknown stage 'speed': allowed are host, device" in done.stderr
    for limit in ("nan", "inf", "0", "-5"):
        done = gpu_check(folder, python, tmp_path, f"--limit={limit}")
        assert done.returncode == 2 and f"invalid seconds value: '{limit}'" in done.stderr
    (tmp_path / "report").touch()  # a file, no folder
    done = gpu_check(folder, python, tmp_path)
    assert done.returncode == 2 and "no report can be written into" in done.stderr and "Traceback" not in done.stderr
    (folder / "kit.json").unlink()
    done = gpu_check(folder, python, tmp_path)
    assert done.returncode == 2 and "kit.json is missing" in done.stderr
    kit("cuda")
    python.write_text("#!/bin/sh\nexit 1\n")
    done = gpu_check(folder, python, tmp_path)
    assert done.returncode == 2 and "no Python with torch" in done.stderr and "--python" in done.stderr
