"""What the options of a training save in memory and cost in time: one batch of frames with each of them."""

from .logs import events
from .models import Kind, learning_rate, our_input, write_input

BATCH = 8  # frames of 1536 atoms
COPIES = 2
STEPS = 4  # optimizer steps; the first one does not count
PURPOSES = ("frames", "neighbor rows", "halo", "residuals", "workspace", "tables", "optimizer", "gradient")
SOAP = {"type": "SOAP"}
# name: ranks (0: all cores), words for bench_train, keys of the input
CHOICES = {
    "none": (0, [], {}),
    "one rank": (1, [], {}),
    "distribute frames": (0, ["--distribute", "frames"], {}),
    "micro_batch 1": (0, ["--micro-batch", "1"], {}),
    "batch 1, acc_freq 8": (0, [], {"batch_size": 1, "acc_freq": BATCH}),
    "precision mixed": (0, ["--precision", "mixed"], {}),
    "precision single": (0, ["--precision", "single"], {}),
    "chunk 16": (0, ["--chunk", "16"], {}),
    "chunk 64": (0, ["--chunk", "64"], {}),
    "chunk 1024": (0, ["--chunk", "1024"], {}),
    "compress powersgd 4": (0, ["--compress", "powersgd:4"], {}),
    "optimizer soap": (0, [], {"optimizer": SOAP}),
}


def run(settings, ours, name, ranks, words, keys):
    """Row of one option: bytes of the rank that has most of each purpose, of all processes, and seconds of an optimizer step."""
    keys = dict(keys)
    repeats = keys.get("acc_freq", 1)
    tree = our_input(Kind(), settings, STEPS * repeats, start_lr=learning_rate("standard"), optimizer=keys.pop("optimizer", None))
    tree["training"]["training_data"]["batch_size"] = keys.pop("batch_size", BATCH)
    tree["training"].update(keys)
    folder = settings.work / "memory" / name.replace(" ", "-")
    write_input(folder, tree)
    ranks = ranks or settings.cores
    found = events(ours.train("memory of training, options", folder,
                              ["--train", str(settings.train_systems[0]), "--frames", str(BATCH), "--replicate", str(COPIES),
                               "--report-every", str(repeats), *words], ranks))
    end, blocks = found["end"][0], found["block"][1:]
    row = {"option": name, "ranks": ranks, "peak": end["memory_peak"], "before": end["memory_before_training"],
           "seconds": sum(b["seconds"] for b in blocks) / len(blocks),
           **{purpose: end["memory"].get(purpose, 0) for purpose in PURPOSES}}
    print(f"  {name}: {row['peak'] / 2**20:.0f} MiB of all ranks, {row['seconds']:.2f} s/step", flush=True)
    return row


def measure(settings, ours):
    """Rows of all options; standard net, double, Adam, BATCH frames of 1536 atoms in a batch."""
    names = list(CHOICES)[:2] if settings.quick else list(CHOICES)
    return [run(settings, ours, name, *CHOICES[name]) for name in names]
