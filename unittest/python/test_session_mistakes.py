"""`dptrain.Session` and `dptrain.ase.OnTheFly` where something is wrong, or a run is broken off: one clear message, nothing lost."""

import os
import signal
import threading

import numpy as np
import pytest
from real_script import dptrain

pytest.importorskip("ase")
from ase.calculators.emt import EMT  # noqa: E402
from copper_run import EXAMPLE, copper, emt, frames  # noqa: E402

pytestmark = pytest.mark.usefixtures("compiled_module")

PASSIVE = {"mode": "passive", "every": 1, "warmup": 2, "train": 5, "seed": 1, "log": None}


@pytest.mark.parametrize("options, words", [
    ({"mode": "eager"}, ["mode eager is not possible", "passive or active"]),
    ({"everie": 5}, ["unknown option of a session everie (did you mean every?)", "ema every explore explore_strain"]),
    ({"follow": "nobody"}, ["follow nobody is not possible", "model or reference"]),
    ({"failed": "ignore"}, ["failed='ignore'", "'skip' or 'stop'"]),
    ({"reference": 5}, ["reference must be a function"]),
    ({"model": "missing.json"}, ["cannot open file 'missing.json'"]),
    ({"precision": "half"}, ["precision 'half'", "double, single or mixed"]),
    ({"every": "ten"}, ["every ten is not possible", "a whole number"]),
    ({"every": 2.5}, ["every 2.5 is not possible", "a whole number"]),
    ({"accuracy": "aut"}, ["accuracy aut is not possible", "a positive force, or a part of the forces"]),
    ({"at_limit": "halt"}, ["at_limit halt is not possible", "repeat or stop"]),
    ({"prepare": 2, "prepare_strain": 0.2}, ["prepare_strain 0.2 is not possible", "from 0 to 0.05"]),
    ({"explore": 100}, ["explore needs explore_temperature"]),
    ({"asynchronous": 2}, ["unknown option of a session asynchronous: allowed are"]),
    ({"presision": "single"}, ["did you mean precision?"]),
    ({"cutout_core": 3}, ["cutout_core has no meaning without cutout"]),
    ({"mode": "passive", "at_limit": "stop"}, ["at_limit needs 'mode active': add that, or remove at_limit"]),
    ({"limit": (0.3, "stop")}, ["limit (0.3, 'stop') is not possible", "a positive force"]),
    ({"cutout": -1.0}, ["cutout -1 is not possible", "a positive distance"]),
    ({"cutout": 7.0, "mode": "passive"}, ["cutout needs 'mode active'"]),
    ({"resume": True}, ["resume=True", "the name of a file"]),
    ({"log": "x"}, ["log='x'", "a function"]),
    ({"optimizer": "sgd"}, ["optimizer sgd", "soap, adam or adamw"]),
    *[({name: value}, [f"{name} {int(value) if value == int(value) else value} is not possible"]) for name, value in (
        ("every", 0), ("every", -1), ("fmax", -1), ("accuracy", -0.5), ("limit", -1), ("audit", -1), ("holdout", -1), ("duplicate", -1),
        ("train", -5), ("warmup", 0), ("batch", 0), ("buffer", -1), ("ema", 1.5), ("ema", -0.1),
        ("save_every", -5), ("disp_every", 0))],
    ({"accuracy": 0.05, "limit": 0.2}, ["the limit 0.2 is below the error bar 0.5"]),
    ({"save": "nowhere/cu.dp"}, ["save nowhere/cu.dp", "there is no folder nowhere"]),
    ({"stat": "nowhere/s.json"}, ["stat nowhere/s.json", "there is no folder nowhere"]),
    ({"disp": "nowhere/l.out"}, ["disp nowhere/l.out", "there is no folder nowhere"]),
])
def test_wrong_words(options, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(dptrain.Error) as error:
        dptrain.Session(options.pop("model", EXAMPLE / "copper.json"), options.pop("reference", emt), **options)
    assert all(word in str(error.value) for word in words), str(error.value)


def test_wrong_atoms(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    session = dptrain.Session(EXAMPLE / "copper.json", emt, log=None)
    with pytest.raises(dptrain.Error, match="Au: not in the model: use one of Cu"):
        session.step(np.zeros((1, 3)), ["Au"])
    with pytest.raises(dptrain.Error, match="2 positions but 1 elements"):
        session.step(np.zeros((2, 3)), ["Cu"])
    with pytest.raises(dptrain.Error, match="elements must be names"):
        session.step(np.zeros((2, 3)), [29, 29])

    def wrong(positions, elements, cell):
        return 0.0, np.zeros((3, 3)), None

    session = dptrain.Session(EXAMPLE / "copper.json", wrong, failed="stop", log=None)
    with pytest.raises(dptrain.Error, match=r"forces of the shape \(3, 3\) for 32 atoms"):
        positions, cell = next(frames(1))
        session.step(positions, ["Cu"] * 32, cell)

    session = dptrain.Session(EXAMPLE / "copper.json", lambda *_: (0.0, np.zeros((32, 3)), np.zeros(6)), failed="stop", log=None)
    with pytest.raises(dptrain.Error, match=r"virial of the shape \(6,\); it must be \(3, 3\)"):
        session.step(positions, ["Cu"] * 32, cell)


def three(session, number=3):
    for positions, cell in frames(number):
        step = session.step(positions, ["Cu"] * 32, cell)
    return step


def test_the_cause_of_a_failure_is_known(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    session = dptrain.Session(EXAMPLE / "copper.json", lambda *_: {}["energy"], failed="stop", log=None)
    with pytest.raises(dptrain.Error, match="no label at step 0: KeyError: 'energy'") as error:
        three(session)
    assert isinstance(error.value.__cause__, KeyError) and error.value.__cause__.__traceback__ is not None
    session = dptrain.Session(EXAMPLE / "copper.json", lambda *_: (0.0, np.zeros((32, 3))), failed="stop", log=None)
    with pytest.raises(dptrain.Error, match=r"the reference must return \(energy, forces, virial\), with None"):
        three(session)


@pytest.fixture
def interrupt():
    """Function: condition -> Ctrl-C as soon as it is true."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    ended, threads = threading.Event(), []

    def watch(condition):
        while not ended.wait(0.01):
            if condition():
                return os.kill(os.getpid(), signal.SIGINT)

    def when(condition):
        threads.append(threading.Thread(target=watch, args=(condition,)))
        threads[-1].start()

    yield when
    ended.set()
    for thread in threads:
        thread.join()
    signal.signal(signal.SIGINT, before)


def test_ctrl_c_in_a_training(tmp_path, monkeypatch, interrupt):
    """Steps of hours end at once, what was learned is saved, and a resumed session does the rest of them."""
    monkeypatch.chdir(tmp_path)
    options = {**PASSIVE, "save": "cu.dp", "save_every": 1000000, "disp_every": 20}

    def training_since(begin):
        """Whether a line of the learning curve has been written since then: of an optimizer step."""
        curve = tmp_path / "lcurve.out"
        return curve.exists() and curve.stat().st_mtime_ns > begin and not curve.read_text().splitlines()[-1].startswith("#")

    session = dptrain.Session(EXAMPLE / "copper.json", emt, **{**options, "train": 10000000})
    interrupt(lambda: training_since(0))
    with pytest.raises(KeyboardInterrupt):
        three(session)
    files = ["cu.dp", "cu.dp.ckpt", "cu.dp.frames", "lcurve.out"]
    assert sorted(os.listdir()) == sorted([*files, "cu.dp.frames.lock"])
    session.end()  # the steps that are left are those of the training of a label, not of the end
    assert sorted(os.listdir()) == files  # another program may go on with them
    before = os.path.getmtime("cu.dp.ckpt")

    lines = []
    session = dptrain.Session(EXAMPLE / "copper.json", emt, **{**options, "log": lines.append, "resume": "cu.dp"})
    begin = (tmp_path / "lcurve.out").stat().st_mtime_ns
    interrupt(lambda: training_since(begin))
    with pytest.raises(KeyboardInterrupt):  # in what is left of the training
        three(session)
    assert "resumed from cu.dp.ckpt: 2 frames" in "\n".join(lines) and os.path.getmtime("cu.dp.ckpt") > before


def test_an_exception_in_a_with_statement(tmp_path, monkeypatch):
    """The program of the user fails: model and checkpoint have what was learned until then."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ZeroDivisionError), dptrain.Session(EXAMPLE / "copper.json", emt, save="cu.dp", **PASSIVE) as session:
        three(session)
        1 / 0  # noqa: B018
    positions, cell = next(frames(1, seed=5))
    expected = session.step(positions, ["Cu"] * 32, cell).forces
    found = dptrain.load("cu.dp").evaluate(positions, ["Cu"] * 32, cell).forces
    assert np.allclose(found, expected, rtol=0, atol=1e-10)
    session.save()
    session.end()


def test_checkpoints_during_a_run(tmp_path, monkeypatch):
    """Without `with` and end(): the file is there after the first training of save_every steps."""
    monkeypatch.chdir(tmp_path)
    session = dptrain.Session(EXAMPLE / "copper.json", emt, save="cu.dp", save_every=5, **PASSIVE)
    three(session, 2)
    assert os.path.exists("cu.dp") and os.path.exists("cu.dp.ckpt")


def test_two_sessions_with_the_same_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    one = dptrain.Session(EXAMPLE / "copper.json", emt, save="cu.dp", disp="one.out", **PASSIVE)
    two = dptrain.Session(EXAMPLE / "copper.json", emt, save=str(tmp_path / "cu.dp"), disp="two.out", **PASSIVE)
    three(one)
    with pytest.raises(dptrain.Error, match="another session of this program writes .*cu.dp: call its end"):
        three(two)
    one.end()
    three(two)
    assert two.report()["frames"] == 3
    two.end()


def test_the_file_of_the_learning_curve(tmp_path, monkeypatch):
    """Each of disp and disp_every works alone."""
    monkeypatch.chdir(tmp_path)
    for options, name, steps in (({"disp": "my.out"}, "my.out", [1]), ({"disp_every": 5}, "lcurve.out", [1, 5, 10, 15])):
        with dptrain.Session(EXAMPLE / "copper.json", emt, **PASSIVE, **options) as session:
            three(session)
        assert list(dptrain.read_lcurve(name)["step"]) == steps


def test_a_calculator_is_an_object(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    from dptrain.ase import OnTheFly

    for wrong in (EMT, None, "EMT"):
        with pytest.raises(dptrain.Error, match="use a calculator of ASE"):
            OnTheFly(EXAMPLE / "copper.json", reference=wrong)

    class NotYet(EMT):
        def get_stress(self, atoms=None):
            raise NotImplementedError("no stress")

    atoms, run = copper()
    atoms.calc = OnTheFly(EXAMPLE / "copper.json", reference=NotYet(), **PASSIVE)
    run.run(2)
    assert atoms.calc.session.report()["frames"] == 3
