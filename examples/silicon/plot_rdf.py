"""Draws rdf.png: radial distribution functions of the melt, rdf.learned.dat of the learned potential and rdf.reference.dat."""

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np


def read(path):
    """r in Angstrom and g(r) of the last block that fix ave/time wrote."""
    rows = [line.split() for line in open(path) if not line.startswith("#")]
    first = max(k for k, row in enumerate(rows) if len(row) == 2)  # `step rows` begins a block
    return np.array(rows[first + 1:], float)[:, 1:].T


def main():
    learned, reference = read("rdf.learned.dat"), read("rdf.reference.dat")
    figure, axes = plt.subplots(figsize=(5, 3.5), constrained_layout=True)
    axes.plot(*reference, color="0.6", linewidth=4, label="reference")
    axes.plot(*learned, color="C0", label="learned")
    axes.set(xlabel="distance (Angstrom)", ylabel="g(r)", xlim=(1.5, 5), ylim=(0, None))
    axes.legend(frameon=False)
    figure.savefig("rdf.png", dpi=150)
    print(f"rdf: largest difference {np.abs(learned[1] - reference[1]).max():.3f}, first peak "
          f"{learned[1].max():.3f} (reference {reference[1].max():.3f})")


if __name__ == "__main__":
    main()
