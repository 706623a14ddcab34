"""Figures of the results: ratios, error against time, cost against atoms, knots, uncertainty, memory."""

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.ticker import NullFormatter  # noqa: E402

from . import labels_report  # noqa: E402
from .inference import SWEPT  # noqa: E402
from .process import NO_MEMORY  # noqa: E402

OUR_COLOR, PEER_COLORS = "#c1272d", ["#1f5a94", "#5b9bd5", "#7f7f7f", "#b5b5b5", "#444444", "#8a6fb0"]
MINUS = {"axes.unicode_minus": False, "font.size": 9, "axes.spines.top": False, "axes.spines.right": False}


def save(figure, path, part=(0, 0, 1, 1)):
    """Writes a figure; its axes fill a part of it (left, bottom, right, top)."""
    figure.tight_layout(rect=part)
    figure.savefig(path, dpi=150)
    plt.close(figure)
    return path


def bars(axis, labels, entries, unit):
    """One group per label, one bar per peer with the range of its pairs."""
    names = list(dict.fromkeys(name for entry in entries for name in entry))
    width = 0.8 / max(1, len(names))
    for k, name in enumerate(names):
        at = [i + (k - (len(names) - 1) / 2) * width for i, e in enumerate(entries) if name in e]
        found = [e[name] for e in entries if name in e]
        middle = [f["median"] for f in found]
        error = [[f["median"] - f["min"] for f in found], [f["max"] - f["median"] for f in found]]
        axis.bar(at, middle, width, yerr=error, label=name, color=PEER_COLORS[k % len(PEER_COLORS)], capsize=2)
        for x, f in zip(at, found):
            axis.text(x, f["max"], f"{f['median']:.1f}", ha="center", va="bottom", fontsize=6)
    axis.axhline(1, color="black", linewidth=0.8)
    axis.set_xticks(range(len(labels)), labels)
    axis.set_yscale("log")
    axis.set_ylabel(f"{unit}: DeePMD-kit / this package")
    axis.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axis.yaxis.set_minor_formatter(NullFormatter())
    axis.legend(fontsize=7, frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.15), ncol=2)


def plot_ratios(result, path):
    parts = [(result["parts"].get("inference"), "MD step", "us/atom"), (result["parts"].get("training"), "training step", "s")]
    parts = [(rows, title, unit) for rows, title, unit in parts if rows]
    figure, axes = plt.subplots(1, len(parts), figsize=(5.5 * len(parts), 4), squeeze=False)
    for axis, (rows, title, unit) in zip(axes[0], parts):
        rows = [r for r in rows if "agreement" in r or "seconds" in r]
        bars(axis, [f"{r['net']}\n{r['precision']}" for r in rows], [r["ratio"] for r in rows], unit)
        axis.set_title(title)
    return save(figure, path)


def plot_accuracy(result, path):
    found = result["parts"]["accuracy"]
    figure, axis = plt.subplots(figsize=(6, 4.8))
    for k, (name, curve) in enumerate(found["ours"].items()):
        points = [p for p in curve if p["seconds"] > 0]
        axis.plot([p["seconds"] for p in points], [p["rmse_f"] for p in points], color=OUR_COLOR,
                  linestyle=("-", "--", ":", "-.")[k % 4], label=f"this package: {name}")
    for k, (name, curve) in enumerate(found["peers"].items()):
        points = [p for p in curve if p["seconds"] > 0]
        axis.plot([p["seconds"] for p in points], [p["rmse_f"] for p in points], color=PEER_COLORS[k % len(PEER_COLORS)],
                  label=f"DeePMD-kit: {name}", linewidth=1)
    for row in found["rows"]:
        axis.axhline(row["target"], color="black", linewidth=0.3)
    axis.set(xscale="log", yscale="log", xlabel="seconds of training", ylabel="force error on validation frames, eV/A")
    ticks = [0.05, 0.07, 0.1, 0.12, 0.2, 0.5, 0.8]
    axis.set_yticks(ticks, [f"{t:g}" for t in ticks])
    axis.minorticks_off()
    axis.legend(fontsize=6, frameon=False, loc="upper center", bbox_to_anchor=(0.45, -0.15), ncol=2)
    return save(figure, path)


def plot_atoms(result, path):
    figure, axes = plt.subplots(1, 2, figsize=(8, 3.4), sharey=True)
    for axis, precision in zip(axes, ("double", "single")):
        for net, style in (("standard", "-o"), ("small", "--s")):
            rows = [r for r in result["parts"]["inference"] if r["net"] == net and r["precision"] == precision]
            rows.sort(key=lambda r: r["atoms"])
            for name, color in (("ours", OUR_COLOR), (SWEPT[0], PEER_COLORS[0])):
                times = [r["us_per_atom"][r["ours_best"] if name == "ours" else name]["median"] for r in rows]
                axis.plot([r["atoms"] for r in rows], times, style, color=color,
                          label=f"{'this package' if name == 'ours' else 'DeePMD-kit, ' + name}, {net} net")
        axis.set(xscale="log", yscale="log", xlabel="atoms", title=precision)
    axes[0].set_ylabel("us per atom and step")
    axes[1].legend(fontsize=6, frameon=False)
    return save(figure, path)


def plot_knots(result, path):
    rows = [r for r in result["parts"]["scaling"]["knots"] if r["knots"] != "auto"]
    figure, axes = plt.subplots(1, 2, figsize=(7, 3))
    for precision, style in (("double", "-o"), ("single", "--s")):
        some = [r for r in rows if r["precision"] == precision]
        axes[0].plot([r["knots"] for r in some], [r["us_per_atom"] for r in some], style, color=OUR_COLOR, label=precision)
        axes[1].plot([r["knots"] for r in some], [r["force_error"] for r in some], style, color=OUR_COLOR, label=precision)
    axes[0].set(xscale="log", xlabel="knots", ylabel="us per atom and step", ylim=(0, None))
    axes[1].set(xscale="log", yscale="log", xlabel="knots", ylabel="largest force difference, eV/A")
    axes[0].legend(frameon=False)
    return save(figure, path)


def plot_uncertainty(result, path):
    """ROC curves of the trajectories that leave the training data, and predicted against true errors."""
    found = result["parts"]["uncertainty"]
    panels = [name for name in found["merits"] if name != "inside"]
    threshold = found["drawn"]
    figure, axes = plt.subplots(1, len(panels) + 1, figsize=(3 * len(panels) + 3, 3.2))
    for k, (score, curve) in enumerate(found["curves"].items()):
        color = (OUR_COLOR, *PEER_COLORS)[k]
        for axis, name in zip(axes, panels):
            area = found["merits"][name][score]["thresholds"][threshold]["auc"]
            axis.plot(*curve["roc"][name], color=color, label=score + ("" if area is None else f": {area:.3f}"))
        axes[-1].plot(*zip(*curve["reliability"]), "-o", color=color, markersize=3, label=score)
    for axis, name in zip(axes, panels):
        axis.plot([0, 1], [0, 1], color="black", linewidth=0.3)
        axis.set(xlabel="part of the others with a higher score", title=f"{name}: errors above {threshold} eV/A")
        axis.legend(fontsize=7, frameon=False, title="area below", title_fontsize=7, loc="lower right")
    axes[0].set_ylabel("part of these atoms with a higher score")
    axes[-1].axline((1, 1), slope=1, color="black", linewidth=0.3)
    axes[-1].set(xscale="log", yscale="log", xlabel="predicted force error, eV/A", ylabel="true force error, eV/A",
                 title="all, in groups of atoms")
    axes[-1].legend(fontsize=7, frameon=False)
    return save(figure, path)


def plot_memory(result, path):
    """Memory of training against the atoms of the frame; a cross where a side of the peer does not get through."""
    found = result["parts"]["memory"]
    figure, axis = plt.subplots(figsize=(5.5, 3.8))
    for ranks, style in zip(sorted({r["ranks"] for r in found["ours"]}), ("-o", "--s")):
        rows = [r for r in found["ours"] if r["ranks"] == ranks]
        atoms, label = [r["atoms"] for r in rows], f"this package, {ranks} {'rank' if ranks == 1 else 'ranks'}"
        axis.plot(atoms, [r["peak"] / 2**30 for r in rows], style, color=OUR_COLOR, label=label)
        axis.plot(atoms, [r["frame"] / 2**30 for r in rows], style, color=OUR_COLOR, alpha=0.4, markersize=3,
                  label=f"{label}: arrays of the frame")
    for (name, rows), color in zip(found["peers"].items(), PEER_COLORS):
        ended = [r for r in rows if not r["end"]]
        axis.plot([r["atoms"] for r in ended], [r["peak"] / 2**30 for r in ended], "-^", color=color,
                  label=f"DeePMD-kit, {name}")
        for r in [r for r in rows if r["end"]][:1]:
            # out of memory: more than the bound would be needed
            height = found["bound"] if r["end"] == NO_MEMORY else r["peak"]
            axis.plot([r["atoms"]], [height / 2**30], "x", color=color, markersize=9, label=f"{name}: {r['end']}")
    axis.axhline(8, color="black", linewidth=0.5)
    axis.annotate("8 GiB", (1, 8), xycoords=("axes fraction", "data"), ha="right", va="bottom", fontsize=7)
    axis.set(xscale="log", yscale="log", xlabel="atoms of the frame", ylabel="memory of training, GiB")
    axis.legend(fontsize=6, frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    return save(figure, path)


def plot_labels(result, path):
    return labels_report.plot_labels(result, path, save)


def plot_pareto(result, path):
    return labels_report.plot_pareto(result, path, save)


def plot_all(result, folder, name):
    """All figures that the parts in the result allow; returns their paths."""
    parts = result["parts"]
    wanted = [("ratios", plot_ratios, parts.get("inference") or parts.get("training")),
              ("accuracy", plot_accuracy, parts.get("accuracy")), ("atoms", plot_atoms, parts.get("inference")),
              ("knots", plot_knots, parts.get("scaling")), ("uncertainty", plot_uncertainty, parts.get("uncertainty")),
              ("memory", plot_memory, parts.get("memory")), ("labels", plot_labels, parts.get("labels")),
              ("pareto", plot_pareto, parts.get("labels"))]
    with plt.rc_context(MINUS):
        return [function(result, folder / f"{name}_{what}.png") for what, function, there in wanted if there]
