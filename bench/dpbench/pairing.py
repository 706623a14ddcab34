"""Measures several sides in turn (A B C A B C ...), and ratios within each turn.

A machine that others use too, or that heats up, changes its speed in the course of minutes: ratios of runs that follow
each other are more stable than ratios of averages.
"""

from statistics import median


def take_turns(sides, measure, repeats, report=lambda name, value: None):
    """{side: [value of each turn]}; `measure(side)` gives one number. The order is reversed in every second turn."""
    values = {side: [] for side in sides}
    for turn in range(repeats):
        for side in sides if turn % 2 == 0 else reversed(sides):
            values[side].append(measure(side))
            report(side, values[side][-1])
    return values


def summary(values):
    """Median, smallest and largest of a list."""
    return {"median": median(values), "min": min(values), "max": max(values), "values": list(values)}


def ratios(values, ours):
    """{other side: summary of other / ours, turn by turn}: how many times faster we are where values are times.

    `ours` are the names of our sides, of which the best one counts.
    """
    base = values[best(values, ours)]
    return {side: summary([v / b for v, b in zip(numbers, base)]) for side, numbers in values.items() if side not in ours}


def best(values, among):
    """The side of `among` with the smallest median."""
    known = [side for side in among if side in values]
    return min(known, key=lambda side: median(values[side])) if known else None
