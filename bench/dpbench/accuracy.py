"""Training time until the force error on the validation frames falls below given values, each side at its best.

Time is that of training steps alone: start-up, neighbor statistics and validations do not count, on either side. Both
sides train in one process with as many threads as there are cores.
"""

from dataclasses import dataclass, replace
from typing import Optional

from .logs import dp_average_step, events, learning_curve
from .models import Kind, our_input, training_input, write_input
from .pairing import summary
from .water import write_subset

TARGETS = (0.20, 0.12, 0.10, 0.07, 0.05)  # eV/Angstrom
VALID_FRAMES = 80
EVAL_EVERY = 50
QUICK_STEPS, QUICK_FRAMES = 20, 2
THREE_MINUTES = 180.0
TIMING_STEPS = 120  # of the separate run that gives PyTorch's time per step


@dataclass(frozen=True)
class Config:
    """One way to train."""

    name: str
    side: str  # dptrain, tensorflow, pytorch
    net: str
    precision: str
    steps: int
    start_lr: float
    optimizer: Optional[str] = None  # None: Adam
    schedule: str = "cosine"

    @property
    def kind(self):
        return Kind(self.net, self.precision)

    def section(self):
        """The section `optimizer` of the input; None: its default, Adam."""
        return {"type": self.optimizer} if self.optimizer else None


# The peer's ways: its fast backend with both nets and both precisions, and the optimizer that only its PyTorch has. The
# small net has a short and a long schedule on both sides: one is first at large errors, the other at small ones.
PEERS = [
    Config("TensorFlow, float32, small net, Adam, short", "tensorflow", "small", "single", 1500, 5e-3),
    Config("TensorFlow, float32, small net, Adam", "tensorflow", "small", "single", 4000, 5e-3),
    Config("TensorFlow, float32, standard net, Adam", "tensorflow", "standard", "single", 2000, 1e-3),
    Config("TensorFlow, float64, small net, Adam, exponential", "tensorflow", "small", "double", 3000, 2e-3, None, "exp"),
    Config("PyTorch, float32, small net, HybridMuon", "pytorch", "small", "single", 2000, 3e-3, "HybridMuon"),
    Config("PyTorch, float32, standard net, HybridMuon", "pytorch", "standard", "single", 800, 1e-3, "HybridMuon"),
]
OURS = [
    Config("SOAP, single, small net, short", "dptrain", "small", "single", 700, 2e-2, "SOAP"),
    Config("SOAP, single, small net", "dptrain", "small", "single", 2000, 2e-2, "SOAP"),
    Config("SOAP, single, standard net", "dptrain", "standard", "single", 1500, 5e-3, "SOAP"),
    Config("Adam, single, small net", "dptrain", "small", "single", 4000, 5e-3),
]
# a lower rate than for the short ones: at high rates the nets grow rough, and their tables long
LONG = Config("SOAP, single, small net", "dptrain", "small", "single", 12000, 1e-2, "SOAP")


def curve_of_peer(config, settings, peers, valid, frames, folder, seed):
    """[{step, seconds, rmse_e, rmse_f}] of `dp train`, from lcurve.out and its own time per step."""
    peer = peers[config.side]
    every = 10 if settings.quick else EVAL_EVERY
    tree = training_input(config.kind, settings, config.steps, start_lr=config.start_lr, optimizer=config.section(),
                          schedule=config.schedule, seed=seed, valid=valid, disp_freq=every, valid_frames=frames)
    write_input(folder, tree)
    words = [peer.flag, "train", "input.json", "--skip-neighbor-stat"]
    output = peer.dp(f"time to accuracy, {config.name}", folder, words, settings.cores)
    # TensorFlow's own average leaves validations out, PyTorch's does not: its time comes from a run without them
    seconds = dp_average_step(output) if config.side == "tensorflow" else time_per_step(config, settings, peer, folder)
    curve = learning_curve((folder / "lcurve.out").read_text())
    return [{"step": int(step), "seconds": step * seconds, "rmse_e": e, "rmse_f": f}
            for step, e, f in zip(curve["step"], curve["rmse_e_val"], curve["rmse_f_val"])]


def time_per_step(config, settings, peer, folder):
    steps = 9 if settings.quick else TIMING_STEPS
    tree = training_input(config.kind, settings, steps, start_lr=config.start_lr, optimizer=config.section(),
                          schedule=config.schedule, disp_freq=steps // 3)
    write_input(folder / "timing", tree)
    words = [peer.flag, "train", "input.json", "--skip-neighbor-stat"]
    return dp_average_step(peer.dp(f"time per step, {config.name}", folder / "timing", words, settings.cores))


def curve_of_ours(config, settings, ours, valid, folder, seed, limit=None, every=EVAL_EVERY):
    """The same of bench_train, and all that it reports; with `limit` it stops after so many seconds."""
    tree = our_input(config.kind, settings, config.steps, start_lr=config.start_lr, optimizer=config.section(),
                     schedule=config.schedule, seed=seed)
    write_input(folder, tree)
    words = ["--train", *map(str, settings.train_systems), "--valid", str(valid), "--precision", config.precision,
             "--eval-every", str(10 if settings.quick else every)]
    words += ["--seconds", str(limit)] if limit else []
    found = events(ours.train(f"time to accuracy, {config.name}", folder, words, 1, settings.cores))
    curve = [{"step": v["step"], "seconds": v["train_seconds"], "elapsed": v["elapsed"], "rmse_e": v["rmse_e"],
              "rmse_f": v["rmse_f"]} for v in found["valid"]]
    return curve, found


def time_to(curve, target):
    """Seconds of training at the first validation at or below the target; None if it was not reached."""
    return next((point["seconds"] for point in curve if point["rmse_f"] <= target), None)


def fastest(curves, target):
    """(name, seconds, reached) of the configuration that is first at a target.

    Where none reaches it, the one with the smallest final error stands in, with the time of its whole run: a lower bound.
    """
    reached = {name: t for name, t in ((n, time_to(c, target)) for n, c in curves.items()) if t is not None}
    if reached:
        name = min(reached, key=reached.get)
        return name, reached[name], True
    name = min(curves, key=lambda n: curves[n][-1]["rmse_f"])
    return name, curves[name][-1]["seconds"], False


def table(ours, peers):
    """One row per target from the curves {name: points} of both sides."""
    rows = []
    for target in TARGETS:
        our_name, our_seconds, our_reached = fastest(ours, target)
        name, seconds, reached = fastest(peers, target)
        rows.append({"target": target, "ours": our_name, "our_seconds": our_seconds, "our_reached": our_reached,
                     "peer": name, "peer_seconds": seconds, "peer_reached": reached,
                     "ratio": seconds / our_seconds if our_reached else None})
    return rows


def paired_ratios(runs_ours, runs_peer):
    """{target: summary of peer / ours over the pairs}; pairs in which either side misses the target are left out."""
    result = {}
    for target in TARGETS:
        pairs = [(time_to(a, target), time_to(b, target)) for a, b in zip(runs_ours, runs_peer)]
        values = [b / a for a, b in pairs if a is not None and b is not None]
        if values:
            result[f"{target:.2f}"] = summary(values)
    return result


def validation_frames(settings, folder):
    """Folder and number of the frames on which both sides are judged."""
    frames = QUICK_FRAMES if settings.quick else VALID_FRAMES
    path = folder / f"valid-{frames}"
    return path, write_subset(path, settings.valid_system, frames)


def measure_minutes(settings, ours, peers):
    """Errors on the validation frames within 180 s of the start of the program: reading, statistics and all included."""
    limit = 3.0 if settings.quick else THREE_MINUTES
    config = replace(LONG, steps=QUICK_STEPS) if settings.quick else LONG
    base = settings.work / "minutes"
    valid, frames = validation_frames(settings, base)
    print(f"bench: three minutes of training ({frames} validation frames)", flush=True)
    points, found = curve_of_ours(config, settings, ours, valid, base / "ours", 1, limit, max(1, config.steps // 20))
    inside = [p for p in points if p["elapsed"] <= limit] or points[:1]
    return {"config": config.name, "valid_frames": frames, "steps": inside[-1]["step"], "of_steps": config.steps,
            "limit": limit, "elapsed": inside[-1]["elapsed"], "setup_seconds": found["start"][0]["setup_seconds"],
            "rmse_f": inside[-1]["rmse_f"], "rmse_e": inside[-1]["rmse_e"], "curve": points}


def measure(settings, ours, peers, our_configs=None, peer_configs=None):
    """Curves of all configurations, the table, and repeats of the best pair."""
    our_configs, peer_configs = our_configs or OURS, peer_configs or PEERS
    if settings.quick:
        our_configs = [replace(c, steps=QUICK_STEPS) for c in our_configs]
        peer_configs = [replace(c, steps=QUICK_STEPS) for c in peer_configs]
    base = settings.work / "accuracy"
    valid, frames = validation_frames(settings, base)

    def ours_run(config, seed=1):
        curve = curve_of_ours(config, settings, ours, valid, base / f"ours-{our_configs.index(config)}", seed)[0]
        print(f"  {config.name:50s} {curve[-1]['rmse_f']:.4f} eV/A after {curve[-1]['seconds']:.1f} s", flush=True)
        return curve

    def peer_run(config, seed=1):
        folder = base / f"peer-{peer_configs.index(config)}"
        curve = curve_of_peer(config, settings, peers, valid, frames, folder, seed)
        print(f"  {config.name:50s} {curve[-1]['rmse_f']:.4f} eV/A after {curve[-1]['seconds']:.1f} s", flush=True)
        return curve

    print(f"bench: time to accuracy ({frames} validation frames)", flush=True)
    our_curves = {c.name: ours_run(c) for c in our_configs}
    peer_curves = {c.name: peer_run(c) for c in peer_configs}
    rows = table(our_curves, peer_curves)
    # the pair that is best in the middle of the table is repeated with other seeds
    middle = next(r for r in rows if r["target"] == 0.10)
    ours_best = next(c for c in our_configs if c.name == middle["ours"])
    peer_best = next(c for c in peer_configs if c.name == middle["peer"])
    runs_ours, runs_peer = [our_curves[ours_best.name]], [peer_curves[peer_best.name]]
    for seed in range(2, settings.repeats + 1):
        runs_ours.append(ours_run(ours_best, seed))
        runs_peer.append(peer_run(peer_best, seed))
    return {"valid_frames": frames, "rows": rows, "ours": our_curves, "peers": peer_curves,
            "pair": {"ours": ours_best.name, "peer": peer_best.name, "ratio": paired_ratios(runs_ours, runs_peer),
                     "runs_ours": runs_ours, "runs_peer": runs_peer}}
