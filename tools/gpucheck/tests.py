"""Stages of GoogleTest executables: device, host, kernels, library, memcheck, racecheck."""

from . import logs, plan
from .process import Job, run_all, run_within
from .report import CUT_OFF, FAILED, NO_GPU, NOT_RUN, PASSED, TIMED_OUT
from .target import find_smi, find_tool

GPU_AT_ONCE = 4  # tests that share the GPU
TORCH_SCRIPT = """
import torch
assert torch.cuda.is_available(), "torch sees no GPU"
a = torch.ones(64, 64, dtype=torch.float64, device="cuda")
assert float((a @ a).sum()) == 64.0 ** 3
print("torch", torch.__version__, "CUDA", torch.version.cuda, "on", torch.cuda.get_device_name(0),
      "of", torch.cuda.device_count(), "NCCL", torch.cuda.nccl.version())
"""


def known_tests(target):
    """Names of the kit's test executables, without `test_`."""
    return sorted(p.name[len("test_"):] for p in (target.kit / "bin").glob("test_*"))


def test_jobs(target, names, ranks=(1,), limit=60.0):
    """Jobs of the tests that are in the kit; those of several ranks on each number of them."""
    there = set(known_tests(target))
    for name in names:
        program = target.program("test_" + name)
        if name not in there:
            continue
        if name.startswith("mpi_"):
            for n in ranks:
                yield Job(f"{name} on {n} rank{'s' * (n > 1)}", target.ranks(n, program), limit)
        else:
            yield Job(name, [program], limit)


def state_of(outcome):
    if outcome is None:
        return NOT_RUN
    return PASSED if outcome.ok else TIMED_OUT if outcome.timed_out else CUT_OFF if outcome.status is None else FAILED


def note_test(stage, job, outcome, parse=logs.gtest):
    """Adds a test to the report, by the names of its cases."""
    if outcome is None:
        return stage.add(job.name, NOT_RUN)
    state = state_of(outcome)
    names = parse(outcome.output, ended=state in (FAILED, TIMED_OUT))  # a test that passed has ended all of its cases
    if state == CUT_OFF and names["failed"]:
        state = FAILED
    return stage.add(job.name, state, outcome.seconds, logs.end_of(outcome.output), **names)


def run_tests(stage, target, clock, jobs, workers, **environment):
    run_all(list(jobs), workers, target.kit, target.environment(**environment), clock,
            lambda job, outcome: note_test(stage, job, outcome))
    stage.end()


def device(stage, target, clock):
    """The driver, torch, and which GPUs get a context. Where nothing of it works, the stages after it need not be tried."""
    if not target.can_run_kernels():
        if not target.gpu_trouble:
            return stage.end(NO_GPU)
        stage.add("nvidia-smi", FAILED, log=target.gpu_trouble)
        return stage.end()
    if target.needs_gpu():
        for name, program, *words in [("nvidia-smi", find_smi()), ("torch", target.python, "-c", TORCH_SCRIPT)]:
            if program is None:
                stage.add(name, "not there")
                continue
            outcome = run_within(Job(name, [program, *words]), target.kit, target.python_environment(), clock)
            if outcome is None:
                stage.add(name, NOT_RUN)
                continue
            last = (outcome.output.strip().splitlines() or [""])[-1]
            stage.add(name, state_of(outcome), outcome.seconds, logs.end_of(outcome.output),
                      **({"note": last} if name == "torch" and outcome.ok else {}))
    run_tests(stage, target, clock, test_jobs(target, plan.DEVICE, ranks=sorted({1, 2, max(1, len(target.gpus))})), 1)
    tried = [item["state"] for item in stage.content["items"] if item["name"] != "nvidia-smi"]
    target.cuda_works = not tried or not set(tried) <= {FAILED, TIMED_OUT}
    return None


def note_word(stage, target, clock, word, job):
    """Whether a program ends well and prints the word."""
    outcome = run_within(job, target.work, target.environment(), clock)
    if outcome is None:
        return stage.add(job.name, NOT_RUN)
    reasons = [line for line in outcome.output.splitlines() if "ERROR" in line]
    state = PASSED if outcome.ok and word in outcome.output.split() else FAILED
    return stage.add(job.name, state, outcome.seconds, "\n".join(reasons) or logs.end_of(outcome.output))


def host(stage, target, clock):
    """Tests without kernels, and whether LAMMPS loads the plugin and the library that its first style opens."""
    (target.work / "in.styles").write_text("pair_style dptrain\ninfo styles pair\n")
    note_word(stage, target, clock, "dptrain",
              Job("lmp knows pair_style dptrain", [target.program("lmp"), "-in", target.work / "in.styles", "-log", "none"]))
    if target.has_kokkos():
        note_word(stage, target, clock, "dptrain/kk", Job("lmp with KOKKOS knows dptrain/kk", [target.kit / "kokkos" / "bin" / "lmp", "-h"]))
    run_tests(stage, target, clock, test_jobs(target, plan.HOST, (1, 2)), target.cores, CUDA_VISIBLE_DEVICES="")


def kernels(stage, target, clock):
    run_tests(stage, target, clock, test_jobs(target, plan.KERNELS), workers_of(target))


def library(stage, target, clock):
    """All tests that no other stage has; those of several ranks first on the numbers that find most."""
    others = {*plan.KERNELS, *plan.HOST, *plan.DEVICE, *plan.LEFT_OUT}
    names = [name for name in known_tests(target) if name not in others]
    several = [name for name in names if name.startswith("mpi_")]
    jobs = list(test_jobs(target, [n for n in names if n not in several]))
    for ranks in (2, 1, 4):
        jobs += test_jobs(target, several, (ranks,), 90.0)
    run_tests(stage, target, clock, jobs, workers_of(target))


def workers_of(target):
    return GPU_AT_ONCE if target.needs_gpu() else max(1, target.cores // 2)


def sanitize(stage, target, clock, tool):
    """The kernel tests under a tool of compute-sanitizer."""
    program = find_tool("compute-sanitizer")
    if program is None:
        return stage.end("not there", "compute-sanitizer is not on the PATH, nor in a CUDA toolkit")
    words = [program, "--tool", tool, "--target-processes", "all", "--error-exitcode", "86", "--print-limit", "20"]

    def note(job, outcome):
        if outcome is None or outcome.status is None:
            return note_test(stage, job, outcome)
        errors, kinds = logs.sanitizer(outcome.output)
        # a test that fails is a matter of the stages before; here only what the tool has found counts
        state = FAILED if errors or errors is None else PASSED
        return stage.add(job.name, state, outcome.seconds, logs.end_of(outcome.output), errors=errors, kinds=kinds,
                         passed=len(logs.gtest(outcome.output)["passed"]))

    jobs = [Job(job.name, [*words, *job.command], 120.0) for job in test_jobs(target, plan.SANITIZED)]
    run_all(jobs, GPU_AT_ONCE, target.kit, target.environment(), clock, note)
    return stage.end()


def memcheck(stage, target, clock):
    sanitize(stage, target, clock, "memcheck")


def racecheck(stage, target, clock):
    sanitize(stage, target, clock, "racecheck")
