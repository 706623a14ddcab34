"""bench/run: installs both sides, measures the parts that are asked for, writes table, JSON and plots."""

import json
import sys

from . import (accuracy, active, asynchronous, curves, inference, kernels, labels, machine, memory, ranks, report, scaling,
               script_training, statistics, torchscript, training, uncertainty)
from .environments import LABEL_PEERS, Ours, PackagePeer, Peer
from .errors import BenchError
from .process import Recorder
from .settings import ROOT, read_settings
from .tables import write_results

MEASURES = {"inference": inference.measure, "training": training.measure, "accuracy": accuracy.measure,
            "minutes": accuracy.measure_minutes, "scaling": scaling.measure, "kernels": kernels.measure,
            "statistics": statistics.measure, "curves": curves.measure, "uncertainty": uncertainty.measure,
            "active": active.measure, "asynchronous": asynchronous.measure, "ranks": ranks.measure, "memory": memory.measure,
            "torchscript": torchscript.measure, "torchscript_training": script_training.measure,
            "labels": labels.measure}
ALONE = {"active", "asynchronous"}  # parts without the peer and without programs of the benchmark
WITHOUT_PEER = ALONE | {"ranks"}
WITHOUT_PROGRAMS = ALONE | {"labels"}  # parts that need no programs of the benchmark


def install(settings, recorder):
    """Both sides, ready to run; ours alone where that is enough."""
    ours = Ours(settings, recorder)
    if set(settings.parts) <= ALONE:
        return ours, {}
    if not set(settings.parts) <= WITHOUT_PROGRAMS:
        ours.build_programs()
    if set(settings.parts) <= WITHOUT_PEER:
        return ours, {}
    peers = {"tensorflow": Peer("tensorflow", settings.tensorflow, recorder),
             "pytorch": Peer("pytorch", settings.pytorch, recorder)}
    for peer in peers.values():
        peer.install()
    if "labels" in settings.parts:
        peers.update(install_label_peers(settings, ours, recorder))
    return ours, peers


def install_label_peers(settings, ours, recorder):
    """The other programs of the part `labels`; those that cannot be installed are named in `ours.missing`, with the reason."""
    found = {}
    for name in LABEL_PEERS:
        peer = PackagePeer(name, settings, recorder)
        try:
            peer.install()
            found[name] = peer
        except BenchError as error:
            ours.missing[name] = str(error)
    return found


def describe(settings, ours, peers):
    """What the numbers of all parts of this run belong to."""
    versions = {name: environment.versions() for name, environment in [("dptrain", ours), *peers.items()]}
    versions["dptrain"]["build"] = machine.file_hash(ours.styles_file())
    return {"hardware": machine.hardware(), "sources": machine.sources(), "versions": versions,
            "repeats": settings.repeats, "cores": settings.cores, "quick": settings.quick}


def old_facts(path):
    """{part: its facts} and {part: its numbers} of a result file; empty where there is none."""
    old = json.loads(path.read_text()) if path.exists() else {}
    return old.get("facts", {}), old.get("parts", {})


def kept_parts(path, facts, other_sources):
    """Result of an earlier run into the same file: parts of the same sources (or of any, where that is asked for), machine
    and kind of run, each with the facts that it was measured under. A commit of the same sources may have another name."""
    def key(entry):
        return other_sources or entry["sources"]["hash"], entry["hardware"], entry["quick"]

    found, parts = old_facts(path)
    kept = [name for name in parts if name in found and key(found[name]) == key(facts)]
    dropped = [name for name in parts if name not in kept]
    if dropped:
        print(f"bench: {path}: of other sources or another machine, hence dropped: {', '.join(dropped)}", flush=True)
    return {"facts": {name: found[name] for name in kept}, "parts": {name: parts[name] for name in kept}}


def write(settings, result):
    """NAME.json, NAME.md, figures; prints the table."""
    from .plots import plot_all  # matplotlib is slow to import

    settings.out.mkdir(parents=True, exist_ok=True)
    write_results(settings.out / f"{settings.name}.json", result)
    text = report.document(result)
    (settings.out / f"{settings.name}.md").write_text(text)
    figures = plot_all(result, settings.out, settings.name)
    print(text)
    print("bench: written", settings.out / f"{settings.name}.json", settings.out / f"{settings.name}.md", *figures)


def measure_all(settings):
    settings.work.mkdir(parents=True, exist_ok=True)
    recorder = Recorder({settings.work: "$WORK", settings.venv: "$DPTRAIN_VENV", settings.tensorflow: "$DPTRAIN_BENCH_TF",
                         settings.pytorch: "$DPTRAIN_BENCH_PT", settings.data: "$DATA", ROOT: ".",
                         settings.build or ROOT / "build-wheel": "$BUILD"})
    ours, peers = install(settings, recorder)
    facts, installation = describe(settings, ours, peers), recorder.commands
    path = settings.out / f"{settings.name}.json"
    result = kept_parts(path, facts, settings.keep)
    for part in settings.parts:
        recorder.forget()
        when = {"date": machine.now(), "load_before": machine.load_average()}
        result["parts"][part] = MEASURES[part](settings, ours, peers)
        result["facts"][part] = {**when, **facts, "commands": installation + recorder.commands}
        settings.out.mkdir(parents=True, exist_ok=True)
        write_results(path, result)  # a later part that fails does not lose this one
    return result


def main(words=None):
    try:
        settings, args = read_settings(sys.argv[1:] if words is None else words)
        if args.report_only:
            path = settings.out / f"{settings.name}.json"
            if not path.exists():
                raise BenchError(f"bench: {path} does not exist: run without --report-only first")
            result = json.loads(path.read_text())
        else:
            result = measure_all(settings)
        write(settings, result)
    except BenchError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
