"""Active learning beside other choices: how good is a model of the frames that `mode active` of fix dptrain asked for?

For each system and seed: a learning run of the example; runs of the same protocol on the reference with other random
numbers, during which every so many-th frame is labeled and learned with as many optimizer steps (passive), as many frames
as the learning run has called the reference, and 5 times as many; models trained from scratch by `dptrain train` with one
schedule on the labels of the learning run, and on as many frames drawn at random; a third run on the reference to test on.
Nothing is timed: as many jobs as cores run at once.
"""

import json
import re
import shutil
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from .errors import BenchError
from .process import run
from .settings import ROOT

SYSTEMS = {"silicon": ("active_silicon", ["Si"], "silicon.dp"), "alloy": ("active_alloy", ["Ni", "Al"], "nial.dp")}
COLLECT = "warmup 1000000 dataset ${set}"  # of in.reference: in its place, what learns
SEEDS, QUICK_SEEDS = (1, 2), (1,)
TIMES = (1, 5)  # as many frames as the learning run has called the reference, or learned
POOL_SEED, TEST_SEED = 100, 200  # added to the seed of the learning run
MD_STEPS, QUICK_MD_STEPS = 20000, 400
TRAIN_STEPS, QUICK_TRAIN_STEPS = 8000, 40
LABEL_STEPS = 100  # optimizer steps of a label, in all runs
POOL_EVERY, TEST_EVERY = 10, 100
ARRAYS = ("coord", "box", "energy", "force", "virial")


def read_system(folder):
    """Arrays of all sets of the one system below a folder, {name: [frames][...]}, and the folder of that system."""
    found = sorted(path.parent for path in folder.rglob("type.raw"))
    if len(found) != 1:
        raise BenchError(f"bench: {folder}: {len(found)} systems where one was expected")
    sets = sorted(found[0].glob("set.*"))
    return {name: np.concatenate([np.load(s / f"{name}.npy") for s in sets]) for name in ARRAYS}, found[0]


def choose(source, target, count, seed):
    """Writes `count` frames of the system below `source`, drawn at random without repetition, as a data set `target`."""
    arrays, system = read_system(source)
    total = len(arrays["coord"])
    if count > total:
        raise BenchError(f"bench: {count} frames are to be drawn from {total} in {source}")
    chosen = np.sort(np.random.default_rng(seed).choice(total, count, replace=False))
    shutil.rmtree(target, ignore_errors=True)
    (target / "set.000").mkdir(parents=True)
    for name in ("type.raw", "type_map.raw"):
        shutil.copy(system / name, target)
    for name, values in arrays.items():
        np.save(target / "set.000" / f"{name}.npy", values[chosen])


def input_for(elements, data, steps, seed):
    """input.json of `dptrain train`: defaults, one schedule for all."""
    return {"model": {"type_map": elements, "descriptor": {"type": "power_spectrum", "seed": seed}, "fitting_net": {"seed": seed}},
            "training": {"training_data": {"systems": [data]}, "numb_steps": steps, "seed": seed,
                         "disp_file": "lcurve.out", "disp_freq": 100, "save_freq": steps}}


def learning_log(text):
    """What the log of a learning run says at its end: frames, reference calls, steps, and its audits in units of the threshold."""
    done = re.findall(r"^learned: (\d+) frames, (\d+) reference calls in (\d+) steps", text, re.MULTILINE)
    audits = re.findall(r"^  audits: (\d+), (\d+) above the threshold, (\d+) above three", text, re.MULTILINE)
    if not done or not audits:
        raise BenchError(f"bench: the learning run did not end:\n{text[-800:]}")
    frames, calls, steps = map(int, done[-1])
    number, above, far_above = map(int, audits[-1])
    return {"frames": frames, "calls": calls, "steps": steps, "audits": number, "audits_above": above,
            "audits_far_above": far_above}


class Job:
    """One system with one seed, in a folder of its own."""

    def __init__(self, settings, ours, system, seed):
        self.ours, self.system, self.seed, self.quick = ours, system, seed, settings.quick
        self.folder = settings.work / "active" / f"{system}-{seed}"
        self.steps = QUICK_MD_STEPS if settings.quick else MD_STEPS
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        example, self.elements, self.model = SYSTEMS[system]
        for path in (ROOT / "examples" / example).glob("in.*"):
            shutil.copy(path, self.folder)
        reference = (self.folder / "in.reference").read_text()
        if COLLECT not in reference:
            raise BenchError(f"bench: in.reference of {example} has no '{COLLECT}'")
        (self.folder / "in.passive").write_text(reference.replace(COLLECT, f"train {LABEL_STEPS} save 1000000 ${{set}}.dp"))

    def lammps(self, what, script, **values):
        program, needed = self.ours.lammps()
        words = [word for name, value in values.items() for word in ("-var", name, value)]
        command = [*self.ours.mpi(1), program, "-in", script, "-log", f"log.{what.split()[0]}", "-screen", "none", *words]
        run(self.ours.recorder, f"{what}, {self.system}", command, self.folder, {**needed, **self.ours.md_variables(), **self.ours.potentials()})
        return (self.folder / f"log.{what.split()[0]}").read_text()

    def dptrain(self, what, folder, words):
        script, variables = self.ours.script()
        output, _ = run(self.ours.recorder, f"{what}, {self.system}", [*script, *words, "-np", "1"], folder,
                        {"OMP_NUM_THREADS": 1, **variables}, f"{words[0]}.log")
        return output

    def test(self, model, folder):
        """Force RMSE (eV/Angstrom) and energy RMSE (eV/atom) on the frames of the test run."""
        output = self.dptrain("test", folder, ["test", "-m", model, "-s", self.folder / "test"])
        value = {name: float(re.findall(rf"{name}\s*: (\S+) eV", output)[-1]) for name in ("Force  RMSE", "Energy RMSE/Natoms")}
        return {"rmse_f": value["Force  RMSE"], "rmse_e": value["Energy RMSE/Natoms"]}

    def trained(self, name, data):
        """The errors of a model that is trained from scratch on a data set."""
        folder = self.folder / name
        folder.mkdir()
        steps = QUICK_TRAIN_STEPS if self.quick else TRAIN_STEPS
        (folder / "input.json").write_text(json.dumps(input_for(self.elements, str(data), steps, self.seed)))
        self.dptrain("train", folder, ["train", "input.json", "--precision", "single"])
        return self.test("model.ckpt.dp", folder)

    def passive(self, labels):
        """The errors of a model that has learned so many frames, at equal distances in time, during a run of the reference."""
        name = f"passive-{labels}"
        self.lammps(f"{name} run", "in.passive", seed=self.seed + POOL_SEED, steps=self.steps, set=name, every=max(1, self.steps // labels))
        return self.test(f"{name}.dp", self.folder)

    def measure(self):
        log = self.lammps("learning run", "in.active", seed=self.seed, steps=self.steps, accuracy="5%", train=LABEL_STEPS)
        found = {"system": self.system, "seed": self.seed, "threshold": "accuracy 5%", **learning_log(log)}
        for name, shift, every in (("reference", POOL_SEED, POOL_EVERY), ("test", TEST_SEED, TEST_EVERY)):
            self.lammps(f"{name} run", "in.reference", seed=self.seed + shift, steps=self.steps, set=name,
                        every=1 if self.quick else every)
        found["rms"] = float(np.sqrt(np.mean(read_system(self.folder / "test")[0]["force"] ** 2)))
        found["errors"] = {"active, end of the run": self.test(self.model, self.folder)}
        for times in TIMES:
            found["errors"][f"passive, calls x {times}"] = self.passive(times * found["calls"])
        found["errors"]["active, from scratch"] = self.trained("active", self.folder / "labels")
        for times in TIMES:
            data = self.folder / f"random-{times}"
            choose(self.folder / "reference", data, times * found["frames"], self.seed)
            found["errors"][f"random, labels x {times}"] = self.trained(f"train-{times}", data)
        print(f"  {self.system}, seed {self.seed}: {found}", flush=True)
        return found


def measure(settings, ours, peers):
    print("bench: active", flush=True)
    jobs = [Job(settings, ours, system, seed) for seed in (QUICK_SEEDS if settings.quick else SEEDS) for system in SYSTEMS]
    with ThreadPoolExecutor(settings.cores) as pool:
        rows = list(pool.map(Job.measure, jobs))
    return {"rows": sorted(rows, key=lambda row: (row["system"], row["seed"])), "train_steps":
            QUICK_TRAIN_STEPS if settings.quick else TRAIN_STEPS}
