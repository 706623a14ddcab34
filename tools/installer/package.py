"""This package: compiled here, or from a wheel that was made before."""

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from progress import Failure, Progress, duration, run

SOURCES = ["CMakeLists.txt", "pyproject.toml", "README.md", "cmake", "examples/silicon", "lib", "potentials", "python", "src"]
FROM_WHEEL = "wheel "  # how what is remembered of a wheel begins
# a run that needs the plugin, LibTorch and the styles
TRIAL = """units metal
lattice diamond 5.431
region box block 0 1 0 1 0 1
create_box 1 box
create_atoms 1 box
mass 1 28.0855
pair_style dptrain
pair_coeff * * {potential} Si
run 0
"""


class BuildProgress:
    """Files compiled of all, from the lines of ninja."""

    def __init__(self, progress):
        self.progress, self.start = progress, None
        self.done = self.all = 0

    def read(self, line):
        found = re.match(r"\s*\[(\d+)/(\d+)\]", line)
        if found:
            self.done, self.all = int(found[1]), int(found[2])
            self.start = self.start or self.progress.elapsed()

    def text(self):
        if not self.all:
            return "configuring"
        left = ""
        if self.done > 3:
            seconds = (self.progress.elapsed() - self.start) * (self.all - self.done) / self.done
            left = f", about {duration(seconds)} left"
        return f"{self.done} of {self.all} files{left}"


def state_of_sources(root):
    """A number that changes with each file that the build reads, and with CMAKE_ARGS."""
    state = hashlib.sha256(f"{os.environ.get('CMAKE_ARGS', '')} {root}".encode())
    for name in SOURCES:
        place = root / name
        for file in [place] if place.is_file() else sorted(place.rglob("*")):
            if file.is_file() and file.suffix != ".pyc":
                state.update(f"{file.relative_to(root)}\0".encode() + file.read_bytes())
    return state.hexdigest()


def jobs():
    """Files to compile at once: one for each core, and a GiB of memory for each."""
    with open("/proc/meminfo", encoding="utf-8") as file:
        available = int(re.search(r"^MemAvailable:\s+(\d+) kB", file.read(), re.M)[1])
    return max(1, min(len(os.sched_getaffinity(0)), available // 2**20))


def remembered(environment):
    """What was installed, and worked, at the latest call; empty if nothing was."""
    stamp = environment.folder / ".dptrain-installed"
    return stamp.read_text() if stamp.exists() else ""


def remember(environment, state):
    (environment.folder / ".dptrain-installed").write_text(state)


def from_wheel(environment):
    """True where a wheel was installed."""
    return remembered(environment).startswith(FROM_WHEEL)


def pip_environment(environment):
    """Programs of the environment first; its own CMake and ninja are used."""
    return {"CMAKE_BUILD_PARALLEL_LEVEL": str(jobs()), **os.environ, "VIRTUAL_ENV": str(environment.folder),
            "PATH": f"{environment.folder}/bin{os.pathsep}{os.environ['PATH']}"}


def install_from_source(root, environment, log):
    """Compiles and installs; what is compiled already stays, so that a second call goes on. Returns the state of the sources, or
    an empty text where that is installed already."""
    state = state_of_sources(root)
    if remembered(environment) == state:
        return ""
    log.unlink(missing_ok=True)
    progress = Progress(f"compiling {os.environ.get('CMAKE_BUILD_PARALLEL_LEVEL', jobs())} files at a time")
    build = BuildProgress(progress)
    code, output = run([environment.python, "-m", "pip", "install", "-v", "--no-build-isolation", "--no-deps", "--force-reinstall",
                        "--disable-pip-version-check", root], log, progress, build.read, build.text, pip_environment(environment))
    if code != 0:
        progress.failed()
        raise Failure(build_failure(output, log))
    progress.done()
    return state


def build_failure(output, log):
    """Why the build failed: the cause in words, or the first errors."""
    again = f"\n  All of the output: {log}. Call tools/install again: what is compiled already stays"
    if re.search(r"No space left on device", output):
        return f"the disk is full: make room (1 GiB) in the checkout and in TMPDIR.{again}"
    if re.search(r"Killed signal|cc1plus: out of memory|virtual memory exhausted", output):
        return f"the compiler ran out of memory: compile fewer files at once, CMAKE_BUILD_PARALLEL_LEVEL=1 tools/install.{again}"
    if re.search(r"No CMAKE_CXX_COMPILER could be found|is not able to compile a simple test program", output):
        return f"there is no C++ compiler that works: install g++ (9 or newer), or name one with CXX=COMPILER.{again}"
    lines = [line for line in output.splitlines() if re.search(r"\berror\b|CMake Error|FAILED", line, re.IGNORECASE)]
    shown = "\n".join(lines[:8] or output.splitlines()[-20:])
    return f"the build failed:\n{shown}{again}"


def wheel_file(place):
    """The wheel that is meant by a file or a folder."""
    place = Path(place)
    found = sorted(place.glob("dptrain-*.whl"), key=lambda file: file.stat().st_mtime) if place.is_dir() else [place]
    if not found or not found[-1].is_file():
        raise Failure(f"--wheel {place}: no dptrain-*.whl there: make one with  tools/wheel [FOLDER]  on a machine with a compiler")
    return found[-1].resolve()


def install_wheel(place, environment, log):
    """Installs a wheel of tools/wheel; nothing is compiled. Returns what install_from_source does."""
    wheel = wheel_file(place)
    state = FROM_WHEEL + hashlib.sha256(wheel.read_bytes()).hexdigest()
    if remembered(environment) == state:
        return ""
    progress = Progress(f"installing {wheel.name}")
    code, output = run([environment.python, "-m", "pip", "install", "--no-deps", "--force-reinstall", "--disable-pip-version-check", wheel],
                       log, progress)
    if code != 0:
        progress.failed()
        why = next((line for line in output.splitlines() if line.startswith("ERROR")), output.strip()[-300:])
        raise Failure(f"{why}\n  A wheel fits one version of Python and one kind of processor: make one with  tools/wheel  on a machine like this")
    progress.done()
    return state


def try_out(environment):
    """One evaluation by the new pair style, as the proof that all of it works."""
    progress = Progress("trying it out")
    potential = next((environment.folder / "lib").glob("python3*/site-packages/dptrain/potentials/Si.*.dp"), None)
    with tempfile.TemporaryDirectory() as folder:
        trial = Path(folder) / "in.trial"
        trial.write_text(TRIAL.format(potential=potential))
        try:
            done = subprocess.run([environment.folder / "bin/lmp", "-in", trial, "-log", "none"], cwd=folder, capture_output=True, text=True,
                                  timeout=120, env={**pip_environment(environment), "OMP_NUM_THREADS": "1"})
            output, works = done.stdout + done.stderr, done.returncode == 0
        except (OSError, subprocess.TimeoutExpired) as error:
            output, works = str(error), False
    if not works:
        progress.failed()
        lines = [line for line in output.splitlines() if re.search("ERROR|WARNING|dptrain|error", line)]
        said = "\n".join(lines[-6:] or output.splitlines()[-6:])
        raise Failure(f"it is installed, but LAMMPS cannot use it:\n{said}\n  Try  {environment.folder}/bin/dptrain doctor , which says what to do; "
                      "another plugin in LAMMPS_PLUGIN_PATH comes in the way, for example, or a wheel of a system with another HDF5")
    progress.done("lmp runs pair_style dptrain")


def uninstall(root, environment):
    """Removes what tools/install has made: all of an environment of its own, of another one this package only."""
    removed = []
    if environment.ours() and environment.folder.exists():
        shutil.rmtree(environment.folder)
        removed.append(environment.folder)
    elif environment.works():
        done = subprocess.run([environment.python, "-m", "pip", "uninstall", "-q", "-y", "dptrain"], capture_output=True, text=True)
        if done.returncode != 0:
            raise Failure(f"pip could not remove dptrain: {done.stderr.strip().splitlines()[-1:]}; remove it by hand from {environment.folder}")
        for name in (".dptrain-installed", ".dptrain-packages"):
            (environment.folder / name).unlink(missing_ok=True)
        removed.append(f"the package dptrain of {environment.folder}")
    for name in ("build-wheel", "build-portable", ".install"):
        if (root / name).exists():
            shutil.rmtree(root / name)
            removed.append(root / name)
    return removed
