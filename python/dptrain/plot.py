"""Figures of a training run.

    python -m dptrain.plot lcurve.out [-o lcurve.png]                       learning curve
    python -m dptrain.plot reference.dump predicted.dump [-o parity.png]    predicted against reference forces

A dump is a text file of LAMMPS' ``dump custom`` with the columns ``id fx fy fz`` and, for the energies, ``c_pe`` (a
``compute pe/atom``), in ``units metal``. The second form also prints the errors. Both dumps hold the same frames.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dptrain.logs import FileError, read_lcurve

# what a column of lcurve.out means: axis label, factor to the unit of the label
CURVES = {
    "rmse_f": ("force RMSE\n(eV/\u00c5)", 1.0),
    "rmse_e": ("energy RMSE\n(meV/atom)", 1e3),
    "rmse_v": ("virial RMSE\n(meV/atom)", 1e3),
}
COLORS = {"rmse_f": "#1f6fb4", "rmse_e": "#c8551b", "rmse_v": "#2e8b57"}
GRAY = "#555555"


@dataclass
class Frame:
    """One snapshot of a dump, atoms in order of their ids: forces [natoms][3] in eV/A, energies [natoms] in eV or None."""

    step: int
    force: np.ndarray
    energy: np.ndarray | None


@dataclass
class Comparison:
    """Predicted against reference values of all frames: forces [n][3] (eV/A), energies [frames] (eV/atom; may be None)."""

    force_reference: np.ndarray
    force_predicted: np.ndarray
    energy_reference: np.ndarray | None
    energy_predicted: np.ndarray | None
    frames: int

    @property
    def force_rmse(self):
        """Root mean square over all force components, eV/A."""
        return rms(self.force_predicted - self.force_reference)

    @property
    def force_rms(self):
        """Root mean square of the reference's force components, eV/A."""
        return rms(self.force_reference)

    @property
    def energy_rmse(self):
        """Root mean square of the energy error over the frames, eV/atom; None without energies."""
        return None if self.energy_reference is None else rms(self.energy_predicted - self.energy_reference)

    def summary(self):
        """The lines that the command prints."""
        percent = 100 * self.force_rmse / self.force_rms
        lines = [f"frames                {self.frames}",
                 f"force RMSE            {self.force_rmse:.4f} eV/A = {percent:.2f} % of the rms force "
                 f"({self.force_rms:.3f} eV/A)"]
        if self.energy_rmse is not None:
            lines.append(f"energy RMSE           {1e3 * self.energy_rmse:.3f} meV/atom")
        return "\n".join(lines)


def rms(values):
    return float(np.sqrt(np.mean(np.square(values))))


def read_dump(path):
    """All frames of a dump."""
    frames = []
    with open(path) as file:
        while line := file.readline():
            if line.strip() != "ITEM: TIMESTEP":
                raise FileError(f"{path}: not a LAMMPS text dump: found '{line.strip()}' instead of 'ITEM: TIMESTEP'")
            frames.append(read_snapshot(path, file))
    if not frames:
        raise FileError(f"{path}: no frame in it")
    return frames


def read_snapshot(path, file):
    step = int(file.readline())
    natoms = columns = None
    while columns is None:
        line = file.readline()
        if not line:
            raise FileError(f"{path}: step {step}: the file ends inside a frame")
        if line.startswith("ITEM: NUMBER OF ATOMS"):
            natoms = int(file.readline())
        elif line.startswith("ITEM: ATOMS"):
            columns = line.split()[2:]
    missing = {"id", "fx", "fy", "fz"} - set(columns)
    if missing:
        raise FileError(f"{path}: step {step}: missing columns: {' '.join(sorted(missing))}")
    rows = [file.readline().split() for _ in range(natoms)]
    if any(len(row) != len(columns) for row in rows):
        raise FileError(f"{path}: step {step}: the file ends inside a frame")
    table = {name: [row[k] for row in rows] for k, name in enumerate(columns)}
    order = np.argsort(np.array(table["id"], dtype=np.int64))
    force = np.array([table["fx"], table["fy"], table["fz"]], dtype=float).T[order]
    energy = np.array(table["c_pe"], dtype=float)[order] if "c_pe" in table else None
    return Frame(step, force, energy)


def compare(reference_path, predicted_path):
    """The Comparison of two dumps of the same frames."""
    reference, predicted = read_dump(reference_path), read_dump(predicted_path)
    steps = [[(frame.step, len(frame.force)) for frame in frames] for frames in (reference, predicted)]
    if steps[0] != steps[1]:
        raise FileError(f"{reference_path} and {predicted_path} hold different frames: {describe(reference)} and "
                        f"{describe(predicted)}")

    def energies(frames):
        return np.array([frame.energy.mean() for frame in frames])

    with_energy = all(frame.energy is not None for frame in reference + predicted)
    return Comparison(np.concatenate([frame.force for frame in reference]),
                      np.concatenate([frame.force for frame in predicted]),
                      energies(reference) if with_energy else None,
                      energies(predicted) if with_energy else None, len(reference))


def describe(frames):
    return f"{len(frames)} frames from step {frames[0].step} to {frames[-1].step}"


def smooth(values, width):
    """Running mean over `width` points; fewer at both ends."""
    kernel = np.ones(width)
    return np.convolve(values, kernel, "same") / np.convolve(np.ones(len(values)), kernel, "same")


def new_figure(rows, columns, size, **options):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.rcParams.update({"font.size": 10, "axes.spines.top": False, "axes.spines.right": False,
                         "axes.titlesize": 10, "axes.grid": True, "grid.color": "#e3e3e3", "grid.linewidth": 0.6,
                         "axes.axisbelow": True})
    return plt.subplots(rows, columns, figsize=size, squeeze=False, layout="constrained", **options)


def plot_lcurve(path, output):
    """Draws the errors on the training batches and the learning rate against the training step."""
    curve = read_lcurve(path)
    shown = [name for name in CURVES if np.isfinite(curve.get(name + "_trn", np.nan)).any()]
    figure, axes = new_figure(len(shown) + 1, 1, (6.4, 1.2 + 1.9 * len(shown)), sharex=True,
                              height_ratios=[2] * len(shown) + [1])
    axes = axes[:, 0]
    step = curve["step"]
    for axis, name in zip(axes, shown):
        label, factor = CURVES[name]
        known = np.isfinite(curve[name + "_trn"])
        values, at = factor * curve[name + "_trn"][known], step[known]
        width = max(1, len(at) // 25)
        axis.plot(at, values, color=COLORS[name], alpha=0.3, linewidth=0.8, label="batch")
        mean = smooth(values, width)
        axis.plot(at, mean, color=COLORS[name], linewidth=1.8, label=f"mean of {width} points")
        axis.set_yscale("log")
        # single batches without error, such as an ideal lattice, shall not set the scale
        axis.set_ylim(bottom=max(values.min(), 0.1 * mean.min()) * 0.7)
        axis.set_ylabel(label)
        axis.legend(frameon=False, fontsize=8, loc="upper right", ncols=2)
    axes[-1].plot(step, curve["lr"], color=GRAY, linewidth=1.4)
    axes[-1].set_yscale("log")
    ends = sorted({float(curve["lr"].min()), float(curve["lr"].max())})
    axes[-1].set_yticks(ends, [f"{value:.1e}" for value in ends])
    axes[-1].set_yticks([], minor=True)
    axes[-1].set_ylabel("learning\nrate")
    axes[-1].set_xlabel("training step")
    axes[-1].set_xlim(step[0], max(step[-1], step[0] + 1))
    figure.align_ylabels(axes)
    figure.savefig(output, dpi=150)


def parity_panel(axis, reference, predicted, name, unit, color, size):
    low, high = min(reference.min(), predicted.min()), max(reference.max(), predicted.max())
    margin = 0.04 * (high - low) or 1.0
    limits = (low - margin, high + margin)
    axis.plot(limits, limits, color=GRAY, linewidth=0.8)
    axis.scatter(reference, predicted, s=size, color=color, alpha=0.35, linewidths=0, rasterized=True)
    axis.set_xlim(limits)
    axis.set_ylim(limits)
    axis.set_aspect("equal")
    axis.locator_params(nbins=6)
    axis.set_xlabel(f"reference {name} ({unit})")
    axis.set_ylabel(f"predicted {name} ({unit})")


def plot_parity(comparison, output):
    """Draws predicted against reference force components and, where the dumps have them, energies."""
    panels = 1 if comparison.energy_reference is None else 2
    figure, axes = new_figure(1, panels, (4.2 * panels, 4.3))
    parity_panel(axes[0, 0], comparison.force_reference.ravel(), comparison.force_predicted.ravel(),
                 "force", "eV/\u00c5", COLORS["rmse_f"], 5)
    percent = 100 * comparison.force_rmse / comparison.force_rms
    axes[0, 0].set_title(f"force RMSE {comparison.force_rmse:.3f} eV/\u00c5 ({percent:.1f} % of the rms force)")
    if panels == 2:
        parity_panel(axes[0, 1], comparison.energy_reference, comparison.energy_predicted, "energy", "eV/atom",
                     COLORS["rmse_e"], 24)
        axes[0, 1].set_title(f"energy RMSE {1e3 * comparison.energy_rmse:.2f} meV/atom")
    figure.savefig(output, dpi=150)


def main(arguments=None):
    """Command line. Returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m dptrain.plot", formatter_class=argparse.RawDescriptionHelpFormatter,
                                     description=__doc__)
    parser.add_argument("files", nargs="+", metavar="FILE", help="lcurve.out, or the reference's and the model's dump")
    parser.add_argument("-o", "--output", metavar="PNG", help="the figure (default: lcurve.png or parity.png)")
    options = parser.parse_args(arguments)
    if len(options.files) > 2:
        parser.error("give one file (learning curve) or two (reference and predicted dump)")
    try:
        if len(options.files) == 1:
            plot_lcurve(options.files[0], options.output or "lcurve.png")
        else:
            comparison = compare(*options.files)
            print(comparison.summary())
            plot_parity(comparison, options.output or "parity.png")
    except (FileError, OSError) as error:
        print(f"dptrain.plot: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
