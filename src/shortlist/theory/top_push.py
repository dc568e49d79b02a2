"""What the training list says about each positive's place among fresh negatives: TopPush (Li, Jin and Zhou 2014)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from shortlist.theory._input import failure_of, number, whole
from shortlist.theory.classes import FunctionClass, LinearClass

__all__ = ["TopBound", "top_push_bound", "top_push_delta"]


def top_push_delta(
    m: int,
    n: int,
    *,
    functions: FunctionClass,
    margin: float = 1.0,
    confidence: float = 0.95,
    printed: bool = False,
) -> float:
    """The share of fresh negatives that can be above a positive which beats all training negatives by a margin.

    With the given confidence, for all w of the class at once and every positive i of the m with
    w.x_i > max_j w.x_j + margin, over the n negatives j: a fresh negative scores as high as x_i, or higher, with
    probability at most delta.  With t = log(1/(1 - confidence)), a = norm * radius, delta is the smaller of::

        4 a / (margin sqrt(n)) + sqrt((t + log m) / (2 n))            in any dimension
        1 - exp(-(t + log m + log N(margin/4)) / n)                   N as in LinearClass

    *Derivation.*  First: let r(z) be the ramp that is 0 up to z = -margin and 1 from z = 0, of slope 1/margin.  Its
    mean over fresh negatives, z = w.x - w.x_i, is no less than the probability in question, and its mean over the n
    is 0.  The largest difference of the two over w changes by at most 1/n with one negative (McDiarmid), and its
    expectation is at most 2/n times that of the largest sum_j s_j r(z_j) with random signs s_j, hence (contraction)
    2 norm/(n margin) E||sum_j s_j (x_j - x_i)|| <= 4 a/(margin sqrt(n)).  x_i does not depend on the negatives;
    log m pays for all m of them.  Second: for the centre c of a ball of radius margin/4, all n negatives are more than
    margin/2 below x_i.  If fresh ones were not, with probability delta, the n would all have
    escaped with probability (1 - delta)^n.

    Parameters
    ----------
    m, n : int
        Numbers of positives and of negatives in training.
    functions : LinearClass, FiniteClass or the like
        The ``norm`` of a linear class is the paper's rho; its ``radius`` is 1 there.  For other classes only the
        second of the two is known.
    margin : float
        In units of the score.  1 is where the truncated quadratic loss becomes 0.
    confidence : float
        Between 0 and 1.
    printed : bool
        Lemma 1's (20), with G = 2 (1 + 2 a) the slope of the truncated quadratic loss; ``margin`` has to be 1.

    Notes
    -----
    The lemma says, as printed, that the share of training positives with h(x_i) >= delta, where
    h(x) = E l(w.x_j - w.x), is at most the training loss.  It is not.  Positives less than 1 above all negatives are
    counted whole on the left but pay less than 1 on the right: with all negatives at 0, one positive at x = 1 and
    w = 1/2, h = l(-1/2) = 1/4, which exceeds any small delta; the share is 1, the loss 1/4.  What the proof shows is
    that the share of positives with h > delta is at most the share that is not above all negatives by more than 1.
    In (21) the loss's range, 4a(1 + a) for a fixed x_i, is taken for 2a, or 1.  In (22) |x_j - x_i| <= 1 is used,
    where it is 2; as only one side of the deviation is needed, the factor that this costs is won back.  The ramp makes
    all of them needless, and the bound smaller.

    References
    ----------
    Li, Jin and Zhou (2014), Lemma 1.

    Examples
    --------
    >>> from shortlist.theory import LinearClass, top_push_delta
    >>> unit = LinearClass(dimension=20, norm=1.0)
    >>> round(top_push_delta(500, 20_000, functions=unit), 5)
    0.00265
    >>> round(top_push_delta(500, 20_000, functions=unit, printed=True), 5)
    0.70436
    """
    m, n = whole("m", m, 1), whole("n", n, 1)
    margin = number("margin", margin, above=0.0)
    t = -math.log(failure_of(confidence)) + math.log(m)
    a = _reach(functions, needed=printed)
    if printed:
        if margin != 1.0:
            raise ValueError(f"margin must be 1 for the printed lemma, got {margin:g}; scale the norm instead")
        return 4.0 * _steepest(a) * (a + 1.0) / math.sqrt(n) + 5.0 * a * t / (3.0 * n) + (
            2.0 * _steepest(a) * a * math.sqrt(2.0 * t / n)
        )
    free = 4.0 * a / margin / math.sqrt(n) + math.sqrt(t / (2.0 * n))
    return min(free, -math.expm1(-(t + functions.log_covering(margin / 4.0)) / n))


@dataclass(frozen=True)
class TopBound:
    """At most a share ``error`` of fresh positives has more than a share ``delta`` of fresh negatives above it."""

    error: float
    delta: float


def top_push_bound(
    training_error: float,
    m: int,
    n: int,
    *,
    functions: FunctionClass,
    margin: float = 1.0,
    confidence: float = 0.95,
    printed: bool = False,
) -> TopBound:
    """What holds for fresh positives with the given confidence, for all w of the class at once.

    A fresh positive has more than a share ``delta`` of the negatives at its score or above with probability at most::

        error = training_error + sqrt((t + log N(margin/8)) / (2 m)),      t = log(2/(1 - confidence))

    with ``delta`` of :func:`top_push_delta` for half the margin and half of 1 - confidence.

    *Derivation.*  Let c be the centre within margin/8 of w.  Differences of scores change by at most margin/4.  So
    w has no more negatives above x than c has above its score less margin/4; call c bad for x if that is more than
    delta.  For each centre, the share of bad positives in truth and in training differ by Hoeffding's inequality.
    And a positive that w puts above all training negatives by the margin, c puts above them by margin/4 + margin/2,
    and is not bad, by the lemma with half the margin, shifted by margin/4.

    Parameters
    ----------
    training_error : float
        Share of the training positives that do not beat every training negative by more than ``margin``; or anything
        larger, such as the training loss over l(-margin), as l does not decrease.  If ``printed``, the training loss.
    m, n, functions, margin, confidence
        As in :func:`top_push_delta`.
    printed : bool
        The last display of the paper's proof,
        loss + G rho/sqrt(m) + sqrt((2 t + 2 d log(9 rho) + d log m)/m), with (20); it needs m of 12 or more.

    Returns
    -------
    TopBound
        ``error`` and ``delta``, both at most 1.

    Notes
    -----
    Beside Lemma 1: the net has radius 1/(2 sqrt(m)), so 9 rho should be 18 rho; the loss changes by
    G/sqrt(m), not G rho/sqrt(m); and the last step, h_b <= 2 h_l, doubles delta, which the statement forgets.  The
    theorem in its form with O() is saved by the VC dimension d + 1 of half-spaces: positives above all n negatives
    have, uniformly, O(d log(n)/n) of fresh ones above them, without any margin.

    References
    ----------
    Li, Jin and Zhou (2014), Theorem 3 and section 4.3.

    Examples
    --------
    TopPush with C = 0.5 on 5,000 positives and 50,000 negatives in 20 features, rows in the unit ball; 12 % of the
    positives do not beat all negatives by 0.5:

    >>> from shortlist.theory import LinearClass, norm_bound, top_push_bound
    >>> functions = LinearClass(dimension=20, norm=norm_bound(0.5))
    >>> bound = top_push_bound(0.12, 5000, 50_000, functions=functions, margin=0.5)
    >>> round(bound.error, 3), round(bound.delta, 5)
    (0.206, 0.00164)
    """
    m, n = whole("m", m, 12 if printed else 1), whole("n", n, 1)
    error = number("training_error", training_error, high=math.inf if printed else 1.0)
    margin = number("margin", margin, above=0.0)
    each = 1.0 - failure_of(confidence) / 2.0
    t = -math.log(failure_of(confidence) / 2.0)
    if printed:
        delta = top_push_delta(m, n, functions=functions, margin=margin, confidence=each, printed=True)
        assert isinstance(functions, LinearClass)  # or the line above has raised
        a, d = functions.norm * functions.radius, functions.dimension
        if 9.0 * a < 1.0:
            raise ValueError(f"norm * radius must be 1/9 or more for the printed theorem, got {a:g}")
        error += _steepest(a) * a / math.sqrt(m)
        error += math.sqrt((2.0 * t + 2.0 * d * math.log(9.0 * a) + d * math.log(m)) / m)
    else:
        delta = top_push_delta(m, n, functions=functions, margin=margin / 2.0, confidence=each)
        error += math.sqrt((t + functions.log_covering(margin / 8.0)) / (2.0 * m))
    return TopBound(min(1.0, error), min(1.0, delta))


def _reach(functions: FunctionClass, needed: bool) -> float:
    """The largest score."""
    if isinstance(functions, LinearClass):
        return functions.norm * functions.radius
    if needed:
        raise TypeError(f"functions must be a LinearClass for the printed formula, got {type(functions).__name__}")
    return math.inf


def _steepest(a: float) -> float:
    """G: the slope of [1 + z]_+^2 at z = 2a."""
    return 2.0 * (1.0 + 2.0 * a)
