"""`asynchronous N`: the run goes on with the model while clients compute, and learns their labels when they come."""

import re

import numpy as np
import pytest
from active import events, stored_frames
from labels import BY_CLIENT, expect_right_labels
from lammps_runner import Result, finish, wait_for
from silicon import learn, write_input
from test_bad_input import stops_with

pytest.importorskip("ase", reason="the clients need ASE")

EDGE = 10.862  # Angstrom, of the box in ATOMS
# nearly each look at the threshold asks, and the limit is out of reach
EAGER = "mode active every 2 warmup 3 train 10 accuracy 1e-07 limit 1e6 repeat audit 0 holdout 0 duplicate 0 optimizer adam"


# a run that goes on until there is a file `stop`
ENDLESS = "variable stop equal is_file(stop)\nfix end all halt 5 v_stop > 0.5 error continue message no\nrun 10000000"


def socket(address):
    return f"reference socket {address} wait 600 end"


def slowly(text):
    """Steps of 0.1 fs: the model that moves the atoms is poor, and nothing stops it."""
    return text.replace("timestep 0.001", "timestep 0.0001")


def late(result):
    """Lines of labels that were learned at a later step."""
    return [line for line in events(result.output) if line["learned"] == "later"]


class Running:
    """A run of LAMMPS in the background, until it is stopped."""

    def __init__(self, process, folder):
        self.process, self.folder = process, folder

    def until(self, condition, what):
        """Waits until this is true for the Result so far."""
        def is_true():
            assert self.process.poll() is None, (self.folder / "screen").read_text()[-2000:]
            return condition(Result(self.folder, 0, (self.folder / "screen").read_text()))
        wait_for(is_true, what)

    def stop(self):
        (self.folder / "stop").touch()
        return finish(self.process, self.folder).check()


@pytest.fixture
def start(start_lammps, tmp_path):
    """Function: options, ranks, further words of learn() -> Running."""
    def run(options, ranks=1, change=str, **words):
        write_input(tmp_path)
        words.setdefault("thermo", "thermo 1\n")
        return Running(start_lammps(change(slowly(learn(options, run=ENDLESS, **words))), ranks), tmp_path)
    return run


def expect_own_labels(frames, epsilon=0.05):
    """Each frame is there once, and its label is that of its own configuration."""
    assert len({frame["coord"].tobytes() for frame in frames}) == len(frames)
    assert all(np.array_equal(frame["box"].reshape(3, 3), EDGE * np.eye(3)) for frame in frames)
    expect_right_labels(frames, BY_CLIENT, epsilon)


@pytest.mark.parametrize("ranks", [1, 2])
def test_the_run_goes_on(ranks, address, client, start, tmp_path):
    """While two clients hold their labels back MD goes on; answers come in lines of earlier steps, in an order that belongs to no
    step, and each label is that of its own configuration."""
    for k in range(2):
        client(f"calculators.Held:sigma=2.1,epsilon=0.05,rc=6.0,hold=8,label=begun{k}", address, log=f"client{k}.log")
    run = start(f"{EAGER} asynchronous 2 train_share 0.5 save 100000 si.dp", ranks, reference=socket(address))
    wait_for(lambda: all((tmp_path / f"begun{k}").exists() for k in range(2)), "labels that are held back")
    run.until(lambda result: np.all(result.thermo()["f_t[29]"][-50:] == 2), "50 steps with both in flight")
    (tmp_path / "release").touch()
    before = len(re.findall("calculation", (tmp_path / "client0.log").read_text()))
    run.until(lambda result: len(re.findall("calculation", (tmp_path / "client0.log").read_text())) > before + 3, "labels")
    result = run.stop()
    assert len(late(result)) > 2 and all(line["moved_by"] == "model" for line in late(result))
    thermo = result.thermo()
    in_flight = thermo["f_t[29]"]
    assert in_flight.max() == 2 and in_flight[-1] <= 2
    frames = stored_frames(tmp_path / "si.dp.frames")
    expect_own_labels(frames)
    assert len(frames) == thermo["f_t[1]"][-1] + in_flight[-1]
    assert not (tmp_path / "si.dp.requests").exists()


def test_energy_is_conserved_but_for_the_jumps(address, clients, start):
    """Total energy less the jumps, while the model learns between the steps. A step of 0.1 fs: what is left is the integrator's."""
    clients(2, 0.05)
    run = start(f"{EAGER} asynchronous 2 train_share 1.0", reference=socket(address),
                change=lambda text: text.replace("custom step pe press", "custom step etotal press"))
    run.until(lambda result: len([line for line in late(result) if int(line["step"]) > 300]) > 10, "labels after step 300")
    thermo = run.stop().thermo()
    rest = thermo["Step"] > 300
    total, jumps = thermo["TotEng"][rest], thermo["f_t[19]"][rest]
    assert np.ptp(jumps) > 1e-3  # the model has learned, and its energy has changed
    assert np.ptp(total - jumps) < 0.02 * max(np.ptp(jumps), 0.05)


def test_the_baseline_is_that_of_the_request(address, clients, start, tmp_path):
    """With `baseline` the label has the baseline of its own configuration, although the atoms have moved on: the difference of two
    Lennard-Jones potentials is one again."""
    clients(1, 0.1)
    baseline = 'baseline pair lj/cut 6.0 coeff "* * 0.03 2.1" modify "shift yes" end'
    run = start(f"{baseline} {EAGER} asynchronous 1 train_share 0.5 save 100000 si.dp", reference=socket(address))
    run.until(lambda result: len(late(result)) > 2, "late labels")
    run.stop()
    expect_own_labels(stored_frames(tmp_path / "si.dp.frames"), epsilon=0.02)


def test_the_client_is_a_partition_of_the_same_job(address, tmp_path, lammps):
    """`lmp -partition 1 1`: the second partition answers the first one with fix ipi, while that goes on, until twenty labels are
    there. Fix ipi ends the job where it hears of the end; the first partition has saved by then."""
    write_input(tmp_path)
    first = slowly(learn(f"{EAGER} asynchronous 1 train_share 1 save 100000 si.dp", run=ENDLESS, reference=socket(address)))
    (tmp_path / "in.second").write_text(
        "units metal\natom_style atomic\natom_modify map yes\nlattice diamond 5.431\nregion box block 0 2 0 2 0 2\ncreate_box 1 box\n"
        "create_atoms 1 box\nmass 1 28.0855\npair_style lj/cut 6.0\npair_coeff * * 0.05 2.1\npair_modify shift yes\n"
        f"shell until grep -q listening screen.0; do sleep 0.1; done\nfix i all ipi {address[5:]} 12345 unix\nrun 20\n"
        "shell touch stop\nrun 100000\n")
    (tmp_path / "in.first").write_text(first)
    text = "variable w world first second\ninclude in.$w\n"
    assert "Got EXIT message" in lammps(text, 2, ("-nonbuf", "-partition", "1", "1")).output
    output = (tmp_path / "screen.0").read_text()
    assert re.search(r"Fix dptrain t: \d+ steps", output) and (tmp_path / "si.dp").exists()
    assert late(Result(tmp_path, 0, output))
    expect_own_labels(stored_frames(tmp_path / "si.dp.frames"))


def test_above_the_limit_the_run_waits(address, clients, lammps, tmp_path):
    """Each step is above the limit: the reference is waited for, as without the keyword."""
    write_input(tmp_path)
    clients(2, 0.02)
    options = EAGER.replace("limit 1e6", "limit 2e-6")
    text = learn(f"{options} asynchronous 2 train_share 1.0", run="run 30", reference=socket(address), thermo="thermo 1\n")
    result = lammps(text).check()
    assert result.thermo()["f_t[29]"].max() == 0
    lines = [line for line in events(result.output) if line["why"] == "limit"]
    assert len(lines) > 10 and all(line["learned"] != "later" for line in lines)


def test_without_it_nothing_is_in_flight(address, clients, lammps, tmp_path):
    write_input(tmp_path)
    clients(2, 0.01)
    result = lammps(learn(EAGER, run="run 60", reference=socket(address), thermo="thermo 1\n")).check()
    assert result.thermo()["f_t[29]"].max() == 0
    assert not late(result)
    assert not list(tmp_path.glob("*.requests"))


@pytest.mark.parametrize("words, said", [
    ("asynchronous -1", "asynchronous -1 is not possible"),
    ("asynchronous 2 train_share 0", "train_share 0 is not possible"),
    ("asynchronous 2 train_share 1.5", "train_share 1.5 is not possible"),
    ("asynchronous 2 follow reference", "asynchronous: the run goes on with the model"),
])
def test_bad_input(words, said, address, message, tmp_path):
    write_input(tmp_path)
    stops_with(message(learn(f"{EAGER} {words}", reference=socket(address))), said)


def test_it_needs_mode_active(address, message, tmp_path):
    write_input(tmp_path)
    stops_with(message(learn("asynchronous 2", reference=socket(address))), "asynchronous needs 'mode active'")


def test_a_reference_inside_the_run_cannot_be_beside_it(message, tmp_path):
    write_input(tmp_path)
    stops_with(message(learn(f"{EAGER} asynchronous 2")), "this reference computes labels at once")
