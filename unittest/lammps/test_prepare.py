"""`prepare N`: displaced copies of the first configuration are labeled side by side before the run begins."""

import os
import signal

import numpy as np
import pytest
from active import events, stored_frames
from labels import BY_CLIENT, EXACT, expect_right_labels
from lammps_runner import finish, wait_for
from silicon import learn, write_input
from test_bad_input import stops_with

pytest.importorskip("ase", reason="the clients need ASE")

EAGER = "mode active every 2 warmup 3 train 10 audit 0 holdout 0 optimizer adam"


def socket(address):
    return f"reference socket {address} wait 60 end"


@pytest.mark.parametrize("ranks", [1, 2])
def test_copies_come_first(ranks, address, clients, lammps, tmp_path):
    """Two clients share six copies of different sizes; then the model is there at once, and three steps of the reference tell how good
    it is."""
    write_input(tmp_path)
    clients(2, 0.05)
    options = f"{EAGER} prepare 6 displace 0.12 strain 0.02 save 100000 si.dp"
    result = lammps(learn(options, run="run 20", reference=socket(address), thermo="thermo 1\n"), ranks).check()
    lines = events(result.output)
    assert [line["why"] for line in lines[:9]] == ["prepare"] * 6 + ["early"] * 3
    assert [line["step"] for line in lines[:9]] == ["0"] * 7 + ["2", "4"]
    frames = stored_frames(tmp_path / "si.dp.frames")
    expect_right_labels(frames, BY_CLIENT)
    # labels are stored as the clients answer
    copies, run = sorted(frames[:6], key=lambda frame: np.linalg.norm(frame["force"])), frames[6:]
    widths = [np.linalg.norm(frame["force"]) for frame in copies]
    assert all(frame["step"] == 0 for frame in copies) and widths[5] > 2 * widths[1] > 0
    boxes = np.array([frame["box"] for frame in copies]).reshape(6, 3, 3)
    assert 0 < np.abs(boxes - 10.862 * np.eye(3)).max() <= 0.02 * 10.862
    assert all(np.array_equal(frame["box"].reshape(3, 3), 10.862 * np.eye(3)) for frame in run)
    # the one without forces is the configuration itself, and the label of step 0 tells nothing new
    assert np.abs(copies[0]["coord"] / (10.862 / 8) - np.round(copies[0]["coord"] / (10.862 / 8))).max() < 1e-9 and run[0]["step"] == 2
    assert [line["moved_by"] for line in lines[:7]] == ["-"] * 6 + ["reference"]


def test_copies_have_their_own_baseline(address, clients, lammps, tmp_path):
    """The difference of two Lennard-Jones potentials is one again, for each copy."""
    write_input(tmp_path)
    clients(1, 0.0)
    baseline = 'baseline pair lj/cut 6.0 coeff "* * 0.03 2.1" modify "shift yes" end'
    lammps(learn(f"{EAGER} prepare 4 displace 0.12 strain 0.02 save 100000 si.dp {baseline}", run="run 4", reference=socket(address)), 2).check()
    frames = stored_frames(tmp_path / "si.dp.frames")
    assert len(frames) > 4
    expect_right_labels(frames, BY_CLIENT, epsilon=0.02)


def waiting(folder):
    """Names of what FILE.requests has."""
    path = folder / "si.dp.requests"
    if not path.exists():
        return []
    with pytest.importorskip("h5py").File(path) as file:
        return list(file["requests"])


def requests(folder):
    return list(folder.glob("spool/*/request.xyz"))


def kill(process):
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def test_a_copy_that_fails_is_left_out(start_lammps, labeler, tmp_path):
    """Also with `failed stop`: the run needs none of them."""
    write_input(tmp_path)
    run = start_lammps(learn(f"{EAGER} prepare 3", run="run 4", reference="reference spool spool failed stop end"))
    wait_for(lambda: len(requests(tmp_path)) == 3, "requests")
    (tmp_path / "why").write_text("it did not converge\n")
    (tmp_path / "why").rename(requests(tmp_path)[0].parent / "failed.txt")  # whole, whenever the run looks
    wait_for(lambda: "is discarded" in (tmp_path / "screen").read_text(), "warning")  # else the labeler may answer first
    labeler()
    output = finish(run, tmp_path).check().output
    assert "label of step 0 is discarded: " in output and "it did not converge" in output
    assert [row["why"] for row in events(output)].count("prepare") == 2


def test_a_killed_run_finds_them_again(start_lammps, labeler, lammps, tmp_path):
    """Nobody answers before LAMMPS is killed; the next run takes up what was asked, and asks for no other copies."""
    write_input(tmp_path)
    options = f"{EAGER} prepare 4 save 100000 si.dp"
    killed = start_lammps(learn(options, reference="reference spool spool end"))
    wait_for(lambda: len(requests(tmp_path)) == 4, "requests")
    wait_for(lambda: len(waiting(tmp_path)) == 4, "FILE.requests")  # which follows the folder
    kill(killed)
    labeler()
    result = lammps(learn(f"{options} resume si.dp", reference="reference spool spool end")).check()
    assert "4 configurations that wait for a label are looked for again" in result.output
    frames = stored_frames(tmp_path / "si.dp.frames")
    expect_right_labels(frames, EXACT)
    perfect = [frame for frame in frames if frame["step"] == 0 and np.abs(frame["force"]).max() < 1e-6]
    assert len([frame for frame in frames if frame["step"] == 0]) == 4 and len(perfect) == 1  # the first copy is the configuration itself
    # they were waited for: the model is there, and three labels compare it
    assert [line["why"] for line in events(result.output)][:7] == ["prepare"] * 4 + ["early"] * 3
    assert not (tmp_path / "si.dp.requests").exists()


def test_two_programs_cannot_write_one_model(start_lammps, lammps, tmp_path):
    """The second one ends before it touches a file; when the first one has ended, a third one goes on."""
    write_input(tmp_path)
    first = start_lammps(learn(f"{EAGER} save 100000 si.dp", reference="reference spool spool end"))
    wait_for(lambda: requests(tmp_path), "request")
    text = learn(f"{EAGER} save 100000 si.dp")
    stops_with(lammps(text), "si.dp.frames is being written by process", "choose another name")
    kill(first)
    lammps(text).check()
    assert not (tmp_path / "si.dp.frames.lock").exists()


@pytest.mark.parametrize("words, said", [
    ("prepare -1", "prepare -1 is not possible: use a whole number not below 0"),
    ("prepare 4 displace -0.1", "prepare ... displace -0.1 is not possible"),
    ("prepare 4 displace 5", "prepare ... displace 5 is not possible"),
    ("prepare 4 displace 0", "copies that are all the same"),
    ("prepare 4 strain 0.06", "prepare ... strain 0.06 is not possible"),
    ("prepare 4 cutout 6", "prepare and cutout contradict each other"),
])
def test_bad_input(words, said, address, message, tmp_path):
    write_input(tmp_path)
    stops_with(message(learn(f"{EAGER} {words}", reference=socket(address))), said)


def test_it_needs_mode_active(address, message, tmp_path):
    write_input(tmp_path)
    stops_with(message(learn("prepare 4", reference=socket(address))), "prepare needs 'mode active'")


def test_a_reference_inside_the_run_labels_no_copies(message, tmp_path):
    write_input(tmp_path)
    stops_with(message(learn(f"{EAGER} prepare 4")), "prepare: the reference must be another program")
