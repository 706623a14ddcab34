"""How fast MD and training are, beside what is expected, for `dptrain doctor`: about ten seconds on one rank and on two."""

from __future__ import annotations

import os
import re
from pathlib import Path

from dptrain.doctor_checks import built_for, core_limit, find_silicon, physical_cores
from dptrain.doctor_finding import ok, warning
from dptrain.doctor_runs import complaint, mpiexec_words
from dptrain.launcher import cores

# one rank, one thread, on an AMD EPYC with AVX-512: MD from bench/results/bench.md, Si (mlearn), 24 November 2026; training is the median of
# five runs of this benchmark on 26 November 2026, beside other programs on the other core
EXPECTED = {"training": (2.0, "ms/step"), "MD double": (6.66, "us/atom/step"), "MD single": (3.64, "us/atom/step")}
FACTOR = 3.0  # slower than this is worth a word: processors differ, and the same one took 1.4 to 2.6 times as long on another day, alone
NOISE = 0.95  # a run twice differs by that much
# training from nothing on 64 atoms, each forty steps with a new label; the forces are weak, so that the crystal stays
TRAINING = """units metal
lattice diamond 5.431
region box block 0 2 0 2 0 2
create_box 1 box
create_atoms 1 box
mass 1 28.0855
displace_atoms all random 0.1 0.1 0.1 1 units box
pair_style dptrain precision single
pair_coeff * * new Si
fix learn all dptrain reference pair lj/cut 5.0 coeff "* * 0.01 2.2" end mode passive every 5 train 40
fix nve all nve
run 80
print "DOCTOR training $(1000*f_learn[8]/f_learn[7])"
clear
"""
# 512 atoms of silicon at 300 K, with the model that comes with the package
DYNAMICS = """units metal
lattice diamond 5.431
region box block 0 4 0 4 0 4
create_box 1 box
create_atoms 1 box
mass 1 28.0855
pair_style dptrain precision {precision}
pair_coeff * * Si.mlearn.dp Si
velocity all create 600.0 4928459
fix nve all nve
run 20
run {steps}
clear
"""
STEPS = {"double": 300, "single": 400}


def benchmark_input():
    dynamics = (DYNAMICS.format(precision=precision, steps=steps) for precision, steps in STEPS.items())
    return TRAINING + ("".join(dynamics) if find_silicon() else "")


def times_of(output):
    """{what: time} in the units of EXPECTED, as far as the runs got."""
    times = {f"MD {precision}": 1e6 * float(seconds[1]) / (steps * 512) for precision, steps in STEPS.items()
             if (seconds := re.search(rf"^Loop time of (\S+) on \d+ procs for {steps} steps with 512 atoms", output, re.M))}
    training = re.search(r"^DOCTOR training (\S+)", output, re.M)
    return {**({"training": float(training[1])} if training else {}), **times}


def stolen_time():
    """(time that the host of a virtual machine gave to others, all time), summed over the processors since the start. Linux."""
    try:
        words = [int(word) for word in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    except (OSError, IndexError, ValueError):
        return 0, 0
    return words[7], sum(words)


def reasons(stolen):
    """Why it may be slow, as far as it shows."""
    load, number = os.getloadavg()[0], cores()
    if load > 1.5 * number:
        yield f"other programs use the cores (load {load:.1f}): repeat it when they have ended"
    if stolen > 0.05:
        yield f"the host of this virtual machine gave {100 * stolen:.0f} % of the time to others"
    if core_limit() < number:
        yield f"the control group allows the time of {core_limit():.3g} cores"
    if built_for().get("march", "") != "native":
        yield "the build is portable: one for this machine takes 0.8 to 0.9 of the time, tools/install makes it"


def table(times, note):
    """One line: each time with its unit and a note in parentheses."""
    return ", ".join(f"{what} {time:.3g} {EXPECTED[what][1]} ({note(what)})" for what, time in times.items())


def one_rank(times, stolen):
    """Times of one rank beside the expected ones."""
    if not times:
        return
    found = table(times, lambda what: f"expected {EXPECTED[what][0]:.3g}")
    longest = max(time / EXPECTED[what][0] for what, time in times.items())
    if longest <= FACTOR:
        yield ok("one rank", found)
    else:
        why = "; ".join(reasons(stolen)) or "a debug build, a slower or throttled processor, or a core that others use too"
        yield warning("one rank", found, f"up to {longest:.1f} times as long as expected: {why}")


def two_ranks(one, two):
    """Whether a second rank helps."""
    gains = {what: one[what] / two[what] for what in one if what in two}
    if not gains:
        return
    found = table({what: two[what] for what in gains}, lambda what: f"{gains[what]:.2f} times as fast")
    if min(gains.values()) >= NOISE:
        yield ok("two ranks", found)
    elif physical_cores() < 2:
        yield warning("two ranks", found, "the processors are two threads of one core: run one rank")
    else:
        why = "; ".join(reasons(0)) or "look whether others use the cores, and whether the batch system gives each rank its own"
        yield warning("two ranks", found, f"slower than one: run one rank. Why: {why}")


def measure(lab, ranks):
    """(times, findings where it failed, whether it ran on a GPU)."""
    status, output = lab.lammps(benchmark_input(), ranks, OMP_NUM_THREADS="1")
    failures = [] if status == 0 else [warning("benchmark", f"{ranks} rank{'s' * (ranks > 1)}: {complaint(status, output)}",
                                               "this run should end within seconds: look at the message and at the load")]
    return times_of(output), failures, re.search(r"ranks? on \d+ GPU", output) is not None


def check_speed(lab):
    """The benchmark on one rank and on two; times on a GPU are not judged."""
    silicon = find_silicon()
    if silicon:
        (lab.folder / silicon.name).write_bytes(silicon.read_bytes())
    before = stolen_time()
    one, failures, gpu = measure(lab, 1)
    yield from failures
    stolen, total = (after - since for after, since in zip(stolen_time(), before))
    if gpu:
        yield ok("one rank", table(one, lambda what: "on a GPU"))
        return
    yield from one_rank(one, stolen / max(total, 1))
    if not failures and cores() > 1 and mpiexec_words():
        two, failures, _ = measure(lab, 2)
        yield from failures or two_ranks(one, two)
