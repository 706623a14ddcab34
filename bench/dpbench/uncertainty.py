"""Uncertainties of atoms on trajectories that leave the training data: the committee beside others.

Models learn a cold silicon crystal. Trajectories of the Stillinger-Weber potential then stay inside what was learned, melt,
and are compressed; the first model's force errors on each atom of their frames are the truth for all scores. A score is
an entry of SCORES: keywords of the pair style, commands, and where its values are read from.
"""

import shutil
from dataclasses import dataclass
from typing import Callable

import numpy as np

from .errors import BenchError
from .logs import lammps_loop
from .models import write_input
from .pairing import summary, take_turns
from .process import run
from .scores import auc, caught, reliability, roc, scale_of, spearman

SEEDS = (1, 2, 3, 4)
FRAMES, QUICK_FRAMES = 200, 10  # of the training data
STEPS, QUICK_STEPS = 3000, 40  # of the optimizer
THRESHOLDS = (0.1, 0.2, 0.5)  # eV/Angstrom
DRAWN = 0.2  # the one of the curves
FALSE_ALARMS = 0.01
CALIBRATED = 10  # every so many-th frame is one whose errors are known: gives the score its scale
BASE = "model alone"

ATOMS = """units metal
atom_modify map yes
lattice diamond 5.431
region box block 0 {cells} 0 {cells} 0 {cells}
create_box 1 box
create_atoms 1 box
mass 1 28.0855
"""
REFERENCE = "pair_style sw\npair_coeff * * Si.sw Si\n"
RUN = """velocity all create {start} {seed} loop geom
fix bath all temp/csvr {start} {stop} 0.1 48271
fix nve all nve
timestep 0.001
thermo 1000
"""
LABELS = "fix data all dptrain model input.json Si reference run every 20 warmup 1000000 dataset {set}\n"
DUMP = "dump frames all custom {every} {name}.dump id type x y z fx fy fz\ndump_modify frames sort id format float %.12g\n"


@dataclass(frozen=True)
class Trajectory:
    """Frames of the reference: temperatures in K, steps of 1 fs, what else happens."""

    name: str
    start: float
    stop: float
    steps: int
    words: str = ""
    seed: int = 71


TRAJECTORIES = [
    Trajectory("inside", 100, 500, 5000),
    Trajectory("melting", 300, 4000, 30000),
    # to 0.8 of each edge, half of the volume
    Trajectory("compression", 300, 300, 5000, "fix press all deform 1 x scale 0.8 y scale 0.8 z scale 0.8 remap x\n"),
]
FRAMES_OF_TRAJECTORY, QUICK_TRAJECTORY = 50, 5


def frames_of_dump(path, columns):
    """[frames][atoms][columns] of a dump that is sorted by id."""
    frames = []
    for block in path.read_text().split("ITEM: ATOMS ")[1:]:
        lines = block.split("ITEM:")[0].splitlines()
        names = lines[0].split()
        table = np.array([line.split() for line in lines[1:]], float)
        frames.append(table[:, [names.index(c) for c in columns]])
    if not frames:
        raise BenchError(f"bench: {path} has no frames")
    return np.array(frames)


def column(name):
    """Reader of a column of the dump of an evaluation."""
    return lambda folder: frames_of_dump(folder / "evaluated.dump", [name])[..., 0]


@dataclass(frozen=True)
class Score:
    """One way to tell which forces are wrong."""

    name: str
    model: str  # file of pair_coeff: the first model
    style: str  # further words of pair_style dptrain
    commands: str  # after pair_coeff; for the cost with STEP_COMMANDS behind
    columns: str  # further columns of the dump of an evaluation
    read: Callable  # folder -> [frames][atoms]


FIRST = "model-1.dp"
# a compute that is needed at every step
STEP_COMMANDS = "compute largest all reduce max c_u\nfix watch all ave/time 1 1000000 1000000 c_largest\n"
SCORES = [
    Score("error bars", FIRST, "", "compute u all dptrain/uncertainty/atom\n", "c_u", column("c_u")),
    Score("committee of 4 models", FIRST, "committee ../model-2.dp ../model-3.dp ../model-4.dp end",
          "compute u all dptrain/uncertainty/atom committee\n", "c_u", column("c_u")),
]
# mode active of the fix, which looks at the error bars and never asks
LEARNER, LEARNING = "mode active, nothing asked", (
    'fix learn all dptrain reference pair sw coeff "* * Si.sw Si" end mode active every 10 accuracy 1e5 limit 1e7 repeat audit 0\n')


def run_reference(ours, what, folder, text, log):
    """A run with the potential that LAMMPS brings along."""
    ours.run_lammps(what, folder, text, 1, ours.potentials(), log)


def frames_of_data(settings):
    return QUICK_FRAMES if settings.quick else FRAMES


def data_input(seed):
    """A run of the crystal from whose frames is learned."""
    return ATOMS.format(cells=2) + REFERENCE + RUN.format(start=100, stop=500, seed=seed)


def make_data(settings, ours, folder):
    """A data set for the training and one for its validation."""
    frames = frames_of_data(settings)
    write_input(folder, input_of(settings, 1))
    for name, seed, count in (("train", 5, frames), ("valid", 6, max(2, frames // 10))):
        text = data_input(seed) + LABELS.format(set=name)
        run_reference(ours, f"data set, {name}", folder, text + f"run {20 * count}\n", f"{name}.log")
        for left in folder.glob("*.frames"):
            left.unlink()


def input_of(settings, seed):
    """input.json of one of the models: defaults but for its length and its random numbers."""
    steps = QUICK_STEPS if settings.quick else STEPS
    return {"model": {"type_map": ["Si"], "descriptor": {"type": "power_spectrum", "rcut": 5.0, "seed": seed}, "fitting_net": {"seed": seed}},
            "training": {"training_data": {"systems": "../data/train", "batch_size": 1},
                         "validation_data": {"systems": "../data/valid", "batch_size": 1, "numb_btch": 4},
                         "numb_steps": steps, "disp_freq": max(1, steps // 20), "save_freq": steps, "seed": seed}}


def train_models(settings, ours, folder):
    """model-1.dp to model-4.dp: the same data, other seeds."""
    script, variables = ours.script()
    for seed in SEEDS:
        place = folder / f"train-{seed}"
        write_input(place, input_of(settings, seed))
        words = [*script, "train", "input.json", "--precision", "single", "-np", str(settings.cores)]
        run(ours.recorder, "training", words, place, {"OMP_NUM_THREADS": 1, **variables}, "train.log")
        shutil.copy(place / "model.ckpt.dp", folder / f"model-{seed}.dp")
        print(f"  model {seed} trained", flush=True)


def run_trajectory(settings, ours, folder, trajectory):
    """Frames of the reference with its forces, in NAME.dump."""
    frames = QUICK_TRAJECTORY if settings.quick else FRAMES_OF_TRAJECTORY
    steps = max(1, trajectory.steps // (50 if settings.quick else 1) // frames) * frames
    text = (ATOMS.format(cells=2 if settings.quick else 3) + REFERENCE
            + RUN.format(start=trajectory.start, stop=trajectory.stop, seed=trajectory.seed) + trajectory.words
            + DUMP.format(every=steps // frames, name=trajectory.name) + f"run {steps}\n")
    run_reference(ours, "trajectory of the reference", folder, text, f"{trajectory.name}.log")


def evaluate(settings, ours, folder, trajectory, score):
    """[frames][atoms] of true force errors in eV/Angstrom and of the score, by `rerun`."""
    place = folder / f"{trajectory.name}-{SCORES.index(score)}"
    place.mkdir(exist_ok=True)
    text = (ATOMS.format(cells=2 if settings.quick else 3)
            + f"pair_style dptrain {score.style}\npair_coeff * * ../{score.model} Si\n{score.commands}"
            + f"dump frames all custom 1 evaluated.dump id fx fy fz {score.columns}\n"
            + "dump_modify frames sort id format float %.12g\n" + f"rerun ../{trajectory.name}.dump dump x y z\n")
    ours.run_lammps(f"evaluation, {score.name}", place, text, settings.cores)
    truth = frames_of_dump(folder / f"{trajectory.name}.dump", ["fx", "fy", "fz"])
    error = np.linalg.norm(frames_of_dump(place / "evaluated.dump", ["fx", "fy", "fz"]) - truth, axis=-1)
    values = score.read(place)
    if values.shape != error.shape:
        raise BenchError(f"bench: {score.name}: {values.shape} values for {error.shape} frames and atoms in {place}")
    return error, values


def judge(error, score):
    """Figures of merit of one score on some frames and atoms, [frames][atoms] both."""
    found = {}
    for threshold in THRESHOLDS:
        positive = error.ravel() > threshold
        found[f"{threshold:g}"] = {"part": float(positive.mean()), "auc": auc(score.ravel(), positive),
                                   "caught": caught(score.ravel(), positive, FALSE_ALARMS)}
    return {"thresholds": found, "spearman": spearman(score.ravel(), error.ravel())}


def predicted(error, score):
    """The scale that makes a force error of a score, from the frames whose errors are known, and predicted against true errors
    of the others."""
    known = np.arange(len(error)) % CALIBRATED == 0
    scale = scale_of(score[known], error[known])
    return {"scale": scale, "reliability": reliability(scale * score[~known].ravel(), error[~known].ravel())}


def measure_scores(settings, ours, folder):
    """{trajectory or "all": {score: figures}}, {score: curves}, {trajectory: errors}."""
    merits, curves, errors = {}, {}, {}
    for score in SCORES:
        found = {t.name: evaluate(settings, ours, folder, t, score) for t in TRAJECTORIES}
        errors = {name: {"rms": float(np.sqrt(np.mean(e**2))), "max": float(e.max())} for name, (e, _) in found.items()}
        found["all"] = [np.concatenate([pair[k] for pair in found.values()]) for k in (0, 1)]
        for name, pair in found.items():
            merits.setdefault(name, {})[score.name] = judge(*pair)
        curves[score.name] = {"roc": {name: roc(v.ravel(), e.ravel() > DRAWN) for name, (e, v) in found.items()},
                              **predicted(*found["all"])}
        areas = [m["auc"] for m in merits["all"][score.name]["thresholds"].values() if m["auc"] is not None]
        print(f"  {score.name}: areas below the ROC curves {', '.join(f'{area:.3f}' for area in areas)}", flush=True)
    return merits, curves, errors


def measure_cost(settings, ours, folder):
    """us per atom and step of MD with each score at every step and without any; what a score adds, in parts of a step of
    the model alone, turn by turn."""
    text = (ATOMS.format(cells=4) + "pair_style dptrain {style}\npair_coeff * * ../{model} Si\n"
            "velocity all create 600 11\nfix nve all nve\ntimestep 0.001\nthermo 1000\n{commands}run 5\nrun {steps}\n")
    ways = {BASE: (FIRST, "", ""), **{s.name: (s.model, s.style, s.commands + STEP_COMMANDS) for s in SCORES},
            "the same model without fix": (FIRST, "", ""), LEARNER: (FIRST, "", LEARNING)}

    def one(name, steps=None):
        place = folder / f"cost-{list(ways).index(name)}"
        place.mkdir(exist_ok=True)
        steps = steps or max(2, round(settings.budget / (512 * guess[name] * 1e-6)))
        model, style, commands = ways[name]
        output = ours.run_lammps(f"cost, {name}", place,
                                 text.format(model=model, style=style, commands=commands, steps=steps), settings.cores,
                                 ours.potentials())
        return lammps_loop(output)[0]

    guess = {name: one(name, 5) for name in ways}
    values = take_turns(ways, one, settings.repeats, lambda name, value: print(f"  {name:24s} {value:.2f} us/atom/step", flush=True))
    added = {name: summary([(v - b) / b for v, b in zip(values[name], values[BASE])]) for name in values if name != BASE}
    return {"us_per_atom": {n: summary(v) for n, v in values.items()}, "added": added}


def measure(settings, ours, _peers):
    print("bench: uncertainty", flush=True)
    folder = settings.work / "uncertainty"
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "data").mkdir(parents=True)
    make_data(settings, ours, folder / "data")
    train_models(settings, ours, folder)
    for trajectory in TRAJECTORIES:
        run_trajectory(settings, ours, folder, trajectory)
    merits, curves, errors = measure_scores(settings, ours, folder)
    return {"merits": merits, "curves": curves, "errors": errors, "cost": measure_cost(settings, ours, folder),
            "drawn": f"{DRAWN:g}", "frames": FRAMES_OF_TRAJECTORY, "false_alarms": FALSE_ALARMS}
