"""Draws the figures of ``dptrain plot``. The end of the file's name is the format: png, pdf, svg."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from dptrain.logs import FileError

# what a column of lcurve.out means, without _trn or _val: axis label, factor to the unit of the label
CURVES = {
    "rmse_f": ("force RMSE\n(eV/\u00c5)", 1.0),
    "rmse_e": ("energy RMSE\n(meV/atom)", 1e3),
    "rmse_v": ("virial RMSE\n(meV/atom)", 1e3),
    "mae_f": ("force MAE\n(eV/\u00c5)", 1.0),
    "mae_e": ("energy MAE\n(meV/atom)", 1e3),
    "mae_v": ("virial MAE\n(meV/atom)", 1e3),
    "rmse_ae": ("atomic energy\nRMSE (meV)", 1e3),
    "rmse_pf": ("weighted force\nRMSE (eV/\u00c5)", 1.0),
    "rmse_gf": ("generalized\nforce RMSE", 1.0),
    "rmse": ("root of the loss", 1.0),
}
COLORS = {"force": "#1f6fb4", "energy": "#c8551b", "virial": "#2e8b57", "atomic energy": "#8a5aa8"}
PALETTE = ["#1f6fb4", "#c8551b", "#2e8b57", "#8a5aa8", "#b8860b", "#4f8f9f", "#a33b55", "#6b6b6b"]
GRAY = "#555555"
FEW = 30  # values in a bar of a histogram, for an axis that is not logarithmic
MOST_POINTS = 100_000  # that are drawn of a cloud; numbers beside it are of all


def color_of(curve):
    """Color of a column of lcurve.out, the same as that of its quantity in other figures."""
    return {"f": COLORS["force"], "e": COLORS["energy"], "v": COLORS["virial"]}.get(curve.rpartition("_")[2], PALETTE[3])


def new_figure(rows, columns, size, **options):
    """Figure and axes [rows][columns]; size in inches."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.rcParams.update({"font.size": 10, "axes.spines.top": False, "axes.spines.right": False,
                         "axes.titlesize": 10, "axes.grid": True, "grid.color": "#e3e3e3", "grid.linewidth": 0.6,
                         "axes.axisbelow": True})
    return plt.subplots(rows, columns, figsize=size, squeeze=False, layout="constrained", **options)


def save_figure(figure, output, dpi=150):
    """Writes the file, in the format of its end."""
    kinds = figure.canvas.get_supported_filetypes()
    if Path(output).suffix[1:].lower() not in kinds:
        raise FileError(f"{output}: unknown format: end the name with .png, .pdf or .svg")
    figure.savefig(output, dpi=dpi)


def smooth(values, width):
    """Running mean over `width` points; fewer at both ends."""
    kernel = np.ones(width)
    return np.convolve(values, kernel, "same") / np.convolve(np.ones(len(values)), kernel, "same")


def lcurve_columns(curves, asked):
    """The quantities to draw: those asked for, else the errors of all terms that any of the curves has numbers of."""
    def present(name):
        return any(np.isfinite(curve.get(f"{name}_{kind}", np.nan)).any() for curve in curves for kind in ("trn", "val"))

    for name in asked:
        if not present(name):
            columns = dict.fromkeys(column for curve in curves for column in curve)
            raise FileError(f"no learning curve has the columns {name}_trn or {name}_val: choose one of {' '.join(columns)}")
    terms = [column[:-4] for curve in curves for column in curve if re.fullmatch("(rmse|mae)_.*_(trn|val)", column)]
    shown = list(asked) or [name for name in dict.fromkeys([*CURVES, *terms]) if name != "rmse" and present(name)]
    return shown or ["rmse"]


def draw_curve(axis, step, values, color, label, dashed, faint, width=None):
    """One column: its values faintly, and their running mean. Returns the lowest value that should be seen."""
    known = np.isfinite(values)
    values, step = values[known], step[known]
    if len(values) == 0:
        return np.inf
    mean = smooth(values, width or max(1, len(values) // 25))
    if faint:
        axis.plot(step, values, color=color, alpha=0.25, linewidth=0.8)
    axis.plot(step, mean, color=color, linewidth=1.7, linestyle="--" if dashed else "-", label=label)
    # single batches without error, such as an ideal lattice, shall not set the scale
    return max(values.min(), 0.1 * mean.min())


def plot_lcurve(curves, output, labels=None, columns=(), width=None):
    """Errors on training (lines) and validation data (dashed) and the learning rate against the training step.

    curves: one {column: array} per file, as read_lcurve gives them; labels: their names in the legend.
    """
    shown = lcurve_columns(curves, columns)
    figure, axes = new_figure(len(shown) + 1, 1, (6.4, 1.2 + 1.9 * len(shown)), sharex=True,
                              height_ratios=[2] * len(shown) + [1])
    axes = axes[:, 0]
    for axis, name in zip(axes, shown):
        unit, factor = CURVES.get(name, (name, 1.0))
        lowest = []
        for k, curve in enumerate(curves):
            color = color_of(name) if len(curves) == 1 else PALETTE[k % len(PALETTE)]
            for kind, what in (("trn", "training"), ("val", "validation")):
                if f"{name}_{kind}" not in curve:
                    continue
                label = what if len(curves) == 1 else labels[k] + (", validation" if kind == "val" else "")
                lowest.append(draw_curve(axis, curve["step"], factor * curve[f"{name}_{kind}"], color, label, kind == "val",
                                         len(curves) == 1, width))
        axis.set_yscale("log")
        bottom = min(lowest)
        if 0 < bottom < np.inf:
            axis.set_ylim(bottom=0.7 * bottom)
        axis.set_ylabel(unit)
    axes[0].legend(frameon=False, fontsize=8, loc="upper right", ncols=2)
    for k, curve in enumerate(curves):
        axes[-1].plot(curve["step"], curve["lr"], color=GRAY if len(curves) == 1 else PALETTE[k % len(PALETTE)], linewidth=1.4)
    rates = np.concatenate([curve["lr"] for curve in curves])
    axes[-1].set_yscale("log")
    ends = sorted({float(rates.min()), float(rates.max())})
    axes[-1].set_yticks(ends, [f"{value:.1e}" for value in ends])
    axes[-1].set_yticks([], minor=True)
    axes[-1].set_ylabel("learning\nrate")
    axes[-1].set_xlabel("training step")
    steps = np.concatenate([curve["step"] for curve in curves])
    axes[-1].set_xlim(steps.min(), max(steps.max(), steps.min() + 1))
    figure.align_ylabels(axes)
    save_figure(figure, output)


def some_of(count):
    """Indices of the points that are drawn of `count`: all, or a fixed random choice."""
    return np.arange(count) if count <= MOST_POINTS else np.random.default_rng(0).choice(count, MOST_POINTS, replace=False)


def parity_panel(axis, pairs):
    """Predicted against reference values on equal axes."""
    low = min(pairs.reference.min(), pairs.predicted.min())
    high = max(pairs.reference.max(), pairs.predicted.max())
    margin = 0.04 * (high - low) or 1.0
    limits = (low - margin, high + margin)
    axis.plot(limits, limits, color=GRAY, linewidth=0.8)
    drawn = some_of(len(pairs.reference))
    axis.scatter(pairs.reference[drawn], pairs.predicted[drawn], s=24 if len(drawn) < 1000 else 5, color=COLORS[pairs.quantity],
                 alpha=0.35, linewidths=0, rasterized=True)
    axis.set_xlim(limits)
    axis.set_ylim(limits)
    axis.set_aspect("equal")
    axis.ticklabel_format(useOffset=False)
    axis.locator_params(nbins=5)
    axis.set_xlabel(f"reference {pairs.quantity} ({pairs.unit})")
    axis.set_ylabel(f"predicted {pairs.quantity} ({pairs.unit})")
    axis.set_title(f"RMSE {pairs.rmse:.3g}, MAE {pairs.mae:.3g} {pairs.unit}")


def plot_parity(all_pairs, output):
    """Predicted against reference values, one panel for each quantity."""
    figure, axes = new_figure(1, len(all_pairs), (4.2 * len(all_pairs), 4.3))
    for axis, pairs in zip(axes[0], all_pairs):
        parity_panel(axis, pairs)
    save_figure(figure, output)


def plot_errors(all_pairs, output, bins=None):
    """Histograms of the errors beside the normal distribution of the same RMSE, one panel for each quantity.

    bins: their number; by default it grows with that of the values, from 11 to 81."""
    figure, axes = new_figure(1, len(all_pairs), (4.4 * len(all_pairs), 3.6))
    for axis, pairs in zip(axes[0], all_pairs):
        errors = pairs.errors
        edge = np.abs(errors).max() or 1.0
        number = bins or int(np.clip(2 * round(len(errors) ** (1 / 3)) + 1, 11, 81))
        edges = np.linspace(-edge, edge, number + 1)
        counts, _, _ = axis.hist(errors, edges, color=COLORS[pairs.quantity], alpha=0.7)
        if pairs.rmse > 0:
            x = np.linspace(-edge, edge, 400)
            normal = len(errors) * (edges[1] - edges[0]) * np.exp(-0.5 * (x / pairs.rmse)**2) / (pairs.rmse * np.sqrt(2 * np.pi))
            axis.plot(x, normal, color=GRAY, linewidth=1.2, label=f"normal, RMSE {pairs.rmse:.3g}")
            axis.legend(frameon=False, fontsize=8)
        if counts.max() > FEW:
            axis.set_yscale("log")
            axis.set_ylim(bottom=0.5)
        axis.locator_params(axis="x", nbins=5)
        axis.set_xlabel(f"error of the {pairs.quantity} ({pairs.unit})")
        axis.set_ylabel("number of values")
    save_figure(figure, output)


def bin_rms(sigma, error, bins):
    """Root mean squares of uncertainty and error in bins of (nearly) equal numbers, in order of the uncertainty."""
    order = np.array_split(np.argsort(sigma, kind="stable"), min(bins, len(sigma)))
    return tuple(np.array([np.sqrt(np.mean(values[part]**2)) for part in order]) for values in (sigma, error))


def plot_uncertainty(sigma, error, output, bins=20):
    """Error against uncertainty, point by point, and root mean squares in bins of equal numbers; both axes logarithmic."""
    figure, axes = new_figure(1, 1, (4.8, 4.4))
    axis = axes[0, 0]
    drawn = some_of(len(sigma))
    drawn = drawn[error[drawn] > 0]
    axis.scatter(sigma[drawn], error[drawn], s=6, color=PALETTE[0], alpha=0.3, linewidths=0, rasterized=True)
    mean_sigma, mean_error = bin_rms(sigma, error, bins)
    axis.plot(mean_sigma, mean_error, color=PALETTE[1], marker="o", markersize=4, linewidth=1.2, label="rms error in bins")
    axis.axline((mean_sigma[0], mean_sigma[0]), (2 * mean_sigma[0], 2 * mean_sigma[0]), color=GRAY, linewidth=0.8, label="equal")
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_xlabel("uncertainty")
    axis.set_ylabel("error")
    axis.legend(frameon=False, fontsize=8)
    save_figure(figure, output)


REASONS = {"early": GRAY, "threshold": PALETTE[1], "limit": PALETTE[6], "wall": PALETTE[5], "audit": PALETTE[2], "rewind": PALETTE[3]}


def error_panel(axis, events, course):
    """Expected and true largest force error of each event, and the threshold."""
    if "expected" in course:
        known = course["expected"] > 0
        axis.plot(course["step"][known], course["expected"][known], color=PALETTE[0], alpha=0.5, linewidth=0.8,
                  label="expected, thermo")
    for why, color in REASONS.items():
        chosen = (events["why"] == why) & np.isfinite(events["true"])
        if chosen.any():
            axis.scatter(events["step"][chosen], events["true"][chosen], s=14, color=color, linewidths=0, label=f"true, {why}")
    axis.scatter(events["step"], events["expected"], s=12, facecolors="none", edgecolors=PALETTE[0], linewidths=0.6,
                 label="expected, event")
    if "threshold" in course:
        axis.plot(course["step"], course["threshold"], color=GRAY, linewidth=1.0, linestyle="--", label="threshold")
    axis.set_yscale("log")
    axis.set_ylabel("largest force error\n(force units)")
    axis.legend(frameon=False, fontsize=7, loc="upper left", bbox_to_anchor=(1.0, 1.0))


def plot_active(events, course, rewinds, output):
    """The course of a learning run: errors and threshold, frames and reference calls, and the temperature, against the step.

    events, course, rewinds: as read_events, read_course and read_rewinds give them.
    """
    rows = 3 if "temp" in course else 2
    figure, axes = new_figure(rows, 1, (7.6, 2.2 + 1.7 * rows), sharex=True, height_ratios=[2.2] + [1] * (rows - 1))
    axes = axes[:, 0]
    error_panel(axes[0], events, course)
    last = max([events["step"].max(), *course.get("step", [])])
    for name, color in (("calls", PALETTE[1]), ("frames", PALETTE[0])):
        # labels that came later stand at a step of before
        axes[1].step([*np.maximum.accumulate(events["step"]), last], [*events[name], events[name][-1]], where="post", color=color, linewidth=1.4,
                     label="reference calls" if name == "calls" else name)
    axes[1].set_ylim(bottom=0)
    axes[1].set_ylabel("number")
    axes[1].legend(frameon=False, fontsize=7, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    if rows == 3:
        axes[2].plot(course["step"], course["temp"], color=PALETTE[6], linewidth=1.2)
        axes[2].set_ylabel("temperature")
    for axis in axes:
        for step in rewinds:
            axis.axvline(step, color=PALETTE[3], linewidth=0.7, linestyle=":", zorder=0)
    axes[-1].set_xlabel("MD step")
    figure.align_ylabels(axes)
    save_figure(figure, output)
