"""Whether atoms can fall into each other: energies of two atoms that approach, and of a cell that is squeezed.

    cd bench && python -m dpbench.pair_scan MODEL [MODEL ...]     prints a table of all pairs of elements
"""

import itertools
import sys

import numpy as np

CLOSE = 0.5  # Angstrom, where the table has the energy
SWITCHED_ON = 0.9  # of the smallest learned distance: from there on walls outweigh the net (stiffen_walls.h)
NOTHING = 1e-3  # eV: walls are made strong enough on a coarser grid
DISTANCES = np.arange(5.0, 0.295, -0.01)  # Angstrom
VOLUMES = np.linspace(1.0, 1.0 / 3.0, 41)  # of the squeezed cell


def pairs_of(potential):
    """(element, element) of all pairs."""
    return list(itertools.combinations_with_replacement(potential.type_map, 2))


def smallest_learned(potential, pair):
    """Distance in Angstrom at which the wall of two elements begins: the smallest one in the training data; None without walls."""
    walls = potential.info.get("walls") or {}
    return walls.get("-".join(pair), walls.get("-".join(reversed(pair))))


def approach(potential, pair):
    """Energies in eV of two atoms at DISTANCES, less that of the first of these distances: in a cell, which charges with kspace need."""
    energies = [potential.evaluate([[0.0, 0.0, 0.0], [r, 0.0, 0.0]], list(pair), [4 * DISTANCES[0]] * 3).energy for r in DISTANCES]
    return np.array(energies) - energies[0]


def rises_below(energies, distances, begin):
    """Whether each distance below `begin` has more energy than the one before, but for nothing."""
    below = energies[distances <= begin]
    return len(below) > 1 and bool(np.all(np.diff(below) > -NOTHING)) and below[-1] > below[0]


def scan(potential):
    """{"Na-Cl": (smallest learned distance, energy at CLOSE, whether it rises all the way from 0.9 of the former to 0.3 Angstrom)}"""
    found = {}
    for pair in pairs_of(potential):
        begin, energies = smallest_learned(potential, pair), approach(potential, pair)
        at_close = float(energies[np.argmin(np.abs(DISTANCES - CLOSE))])
        found["-".join(pair)] = begin, at_close, begin is not None and rises_below(energies, DISTANCES, SWITCHED_ON * begin)
    return found


def squeeze(potential, elements, positions, cell):
    """Energies per atom in eV at VOLUMES of the cell, less the first one."""
    scales = VOLUMES ** (1.0 / 3.0)
    energies = [potential.evaluate(np.asarray(positions) * s, list(elements), np.asarray(cell) * s).energy for s in scales]
    return (np.array(energies) - energies[0]) / len(elements)


def table(paths):
    import dptrain

    lines = [f"| file | pair | smallest learned distance, A | energy at {CLOSE} A, eV | rises from 0.9 of it to 0.3 A |", "|---|---|---|---|---|"]
    for path in paths:
        for pair, (begin, energy, rises) in scan(dptrain.load(path)).items():
            lines.append(f"| {path} | {pair} | {'none' if begin is None else f'{begin:.2f}'} | {energy:.0f} | {'yes' if rises else 'NO'} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table(sys.argv[1:]))
