"""Force errors of the models before and after the run with cut-outs, in the spot and outside of it."""

import sys

import numpy as np


def forces(name):
    """Distance from the middle of the box [N] and forces [N][3] of a dump."""
    table = np.loadtxt(f"forces.{name}", skiprows=9)
    return table[:, 1], table[:, 2:]


def main():
    radius, reference = forces("Si.sw")
    spot = radius < float(sys.argv[1])
    print(f"{'model':12} {'where':8} {'atoms':>6} {'rms force':>10} {'rms error':>10} {'largest':>8}  eV/A")
    for model in ("crystal.dp", "silicon.dp"):
        error = np.linalg.norm(forces(model)[1] - reference, axis=1)
        for where, chosen in (("spot", spot), ("rest", ~spot)):
            rms = [np.sqrt((values[chosen]**2).sum() / (3 * chosen.sum())) for values in (np.linalg.norm(reference, axis=1), error)]
            print(f"{model:12} {where:8} {chosen.sum():6} {rms[0]:10.4f} {rms[1]:10.4f} {error[chosen].max():8.4f}")


main()
