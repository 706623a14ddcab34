"""`dptrain label` without LAMMPS: answers, failures, and several processes, some of which die, on one spool."""

import contextlib
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
import types
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
ase_io = pytest.importorskip("ase.io", reason="the calculators are those of ASE")
from ase.calculators.lj import LennardJones  # noqa: E402
from dptrain import label as label_module  # noqa: E402
from dptrain.spool import Spool, this_process  # noqa: E402

LENNARD_JONES = "ase.calculators.lj.LennardJones:sigma=2.1,epsilon=0.05,rc=6.0"
OPTIONS = "sigma=2.1,epsilon=0.05,rc=6.0"
CELL = [[6.0, 0.0, 0.0], [0.7, 6.5, 0.0], [-0.4, 0.3, 7.0]]
# calculators of the tests with LAMMPS are at hand, and these
MODULE = """
from pathlib import Path
from ase.calculators.lj import LennardJones
class Writes(LennardJones):
    def calculate(self, *args, **kwargs):
        Path(self.directory, "output.log").write_text("of the code")
        super().calculate(*args, **kwargs)
class Fails(LennardJones):
    def calculate(self, *args, **kwargs):
        raise RuntimeError("no program")
class NoStress(LennardJones):
    implemented_properties = ["energy", "forces"]
class Infinite(LennardJones):
    def calculate(self, *args, **kwargs):
        super().calculate(*args, **kwargs)
        self.results["forces"][0, 0] = float("nan")
class Smeared(LennardJones):
    implemented_properties = ["energy", "forces", "stress"]
    def calculate(self, *args, **kwargs):
        super().calculate(*args, **kwargs)
        self.results["energy"] += 0.29
class NotThisTime(Smeared):
    implemented_properties = ["energy", "free_energy", "forces", "stress"]
    def calculate(self, *args, **kwargs):
        super().calculate(*args, **kwargs)
        del self.results["free_energy"]
def espresso(**more):
    from ase.calculators.espresso import Espresso, EspressoProfile
    profile = EspressoProfile(command=str(Path(__file__).with_name("pw.x")), pseudo_dir="/nowhere")
    return Espresso(profile=profile, pseudopotentials={"Si": "Si.upf"}, input_data=dict(tprnfor=True, tstress=True), **more)
"""
# reads and writes the files of Quantum ESPRESSO's pw.x, with a Lennard-Jones potential for electrons
PW = """#!{python}
import sys, time
from pathlib import Path
from ase.calculators.lj import LennardJones
from ase.io import read
from ase.units import Bohr, Ry
atoms = read(sys.argv[sys.argv.index("-in") + 1], format="espresso-in")
atoms.calc = LennardJones(sigma=2.1, epsilon=0.05, rc=5.7)  # no edge of the cell
open("running", "x").close()  # an error where another one works in this folder
print("     Program PWSCF v.7.2 starts")
print(f"     number of atoms/cell      = {{len(atoms)}}")
print("     number of atomic types    = 1")
print(f"     celldm(1)= {{1 / Bohr!r}}  celldm(2)= 0.0")
print("     crystal axes: (cart. coord. in units of alat)")
for k, v in enumerate(atoms.cell.array): print(f"               a({{k + 1}}) = (", *map(repr, map(float, v)), ")")
print("     site n.     atom                  positions (alat units)")
for k, x in enumerate(atoms.positions): print(f"         {{k + 1}}           Si  tau({{k + 1:4d}}) = (", *(f"{{y:.10f}}" for y in x), ")")
print(f"!    total energy              =   {{float(atoms.get_potential_energy()) / Ry!r}} Ry")
print("     Forces acting on atoms (cartesian axes, Ry/au):", "", sep=chr(10))
for k, f in enumerate(atoms.get_forces() * Bohr / Ry): print(f"     atom {{k + 1}} type  1   force = ", *map(repr, map(float, f)))
print("     total   stress  (Ry/bohr**3)                   (kbar)     P=  0.0")
for row in -atoms.get_stress(voigt=False) * Bohr**3 / Ry: print("  ", *map(repr, map(float, row)), " 0 0 0")
time.sleep(0.2)
Path("running").unlink()
"""


class Folder:
    """A spool, and processes that work on it."""

    def __init__(self, path, processes):
        self.path, self.work, self.processes = path / "spool", path, processes
        (path / "module.py").write_text(MODULE)

    def ask(self, count=1, pbc=(True, True, True), natoms=8, start=0):
        """Requests as the fix writes them; returns their folders."""
        self.path.mkdir(exist_ok=True)
        (self.path / "spool.json").write_text('{"format":"dptrain spool","version":1}\n')
        rng, folders = np.random.default_rng(start), []
        for step in range(start, start + count):
            side = int(np.ceil(natoms ** (1 / 3)))
            points = (np.array(list(np.ndindex(side, side, side)))[:natoms] + rng.uniform(-0.1, 0.1, (natoms, 3))) / side @ CELL
            box = f'Lattice="{" ".join(map(str, np.ravel(CELL)))}" ' if any(pbc) else ""
            lines = [str(natoms), f'{box}Properties=species:S:1:pos:R:3 pbc="{" ".join("FT"[k] for k in pbc)}" step={step}']
            lines += ["Si " + " ".join(map(repr, map(float, point))) for point in points]
            folder = self.path / f"{step:09d}-0123456789ab"
            folder.mkdir()
            (folder / "request.xyz").write_text("\n".join(lines) + "\n")
            folders.append(folder)
        return folders

    def start(self, *words, calculator=LENNARD_JONES, **more):
        paths = [str(ROOT / "python"), str(ROOT / "unittest" / "lammps"), str(self.work)]
        variables = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1"}
        process = subprocess.Popen([sys.executable, "-m", "dptrain", "label", "spool", "--calculator", calculator, *words],
                                   cwd=self.work, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=variables, **more)
        self.processes.append(process)
        return process

    def __call__(self, *words, **more):
        """Exit status and what was said."""
        return end_of(self.start(*words, **more))

    def files(self):
        return {folder.name: sorted(p.name for p in folder.iterdir()) for folder in sorted(self.path.iterdir()) if folder.is_dir()}

    def answered(self):
        return len(list(self.path.glob("*/answer.xyz")))


def end_of(process):
    out, err = process.communicate(timeout=300)
    return process.returncode, out + err


def wait_for(condition, seconds=300):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.fixture
def spool(tmp_path):
    processes = []
    yield Folder(tmp_path, processes)
    for process in processes:
        if process.poll() is None:
            process.kill()
            process.communicate()


BOTH = ["answer.xyz", "request.xyz"]


@pytest.mark.parametrize("pbc", [(True, True, True), (True, True, False), (False, False, False)])
def test_answers(pbc, spool):
    """Energy, forces and stress are those of the calculator, and atoms those of the request, in all digits."""
    folders = spool.ask(2, pbc)
    status, said = spool()
    assert status == 0 and "the end after 2 labels, 0 failed" in said
    assert all(files == BOTH for files in spool.files().values())
    for folder in folders:
        request, answer = (ase_io.read(folder / name, format="extxyz") for name in ("request.xyz", "answer.xyz"))
        assert np.array_equal(request.positions, answer.positions) and np.array_equal(request.cell, answer.cell)
        assert request.symbols.get_chemical_formula() == "Si8" == answer.symbols.get_chemical_formula()
        assert tuple(answer.pbc) == pbc and answer.info["step"] == request.info["step"]
        request.calc = LennardJones(sigma=2.1, epsilon=0.05, rc=6.0)
        assert answer.get_potential_energy() == request.get_potential_energy()
        assert np.array_equal(answer.get_forces(), request.get_forces()) and np.abs(answer.get_forces()).max() > 0.01
        if any(pbc):
            assert np.allclose(answer.get_stress(), request.get_stress(), rtol=1e-14, atol=0)
        else:
            assert "stress" not in answer.calc.results
        assert f"{folder.name}: {request.get_potential_energy():.6f} eV, " in said


def test_nothing_is_done_twice(spool):
    spool.ask(3)
    assert "3 labels" in spool()[1]
    before = [path.stat().st_mtime_ns for path in sorted(spool.path.glob("*/answer.xyz"))]
    assert "0 labels" in spool()[1]
    spool.ask(1, start=3)
    assert "1 labels" in spool()[1]
    assert before == [path.stat().st_mtime_ns for path in sorted(spool.path.glob("*/answer.xyz"))][:3]


def test_without_stress(spool):
    spool.ask(2)
    for words, calculator in ((["--no-stress"], LENNARD_JONES), ([], f"module.NoStress:{OPTIONS}")):
        status, said = spool(*words, calculator=calculator)
        assert status == 0 and said.count("no stress is computed: give the spool of the fix 'virial no'") == 1
        for answer in spool.path.glob("*/answer.xyz"):
            assert "stress" not in answer.read_text() and "energy=" in answer.read_text()
            answer.unlink()


def test_a_failure_is_told_and_tried_again(spool):
    """The second calculation fails; --again does it, and what the fix could not use."""
    folders = spool.ask(3)
    status, said = spool(calculator=f"calculators.Moody:{OPTIONS}")
    assert status == 0 and f"{folders[1].name}: failed: RuntimeError: no self-consistency after 100 cycles" in said
    assert (folders[1] / "failed.txt").read_text() == "RuntimeError: no self-consistency after 100 cycles\n"
    assert spool.files()[folders[1].name] == ["failed.txt", "request.xyz"]
    (folders[2] / "answer.xyz").rename(folders[2] / "answer.xyz.bad1")
    assert "0 labels, 0 failed" in spool()[1]
    status, said = spool("--again")
    assert status == 0 and "2 requests are open again" in said and "2 labels, 0 failed" in said
    assert spool.files()[folders[1].name] == ["answer.xyz", "failed.old.txt", "request.xyz"]
    assert spool.files()[folders[2].name] == ["answer.xyz", "answer.xyz.old1", "request.xyz"]


@pytest.mark.parametrize("calculator, why", [("Fails", "RuntimeError: no program"), ("Infinite", "energy, forces or stress are not finite")])
def test_a_calculator_that_does_not_work(calculator, why, spool):
    """It does not spoil more than a few requests."""
    spool.ask(6)
    status, said = spool("--watch", calculator=f"module.{calculator}:{OPTIONS}")
    assert status == 1 and "the first 3 calculations have failed" in said
    assert said.count(why) == 3 and len(list(spool.path.glob("*/failed.txt"))) == 3


def test_files_of_the_code(spool):
    """Of codes that write any: in the folder of the request, unless the calculator is told another one."""
    folders = spool.ask(2)
    assert spool(calculator=f"module.Writes:{OPTIONS}")[0] == 0
    assert all((folder / "output.log").read_text() == "of the code" for folder in folders)
    spool.ask(1, start=2)
    assert spool(calculator=f"module.Writes:{OPTIONS},directory='.'")[0] == 0
    assert (spool.work / "output.log").exists()


def expect_lennard_jones(folder):
    """Answers that came through files with positions of ten digits, in units that ASE takes from other CODATA there (2e-8)."""
    request, answer = (ase_io.read(folder / name, format="extxyz") for name in ("request.xyz", "answer.xyz"))
    request.calc = LennardJones(sigma=2.1, epsilon=0.05, rc=5.7)
    assert answer.get_potential_energy() == pytest.approx(request.get_potential_energy(), rel=1e-6)
    assert np.allclose(answer.get_forces(), request.get_forces(), rtol=1e-6, atol=1e-6)
    assert np.allclose(answer.get_stress(), request.get_stress(), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("words", ["", ":directory=scratch"])
@pytest.mark.parametrize("jobs", [1, 3])
def test_calculators_that_keep_their_folder_as_a_path(jobs, words, spool):
    """ASE's Espresso; the same class serves Abinit, Aims, Elk, Octopus, ORCA, ONETEP and Exciting. Each process in its own folder."""
    folders = spool.ask(6)
    (spool.work / "pw.x").write_text(PW.format(python=sys.executable))
    (spool.work / "pw.x").chmod(0o755)
    status, said = spool("--jobs", str(jobs), calculator="module.espresso" + words)
    assert status == 0 and computed(said) == [f"{folder.name}:" for folder in folders], said
    for folder in folders:
        expect_lennard_jones(folder)
    if words:
        found = sorted(str(path.relative_to(spool.work)) for path in spool.work.glob("scratch/**/espresso.pwo"))
        assert found == (["scratch/espresso.pwo"] if jobs == 1 else [f"scratch/worker-{k}/espresso.pwo" for k in range(3)])
    else:
        assert all((folder / "espresso.pwo").exists() for folder in folders)


@pytest.mark.parametrize("calculator, shift", [("Smeared", 0.0), ("NotThisTime", 0.29)])
def test_the_energy_that_the_forces_are_derivatives_of(calculator, shift, spool):
    """The free energy, also of a calculator that does not list it; the energy where there is no other."""
    (folder,) = spool.ask(1)
    assert spool(calculator=f"module.{calculator}:{OPTIONS}")[0] == 0
    request, answer = (ase_io.read(folder / name, format="extxyz") for name in ("request.xyz", "answer.xyz"))
    request.calc = LennardJones(sigma=2.1, epsilon=0.05, rc=6.0)
    assert answer.get_potential_energy() == pytest.approx(request.get_potential_energy() + shift, abs=1e-10)


def computed(*said):
    """Names of the requests that were computed, in all outputs."""
    return sorted(line.split()[2] for text in said for line in text.splitlines() if " eV, " in line)


def test_several_processes(spool):
    """Each request is computed once, by processes that work at the same time."""
    folders = spool.ask(12)
    processes = [spool.start(calculator=f"calculators.Held:{OPTIONS},hold=1") for _ in range(3)]
    wait_for(lambda: len(list(spool.path.glob("*/claim"))) == 3)
    (spool.work / "release").touch()
    said = [end_of(process)[1] for process in processes]
    assert computed(*said) == [f"{folder.name}:" for folder in folders]
    assert all(computed(text) for text in said)
    assert all(files == BOTH for files in spool.files().values())


def test_jobs(spool):
    folders = spool.ask(12)
    status, said = spool("--jobs", "3", calculator=f"calculators.Slow:{OPTIONS},seconds=0.1")
    assert status == 0 and said.count("the end after") == 3
    assert computed(said) == [f"{folder.name}:" for folder in folders]


def test_what_users_remove_is_asked_again(spool, monkeypatch):
    """A folder that is made anew has the same requests, and an answer may not be good enough: who watches sees both."""
    now = 0.0  # the test's clock
    monkeypatch.setattr(label_module, "time", types.SimpleNamespace(monotonic=lambda: now))
    words = types.SimpleNamespace(folder=spool.path, calculator=LENNARD_JONES, no_stress=False, retake=None)
    worker = label_module.Worker(words, types.SimpleNamespace(check=lambda: None, later=contextlib.nullcontext, now=contextlib.nullcontext))
    first, second = spool.ask(2)
    assert worker.look() and spool.answered() == 2 and not worker.look()
    for folder in (first, second):
        shutil.rmtree(folder)
    assert not worker.look()
    spool.ask(2)
    assert worker.look() and spool.answered() == 2 and not worker.look()
    (first / "answer.xyz").unlink()
    now = 29.0
    assert not worker.look()  # for half a minute
    now = 31.0
    assert worker.look() and spool.answered() == 2 and worker.labels == 5


@pytest.mark.parametrize("jobs", [1, 2])
def test_watch_until_a_signal(jobs, spool):
    """From before there is a spool; the signal comes amid a calculation and leaves nothing half."""
    process = spool.start("--watch", "--jobs", str(jobs), calculator=f"calculators.Held:{OPTIONS},hold=3")
    assert "waiting for" in process.stdout.readline()
    spool.ask(2)
    wait_for(lambda: spool.answered() == 2)
    spool.ask(4, start=2)
    wait_for((spool.work / "begun").exists)
    process.send_signal(signal.SIGTERM)
    status, said = end_of(process)
    assert status == 143 and said.count("ended by SIGTERM after") == jobs
    assert set(map(tuple, spool.files().values())) == {tuple(BOTH), ("request.xyz",)}
    assert spool(calculator=LENNARD_JONES)[0] == 0 and spool.answered() == 6


def test_ctrl_c(spool):
    spool.ask(2)
    process = spool.start(calculator=f"calculators.Held:{OPTIONS},hold=1")
    wait_for((spool.work / "begun").exists)
    process.send_signal(signal.SIGINT)
    status, said = end_of(process)
    assert status == 130 and "Traceback" not in said
    assert all(files == ["request.xyz"] for files in spool.files().values())


def test_a_process_that_is_killed(spool):
    """Another one on the machine takes its request over at once; one that lives is left alone."""
    (folder,) = spool.ask(1)
    process = spool.start(calculator=f"calculators.Held:{OPTIONS},hold=1")
    wait_for((spool.work / "begun").exists)
    assert "0 labels" in spool()[1]
    process.kill()
    assert spool.files()[folder.name] == ["claim", "request.xyz"]
    status, said = spool()  # nobody has asked for the end of the process yet: it is a zombie
    assert status == 0 and "1 labels, 0 failed" in said and spool.files()[folder.name] == BOTH


def test_workers_end_with_what_started_them(spool):
    spool.ask(1)
    process = spool.start("--watch", "--jobs", "2")
    wait_for(lambda: spool.answered() == 1)
    process.kill()
    out, err = process.communicate(timeout=300)  # the pipes are closed when the last worker has ended
    assert out.count("the end after") == 2


def test_a_request_over_which_processes_die(spool):
    (folder,) = spool.ask(1)
    dead = subprocess.Popen(["true"])
    dead.wait()
    owner = {**this_process(), "pid": dead.pid, "started": 1}
    (folder / "claim").write_text(json.dumps({**owner, "attempt": 2}))
    process = spool.start(calculator=f"calculators.Held:{OPTIONS},hold=1")
    wait_for((spool.work / "begun").exists)
    assert json.loads((folder / "claim").read_text())["attempt"] == 3
    process.kill()
    process.wait()
    status, said = spool()
    assert status == 0 and "3 processes have died over it" in said
    assert spool.files()[folder.name] == ["failed.txt", "request.xyz"]


def age(path, seconds):
    os.utime(path, (time.time() - seconds,) * 2)


@pytest.mark.parametrize("other", [{"host": "elsewhere"}, {"space": "pid:[1]"}])
def test_claims_of_other_machines(other, spool):
    """Nothing is known of their processes: they count for ever, or as long as --retake says. Containers are machines."""
    (folder,) = spool.ask(1)
    (folder / "claim").write_text(json.dumps({**this_process(), "pid": 1, "started": 1, **other}))
    age(folder / "claim", 1000)
    assert "0 labels" in spool()[1]
    assert "0 labels" in spool("--retake", "3000")[1]
    assert "1 labels" in spool("--retake", "999")[1] and spool.files()[folder.name] == BOTH


def test_claims_from_before_a_boot_and_without_owner(spool):
    first, second, third = spool.ask(3)
    (first / "claim").write_text(json.dumps({**this_process(), "boot": "another"}))
    (second / "claim").write_text("")  # its process was killed before it could write, or writes just now
    (third / "claim").write_text("by hand, a person works on it")
    age(third / "claim", 100)
    assert "2 labels" in spool()[1]
    age(second / "claim", 100)
    assert "1 labels" in spool()[1] and spool.answered() == 3


def test_what_others_do_meanwhile(spool):
    """Requests that are answered, or taken back, while they are computed."""
    first, second = spool.ask(2)
    process = spool.start(calculator=f"calculators.Held:{OPTIONS},hold=1")
    wait_for((spool.work / "begun").exists)
    (first / "answer.xyz").write_text("of a person")
    (second / "request.xyz").unlink()
    second.rmdir()
    (spool.work / "release").touch()
    assert end_of(process)[0] == 0
    assert (first / "answer.xyz").read_text() == "of a person" and spool.files() == {first.name: BOTH}


def test_full_disk(spool):
    """A limit on the size of files fails amid writing: nothing is left but the request."""
    spool.ask(1, natoms=100)
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))  # noqa: E731
    status, said = spool(preexec_fn=limit)
    assert status == 1 and "cannot be worked in: File too large" in said
    assert all(files == ["request.xyz"] for files in spool.files().values())


def test_a_spool_that_is_being_made(spool, monkeypatch):
    """The fix writes the description while the folder is looked at."""
    spool.path.mkdir()
    assert not Spool(spool.path).exists()
    listed = os.listdir

    def listdir(folder):
        (spool.path / "spool.json").write_text('{"format": "dptrain spool", "version": 1}')
        return listed(folder)

    monkeypatch.setattr(os, "listdir", listdir)
    assert Spool(spool.path).exists()


def test_wrong_words_and_folders(spool):
    assert spool("--jobs", "0")[0] == 2 and spool("--retake", "-1")[0] == 2 and "--calculator" in spool("--help")[1]
    status, said = spool()
    assert status == 1 and "there is no spool" in said and "--watch waits for it" in said
    spool.path.mkdir()
    (spool.path / "type.raw").touch()
    assert "is no spool: there is no spool.json in it" in spool()[1]
    for text, message in (("{}", "does not describe a spool"), ('{"format": "dptrain spool", "version": 2}', "format version 2")):
        (spool.path / "spool.json").write_text(text)
        status, said = spool()
        assert status == 1 and message in said
    (spool.path / "spool.json").unlink()
    (spool.path / "type.raw").unlink()
    spool.ask(1)
    status, said = spool(calculator="nosuch")
    assert status == 1 and "there is no calculator 'nosuch'" in said


def test_numbers_keep_all_digits():
    request = "1\nProperties=species:S:1:pos:R:3 pbc=\"F F F\" step=0\nSi 0.1 0.2 0.3\n"
    text = label_module.answer_text(request, np.float64(-1 / 3), np.array([[1 / 3, 1e-17, -2.0]]), None)
    assert text == ("1\nProperties=species:S:1:pos:R:3:forces:R:3 pbc=\"F F F\" step=0 energy=-0.3333333333333333\n"
                    "Si 0.1 0.2 0.3 0.3333333333333333 1e-17 -2.0\n")
