"""bench/run: installs both sides, measures the parts that are asked for, writes table, JSON and plots."""

import json
import sys

from . import accuracy, inference, kernels, machine, report, scaling, training
from .environments import Ours, Peer
from .errors import BenchError
from .process import Recorder
from .settings import ROOT, read_settings

MEASURES = {"inference": inference.measure, "training": training.measure, "accuracy": accuracy.measure,
            "scaling": scaling.measure, "kernels": kernels.measure}


def install(settings, recorder):
    """Both sides, ready to run."""
    ours = Ours(settings, recorder)
    ours.build_programs()
    peers = {"tensorflow": Peer("tensorflow", settings.tensorflow, recorder),
             "pytorch": Peer("pytorch", settings.pytorch, recorder)}
    for peer in peers.values():
        peer.install()
    return ours, peers


def describe(settings, ours, peers):
    """What the numbers belong to."""
    versions = {name: environment.versions() for name, environment in [("dptrain", ours), *peers.items()]}
    versions["dptrain"]["build"] = machine.file_hash(ours.styles_file())
    return {"date": machine.now(), "hardware": machine.hardware(), "sources": machine.sources(),
            "load_before": machine.load_average(), "versions": versions, "repeats": settings.repeats,
            "ranks": settings.ranks, "quick": settings.quick}


def old_parts(path, result):
    """Parts of an earlier run into the same file: kept where sources, machine and kind of run are the same."""
    if not path.exists():
        return {}
    old = json.loads(path.read_text())
    same = all(old.get(key) == result[key] for key in ("sources", "hardware", "quick"))
    if not same:
        print(f"bench: {path} is of other sources or another machine: it is replaced", flush=True)
    return old.get("parts", {}) if same else {}


def write(settings, result):
    """NAME.json, NAME.md, figures; prints the table."""
    from .plots import plot_all  # matplotlib is slow to import

    settings.out.mkdir(parents=True, exist_ok=True)
    (settings.out / f"{settings.name}.json").write_text(json.dumps(result, indent=1) + "\n")
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
    result = describe(settings, ours, peers)
    path = settings.out / f"{settings.name}.json"
    result["parts"] = old_parts(path, result)
    result["commands"] = recorder.commands
    for part in settings.parts:
        result["parts"][part] = MEASURES[part](settings, ours, peers)
        settings.out.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(result, indent=1) + "\n")  # a later part that fails does not lose this one
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
