"""One training on any number of ranks, in any division of the frames, with ranks that have no atoms; what it says of memory, and
what happens when a rank dies or hangs."""

import os
import random
import re
import signal
import subprocess
import time

import h5py
import numpy as np
import pytest

from lammps_runner import lammps_variables, lammps_words
from silicon import ATOMS, PAIR, REFERENCE, learn, write_input

TRAJECTORY = "pair_style sw\npair_coeff * * Si.sw Si\nfix n all nve\nrun 20\ndump d all custom 2 frames.dump id type x y z\n" \
             "dump_modify d sort id format float %.17g\nrun 8\n"


def parameters(path):
    """Weights of the optimizer, in float64."""
    with h5py.File(path) as file:
        return file["dptrain/parameters"][()]


@pytest.fixture
def silicon(lammps, tmp_path):
    write_input(tmp_path)
    return lammps


@pytest.fixture
def frames(silicon, tmp_path):
    """A trajectory of five frames, the same numbers for all trainings."""
    silicon(ATOMS + TRAJECTORY).check()
    return tmp_path / "frames.dump"


def train_on(frames, options, layout=("", ""), name="si.dp"):
    """Input that labels the five frames of a dump, and trains 5 steps after each. `layout`: commands before and after the box
    is made."""
    atoms = ATOMS.replace("lattice", layout[0] + "lattice") + layout[1]
    return (f"{atoms}{PAIR}\nfix t all dptrain mode passive {REFERENCE} every 2 warmup 4 train 5 optimizer adam save 1000 {name} {options}\n"
            f"thermo_style custom step f_t f_t[*]\nthermo 2\nrerun {frames} dump x y z\n")


LAYOUTS = {
    "bricks": ("", ""),
    "tiled": ("", "comm_style tiled\nbalance 0.9 rcb\n"),
    "shifted": ("processors * 1 1\n", "balance 1.0 shift x 5 1.0\n"),
    "half empty": ("processors 1 1 4\n", "change_box all z final 0 44 boundary p p f\n"),
}


@pytest.mark.parametrize("ranks, options, layout", [
    (2, "distribute space", "bricks"), (3, "distribute frames", "bricks"), (4, "distribute frames batch 3", "bricks"),
    (4, "distribute space batch 3", "tiled"), (8, "distribute auto batch 2", "bricks"), (8, "distribute frames batch 3", "tiled"),
    (4, "distribute space", "shifted"), (2, "micro_batch 1 batch 3", "bricks"), (2, "frame_memory 0 batch 2", "bricks")])
def test_parameters_do_not_depend_on_ranks(ranks, options, layout, frames, silicon, tmp_path):
    """Adam in double precision, 25 steps on the same frames: only the order of sums differs, 1e-12 of the largest parameter."""
    batch = re.search(r"batch \d", options.replace("micro_batch 1", ""))
    one = silicon(train_on(frames, batch.group(0) if batch else "", name="one.dp")).check().thermo()
    many = silicon(train_on(frames, options, LAYOUTS[layout]), ranks).check().thermo()
    expected, found = parameters(tmp_path / "one.dp.ckpt"), parameters(tmp_path / "si.dp.ckpt")
    assert one["f_t[7]"][-1] == many["f_t[7]"][-1] == 25
    assert np.abs(found - expected).max() < 1e-12 * np.abs(expected).max()


@pytest.mark.parametrize("options", ["distribute space", "distribute frames batch 3"])
def test_a_rank_without_atoms(options, frames, silicon, tmp_path):
    """A slab whose box is empty above it, cut into four: two ranks own nothing, in the run."""
    before, after = LAYOUTS["half empty"]
    one = silicon(train_on(frames, options, ("", after), "one.dp")).check()
    silicon(train_on(frames, options, (before, after)), 4).check()
    expected, found = parameters(tmp_path / "one.dp.ckpt"), parameters(tmp_path / "si.dp.ckpt")
    assert "WARNING: memory" not in one.output
    assert np.abs(found - expected).max() < 1e-12 * np.abs(expected).max()


def test_the_same_number_of_ranks_gives_the_same_bits(frames, silicon, tmp_path):
    for name in ("one.dp", "two.dp"):
        silicon(train_on(frames, "batch 2", name=name), 3).check()
    assert np.array_equal(parameters(tmp_path / "one.dp.ckpt"), parameters(tmp_path / "two.dp.ckpt"))


@pytest.mark.parametrize("first, second", [(4, 1), (1, 3)])
def test_resume_on_another_number_of_ranks(first, second, frames, silicon, tmp_path):
    """The continuation is the same to rounding: 1e-11 after 40 steps."""
    expected = None
    for ranks in (first, second):
        silicon(train_on(frames, "batch 2", name="si.dp"), first).check()
        again = silicon(train_on(frames, "batch 2 resume si.dp", name="next.dp").replace("every 2", "every 4"), ranks).check()
        assert "resumed from si.dp.ckpt: 5 frames, 25 optimizer steps" in again.output
        found = parameters(tmp_path / "next.dp.ckpt")
        if expected is not None:
            assert np.abs(found - expected).max() < 1e-11 * np.abs(expected).max()
        expected = found


def test_auto_says_what_it_chose(frames, silicon):
    assert "distribute auto" not in silicon(train_on(frames, "")).check().output  # nothing to choose
    text = silicon(train_on(frames, ""), 2).check().output
    assert len(re.findall(r"distribute auto: space for frames of 64 atoms, 1 in a step, on 2 ranks: estimated", text)) == 1
    text = silicon(train_on(frames, "batch 8"), 4).check().output
    assert "distribute auto: frames for frames of 64 atoms, 8 in a step, on 4 ranks" in text


@pytest.mark.parametrize("compress", ["bf16", "powersgd 2"])
def test_compressed_gradients(compress, frames, silicon, tmp_path):
    """Other steps, but they learn as much; all ranks have the same parameters, which is checked at every hundredth step."""
    silicon(train_on(frames, "", name="one.dp").replace("train 5", "train 60"), 2).check()
    result = silicon(train_on(frames, f"compress {compress}").replace("train 5", "train 60"), 2).check().thermo()
    assert result["f_t[7]"][-1] == 300
    assert 0.0 < np.abs(parameters(tmp_path / "si.dp.ckpt") - parameters(tmp_path / "one.dp.ckpt")).max()
    errors = {}
    for name in ("one.dp", "si.dp"):  # of the forces of all frames: their batch, without a step
        text = train_on(frames, f"batch 5 resume {name}", name="next.dp").replace("train 5", "train 1")
        errors[name] = silicon(text).check().thermo()["f_t[4]"][-1]
    assert errors["si.dp"] < 1.3 * errors["one.dp"]  # steps of 300 labels' noise; bench/run ranks measures the difference


def test_memory_table_and_outputs(frames, silicon):
    result = silicon(train_on(frames, "") + "fix_modify t memory\n", 2).check()
    tables = re.findall(r"memory \(MiB\) +min +avg +max\n((?:[a-z ]+[0-9. ]+\n)+)", result.output)
    assert len(tables) == 2  # at the end of the run, and asked for
    rows = {line[:16].strip(): [float(x) for x in line[16:].split()] for line in tables[0].splitlines()}
    for purpose in ("parameters", "tables", "workspace", "frames", "neighbor rows", "halo", "optimizer", "process peak"):
        smallest, mean, largest = rows[purpose]
        assert 0.0 < smallest <= mean + 1e-3 and mean <= largest + 1e-3, purpose
    thermo = result.thermo()
    assert thermo["f_t[10]"][-1] == pytest.approx(rows["total"][2], rel=0.1)
    assert thermo["f_t[24]"][-1] == pytest.approx(rows["tables"][2], abs=2e-3)
    assert thermo["f_t[23]"][-1] == pytest.approx(rows["optimizer"][2], abs=2e-3)
    assert thermo["f_t[27]"][-1] >= thermo["f_t[26]"][-1] > 10.0
    assert thermo["f_t[28]"][-1] == 0
    assert "memory (MiB)" not in silicon(train_on(frames, "memory no")).check().output


def test_optimizer_memory_is_divided(frames, silicon):
    """Adam's moments: a part on each rank (ZeRO-1)."""
    found = {ranks: silicon(train_on(frames, ""), ranks).check().thermo()["f_t[23]"][-1] for ranks in (1, 4)}
    assert found[4] == pytest.approx(found[1] / 4, rel=0.01)


def test_frames_beyond_the_memory_are_on_the_disk(frames, silicon):
    """Frames are counted as memory only while they are in use."""
    inside = silicon(train_on(frames, "", name="in.dp")).check().thermo()
    outside = silicon(train_on(frames, "frame_memory 0", name="out.dp")).check().thermo()
    assert outside["f_t[22]"][-1] < 0.3 * inside["f_t[22]"][-1]
    assert outside["f_t"][-1] == inside["f_t"][-1]  # to the last bit


@pytest.mark.parametrize("words, said", [
    ("distribute time", "distribute"), ("compress zip", "compress"), ("compress powersgd 0", "powersgd RANK"),
    ("frame_memory -1", "frame_memory"), ("timeout -2", "timeout"), ("micro_batch -1", "micro_batch"), ("memory maybe", "memory")])
def test_bad_words_are_named(words, said, message, tmp_path):
    write_input(tmp_path)
    result = message(learn(words, run="run 0"))
    assert result.status != 0 and any(said in line for line in result.errors()), result.output[-500:]


class Job:
    """LAMMPS on many ranks in the background, whose processes are known. Each rank writes to a file of its own, which does not
    need the launcher."""

    def __init__(self, folder, text, ranks):
        (folder / "in.job").write_text(text)
        self.folder = folder
        for old in folder.glob("job.out*"):
            old.unlink()
        words = lammps_words(ranks, "in.job", "-nonbuf")
        write = ["sh", "-c", 'exec "$@" >job.out.$PMI_RANK 2>&1', "sh"]
        with open(folder / "job.out", "w") as out:
            self.process = subprocess.Popen([*words[:3], *write, *words[3:]], cwd=folder, stdout=out, stderr=subprocess.STDOUT,
                                            start_new_session=True, env=lammps_variables())

    def text(self):
        """What launcher and ranks have said."""
        return "".join(path.read_text() for path in sorted(self.folder.glob("job.out*")))

    def ranks(self):
        """Processes of LAMMPS itself, which have no children, and live."""
        table = subprocess.run(["ps", "-eo", "pid=,ppid=,sid=,stat="], capture_output=True, text=True).stdout
        rows = [line.split() for line in table.splitlines()]
        mine = [(int(pid), int(parent)) for pid, parent, session, state in rows
                if state[0] != "Z" and (int(session) == self.process.pid or self.is_below(int(pid), rows))]
        parents = {parent for _, parent in mine}
        return sorted(pid for pid, _ in mine if pid not in parents)

    def is_below(self, pid, rows):
        parent = {int(row[0]): int(row[1]) for row in rows}
        while pid in parent and pid > 1:
            pid = parent[pid]
            if pid == self.process.pid:
                return True
        return False

    def end(self):
        """Leaves no process behind, stopped ones neither."""
        for pid in (*self.ranks(), self.process.pid):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.wait()

    def wait_for(self, condition, seconds=300):
        end = time.monotonic() + seconds
        while not condition():
            assert self.process.poll() is None and time.monotonic() < end, self.text()[-2000:]
            time.sleep(0.005)


def endless(options, velocity=87287):
    return learn(f"every 2 warmup 2 train 6 optimizer adam save 3 si.dp disp 1000000 curve.out memory no {options}",
                 run="run 1000000", thermo="thermo 1000000\n").replace("87287", str(velocity))


@pytest.mark.parametrize("victim", [0, 2])
def test_a_rank_that_hangs_ends_the_job(victim, tmp_path):
    """One of three ranks is stopped while all train: within the timeout the others say which one gives no sign of life, and the
    job ends."""
    write_input(tmp_path)
    job = Job(tmp_path, endless("timeout 8").replace("train 6", "train 1000000"), 3)
    try:
        job.wait_for((tmp_path / "si.dp.ckpt").exists)
        stopped = job.ranks()[victim]
        os.kill(stopped, signal.SIGSTOP)
        assert job.process.wait(300) != 0
    finally:
        job.end()
    text = job.text()
    assert text.count("The job ends now") == 1
    assert f"(process {stopped}) has given no sign of life" in text
    assert len(parameters(tmp_path / "si.dp.ckpt")) > 1000


def test_a_job_that_was_suspended_goes_on(tmp_path):
    """All ranks are stopped for longer than the timeout, as a batch system does it: nobody has waited meanwhile."""
    write_input(tmp_path)
    job = Job(tmp_path, endless("timeout 8").replace("train 6", "train 1000000"), 2)
    checkpoint = tmp_path / "si.dp.ckpt"
    try:
        job.wait_for(checkpoint.exists)
        ranks = job.ranks()
        for rank in ranks:
            os.kill(rank, signal.SIGSTOP)
        time.sleep(9.0)
        before = checkpoint.stat().st_mtime_ns
        for rank in ranks:
            os.kill(rank, signal.SIGCONT)
        job.wait_for(lambda: checkpoint.stat().st_mtime_ns > before)
        time.sleep(6.0)
        assert job.process.poll() is None, job.text()[-2000:]
    finally:
        job.end()


@pytest.mark.soak("kills of ranks")
def test_killing_a_rank_again_and_again(silicon, soak, tmp_path):
    """Eight ranks, one of which is killed at a random moment, fifty times: the job always ends, the
    checkpoint can always be read, and the training goes on, also on another number of ranks."""
    kills, choice = soak(50, 10, seed=47)
    labels = 0
    for number in range(kills):
        ranks = 8 if number % 5 else choice.choice([2, 3, 5])
        resume = "resume si.dp" if number else ""
        job = Job(tmp_path, endless(f"timeout 20 {resume}", 87287 + number), ranks)
        mark = "resumed" if number else "new model"
        job.wait_for(lambda: mark in job.text())
        time.sleep(choice.uniform(0.0, 0.5))
        killed = choice.choice(job.ranks())
        os.kill(killed, signal.SIGKILL)
        assert job.process.wait(300) != 0
        text = job.text()
        # where the launcher has missed the death, the other ranks have waited for this process: of nothing else do they tell
        assert text.count("ERROR") == text.count(f"(process {killed}) has"), text[-2000:]
        if number:
            found = int(re.search(r"resumed (?:from|with) .*?(\d+) frames", text).group(1))
            assert found >= labels
            labels = found
    result = silicon(learn("every 2 warmup 2 train 6 optimizer adam save 3 si.dp resume si.dp", run="run 4"), 2).check()
    assert result.thermo()["f_t[1]"][-1] >= labels
