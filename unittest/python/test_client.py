"""`dptrain client` without LAMMPS: the words of its command line, and its end against a server of ASE."""

import os
import subprocess
import sys
import uuid
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
pytest.importorskip("ase", reason="the client needs ASE")
from dptrain import calculators, client  # noqa: E402


@pytest.mark.parametrize("text, name, options", [
    ("emt", "emt", {}),
    ("tblite:method=GFN1-xTB,verbosity=0", "tblite", {"method": "GFN1-xTB", "verbosity": 0}),
    ("a.B:kpts=(2,2,2),data={'Si': 'a,b'},on=True,off=false,name=x:y,list=[1,2.5]", "a.B",
     {"kpts": (2, 2, 2), "data": {"Si": "a,b"}, "on": True, "off": False, "name": "x:y", "list": [1, 2.5]})])
def test_calculator_words(text, name, options):
    assert calculators.parse_calculator(text) == (name, options)


def test_what_two_clients_have_in_common():
    """Names and order of arguments, device and folder make no difference; what is computed does."""
    same = [calculators.identity(text) for text in ("tblite:GFN1-xTB,verbosity=0", "tblite:verbosity=0,method=GFN1-xTB,directory=b",
                                                    "tblite:method='GFN1-xTB',verbosity=0,device=cuda:1")]
    assert same == [same[0]] * 3 and calculators.identity("tblite:GFN2-xTB,verbosity=0") != same[0]


def test_calculators_are_found():
    from ase.calculators.emt import EMT
    from ase.calculators.lj import LennardJones

    assert isinstance(calculators.make_calculator("emt"), EMT)
    made = calculators.make_calculator("ase.calculators.lj.LennardJones:sigma=2.5,rc=8")
    assert isinstance(made, LennardJones) and made.parameters.sigma == 2.5 and made.parameters.rc == 8


@pytest.mark.parametrize("text, message", [
    ("nosuch", "there is no calculator 'nosuch' here"), ("no.such.Thing", "no.such.Thing"), ("ase.calculators.lj.Nothing", "Nothing"),
    ("emt:fast", "found 'fast' where key=value must stand"), ("ase.calculators.socketio.SocketIOCalculator:wrong=3", "cannot be made")])
def test_wrong_calculators(text, message):
    with pytest.raises(calculators.CalculatorError, match=message.replace("(", r"\(")):
        calculators.make_calculator(text)


def test_addresses():
    assert client.parse_address("unix:water") == {"unixsocket": "water"}
    assert client.parse_address("node7:31415") == {"host": "node7", "port": 31415}
    assert client.parse_address(":31415") == {"host": "localhost", "port": 31415}
    for text in ("", "water", "unix:", "node7:", "node7:port"):
        with pytest.raises(client.ClientError, match="unix:NAME or HOST:PORT"):
            client.parse_address(text)


def run(*words, folder):
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    return subprocess.run([sys.executable, "-m", "dptrain", "client", *words], cwd=folder, capture_output=True, text=True,
                          timeout=300, env=environment)


def test_a_folder_for_the_files_of_the_calculator(tmp_path):
    """Several clients of a code that writes files have one each."""
    (tmp_path / "files.py").write_text("from ase.calculators.emt import EMT\n\n\nclass Says(EMT):\n    def __setattr__(self, name, value):\n"
                                       "        if name == 'directory':\n            print(name, value, flush=True)\n"
                                       "        super().__setattr__(name, value)\n")
    done = run("--calculator", "files.Says", "--socket", f"unix:{uuid.uuid4().hex}", "--wait", "0.1", "--directory", "a/client1", "t.init.xyz",
               folder=tmp_path)
    assert "directory a/client1" in done.stdout and (tmp_path / "a" / "client1").is_dir()


def test_nobody_listens(tmp_path):
    done = run("--calculator", "emt", "--socket", f"unix:{uuid.uuid4().hex}", "--wait", "0.5", "t.init.xyz", folder=tmp_path)
    assert done.returncode == 1 and "nobody listens at unix:" in done.stderr


def test_no_such_structure(tmp_path, monkeypatch):
    """The fix has written it before its first request: nobody waits for a name that is wrong."""
    monkeypatch.setattr(client, "FILE_LATE", 0.1)
    (tmp_path / "learn.init.xyz").write_text("")
    with pytest.raises(client.ClientError, match=f"there is no file .*cu.init.xyz, but {tmp_path}/learn.init.xyz: name ID.init.xyz of the fix"):
        client.read_structure(tmp_path / "cu.init.xyz")


def test_usage(tmp_path):
    assert run("--socket", "unix:a", "t.init.xyz", folder=tmp_path).returncode == 2
    assert "--calculator" in run("--help", folder=tmp_path).stdout


def test_against_the_server_of_ase(tmp_path):
    """ASE's own server: the answers are those of the calculator, up to the rounding of the units."""
    from ase.build import bulk
    from ase.calculators.emt import EMT
    from ase.calculators.socketio import SocketIOCalculator

    atoms = bulk("Cu", cubic=True) * (2, 1, 1)
    atoms.rattle(0.1, seed=1)
    atoms.write(tmp_path / "t.init.xyz", format="extxyz")
    name = uuid.uuid4().hex
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    with SocketIOCalculator(unixsocket=name) as server:
        process = subprocess.Popen([sys.executable, "-m", "dptrain", "client", "--calculator", "emt", "--socket", f"unix:{name}",
                                    "--wait", "1", "t.init.xyz"], cwd=tmp_path, env=environment)
        for seed in range(3):
            atoms.rattle(0.05, seed=seed)
            atoms.calc = server
            found = atoms.get_potential_energy(), atoms.get_forces(), atoms.get_stress()
            atoms.calc = EMT()
            expected = atoms.get_potential_energy(), atoms.get_forces(), atoms.get_stress()
            for a, b in zip(found, expected):
                assert np.allclose(a, b, rtol=1e-12, atol=1e-12)
    assert process.wait(20) in (0, 1)  # ASE's server may end without saying so
