"""`share yes`: partitions of one job train one model together, each with its own atoms, temperature and reference."""

import os
import signal
import subprocess
import time

import numpy as np
import pytest
from active import decisions, events, stored_frames
from labels import EXACT, LENNARD_JONES, expect_right_labels
from lammps_runner import Result, lammps_variables, lammps_words, wait_for
from silicon import learn, write_input

pytest.importorskip("ase", reason="the reference of these tests is compared with ASE's")

REFERENCE = 'reference pair lj/cut 6.0 coeff "* * 0.05 2.1" modify "shift yes" end'
# each look at the threshold asks, of the first twenty labels at least: partitions with as many steps ask at the same ones, and the order of the labels is fixed
EAGER = "mode active every 5 warmup 4 train 10 accuracy 1e-07 limit 1e6 repeat audit 0 holdout 0 duplicate 0 optimizer adam"
SEEDS = "variable seed world 87287 1234 555 77\nvariable T world 2000 1500 1000 500\n"


def worlds(number):
    """The variables of so many partitions."""
    return "".join(" ".join(line.split()[:3 + number]) + "\n" for line in SEEDS.splitlines())


def shared(options, partitions=2, **words):
    words.setdefault("reference", REFERENCE)
    text = worlds(partitions) + learn(f"{options} share yes", **words)
    return text.replace("velocity all create 2000 87287", "velocity all create $T ${seed}")


class Job:
    """A LAMMPS job of several partitions."""

    def __init__(self, folder, text, ranks, name="in.test"):
        self.folder, self.partitions = folder, len(ranks)
        (folder / name).write_text(text)
        command = lammps_words(sum(ranks), name, "-nonbuf", "-partition", *map(str, ranks))
        self.process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                        start_new_session=True, env=lammps_variables())

    def output(self, partition):
        path = self.folder / f"screen.{partition}"
        return path.read_text() if path.exists() else ""

    def finish(self, seconds=600):
        """A Result for each partition."""
        try:
            output, _ = self.process.communicate(timeout=seconds)
        finally:
            self.kill()
        return [Result(self.folder, self.process.returncode, output + self.output(k)) for k in range(self.partitions)]

    def kill(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


@pytest.fixture
def job(tmp_path):
    """Function: input text, ranks of the partitions -> a job that has begun; its folder has an input.json."""
    write_input(tmp_path)
    started = []

    def start(text, ranks=(1, 1), folder=tmp_path):
        started.append(Job(folder, text, ranks))
        return started[-1]
    yield start
    for one in started:
        one.kill()


def test_one_model_of_two_systems(job, tmp_path):
    """64 and 8 atoms: both are labeled, both partitions count all frames, and one file has them."""
    text = shared(f"{EAGER} save 100000 si.dp", run='run 40\nprint "frames $(f_t[1]:%.0f)"', thermo="thermo 40\n")
    text = text.replace("region box block 0 2 0 2 0 2", "variable n world 2 1\nregion box block 0 $n 0 $n 0 $n")
    results = [result.check() for result in job(text).finish()]
    frames = stored_frames(tmp_path / "si.dp.frames")
    sizes = [len(frame["coord"]) for frame in frames]
    assert min(sizes.count(64), sizes.count(8)) > 5
    edges = {64: 10.862, 8: 5.431}
    assert all(np.array_equal(frame["box"].reshape(3, 3), edges[len(frame["coord"])] * np.eye(3)) for frame in frames)
    expect_right_labels(frames, EXACT)
    for result in results:
        assert f"frames {len(frames)}" in result.output.splitlines()
    assert not list(tmp_path.glob("*.requests*"))


def test_each_partition_has_copies_of_its_own(tmp_path, job, address, client):
    """`prepare 3` of two partitions that begin with the same atoms: the first of each is these atoms, the other four copies are all different,
    in one file."""
    text = shared(f"{EAGER} prepare 3 displace 0.1 save 100000 si.dp", run="run 5", reference=f"reference socket {address}_$w wait 60 end")
    started = job("variable w world a b\n" + text)
    for name, structure in (("a", "t.1.init.xyz"), ("b", "t.2.init.xyz")):
        client(LENNARD_JONES, f"{address}_{name}", log=f"client.{name}.log", structure=structure)
    for result in started.finish():
        asked = [row["why"] for row in events(result.check().output)]
        assert asked[:3] == ["prepare"] * 3 and asked.count("prepare") == 3
    # what the partitions ask for next may come between the copies: those are the frames of step 0 that are displaced
    sites = 5.431 / 4  # of diamond
    copies = [frame["coord"] for frame in stored_frames(tmp_path / "si.dp.frames")
              if frame["step"] == 0 and np.abs(frame["coord"] / sites - np.round(frame["coord"] / sites)).max() > 1e-6]
    assert len(copies) == 4 and len({coord.tobytes() for coord in copies}) == 4


def test_the_numbers_do_not_depend_on_the_ranks(job, tmp_path):
    """One and one, two and two, one and two ranks, as long as labels come in the same order: which of two partitions has its label
    learned first depends on their speed, and the numbers of frames and calls at each decision show it. Sums in another order: 1e-7
    after some 100 steps of Adam, whose first steps follow signs."""
    text, found = shared(EAGER, run="run 20", thermo="thermo 5\n"), []
    for ranks in ((1, 1), (2, 2), (1, 2)):
        folder = tmp_path / "-".join(map(str, ranks))
        folder.mkdir()
        write_input(folder)
        found.append([result.check() for result in job(text, ranks, folder).finish()])
    for other in found[1:]:
        for a, b in zip(found[0], other):
            first, second = decisions(a.output), decisions(b.output)
            same_order = [x[4:] == y[4:] for x, y in zip(first, second)]
            until = same_order.index(False) if False in same_order else len(same_order)
            assert until > 0 and first[:until] == second[:until]
            if until == len(first) == len(second):  # in which order the last labels were learned shows nowhere
                assert np.allclose(a.thermo()["PotEng"][:-1], b.thermo()["PotEng"][:-1], rtol=1e-6)


def test_who_ends_early_helps_the_others(job, tmp_path):
    """The first partition has 10 steps, the second 60; both end, and the labels of the second are learned by both."""
    text = "variable steps world 10 60\n" + shared(f"{EAGER} save 100000 si.dp", run="run ${steps}", thermo="thermo 100\n")
    first, second = [result.check() for result in job(text).finish()]
    assert max(int(event["step"]) for event in events(first.output)) <= 10
    assert max(int(event["step"]) for event in events(second.output)) == 60
    frames = stored_frames(tmp_path / "si.dp.frames")
    assert f"{len(frames)} frames" in first.output  # of its summary, once all have ended


def test_several_runs_and_a_partition_that_is_gone(job):
    """The first partition ends its input after one run, the second has three."""
    text = shared(f"{EAGER} save 100000 si.dp", run='run 10\nif "${seed} == 1234" then "run 10" "run 10"', thermo="thermo 10\n")
    first, second = [result.check() for result in job(text).finish()]
    assert max(int(event["step"]) for event in events(second.output)) == 30


def test_who_waits_does_not_stop_the_others(job, client, address, tmp_path):
    """The client of the first partition holds its first label back until the second partition has learned at its last step, with the
    help of the first one."""
    slow, quick = f"reference socket {address} wait 60 end", REFERENCE
    client("calculators.Held:hold=1,sigma=2.1,epsilon=0.05,rc=6.0", address, structure="t.1.init.xyz")
    options = EAGER.replace("warmup 4", "warmup 2").replace("every 5", "every 2")
    lines = shared(options, run="run 20", reference="WHO", thermo="thermo 100\n").splitlines()
    place = next(k for k, line in enumerate(lines) if line.startswith("fix t "))
    lines[place:place + 1] = ['if "${seed} == 1234" then "jump SELF quick"', lines[place].replace("WHO", slow), "jump SELF go",
                              "label quick", lines[place].replace("WHO", quick), "label go"]
    running = job("\n".join(lines) + "\n")

    def steps(output):
        return [int(event["step"]) for event in events(output)]

    end = time.monotonic() + 300
    while 20 not in steps(running.output(1)):
        assert running.process.poll() is None and time.monotonic() < end, running.output(1)[-2000:]
        time.sleep(0.05)
    assert not steps(running.output(0))
    (tmp_path / "release").touch()
    first, second = [steps(result.check().output) for result in running.finish()]
    assert first[-1] == second[-1] == 20


@pytest.mark.parametrize("before, after", [(2, 3), (2, 1)])
def test_resume_with_other_partitions(before, after, job, tmp_path):
    save = f"{EAGER} save 4 si.dp"
    for result in job(shared(save, before, run="run 20", thermo="thermo 20\n"), (1,) * before).finish():
        result.check()
    frames = len(stored_frames(tmp_path / "si.dp.frames"))
    options = f"{save} resume si.dp"
    text = shared(options, after, run="run 10", thermo="thermo 10\n") if after > 1 else learn(options, run="run 10", reference=REFERENCE)
    results = [result.check() for result in job(text, (1,) * after).finish()]
    assert f"resumed from si.dp.ckpt: {frames} frames, {10 * frames} optimizer steps" in results[0].output
    more = stored_frames(tmp_path / "si.dp.frames")
    assert len(more) >= frames + 2 * after


def test_killed_with_labels_in_flight(job, client, address, tmp_path):
    """Two partitions, a client for each, asynchronous; after a kill one partition alone takes up what both had in flight."""
    for k in range(2):
        client(f"calculators.Held:sigma=2.1,epsilon=0.05,rc=6.0,hold=15,label=begun{k}", f"{address}_{k}", log=f"client{k}.log", structure=f"t.{k + 1}.init.xyz")
    options = (EAGER.replace("train 10", "train 4") + " asynchronous 1 train_share 1 save 4 si.dp")
    text = "variable k world 0 1\n" + shared(options, run="run 1000000", reference=f"reference socket {address}_$k wait 60 end",
                                              thermo="thermo 100000\n")
    text = text.replace("timestep 0.001", "timestep 0.0001")  # the model that moves the atoms is poor, and nothing stops it
    running = job(text)
    both = [tmp_path / "si.dp.requests", tmp_path / "si.dp.requests.1"]
    wait_for(lambda: all(path.exists() for path in (*both, tmp_path / "begun0", tmp_path / "begun1")), "labels in flight")
    assert all("later" in running.output(k) for k in range(2))
    running.kill()
    (tmp_path / "release").touch()
    for path in ("/tmp/ipi_" + f"{address}_{k}"[5:] for k in range(2)):
        assert os.path.exists(path)
    h5py = pytest.importorskip("h5py")
    left = []
    for path in both:
        with h5py.File(path) as file:
            left += [np.array(request["frame/coord"]).tobytes() for request in file["requests"].values()]
    text = learn(f"{options} resume si.dp", run="run 4", reference=f"reference socket {address}_0 wait 60 end")
    (result,) = [result.check() for result in job(text, (1,)).finish()]
    frames = stored_frames(tmp_path / "si.dp.frames")
    moved = [frame["coord"].tobytes() for frame in frames if frame["step"] > 0]
    assert len(left) == 2 and len(set(moved)) == len(moved)
    assert not set(left) - {frame["coord"].tobytes() for frame in frames}
    assert not list(tmp_path.glob("*.requests*"))


@pytest.mark.parametrize("change, message", [
    (("train 10", "train ${seed}"), "share: partition 2 has other options than partition 1; 'train 87287' in partition 1, 'train 1234' here"),
    (("mode active every 5", "mode passive every 5"), "needs 'mode active'"),
])
def test_bad_input(change, message, job):
    results = job(shared(EAGER, run="run 10").replace(*change)).finish()
    assert any(message in result.output for result in results), results[1].output[-1500:]
    assert results[0].status != 0


@pytest.mark.parametrize("option, first, second", [
    ("disp", "1 lcurve.out", "7 lcurve.out"),
    ("disp", "1 a.out", "1 b.out"),
    ("compress", "none", "bf16"),
    ("compress", "powersgd 2", "powersgd 4"),
    ("stat", "a.hdf5", "b.hdf5"),
    ("input", "input.json", "other.json"),
    ("train_share", "0.5", "1"),
    ("rewind", "0", "2"),
    ("distribute", "frames", "space"),
])
def test_other_training(option, first, second, job, tmp_path):
    """What decides about the work that all ranks do together must be the same: else one partition waits for the other."""
    (tmp_path / "other.json").write_text((tmp_path / "input.json").read_text())
    text = shared(f"{EAGER} {option} ${{value}}", run="run 10")
    results = job(f'variable value world "{first}" "{second}"\n{text}').finish()
    message = f"'{option} {first}' in partition 1, '{option} {second}' here"
    assert any(message in result.output for result in results), results[1].output[-1500:]
    assert results[0].status != 0


def test_other_elements(job, tmp_path):
    write_input(tmp_path, types=("Si", "O"))
    text = shared(EAGER, run="run 10").replace("pair_coeff * * input.json Si", "variable e world Si O\npair_coeff * * new $e")
    results = job(text).finish()
    assert any("'elements Si' in partition 1, 'elements O' here" in result.output for result in results)


def test_it_needs_partitions(silicon):
    result = silicon(learn(f"{EAGER} share yes"))
    assert result.status != 0 and "start LAMMPS with '-partition 1 1 ...'" in result.output


def test_a_baseline_in_one_partition_alone(job):
    text = shared(EAGER, run="run 10").replace("mode active", "${baseline} mode active")
    baseline = 'variable baseline world "memory yes" "baseline pair zero 6.0 coeff \'* *\' end"\n'
    results = job(baseline + text).finish()
    assert any("'baseline null' in partition 1, 'baseline [" in result.output for result in results), results[1].output[-1500:]


def test_a_partition_that_does_not_share(job):
    """The others wait for it no longer than the timeout."""
    text = shared(f"{EAGER} timeout 2", run="run 3").replace("share yes", "share ${shares}")
    results = job("variable shares world yes no\n" + text).finish()
    assert any("have not come within the timeout of 2 s" in result.output for result in results), results[0].output[-1500:]
