"""Stage profile: the heaviest kernels of MD and of a training step, as ncu sees them."""

from . import logs
from .benchmark import md_input
from .process import Job, run_within
from .report import CUT_OFF, FAILED, NOT_RUN, PASSED
from .target import find_tool

LAUNCHES = 120  # that are measured of each program
HEAVIEST = 3
NO_PERMISSION = "ERR_NVGPUCTRPERM"  # what ncu says where the driver gives counters to administrators alone
METRICS = {"gpu__time_duration.sum": "time_us",
           "dram__throughput.avg.pct_of_peak_sustained_elapsed": "memory_percent",
           "sm__throughput.avg.pct_of_peak_sustained_elapsed": "compute_percent",
           "sm__warps_active.avg.pct_of_peak_sustained_active": "occupancy_percent",
           "launch__registers_per_thread": "registers"}


def heaviest(kernels):
    """Rows of the kernels that take most time altogether: share of the time, calls, means of the other metrics."""
    time = "gpu__time_duration.sum"
    sums = {name: sum(metrics.get(time, [])) for name, metrics in kernels.items()}
    total = sum(sums.values()) or 1.0
    for name in sorted(sums, key=sums.get, reverse=True)[:HEAVIEST]:
        metrics = kernels[name]
        row = {"kernel": logs.kernel_name(name), "share": sums[name] / total, "launches": len(metrics.get(time, []))}
        for metric, short in METRICS.items():
            values = metrics.get(metric)
            if values:
                mean = sum(values) / len(values)
                row[short] = mean / 1e3 if short == "time_us" else mean  # ncu counts nanoseconds
        yield row


def profiled_programs(target, net):
    """{name: (launches to skip, words)} of MD and training with a net."""
    path, data = target.work / f"in.profile-{net}", target.kit / "data"
    path.write_text(md_input(target, net, "single", [(4, 20)]))
    return {f"MD, {net}, single, 12288 atoms": (300, [target.program("lmp"), "-in", path, "-log", "none"]),
            f"training, {net}, single": (600, [target.program("bench_train"), data / "nets" / net / "input.json",
                                               target.work / f"profile-{net}.jsonl", "--train", data / "water", "--steps", 12,
                                               "--precision", "single"])}


def stage(stage, target, clock):
    program = find_tool("ncu")
    if program is None:
        return stage.end("not there", "ncu is not on the PATH, nor in a CUDA toolkit")
    programs = {}
    for net in ("spectrum", "standard"):
        programs |= profiled_programs(target, net)
    words = [program, "--clock-control", "none", "--target-processes", "all", "--csv", "--print-units", "base",
             "--launch-count", LAUNCHES, "--metrics", ",".join(METRICS)]
    for name, (skip, command) in programs.items():
        outcome = run_within(Job(name, [*words, "--launch-skip", skip, *command]), target.work, target.environment(), clock)
        if outcome is None:
            stage.add(name, NOT_RUN)
            continue
        if NO_PERMISSION in outcome.output:
            return stage.end("not there", f"ncu may not read the counters here ({NO_PERMISSION})")
        rows = list(heaviest(logs.ncu_kernels(outcome.output)))
        for row in rows:
            stage.number(what="kernel", of=name, **row)
        stage.add(name, PASSED if rows else CUT_OFF if outcome.status is None else FAILED, outcome.seconds, logs.end_of(outcome.output))
    return stage.end()
