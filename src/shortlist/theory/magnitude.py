"""How far the training risk of a magnitude-preserving fit can be from the truth: stability (Cortes et al. 2007)."""

from __future__ import annotations

import math

from shortlist.theory._input import failure_of, number, whole

__all__ = ["magnitude_bound", "magnitude_stability", "residual_bound"]

COSTS = ("mp", "svr", "hr", "hmp")


def magnitude_stability(
    C: float,
    m: int,
    *,
    radius: float,
    residual: float = 1.0,
    order: int = 2,
    cost: str = "mp",
    printed: bool = False,
) -> float:
    """How much the cost of any pair can change when one of the m training rows is replaced.

    For h minimising 1/2 ||w||^2 + C/m^2 sum_ij c(h, x_i, x_j), on rows whose features have norm <= ``radius`` and with
    |h(x) - y| <= ``residual`` for every h that can be returned and every row that can occur::

        beta = 16 C sigma^2 radius^2 (m - 1) / m^2,     sigma = 1 (order 1) or 4 residual (order 2)

    *Derivation.*  The cost is convex and sigma-Lipschitz in h(x') - h(x).  Let h and g be the two minimisers and D
    their difference.  The objectives are 1-strongly convex, so ||D||^2 is at most the sum of what each loses at
    the other's minimiser.  In that sum only pairs with the replaced row are left: 2(m - 1) ordered pairs in each
    sample, none with itself, for that costs nothing.  Each changes by at most sigma |D(x') - D(x)| <= 2 sigma
    radius ||D||.  So ||D|| <= 8 C sigma radius (m - 1)/m^2, and a pair's cost changes by at most
    2 sigma radius ||D||.  For order 1 and the cost ``mp`` there are rows that attain it, for every m.

    Parameters
    ----------
    C : float
        Of Shortlist; the paper's is 2C.
    m : int
        Number of training rows, 2 or more.
    radius : float
        Largest norm of a row in feature space: the root of the largest K(x, x); 1 for a Gaussian kernel.
    residual : float
        The paper's M; see :func:`residual_bound`.  Order 1 does not use it here.
    order : {1, 2}
        Power of the cost.
    cost : {"mp", "svr", "hr", "hmp"}
        Of the pair.  ``"hmp"`` only as printed: see Notes.
    printed : bool
        Proposition 3 as printed, 8 C sigma^2 radius^2 / m.

    Notes
    -----
    Three slips.  (1) Proposition 3 bounds the change when a row is *removed*; Theorem 1 applies it to a row that is
    *replaced*, which can change twice as much.  With m = 3, C = 1, order 1 and one feature, rows -1, -1, 1 of which
    the last has a label far up, or far down: w moves from 8/9 to -8/9, and the cost of a pair (1, -1) by 32/9; the
    printed beta is 24/9.  (2) Lemma 1 needs a continuous cost.  c_HMP jumps from 0 to |y' - y|^n at equal scores, and
    no sigma exists.  (3) c_SVR as printed jumps at -epsilon, from 0 to (2 epsilon)^n; meant is
    (|d| - epsilon)^n beyond epsilon, and for that the lemma holds.

    ``hr`` and ``hmp`` are 0 at equal scores, so that w = 0 minimises their objective for every C and all data: what
    stability says of them is true and empty.

    References
    ----------
    Cortes, Mohri and Rastogi (2007), Lemma 1 and Proposition 3.

    Examples
    --------
    >>> from shortlist.theory import magnitude_stability
    >>> round(magnitude_stability(1.0, 3, radius=1.0, order=1), 4)
    3.5556
    >>> round(magnitude_stability(1.0, 3, radius=1.0, order=1, printed=True), 4)
    2.6667
    """
    C, m, radius = number("C", C, above=0.0), whole("m", m, 2), number("radius", radius)
    slope = _slope(cost, order, number("residual", residual), printed)
    scale = C * slope * slope * radius * radius
    return 8.0 * scale / m if printed else 16.0 * scale * (m - 1) / m / m


def magnitude_bound(
    training_risk: float,
    C: float,
    m: int,
    *,
    radius: float,
    residual: float,
    order: int = 2,
    cost: str = "mp",
    confidence: float = 0.95,
    printed: bool = False,
) -> float:
    """With the given confidence, the expected cost of a fresh pair is at most this.

    ::

        R  <=  m/(m-1) risk + 2 beta + (m beta + B) sqrt(2 log(1/(1 - confidence)) / m)

    with beta of :func:`magnitude_stability`, B = (2 residual)^order, the largest cost of a pair, and risk the
    mean cost over all m^2 ordered training pairs, as everywhere in Shortlist.

    *Derivation.*  The m pairs of a row with itself cost nothing, so m/(m-1) risk is the mean over the others, U.
    Swapping names of training rows and fresh rows, E[R - U] is the mean change of one pair's cost when both its rows
    are replaced: at most 2 beta.  Replacing one row changes R by at most beta; and U by at most beta, and B more for
    the share 2/m of pairs that the row is in.  McDiarmid's inequality, on one side, does the rest.

    Parameters
    ----------
    training_risk : float
        Mean cost over the m^2 ordered pairs of training rows, at the minimiser.
    C, m, radius, residual, order, cost
        As in :func:`magnitude_stability`.
    confidence : float
        Between 0 and 1.
    printed : bool
        Corollary 1 as printed: risk + 2 beta + (m beta + B) sqrt(2 log(2/(1 - confidence)) / m) with its own beta.

    Notes
    -----
    The formulas (65) and (66) do follow from Theorem 1.  The theorem's proof has two slips.  Its beta is that of a
    removed row (see :func:`magnitude_stability`).  And (50) forgets that pairs i = i cost nothing: with two rows and C
    near 0 the expected training risk is half the risk, while (56) claims that their difference is near 0.

    "Effective for C well below sqrt(m)" holds if ``residual`` does not grow with C.  Without other knowledge it grows
    like sqrt(C), and for order 2 it is C^2 that must be well below sqrt(m).

    References
    ----------
    Cortes, Mohri and Rastogi (2007), Theorem 1 and Corollary 1.

    Examples
    --------
    Labels in [-1, 1], rbf kernel, 100,000 rows, C = 0.1:

    >>> from shortlist.theory import magnitude_bound, residual_bound
    >>> M = residual_bound(0.1, radius=1.0, label_bound=1.0)
    >>> round(M, 3)
    1.632
    >>> round(magnitude_bound(0.2, 0.1, 100_000, radius=1.0, residual=M), 3)
    0.812
    """
    risk = number("training_risk", training_risk)
    failure = failure_of(confidence)
    residual = number("residual", residual, above=0.0)
    beta = magnitude_stability(C, m, radius=radius, residual=residual, order=order, cost=cost, printed=printed)
    largest = 2.0 * residual if order == 1 else 4.0 * residual * residual
    if risk > largest:
        raise ValueError(
            f"training_risk is {risk:g}, but no pair can cost more than (2 residual)^order = {largest:g}: "
            "residual must bound |h(x) - y| on every row"
        )
    if printed:
        return risk + 2.0 * beta + (m * beta + largest) * math.sqrt(2.0 * math.log(2.0 / failure) / m)
    return risk * (m / (m - 1)) + 2.0 * beta + (m * beta + largest) * math.sqrt(-2.0 * math.log(failure) / m)


def residual_bound(C: float, *, radius: float, label_bound: float, order: int = 2, cost: str = "mp") -> float:
    """A bound on |h(x) - y| that holds for every sample, from labels with |y| <= ``label_bound``.

    The objective at its minimiser is at most C risk(0), so 1/2 ||w||^2 <= C risk(0) and |h(x)| <= radius ||w||.  At
    w = 0 the mean cost of a pair is that of the differences of labels: at most Y for order 1 and 2 Y^2 for order 2
    (half of the labels at either end), and 0 for ``hr`` and ``hmp``.  So the bound is
    Y + radius sqrt(2 C Y), or Y (1 + 2 radius sqrt(C)).  Subtract a constant from the labels to make Y small:
    the fit does not see it.

    Examples
    --------
    >>> from shortlist.theory import residual_bound
    >>> residual_bound(4.0, radius=1.0, label_bound=0.5)
    2.5
    """
    C, radius = number("C", C, above=0.0), number("radius", radius)
    largest = number("label_bound", label_bound, above=0.0)
    _slope(cost, order, 1.0, printed=True)
    if cost in ("hr", "hmp"):
        return largest
    if order == 1:
        return largest + radius * math.sqrt(2.0 * C * largest)
    return largest * (1.0 + 2.0 * radius * math.sqrt(C))


def _slope(cost: str, order: int, residual: float, printed: bool) -> float:
    """The paper's sigma."""
    if cost not in COSTS:
        raise ValueError(f"cost must be one of {', '.join(COSTS)}, got {cost!r}")
    if isinstance(order, bool) or order not in (1, 2):
        raise ValueError(f"order must be 1 or 2, got {order!r}")
    if cost == "hmp" and not printed:
        raise ValueError(
            "cost 'hmp' jumps at equal scores, so it has no Lipschitz constant and Lemma 1 does not hold for it; "
            "use 'mp', or printed=True for the formula as it stands in the paper"
        )
    return 1.0 if order == 1 else 4.0 * residual
