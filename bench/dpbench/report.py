"""Markdown tables of the results. Times are medians; ratios are peer / ours, so larger than 1 means that we are faster."""

from . import labels_report
from .inference import PEERS as MD_PEERS
from .inference import SWEPT
from .settings import OURS
from .tables import markdown, number
from .training import PEERS as STEP_PEERS


def spread(entry):
    """median (smallest .. largest)"""
    return f"{number(entry['median'])} ({number(entry['min'])} .. {number(entry['max'])})"


def ratio(entry):
    return f"**{entry['median']:.2f}** ({entry['min']:.2f} .. {entry['max']:.2f})" if entry else "-"


def times(found, names):
    """The cells of a row, empty where a side was not measured."""
    return [spread(found[n]) if n in found else "" for n in names]


WAYS = ("`ranks`: as many MPI ranks with one thread each as there are cores, `threads`: one rank with as many threads; "
        "ratios are those to the better of the two.")


def inference_tables(rows):
    yield "## MD step: us per atom and step\n"
    header = ["net", "precision", "atoms", *OURS, *MD_PEERS, "best of the peer / ours"]
    yield markdown(header, [[r["net"], r["precision"], r["atoms"], *times(r["us_per_atom"], [*OURS, *MD_PEERS]),
                             ratio(r["ratio"].get(r["peer_best"]))] for r in rows])
    yield "\n" + WAYS
    if any("agreement" not in r for r in rows):
        yield (f"\nOf the peer only {', '.join(SWEPT)} was measured at each number of atoms: where the other columns are empty "
               "it stands for the best of the peer.")
    full = [r for r in rows if "agreement" in r]
    if full:
        yield "\nEach side of the peer / ours:\n"
        yield markdown(["net", "precision", "atoms", *MD_PEERS],
                       [[r["net"], r["precision"], r["atoms"], *(ratio(r["ratio"].get(n)) for n in MD_PEERS)] for r in full])
        yield "\nSame model? Largest difference of a force component from ours, eV/Angstrom (energy, eV per atom):\n"
        yield markdown(["net", "precision", *MD_PEERS],
                       [[r["net"], r["precision"],
                         *(f"{d['force']:.1e} ({d['energy_per_atom']:.1e})" for d in map(r["agreement"].get, MD_PEERS))]
                        for r in full])


def training_tables(rows):
    yield "## Training step (Adam, batch of one frame with 192 atoms): seconds\n"
    yield markdown(["net", "precision", *OURS, *STEP_PEERS, *(f"{n} / ours" for n in STEP_PEERS)],
                   [[r["net"], r["precision"], *times(r["seconds"], [*OURS, *STEP_PEERS]),
                     *(ratio(r["ratio"][n]) for n in STEP_PEERS)] for r in rows])
    yield "\n" + WAYS


def seconds_text(seconds, reached):
    return number(seconds) if reached else f"not in {number(seconds)}"


def accuracy_tables(result):
    yield f"## Seconds of training to a force error on {result['valid_frames']} validation frames\n"
    yield markdown(["eV/Angstrom", "ours", "s", "best of the peer", "s", "peer / ours"],
                   [[f"{r['target']:.2f}", r["ours"], seconds_text(r["our_seconds"], r["our_reached"]), r["peer"],
                     seconds_text(r["peer_seconds"], r["peer_reached"]),
                     "-" if r["ratio"] is None else f"**{'' if r['peer_reached'] else '> '}{r['ratio']:.1f}**"]
                    for r in result["rows"]])
    yield ("\nThe best of each side is chosen anew for each line. Where the peer does not get there, the time of its whole "
           "run counts, a lower bound.\n")
    yield markdown(["configuration", "steps", "seconds", "last force error, eV/A", "last energy error, meV/atom"],
                   [[name, c[-1]["step"], number(c[-1]["seconds"]), f"{c[-1]['rmse_f']:.4f}",
                     number(1e3 * c[-1]["rmse_e"])] for side in ("ours", "peers") for name, c in result[side].items()])
    pair = result["pair"]
    if len(pair["runs_ours"]) > 1 and pair["ratio"]:
        yield f"\nPairs with other seeds, {pair['peer']} / {pair['ours']}:\n"
        yield markdown(["eV/Angstrom", "peer / ours", "pairs"],
                       [[target, ratio(entry), len(entry["values"])] for target, entry in pair["ratio"].items()])


def minutes_tables(result):
    yield "## Three minutes from nothing: program, data, statistics and validations included\n"
    yield markdown(["configuration", "seconds", "steps", "force error, eV/A", "energy error, meV/atom"],
                   [[result["config"], number(result["elapsed"]), f"{result['steps']} of {result['of_steps']}",
                     f"{result['rmse_f']:.4f}", number(1e3 * result["rmse_e"])]])


def md_table(first, rows):
    """MD times of rows, whose leading cells are given by `first` {header: function of the row}."""
    names = list(dict.fromkeys(name for row in rows for name in row["us_per_atom"]))
    return markdown([*first, *names, "peer / ours"],
                    [[*(cell(r) for cell in first.values()), *times(r["us_per_atom"], names),
                      ratio(r["ratio"].get(r["peer_best"]))] for r in rows])


def scaling_tables(result):
    yield "## Cost against cores, neighbors, knots (standard net)\n"
    yield "us per atom and step, double, 1536 atoms:\n"
    yield md_table({"cores": lambda r: r["ranks"]}, result["cores"])
    yield ""
    yield md_table({"cutoff, A": lambda r: r["rcut"], "sel": lambda r: "/".join(map(str, r["sel"]))}, result["neighbors"])
    yield "\nKnots of the table (the default is auto), difference of forces from a table of 4096 knots in double:\n"
    yield markdown(["precision", "knots", "us/atom/step", "force, eV/A"],
                   [[r["precision"], r["knots"], number(r["us_per_atom"]), f"{r['force_error']:.1e}"] for r in result["knots"]])


def kernel_tables(results):
    yield "## Single operations on one core\n"
    yield ("`of the roofline`: time of the matrix products of the fitting net at the fastest product measured here, "
           "divided by the time of the whole operation.\n")
    for result in results:
        peaks = ", ".join(f"{p} {number(v)} GFLOP/s" for p, v in result["peak_gflops"].items() if v)
        yield f"\nNet {result['net']}; fastest matrix product: {peaks}\n"
        yield markdown(["operation", "time", "speed", "of the roofline"],
                       [[r["name"], f"{number(1e6 * r['seconds'])} us",
                         next((f"{number(r[k])} {k}" for k in ("GFLOP/s", "us/atom", "ns/parameter") if k in r), ""),
                         f"{100 * r['of_roofline']:.0f} %" if "of_roofline" in r else ""] for r in result["rows"]])
        shares = [f"{p} {100 * share:.1f} %" for p, share in result["adam_share"].items() if share]
        if shares:
            yield f"\nAdam's part of a training step (both passes, tables, Adam; one frame, one core): {', '.join(shares)}\n"


def statistics_tables(result):
    yield "## Neighbor statistics of data sets: seconds from the start of the program to its end\n"
    yield ("Ours is `dptrain stat`, which computes davg, dstd and the energy bias too; the peer is `dp neighbor-stat`. Ratios "
           "are those to the better of ours.\n")
    names = list(result["rows"][0]["seconds"])
    peers = list(result["rows"][0]["ratio"])

    def cell(row, name):
        end = row["end"][name]
        return f"{end} ({number(row['seconds'][name]['median'])})" if end else spread(row["seconds"][name])

    def times_ours(row, name):
        return "-" if row["end"][name].startswith(("out", "failed")) else \
            ("> " if row["end"][name] else "") + ratio(row["ratio"][name])

    yield markdown(["data", *names, *(f"{n} / ours" for n in peers)],
                   [[r["data"], *(cell(r, n) for n in names), *(times_ours(r, n) for n in peers)] for r in result["rows"]])
    if any(any(r["end"].values()) for r in result["rows"]):
        yield (f"\nA run of the peer may take {result['limit']:.0f} s and {number(result['memory_gib'])} GiB; it holds the vectors "
               "between all atoms and all their images in the 27 cells around a frame.")
    yield "\nEach further frame of 1536 atoms takes: " + \
        ", ".join(f"{n} {number(1e3 * s)} ms" for n, s in result["per_frame"].items()) + "."
    if result["estimates"]:
        yield "\nWith memory enough, the largest frames would take by that cost, which goes with the square of the atoms: " + \
            ", ".join(f"{n} about {number(e['seconds'])} s ({number(e['ratio'])} times ours)"
                      for n, e in result["estimates"].items()) + "."
    yield "\nResident memory of the largest process, MiB:\n"
    yield markdown(["data", *names], [[r["data"], *(number(r["peak"][n] / 2**20, 4) for n in names)] for r in result["rows"]])
    yield "\nOurs with generated data sets of different size:\n"
    ranks = list(result["sizes"][0]["seconds"])
    yield markdown(["size, GB", "frames of 192 atoms", *(f"{n} ranks, s" for n in ranks), "memory of a rank, MiB"],
                   [[number(r["gigabytes"]), r["frames"], *(number(r["seconds"][n]) for n in ranks),
                     number(max(r["peak"].values()) / 2**20, 4)] for r in result["sizes"]])


def curve_tables(result):
    yield "## Learning curves: `dptrain train` beside `dp train` (PyTorch), the same input, float64\n"
    yield (f"{result['seeds']} seeds each, {result['steps']:.0f} steps of the standard net; geometric means over the rows of a fifth "
           "of the steps and over the seeds. t: difference of the logarithms in units of what the scatter between the seeds "
           "lets expect; curves of one distribution give values of about 1, rarely more than 3.\n")
    yield markdown(["error", "part of the steps", "ours", "DeePMD-kit", "t"],
                   [[r["column"], r["block"] + 1, number(r["ours"]), number(r["peer"]), f"{r['t']:.1f}"] for r in result["rows"]])


def uncertainty_tables(result):
    yield "## Uncertainty of atoms: which forces are wrong?\n"
    yield (f"Silicon, Stillinger-Weber as the reference; {result['frames']} frames of each trajectory. AUC: chance that an atom "
           "with a force error above the threshold has a higher score than one below it. Caught: part of the atoms above it "
           f"whose score is above that of all but {100 * result['false_alarms']:.0f} % of the others. Spearman: rank correlation "
           "of score and error. Added: time of an MD step that the score costs, in steps of the model alone.\n")
    names, cost = list(result["curves"]), result["cost"]
    text = lambda value: "-" if value is None else f"{value:.3f}"  # noqa: E731
    yield markdown(["trajectory", "rms error, eV/A", "threshold, eV/A", "atoms above", *(f"AUC, {n}" for n in names),
                    *(f"caught, {n}" for n in names)],
                   [[trajectory, number(result["errors"][trajectory]["rms"]) if trajectory in result["errors"] else "",
                     threshold, f"{100 * next(iter(found.values()))['thresholds'][threshold]['part']:.1f} %",
                     *(text(found[n]["thresholds"][threshold][key]) for key in ("auc", "caught") for n in names)]
                    for trajectory, found in result["merits"].items() for threshold in next(iter(found.values()))["thresholds"]])
    yield ""
    yield markdown(["score", *(f"Spearman, {t}" for t in result["merits"]), "us/atom/step", "added"],
                   [[n, *(text(found[n]["spearman"]) if n in found else "" for found in result["merits"].values()),
                     spread(cost["us_per_atom"][n]), ratio(cost["added"][n])] for n in cost["added"]])


def active_tables(result):
    yield "## Active learning beside random choice: force errors on an independent run of the reference, eV/Angstrom\n"
    names = list(result["rows"][0]["errors"])
    base = "active, from scratch"
    yield markdown(["system", "seed", "labels", "rms force", *names],
                   [[r["system"], r["seed"], r["frames"], number(r["rms"]), *(number(r["errors"][n]["rmse_f"]) for n in names)]
                    for r in result["rows"]])
    yield ("\n`end of the run`: the model that the run ends with. `passive`: the model at the end of another run of the reference, "
           "during which so many frames, at equal distances in time, were learned with as many optimizer steps each. "
           f"`from scratch`: `dptrain train`, {result['train_steps']} steps on the labels of the run; `random`: the same on frames "
           f"drawn at random from that other run. Ratios to `{base}`, above 1 where active learning is better; energies in brackets:\n")
    yield markdown(["system", "seed", *(n for n in names if n != base)],
                   [[r["system"], r["seed"],
                     *("{:.2f} ({:.2f})".format(*(r["errors"][n][q] / r["errors"][base][q] for q in ("rmse_f", "rmse_e")))
                       for n in names if n != base)] for r in result["rows"]])
    yield "\nThe learning runs:\n"
    yield markdown(["system", "seed", "threshold", "steps", "reference calls", "%", "audits", "above the threshold", "above three"],
                   [[r["system"], r["seed"], r["threshold"], r["steps"], r["calls"], f"{100 * r['calls'] / r['steps']:.2f}",
                     r["audits"], r["audits_above"], r["audits_far_above"]] for r in result["rows"]])


def asynchronous_tables(result):
    first = result["rows"][0]
    yield (f"## A run that goes on while its reference computes ({first['label_seconds']:g} s a label, {first['steps']} steps)\n")
    names = list(first["sides"])
    yield markdown(["seed", "run", "seconds", "of these early", "waiting after that, %", "labels", "calls", "rmse of forces, eV/A"],
                   [[row["seed"], name, *(number(side[k]) for k in ("seconds", "early_seconds")), f"{100 * side['idle']:.0f}",
                     side["frames"], side["calls"], number(side["rmse_f"])] for row in result["rows"] for name, side in row["sides"].items()])
    yield f"\nSeconds and errors over those of `{names[0]}`:\n"
    yield markdown(["seed", "run", "seconds", "error"],
                   [[row["seed"], name, *(f"{row['sides'][name][k] / row['sides'][names[0]][k]:.2f}" for k in ("seconds", "rmse_f"))]
                    for row in result["rows"] for name in names[1:]])


def rank_tables(result):
    yield "## Training on many ranks\n"
    yield (f"Seconds only where there is a core for each rank ({result['cores']}); calls and bytes of the rank that sends most, for "
           "each step.\n\nOne frame, divided by space:\n")
    cells = [lambda r: r["ranks"], lambda r: number(r.get("seconds")),
             lambda r: f"{100 * r['reduction']:.1f}" if r.get("reduction") and r["ranks"] > 1 else "", lambda r: number(r["calls"]),
             lambda r: number(r["bytes"] / 1e6), lambda r: number(r["optimizer_bytes"] / 1e6),
             lambda r: number(r["frames_bytes"] / 1e6)]
    names = ["ranks", "s/step", "of it gradient and parameters, %", "calls", "MB sent", "optimizer, MB", "frame, MB"]
    yield markdown(["net", "atoms", *names], [[r["net"], r["atoms"], *(c(r) for c in cells)] for r in result["strong"]])
    yield "\nBatches of frames of 192 atoms (small net), by space and by frames:\n"
    yield markdown(["study", "frames in a batch", "distribute", *names],
                   [[r["study"], r["batch"], r["distribute"], *(c(r) for c in cells)]
                    for r in sorted(result["weak"], key=lambda r: (r["study"], r["distribute"], r["ranks"]))])
    yield "\nWhat compression saves, and the force error on the validation frames after equal steps:\n"
    plain = {r["net"]: r for r in result["compression"] if r["compress"] == "none"}
    yield markdown(["net", "compress", "kB sent", "less by", "optimizer, MB", "steps", "eV/A", "worse by, %", "eV/A of each seed"],
                   [[r["net"], r["compress"], number(r["bytes"] / 1e3), f"{plain[r['net']]['bytes'] / r['bytes']:.1f}x",
                     number(r["optimizer_bytes"] / 1e6), r["steps"], f"{r['rmse_f']:.4f}",
                     f"{100 * (r['rmse_f'] / plain[r['net']]['rmse_f'] - 1):.1f}",
                     ", ".join(f"{e:.4f}" for e in r["rmse_f_by_seed"])] for r in result["compression"]])
    yield ("\nA model of the time, t = fixed + atoms * work / ranks + calls * latency + bytes / bandwidth (assumptions: "
           "`bench/dpbench/ranks.py`), and the largest number of ranks at which half of each rank's time is work:\n")
    fits = result["model"]
    atoms = list(fits[0]["ends"])
    yield markdown(["net", "fixed, ms", "work, us/atom", "latency, us", "bandwidth, GB/s", "model / measured",
                    *(f"{n} atoms" for n in atoms)],
                   [[f["net"], number(1e3 * f["fixed"]), number(1e6 * f["work"]), number(1e6 * f["latency"]),
                     number(1e-9 / f["inverse_bandwidth"] if f["inverse_bandwidth"] else None),
                     number(f["check"]["model"] / f["check"]["measured"]), *(f["ends"][n] for n in atoms)] for f in fits])


def mebibytes(value):
    return number(value / 2**20)


def memory_limits(result):
    """For each side of the peer the largest frame that it trained on, and why not on the next one."""
    for name, rows in result["peers"].items():
        ended = max(r["atoms"] for r in rows if not r["end"])
        failed = min((r for r in rows if r["end"]), key=lambda r: r["atoms"], default=None)
        yield f"{name} trains on {ended} atoms" + (f", not on {failed['atoms']} ({failed['end']})" if failed else "")


def memory_tables(result):
    yield "## Memory of training on one frame, MiB (standard net, double)\n"
    ranks = sorted({r["ranks"] for r in result["ours"]})
    ours = {(r["ranks"], r["atoms"]): r for r in result["ours"]}
    peers = {name: {r["atoms"]: r for r in rows} for name, rows in result["peers"].items()}
    cells = {"frame": lambda r: mebibytes(r["frame"]), "largest": lambda r: mebibytes(r["peak"]),
             "beyond the frame": lambda r: mebibytes(r["peak"] - r["frame"]), "s/step": lambda r: number(r["seconds_per_step"])}
    some = lambda cell, row: cell(row) if row else ""  # noqa: E731
    peer_cell = lambda r: r["end"] or mebibytes(r["peak"])  # noqa: E731
    atoms = sorted({n for _, n in ours} | {n for rows in peers.values() for n in rows})
    yield markdown(["atoms", *(f"{c}, {n} {'rank' if n == 1 else 'ranks'}" for n in ranks for c in cells), *peers],
                   [[n, *(some(cell, ours.get((k, n))) for k in ranks for cell in cells.values()),
                     *(some(peer_cell, rows.get(n)) for rows in peers.values())] for n in atoms])
    yield ("\nOurs: all ranks together, with the program and its libraries; `frame`: coordinates, labels, neighbor rows and halo, "
           "those of the rank that has most times the ranks. s/step: the last of a few steps, of the largest frame the only one. "
           "The peer: the largest process of `dp train`, which may hold "
           f"{mebibytes(result['bound'])} MiB and take {result['limit']:.0f} s.")
    yield "\n" + "; ".join(memory_limits(result)) + ".\n"
    yield from option_tables(result["options"])


def option_tables(rows):
    yield ("What options save: a batch of 8 frames of 1536 atoms, MiB; of each purpose the rank that has most, of all processes "
           "together the largest sum. `none`: distribute auto, double, Adam, chunk auto:\n")
    purposes = ("frames", "neighbor rows", "residuals", "workspace", "tables", "optimizer", "gradient")
    yield markdown(["option", "ranks", *purposes, "all processes", "s/step"],
                   [[r["option"], r["ranks"], *(mebibytes(r[p]) for p in purposes), mebibytes(r["peak"]), number(r["seconds"])]
                    for r in rows])


def script_tables(result):
    yield "## TorchScript potentials (.pth of DeePMD-kit) in LAMMPS\n"
    sides = sorted({name for row in result["times"] for name in row["us_per_atom"]}, key=len)
    time = lambda row, side: number(row["us_per_atom"][side]["median"]) if side in row["us_per_atom"] else ""  # noqa: E731
    yield markdown(["descriptor", "atoms", *(f"{s}, us/atom/step" for s in sides), "deepmd / dptrain"],
                   [[row["descriptor"], row["atoms"], *(time(row, s) for s in sides), number(row["ratio"]["deepmd"]["median"])]
                    for row in result["times"]])
    yield "\nLargest memory of one evaluation on one rank, MiB:\n"
    peak = lambda row, side: (row[side]["end"] or mebibytes(row[side]["peak"])) if side in row else ""  # noqa: E731
    yield markdown(["descriptor", "atoms", *sides], [[row["descriptor"], row["atoms"], *(peak(row, s) for s in sides)]
                                                     for row in result["memory"]])
    yield (f"\n`native no`: a se_e2_a archive through LibTorch instead of the native kernels. Every process may hold "
           f"{mebibytes(result['bound'])} MiB; a side that has failed is not tried with more atoms.\n")


def script_training_tables(rows):
    yield "## Training TorchScript potentials (.pth of DeePMD-kit), beside dp --pt train\n"
    sides = list(rows[0]["seconds"])
    yield markdown(["descriptor", "atoms", *(f"{s}, s/step" for s in sides), "PyTorch / dptrain"],
                   [[row["descriptor"], row["atoms"], *(number(row["seconds"][s]["median"]) for s in sides), number(row["ratio"]["PyTorch"]["median"])]
                    for row in rows])


TABLES = {"inference": inference_tables, "training": training_tables, "accuracy": accuracy_tables, "minutes": minutes_tables,
          "scaling": scaling_tables, "kernels": kernel_tables, "statistics": statistics_tables,
          "curves": curve_tables, "uncertainty": uncertainty_tables, "active": active_tables, "asynchronous": asynchronous_tables,
          "ranks": rank_tables,
          "memory": memory_tables, "torchscript": script_tables, "torchscript_training": script_training_tables,
          "labels": labels_report.tables}


def facts(entry):
    """What was measured where, for one part."""
    hardware, sources = entry["hardware"], entry["sources"]
    yield f"* {entry['date']}, commit {sources['commit'][:12]}" + \
          (f" and {sources['changed_files']} changed files" if sources["changed_files"] else "")
    yield f"* {hardware['processor']}, {hardware['cores']} cores, {hardware['memory_gib']} GiB, " \
          f"{'/'.join(hardware['vector_extensions'])}, GPU: {hardware['gpu']}, {hardware['system']}"
    yield f"* load of the machine before the start: {entry['load_before']}; {entry['repeats']} runs of each side in turn, " \
          f"{entry['cores']} cores for each side: MD of the peer on {entry['cores']} MPI ranks with one thread each, its " \
          f"training in one process with {entry['cores']} threads"
    for name, versions in entry["versions"].items():
        yield f"* {name}: " + ", ".join(f"{k} {v}" for k, v in versions.items())


def document(result):
    """The whole report: for each part its tables, then the facts that they belong to."""
    trial = any(entry["quick"] for entry in result["facts"].values())
    lines = [f"# Benchmark beside DeePMD-kit{': TRIAL, no measurement' if trial else ''}", ""]
    for part, tables in TABLES.items():
        if result["parts"].get(part):
            entry = result["facts"][part]
            lines += [*tables(result["parts"][part]), "", f"Measured (`{part}`):", "", *facts(entry), ""]
    return "\n".join(lines).rstrip() + "\n"
