"""Part gpu: what gpu-check (tools/gpu-kit) has measured on a machine with a GPU, read from its report."""

import json
import re

from .errors import BenchError
from .gpu_forecast import GPUS, Model, forecast
from .models import NETS
from .tables import markdown, number

# us per atom and step of MD of water with DP, as its authors have published it
PUBLISHED = {"program": "deepmd-jax, DP of water, RTX 4090, as published by its authors", "us_per_atom_step": 0.39}
STATISTICS = "neighbor statistics (on the host)"
KINDS = {"md": ("net", "precision", "atoms", "steps", "us_per_atom_step"),
         "training": ("net", "precision", "atoms", "ranks", "ms_per_step"),
         STATISTICS: ("atoms", "ms_per_frame"),
         "kernel": ("of", "kernel", "share", "launches"),
         "agreement": ("net", "precision", "quantity", "difference", "allowed", "processor")}


def read_report(path):
    """(part, facts) of a gpu-report.json; raises BenchError on another file."""
    try:
        report = json.loads(path.read_text())
        stages, kit = report["stages"], report["kit"]
        rows = [n for stage in stages for n in stage["numbers"]]
        part = {kind: [n for n in rows if n["what"] == kind] for kind in KINDS}
        incomplete = [n for n in rows if any(key not in n for key in KINDS[n["what"]])]
        facts = {"date": report["date"], "quick": False, "gpu_report": True, "kit": kit, "commands": [],
                 "hardware": {key: report[key] for key in ("gpus", "processor", "cores", "system", "torch")}}
        part["stages"] = {stage["name"]: stage["state"] for stage in stages}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BenchError(f"bench: {path} is no report of gpu-check ({type(error).__name__}: {error}): give the gpu-report.json "
                         "that gpu-check has written") from error
    if incomplete:
        raise BenchError(f"bench: {path}: an entry is not complete: {json.dumps(incomplete[0])}")
    return part, facts


def read_reports(paths):
    """(part, facts) of several reports of one kit on one machine: of a stage that several have, the last one that was run."""
    part, facts = read_report(paths[0])
    for path in paths[1:]:
        more, others = read_report(path)
        if (others["kit"], others["hardware"]) != (facts["kit"], facts["hardware"]):
            raise BenchError(f"bench: {path} is of another kit or machine than {paths[0]}: give reports of one alone")
        for kind in KINDS:
            part[kind] += more[kind]
        part["stages"].update({name: state for name, state in more["stages"].items()
                               if name not in part["stages"] or state not in ("not run", "no GPU")})
    if not any(part[kind] for kind in KINDS):
        states = ", ".join(f"{name} {state}" for name, state in part["stages"].items())
        raise BenchError(f"bench: {paths[0]} has no numbers (stages: {states or 'none'}): nothing is added")
    return part, facts


def gpu_of(names):
    """The GPU of the forecast that the first of these is; None for others."""
    first = names[0] if isinstance(names, list) and names else ""
    return next((gpu for gpu in GPUS if re.search(rf"\b{re.escape(gpu.name.split()[0])}\b", first)), None)


def add_forecast(part, facts):
    """Writes to each row of MD (us per atom, of the pair style alone) and training (ms) what was forecast for this GPU, where
    there is a forecast: of se_e2_a, not for TF32, and for one GPU alone."""
    gpu = gpu_of(facts["hardware"]["gpus"])
    for row in part["md"] + part["training"]:
        real = {"double": 8, "single": 4}.get(row["precision"])
        if gpu is None or real is None or row["net"] not in NETS or row.get("ranks", 1) > 1:
            continue
        train = row["what"] == "training"
        found = forecast(gpu, Model(row["net"], real), row["atoms"], train)
        row["forecast"] = 1e3 * found.step if train else 1e6 * found.step / row["atoms"]  # of MD the pair style


def rows_of(entries, *keys):
    return [[number(e.get(key)) if isinstance(e.get(key), float) else e.get(key, "") for key in keys] for e in entries]


def tables(part):
    """Markdown: MD with published number and forecast, training steps, statistics, kernels, agreement."""
    yield "## On a GPU (gpu-check)\n"
    yield "Stages: " + ", ".join(f"{name} {state}" for name, state in part["stages"].items()) + "."
    if part["md"]:
        yield "\nMD, us per atom and step, of it the pair style, which the forecast is of, and LAMMPS' neighbor lists, which native " + \
            f"models do without on a GPU; published: {PUBLISHED['us_per_atom_step']} ({PUBLISHED['program']}):\n"
        yield markdown(["style", "net", "precision", "atoms", "us/atom/step", "published / ours", "pair style", "forecast", "lists"],
                       [[r.get("style", "dptrain"), r["net"], r["precision"], r["atoms"], number(r["us_per_atom_step"]),
                         f"{PUBLISHED['us_per_atom_step'] / r['us_per_atom_step']:.2f}",
                         *(number(r.get(key)) for key in ("pair_us", "forecast", "neigh_us"))] for r in part["md"]])
    if part["training"]:
        yield "\nTraining step, one frame (power_spectrum with SOAP, the others with Adam):\n"
        yield markdown(["net", "precision", "atoms", "GPUs", "ms/step", "forecast"],
                       rows_of(part["training"], "net", "precision", "atoms", "ranks", "ms_per_step", "forecast"))
    if part[STATISTICS]:
        yield "\nNeighbor statistics (on the host) of a frame:\n"
        yield markdown(["atoms", "ms"], rows_of(part[STATISTICS], "atoms", "ms_per_frame"))
    if part["kernel"]:
        yield "\nHeaviest kernels:\n"
        yield markdown(["of", "kernel", "share", "us", "memory, % of peak", "arithmetic, % of peak", "occupancy, %", "registers"],
                       [[r["of"], f"`{r['kernel']}`", f"{100 * r['share']:.0f} %",
                         *rows_of([r], "time_us", "memory_percent", "compute_percent", "occupancy_percent", "registers")[0]]
                        for r in part["kernel"]])
    if part["agreement"]:
        yield "\nLargest differences from a processor in double, as parts of the root mean square:\n"
        yield markdown(["net", "precision", "quantity", "GPU", "processor in that precision", "allowed"],
                       [[r["net"], r["precision"], r["quantity"], f"{r['difference']:.1e}", f"{r['processor']:.1e}",
                         f"{r['allowed']:.0e}"] for r in part["agreement"]])


def facts(entry):
    """What was measured where."""
    hardware, kit = entry["hardware"], entry["kit"]
    gpus = hardware["gpus"]
    commit, dash, changed = kit["commit"].partition("-")
    yield f"* {entry['date']}, kit of {kit['date']}, commit {commit[:12]}{dash}{changed}, {kit['device']} {kit['arch']}"
    yield f"* GPU: {gpus if isinstance(gpus, str) else '; '.join(gpus)}; {hardware['processor']}, {hardware['cores']} cores, " \
          f"{hardware['system']}, torch {hardware['torch']}"
