"""bench_kernels on one core: operations of the library beside the matrix multiplication of LibTorch."""

import json

from .models import NETS, Kind, make_models
from .process import run

# passes over the fitting net in units of one multiplication of a layer: energy and forces need the layer and its
# transpose; pass B repeats them, and needs the tangents of both and two products for the gradient; after a pass A that
# keeps its activations nothing is repeated
PASSES = {"forward": 2, "gradient": 6, "both_passes": 6}


def fitting_flops(net):
    """Floating point operations of one pass over the fitting net, per atom."""
    sizes = NETS[net]
    widths = [sizes["neuron"][-1] * sizes["axis"], *sizes["fitting"], 1]
    return 2 * sum(a * b for a, b in zip(widths, widths[1:]))


def parse(text):
    """{name: {seconds of processor time, counters}} of Google Benchmark's JSON; of repeated runs the median."""
    result = {}
    scale = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
    for entry in json.loads(text)["benchmarks"]:
        if entry.get("aggregate_name") not in (None, "median"):
            continue
        if entry.get("run_type") == "iteration" and entry.get("repetitions", 1) > 1:
            continue
        name = entry.get("run_name", entry["name"])
        result[name] = {"seconds": entry["cpu_time"] * scale[entry["time_unit"]],
                        "counters": {k: v for k, v in entry.items() if k in ("GFLOP/s", "us/atom", "ns/parameter")}}
    return result


def with_roofline(found, net):
    """Adds to each model operation what its matrix products alone would take at the measured peak."""
    peaks = {p: max((v["counters"]["GFLOP/s"] for n, v in found.items() if n.startswith("gemm") and f"/{p}" in n),
                    default=None) for p in ("double", "single")}
    rows = []
    for name, entry in found.items():
        row = {"name": name, "seconds": entry["seconds"], **entry["counters"]}
        operation, _, precision = name.partition("/")
        peak = peaks.get(precision or "double")
        if operation in PASSES and peak and "us/atom" in row:
            row["gemm_us_per_atom"] = PASSES[operation] * fitting_flops(net) / peak * 1e-3
            row["of_roofline"] = row["gemm_us_per_atom"] / row["us/atom"]
        rows.append(row)
    return {"net": net, "peak_gflops": peaks, "adam_share": {p: adam_share(found, p) for p in peaks}, "rows": rows}


def adam_share(found, precision):
    """Time of Adam in that of a training step of one frame on one core: both passes, tables, Adam."""
    parts = [found.get(f"{name}/{precision}", {}).get("seconds") for name in ("both_passes", "table_build", "adam_step")]
    return parts[-1] / sum(parts) if all(parts) else None


def measure(settings, ours, peers):
    """One table per net, with both precisions."""
    program = ours.program("bench_kernels")
    if program is None:
        print("bench: bench_kernels was not built (Google Benchmark is missing): kernels are left out", flush=True)
        return []
    results = []
    for net in ("standard", "small"):
        files = make_models(Kind(net), settings, peers)
        print(f"bench: kernels, {net} net", flush=True)
        words = [program, files["model.dp"], settings.valid_system, "--benchmark_out=kernels.json",
                 "--benchmark_out_format=json"]
        words += ["--benchmark_min_time=0.01"] if settings.quick else ["--benchmark_repetitions=5",
                                                                       "--benchmark_report_aggregates_only=true"]
        folder = files["model.dp"].parent
        run(ours.recorder, "kernels", words, folder, {"OMP_NUM_THREADS": 1})
        results.append(with_roofline(parse((folder / "kernels.json").read_text()), net))
    return results
