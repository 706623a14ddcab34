"""Fixtures of the tests that run LAMMPS."""

import importlib.metadata
import os
import shutil
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from labels import LENNARD_JONES  # noqa: E402
from choice import number  # noqa: E402
from lammps_runner import OneLammps, console_variables, lammps_variables, lammps_words, run_lammps  # noqa: E402
from silicon import write_input  # noqa: E402



def pytest_sessionstart():
    """LAMMPS loads the plugin of an installed package before those of LAMMPS_PLUGIN_PATH: that one would be tested."""
    if os.environ.get("LAMMPS_PLUGIN_PATH") and any(importlib.metadata.distributions(name="dptrain")):
        pytest.exit("LAMMPS_PLUGIN_PATH is set, but the dptrain that is installed here would be loaded instead: pip uninstall it", 2)


@pytest.fixture
def lammps(tmp_path):
    """Function: input text, ranks -> Result; all runs of a test share one folder."""
    return lambda text, ranks=1, options=(), **environment: run_lammps(tmp_path, text, ranks, options, **environment)


@pytest.fixture(scope="session")
def one_lammps():
    """A LAMMPS for all inputs of this session that end with a message."""
    process = OneLammps()
    yield process
    process.end()


@pytest.fixture
def message(request, one_lammps, lammps, tmp_path):
    """Like `lammps`, for inputs that end with an error before anything is computed. They run in one process, on one rank; with
    --all, and of eight of them one that the commit's hash chooses, in a process of their own on all the ranks."""
    alone = os.environ["DPTRAIN_PICK"] == "all" or "DPTRAIN_TEST_BIN" in os.environ or number(request.node.nodeid, 8) == 0

    def run(text, ranks=1, **environment):
        return lammps(text, ranks, **environment) if alone else one_lammps.run(tmp_path, text, **environment)
    return run


@pytest.fixture
def silicon(lammps, tmp_path):
    """The same, with the input.json of a small silicon model in the folder."""
    write_input(tmp_path)
    return lammps


@pytest.fixture(scope="session")
def learned_once(tmp_path_factory):
    """Function: input text, folder -> the files of a learning run of the silicon model are in the folder. Each text is run once."""
    made = {}

    def copy(text, folder):
        if text not in made:
            made[text] = tmp_path_factory.mktemp("learned")
            write_input(made[text])
            run_lammps(made[text], text).check()
        shutil.copytree(made[text], folder, dirs_exist_ok=True)
    return copy


@pytest.fixture
def processes():
    """Processes that are ended with the test."""
    started = []
    yield started
    for process in started:
        if process.poll() is None:
            process.kill()
        process.wait()


@pytest.fixture
def start_lammps(processes, tmp_path):
    """Function that starts LAMMPS: input text, ranks -> process with its output in `log`; lammps_runner.finish() waits for it."""
    def start(text, ranks=1, log="screen"):
        (tmp_path / f"in.{log}").write_text(text)
        with open(tmp_path / log, "w") as out:
            process = subprocess.Popen(lammps_words(ranks, f"in.{log}", "-nonbuf"), cwd=tmp_path, stdout=out, stderr=subprocess.STDOUT,
                                       start_new_session=True, env=lammps_variables())
        processes.append(process)
        return process
    return start


def python_variables():
    """Environment of `python -m dptrain` that finds the calculators of the tests."""
    variables = console_variables()
    paths = [variables.get("PYTHONPATH"), os.environ.get("PYTHONPATH"), str(Path(__file__).parent)]
    return {**variables, "PYTHONPATH": os.pathsep.join(filter(None, paths))}


@pytest.fixture
def labeler(processes, tmp_path):
    """Function that starts `dptrain label spool`: calculator, further words -> process; its output goes to label.log."""
    def start(calculator=LENNARD_JONES, *words, log="label.log"):
        command = [sys.executable, "-m", "dptrain", "label", "spool", "--calculator", calculator, "--watch", *words]
        with open(tmp_path / log, "w") as out:
            processes.append(subprocess.Popen(command, cwd=tmp_path, env=python_variables(), stdout=out, stderr=subprocess.STDOUT))
        return processes[-1]
    return start


@pytest.fixture
def address(tmp_path):
    """Address of a socket file for this test alone."""
    name = f"test_{uuid.uuid4().hex[:12]}"
    yield f"unix:{name}"
    Path(f"/tmp/ipi_{name}").unlink(missing_ok=True)  # of runs that were killed


@pytest.fixture
def client(processes, tmp_path):
    """Function that starts `dptrain client`: calculator, address, further words -> process; its output goes to client.log."""
    def start(calculator, where, *words, log="client.log", structure="t.init.xyz"):
        command = [sys.executable, "-m", "dptrain", "client", "--calculator", calculator, "--socket", where, "--wait", "60",
                   *words, structure]
        with open(tmp_path / log, "w") as out:
            processes.append(subprocess.Popen(command, cwd=tmp_path, env=python_variables(), stdout=out, stderr=subprocess.STDOUT))
        return processes[-1]
    return start


@pytest.fixture
def clients(client, address):
    """Function that starts so many clients with Lennard-Jones forces, each of which needs so many seconds for a label."""
    calculator = "calculators.Slow:sigma=2.1,epsilon=0.05,rc=6.0,seconds="
    return lambda number, seconds: [client(calculator + str(seconds), address, log=f"client{k}.log") for k in range(number)]
