"""Active learning beside random choice: how good is a model of the frames that `mode active` of fix dptrain asked for?

For each system and seed: a learning run of the example; a run of the same protocol on the reference with other random
numbers, from which frames are drawn at random, as many as the learning run labeled, 3 and 10 times as many; a third run
on the reference to test on. All models but the one that the learning run ends with are trained from scratch by
`dptrain train` with the same schedule. Nothing is timed: as many jobs as cores run at once.
"""

import json
import re
import shutil
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from .errors import BenchError
from .process import run
from .settings import ROOT

SYSTEMS = {"silicon": "active_silicon", "alloy": "active_alloy"}
SEEDS, QUICK_SEEDS = (1, 2), (1,)
TIMES = (1, 3, 10)  # as many random frames as labeled ones
POOL_SEED, TEST_SEED = 100, 200  # added to the seed of the learning run
MD_STEPS, QUICK_MD_STEPS = 20000, 400
TRAIN_STEPS, QUICK_TRAIN_STEPS = 8000, 40
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


def input_for(model, data, steps, seed):
    """input.json of `dptrain train`: the model of the example, one schedule for all."""
    for part in ("descriptor", "fitting_net"):
        model[part]["seed"] = seed
    return {"model": model,
            "learning_rate": {"type": "cosine", "start_lr": 0.01, "stop_lr": 1e-5},
            "loss": {"start_pref_e": 0.02, "limit_pref_e": 10, "start_pref_f": 1000, "limit_pref_f": 100,
                     "start_pref_v": 0.02, "limit_pref_v": 1},
            "optimizer": {"type": "SOAP"},
            "training": {"training_data": {"systems": [data], "batch_size": 1}, "numb_steps": steps, "seed": seed,
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
        for path in (ROOT / "examples" / SYSTEMS[system]).iterdir():
            if path.name.startswith("in."):
                shutil.copy(path, self.folder)
        self.input = json.loads((ROOT / "examples" / SYSTEMS[system] / "input.json").read_text())
        (self.folder / "input.json").write_text(json.dumps(self.input))

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
        model = json.loads(json.dumps(self.input["model"]))
        (folder / "input.json").write_text(json.dumps(input_for(model, str(data), steps, self.seed)))
        self.dptrain("train", folder, ["train", "input.json", "--precision", "single"])
        return self.test("model.ckpt.dp", folder)

    def measure(self):
        log = self.lammps("learning run", "in.active", seed=self.seed, steps=self.steps, threshold="auto")
        found = {"system": self.system, "seed": self.seed, "threshold": "auto", **learning_log(log)}
        for name, shift, every in (("reference", POOL_SEED, POOL_EVERY), ("test", TEST_SEED, TEST_EVERY)):
            self.lammps(f"{name} run", "in.reference", seed=self.seed + shift, steps=self.steps, set=name,
                        every=1 if self.quick else every)
        found["rms"] = float(np.sqrt(np.mean(read_system(self.folder / "test")[0]["force"] ** 2)))
        model = "silicon.dp" if self.system == "silicon" else "nial.dp"
        found["errors"] = {"active, end of the run": self.test(model, self.folder),
                           "active, from scratch": self.trained("active", self.folder / "labels")}
        for times in TIMES:
            data = self.folder / f"random-{times}"
            choose(self.folder / "reference", data, times * found["frames"], self.seed)
            found["errors"][f"random x {times}"] = self.trained(f"train-{times}", data)
        print(f"  {self.system}, seed {self.seed}: {found}", flush=True)
        return found


def measure(settings, ours, peers):
    print("bench: active", flush=True)
    jobs = [Job(settings, ours, system, seed) for seed in (QUICK_SEEDS if settings.quick else SEEDS) for system in SYSTEMS]
    with ThreadPoolExecutor(settings.cores) as pool:
        rows = list(pool.map(Job.measure, jobs))
    return {"rows": sorted(rows, key=lambda row: (row["system"], row["seed"])), "train_steps":
            QUICK_TRAIN_STEPS if settings.quick else TRAIN_STEPS}
