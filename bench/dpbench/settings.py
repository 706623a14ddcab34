"""Command line and environment variables of bench/run."""

import argparse
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

from .errors import BenchError

ROOT = Path(__file__).resolve().parents[2]
# this package on all cores: as many ranks with one thread each, or one rank with as many threads
RANKS, THREADS = "dptrain, ranks", "dptrain, threads"
OURS = (RANKS, THREADS)
PARTS = ["inference", "training", "accuracy", "minutes", "scaling", "kernels", "statistics", "curves", "uncertainty", "active", "asynchronous",
         "ranks", "memory", "torchscript", "torchscript_training", "labels"]
WITHOUT_DATA = {"active", "asynchronous"}  # parts that make their own data

DESCRIPTION = """Measures this package beside DeePMD-kit 3.2 on this machine, in pairs and repeats, and writes a table
(Markdown, also printed), JSON and plots. The first call installs everything; see bench/README.md."""

EPILOG = """Environment: DPTRAIN_SHARED      folder with data/water, where --data is not given
             DPTRAIN_VENV        environment of this package (default .venv, made by tools/install)
             DPTRAIN_BENCH_TF    environment of DeePMD-kit with TensorFlow (default bench/work/env-tf, made if missing)
             DPTRAIN_BENCH_PT    environment of DeePMD-kit with PyTorch (default bench/work/env-pt, made if missing)
             DPTRAIN_BENCH_BUILD an existing CMake build folder of this package: nothing is installed, its plugin is used"""


@dataclass
class Settings:
    """What is measured, how often, and where things are."""

    parts: list
    repeats: int
    quick: bool
    data: Path
    work: Path
    out: Path
    name: str
    venv: Path
    build: Optional[Path]
    tensorflow: Path
    pytorch: Path
    cores: int = 2  # that each side uses: as ranks, as threads
    budget: float = 4.0  # seconds of one timed run
    label_seconds: float = 20.0  # of the processor, for a training with all labels in the part labels
    label_data: tuple = ()  # words in the names of the data sets of the part labels; empty: all
    keep: bool = False  # parts of the result file that were measured with other sources

    @property
    def train_systems(self):
        """Folders whose frames are trained on."""
        return [self.data / f"data_{k}" for k in range(3)]

    @property
    def valid_system(self):
        """Folder whose frames are validated on."""
        return self.data / "data_3"


def default_data():
    """Folder of the water systems without --data: where the tests look for them too."""
    shared = os.environ.get("DPTRAIN_SHARED")
    if not shared:
        raise BenchError("bench: no data: give the folder of the water systems data_0 .. data_3 with --data DIR, or set "
                         "DPTRAIN_SHARED to a folder with data/water in it")
    return Path(shared).resolve() / "data" / "water"


def parser():
    p = argparse.ArgumentParser(prog="bench/run", description=DESCRIPTION, epilog=EPILOG,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("parts", nargs="*", metavar="PART", help=f"what to measure: {', '.join(PARTS)} (default: all)")
    p.add_argument("--repeats", type=int, default=3, metavar="N", help="runs of each side, taken in turn (default 3)")
    p.add_argument("--quick", action="store_true", help="a few steps of everything: tries the machinery, measures nothing")
    p.add_argument("--data", type=Path, metavar="DIR",
                   help="deepmd npy systems data_0 .. data_2 (training) and data_3 (validation) "
                        "(default: data/water in the folder DPTRAIN_SHARED)")
    p.add_argument("--work", type=Path, default=ROOT / "bench" / "work", metavar="DIR",
                   help="environments, models and logs (default bench/work, ignored by git)")
    p.add_argument("--out", type=Path, metavar="DIR",
                   help="result files (default bench/results; with --quick the folder of --work)")
    p.add_argument("--name", default="bench", help="result files are NAME.json, NAME.md and NAME_*.png (default bench)")
    p.add_argument("--keep", action="store_true",
                   help="keep the parts of the result file that were measured with other sources; each names its commit")
    p.add_argument("--seconds", type=float, default=4.0, help="aimed length of one timed run (default 4)")
    p.add_argument("--label-seconds", type=float, default=20.0, metavar="S",
                   help="processor seconds of a training with all labels in the part labels (default 20)")
    p.add_argument("--label-data", action="append", default=[], metavar="WORD",
                   help="part labels: only data sets with this word in their name (Si, Ge, SW, water, ...); those that the "
                        "result file has of other names and the same seconds stay. May be given several times")
    p.add_argument("--report-only", action="store_true", help="tables and plots again from the NAME.json that is there")
    return p


def read_settings(words):
    """Settings and parsed arguments of the command line; raises BenchError where something is missing."""
    args = parser().parse_args(words)
    for part in args.parts:
        if part not in PARTS:
            raise BenchError(f"bench: unknown part {part!r}: allowed are {', '.join(PARTS)}")
    if args.repeats < 1:
        raise BenchError(f"bench: --repeats {args.repeats} is not possible: give a number from 1")
    work = args.work.resolve()
    needs_data = not args.report_only and not set(args.parts or PARTS) <= WITHOUT_DATA
    data = args.data.resolve() if args.data else default_data() if needs_data else ROOT
    folder = lambda name, default: Path(os.environ.get(name) or default).absolute()  # noqa: E731
    build = os.environ.get("DPTRAIN_BENCH_BUILD")
    settings = Settings(
        parts=[p for p in PARTS if not args.parts or p in args.parts],
        repeats=1 if args.quick else args.repeats, quick=args.quick, data=data, work=work,
        out=(args.out or (work / "results" if args.quick else ROOT / "bench" / "results")).resolve(), name=args.name,
        venv=folder("DPTRAIN_VENV", ROOT / ".venv"), build=Path(build).resolve() if build else None,
        tensorflow=folder("DPTRAIN_BENCH_TF", work / "env-tf"), pytorch=folder("DPTRAIN_BENCH_PT", work / "env-pt"),
        budget=0.2 if args.quick else args.seconds, label_seconds=args.label_seconds,
        label_data=tuple(args.label_data), keep=args.keep)
    if needs_data and not (settings.valid_system / "type.raw").is_file():
        raise BenchError(f"bench: no deepmd npy data in {settings.data}: expected data_0 .. data_3 with type.raw and set.* "
                         "(the examples/water/data of DeePMD-kit); give the folder with --data DIR, or set DPTRAIN_SHARED")
    return settings, args


if __name__ == "__main__":  # checks the words, before bench/run installs anything
    try:
        read_settings(sys.argv[1:])
    except BenchError as error:
        sys.exit(str(error))
