"""Every metric from its definition on one explicit list, and every order that tied rows can take.

``listings`` enumerates the orders; a metric of an order is computed by loops from the labels, top first.
"""

import itertools

import numpy as np


def listings(y, s):
    """All lists of labels, best first, that agree with the scores."""
    y, s = np.asarray(y), np.asarray(s)
    runs = [[y[i] for i in np.flatnonzero(s == v)] for v in sorted(set(s.tolist()), reverse=True)]
    for parts in itertools.product(*(list(itertools.permutations(run)) for run in runs)):
        yield [label for part in parts for label in part]


def over_orders(metric, y, s, ties, sign=1):
    """Mean, worst or best over all orders; ``sign`` is -1 for losses."""
    values = [metric(order) for order in listings(y, s)]
    if ties == "average":
        return np.mean(values)
    worst, best = (min, max) if sign > 0 else (max, min)
    return worst(values) if ties == "pessimistic" else best(values)


def auc(order):
    m, n = sum(order), len(order) - sum(order)
    return sum(order[i] > order[j] for i in range(len(order)) for j in range(i + 1, len(order))) / (m * n)


def partial_auc(lo, hi):
    def metric(order):
        m, n = sum(order), len(order) - sum(order)
        heights, above = [], 0
        for label in order:
            if label:
                above += 1
            else:
                heights.append(above / m)
        overlap = [max(0.0, min(hi * n, t + 1) - max(lo * n, t)) for t in range(n)]
        return sum(h * o for h, o in zip(heights, overlap, strict=True)) / (n * (hi - lo))

    return metric


def positives_at_top(order):
    return next((i for i, label in enumerate(order) if not label), len(order))


def pos_at_top(order):
    return positives_at_top(order) / sum(order)


def infinite_push_loss(order):
    return 1 - pos_at_top(order)


def p_norm_power(p):
    """The p-th power of R_p, whose expectation is what is averaged."""

    def metric(order):
        m = sum(order)
        below = [sum(order[i + 1 :]) / m for i, label in enumerate(order) if not label]
        return np.mean(np.array(below) ** p)

    return metric


def precision_at_k(k):
    return lambda order: sum(order[:k]) / min(k, len(order))


def recall_at_k(k):
    return lambda order: sum(order[:k]) / sum(order)


def winner_takes_all(order):
    return float(order[0])


def reciprocal_rank(order):
    return 1 / (1 + order.index(1))


def average_precision(order):
    return np.mean([sum(order[: i + 1]) / (i + 1) for i, label in enumerate(order) if label])


def dcg(k=None, gain=lambda y: y, discount=lambda r: 1 / np.log2(1 + r)):
    def metric(order):
        top = order if k is None else order[:k]
        return sum(gain(label) * discount(i + 1) for i, label in enumerate(top))

    return metric


def ndcg(k=None, **kw):
    value = dcg(k, **kw)
    gain = kw.get("gain", lambda y: y)
    return lambda order: value(order) / value(sorted(order, key=gain, reverse=True))


def enrichment_factor(fraction):
    def metric(order):
        k = max(1, int(np.ceil(fraction * len(order) - 1e-9)))
        return (sum(order[:k]) / k) / (sum(order) / len(order))

    return metric


def bedroc(alpha):
    """RDKit's CalcBEDROC, from its published formulas."""

    def metric(order):
        n, m = len(order), sum(order)
        share = m / n
        mean = (1 / n) * (1 - np.exp(-alpha)) / (np.exp(alpha / n) - 1)
        rie = sum(np.exp(-alpha * (i + 1) / n) for i, label in enumerate(order) if label) / (m * mean)
        top = (1 - np.exp(-alpha * share)) / (share * (1 - np.exp(-alpha)))
        bottom = (1 - np.exp(alpha * share)) / (share * (1 - np.exp(alpha)))
        return (rie - bottom) / (top - bottom) if m < n else 1.0

    return metric


def misranking(order):
    pairs = list(itertools.combinations(range(len(order)), 2))
    return sum(order[i] < order[j] for i, j in pairs) / sum(order[i] != order[j] for i, j in pairs)


def ranking_error(order):
    pairs = list(itertools.combinations(range(len(order)), 2))
    lost = sum(max(0, order[j] - order[i]) for i, j in pairs)
    return lost / sum(order[i] != order[j] for i, j in pairs)


def kendall_tau(order):
    return 1 - 2 * misranking(order)


def middle_ranks(v):
    v = np.asarray(v, dtype=float)
    return np.array([np.sum(v < x) + (np.sum(v == x) + 1) / 2 for x in v])


def spearman_rho(order):
    return np.corrcoef(np.arange(len(order), 0, -1), middle_ranks(order))[0, 1]


def mean_squared_difference(y, s):
    r = np.subtract(s, y)
    return np.mean((r[:, None] - r) ** 2)


def mean_absolute_difference(y, s):
    r = np.subtract(s, y)
    return np.mean(np.abs(r[:, None] - r))
