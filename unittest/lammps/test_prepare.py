"""`prepare N`: displaced copies of the first configuration are labeled side by side before the run begins."""

import os
import signal
import subprocess
import time

import numpy as np
import pytest
from active import events, stored_frames
from lammps_runner import lammps_variables, lammps_words
from silicon import learn, write_input

ase = pytest.importorskip("ase", reason="the clients need ASE")
from ase.calculators.lj import LennardJones  # noqa: E402

EAGER = "mode active every 2 warmup 3 train 10 audit 0 holdout 0 optimizer adam"


def socket(address):
    return f"reference socket {address} wait 60 end"


def expect_right_labels(frames):
    for frame in frames:
        atoms = ase.Atoms(f"Si{len(frame['coord'])}", positions=frame["coord"], cell=frame["box"].reshape(3, 3), pbc=True)
        atoms.calc = LennardJones(sigma=2.1, epsilon=0.05, rc=6.0)
        force = atoms.get_forces()
        # ASE and the protocol have Hartree and Bohr of different years: 1e-8, of sums whose terms cancel
        assert frame["energy"] == pytest.approx(atoms.get_potential_energy(), rel=1e-6, abs=1e-7)
        assert np.abs(frame["force"] - force).max() < 1e-6 * max(np.abs(force).max(), 1e-2)


@pytest.mark.parametrize("ranks", [1, 2])
def test_copies_come_first(ranks, address, clients, lammps, tmp_path):
    """Two clients share six copies of different sizes; then the model is there at once, and three steps of the reference tell how good
    it is."""
    write_input(tmp_path)
    clients(2, 0.05)
    options = f"{EAGER} prepare 6 displace 0.12 strain 0.02 save 100000 si.dp"
    result = lammps(learn(options, run="run 20", reference=socket(address), thermo="thermo 1\n"), ranks).check()
    lines = events(result.output)
    assert [line["why"] for line in lines[:9]] == ["prepare"] * 6 + ["young"] * 3
    assert [line["step"] for line in lines[:9]] == ["0"] * 7 + ["2", "4"]
    frames = stored_frames(tmp_path / "si.dp.frames")
    expect_right_labels(frames)
    copies, run = frames[:6], frames[6:]
    widths = [np.linalg.norm(frame["force"]) for frame in copies]
    assert all(frame["step"] == 0 for frame in copies) and widths[5] > 2 * widths[0] > 0
    boxes = np.array([frame["box"] for frame in copies]).reshape(6, 3, 3)
    assert 0 < np.abs(boxes - 10.862 * np.eye(3)).max() <= 0.02 * 10.862
    assert all(np.array_equal(frame["box"].reshape(3, 3), 10.862 * np.eye(3)) for frame in run)
    # the run itself is not displaced
    assert np.abs(run[0]["coord"] / (10.862 / 8) - np.round(run[0]["coord"] / (10.862 / 8))).max() < 1e-9
    assert [line["moved_by"] for line in lines[:7]] == ["-"] * 6 + ["reference"]


def test_a_copy_that_fails_is_left_out(lammps, processes, tmp_path):
    """Also with `failed stop`: the run needs none of them."""
    write_input(tmp_path)
    text = learn(f"{EAGER} prepare 3", run="run 4", reference="reference spool spool failed stop end")
    (tmp_path / "in.test").write_text(text)
    run = subprocess.Popen(lammps_words(1, "in.test", "-log", "none"), cwd=tmp_path, env=lammps_variables(), stdout=subprocess.PIPE, text=True)
    processes.append(run)
    end = time.monotonic() + 60
    while len(list(tmp_path.glob("spool/*/request.xyz"))) < 3:
        assert time.monotonic() < end
        time.sleep(0.05)
    (next(tmp_path.glob("spool/*/request.xyz")).parent / "failed.txt").write_text("it did not converge\n")
    calculator = "ase.calculators.lj.LennardJones:sigma=2.1,epsilon=0.05,rc=6.0"
    with open(tmp_path / "label.log", "w") as log:
        processes.append(subprocess.Popen(["dptrain", "label", "spool", "--calculator", calculator, "--watch"], cwd=tmp_path,
                                          env={**os.environ, **lammps_variables()}, stdout=log, stderr=log))
    output, _ = run.communicate(timeout=120)
    assert run.returncode == 0 and "label of step 0 is discarded: " in output and "it did not converge" in output, output[-1500:]
    assert [row["why"] for row in events(output)].count("prepare") == 2


def test_a_killed_run_finds_them_again(processes, lammps, tmp_path):
    """Nobody answers before LAMMPS is killed; the next run takes up what was asked, and asks for no other copies."""
    write_input(tmp_path)
    options = f"{EAGER} prepare 4 save 100000 si.dp"
    (tmp_path / "in.killed").write_text(learn(options, reference="reference spool spool end"))
    killed = subprocess.Popen(lammps_words(1, "in.killed", "-log", "none"), cwd=tmp_path, start_new_session=True, env=lammps_variables(),
                              stdout=subprocess.DEVNULL)
    processes.append(killed)
    end = time.monotonic() + 60
    while len(list(tmp_path.glob("spool/*/request.xyz"))) < 4:
        assert time.monotonic() < end
        time.sleep(0.05)
    time.sleep(0.5)
    os.killpg(killed.pid, signal.SIGKILL)
    killed.wait()
    calculator = "ase.calculators.lj.LennardJones:sigma=2.1,epsilon=0.05,rc=6.0"
    with open(tmp_path / "label.log", "w") as log:
        processes.append(subprocess.Popen(["dptrain", "label", "spool", "--calculator", calculator, "--watch"], cwd=tmp_path,
                                          env={**os.environ, **lammps_variables()}, stdout=log, stderr=log))
    result = lammps(learn(f"{options} resume si.dp", reference="reference spool spool end")).check()
    assert "4 configurations that wait for a label are looked for again" in result.output
    frames = stored_frames(tmp_path / "si.dp.frames")
    expect_right_labels(frames)
    perfect = [frame for frame in frames if frame["step"] == 0 and np.abs(frame["force"]).max() < 1e-6]
    assert len([frame for frame in frames if frame["step"] == 0]) == 4 + len(perfect) == 5
    # they were waited for: the model is there, and three labels compare it
    assert [line["why"] for line in events(result.output)][:7] == ["prepare"] * 4 + ["young"] * 3
    assert not (tmp_path / "si.dp.requests").exists()


def test_two_programs_cannot_write_one_model(processes, lammps, tmp_path):
    """The second one ends before it touches a file; when the first one has ended, a third one goes on."""
    write_input(tmp_path)
    waits = learn(f"{EAGER} save 100000 si.dp", reference="reference spool nobody end")
    (tmp_path / "in.first").write_text(waits)
    first = subprocess.Popen(lammps_words(1, "in.first", "-log", "none"), cwd=tmp_path, start_new_session=True, env=lammps_variables(),
                             stdout=subprocess.DEVNULL)
    processes.append(first)
    end = time.monotonic() + 60
    while not list(tmp_path.glob("nobody/*/request.xyz")):
        assert time.monotonic() < end
        time.sleep(0.05)
    text = learn(f"{EAGER} save 100000 si.dp")
    result = lammps(text)
    assert result.status != 0
    assert "si.dp.frames is being written by process" in result.output and "choose another name" in result.output
    os.killpg(first.pid, signal.SIGKILL)
    first.wait()
    lammps(text).check()
    assert not (tmp_path / "si.dp.frames.lock").exists()


@pytest.mark.parametrize("words, message", [
    ("prepare -1", "prepare"),
    ("prepare 4 displace -0.1", "prepare"),
    ("prepare 4 displace 5", "prepare ... displace 5 is not possible"),
    ("prepare 4 displace 0", "copies that are all the same"),
    ("prepare 4 strain 0.06", "prepare ... strain 0.06 is not possible"),
    ("prepare 4 cutout 6", "prepare and cutout contradict each other"),
    ('prepare 4 subtract pair zero 6.0 coeff "* *" end', "prepare: 'subtract' computes the atoms of the run only"),
])
def test_bad_input(words, message, address, lammps, tmp_path):
    write_input(tmp_path)
    result = lammps(learn(f"{EAGER} {words}", reference=socket(address)))
    assert result.status != 0 and message in result.output, result.output[-1000:]


def test_it_needs_mode_active(address, silicon):
    result = silicon(learn("prepare 4", reference=socket(address)))
    assert result.status != 0 and "the keyword prepare needs 'mode active'" in result.output


def test_a_reference_inside_the_run_labels_no_copies(silicon):
    result = silicon(learn(f"{EAGER} prepare 4"))
    assert result.status != 0 and "prepare: the reference must be another program" in result.output
