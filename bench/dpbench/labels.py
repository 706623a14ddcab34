"""Error against number of labels, against seconds of training, and against the cost of MD: this package beside SNAP, POD,
DeePMD-kit, torchnep and ACE.

Every side gets the same frames and the same processor seconds on one core; start-up (imports, statistics, compilation) does
not count, on any side. How many steps that are tells a pair of short runs. Sides with one direct solution (POD, ACE) take
what they take. MD runs on one core, all sides in turn, in processor seconds too.
"""

import json
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from . import machine
from .errors import BenchError
from .labels_data import md_frame, read_datasets
from .labels_peers import peer_sides
from .labels_sides import empty, our_sides
from .pairing import summary, take_turns

LABELS = (10, 20, 50)  # and all
SEEDS = {"power_spectrum": (1, 2)}  # others: one
SHARE = 3  # the seconds of a small number of labels are the SHARE-th part; curves against seconds have SHARE^2, SHARE and 1
HOPELESS = 1.5  # a DeePMD-kit model with so many times the error of the best one is not tried on further data sets
MD_ATOMS, MD_SECONDS = 1000, 1.5  # at about so many atoms, as whole copies of a frame
QUICK_SECONDS, QUICK_FRAMES = 2.0, 12
OURS = "power_spectrum, double"  # the side that costs of MD are compared to


@dataclass
class Plan:
    """What is trained: seconds with all labels, small numbers of labels, parts of the seconds."""

    seconds: float
    labels: tuple
    shares: tuple

    def points(self, frames):
        """[(labels, seconds)], the one whose model runs MD first."""
        points = [(frames, self.seconds)] + [(frames, self.seconds / share) for share in self.shares]
        return points + [(n, self.seconds / SHARE) for n in self.labels if n < frames]


def plan_of(settings):
    if settings.quick:
        return Plan(QUICK_SECONDS, (5,), ())
    return Plan(settings.label_seconds, LABELS, (SHARE, SHARE**2))


class Work:
    """One side on one data set, in a folder of its own."""

    def __init__(self, settings, plan, side, dataset):
        self.settings, self.plan, self.side, self.dataset = settings, plan, side, dataset
        name = "".join(c if c.isalnum() or c in "-_." else "-" for c in side.name)
        self.base = settings.work / "labels" / dataset.short / name

    def folder(self, labels, seconds, seed):
        return self.base / f"{labels}-{seconds:g}-{seed}"

    def calibrate(self):
        """(seconds of start-up that a training counts, seconds of a step) from one or two short runs."""
        few, more = self.side.first_steps
        frames = self.dataset.train[:self.side.first_frames]

        def used(steps):
            return self.side.train(self.dataset, frames, steps, 1, empty(self.base / f"steps-{steps}"), 10.0)

        if self.side.marked:
            return 0.0, max(1e-3, used(more) / more)
        seconds = used(few), used(more)
        if seconds[1] <= seconds[0]:
            raise BenchError(f"bench: {self.side.name}: {more} steps took no longer than {few}: "
                             f"{seconds[1]:.2f}, {seconds[0]:.2f} s")
        step = (seconds[1] - seconds[0]) / (more - few)
        return max(0.0, seconds[0] - few * step), step

    def point(self, labels, seconds, seed, cost):
        """The errors of one training."""
        folder, frames = empty(self.folder(labels, seconds, seed)), self.dataset.train[:labels]
        start, step = cost
        steps = 0 if self.side.direct else max(2, round(seconds / step))
        used = self.side.train(self.dataset, frames, steps, seed, folder, seconds) - start
        found = {"labels": labels, "budget": seconds, "seed": seed, "steps": steps, "seconds": used,
                 **self.side.errors(self.dataset, folder)}
        print(f"  {self.dataset.name:14s} {self.side.name:34s} {labels:4d} labels {used:6.1f} s: {found['rmse_f']:.4f} eV/A, "
              f"{1e3 * found['rmse_e']:.1f} meV/atom", flush=True)
        return found

    def fixed(self):
        folder = empty(self.base)
        return [{"labels": len(self.dataset.train), "budget": None, "seed": 0, "steps": 0, "seconds": None,
                 **self.side.errors(self.dataset, folder)}]

    def points(self, first_only=False, cost=None, skip=0):
        """All points of the plan, or the first alone, or those after the first `skip`; and what start-up and a step cost."""
        if self.side.fixed:
            return self.fixed(), None
        cost = cost or ((0.0, 1.0) if self.side.direct else self.calibrate())
        points = self.plan.points(len(self.dataset.train))
        if self.side.direct:
            points = [(n, self.plan.seconds) for n in sorted({n for n, _ in points}, reverse=True)]
        if self.side.counts is not None:
            points = [(n, s) for n, s in points if n in (len(self.dataset.train), *self.side.counts)]
        points = points[:1] if first_only else points[skip:]
        return [self.point(n, s, seed, cost) for n, s in points for seed in SEEDS.get(self.side.name, (1,))], cost

    def md_sides(self):
        folder = self.base if self.side.fixed else self.folder(len(self.dataset.train), self.plan.seconds, 1)
        return self.side.md_sides(self.dataset, folder)


def reason(side, error):
    """The last line of what a program said, without folders of this machine."""
    return side.recorder.shorten(str(error).strip().splitlines()[-1].strip())


def attempt(work, missing, **how):
    """The points of a side; where it fails, none, and the reason in `missing`."""
    try:
        return work.points(**how)
    except BenchError as error:
        missing[f"{work.side.name}, {work.dataset.name}"] = reason(work.side, error)
        print(f"bench: left out: {work.side.name}, {work.dataset.name}: {error}", flush=True)
        return [], None


def best_of_deepmd(works, settings, missing):
    """(points of all models at full seconds, the best one's Work and all of its points). The test frames choose: for the peer."""
    with ThreadPoolExecutor(workers(settings)) as pool:
        first = list(pool.map(lambda w: attempt(w, missing, first_only=True), works))
    trained = [(found[0]["rmse_f"], k) for k, (found, _) in enumerate(first) if found]
    candidates = {w.side.kind: found[0] for w, (found, _) in zip(works, first) if found}
    if not trained:
        return candidates, None, []
    k = min(trained)[1]
    rest, _ = attempt(works[k], missing, cost=first[k][1], skip=1)
    return candidates, works[k], first[k][0] + rest


def promising(deepmd, candidates):
    """Those of DeePMD-kit's sides that were not far behind the best one."""
    best = min((found["rmse_f"] for found in candidates.values()), default=0.0)
    return [side for side in deepmd if side.kind in candidates and candidates[side.kind]["rmse_f"] <= HOPELESS * best] or deepmd


def workers(settings):
    """Trainings at once: as many as cores that this process may use."""
    return min(settings.cores, len(os.sched_getaffinity(0)))


def md_costs(settings, works, dataset, missing):
    """{side: us per atom and step, and how many times that of OURS, turn by turn}, and the number of atoms."""
    frame = md_frame(dataset, 64 if settings.quick else MD_ATOMS)
    place = settings.work / "labels" / dataset.short / "md"
    sides = {}
    for work in works:
        for name, measure in work.md_sides().items():
            try:
                measure(frame, 0.1, place)
                sides[name] = measure
            except BenchError as error:
                missing[f"MD, {name}, {dataset.name}"] = reason(work.side, error)
    seconds = 0.2 if settings.quick else MD_SECONDS
    values = take_turns(list(sides), lambda name: sides[name](frame, seconds, place), settings.repeats,
                        lambda name, us: print(f"  {dataset.name:14s} {name:40s} {us:9.2f} us/atom/step", flush=True))
    base = values.get(OURS)
    ratios = {name: summary([v / b for v, b in zip(found, base)]) for name, found in values.items()} if base else {}
    return {"atoms": len(frame[0]), "us_per_atom": {n: summary(v) for n, v in values.items()}, "ratio": ratios}


def measure_dataset(settings, plan, dataset, sides, deepmd, missing):
    """All sides on one data set."""
    print(f"bench: labels, {dataset.name}: {len(dataset.train)} frames, {len(dataset.test)} to test on", flush=True)
    works = [Work(settings, plan, side, dataset) for side in sides if side.suits(dataset)]
    with ThreadPoolExecutor(workers(settings)) as pool:
        found = list(pool.map(lambda w: attempt(w, missing)[0], works))
    points = {w.side.name: p for w, p in zip(works, found) if p}
    works = [w for w, p in zip(works, found) if p]
    peer_works = [Work(settings, plan, side, dataset) for side in deepmd]
    candidates, best, peer_points = best_of_deepmd(peer_works, settings, missing)
    if best:
        points[best.side.name] = peer_points
        works.append(best)
    return {"name": dataset.name, "date": machine.now(), "elements": dataset.elements, "train": len(dataset.train),
            "test": len(dataset.test), "rcut": dataset.rcut, "rms_force": dataset.rms_force, "points": points, "deepmd": candidates,
            "md": md_costs(settings, works, dataset, missing)}


def kept_data(settings, seconds, names):
    """Data sets of other names in the result file, where only some are asked for, and why what is left out of them is."""
    path = settings.out / f"{settings.name}.json"
    if not settings.label_data or not path.exists():
        return [], {}
    old = json.loads(path.read_text())["parts"].get("labels", {"seconds": seconds, "datasets": [], "missing": {}})
    if old["seconds"] != seconds:
        return [], {}
    return ([found for found in old["datasets"] if found["name"] not in names],
            {what: why for what, why in old["missing"].items() if not what.endswith(tuple(names))})


def measure(settings, ours, peers):
    plan = plan_of(settings)
    other, deepmd = peer_sides(peers, ours.recorder)
    sides = our_sides(ours, ours.recorder) + other
    datasets = read_datasets(settings)
    order = [dataset.name for dataset in datasets]
    if settings.label_data:
        datasets = [d for d in datasets if any(word in d.name for word in settings.label_data)]
    if settings.quick:
        for dataset in datasets:
            del dataset.train[QUICK_FRAMES:], dataset.test[QUICK_FRAMES:]
    found, missing = kept_data(settings, plan.seconds, [dataset.name for dataset in datasets])
    missing.update(ours.missing)
    for old in found:
        deepmd = promising(deepmd, old["deepmd"])
    for dataset in datasets:
        found.append(measure_dataset(settings, plan, dataset, sides, deepmd, missing))
        deepmd = promising(deepmd, found[-1]["deepmd"])
    found.sort(key=lambda entry: order.index(entry["name"]) if entry["name"] in order else len(order))
    return {"seconds": plan.seconds, "missing": missing, "datasets": found}
