"""Stage benchmark: MD through LAMMPS, training steps, neighbor statistics (on the host), sums between two GPUs."""

import json

from . import logs, plan
from .process import Job, run_within
from .report import CUT_OFF, FAILED, NOT_RUN, PASSED
from .tests import note_test, state_of

# positions hardly change: what a step costs does not depend on what the model has learned
SYSTEM = """clear
units metal
atom_style atomic
read_data {data}
replicate {copies} {copies} {copies}
pair_style dptrain precision {precision}
pair_coeff * * {model} O H
neighbor 1.0 bin
neigh_modify every {rebuild} delay 0 check no
timestep 1e-6
velocity all create 330.0 4928459
fix nve all nve
thermo 100000
run {warm}
run {steps}
"""
CELL_ATOMS = 192
STATISTICS = "neighbor statistics (on the host)"


def md_input(target, net, precision, sizes):
    """LAMMPS input of runs at several sizes in one process, the smallest first."""
    return "".join(SYSTEM.format(data=target.kit / "data" / "water.data", copies=copies, precision=precision,
                                 model=target.kit / "data" / "nets" / net / "model.dp", rebuild=plan.REBUILD,
                                 warm=min(20, steps), steps=steps) for copies, steps in sizes)


def program_job(stage, target, clock, job, read):
    """Runs a job, gives its output to `read`, notes whether it worked."""
    outcome = run_within(job, target.work, target.environment(), clock)
    if outcome is None:
        return stage.add(job.name, NOT_RUN)
    try:
        read(outcome.output)
    except (ValueError, KeyError, IndexError, OSError) as error:
        if outcome.ok:
            return stage.add(job.name, FAILED, outcome.seconds, f"output not understood: {error}\n" + logs.end_of(outcome.output))
    return stage.add(job.name, state_of(outcome), outcome.seconds, logs.end_of(outcome.output))


def md(stage, target, clock, net, precision, sizes, kokkos=False):
    """MD through the plugin, or through dptrain/kk in the LAMMPS with KOKKOS."""
    style = "dptrain/kk" if kokkos else "dptrain"
    program, words = (target.kit / "kokkos" / "bin" / "lmp", target.kokkos_words()) if kokkos else (target.program("lmp"), [])
    path = target.work / f"in.{net}-{precision}-{sizes[0][0]}"
    path.write_text(md_input(target, net, precision, sizes))

    def read(output):
        timed = logs.lammps_loops(output)[1::2]  # every second run: the first of a pair warms up
        for loop in timed:
            stage.number(what="md", style=style, net=net, precision=precision, **loop)

    name = f"MD, {style}, {net}, {precision}, {sizes[0][0] ** 3 * CELL_ATOMS} to {sizes[-1][0] ** 3 * CELL_ATOMS} atoms"
    job = Job(name, target.ranks(1, program, "-in", path, "-log", "none", *words), 50.0)
    program_job(stage, target, clock, job, read)


def training(stage, target, clock, net, precision, ranks=1):
    folder = target.kit / "data" / "nets" / net
    out = target.work / f"train-{net}-{precision}-{ranks}.jsonl"
    block = plan.TRAINING_STEPS // 4

    def read(_):
        blocks = [entry for entry in map(json.loads, out.read_text().splitlines()) if entry["event"] == "block"]
        timed = blocks[1:]
        seconds = sum(b["seconds"] for b in timed) / sum(b["steps"] for b in timed) if timed else None
        if seconds is None:
            raise ValueError("fewer than two blocks")
        stage.number(what="training", net=net, precision=precision, atoms=CELL_ATOMS, ranks=ranks, ms_per_step=1e3 * seconds)

    command = [target.program("bench_train"), folder / "input.json", out, "--train", target.kit / "data" / "water",
               "--steps", plan.TRAINING_STEPS, "--report-every", block, "--precision", precision]
    job = Job(f"training, {net}, {precision}, {ranks} rank{'s' * (ranks > 1)}", target.ranks(ranks, *command), 60.0)
    program_job(stage, target, clock, job, read)


def statistics(stage, target, clock):
    """Neighbor statistics are the host's: one size says what they take."""
    def read(output):
        found = json.loads([line for line in output.splitlines() if line.startswith("{")][0])
        stage.number(what=STATISTICS, atoms=found["atoms"], ms_per_frame=1e3 * min(found["seconds"]))

    command = [target.program("bench_statistics"), target.kit / "data" / "nets" / "standard" / "input.json",
               target.kit / "data" / "water", plan.STATISTICS_COPIES, 4]
    name = f"{STATISTICS}, {plan.STATISTICS_COPIES ** 3 * CELL_ATOMS} atoms"
    program_job(stage, target, clock, Job(name, command, 60.0), read)


def nccl(stage, target, clock):
    """Sums between two GPUs: the test, and a training step on both."""
    if len(target.gpus) < 2:
        return
    job = Job("NCCL, 2 ranks", target.ranks(2, target.program("test_mpi_device")), 60.0)
    note_test(stage, job, run_within(job, target.kit, target.environment(NCCL_DEBUG="WARN"), clock))
    for precision in ("double", "single"):
        training(stage, target, clock, "standard", precision, 2)


def stage(stage, target, clock):
    """What says most comes first: time may run out."""
    device = target.facts["device"]
    largest = [plan.MD_LARGEST[device]]
    kinds = [(net, precision) for net in plan.NETS for precision in ("single", "double", "mixed")]
    for kokkos in [False, True][:1 + target.has_kokkos()]:
        for net, precision in kinds:
            md(stage, target, clock, net, precision, plan.MD_SIZES[device], kokkos)
    for net, precision in kinds:
        training(stage, target, clock, net, precision)
    for kokkos in [False, True][:1 + target.has_kokkos()]:
        md(stage, target, clock, "standard", "single", largest, kokkos)
    nccl(stage, target, clock)
    statistics(stage, target, clock)
    for net, precision in kinds[1:]:
        md(stage, target, clock, net, precision, largest)
    done = {item["state"] for item in stage.content["items"]}
    stage.end(note="no time for the largest systems" if PASSED in done and {PASSED} < done <= {PASSED, NOT_RUN, CUT_OFF} else "")
