"""Tables and figures of the part `labels`."""

from statistics import mean

from .tables import markdown, number

STYLES = {  # first word of a side: (color, marker)
    "power_spectrum": ("#c1272d", "o"), "se_e2_a": ("#e08e79", "s"), "nep": ("#7a3b8f", "v"), "SNAP": ("#1f5a94", "^"),
    "quadratic SNAP": ("#5b9bd5", "v"), "POD": ("#3a7d44", "D"), "DeePMD-kit": ("#444444", "P"), "torchnep": ("#8a6fb0", "X"),
    "ACE": ("#b8860b", "*")}
OURS = ("power_spectrum", "nep", "se_e2_a")
LATE = 1.5


def owner(name, points):
    """The side whose model a cost of MD belongs to: `power_spectrum, single` is one of `power_spectrum`."""
    return max((side for side in points if name.startswith(side)), key=len)


def title(side):
    """A side as it is called in a table or legend."""
    return f"this package, {side}" if side.startswith(OURS) else side


def style_of(side):
    return STYLES[next(name for name in sorted(STYLES, key=len, reverse=True) if side.startswith(name))]


def error_at(points, labels, budget=None, key="rmse_f"):
    """Mean over the seeds of an error with so many labels; of the largest budget, unless one is given. None: not measured, or
    not within LATE times the budget."""
    some, given = [p for p in points if p["labels"] == labels], budget is not None
    budgets = {p["budget"] for p in some}
    budget = max(budgets) if budget is None and None not in budgets and budgets else budget
    some = [p[key] for p in some if p["budget"] == budget and not (given and p["seconds"] > LATE * budget)]
    return mean(some) if some else None


def main_table(found):
    """One row for each cost of MD: errors with all labels, seconds of training, cost, and how many times that of ours."""
    rows = []
    for name, us in found["md"]["us_per_atom"].items():
        points = found["points"][owner(name, found["points"])]
        force = error_at(points, found["train"])
        seconds = error_at(points, found["train"], key="seconds") if points[0]["seconds"] is not None else None
        ratio = found["md"]["ratio"].get(name)
        rows.append([title(name), number(force), f"{100 * force / found['rms_force']:.2g} %",
                     number(1e3 * error_at(points, found["train"], key="rmse_e")), number(seconds) if seconds else "as published",
                     number(us["median"]), f"{ratio['median']:.3g} ({ratio['min']:.3g} .. {ratio['max']:.3g})" if ratio else "-"])
    return markdown(["side", "force error, eV/A", "of the rms force", "energy error, meV/atom", "training, s",
                     "MD, us/atom/step", "times the MD of ours, double"], rows)


def columns_of(found, which):
    """Values of `labels` at the smaller budget, or of `budget` with all labels, over all sides."""
    points = [p for side in found["points"].values() for p in side if p["budget"] is not None]
    if which == "labels":
        return sorted({p["labels"] for p in points})
    return sorted({p["budget"] for side, some in found["points"].items() for p in some
                   if p["labels"] == found["train"] and p["budget"] is not None})


def label_table(found):
    columns = columns_of(found, "labels")
    return markdown(["side", *(f"{n} labels" for n in columns)],
                    [[title(side), *(number(error_at(points, n)) for n in columns)] for side, points in found["points"].items()])


def seconds_table(found):
    columns = columns_of(found, "budget")
    return markdown(["side", *(f"{s:.3g} s" for s in columns)],
                    [[title(side), *(number(error_at(points, found["train"], s)) for s in columns)]
                     for side, points in found["points"].items() if len({p["budget"] for p in points}) > 1])


def snap_lines(datasets):
    """The comparison with `pair_style snap` and its published potentials, one row for each that there is."""
    rows = []
    for found in datasets:
        us, points = found["md"]["us_per_atom"], found["points"]
        for snap in ("SNAP", "quadratic SNAP"):
            if snap not in us or "power_spectrum" not in points:
                continue
            times = [[b / a for a, b in zip(us[f"power_spectrum, {p}"]["values"], us[snap]["values"])]
                     for p in ("double", "single")]
            error = error_at(points["power_spectrum"], found["train"]) / error_at(points[snap], found["train"])
            rows.append([found["name"], snap, *(f"{sorted(t)[len(t) // 2]:.1f} ({min(t):.1f} .. {max(t):.1f})" for t in times),
                         f"{error:.2f}"])
    return markdown(["data", "beside", "times faster, double", "times faster, single", "our force error / its"], rows)


def deepmd_table(datasets):
    names = list(dict.fromkeys(name for found in datasets for name in found["deepmd"]))
    return markdown(["model", *(found["name"] for found in datasets)],
                    [[name, *(number(found["deepmd"][name]["rmse_f"]) if name in found["deepmd"] else "-" for found in datasets)]
                     for name in names])


def tables(result):
    """The lines of the report."""
    datasets, seconds = result["datasets"], result["seconds"]
    yield "## Error against labels, seconds of training and cost of MD\n"
    yield (f"Root mean squares over the test frames. Every training has the same seconds of one processor core: {seconds:g} with "
           "all labels, a third of it with fewer; start-up does not count. POD and ACE have one direct solution and take what "
           "they take. SNAP has the published coefficients, which were fitted to the same training frames. MD on one core, in "
           "processor seconds, all sides in turn, range over the turns; `(ASE)`: from Python, where LAMMPS has no style for it. "
           "Errors of power_spectrum are means over two seeds.")
    for found in datasets:
        yield (f"\n### {found['name']}: {found['train']} training frames, {found['test']} test frames, cutoff {found['rcut']} A, "
               f"rms force {found['rms_force']:.3g} eV/A, MD of {found['md']['atoms']} atoms; {found['date']}\n")
        yield main_table(found)
        yield "\nForce error (eV/A) against labels:\n"
        yield label_table(found)
        yield (f"\nForce error (eV/A) against seconds of training, all labels (`-`: took more than {LATE:g} times as long, as with "
               "a table that grows or an epoch that is longer):\n")
        yield seconds_table(found)
    yield "\n### Beside SNAP in the same LAMMPS\n"
    yield snap_lines(datasets)
    yield (f"\n### DeePMD-kit's models\n\nForce error (eV/A) after {seconds:g} s with all labels; the best one on the test frames "
           "is the DeePMD-kit of the tables above. Models that were far behind on an earlier data set are not tried on the "
           "next:\n")
    yield deepmd_table(datasets)
    if result["missing"]:
        yield "\nLeft out, with the reason:\n"
        yield from (f"* {name}: {why}" for name, why in result["missing"].items())


def legend_below(figure, axes):
    """One legend for all axes; returns the part of the height that it takes."""
    entries = {}
    for axis in axes:
        entries.update(zip(*reversed(axis.get_legend_handles_labels())))
    width, height = figure.get_size_inches()
    columns = max(1, min(4, int(width / 2.3)))
    figure.legend(entries.values(), entries.keys(), fontsize=8, frameon=False, loc="lower center", ncol=columns)
    return (0.2 * -(-len(entries) // columns) + 0.15) / height


def legend_name(side):
    return title(side.split(",")[0]) if side.startswith("DeePMD-kit") else title(side)


def plain(axis):
    """Numbers without exponents on the force axis."""
    from matplotlib.ticker import LogLocator, NullFormatter

    axis.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axis.yaxis.set_minor_formatter(NullFormatter())
    axis.xaxis.set_minor_formatter(NullFormatter())
    axis.xaxis.set_major_formatter(lambda value, _: f"{value:g}")


def plot_labels(result, path, save):
    """Force error against labels (above) and against seconds with all labels (below), one column for each data set."""
    import matplotlib.pyplot as plt

    datasets = result["parts"]["labels"]["datasets"]
    figure, axes = plt.subplots(2, len(datasets), figsize=(3.1 * len(datasets), 6.2), squeeze=False)
    for found, (above, below) in zip(datasets, axes.T):
        for side, points in found["points"].items():
            color, marker = style_of(side)
            look = {"color": color, "marker": marker, "markersize": 5, "label": legend_name(side),
                    "linewidth": 2 if side == "power_spectrum" else 1}
            counts = sorted({p["labels"] for p in points})
            above.plot(counts, [error_at(points, n) for n in counts], **look)
            some = [p for p in points if p["labels"] == found["train"] and p["budget"] is not None and p["seed"] == 1]
            some.sort(key=lambda p: p["seconds"])
            below.plot([p["seconds"] for p in some], [p["rmse_f"] for p in some], **look)
        above.set(xscale="log", yscale="log", xlabel="labels", title=found["name"])
        below.set(xscale="log", yscale="log", xlabel="seconds of training, one core")
        plain(above)
        plain(below)
    for axis in axes[:, 0]:
        axis.set_ylabel("force error, eV/A")
    return save(figure, path, (0, legend_below(figure, axes.ravel()), 1, 1))


def plot_pareto(result, path, save):
    """Force error with all labels against the cost of MD, one panel for each data set."""
    import matplotlib.pyplot as plt

    datasets = result["parts"]["labels"]["datasets"]
    columns = 2 if len(datasets) > 1 else 1
    rows = -(-len(datasets) // columns)
    figure, axes = plt.subplots(rows, columns, figsize=(4.2 * columns, 3.3 * rows + 0.6), squeeze=False)
    for axis, found in zip(axes.ravel(), datasets):
        for name, us in found["md"]["us_per_atom"].items():
            side = owner(name, found["points"])
            color, marker = style_of(side)
            error = error_at(found["points"][side], found["train"])
            through_ase = name.endswith("(ASE)")
            axis.plot(us["median"], error, marker, color=color, markersize=9, linestyle="none",
                      fillstyle="none" if through_ase else "full",
                      label=legend_name(side) + (" (through ASE)" if through_ase else ""))
            if side in OURS:
                axis.annotate(name.split(", ")[-1], (us["median"], error), xytext=(0, -13), textcoords="offset points",
                              ha="center", fontsize=7, color=color)
        axis.set(xscale="log", yscale="log", title=found["name"])
        axis.margins(0.15)
        axis.grid(True, which="major", linewidth=0.3)
        plain(axis)
    for axis in axes.ravel()[len(datasets):]:
        axis.set_axis_off()
    for axis in axes[-1]:
        axis.set_xlabel("MD on one core, us/atom/step")
    for axis in axes[:, 0]:
        axis.set_ylabel("force error, eV/A")
    return save(figure, path, (0, legend_below(figure, axes.ravel()), 1, 1))
