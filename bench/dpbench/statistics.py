"""Neighbor statistics of data sets, from the start of the program to its end, beside `dp neighbor-stat`; memory and ranks.

Ours computes the moments of the environment matrix and the energy bias too.
"""

import re
import shutil

import numpy as np

from .errors import BenchError
from .pairing import ratios, summary
from .process import LIMIT, memory_bound, run_bounded
from .water import read_array, write_replicated

RCUT = 6.0
# copies of a frame of 192 atoms: 1536 atoms, the most that the peer does in a few GiB, and 10,368
MEDIUM, LARGE = (2, 2, 2), (3, 3, 6)
MEDIUM_FRAMES, LARGE_FRAMES = 21, 10
PEERS = {"TensorFlow": "tensorflow", "PyTorch": "pytorch"}
GIGABYTES = (0.2, 2.0)  # sizes of the data sets that show the memory
SET_FRAMES = 5000
ANSWER = re.compile(r"min_nbor_dist: ([0-9.]+).*?max_nbor_size: \[([0-9 ,]+)\]", re.DOTALL)


def answer(text):
    """(smallest distance, largest numbers of neighbors) from the output of either side."""
    found = ANSWER.search(text)
    if not found:
        raise BenchError(f"bench: no min_nbor_dist and max_nbor_size in:\n{text[-800:]}")
    return float(found[1]), [int(word) for word in found[2].replace(",", " ").split()]


def our_side(ours, ranks):
    """run(what, folder, words) for `dptrain stat` on so many ranks."""
    script, variables = ours.script()

    def start(what, cwd, system, memory):
        command = [*script, "stat", "-s", system, "-r", RCUT, *(["-np", ranks] if ranks > 1 else [])]
        return run_bounded(ours.recorder, what, command, cwd, {"OMP_NUM_THREADS": 1, **variables}, memory)
    return start


def peer_side(peer, cores):
    def start(what, cwd, system, memory):
        command = [peer.bin / "dp", peer.flag, "neighbor-stat", "-s", system, "-r", RCUT, "-t", "O", "H"]
        return run_bounded(peer.recorder, what, command, cwd, peer.threads(cores, cores), memory)
    return start


def sides_of(settings, ours, peers):
    sides = {f"dptrain, {n} {'rank' if n == 1 else 'ranks'}": our_side(ours, n) for n in sorted({1, settings.cores})}
    sides.update({name: peer_side(peers[key], settings.cores) for name, key in PEERS.items()})
    return sides


def write_many(target, system, size):
    """A system of about `size` bytes: frames of `system`, a little displaced; returns the number of frames."""
    random = np.random.default_rng(1)
    coord, box, energy = (read_array(system, name).astype(float) for name in ("coord", "box", "energy"))
    frames = int(size / (8 * (2 * coord.shape[1] + 10)))
    for number, first in enumerate(range(0, frames, SET_FRAMES)):
        folder = target / f"set.{number:03d}"
        folder.mkdir(parents=True)
        chosen = random.integers(0, len(coord), min(SET_FRAMES, frames - first))
        x = coord[chosen] + 0.02 * random.standard_normal((len(chosen), coord.shape[1]))
        for name, values in {"coord": x, "force": x, "box": box[chosen], "energy": energy.reshape(-1)[chosen]}.items():
            np.save(folder / f"{name}.npy", values)
    for name in ("type.raw", "type_map.raw"):
        (target / name).write_text((system / name).read_text())
    return frames


def compare(sides, name, cwd, system, memory, repeats):
    """All sides in turn: seconds, ratios to our better one, and whether they agree. A side that did not end runs once."""
    cwd.mkdir(parents=True, exist_ok=True)
    runs = {side: [] for side in sides}
    for turn in range(repeats):
        for side in list(sides) if turn % 2 == 0 else reversed(list(sides)):
            if runs[side] and runs[side][-1]["end"]:
                runs[side].append(runs[side][-1])
                continue
            runs[side].append(sides[side](f"statistics, {side}", cwd, system, memory))
            print(f"  {name}, {side}: {runs[side][-1]['seconds']:.2f} s {runs[side][-1]['end']}", flush=True)
    ended = {side: answer(r[0]["text"]) for side, r in runs.items() if not r[0]["end"]}
    ours = [side for side in sides if side.startswith("dptrain")]
    for side in ours:
        if side not in ended:  # the peer may fail, we may not
            raise BenchError(f"bench: {side}: {runs[side][0]['end']}:\n{runs[side][0]['text'][-800:]}")
    first = ended[ours[0]]
    for side, (distance, most) in ended.items():
        if abs(distance - first[0]) > 2e-6 or most != first[1]:
            raise BenchError(f"bench: {side} finds {distance} {most}, {ours[0]} finds {first[0]} {first[1]}")
    seconds = {side: [r["seconds"] for r in found] for side, found in runs.items()}
    return {"data": name, "min_distance": first[0], "max_neighbors": first[1],
            "end": {side: found[0]["end"] for side, found in runs.items()},
            "peak": {side: max(r["peak"] for r in found) for side, found in runs.items()},
            "seconds": {side: summary(values) for side, values in seconds.items()}, "ratio": ratios(seconds, ours)}


def measure_sizes(settings, ours, folder, memory):
    """Memory of a rank, and seconds of one rank, one per core and two per core, for generated data sets of different size."""
    rows = []
    for size in (0.01,) if settings.quick else GIGABYTES:
        target = folder / "many"
        shutil.rmtree(target, ignore_errors=True)
        frames = write_many(target, settings.train_systems[0], size * 1e9)
        row = {"gigabytes": size, "frames": frames, "seconds": {}, "peak": {}}
        for ranks in sorted({1, settings.cores, 2 * settings.cores}):
            found = our_side(ours, ranks)(f"statistics, memory, {ranks} ranks", folder, target, memory)
            if found["end"]:
                raise BenchError(f"bench: statistics of {size} GB: {found['end']}\n{found['text'][-800:]}")
            row["seconds"][str(ranks)], row["peak"][str(ranks)] = found["seconds"], found["peak"]
            print(f"  {size} GB, {ranks} ranks: {found['seconds']:.1f} s, {found['peak'] / 2**20:.0f} MiB", flush=True)
        rows.append(row)
        shutil.rmtree(target)
    return rows


def per_frame(one, many, frames):
    """{side: seconds of each further frame}, from runs with one frame and with `frames`; of sides that did both."""
    return {side: max(many["seconds"][side]["median"] - one["seconds"][side]["median"], 0.0) / (frames - 1)
            for side in one["seconds"] if not one["end"][side] and not many["end"][side]}


def estimates(row, one, cost, scale):
    """Of sides of the peer that do not get through `row`: {side: seconds that they would take, and how often that is ours}.

    From their start (`one`) and cost of a frame, `scale` frames of that size; the cost goes with the square of the atoms.
    """
    base = min(entry["median"] for side, entry in row["seconds"].items() if side.startswith("dptrain"))
    seconds = {side: one["seconds"][side]["median"] + cost[side] * scale for side in cost if row["end"][side]}
    return {side: {"seconds": value, "ratio": value / base} for side, value in seconds.items()}


def measure_frames(settings, sides, folder, memory):
    """Frames of 1536 atoms, one and several, and frames of 10,368 atoms."""
    many, large = (2, 1) if settings.quick else (MEDIUM_FRAMES, LARGE_FRAMES)
    copies = MEDIUM if settings.quick else LARGE
    rows = []
    for frames, shape in ((1, MEDIUM), (many, MEDIUM), (large, copies)):
        target = folder / f"frames_{len(rows)}"
        atoms = write_replicated(target, settings.train_systems[0], frames, shape)
        name = f"water, {frames} {'frame' if frames == 1 else 'frames'} of {atoms} atoms"
        rows.append(compare(sides, name, folder / "run", target, memory, 1))
    cost = per_frame(*rows[:2], many)
    scale = large * (np.prod(copies) / np.prod(MEDIUM)) ** 2
    return {"rows": rows, "per_frame": cost, "estimates": estimates(rows[2], rows[0], cost, float(scale))}


def measure(settings, ours, peers):
    """The water set, larger frames, and generated data sets of up to 2 GB."""
    folder = settings.work / "statistics"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    memory = memory_bound()
    sides = sides_of(settings, ours, peers)
    print("bench: statistics", flush=True)
    water = compare(sides, "water, 4 systems, 400 frames of 192 atoms", folder / "run", settings.data, memory, settings.repeats)
    found = measure_frames(settings, sides, folder, memory)
    return {**found, "rows": [water, *found["rows"]], "limit": LIMIT, "memory_gib": memory / 2**30,
            "sizes": measure_sizes(settings, ours, folder, memory)}
