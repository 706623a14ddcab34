"""`--python` of dptrain client and label: the calculator runs in an environment in which nothing of this package is installed."""

import os
import subprocess
import sys
import uuid
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "unittest" / "lammps")]
pytest.importorskip("ase", reason="calculators need ASE")
from dptrain import calculators  # noqa: E402
from environment import make_environment  # noqa: E402

CALCULATOR = """
import os, sys
from ase.calculators.lj import LennardJones

class Teacher(LennardJones):
    def __init__(self, **options):
        super().__init__(**options)
        package = sys.modules["dptrain"]
        print("teacher", sys.prefix, os.environ.get("OMP_NUM_THREADS"), sorted(name for name in sys.modules if name.startswith("dptrain.")), flush=True)
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    return make_environment(tmp_path_factory.mktemp("environment"), teacher=CALCULATOR)


def run(*words, folder):
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    return subprocess.run([sys.executable, "-m", "dptrain", *words], cwd=folder, capture_output=True, text=True, timeout=300, env=environment)


def client(*words, folder):
    return run("client", *words, "--socket", f"unix:{uuid.uuid4().hex}", "--wait", "0.1", "t.init.xyz", folder=folder)


@pytest.mark.parametrize("python", ["", "bin/python"])
def test_the_calculator_is_made_there(python, environment, tmp_path):
    """With its threads; nothing compiled of this package is loaded."""
    done = client("--python", str(environment / python), "--threads", "3", "--calculator", "teacher.Teacher:sigma=2.5", folder=tmp_path)
    line = next(line for line in done.stdout.splitlines() if line.startswith("teacher"))
    assert line.split()[1:3] == [str(environment), "3"] and "_dptrain" not in line
    assert done.returncode == 1 and "nobody listens" in done.stderr


def test_threads_alone(tmp_path):
    done = client("--threads", "2", "--calculator", "os.getenv:key='a'", folder=tmp_path)
    assert "nobody listens" in done.stderr


def test_label(environment, tmp_path):
    done = run("label", str(tmp_path / "spool"), "--python", str(environment), "--calculator", "teacher.Teacher", folder=tmp_path)
    assert done.returncode == 1 and "there is no spool" in done.stderr


@pytest.mark.parametrize("python, message", [
    ("nosuch", "--python nosuch: there is no such program"),
    (".", "--python .: there is no bin/python in this folder"),
])
def test_no_such_python(python, message, tmp_path):
    done = client("--python", python, "--calculator", "emt", folder=tmp_path)
    assert done.returncode == 1 and done.stderr.count("error") == 1 and message in done.stderr


def test_an_environment_without_ase(tmp_path):
    venv.create(tmp_path / "empty", symlinks=True)
    done = client("--python", "empty", "--calculator", "emt", folder=tmp_path)
    assert done.returncode == 1 and f"Install it with {tmp_path / 'empty'}/bin/python -m pip install ase" in done.stderr.replace("error: empty", "")


def test_a_package_that_is_missing(environment, tmp_path):
    for name in ("sevenn", "chgnet"):
        done = client("--python", str(environment), "--calculator", name, folder=tmp_path)
        assert done.returncode == 1 and f"{environment}/bin/python -m pip install {name}" in done.stderr


@pytest.mark.parametrize("text, options", [
    ("sevenn:7net-0", {"model": "7net-0"}),
    ("mace:medium-mpa-0,device=cuda", {"model": "medium-mpa-0", "device": "cuda"}),
    ("chgnet:0.3.0", {"model": "0.3.0"}),
    ("metatomic:models/pet.pt,device='cpu'", {"model": "models/pet.pt", "device": "cpu"}),
    ("tblite:GFN1-xTB,verbosity=0", {"method": "GFN1-xTB", "verbosity": 0}),
    ("sevenn", {}),
])
def test_names_of_models(text, options):
    assert calculators.parse_calculator(text)[1] == options


def test_a_method_of_a_class():
    """As fairchem's, which makes a calculator from the name of a model."""
    assert calculators.find("pathlib.Path.home") == Path.home
    with pytest.raises(ModuleNotFoundError):
        calculators.find("no.such.thing")


def test_what_the_manual_lists():
    """All names, with what pip installs, what they stand for, and their models."""
    text = (ROOT / "doc" / "src" / "dptrain_client.rst").read_text(encoding="ascii")
    for name, package in calculators.NAMED.items():
        assert f'   "*{name}*", "{package.install}", "{package.path}", "{package.models}"\n' in text
