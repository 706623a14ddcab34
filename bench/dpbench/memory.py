"""Memory of training on one frame against its atoms: ours on one rank and on all cores, beside `dp train` of both backends.

Standard net, double, batch of one frame, no validation. Bytes throughout.
"""

import shutil

from . import memory_options
from .errors import BenchError
from .logs import events
from .models import Kind, learning_rate, our_input, training_input, write_input
from .process import LIMIT, memory_bound, run_bounded
from .training import PEERS
from .water import write_replicated

REPLICAS = (1, 2, 4, 8, 18)  # along each edge: 192, 1536, 12288, 98304, 1119744 atoms
STEPS = 3
PEER_STEPS = 2  # the most is reached in the first one
FRAME = ("frames", "neighbor rows", "halo")  # purposes of memory that hold the frame itself
COARSE = 3  # sizes from one cube to the next


def shapes(replicas):
    """Copies along the edges of the cell: the cubes of `replicas`, and between each two of them two sizes."""
    steps = [shape for a, b in zip(replicas, replicas[1:]) for shape in ((a, a, a), (a, a, b), (a, b, b))]
    return [*steps, (replicas[-1],) * 3]


def row_of_ours(found, ranks):
    """Bytes of all ranks and seconds of the last step, from the events of a run."""
    end, block = found["end"][0], found["block"][-1]
    return {"ranks": ranks, "atoms": found["start"][0]["atoms"], "steps": end["step"],
            "before": end["memory_before_training"], "peak": end["memory_peak"],
            # the ledger is that of the rank that has most
            "frame": ranks * sum(end["memory"].get(purpose, 0) for purpose in FRAME), "ledger": end["memory"],
            "seconds_per_step": block["seconds"] / block["steps"]}


def measure_ours(settings, ours, replicas):
    """Rows of all frames, on one rank and on as many as there are cores."""
    rows = []
    folder = settings.work / "memory" / "dptrain"
    for ranks in sorted({1, settings.cores}):
        for copies in replicas:
            steps = 1 if copies == REPLICAS[-1] else STEPS  # there, a step takes minutes
            write_input(folder, our_input(Kind(), settings, steps, start_lr=learning_rate("standard")))
            words = ["--train", settings.train_systems[0], "--frames", 1, "--replicate", copies, "--report-every", 1]
            text = ours.train(f"memory of training, {ranks} ranks", folder, [str(w) for w in words], ranks)
            rows.append(row_of_ours(events(text), ranks))
            print(f"  {rows[-1]['atoms']} atoms, {ranks} ranks: {rows[-1]['peak'] / 2**20:.0f} MiB, of which the frame has "
                  f"{rows[-1]['frame'] / 2**20:.1f}; {rows[-1]['seconds_per_step']:.3g} s/step", flush=True)
    return rows


def peer_input(settings, system):
    """input.json of `dp train` for a system of one frame, which it reads once for the statistics too."""
    tree = training_input(Kind(), settings, PEER_STEPS, start_lr=learning_rate("standard"))
    tree["model"]["data_stat_nbatch"] = 1
    tree["training"]["disp_training"] = False
    tree["training"]["training_data"]["systems"] = [str(system)]
    return tree


def peer_side(settings, name, peer, memory):
    """run(copies) for `dp train`: {atoms, peak, seconds of the process, end, text}, as run_bounded."""
    folder = settings.work / "memory" / name

    def start(copies):
        shutil.rmtree(folder, ignore_errors=True)
        atoms = write_replicated(folder / "data", settings.train_systems[0], 1, copies)
        write_input(folder, peer_input(settings, folder / "data"))
        command = [peer.bin / "dp", peer.flag, "train", "input.json", "--skip-neighbor-stat"]
        found = run_bounded(peer.recorder, f"memory of training, {name}", command, folder,
                            peer.threads(settings.cores, settings.cores), memory)
        print(f"  {atoms} atoms, {name}: {found['peak'] / 2**20:.0f} MiB {found['end']}", flush=True)
        return {"atoms": atoms, **found}
    return start


def up_to_the_limit(run, sizes, coarse=COARSE):
    """Runs every `coarse`-th size until one does not end, then bisects the sizes between; results in the order of size."""
    found = {}
    ended, too_large = -1, len(sizes)
    for k in range(0, len(sizes), coarse):
        found[k] = run(sizes[k])
        if found[k]["end"]:
            too_large = k
            break
        ended = k
    while too_large - ended > 1:
        k = (ended + too_large) // 2
        found[k] = run(sizes[k])
        ended, too_large = (ended, k) if found[k]["end"] else (k, too_large)
    return [found[k] for k in sorted(found)]


def measure_peer(settings, name, peer, replicas, memory):
    """Rows up to the limit of one backend; the smallest frame must end."""
    rows = up_to_the_limit(peer_side(settings, name, peer, memory), shapes(replicas))
    if rows[0]["end"]:
        raise BenchError(f"bench: memory of training, {name}: {rows[0]['end']}:\n{rows[0]['text'][-800:]}")
    return [{key: row[key] for key in ("atoms", "peak", "seconds", "end")} for row in rows]


def measure(settings, ours, peers):
    print("bench: memory", flush=True)
    replicas = REPLICAS[:2] if settings.quick else REPLICAS
    memory = memory_bound()
    found = {name: measure_peer(settings, name, peers[key], replicas, memory) for name, key in PEERS.items()}
    return {"bound": memory, "limit": LIMIT, "peers": found, "ours": measure_ours(settings, ours, replicas),
            "options": memory_options.measure(settings, ours)}
