"""Seconds per training step: the same model, data, batch (one frame) and Adam on all sides.

This package runs in both ways to use the cores, as ranks and as threads; the better one counts.
"""

from .logs import dp_average_step, events, step_seconds
from .models import Kind, learning_rate, our_input, training_input, write_input
from .pairing import best, ratios, summary, take_turns
from .settings import OURS, RANKS

PEERS = {"TensorFlow": "tensorflow", "PyTorch": "pytorch"}
# rough seconds per step, only to choose the number of steps
GUESS = {"standard": 0.15, "small": 0.05}
BLOCKS = 5


def steps_of(net, settings):
    """Steps of one run, a multiple of the number of blocks; the first block is warm-up."""
    block = max(2, min(200, round(settings.budget / GUESS[net] / (BLOCKS - 1))))
    return block * BLOCKS, block


def time_ours(name, kind, settings, ours, folder):
    steps, block = steps_of(kind.net, settings)
    if not settings.quick:
        steps, block = 4 * steps, 4 * block  # shorter steps: the same time
    write_input(folder, our_input(kind, settings, steps, start_lr=learning_rate(kind.net)))
    words = ["--train", *map(str, settings.train_systems), "--report-every", str(block), "--precision", kind.precision]
    ranks, threads = (settings.cores, 1) if name == RANKS else (1, settings.cores)
    text = ours.train(f"training step, {name}", folder, words, ranks, threads)
    return step_seconds(events(text).get("block", []))


def time_peer(name, kind, settings, peer, folder):
    steps, block = steps_of(kind.net, settings)
    write_input(folder, training_input(kind, settings, steps, start_lr=learning_rate(kind.net), disp_freq=block))
    output = peer.dp(f"training step, {name}", folder, [peer.flag, "train", "input.json", "--skip-neighbor-stat"],
                     settings.cores)
    return dp_average_step(output)


def measure(settings, ours, peers):
    """One row per net and precision."""
    rows = []
    for net in ("standard", "small"):
        for precision in ("double", "single"):
            kind = Kind(net, precision)
            print(f"bench: training step, {kind.name}", flush=True)

            def one(name, kind=kind):
                folder = settings.work / "training" / f"{kind.name}-{name.replace(', ', '-')}"
                if name in OURS:
                    return time_ours(name, kind, settings, ours, folder)
                return time_peer(name, kind, settings, peers[PEERS[name]], folder)

            values = take_turns([*OURS, *PEERS], one, settings.repeats,
                                lambda name, value: print(f"  {name:16s} {value:.5f} s/step", flush=True))
            rows.append({"net": net, "precision": precision, "atoms": 192,
                         "seconds": {n: summary(v) for n, v in values.items()},
                         "ratio": ratios(values, OURS), "ours_best": best(values, OURS), "peer_best": best(values, PEERS)})
    return rows
