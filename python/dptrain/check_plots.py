"""Figures of ``dptrain check``, as PNG."""

from __future__ import annotations

import io

import numpy as np

from dptrain.figures import GRAY, PALETTE, new_figure

NAMES = ("model", "reference")
STYLES = ({"color": PALETTE[0], "linewidth": 1.8, "zorder": 3}, {"color": PALETTE[1], "linewidth": 1.4, "linestyle": "--", "zorder": 2})


def png(figure):
    """The figure as the bytes of a file; it is closed."""
    import matplotlib.pyplot as plt

    out = io.BytesIO()
    figure.savefig(out, format="png", dpi=110)
    plt.close(figure)
    return out.getvalue()


def sides_of(found):
    """(what was found, name, style) of each side that has it."""
    return [(one, name, style) for one, name, style in zip(found, NAMES, STYLES) if one is not None]


def plot_dimers(curves):
    """{pair: Curve of each side}"""
    figure, axes = new_figure(len(curves), 2, (8.0, 2.7 * len(curves)))
    for (near, whole), (pair, found) in zip(axes, curves.items()):
        for curve, name, style in sides_of(found):
            near.plot(curve.distances, curve.energies, label=name, **style)
            whole.plot(curve.distances, curve.energies, label=name, **style)
        depth = max(1.0, -min(curve.energies[curve.distances > 1.0].min() for curve in found if curve is not None))
        near.set(title=pair, xlabel="distance (\u00c5)", ylabel="energy (eV)", ylim=(-1.2 * min(depth, 20.0), 2.0 * min(depth, 20.0)))
        whole.set(title=pair, xlabel="distance (\u00c5)", ylabel="energy (eV)")
        whole.set_yscale("symlog", linthresh=1.0)
        near.legend(frameon=False)
    return png(figure)


def plot_cells(found):
    """Energies, and error bars of the model where it has any, of Squeezed cells."""
    bars = found[0].bars
    figure, axes = new_figure(1, 1 if bars is None else 2, (4.2 if bars is None else 8.0, 3.0))
    axis = axes[0, 0]
    for squeezed, name, style in sides_of(found):
        axis.plot(squeezed.volumes, squeezed.energies - squeezed.energies[len(squeezed.energies) // 2], label=name, **style)
    axis.axhline(0.0, color=GRAY, linewidth=0.8)
    axis.set(xlabel="volume (\u00c5$^3$/atom)", ylabel="energy (eV/atom)", title="energy, less that of the relaxed cell")
    axis.legend(frameon=False)
    if bars is not None:
        axes[0, 1].plot(found[0].volumes, bars, **STYLES[0])
        axes[0, 1].set(xlabel="volume (\u00c5$^3$/atom)", ylabel="largest error bar (eV/\u00c5)", yscale="log",
                       title="error bars of the model's forces")
    return png(figure)


def plot_modes(found):
    """Frequencies in THz of each side, in their order."""
    figure, axes = new_figure(1, 1, (5.0, 3.0))
    axis = axes[0, 0]
    for k, (frequencies, name, style) in enumerate(sides_of(found)):
        axis.plot(1 + np.arange(len(frequencies)), frequencies, "os"[k], markersize=4, label=name, color=style["color"], zorder=style["zorder"],
                  fillstyle="full" if k == 0 else "none")
    axis.axhline(0.0, color=GRAY, linewidth=0.8)
    axis.set(xlabel="mode", ylabel="frequency (THz)", title="frequencies at Gamma; imaginary ones are negative")
    axis.legend(frameon=False)
    return png(figure)


def plot_course(trajectories):
    """Of each side its {ensemble: {quantity: array}}, time in ps: density of NPT, temperature of all, energy of NVE."""
    panels = [("density", "density (g/cm$^3$)", ("NPT",)), ("temperature", "temperature (K)", ("NPT", "NVT", "NVE")),
              ("energy", "energy (meV/atom), less its mean", ("NVE",))]
    panels = [panel for panel in panels if any(name in runs for runs in trajectories if runs for name in panel[2])]
    figure, axes = new_figure(1, len(panels), (3.6 * len(panels), 2.9))
    for axis, (quantity, label, ensembles) in zip(axes[0], panels):
        for runs, name, style in sides_of(trajectories):
            for number, ensemble in enumerate(ensemble for ensemble in ensembles if ensemble in runs):
                axis.plot(runs[ensemble]["time"], runs[ensemble][quantity], label=name if number == 0 else None, **{**style, "linewidth": 0.9})
        axis.set(xlabel="time (ps)", title=label + (", NPT" if quantity == "density" else ", NVE" if quantity == "energy" else ""))
    axes[0, 0].legend(frameon=False)
    return png(figure)


def plot_rdf(pairs, profiles):
    """Radial distribution functions of each side: {pair: (r, g)}."""
    columns = min(3, len(pairs))
    rows = -(-len(pairs) // columns)
    figure, axes = new_figure(rows, columns, (max(3.2 * columns, 4.5), 2.8 * rows))
    for axis, pair in zip(axes.flat, pairs):
        for profile, name, style in sides_of(profiles):
            axis.plot(*profile[pair], label=name, **style)
        axis.set(title=pair, xlabel="distance (\u00c5)", ylabel="g(r)", ylim=(0, None))
    for axis in axes.flat[len(pairs):]:
        axis.remove()
    axes[0, 0].legend(frameon=False)
    return png(figure)
