"""`dptrain train` beside `dp train`: do their learning curves lie on each other within the scatter between seeds?

The input is that of DeePMD-kit's water example (standard net, one frame per step, exponential decay), the same for both but
for the seeds. Both sides print the errors of the training batch and of three validation batches: noise of batches and
scatter of seeds are in both curves.
"""

import math

from .logs import learning_curve
from .models import Kind, model_section, write_input
from .process import run

SEEDS, QUICK_SEEDS = (1, 2, 3), (1, 2)
STEPS, QUICK_STEPS = 2000, 20
BLOCKS = 5  # of the steps, each with its mean of the logarithms
COLUMNS = ("rmse_e_val", "rmse_e_trn", "rmse_f_val", "rmse_f_trn")


def water_input(settings, seed):
    """input.json of the water example."""
    steps = QUICK_STEPS if settings.quick else STEPS
    return {"model": {**model_section(Kind(), "float64", seed), "data_stat_nbatch": 20},
            "learning_rate": {"type": "exp", "decay_steps": 5000, "start_lr": 0.001, "stop_lr": 3.51e-8},
            "loss": {"type": "ener", "start_pref_e": 0.02, "limit_pref_e": 1, "start_pref_f": 1000, "limit_pref_f": 1},
            "training": {"training_data": {"systems": [str(s) for s in settings.train_systems], "batch_size": 1},
                         "validation_data": {"systems": [str(settings.valid_system)], "batch_size": 1, "numb_btch": 3},
                         "numb_steps": steps, "seed": 10 * seed, "disp_file": "lcurve.out", "disp_freq": steps // 20,
                         "save_freq": steps}}


def block_means(curve, column):
    """Means of log10 of a column over the rows of each block, the first row (before any step) left out."""
    values = [math.log10(v) for v in curve[column][1:]]
    size = len(values) // BLOCKS
    return [sum(values[k * size:(k + 1) * size]) / size for k in range(BLOCKS)]


def mean_and_spread(values):
    mean = sum(values) / len(values)
    return mean, math.sqrt(sum((v - mean) ** 2 for v in values) / (len(values) - 1))


def compare(ours, peers):
    """One row for each column and block: the errors of both sides (geometric means over seeds and rows), and the
    difference of the logarithms in units of what the scatter between the seeds lets expect (Welch's t)."""
    rows = []
    for column in COLUMNS:
        blocks = [[block_means(curve, column) for curve in side] for side in (ours, peers)]
        for k in range(BLOCKS):
            (our_mean, our_spread), (mean, spread) = (mean_and_spread([b[k] for b in side]) for side in blocks)
            scatter = math.sqrt(our_spread**2 / len(ours) + spread**2 / len(peers))
            rows.append({"column": column, "block": k, "ours": 10**our_mean, "peer": 10**mean,
                         "t": (our_mean - mean) / scatter if scatter > 0.0 else math.inf})
    return rows


def measure(settings, ours, peers):
    print("bench: curves", flush=True)
    curves = {"ours": [], "peer": []}
    script, variables = ours.script()
    for seed in QUICK_SEEDS if settings.quick else SEEDS:
        tree = water_input(settings, seed)
        for side in curves:
            folder = settings.work / "curves" / f"{side}-{seed}"
            write_input(folder, tree)
            if side == "ours":
                words = [*script, "train", "input.json", "-np", str(settings.cores)]
                run(ours.recorder, f"learning curve, dptrain, seed {seed}", words, folder, {"OMP_NUM_THREADS": 1, **variables},
                    "train.log")
            else:
                words = [peers["pytorch"].flag, "train", "input.json"]
                peers["pytorch"].dp(f"learning curve, PyTorch, seed {seed}", folder, words, settings.cores)
            curves[side].append(learning_curve((folder / "lcurve.out").read_text()))
            print(f"  {side}, seed {seed}: validation force error {curves[side][-1]['rmse_f_val'][-1]:.3f} eV/A", flush=True)
    return {"steps": curves["ours"][0]["step"][-1], "seeds": len(curves["ours"]), "rows": compare(curves["ours"], curves["peer"]),
            "curves": curves}
