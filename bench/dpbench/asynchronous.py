"""A run that goes on while its reference computes, beside one that waits for each label.

Liquid water of the example `active_water`, from nothing, with a reference that takes two seconds for a label (a published model
behind the socket, and a sleep): once as without the keyword, once with `asynchronous 2` and two clients, and once with
`prepare 8`, too, in turn, with the same random numbers. All models are tested on an independent run of the reference. MD is idle while LAMMPS waits for a label.
"""

import re
import shutil
import subprocess
import time
import uuid
from contextlib import contextmanager

from .errors import BenchError
from .process import environment_of, run
from .settings import ROOT

TEACHER = ROOT / "potentials" / "H2O.pbe0ts.dp"
SECONDS, QUICK_SECONDS = 2.0, 0.02
MD_STEPS, QUICK_MD_STEPS = 10000, 200
SEEDS, QUICK_SEEDS = (90125, 4711), (90125,)
# configurations in flight (and clients), copies before the run
SIDES = {"waits": (0, 0), "asynchronous 2": (2, 0), "asynchronous 2 prepare 8": (2, 8)}
READ, BOX = "read_data       water.data", "read_data water.data\nreplicate 2 2 1"  # 64 molecules, as many as users begin with
TEST = """units metal
atom_modify map yes
{box}
mass 1 15.999
mass 2 1.008
pair_style dptrain
pair_coeff * * {teacher} O H
velocity all create 330.0 70707
timestep 0.0005
fix bath all temp/csvr 330.0 330.0 0.1 5513
fix nve all nve
run {before}
fix test all dptrain model new O H reference run warmup 1000000 every {every} dataset test memory no
run {steps}
"""


def idle_part(log):
    """Of a log: the part of the time after the initial phase in which the run waited for the reference."""
    lines = [line.split() for line in log.splitlines() if re.match(r"dptrain +\d", line)]
    early = [words for words in lines if words[2] == "early"]
    total = re.findall(r"^  seconds: reference (\S+) .*?, training (\S+) .*?, MD (\S+) .*?, all (\S+)", log, re.MULTILINE)
    if not early or not total:
        raise BenchError(f"bench: the learning run did not end:\n{log[-800:]}")
    reference, _, _, everything = map(float, total[-1])
    before = [float(word) for word in early[-1][-3:]]  # seconds of reference, training, MD until then
    return (reference - before[0]) / (everything - sum(before)), sum(before)


class Job:
    """One seed; both sides in turn, in folders of their own."""

    def __init__(self, settings, ours, seed):
        self.ours, self.seed = ours, seed
        self.folder = settings.work / "asynchronous" / str(seed)
        self.seconds = QUICK_SECONDS if settings.quick else SECONDS
        self.steps = QUICK_MD_STEPS if settings.quick else MD_STEPS
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)

    def lammps(self, what, folder, script, **values):
        program, needed = self.ours.lammps()
        words = [word for name, value in values.items() for word in ("-var", name, value)]
        command = [*self.ours.mpi(1), program, "-in", script, "-log", "log", "-screen", "none", *words]
        _, seconds = run(self.ours.recorder, what, command, folder, {**needed, **self.ours.md_variables()})
        return (folder / "log").read_text(), seconds

    @contextmanager
    def clients(self, number, folder, address):
        """So many clients of the address while the block lasts."""
        script, variables = self.ours.script()
        calculator = f"dpbench.slow_teacher.SlowTeacher:model={TEACHER},seconds={self.seconds}"
        command = [*script, "client", "--calculator", calculator, "--socket", address, "--wait", "300", "learn.init.xyz"]
        self.ours.recorder.note("client", command, {})
        paths = [str(variables.get("PYTHONPATH", "")), str(ROOT / "bench")]
        environment = environment_of({**variables, "OMP_NUM_THREADS": 1, "PYTHONPATH": ":".join(filter(None, paths))})
        with open(folder / "client.log", "w") as log:
            started = [subprocess.Popen([str(word) for word in command], cwd=folder, env=environment, stdout=log, stderr=log)
                       for _ in range(number)]
            try:
                time.sleep(0.0 if self.seconds < 1.0 else 5.0)  # they are ready: the clock is that of the run
                yield
            finally:
                for process in started:
                    process.terminate()
                    process.wait()

    def test_set(self):
        (self.folder / "in.test").write_text(TEST.format(
            box=BOX, teacher=TEACHER, before=self.steps // 5, steps=self.steps, every=self.steps // 50))
        shutil.copy(ROOT / "examples" / "active_water" / "water.data", self.folder)
        self.lammps("test run", self.folder, "in.test")

    def side(self, name, flight, copies):
        folder = self.folder / name.replace(" ", "-")
        folder.mkdir()
        for file in ("in.water", "water.data"):
            shutil.copy(ROOT / "examples" / "active_water" / file, folder)
        text = (folder / "in.water").read_text()
        if READ not in text:
            raise BenchError(f"bench: in.water of active_water has no '{READ}'")
        (folder / "in.water").write_text(text.replace(READ, BOX).replace("90125", str(self.seed)))
        address = f"unix:bench_{uuid.uuid4().hex[:12]}"
        with self.clients(max(flight, 1), folder, address):
            log, seconds = self.lammps(f"learning run, {name}", folder, "in.water", steps=self.steps, address=address, flight=flight, copies=copies)
        frames, calls = map(int, re.findall(r"^learned: (\d+) frames, (\d+) reference calls", log, re.MULTILINE)[-1])
        script, variables = self.ours.script()
        output, _ = run(self.ours.recorder, "test", [*script, "test", "-m", "water.dp", "-s", self.folder / "test", "-np", "1"], folder,
                        {"OMP_NUM_THREADS": 1, **variables}, "test.log")
        idle, early = idle_part(log)
        return {"seconds": seconds, "early_seconds": early, "idle": idle, "frames": frames, "calls": calls,
                "rmse_f": float(re.findall(r"Force  RMSE\s*: (\S+) eV", output)[-1])}

    def measure(self):
        self.test_set()
        sides = {name: self.side(name, *side) for name, side in SIDES.items()}
        print(f"  seed {self.seed}: {sides}", flush=True)
        return {"seed": self.seed, "label_seconds": self.seconds, "steps": self.steps, "sides": sides}


def measure(settings, ours, peers):
    print("bench: asynchronous", flush=True)
    return {"rows": [Job(settings, ours, seed).measure() for seed in (QUICK_SEEDS if settings.quick else SEEDS)]}
