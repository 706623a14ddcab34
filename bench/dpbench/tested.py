"""Errors of a potential on labeled frames, as `dptrain test` finds them."""

import subprocess

import numpy as np


def forces(folder, model, path):
    """Those of the labels and of the potential, [atoms, 3], eV/A; detail.*.out of the folder have all numbers."""
    subprocess.run(["dptrain", "test", "-m", model, "-s", str(path), "-d", "detail"], cwd=folder, check=True, capture_output=True)
    return np.split(np.loadtxt(folder / "detail.f.out").reshape(-1, 6), 2, axis=1)


def percent(expected, found):
    """The root mean square of the differences in terms of that of what is expected."""
    return 100 * np.sqrt(((found - expected)**2).mean() / (expected**2).mean())
