"""Values beside values: the detail files of ``dptrain test -d`` and ``dp test -d``, and uncertainties beside errors."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dptrain.dumps import compare
from dptrain.logs import FileError, read_text

# end of a detail file's name -> what is in it, unit
QUANTITIES = {
    "e_peratom": ("energy", "eV/atom"), "e": ("energy", "eV"), "f": ("force", "eV/\u00c5"), "fr": ("force", "eV/\u00c5"),
    "v_peratom": ("virial", "eV/atom"), "v": ("virial", "eV"), "ae": ("atomic energy", "eV"),
}
ORDER = ("energy", "atomic energy", "force", "virial")


@dataclass
class Pairs:
    """Reference and predicted values of one quantity, [n] each, in a unit."""

    quantity: str
    unit: str
    reference: np.ndarray
    predicted: np.ndarray

    @property
    def errors(self):
        """Predicted minus reference."""
        return self.predicted - self.reference

    @property
    def rmse(self):
        """Root mean square error."""
        return float(np.sqrt(np.mean(self.errors**2)))

    @property
    def mae(self):
        """Mean absolute error."""
        return float(np.mean(np.abs(self.errors)))

    def summary(self):
        """One line for the terminal."""
        unit = self.unit.replace("\u00c5", "A")
        text = f"{self.quantity:14s} {len(self.errors):9d} values   RMSE {self.rmse:.4e}   MAE {self.mae:.4e} {unit}"
        size = float(np.sqrt(np.mean(self.reference**2)))
        return text + (f" = {100 * self.rmse / size:.2f} % of the rms force" if self.quantity == "force" and size > 0 else "")


def read_table(path):
    """Names in the last line of comments before the numbers (may be empty), and the rows of numbers [n][columns]."""
    names, rows = [], []
    for number, line in enumerate(read_text(path).splitlines(), 1):
        if line.startswith("#"):
            # dp test writes `# path: names` before each system
            names = names if rows else line.lstrip("#").rpartition(": ")[2].replace(",", " ").split()
        elif line.strip():
            rows.append(line.replace(",", " ").split())
            if len(rows[-1]) != len(rows[0]):
                raise FileError(f"{path}:{number}: {len(rows[-1])} columns where the lines before have {len(rows[0])}: write the file again")
    if not rows:
        raise FileError(f"{path}: no numbers in it: write the file again")
    try:
        return names, np.array(rows, dtype=float)
    except ValueError as error:
        raise FileError(f"{path}: a table of numbers is needed: {error}") from None


def read_detail(path):
    """The Pairs of one detail file: the left half of the columns is the reference, the right half the prediction."""
    names, values = read_table(path)
    half = values.shape[1] // 2
    if not names or [name[:5] for name in names] != ["data_"] * half + ["pred_"] * half or len(names) != values.shape[1]:
        raise FileError(f"{path}: not a detail file of dptrain test or dp test: a comment must name the columns data_... pred_...")
    found = re.search(r"\.(\w+)\.out$", Path(path).name)
    end = found.group(1) if found and found.group(1) in QUANTITIES else names[0][5:6]
    if end not in QUANTITIES:
        raise FileError(f"{path}: unknown quantity {names[0]}: known are the files {', '.join(f'*.{q}.out' for q in QUANTITIES)}")
    reference, predicted = values[:, :half].ravel(), values[:, half:2 * half].ravel()
    known = np.isfinite(reference) & np.isfinite(predicted)
    if not known.any():
        raise FileError(f"{path}: no row has both values: use test data with labels")
    return Pairs(*QUANTITIES[end], reference[known], predicted[known])


def expand_prefix(name):
    """The detail files that a PREFIX of ``dptrain test -d PREFIX`` stands for; energies and virials per atom if both kinds are there."""
    if Path(name).is_file():
        return [name]
    found = {end: f"{name}.{end}.out" for end in QUANTITIES if Path(f"{name}.{end}.out").is_file()}
    if not found:
        raise FileError(f"{name}: neither a file, nor the prefix of detail files ({name}.f.out, ...): check the name")
    return [path for end, path in found.items() if f"{end}_peratom" not in found]


def is_dump(path):
    with open(path, "rb") as file:
        return file.read(14) == b"ITEM: TIMESTEP"


def read_pairs(names):
    """Pairs of all quantities in detail files, prefixes of them, or two dumps (reference, prediction). Quantities whose reference is
    zero everywhere are left out if there are others."""
    paths = [path for name in names for path in expand_prefix(name)]
    if any(map(is_dump, paths)):
        if len(paths) != 2:
            raise FileError("give two dumps: the reference's and the model's")
        both = compare(*paths)
        found = [Pairs("force", "eV/\u00c5", both.force_reference.ravel(), both.force_predicted.ravel())]
        if both.energy_reference is not None:
            found.append(Pairs("energy", "eV/atom", both.energy_reference, both.energy_predicted))
    else:
        found = [read_detail(path) for path in paths]
        # a test of data without such labels writes zeros for them
        labeled = [pairs for pairs in found if pairs.reference.any()]
        found = labeled or found
    return sorted(found, key=lambda pairs: ORDER.index(pairs.quantity))


def read_uncertainty(names, column="avg_devi_f"):
    """Uncertainties and errors, both [n], not negative, of the same unit.

    One file: its columns named ``sigma`` and ``error``, or its first two if none are named; blanks or commas between them.
    Two files: model_devi.out and the detail file of forces (``*.f.out``) for the same frames in the same order, all with the same
    number of atoms; then the error of a frame is the mean (``avg_devi_f``) or the maximum (``max_devi_f``) of |dF| over its atoms.
    """
    if len(names) == 1:
        titles, values = read_table(names[0])
        if values.shape[1] < 2:
            raise FileError(f"{names[0]}: two columns are needed: sigma and error")
        named = len(titles) == values.shape[1]
        if named and not {"sigma", "error"} <= set(titles):
            raise FileError(f"{names[0]}: its columns are {' '.join(titles)}: sigma and error are needed")
        sigma, error = (values[:, titles.index(t)] for t in ("sigma", "error")) if named else values[:, :2].T
    elif len(names) == 2:
        titles, devi = read_table(names[0])
        if column not in titles or len(titles) > devi.shape[1]:
            raise FileError(f"{names[0]}: not a model_devi.out: it needs a column {column}")
        sigma = devi[:, titles.index(column)]
        error = frame_errors(names[1], len(devi), np.mean if column == "avg_devi_f" else np.max)
    else:
        raise FileError("give one file with the columns sigma and error, or model_devi.out and a *.f.out")
    known = np.isfinite(sigma) & np.isfinite(error) & (sigma > 0)
    if known.sum() < 3:
        raise FileError(f"{names[0]}: at least three rows need an uncertainty above zero and an error")
    return sigma[known], np.abs(error[known])


def frame_errors(path, frames, reduce):
    """Mean or maximum of |dF| over the atoms of each frame, [frames]."""
    pairs = read_detail(path)
    if pairs.quantity != "force" or len(pairs.errors) % (3 * frames) != 0:
        raise FileError(f"{path}: {len(pairs.errors)} values do not fit {frames} frames of forces in the other file: use files of the same frames")
    return reduce(np.linalg.norm(pairs.errors.reshape(frames, -1, 3), axis=2), axis=1)


def rank_correlation(a, b):
    """Spearman's coefficient."""
    ranks = [np.argsort(np.argsort(values, kind="stable"), kind="stable") for values in (a, b)]
    return float(np.corrcoef(*ranks)[0, 1])
