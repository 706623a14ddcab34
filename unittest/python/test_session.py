"""`dptrain.Session` and `dptrain.ase.OnTheFly`: the learning session of fix dptrain, driven by a Python program."""

import json
import re
import subprocess
import sys
import threading

import numpy as np
import pytest
from real_script import dptrain

pytest.importorskip("ase")
from ase.build import bulk, molecule  # noqa: E402
from ase.calculators.emt import EMT  # noqa: E402
from copper_run import EXAMPLE, copper, emt, frames  # noqa: E402

pytestmark = pytest.mark.usefixtures("compiled_module")


def test_active_learning_of_a_run(tmp_path, monkeypatch):
    """The reference is asked less and less, and the model that is written knows the forces of the run."""
    monkeypatch.chdir(tmp_path)
    from dptrain.ase import OnTheFly

    atoms, run = copper()
    lines = []
    learner = OnTheFly(EXAMPLE / "copper.json", reference=EMT(), every=10, train=60, seed=1, save="cu.dp", log=lines.append)
    with learner:
        atoms.calc = learner
        run.run(300)
    report = learner.session.report()
    assert report["frames"] >= 8 and report["steps"] > 0 and report["trained"]
    # the first ones by the warm-up; after that at most one in ten, which is how often it may be asked below the limit
    assert report["reference_calls"] < 150
    text = "\n".join(lines)
    assert re.search(r"new model from 8 frames", text) and re.search(r"dptrain session: 300 steps", text)
    potential = dptrain.load("cu.dp")
    atoms.calc = EMT()
    expected = atoms.get_forces()
    found = potential.evaluate(atoms).forces
    # a model that has learned nothing has an error as large as the forces
    assert np.sqrt(np.mean((found - expected) ** 2)) < 0.35 * np.sqrt(np.mean(expected**2))


def test_explores_other_cells(tmp_path, monkeypatch):
    """end() sends the potential out; labels of other cells are those of the calculator in these cells."""
    monkeypatch.chdir(tmp_path)
    from dptrain.ase import OnTheFly

    atoms, run = copper()
    lines = []
    with OnTheFly(EXAMPLE / "copper.json", reference=EMT(), every=2, train=10, warmup=4, accuracy="1%", seed=1, save="cu.dp", dataset="labels", log=lines.append,
                  explore=20, explore_temperature=1500.0) as atoms.calc:
        run.run(30)
    assert any("explored from step" in line and "at 1500 K, with volumes of 1, 1.19, 0.885 times" in line for line in lines)
    (system,) = [p for p in (tmp_path / "labels").iterdir() if p.is_dir()]
    energies, cells, x, forces = (np.concatenate([np.load(s / f"{name}.npy") for s in sorted(system.glob("set.*"))])
                                  for name in ("energy", "box", "coord", "force"))
    volumes = np.abs(np.linalg.det(cells.reshape(-1, 3, 3)))
    assert len(set(np.round(volumes / volumes[0], 2))) > 1
    for k in range(len(cells)):
        atoms.set_cell(cells[k].reshape(3, 3))
        atoms.positions = x[k].reshape(-1, 3)
        atoms.calc = EMT()
        assert atoms.get_potential_energy(force_consistent=True) == pytest.approx(float(energies.ravel()[k]), abs=1e-6)
        assert np.abs(atoms.get_forces().ravel() - forces[k]).max() < 1e-6


def test_cutouts_of_a_large_box(tmp_path, monkeypatch):
    """A model of 32 atoms in a box of 864: the calculator gets what surrounds the worst atoms, in cells of their own."""
    monkeypatch.chdir(tmp_path)
    from dptrain.ase import OnTheFly

    with dptrain.Session(EXAMPLE / "copper.json", emt, every=1, audit=0, train=20, seed=1, save="cu.dp", log=None) as session:
        for positions, cell in frames(14):
            session.step(positions, ["Cu"] * 32, cell)
    sizes = []

    class Counted(EMT):
        def calculate(self, atoms=None, *args, **kwargs):
            sizes.append((len(atoms), atoms.cell.lengths().tolist(), atoms.pbc.all()))
            super().calculate(atoms, *args, **kwargs)

    atoms = bulk("Cu", cubic=True).repeat(6)
    atoms.rattle(0.2, seed=2)
    with OnTheFly("cu.dp", Counted(), every=1, accuracy=0.01, train=10, cutout=7.0, save="large.dp", log=None) as learner:
        atoms.calc = learner
        assert atoms.get_forces().shape == (864, 3)
    report = learner.session.report()
    assert report["model_moves"] and 1 <= report["frames"] <= report["reference_calls"] == 4
    assert all(60 < number < 200 and periodic for number, _, periodic in sizes)
    assert all(length == pytest.approx(2 * 7.0 + 6.5) for _, lengths, _ in sizes for length in lengths)


def test_passive_learning_follows_the_reference_until_it_is_trained(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    session = dptrain.Session(EXAMPLE / "copper.json", emt, mode="passive", every=2, warmup=3, train=20, seed=1, save="cu.dp", log=None)
    movers = []
    for positions, cell in frames(8):
        step = session.step(positions, ["Cu"] * 32, cell)
        movers.append(step.moved_by)
        energy, forces, virial = emt(positions, None, cell)
        if step.moved_by == "reference":
            # the numbers themselves go through
            assert step.energy == energy and np.array_equal(step.forces, forces) and np.allclose(step.virial, virial, rtol=0, atol=1e-12)
    session.end()
    # labels at steps 0, 2, 4: the model is trained at the end of step 4, and moves from the next one on
    assert movers == ["reference"] * 5 + ["model"] * 3
    assert session.report()["frames"] == 4
    # what moves the atoms is the model that was saved: step 7, after the label of step 6
    positions, cell = list(frames(8))[7]
    model = dptrain.load("cu.dp").evaluate(positions, ["Cu"] * 32, cell)
    assert step.energy == pytest.approx(model.energy, rel=1e-12) and np.allclose(step.forces, model.forces, rtol=0, atol=1e-12)


def test_a_session_is_continued(tmp_path, monkeypatch):
    """Ten frames in one go, or in two with `resume`, give the same model."""
    monkeypatch.chdir(tmp_path)
    options = {"mode": "passive", "every": 1, "warmup": 3, "train": 10, "seed": 1, "log": None}
    models = []
    for name, parts in (("one", [(0, 10)]), ("two", [(0, 5), (5, 10)])):
        for begin, end in parts:
            go_on = {"resume": f"{name}.dp"} if begin else {}
            with dptrain.Session(EXAMPLE / "copper.json", emt, save=f"{name}.dp", disp=f"{name}.out", disp_every=1, **options, **go_on) as session:
                for positions, cell in list(frames(10))[begin:end]:
                    session.step(positions, ["Cu"] * 32, cell)
        models.append(dptrain.load(f"{name}.dp"))
        assert session.report()["frames"] == 10
    positions, cell = next(frames(1, seed=8))
    one, two = (model.evaluate(positions, ["Cu"] * 32, cell) for model in models)
    # the same arithmetic from the same numbers
    assert one.energy == pytest.approx(two.energy, rel=1e-12)
    assert np.allclose(one.forces, two.forces, rtol=0, atol=1e-10)
    assert np.array_equal(dptrain.read_lcurve("one.out")["step"], dptrain.read_lcurve("two.out")["step"])


def test_a_reference_that_fails(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    calls = []

    def sometimes(positions, elements, cell):
        calls.append(len(calls))
        if len(calls) > 4:
            raise RuntimeError("did not converge")
        return emt(positions, elements, cell)

    options = {"mode": "passive", "every": 1, "warmup": 2, "train": 5, "seed": 1}
    lines = []
    session = dptrain.Session(EXAMPLE / "copper.json", sometimes, log=lines.append, **options)
    for positions, cell in frames(6):
        step = session.step(positions, ["Cu"] * 32, cell)
    assert step.moved_by == "model" and session.report()["discarded"] == 2
    assert any("WARNING: label of step 4 is discarded" in line and "did not converge" in line for line in lines)

    calls.clear()
    session = dptrain.Session(EXAMPLE / "copper.json", sometimes, failed="stop", log=None, **options)
    with pytest.raises(dptrain.Error, match="no label at step 4: .*did not converge"):
        for positions, cell in frames(6):
            session.step(positions, ["Cu"] * 32, cell)

    session = dptrain.Session(EXAMPLE / "copper.json", lambda *_: 1 / 0, log=None, **options)
    with pytest.raises(dptrain.Error, match="the model is not trained yet, and the run needs the reference"):
        session.step(*next(frames(1))[:1], ["Cu"] * 32, next(frames(1))[1])


def test_one_thread_works(tmp_path, monkeypatch):
    """A model can be the reference of a session, whose steps let other threads of Python run; these cannot evaluate models, and
    are told so."""
    monkeypatch.chdir(tmp_path)
    options = {"mode": "passive", "every": 1, "warmup": 2, "train": 5, "seed": 1, "log": None}
    with dptrain.Session(EXAMPLE / "copper.json", emt, save="cu.dp", **options) as teacher:
        for positions, cell in frames(2):
            teacher.step(positions, ["Cu"] * 32, cell)
    teacher.end()  # a second time: nothing to do
    model, messages = dptrain.load("cu.dp"), []

    def evaluate():
        try:
            model.evaluate(positions, ["Cu"] * 32, cell)
        except dptrain.Error as error:
            messages.append(str(error))

    def label(positions, elements, cell):
        other = threading.Thread(target=evaluate)
        other.start()
        other.join()
        found = model.evaluate(positions, elements, cell)
        return found.energy, found.forces, found.virial

    with dptrain.Session("cu.dp", label, follow="reference", **options) as session:
        for positions, cell in frames(2, seed=9):
            step = session.step(positions, ["Cu"] * 32, cell)
            # the label itself moves the atoms: the model that the session has changed is its own
            assert np.array_equal(step.forces, model.evaluate(positions, ["Cu"] * 32, cell).forces)
    assert len(messages) == 2 and all("one thread of a program" in text for text in messages)


def test_a_calculator_without_stress_and_atoms_without_cell(tmp_path, monkeypatch):
    """Any calculator will do: the virial is left out where the reference has none, and follows from the forces without a cell."""
    monkeypatch.chdir(tmp_path)
    from dptrain.ase import OnTheFly

    class NoStress(EMT):
        implemented_properties = [name for name in EMT.implemented_properties if not name.startswith("stress")]

    content = json.loads((EXAMPLE / "copper.json").read_text())
    content.setdefault("loss", {}).update(start_pref_v=0, limit_pref_v=0)
    (tmp_path / "no_virial.json").write_text(json.dumps(content))
    for name, asked in ((EXAMPLE / "copper.json", True), ("no_virial.json", False)):
        atoms, run = copper()
        lines = []
        learner = OnTheFly(name, reference=NoStress(), mode="passive", every=1, warmup=2, train=5, log=lines.append)
        atoms.calc = learner
        atoms.get_forces()
        with pytest.raises(Exception, match="stress"):  # neither the reference nor a model has one
            atoms.get_stress()
        run.run(3)
        assert learner.session.report()["frames"] == 4 and np.isfinite(atoms.get_stress()).all()
        assert any("WARNING: the labels have no" in line and "pref_v" in line for line in lines) == asked
        learner.session.end()

    cluster = molecule("CH4")
    content = json.loads((EXAMPLE / "ethanol.json").read_text())
    (tmp_path / "ch.json").write_text(json.dumps(content))
    learner = OnTheFly("ch.json", reference=EMT(), mode="passive", every=1, warmup=2, train=5, log=None)
    cluster.calc = learner
    for _ in range(3):
        cluster.rattle(0.01, rng=np.random.default_rng(1))
        assert np.isfinite(cluster.get_forces()).all()
    with pytest.raises(Exception, match="stress"):
        cluster.get_stress()


@pytest.mark.parametrize("name, steps", [("copper", 120), ("ethanol", 60)])
def test_the_examples(name, steps, tmp_path):
    if name == "ethanol":
        pytest.importorskip("tblite.ase")
    (tmp_path / f"{name}.json").write_text((EXAMPLE / f"{name}.json").read_text())
    result = subprocess.run([sys.executable, str(EXAMPLE / f"{name}.py"), str(steps)], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    assert re.search(rf"^\d+ of {steps} steps asked the reference", result.stdout, re.MULTILINE)
    assert (tmp_path / f"{name}.dp").is_file() and (tmp_path / "lcurve.out").is_file()
