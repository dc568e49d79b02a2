"""What the training list says about the top of the next one: uniform convergence for the Infinite Push (Agarwal 2011).

Both functions hold for every function of a class at once, hence for the one that was fitted.  They ask for the class's
covering numbers in the largest difference of scores, see :class:`shortlist.theory.LinearClass`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from shortlist.theory._input import failure_of, number, whole
from shortlist.theory.classes import FunctionClass

__all__ = ["PushBound", "infinite_push_bound", "infinite_push_failure"]


def infinite_push_failure(
    excess: float,
    m: int,
    n: int,
    *,
    margin: float,
    functions: FunctionClass,
    easy_share: float,
    printed: bool = False,
) -> float:
    """Probability that some function of the class does worse than its training list says, by more than ``excess``.

    Worse: the worst negative that can occur has more positives below it, as a share of all that can occur, than
    training error + excess, where the training error is the largest share of training positives that fail to beat a
    training negative by ``margin``.  With m positives and n negatives::

        probability  <=  N(margin/4) (n exp(-m excess^2 / 2) + easy_share^n)

    *Derivation.*  Let c be the centre within margin/4 of f.  Differences of scores change by at most margin/2.  So an
    error of f is a pair that c separates by less than margin/2, and each pair that c separates by less than
    margin/2, f separates by less than margin.  It remains to compare truth and training for the centres, at
    margin/2: unless all n negatives are easy for c, one of them is within excess/2 of the worst; and for each
    of the n, the share of positives deviates by excess/2 (in the direction that matters) with probability at most
    exp(-2 m (excess/2)^2) (Hoeffding).

    Parameters
    ----------
    excess : float
        The theorem's epsilon, above 0 and at most 1.
    m, n : int
        Numbers of positives and of negatives in training.
    margin : float
        The theorem's gamma, in units of the score.
    functions : LinearClass, FiniteClass or the like
    easy_share : float
        The largest probability, over the functions c of the class, that a random negative is easy: that the share of
        positives which fail to beat it by margin/2 is below that of the worst negative by more than excess/2.
        It belongs to the distribution; training rows do not tell it.  (:func:`infinite_push_bound` does without.)
    printed : bool
        Theorem 5.1: N(excess margin / 8) (2 n exp(-m excess^2 / 8) + easy_share^n), ``easy_share`` being defined at
        ``margin`` and excess/4.

    Notes
    -----
    The theorem is false as printed.  A pair's margin loss is a step, so functions that are close do not have
    losses that are close, and the share of easy negatives at ``margin`` may be 0 for every function of a class that
    one ball covers.  Smallest example, one negative in training (n = 1): positives score 0; there are k negatives of
    score just above -margin, and with probability p one of score just above 0.  f_1, ..., f_k differ only in that
    f_j puts the j-th of those k at -margin.  For each f_j easy negatives have probability (1 - p)/k.  But the function
    that belongs to the negative drawn has no training error, while the rare negative is above all positives: the
    event has probability 1 - p, and the bound tends to (1 - p)/k as m grows.  At margin/2, as above, all k are
    easy, and the bound is 1 - p.  In return the radius no longer shrinks with ``excess``, and the split of
    ``excess`` into four parts becomes one into two.

    References
    ----------
    Agarwal (2011), Theorem 5.1 and appendix A.

    Examples
    --------
        >>> from shortlist.theory import FiniteClass, infinite_push_failure
    >>> round(infinite_push_failure(0.1, 4000, 200, margin=0.5, functions=FiniteClass(1), easy_share=0.95), 6)
    3.5e-05
    >>> infinite_push_failure(0.1, 4000, 200, margin=0.5, functions=FiniteClass(1), easy_share=0.95, printed=True)
    1.0
    """
    excess = number("excess", excess, above=0.0, high=1.0)
    m, n = whole("m", m, 1), whole("n", n, 1)
    margin = number("margin", margin, above=0.0)
    easy = number("easy_share", easy_share, high=1.0)
    if printed:
        log_balls, log_deviation = functions.log_covering(excess * margin / 8.0), math.log(2 * n) - m * excess**2 / 8.0
    else:
        log_balls, log_deviation = functions.log_covering(margin / 4.0), math.log(n) - m * excess**2 / 2.0
    log_all_easy = n * math.log(easy) if easy > 0.0 else -math.inf
    # In logarithms: the number of balls alone may be beyond the largest float.
    total = np.logaddexp(log_balls + log_deviation, log_balls + log_all_easy)
    return float(np.exp(min(total, 0.0)))


@dataclass(frozen=True)
class PushBound:
    """For all negatives but a ``share``, at most a share ``error`` of the positives is not above it."""

    error: float
    share: float


def infinite_push_bound(
    training_error: float,
    m: int,
    n: int,
    *,
    margin: float,
    functions: FunctionClass,
    confidence: float = 0.95,
) -> PushBound:
    """What holds for fresh rows with the given confidence, from quantities that are known.

    For every function of the class at once, and for all fresh negatives but a share q of them: the probability
    that a fresh positive does not score above it is at most ``error``::

        t     = log(2 N(margin/4) / (1 - confidence))
        error = training_error + sqrt((t + log n) / (2 m))
        q     = 1 - exp(-t / n)

    *Derivation.*  As for :func:`infinite_push_failure`, with one change.  Instead of the worst negative that can occur,
    about which a sample says nothing, take the value that a centre's share of errors reaches or passes on a share q of
    the negatives.  All n training negatives miss that set with probability at most (1 - q)^n.  Now ``excess`` need not
    be split, and no property of the distribution is left in the bound.  Ties count as errors throughout.

    Parameters
    ----------
    training_error : float
        Share of the training positives that do not beat every training negative by more than ``margin``.
    m, n : int
        Numbers of positives and of negatives in training.
    margin : float
        In units of the score, chosen before the rows are seen.
    functions : LinearClass, FiniteClass or the like
    confidence : float
        Between 0 and 1.

    Returns
    -------
    PushBound
        ``error`` (at most 1) and ``share``.

    Examples
    --------
    >>> from shortlist.theory import FiniteClass, LinearClass, infinite_push_bound

    A model chosen on other rows, checked on 2,000 positives and 50,000 negatives:

    >>> bound = infinite_push_bound(0.30, 2000, 50_000, margin=0.1, functions=FiniteClass(1))
    >>> round(bound.error, 3), round(bound.share, 6)
    (0.36, 7.4e-05)

    The same figures for the training rows of a linear model in 20 features, with norm 5 and rows in the unit ball:

    >>> bound = infinite_push_bound(0.30, 2000, 50_000, margin=0.1, functions=LinearClass(20, norm=5.0))
    >>> round(bound.error, 3), round(bound.share, 6)
    (0.483, 0.002468)
    """
    error = number("training_error", training_error, high=1.0)
    m, n = whole("m", m, 1), whole("n", n, 1)
    margin = number("margin", margin, above=0.0)
    t = math.log(2.0 / failure_of(confidence)) + functions.log_covering(margin / 4.0)
    return PushBound(min(1.0, error + math.sqrt((t + math.log(n)) / (2.0 * m))), -math.expm1(-t / n))
