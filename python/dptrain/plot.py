"""Figures: learning curves, predicted against reference values, errors, uncertainties against errors, active learning.

    dptrain plot lcurve.out                         learning curve
    dptrain plot detail.f.out detail.e_peratom.out  parity plot of what `dptrain test -d detail` wrote
    dptrain plot reference.dump predicted.dump      the same of two LAMMPS dumps
    dptrain plot errors detail                      histograms of the errors
    dptrain plot uncertainty sigma_error.txt        uncertainty against error
    dptrain plot log.lammps                         course of a run of fix dptrain with mode active

`python -m dptrain.plot` is the same program.
"""

from __future__ import annotations

import argparse
import sys

import numpy as np

from dptrain.details import rank_correlation, read_pairs, read_uncertainty
from dptrain.dumps import compare, read_dump  # noqa: F401: for scripts
from dptrain.figures import bin_rms, plot_active, plot_errors, plot_lcurve, plot_parity, plot_uncertainty
from dptrain.logs import FileError, names_columns, names_events, read_course, read_events, read_lcurve, read_rewinds, read_text

KINDS = ("lcurve", "parity", "errors", "uncertainty", "active")

EPILOG = """The kind may be left out: a file whose first line names the column `step` is a learning curve, a log with
events of mode active the course of that run, all else a parity plot. `dptrain plot KIND --help` tells about one kind. The format of the figure (-o) is that of its name: .png, .pdf, .svg."""

LCURVE = """Errors on the batches and the learning rate against the training step, from one or several lcurve.out (of this package or
DeePMD-kit). Dashed: validation. One file: the rows faintly, their running mean as a line. Several: the running means."""

PARITY = """Predicted against reference values, one panel for each quantity, and their RMSE and MAE.

FILE: the detail files of `dptrain test -d PREFIX` or `dp test -d PREFIX`, or just the PREFIX (energies and virials per
atom are taken where there are both; a quantity whose reference is zero everywhere has no labels, and is left out); or two LAMMPS dumps of the same frames, the reference's first: text files of
`dump custom` with the columns id fx fy fz and, for energies, c_pe (a compute pe/atom), in units metal."""

ERRORS = """Histograms of the errors with the normal distribution of the same RMSE, and their quantiles. FILE: as for parity."""

UNCERTAINTY = """Errors against the uncertainties that were predicted for them: points, and root mean squares in bins of equal numbers.
A calibrated uncertainty lies on the diagonal; one that is useful without calibration rises.

One FILE: text with the columns `sigma` and `error` (a line `# ... sigma ... error ...` names them; without names the first
two columns), blanks or commas between them, in one unit. Two FILEs: model_devi.out and a *.f.out of `dptrain test -d` for the
same frames in the same order, all of the same number of atoms."""

ACTIVE = """The course of a run of fix dptrain with mode active: true and expected largest force error of each event, the threshold,
numbers of frames and reference calls, and the temperature, against the MD step; a vertical line where the run went back to a
trusted state. The first are read from the lines of the log that
begin with `dptrain`. Threshold, expected error between the events and temperature come from its thermo output: Temp, and
f_ID[13] and f_ID[14] of the fix (or columns that are named expected and threshold)."""


def draw_lcurve(options):
    labels = options.labels or options.files
    if len(labels) != len(options.files):
        raise FileError(f"{len(labels)} labels for {len(options.files)} files: give one for each")
    plot_lcurve([read_lcurve(path) for path in options.files], options.output, labels, options.columns or (),
                options.smooth)


def draw_parity(options):
    found = read_pairs(options.files)
    print("\n".join(pairs.summary() for pairs in found))
    plot_parity(found, options.output)


def draw_errors(options):
    found = read_pairs(options.files)
    for pairs in found:
        values = np.quantile(np.abs(pairs.errors), [0.5, 0.9, 0.99, 1.0])
        print(f"{pairs.quantity:14s} |error| median {values[0]:.3e}  90 % {values[1]:.3e}  99 % {values[2]:.3e}  max {values[3]:.3e} "
              + pairs.unit.replace("\u00c5", "A"))
    plot_errors(found, options.output, options.bins)


def draw_uncertainty(options):
    sigma, error = read_uncertainty(options.files, options.column)
    mean_sigma, mean_error = bin_rms(sigma, error, 1)
    print(f"values                {len(sigma)}\n"
          f"rank correlation      {rank_correlation(sigma, error):.3f} (Spearman)\n"
          f"rms error / rms sigma {mean_error[0] / mean_sigma[0]:.3f}")
    plot_uncertainty(sigma, error, options.output, options.bins)


def draw_active(options):
    if len(options.files) != 1:
        raise FileError(f"{len(options.files)} files: give one log for a figure")
    events, course = read_events(options.files[0]), read_course(options.files[0])
    rewinds = read_rewinds(options.files[0])
    print("\n".join(active_summary(events, course, rewinds)))
    plot_active(events, course, rewinds, options.output)


def active_summary(events, course, rewinds):
    """Lines on the events of each kind, on what the audits found, and on what came later or had to be done again."""
    steps = max([events["step"].max(), *course.get("step", [])]) - min([events["step"].min(), *course.get("step", [])])
    # a resumed run goes on counting; a run that begins with copies does not, and has asked for all of them when the first comes
    before = 0 if events["why"][0] == "prepare" else events["calls"][0] - 1
    calls = events["calls"][-1] - before
    yield f"frames {events['frames'][-1]:.0f}, reference calls {calls:.0f}" + (f" in {steps:.0f} steps ({100 * calls / steps:.2f} %)"
                                                                              if steps > 0 else "")
    late = np.count_nonzero((events["learned"] == "later") & (events["why"] != "prepare")) if "learned" in events else 0
    if late:
        yield f"{late} labels came while the run went on"
    if len(rewinds):
        yield f"{len(rewinds)} times the run went back to a trusted state"
    for why in dict.fromkeys(events["why"]):
        chosen = events["why"] == why
        true = events["true"][chosen & np.isfinite(events["true"])]
        error = f", largest true error: median {np.median(true):.3g}, max {true.max():.3g}" if len(true) else ""
        yield f"{why:10s} {chosen.sum():6d}{error}"
    both = np.isfinite(events["true"]) & np.isfinite(events["expected"])
    if both.sum() > 1:
        yield f"expected against true: rank correlation {rank_correlation(events['expected'][both], events['true'][both]):.3f}"


def count(text):
    """A whole number of at least 1, for argparse."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of at least 1")
    return int(text)


def make_parser():
    parser = argparse.ArgumentParser(prog="dptrain plot", formatter_class=argparse.RawDescriptionHelpFormatter,
                                     usage="dptrain plot [KIND] FILE ... [-o FIGURE]", description=__doc__, epilog=EPILOG)
    kinds = parser.add_subparsers(dest="kind", required=True, metavar="KIND")

    def add(name, draw, description, summary):
        kind = kinds.add_parser(name, help=summary, description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
        kind.add_argument("files", nargs="+", metavar="FILE")
        kind.add_argument("-o", "--output", metavar="FIGURE", help=f"the figure (default: {name}.png)")
        kind.set_defaults(draw=draw)
        return kind

    lcurve = add("lcurve", draw_lcurve, LCURVE, "learning curves")
    lcurve.add_argument("--columns", nargs="+", metavar="NAME", help="quantities, such as rmse_e rmse_f (default: all of the files)")
    lcurve.add_argument("--labels", nargs="+", metavar="TEXT", help="names in the legend (default: the files)")
    lcurve.add_argument("--smooth", type=count, metavar="N", help="rows of the running mean (default: a 25th of all)")
    add("parity", draw_parity, PARITY, "predicted against reference values")
    errors = add("errors", draw_errors, ERRORS, "histograms of errors")
    uncertainty = add("uncertainty", draw_uncertainty, UNCERTAINTY, "uncertainties against errors")
    uncertainty.add_argument("--column", choices=("avg_devi_f", "max_devi_f"), default="avg_devi_f",
                             help="of model_devi.out (default: avg_devi_f)")
    add("active", draw_active, ACTIVE, "the course of an active-learning run")
    errors.add_argument("--bins", type=count, metavar="N", help="number of bins (default: 11 to 81, by the number of values)")
    uncertainty.add_argument("--bins", type=count, default=20, metavar="N", help="number of bins (default: 20)")
    return parser


def kind_of(words):
    """The kind of figure for files that are given without one."""
    first = next((word for word in words if not word.startswith("-")), None)
    try:
        lines = read_text(first).splitlines() if first else []
    except FileError:
        return "lcurve" if first.endswith("lcurve.out") else "parity"
    if any(map(names_events, lines)):
        return "active"
    return "lcurve" if len(words) == 1 or not lines or names_columns(lines[0]) or "lcurve" in first else "parity"


def main(arguments=None):
    """Command line. Returns the exit status."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words and words[0] not in (*KINDS, "-h", "--help"):
        words.insert(0, kind_of(words))
    parser = make_parser()
    if not words:
        parser.error("FILE is missing: which files? See dptrain plot --help")
    options = parser.parse_args(words)
    try:
        options.output = options.output or f"{options.kind}.png"
        options.draw(options)
        print(f"wrote {options.output}")
    except (FileError, OSError) as error:
        print(f"dptrain: error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
