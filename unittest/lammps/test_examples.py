"""The examples, shortened: learning works on 1 and 2 ranks, and the learned potential runs. The bounds leave a factor of
about 1.5 to what was measured; a potential that has learned nothing has a force error of 100 %."""

import importlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from environment import SEVENN, make_environment
from lammps_runner import console_variables, lammps_variables, lammps_words, run_lammps

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
plot = importlib.import_module("dptrain.plot")
largest_errors = importlib.import_module("dptrain.dumps").largest_errors
read_profile = importlib.import_module("dptrain.logs").read_profile

# relative force error, energy error (eV/atom) and energy drift (meV/atom/ps) allowed after the shortened training
SILICON_CRYSTAL_FORCE, SILICON_MELT_FORCE, SILICON_ENERGY, SILICON_DRIFT = 0.03, 0.06, 0.005, 0.2
SILICON_EXPECTED = (0.3, 3.0)  # true over expected largest force errors
SILICON_RDF = 0.5  # largest difference of g(r) after a few hundred steps
NIAL_FORCE, NIAL_ENERGY, NIAL_DRIFT = 0.2, 0.02, 0.2
OFFLINE_FORCE, OFFLINE_DRIFT = 0.05, 0.2
ACTIVE_SILICON_FORCE, ACTIVE_NIAL_FORCE = 0.02, 0.025
SELECTED_FORCE, SELECTED_GAIN = 0.05, 0.3
CUTOUT_GAIN = 0.2
SALT_FORCE, SALT_OFFLINE_FORCE = 0.02, 0.02


def copy_example(name, folder, numb_steps=None):
    """Copies the inputs; numb_steps is the length of their trainings then."""
    for file in (ROOT / "examples" / name).iterdir():
        if file.name.startswith("statistics"):
            continue  # what an earlier run of the example left there
        if file.name.startswith("in.") or file.suffix in (".json", ".sh", ".py"):
            shutil.copy(file, folder)
    for file in folder.glob("*.json"):
        content = json.loads(file.read_text())
        if numb_steps and "training" in content:
            content["training"]["numb_steps"] = numb_steps
            file.write_text(json.dumps(content))


def run_example(folder, name, ranks, **variables):
    options = [word for key, value in variables.items() for word in ("-var", key, str(value))]
    return run_lammps(folder, (folder / name).read_text(), ranks, options).check()


def force_error(reference, predicted):
    """Force RMSE in units of the rms force, energy RMSE in eV/atom."""
    found = plot.compare(reference, predicted)
    return found.force_rmse / found.force_rms, found.energy_rmse


def drift(result):
    """meV/atom/ps as the example prints it."""
    return float(re.search(r"^NVE: energy drift (\S+) ", result.output, re.MULTILINE).group(1))


@pytest.mark.story("example")
@pytest.mark.parametrize("ranks", [1, 2])
def test_silicon(ranks, tmp_path):
    """Learn crystal and melt, compare with an independent trajectory, run the melt at constant energy."""
    copy_example("silicon", tmp_path)
    learned = run_example(tmp_path, "in.learn", ranks, scale=0.2)
    frames, calls, steps = map(int, re.search(r"^learned: (\d+) frames, (\d+) reference calls in (\d+) steps", learned.output,
                                              re.MULTILINE).groups())
    assert 11 <= frames <= calls < 200 and steps == 4000
    run_example(tmp_path, "in.reference", ranks, scale=0.2)
    run_example(tmp_path, "in.compare", ranks)
    for part, bound in (("crystal", SILICON_CRYSTAL_FORCE), ("melt", SILICON_MELT_FORCE)):
        dumps = tmp_path / f"reference.{part}.dump", tmp_path / f"predicted.{part}.dump"
        force, energy = force_error(*dumps)
        assert force < bound
        assert energy < SILICON_ENERGY
        expected, true = largest_errors(*dumps)
        assert SILICON_EXPECTED[0] < np.sqrt(np.mean((true / expected)**2)) < SILICON_EXPECTED[1]
    assert abs(drift(run_example(tmp_path, "in.run", ranks, scale=0.1))) < SILICON_DRIFT
    run_example(tmp_path, "in.run", ranks, scale=0.1, potential="sw", rdf="reference")
    learned, reference = (read_profile(tmp_path / f"rdf.{name}.dat") for name in ("learned", "reference"))
    assert np.array_equal(learned[0], reference[0])
    assert 0.0 < np.abs(learned[1] - reference[1]).max() < SILICON_RDF


@pytest.mark.story("example")
@pytest.mark.parametrize("ranks", [1, 2])
def test_nial(ranks, tmp_path):
    """Passive learning from the forces of the run, data set, then the learned potential in the same input."""
    copy_example("nial", tmp_path)
    result = run_example(tmp_path, "in.nial", ranks, steps=800, train=25, check=200)
    force, energy = force_error(tmp_path / "reference.dump", tmp_path / "predicted.dump")
    assert force < NIAL_FORCE
    assert energy < NIAL_ENERGY
    assert abs(drift(result)) < NIAL_DRIFT
    system = tmp_path / "labels" / "Ni27Al27"
    assert (system / "type_map.raw").read_text().split() == ["Ni", "Al"]
    assert (system / "set.000" / "force.npy").exists()


def dptrain(folder, words):
    """Runs the console script of this checkout."""
    done = subprocess.run([sys.executable, "-m", "dptrain", *words.split()], cwd=folder, capture_output=True, text=True, timeout=300,
                          env=console_variables())
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.story("example")
@pytest.mark.parametrize("ranks", [1, 2])
def test_offline(ranks, tmp_path):
    """Data sets, statistics, training, test, model file, dynamics."""
    copy_example("offline", tmp_path, 400)
    assert "data: 51 frames" in run_example(tmp_path, "in.data", ranks, set="train", steps=1000).output
    run_example(tmp_path, "in.data", ranks, set="valid", steps=200, seed=2)
    assert "min_nbor_dist" in dptrain(tmp_path, f"stat -s train -r 5.0 -o statistics.json -np {ranks}")
    for input_file in ("se_e2_a.json", "input.json"):
        dptrain(tmp_path, f"train {input_file} -np {ranks}")
        assert errors_on(tmp_path, "model.ckpt.dp", "valid", ranks) < OFFLINE_FORCE
    dptrain(tmp_path, "convert model.ckpt.dp cu.dp")
    assert abs(drift(run_example(tmp_path, "in.run", ranks, steps=100))) < OFFLINE_DRIFT


def errors_on(folder, model, system, ranks):
    """Force RMSE of a model on a data set in units of the rms force."""
    output = dptrain(folder, f"test -m {model} -s {system} -d detail -np {ranks}")
    forces = np.loadtxt(folder / "detail.f.out")[:, :3]
    return float(re.findall(r"Force  RMSE        : (\S+)", output)[-1]) / np.sqrt(np.mean(forces**2))


@pytest.mark.story("example")
@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("example, model, bound", [("active_silicon", "silicon.dp", ACTIVE_SILICON_FORCE),
                                                   ("active_alloy", "nial.dp", ACTIVE_NIAL_FORCE)])
def test_active(example, model, bound, ranks, tmp_path):
    """From nothing: the model takes over, few calls, audits find it good, and it is good on another run of the reference."""
    copy_example(example, tmp_path)
    result = run_example(tmp_path, "in.active", ranks, steps=800, every=5, train=40, audit=50)
    frames, calls, percent = re.search(r"^learned: (\d+) frames, (\d+) reference calls in 800 steps \((\S+) %\)", result.output,
                                       re.MULTILINE).groups()
    assert 11 <= int(frames) < 70 and int(calls) < 160 and float(percent) == pytest.approx(100 * int(calls) / 800, abs=0.01)
    (tmp_path / "log.active").write_text(result.output)
    events = plot.read_events(tmp_path / "log.active")
    assert events["moved_by"][-1] == "model" and events["calls"][-1] == int(calls)
    audits = re.findall(r"^  audits: (\d+), \d+ above the threshold, (\d+) above three thresholds", result.output, re.MULTILINE)
    assert int(audits[-1][0]) > 5 and int(audits[-1][1]) <= 1  # the shortened ramps are 25 times as steep
    run_example(tmp_path, "in.reference", ranks, steps=800, every=20, set="test")
    assert errors_on(tmp_path, model, "test", ranks) < bound


@pytest.mark.story("example")
@pytest.mark.parametrize("ranks", [1, 2])
def test_salt(ranks, tmp_path):
    """With charges that are found, in a slab, too; and offline from the labels of the run with charges that are given."""
    copy_example("salt", tmp_path, numb_steps=1200)
    run_example(tmp_path, "in.learn", ranks, steps=2500)
    run_example(tmp_path, "in.reference", 1, steps=1000)
    dptrain(tmp_path, f"train offline.json -np {ranks}")
    for model, bound in (("nacl.dp", SALT_FORCE), ("offline.dp", SALT_OFFLINE_FORCE)):
        assert errors_on(tmp_path, model, "reference", ranks) < bound, model
    thermo = run_example(tmp_path, "in.run", ranks, steps=100, cells=2).thermo()
    assert np.all(np.abs(thermo["Press"]) < 1e5) and thermo["TotEng"][-1] / 64 == pytest.approx(-3.8, abs=0.4)
    assert thermo["c_sodium"][-1] == pytest.approx(1.0, abs=0.3)
    assert run_example(tmp_path, "in.slab", ranks, steps=100, cells=3).thermo()["TotEng"][-1] / 216 == pytest.approx(-3.6, abs=0.4)


@pytest.mark.story("example")
@pytest.mark.parametrize("ranks", [1, 2])
def test_active_select(ranks, tmp_path):
    """A few frames of the trajectory are selected, and their labels make the model good on all of it."""
    copy_example("active_select", tmp_path)
    crystal = run_example(tmp_path, "in.crystal", ranks, steps=300).output
    known = int(re.search(r"^Fix dptrain learn: 300 steps, .* (\d+) frames", crystal, re.MULTILINE).group(1))
    run_example(tmp_path, "in.trajectory", ranks, steps=4000)
    before = errors_on(tmp_path, "copper.dp", "trajectory", ranks)
    output = run_example(tmp_path, "in.select", ranks, accuracy=0.005).output
    selected, frames = map(int, re.search(r"^Fix dptrain pick: (\d+) of (\d+) configurations selected", output, re.MULTILINE).groups())
    assert 2 <= selected <= 20 and frames == 81
    assert len(np.load(next((tmp_path / "picked").glob("*/set.000/coord.npy")))) == selected
    learned = run_example(tmp_path, "in.learn", ranks, train=50).output
    assert f"learned: {known + selected} frames" in learned
    after = errors_on(tmp_path, "copper.dp", "trajectory", ranks)
    assert after < SELECTED_FORCE and after < SELECTED_GAIN * before


@pytest.mark.story("example")
def test_active_cutout(tmp_path):
    """A spot in 1440 atoms, from cut-outs of a few hundred: the error there falls to a small part of what it was."""
    copy_example("active_cutout", tmp_path)
    run_example(tmp_path, "in.small", 2, steps=200)
    spot = run_example(tmp_path, "in.spot", 2, cells=5, steps=120, spot=8)
    largest = int(re.search(r"cut-outs: \d+ of \d+ to (\d+) atoms", spot.output)[1])
    assert 150 < largest < 200
    run_example(tmp_path, "in.forces", 2)
    for model in ("crystal.dp", "silicon.dp"):
        run_example(tmp_path, "in.forces", 2, style="dptrain", file=model)
    text = subprocess.run([sys.executable, "compare.py", "9"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    rms = {tuple(words[:2]): float(words[4]) for words in map(str.split, text.splitlines()[1:])}
    assert rms["silicon.dp", "spot"] < CUTOUT_GAIN * rms["crystal.dp", "spot"]


@pytest.mark.story("example")
def test_active_water(tmp_path):
    """The example with the quantum code, shortened: the client answers, and the model takes over."""
    pytest.importorskip("tblite.ase", reason="pip install tblite")
    copy_example("active_water", tmp_path)
    shutil.copy(ROOT / "examples" / "active_water" / "water.data", tmp_path)
    address = f"unix:test_active_water_{os.getpid()}"
    client = subprocess.Popen([sys.executable, "-m", "dptrain", "client", "--calculator", "tblite:method=GFN1-xTB,verbosity=0",
                               "--socket", address, "--wait", "60", "learn.init.xyz"], cwd=tmp_path, env=console_variables())
    try:
        result = run_example(tmp_path, "in.water", 1, steps=30, every=2, train=10, warmup=4, accuracy=2, address=address)
        assert client.wait(timeout=300) == 0
    finally:
        client.kill()
    (tmp_path / "log.water").write_text(result.output)
    events = plot.read_events(tmp_path / "log.water")
    assert events["moved_by"][0] == "reference" and events["moved_by"][-1] == "model"


@pytest.mark.story("example")
@pytest.mark.parametrize("name, sigma", [("in.nvt", 1.9), ("in.npt", 1.9), ("in.molecule", 0.8)])
def test_codes(name, sigma, tmp_path):
    """The inputs of LAMMPS, and the loop that starts a client again, with a Lennard-Jones fluid that gives up once."""
    pytest.importorskip("ase", reason="the client is one of ASE")
    copy_example("codes", tmp_path)
    shutil.copy(ROOT / "examples" / "codes" / "molecule.data", tmp_path)
    (tmp_path / "once.py").write_text(
        "import os\nfrom pathlib import Path\nfrom ase.calculators.lj import LennardJones\n\n\nclass Once(LennardJones):\n"
        "    def calculate(self, *args, **kwargs):\n        if not Path('gave-up').exists():\n            Path('gave-up').touch()\n"
        "            os._exit(3)\n        super().calculate(*args, **kwargs)\n")
    address = f"test_codes_{os.getpid()}"
    client = (f"PYTHONPATH=.:{ROOT}/python {sys.executable} -m dptrain client --calculator once.Once:sigma={sigma},epsilon=0.05,rc=6.0,smooth=True "
              f"--socket unix:{address} --wait 5 learn.init.xyz")
    program = " ".join(map(str, lammps_words(1, name)))
    words = ["bash", "run.sh", f"{program} -log log.codes -var steps 20 -var source 'socket unix:{address} wait 60'", client]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=300, env=lammps_variables())
    assert done.returncode == 0, done.stdout + done.stderr
    assert "has ended with status 3" in done.stdout
    assert re.search(r"^Fix dptrain learn: 20 steps, \d+ reference calls", (tmp_path / "log.codes").read_text(), re.MULTILINE)


@pytest.mark.story("example")
def test_teacher(tmp_path):
    """The example, shortened, with a salt under the name of the foundation model."""
    pytest.importorskip("ase", reason="the teacher is a calculator of ASE")
    copy_example("teacher", tmp_path)
    python = make_environment(tmp_path / "teacher", sevenn__calculator=SEVENN) / "bin" / "python"
    address = f"unix:test_teacher_{os.getpid()}"
    for name in ("run.sh", "in.learn"):
        (tmp_path / name).write_text((tmp_path / name).read_text().replace("unix:perovskite", address))
    variables = console_variables()
    variables["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), variables["PATH"]])
    done = subprocess.run(["bash", "run.sh", "1", "-var", "steps", "200"], cwd=tmp_path, env=variables, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr + (tmp_path / "teacher.log").read_text()
    assert "cutoff 8 Angstrom" in (tmp_path / "log.teacher").read_text() and re.search(r"200 steps, \d+ reference calls", done.stdout)
    subprocess.run([python, "trajectory.py", "test.xyz", "--frames", "2"], cwd=tmp_path, check=True)
    assert "Force  RMSE" in dptrain(tmp_path, "test -m cspbi3.dp -s test.xyz")
    run_example(tmp_path, "in.run", 2, steps=20, cells=2)


def test_an_error_of_lammps_is_shown(tmp_path):
    """By the scripts of the examples, which show nothing else of its output."""
    (tmp_path / "in.wrong").write_text("units metal\npair_style no/such\n")
    done = subprocess.run(["bash", "-c", f"nprocs=1; source {ROOT}/examples/common/lammps.sh; lammps in.wrong"], cwd=tmp_path,
                          capture_output=True, text=True, env=console_variables())
    assert done.returncode != 0
    assert "no/such" in done.stderr and "log.wrong" in done.stderr


@pytest.mark.story("example")
def test_replicas(tmp_path):
    """Four partitions end with the same numbers of frames and calls, and one model."""
    copy_example("replicas", tmp_path)
    words = ["-partition", "1", "1", "1", "1", "-var", "steps", "50"]
    run_lammps(tmp_path, (tmp_path / "in.silicon").read_text(), 4, words).check()
    said = [re.search(r"^at \S+ K: (.*)", (tmp_path / f"screen.{k}").read_text(), re.MULTILINE).group(1) for k in range(4)]
    assert len(set(said)) == 1
    assert (tmp_path / "silicon.dp").exists()
