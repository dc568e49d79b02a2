"""Two-label metrics as functions of the blocks of a ``Ranking``: one value per group, NaN where undefined.

Inside a block of p positives and q negatives every order is possible.  ``pessimistic`` puts the negatives
first, ``optimistic`` the positives, ``average`` takes the expectation over all (p + q)! orders:

* the expected label of any place in the block is p / (p + q);
* the t-th negative (t = 1..q) has p t / (q + 1) positives of the block above it, and the number above a
  negative picked at random is uniform on 0..p;
* given a positive at place t, the others are spread evenly: (t - 1)(p - 1) / (p + q - 1) stand above it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import polygamma

from shortlist.metrics._discounts import Discount, ExponentialDiscount, HarmonicDiscount
from shortlist.metrics._ranking import Ranking, ratio

Array = NDArray[Any]

_LONGEST = 1 << 22
_ABOVE_ZERO = float(np.nextafter(0.0, 1.0))
_SHARE = {"pessimistic": 1.0, "average": 0.5, "optimistic": 0.0}


Terms = Callable[[Ranking], Array]


def auc(r: Ranking, ties: str, lost: Array | None = None) -> Array:
    lost = r.total_of(auc_terms(ties)) if lost is None else lost
    return ratio(r.total_pos * r.total_neg - lost, r.total_pos * r.total_neg)


def auc_terms(ties: str) -> Terms:
    """Pairs lost by the positives of a block."""
    share = _SHARE[ties]
    return lambda b: b.above_neg if b.distinct else b.pos * (b.above_neg + share * b.neg)


def partial_auc(r: Ranking, ties: str, min_fpr: float, max_fpr: float) -> Array:
    """Area over the negatives ranked in (min_fpr n, max_fpr n], counted from the positives' side."""
    r = r.upto("above_neg", r.of_group(max_fpr * r.total_neg))
    lo, hi = r.of_group(min_fpr * r.total_neg), r.of_group(max_fpr * r.total_neg)
    area = hi - np.clip(r.above_neg + r.neg, lo, hi)
    if not r.distinct and ties != "pessimistic":
        begin, end = (np.clip(x - r.above_neg, 0.0, r.neg) for x in (lo, hi))
        if ties == "optimistic":
            area = area + (end - begin)
        else:
            # The t-th of q tied negatives has a share t / (q + 1) of the tied positives above it.
            whole = _triangle(r.neg)
            area = area + r.neg / 2 * (_triangle(end) - _triangle(begin)) / np.where(whole > 0, whole, 1.0)
    return ratio(r.sum(r.pos * area), r.total_pos * r.total_neg * (max_fpr - min_fpr))


def positives_at_top(r: Ranking, ties: str) -> Array:
    """Mass of the positives above every negative; NaN in a group that lacks a label."""
    r = r.upto("above_neg", _ABOVE_ZERO)
    if ties == "pessimistic":
        count = np.where(r.neg == 0, r.pos, 0.0)
    elif ties == "average":
        # Before the first of q tied negatives stand p / (q + 1) positives on average.
        count = r.pos / (r.neg + 1.0)
    else:
        count = r.pos
    return np.where((r.total_pos > 0) & (r.total_neg > 0), r.sum(count), np.nan)


def pos_at_top(r: Ranking, ties: str) -> Array:
    return ratio(positives_at_top(r, ties), r.total_pos)


def infinite_push_loss(r: Ranking, ties: str) -> Array:
    return 1.0 - pos_at_top(r, ties)


def p_norm_loss(r: Ranking, ties: str, p: float, total: Array | None = None) -> Array:
    """``(mean over negatives of (share of positives below)^p)^(1/p)``, ties averaged inside the root."""
    total = r.total_of(p_norm_terms(ties, p)) if total is None else total
    return np.asarray(ratio(total, r.total_neg * (r.total_pos > 0)) ** (1.0 / p))


def p_norm_terms(ties: str, p: float) -> Terms:
    return lambda part: _p_norm_terms(part, ties, p)


def _p_norm_terms(r: Ranking, ties: str, p: float) -> Array:
    """Summed by parts: what the positives of a block add to the negatives above it and inside it."""
    m = r.of_group(r.total_pos)
    below = m - r.above_pos
    if r.places is not None:
        # One positive a block: each power serves the block below as well.
        powers = _power(np.append(below, below[-1:] - 1.0) / m, p)
        return np.asarray(r.above_neg * (powers[:-1] - powers[1:])[: len(below)])
    low = np.maximum(below - r.pos, 0.0)
    high_power, low_power = _power(below / m, p), _power(low / m, p)
    terms = r.above_neg * (high_power - low_power)
    if r.distinct or ties == "optimistic":
        return np.asarray(terms)
    tied = np.flatnonzero(r.neg > 0)
    inside = high_power[tied]
    if ties == "average" and len(tied):
        inside = _mean_power(low[tied], r.pos[tied], np.broadcast_to(m, len(low))[tied], p)
    terms[tied] += r.neg[tied] * (inside - low_power[tied])
    return np.asarray(terms)


def top_k(r: Ranking, ties: str, k: float | Array) -> Array:
    """Expected mass of positives among the first ``k`` places."""
    each = isinstance(k, np.ndarray)
    r = r.upto("above", r.of_group(np.asarray(k)) if each else k)
    if each:
        k = r.of_group(np.asarray(k))
    if ties == "average":
        return r.sum(np.clip(k - r.above, 0.0, r.size) * (r.pos / r.size))
    skipped = r.above + r.neg if ties == "pessimistic" else r.above
    return r.sum(np.clip(k - skipped, 0.0, r.pos))


def precision_at_k(r: Ranking, ties: str, k: float) -> Array:
    return top_k(r, ties, k) / np.minimum(k, r.total)


def recall_at_k(r: Ranking, ties: str, k: float) -> Array:
    return ratio(top_k(r, ties, k), r.total_pos)


def enrichment_factor(r: Ranking, ties: str, fraction: float) -> Array:
    # A hair below the product, so that 0.07 * 100 = 7.000000000000001 opens 7 places and not 8.
    k = np.maximum(np.ceil(fraction * r.total * (1 - 1e-12)), 1.0)
    k = np.minimum(k, r.total)
    hits = top_k(r, ties, k)
    return ratio(hits / k, r.total_pos / r.total)


def winner_takes_all(r: Ranking, ties: str) -> Array:
    r = r.upto("above", _ABOVE_ZERO)
    if ties == "average":
        wins = r.pos / r.size
    else:
        wins = np.where(r.neg == 0, 1.0, 0.0) if ties == "pessimistic" else np.ones(len(r.pos))
    return np.where(r.total_pos > 0, r.sum(wins), np.nan)


def reciprocal_rank(r: Ranking, ties: str) -> Array:
    """One over the place of the first positive."""
    value = np.full(r.n_groups, np.nan)
    best = r.leaders()
    above, pos, neg = best.above, best.pos, best.neg
    inverse = 1.0 / (above + 1.0 + (neg if ties == "pessimistic" else 0.0))
    tied = np.flatnonzero(neg > 0)
    if ties == "average" and len(tied):
        inverse[tied] = _expected_inverse(above[tied], pos[tied], neg[tied])
    value[r.counts > 0] = inverse
    return value


def discounted(r: Ranking, ties: str, discount: Discount, k: float | None = None) -> Array:
    """Sum over the positives of the discount of their place."""
    if k is not None:
        r = r.upto("above", k)
    return r.total_of(discount_terms(ties, discount, k))


def discount_terms(ties: str, discount: Discount, k: float | None = None) -> Terms:
    return lambda part: _discounted(part, ties, discount, k)


def _discounted(r: Ranking, ties: str, discount: Discount, k: float | None) -> Array:
    if r.distinct:
        return discount.at(r.above + 1.0)
    lo = r.above + r.neg if ties == "pessimistic" else r.above
    hi = r.above + r.pos if ties == "optimistic" else r.above + r.size
    worth = discount.between(lo, hi, k)
    return worth * (r.pos / r.size) if ties == "average" else worth


def bedroc(r: Ranking, ties: str, alpha: float, total: Array | None = None) -> Array:
    """(RIE - RIE_min) / (RIE_max - RIE_min), each a sum of ``exp(-alpha place / n)`` over the positives."""
    found = r.total_of(bedroc_terms(ties, alpha)) if total is None else total
    ends = ExponentialDiscount(alpha, r.total)
    best = ends.cumulative(r.total_pos)
    worst = ends.between(r.total_neg, r.total)
    value = np.where(r.total_neg > 0, ratio(found - worst, best - worst), 1.0)
    return np.where(r.total_pos > 0, value, np.nan)


def bedroc_terms(ties: str, alpha: float) -> Terms:
    return lambda part: _discounted(part, ties, ExponentialDiscount(alpha, part.of_group(part.total)), None)


def average_precision(r: Ranking, ties: str, total: Array | None = None) -> Array:
    return ratio(r.total_of(precision_terms(ties)) if total is None else total, r.total_pos)


def precision_terms(ties: str) -> Terms:
    harmonic = HarmonicDiscount()
    return lambda part: _precisions(part, ties, harmonic)


def _precisions(r: Ranking, ties: str, harmonic: HarmonicDiscount) -> Array:
    """Sum over the positives of a block of the precision at their place."""
    if r.distinct:
        return np.asarray((r.above_pos + 1.0) / (r.above + 1.0))
    above, p, q, b = r.above, r.pos, r.neg, r.size
    if ties == "pessimistic":
        gain = p - (r.above_neg + q) * harmonic.between(above + q, above + b)
    elif ties == "optimistic":
        gain = p - r.above_neg * harmonic.between(above, above + p)
    else:
        inverse = harmonic.between(above, above + b)
        gain = b - r.above_neg * inverse
        tied = np.flatnonzero(q > 0)
        if len(tied):
            gain[tied] -= q[tied] * _mixing(above[tied], b[tied], inverse[tied])
        gain *= p / b
    single = (b == 1) & (p == 1) & r.whole
    return np.where(single, (r.above_pos + 1.0) / (above + 1.0), gain)


def _mixing(above: Array, b: Array, inverse: Array) -> Array:
    """``sum over t = 1..b of (t - 1) / (b - 1) / (above + t)``, continued to fractions."""
    near = np.abs(b - 1.0) < 1e-6
    value = (b - (above + 1.0) * inverse) / np.where(near, 1.0, b - 1.0)
    if near.any():
        x = above[near]
        value[near] = 1.0 - (x + 1.0) * polygamma(1, x + 2.0)
    return value


def _triangle(c: Array) -> Array:
    """``1 + 2 + ... + c``, linear between whole numbers."""
    whole = np.floor(c)
    return whole * (whole + 1.0) / 2.0 + (c - whole) * (whole + 1.0)


def _power(x: Array, p: float) -> Array:
    if p == round(p) and 1 <= p <= 64:
        # Repeated squaring: some ten times faster than the general power.
        out, base, left = np.ones_like(x), x, int(p)
        while left:
            if left & 1:
                out = out * base
            left >>= 1
            if left:
                base = base * base
        return out
    return np.asarray(x**p)


def _mean_power(base: Array, count: Array, scale: Array, p: float) -> Array:
    """Mean of ``((base + t) / scale)^p`` over t = 0, 1, ..., count; part of a step counts in part."""
    value: Array = np.empty(len(base))
    # Where the sum is long, its continuation errs by less than 1e-10 of it.
    long = count > max(256.0, 64.0 * p)
    if long.any():
        # The first 64 terms as they are, the rest by Euler-Maclaurin in units of 1 / scale.
        h = 1.0 / scale[long]
        total = _power((base[long][:, None] + np.arange(64)) * h[:, None], p).sum(axis=1)
        a, e = (base[long] + 64) * h, (base[long] + count[long]) * h
        total += (e ** (p + 1) - a ** (p + 1)) / ((p + 1) * h) + (a**p + e**p) / 2
        total += p * h * (e ** (p - 1) - a ** (p - 1)) / 12
        value[long] = total / (count[long] + 1.0)
    short = np.flatnonzero(~long)
    if len(short):
        steps = np.floor(count[short]).astype(np.intp) + 1
        block, t = unroll(steps)
        terms = _power((base[short][block] + t) / scale[short][block], p)
        total = np.bincount(block, weights=terms, minlength=len(short)).astype(np.float64)
        part = count[short] - np.floor(count[short])
        total += part * _power((base[short] + count[short]) / scale[short], p)
        value[short] = total / (count[short] + 1.0)
    return value


def _expected_inverse(above: Array, p: Array, q: Array) -> Array:
    """``E[1 / (above + T)]``, T the place of the first of p positives among q negatives in random order.

    With S(t) = P(T > t) the product of (q - u) / (p + q - u) over u < t, the expectation is
    1 / (above + 1) - sum over t >= 1 of S(t) / ((above + t)(above + t + 1)).
    """
    # S(t) <= (q / (p + q))^t, so what lies beyond 46 / log(1 + p / q) places is under 1e-20; and beyond 2^22
    # places the rest of the sum is under 1e-6 whatever S.
    steps = np.minimum(np.ceil(q), np.minimum(np.ceil(46.0 / np.log1p(p / q)), _LONGEST)).astype(np.intp)
    block, t = unroll(steps)
    left = np.maximum(q[block] - t, 0.0)
    log_ratio = np.log(left / (p[block] + left))
    ends = np.cumsum(steps)
    running = np.cumsum(log_ratio)
    before = np.concatenate([[0.0], running[ends[:-1] - 1]])
    survival = np.exp(running - before[block])
    place = above[block] + t + 1.0
    drop = survival / (place * (place + 1.0))
    return np.asarray(1.0 / (above + 1.0) - np.bincount(block, weights=drop, minlength=len(above)))


def unroll(steps: Array) -> tuple[Array, Array]:
    """Block number and position 0, 1, ... of each of ``steps`` entries per block."""
    block = np.repeat(np.arange(len(steps)), steps)
    start = np.cumsum(steps) - steps
    return block, np.arange(len(block)) - start[block]
