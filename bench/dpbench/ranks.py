"""Training on 1 to 8 ranks: what travels in a step, how long it takes where there are cores for the ranks, what compression and
the division of frames change, and a model of the time that says where scaling ends."""

from statistics import median

from .logs import events
from .models import Kind, learning_rate, our_input, write_input

RANKS = (1, 2, 4, 8)
COMPRESSIONS = ("none", "bf16", "powersgd:1", "powersgd:2", "powersgd:4", "powersgd:8")
COMPARED_STEPS = {"standard": 1500, "small": 3000}
SEEDS = (1, 2)
BATCH = 8
ATOMS = 192  # of the frames as they are
TARGET = 0.5  # parallel efficiency at which scaling counts as ended
FRAMES = (192, 1536, 12288, 98304)  # atoms for which the end of scaling is given


def run(settings, ours, study, name, kind, ranks, steps, words, *, batch=1, seed=1, frames=4, block=None):
    """Events of one training, in a folder of its own."""
    folder = settings.work / "ranks" / f"{study} {name}".replace(" ", "-").replace(":", "-")
    tree = our_input(kind, settings, steps, start_lr=learning_rate(kind.net), seed=seed)
    tree["training"]["training_data"]["batch_size"] = batch
    write_input(folder, tree)
    words = ["--train", *map(str, settings.train_systems), "--report-every", str(block or max(1, steps // 5)),
             "--precision", kind.precision, *(["--frames", str(frames)] if frames else []), *words]
    return events(ours.train(f"ranks: {study}", folder, words, ranks))


def seconds(found):
    """Of a step: the median of the blocks after the first one."""
    blocks = found["block"][1:] or found["block"]
    return median(b["seconds"] / b["steps"] for b in blocks)


def traffic(found):
    """{"calls", "bytes", "by_operation"} of a step, of the rank that sends most."""
    rows = found["end"][0]["traffic"]
    return {"calls": sum(r["calls"] for r in rows), "bytes": sum(r["bytes"] for r in rows),
            "by_operation": {r["operation"]: [r["calls"], r["bytes"]] for r in rows}}


def row_of(settings, found, ranks, **facts):
    end = found["end"][0]
    row = {"ranks": ranks, **facts, **traffic(found), "optimizer_bytes": end["memory"]["optimizer"],
           "frames_bytes": end["memory"]["frames"] + end["memory"]["neighbor rows"], "network": end["network"]}
    if ranks <= settings.cores:  # more ranks than cores wait for each other
        row["seconds"] = seconds(found)
        row["reduction"] = end["network"]["gradient_and_parameters"] / row["seconds"]
    return row


def measure_strong(settings, ours):
    """One frame of 1536 atoms, divided by space."""
    rows = []
    for net in ("standard", "small"):
        for ranks in RANKS:
            steps = 5 if settings.quick else {"standard": 15, "small": 60}[net]
            found = run(settings, ours, "strong", f"{net} {ranks}", Kind(net), ranks, steps,
                        ["--replicate", "2", "--distribute", "space"], frames=1)
            rows.append(row_of(settings, found, ranks, net=net, atoms=found["start"][0]["atoms"]))
            print(f"  strong, {net}, {ranks} ranks: {rows[-1]['calls']:.0f} calls, {rows[-1]['bytes'] / 1e6:.2f} MB", flush=True)
    return rows


def measure_weak(settings, ours):
    """A frame of 192 atoms for each rank in a batch, and a batch of eight on any number of ranks, in both divisions."""
    rows = []
    steps = 5 if settings.quick else 40
    for ranks in RANKS:
        for way in ("space", "frames"):
            for name, batch in (("weak", ranks), ("batch of 8", BATCH)):
                found = run(settings, ours, name, f"{way} {ranks}", Kind("small"), ranks, steps, ["--distribute", way], batch=batch,
                            frames=max(BATCH, ranks))
                rows.append(row_of(settings, found, ranks, study=name, distribute=way, batch=batch))
    return rows


def measure_compression(settings, ours):
    """Bytes of a step and validation error after equal steps, two ranks, mean over seeds."""
    rows = []
    nets = ("small",) if settings.quick else ("standard", "small")
    for net in nets:
        for way in COMPRESSIONS:
            errors, bytes_per_step, memory = [], 0, 0
            for seed in SEEDS[:1] if settings.quick else SEEDS:
                steps = 10 if settings.quick else COMPARED_STEPS[net]
                found = run(settings, ours, "compress", f"{net} {way} {seed}", Kind(net), settings.cores, steps,
                            ["--compress", way, "--valid", str(settings.valid_system)], seed=seed, frames=0, block=steps)
                errors.append(found["valid"][-1]["rmse_f"])
                bytes_per_step, memory = traffic(found)["bytes"], found["end"][0]["memory"]["optimizer"]
            rows.append({"net": net, "compress": way, "bytes": bytes_per_step, "optimizer_bytes": memory,
                         "steps": steps, "rmse_f": sum(errors) / len(errors), "rmse_f_by_seed": errors})
            print(f"  {net}, {way}: {bytes_per_step / 1e6:.3f} MB, {rows[-1]['rmse_f']:.4f} eV/A", flush=True)
    return rows


def fit_model(settings, ours, strong):
    """t(ranks) = fixed + atoms * work / ranks + calls * latency + bytes * inverse bandwidth.

    fixed and work come from frames of two sizes on one rank, latency and bandwidth from sums over as many ranks as there are
    cores. Assumptions: equal ranks, a network like the memory of one node, calls of the two ranks for any number of them and
    bytes of the strong series.
    """
    fits = []
    for net in ("standard", "small"):
        steps = 5 if settings.quick else 30
        times = {}
        for copies in (1, 2):
            found = run(settings, ours, "model", f"{net} {copies}", Kind(net), 1, steps, ["--replicate", str(copies)], frames=1)
            times[found["start"][0]["atoms"]] = seconds(found)
        (few, short), (many, long) = sorted(times.items())
        work = (long - short) / (many - few)
        shared = next(r for r in strong if r["net"] == net and r["ranks"] == settings.cores)
        latency = shared["network"]["short_sum"]
        parameters = shared["by_operation"]["reduce_scatter"][1] + shared["by_operation"]["all_gather"][1]
        inverse_bandwidth = max(0.0, shared["network"]["gradient_and_parameters"] - 2 * latency) / parameters
        fit = {"net": net, "fixed": max(0.0, short - work * few), "work": work, "latency": latency,
               "inverse_bandwidth": inverse_bandwidth, "calls": shared["calls"]}
        fit["check"] = {"ranks": settings.cores, "measured": shared["seconds"],
                        "model": predict(fit, shared["atoms"], settings.cores, shared["bytes"])}
        fit["ends"] = {atoms: end_of_scaling(fit, atoms, shared["bytes"]) for atoms in FRAMES}
        fits.append(fit)
    return fits


def predict(fit, atoms, ranks, bytes_per_step):
    """Seconds of a step."""
    communication = fit["calls"] * fit["latency"] + bytes_per_step * fit["inverse_bandwidth"] if ranks > 1 else 0.0
    return fit["fixed"] + atoms * fit["work"] / ranks + communication


def end_of_scaling(fit, atoms, bytes_per_step):
    """The largest power of two of ranks whose efficiency is TARGET or more; at least one atom for each."""
    one, ranks = predict(fit, atoms, 1, bytes_per_step), 1
    while 2 * ranks <= atoms and one / (2 * ranks * predict(fit, atoms, 2 * ranks, bytes_per_step)) >= TARGET:
        ranks *= 2
    return ranks


def measure(settings, ours, _peers):
    print("bench: ranks", flush=True)
    strong = measure_strong(settings, ours)
    return {"cores": settings.cores, "strong": strong, "weak": measure_weak(settings, ours),
            "compression": measure_compression(settings, ours), "model": fit_model(settings, ours, strong)}
