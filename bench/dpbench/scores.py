"""How well a score of each atom tells where the error of its force is large: ROC, ranks, reliability. NumPy only."""

import numpy as np

CURVE_POINTS, DIGITS = 80, 5


def mean_ranks(values):
    """Ranks from 1 in ascending order; equal values share the mean of theirs."""
    values = np.asarray(values, float)
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return (last - (counts - 1) / 2)[inverse]


def auc(score, positive):
    """Area under the ROC curve: chance that a positive has a higher score than a negative, ties half; None without both."""
    positive = np.asarray(positive, bool)
    n, m = int(positive.sum()), int((~positive).sum())
    if not n or not m:
        return None
    return float((mean_ranks(score)[positive].sum() - n * (n + 1) / 2) / (n * m))


def roc(score, positive):
    """(false alarms / negatives, alarms / positives) for falling thresholds of the score, at most CURVE_POINTS of them."""
    order = np.argsort(-np.asarray(score, float), kind="stable")
    score, positive = np.asarray(score, float)[order], np.asarray(positive, bool)[order]
    ends = np.append(np.nonzero(np.diff(score))[0], len(score) - 1)  # a threshold does not divide equal scores
    hits, alarms = np.cumsum(positive)[ends], np.cumsum(~positive)[ends]
    x, y = np.append(0, alarms / max(1, alarms[-1])), np.append(0, hits / max(1, hits[-1]))
    if len(x) <= CURVE_POINTS:
        return x.round(DIGITS).tolist(), y.round(DIGITS).tolist()
    # points at equal distances along the curve: most of it lies in a corner
    length = np.append(0, np.cumsum(np.hypot(np.diff(x), np.diff(y))))
    kept = np.unique(np.searchsorted(length, np.linspace(0, length[-1], CURVE_POINTS)))
    return x[kept].round(DIGITS).tolist(), y[kept].round(DIGITS).tolist()


def caught(score, positive, false_alarms):
    """Part of the positives above the score that this part of the negatives exceeds; None without both."""
    score, positive = np.asarray(score, float), np.asarray(positive, bool)
    if positive.all() or not positive.any():
        return None
    return float((score[positive] > np.quantile(score[~positive], 1 - false_alarms)).mean())


def spearman(a, b):
    """Rank correlation; None where one of them is constant."""
    a, b = mean_ranks(a), mean_ranks(b)
    if a.std() == 0 or b.std() == 0:
        return None
    return float(np.corrcoef(a, b)[0, 1])


def scale_of(score, error):
    """Factor that gives the score the root mean square of the errors."""
    return float(np.sqrt(np.mean(np.square(error)) / np.mean(np.square(score))))


def reliability(predicted, error, bins=20):
    """[(root mean square of the predicted errors, that of the true ones)] of as many equally large groups of atoms, from
    small predicted errors to large ones."""
    order = np.argsort(predicted)
    rms = lambda values: float(np.sqrt(np.mean(np.square(values))))  # noqa: E731
    groups = [g for g in np.array_split(order, bins) if len(g)]
    return [(rms(np.asarray(predicted)[g]), rms(np.asarray(error)[g])) for g in groups]
