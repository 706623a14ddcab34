"""The picture of ``dptrain demo``: what was learned, how good it is, what it knows of its errors, when it asked."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dptrain.dumps import Comparison
from dptrain.figures import GRAY, PALETTE, REASONS, new_figure, save_figure, some_of

PART_COLORS = {"melt": PALETTE[1], "crystal": PALETTE[0]}  # in the order in which they are drawn


@dataclass
class Findings:
    """What a run has learned, and its tests.

    events, course: as read_events and read_course give them. For "crystal" and "melt": tests, the values on trajectories of the
    reference; largest, the expected and the true largest force error of an atom in each of their frames. rdf_...: rows r and g(r).
    """

    events: dict
    course: dict
    tests: dict[str, Comparison]
    largest: dict[str, tuple]
    rdf_learned: np.ndarray
    rdf_reference: np.ndarray

    @property
    def over_expected(self):
        """Root mean square of true over expected largest errors."""
        expected, true = (np.concatenate(values) for values in zip(*self.largest.values()))
        return float(np.sqrt(np.mean((true / expected)**2)))


def force_panel(axis, tests):
    """Force components of the potential against those of the reference."""
    bound = 1.05 * max(np.abs(test.force_reference).max() for test in tests.values())
    axis.plot((-bound, bound), (-bound, bound), color=GRAY, linewidth=0.8)
    for part, color in PART_COLORS.items():
        test = tests[part]
        reference, predicted = test.force_reference.ravel(), test.force_predicted.ravel()
        drawn = some_of(len(reference))
        percent = 100 * test.force_rmse / test.force_rms
        axis.scatter(reference[drawn], predicted[drawn], s=4, color=color, alpha=0.4, linewidths=0, rasterized=True,
                     label=f"{part}: error {percent:.1f} %")
    axis.set(xlim=(-bound, bound), ylim=(-bound, bound), aspect="equal", xlabel="force, reference (eV/\u00c5)",
             ylabel="force, learned (eV/\u00c5)", title="Forces on frames never seen")
    axis.locator_params(nbins=5)
    axis.legend(frameon=False, fontsize=9, loc="upper left", markerscale=3, handletextpad=0.2, borderpad=0)


def rdf_panel(axis, learned, reference):
    """Radial distribution functions of the melt."""
    axis.plot(*reference, color="0.7", linewidth=5, label="reference")
    axis.plot(*learned, color=PALETTE[1], linewidth=1.6, label="learned")
    axis.set(xlabel="distance (\u00c5)", ylabel="g(r)", xlim=(1.5, 5), ylim=(0, None), box_aspect=1, title="Structure of the melt, 512 atoms")
    axis.legend(frameon=False, fontsize=9)


def expectation_panel(axis, largest):
    """True against expected largest force error of each frame."""
    values = np.concatenate([np.concatenate(pair) for pair in largest.values()])
    limits = values.min() / 1.5, values.max() * 1.5
    axis.fill_between(limits, np.divide(limits, 2), np.multiply(limits, 2), color="0.92", linewidth=0, label="within a factor of 2")
    axis.plot(limits, limits, color=GRAY, linewidth=0.8)
    for part, color in PART_COLORS.items():
        axis.scatter(*largest[part], s=14, color=color, alpha=0.6, linewidths=0, label=part)
    axis.set(xscale="log", yscale="log", xlim=limits, ylim=limits, aspect="equal", xlabel="expected (eV/\u00c5)", ylabel="true (eV/\u00c5)",
             title="Largest force error of a frame")
    ticks = [factor * 10.0**power for power in range(-6, 4) for factor in (1, 2, 5)]
    ticks = [tick for tick in ticks if limits[0] <= tick <= limits[1]]
    for scale in (axis.xaxis, axis.yaxis):
        scale.set_ticks(ticks, [f"{tick:g}" for tick in ticks])
        scale.set_ticks([], minor=True)
    axis.legend(frameon=False, fontsize=9, loc="upper left", handletextpad=0.4, borderpad=0)


def asking_panel(axis, events, course):
    """The temperature, and the steps at which the reference was asked, by the reason."""
    picoseconds = 1e-3
    axis.plot(picoseconds * course["step"], course["temp"], color="0.6", linewidth=1.4)
    steps, temperatures = events["step"], np.interp(events["step"], course["step"], course["temp"])
    names = {"early": "there is no potential yet", "threshold": "it does not know enough", "limit": "it knows nothing of this",
             "wall": "atoms were never so close", "audit": "random checks"}
    for why, name in names.items():
        asked = events["why"] == why
        if asked.any():
            axis.scatter(picoseconds * steps[asked], temperatures[asked], s=34, color=REASONS[why], edgecolors="white", linewidths=0.6,
                         label=f"{name} ({asked.sum()})", zorder=3)
    axis.set(xlabel="time (ps)", ylabel="temperature (K)", xlim=(-0.01 * picoseconds * course["step"][-1], None), ylim=(0, None),
             title=f"When it asked the reference: {events['frames'][-1]:.0f} labels ({events['calls'][-1]:.0f} of {course['step'][-1]:.0f} steps)")
    axis.legend(frameon=False, fontsize=9, loc="upper left")


def plot_demo(found, output):
    """One figure of all Findings."""
    figure, axes = new_figure(2, 3, (9.6, 6.4), height_ratios=[1.25, 1])
    force_panel(axes[0, 0], found.tests)
    rdf_panel(axes[0, 1], found.rdf_learned, found.rdf_reference)
    expectation_panel(axes[0, 2], found.largest)
    grid = axes[1, 0].get_gridspec()
    for axis in axes[1]:
        axis.remove()
    asking_panel(figure.add_subplot(grid[1, :]), found.events, found.course)
    save_figure(figure, output, dpi=100)
