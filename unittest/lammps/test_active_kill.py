"""Kill -9 at any moment: fix dptrain goes on with every label that is in FILE.frames. Each process of a chain resumes what the
one before has left and is killed in its turn; the numbers of frames and of optimizer steps tell whether anything was lost."""

import os
import re
import signal
import subprocess
import time

import numpy as np
import pytest

from active import stored_frames
from lammps_runner import lammps_variables, lammps_words
from silicon import REFERENCE, learn, write_input

TRAIN = 6  # optimizer steps for each label
# accuracy 1e-7 is soon out of reach: it is the audits that ask, at each step
ACTIVE = f"mode active every 2 warmup 3 train {TRAIN} accuracy 1e-07 limit 1e6 repeat audit 1 holdout 0 duplicate 0 optimizer adam"
PASSIVE = f"every 2 warmup 3 train {TRAIN} optimizer adam"


def temporary(folder):
    """Names of files on their way; what a killed process leaves of them stays."""
    return {name for name in os.listdir(folder) if name.startswith(".si.dp")}


class Chain:
    """Runs of one training in a folder, each killed at a moment that a condition names."""

    def __init__(self, folder, options, ranks=1, reference=REFERENCE):
        self.folder, self.options, self.ranks, self.reference = folder, options, ranks, reference
        self.number = 0
        self.frames = 0  # complete records, once the last process was killed
        write_input(folder)

    def file(self, name):
        return self.folder / name

    def size(self):
        path = self.file("si.dp.frames")
        return path.stat().st_size if path.exists() else 0

    def text(self, run):
        """The input of the next process: other velocities than before, else its configurations would be known."""
        resume = "resume si.dp" if self.number else ""
        text = learn(f"{self.options} save 4 si.dp disp 1000 curve.out {resume}", run=run, thermo="thermo 100000\n",
                     reference=self.reference)
        return text.replace("87287", str(87287 + self.number))

    def start(self, run):
        self.left = temporary(self.folder)
        self.file("in.test").write_text(self.text(run))
        self.number += 1
        command = lammps_words(self.ranks)
        if self.ranks == 1:
            command = command[3:]  # without mpiexec: one process to kill
        with open(self.file("output"), "w") as output:
            return subprocess.Popen(command, cwd=self.folder, stdout=output, stderr=subprocess.STDOUT, start_new_session=True,
                                    env=lammps_variables())

    def check(self, before):
        """What the latest process has found of the frames and steps of those before it."""
        output = self.file("output").read_text()
        assert "ERROR" not in output, output[-2000:]
        found = re.search(r"resumed (?:from|with) .*?(\d+) frames", output)
        if self.number > 1 and found:  # the line may have been on its way
            assert int(found.group(1)) == before

    def kill(self, when, delay=0.0):
        """Kills a new process `delay` seconds after when(chain) has become true."""
        process, end = self.start("run 1000000"), time.monotonic() + 3000
        while not when(self):
            assert process.poll() is None and time.monotonic() < end, self.file("output").read_text()[-2000:]
            time.sleep(0.0005)
        time.sleep(delay)
        assert process.poll() is None, self.file("output").read_text()[-2000:]
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        before, self.frames = self.frames, len(stored_frames(self.file("si.dp.frames")))
        assert self.frames >= before  # what was complete stays
        self.check(before)

    def finish(self):
        """One more process, which ends: all labels were learned, each with its optimizer steps."""
        process, before = self.start('run 4\nprint "$(f_t[1]:%.0f) frames, $(f_t[7]:%.0f) optimizer steps"'), self.frames
        assert process.wait(timeout=300) == 0, self.file("output").read_text()[-2000:]
        self.check(before)
        output = self.file("output").read_text()
        frames = len(stored_frames(self.file("si.dp.frames")))
        found = re.search(r"^(\d+) frames, (\d+) optimizer steps$", output, re.MULTILINE)
        learned, steps = map(int, found.groups())
        assert frames > before and learned == frames
        assert steps == TRAIN * frames


def records(number):
    """This process has stored so many labels more."""
    def is_true(chain):
        path = chain.file("si.dp.frames")
        return chain.size() >= 16 and len(stored_frames(path)) >= chain.frames + number
    return is_true


def newer(name):
    """This process has written a file of this name, or it is at it."""
    def is_true(chain):
        path, start = chain.file(name), chain.file("in.test").stat().st_mtime_ns
        return path.exists() and path.stat().st_mtime_ns > start
    return is_true


def saving(chain):
    """A checkpoint is being written under its other name."""
    return bool(temporary(chain.folder) - chain.left)


FIXED = [
    records(1),                  # the first label of all
    records(1),                  # in the warm-up, which goes on with the frames alone
    records(2),                  # the model is being made
    newer("si.dp.ckpt"),         # the first checkpoint, and no model file yet
    saving,                      # amid a checkpoint
    newer("si.dp"),              # the model file has been written
    records(3),                  # a label was stored, and its training begins
    saving,
    records(1),
    newer("si.dp.ckpt"),
]


@pytest.mark.soak("kills")
@pytest.mark.parametrize("name, options, ranks, points, number", [
    ("active", ACTIVE, 1, FIXED, 20), ("passive", PASSIVE, 1, FIXED[::2], 4), ("two ranks", ACTIVE, 2, FIXED[2:6:2], 2)])
def test_no_label_is_lost(name, options, ranks, points, number, soak, tmp_path):
    """Ten fixed points and twenty random ones, up to 0.2 s after a label: training, saving, a label
    being stored."""
    chain = Chain(tmp_path, options, ranks)
    for when in points:
        chain.kill(when)
    kills, choice = soak(number, max(2, number // 4), seed=4711)
    for _ in range(kills):
        chain.kill(records(1), delay=choice.uniform(0.0, 0.2))
    chain.finish()


@pytest.mark.soak("kills")
def test_no_label_is_lost_in_calls(address, client, soak, tmp_path):
    """Ten times amid a call over the socket, and as often up to 0.2 s after a label. The client goes on with the next process."""
    pytest.importorskip("ase", reason="the client needs ASE")
    client("calculators.Slow:sigma=2.1,epsilon=0.05,rc=6.0,seconds=0.1", address)
    chain = Chain(tmp_path, ACTIVE, reference=f"reference socket {address} wait 60 end")
    kills, choice = soak(10, 3, seed=4712)
    for _ in range(kills):
        chain.kill(records(1), delay=choice.uniform(0.0, 0.2))
        chain.kill(newer("begun"), delay=choice.uniform(0.0, 0.09))
    chain.finish()


def in_flight(chain):
    """Coordinates of the configurations that are with the reference."""
    path = chain.file("si.dp.requests")
    if not path.exists():
        return []
    with pytest.importorskip("h5py").File(path) as file:
        return [np.array(request["frame/coord"]).tobytes() for request in file["requests"].values()]


def expect_each_once(chain, left):
    """All configurations in `left` have been learned, and no configuration twice."""
    frames = stored_frames(chain.file("si.dp.frames"))
    moved = [frame["coord"].tobytes() for frame in frames if frame["step"] > 0]  # all processes begin with the same atoms
    assert len(set(moved)) == len(moved)
    assert not set(left) - {frame["coord"].tobytes() for frame in frames}


@pytest.mark.soak("kills")
def test_no_label_is_lost_in_flight(address, client, soak, tmp_path):
    """Fifty times while two clients compute beside the run: each configuration that was with them when
    the process was killed is learned once by those that follow. The velocities of each process are its own."""
    pytest.importorskip("ase", reason="the client needs ASE")
    for k in range(2):
        client("calculators.Slow:sigma=2.1,epsilon=0.05,rc=6.0,seconds=0.1", address, log=f"client{k}.log")
    chain = Chain(tmp_path, f"{ACTIVE} asynchronous 2 train_share 1", reference=f"reference socket {address} wait 60 end")
    chain.kill(records(10))  # the model is no longer new
    left = []
    kills, choice = soak(50, 6, seed=4713)
    for _ in range(kills):
        chain.kill(records(1), delay=choice.uniform(0.0, 0.2))
        left += in_flight(chain)
    chain.finish()
    assert len(left) >= kills // 5  # there were some
    expect_each_once(chain, left)


@pytest.mark.soak("kills")
def test_no_label_is_lost_in_a_spool(labeler, soak, tmp_path):
    """The same with files: those who answer go on while nobody asks, and the next process finds what they have done."""
    pytest.importorskip("ase", reason="the calculator is one of ASE")
    labeler("calculators.Slow:sigma=2.1,epsilon=0.05,rc=6.0,seconds=0.1", "--jobs", "2")
    chain = Chain(tmp_path, f"{ACTIVE} asynchronous 2 train_share 1", reference="reference spool spool end")
    chain.kill(records(10))  # the model is no longer new
    left = []
    kills, choice = soak(50, 6, seed=4714)
    for _ in range(kills):
        chain.kill(records(1), delay=choice.uniform(0.0, 0.3))
        left += in_flight(chain)
    end = time.monotonic() + 300
    while in_flight(chain):  # nobody waits for a spool at the end of a run: another process takes up what has come
        assert time.monotonic() < end
        time.sleep(0.3)
        chain.start("run 0").wait(300)
    assert len(left) >= kills // 5
    expect_each_once(chain, left)


@pytest.mark.parametrize("cut", [1, 9, 1000])
def test_a_label_that_was_cut_off(cut, tmp_path):
    """A record that was being written when the machine went down counts as none, and is written over."""
    chain = Chain(tmp_path, ACTIVE)
    chain.kill(records(6))
    with open(tmp_path / "si.dp.frames", "r+b") as file:
        file.truncate(chain.size() - cut)
    chain.frames = len(stored_frames(tmp_path / "si.dp.frames"))
    chain.finish()


@pytest.mark.parametrize("size", [0, 7])
def test_killed_before_the_first_label(size, tmp_path):
    """The frames file has only a part of its header."""
    chain = Chain(tmp_path, ACTIVE)
    chain.kill(records(1))
    with open(tmp_path / "si.dp.frames", "r+b") as file:
        file.truncate(size)
    chain.frames = 0
    chain.finish()
