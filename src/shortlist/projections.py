"""Euclidean projections onto the feasible sets of the duals; each opens with the problem that it solves.

====================  ==============================================================  ==================
function              set                                                             used by
====================  ==============================================================  ==================
simplex_pair          a, b >= 0 with equal sums                                       TopPush
box_simplex_pair      the same with a_i <= upper_i                                    hinge, logistic
capped_simplex_pair   the same with b_j <= cap_j * sum(b)                             TopPushK, tau-FPL
l1_inf_ball           A >= 0 with the sum of its columns' largest entries <= radius   the Infinite Push
====================  ==============================================================  ==================

All take float32 or float64 and return it; sums and roots are computed in float64.  None changes its input.

References
----------
.. [1] N. Li, R. Jin, Z.-H. Zhou. Top rank optimization in linear time. NIPS 2014, section 3.2.2.
.. [2] A. Quattoni, X. Carreras, M. Collins, T. Darrell. An efficient projection for l1,inf regularization.
   ICML 2009.
.. [3] L. Adam, V. Macha. Projections onto the canonical simplex with additional linear inequalities.
   Optimization Methods and Software, 2022.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[Any]

__all__ = ["box_simplex_pair", "capped_simplex_pair", "l1_inf_ball", "simplex_pair"]

_PIVOT_SAMPLE = 15  # a pivot is the median of this many random elements: it discards nearly half a round
_MAX_NEWTON = 100  # six have always been enough; bisection alone would be done by then
_ROUNDING = 4e-15


def simplex_pair(a0: ArrayLike, b0: ArrayLike, *, seed: int = 0) -> tuple[Array, Array]:
    """Projection onto the pairs of non-negative vectors with equal sums.

    ::

        minimise    1/2 ||a - a0||^2 + 1/2 ||b - b0||^2
        subject to  a >= 0,  b >= 0,  sum(a) = sum(b)

    The solution is a = [a0 - g]_+ and b = [b0 + g]_+, with g a root of

        rho(g) = sum_i [a0_i - g]_+ - sum_j [b0_j + g]_+ ,

    which does not increase and is linear between the break-points a0_i and -b0_j.  A pivot splits the
    break-points that are left, the sign of rho there says on which side the root is, and what the others
    contribute is kept as two running sums: expected O(m + n) time.

    Parameters
    ----------
    a0, b0 : (m,) and (n,) arrays
        Not empty, finite.
    seed : int
        Of the random pivots.  The result depends on it only in the last digits.

    Returns
    -------
    a, b : arrays like ``a0`` and ``b0``

    Notes
    -----
    This is Algorithm 2 of [1]_ with three repairs.  (i) As printed, the pivot is struck from the list
    without being counted: if the root turns out to lie below a pivot taken from ``a0``, that element is
    active and its share of both sums is lost (a0 = [1], b0 = [0] ends in 0/0; of 2,000 random problems up
    to 7 by 7 the printed text, line 12 repaired, solves 51).  (ii) Line 12 reads ``n_b = n_a + ...`` for
    ``n_b = n_b + ...``. (iii) The root is not always unique as Proposition 2 says: when max(a0) <=
    -max(b0), rho vanishes on a whole interval; the solution is a = b = 0, and the printed last line divides
    by zero.  Elements equal to the pivot leave with it, so ties cost nothing.  The pivot must be random:
    with the first element as pivot, as in the authors' code, sorted input takes quadratic time.

    Examples
    --------
    >>> import numpy as np
    >>> simplex_pair(np.array([3.0, 1.0, -1.0]), np.array([1.0, -2.0]))
    (array([2., 0., 0.]), array([2., 0.]))
    """
    a0, b0 = _vector(a0, "a0"), _vector(b0, "b0")
    g = _root([(a0, 1, True), (-b0, 1, False)], seed)
    return _clip(a0, -g), _clip(b0, g)


def box_simplex_pair(
    a0: ArrayLike,
    b0: ArrayLike,
    *,
    upper_a: ArrayLike | None = None,
    upper_b: ArrayLike | None = None,
    seed: int = 0,
) -> tuple[Array, Array]:
    """Projection onto the pairs of boxed vectors with equal sums.

    ::

        minimise    1/2 ||a - a0||^2 + 1/2 ||b - b0||^2
        subject to  0 <= a <= upper_a,  0 <= b <= upper_b,  sum(a) = sum(b)

    The solution is a = clip(a0 - g, 0, upper_a) and b = clip(b0 + g, 0, upper_b) with g a root of
    sum(a) - sum(b), which does not increase in g and is linear between the break-points a0, a0 - upper_a, -b0
    and upper_b - b0.  Found as in ``simplex_pair`` in expected O(m + n) time.

    Parameters
    ----------
    a0, b0 : (m,) and (n,) arrays
        Not empty, finite.
    upper_a, upper_b : scalar or array, optional
        Non-negative and finite; no limit where omitted.
    seed : int
        Of the random pivots.

    Returns
    -------
    a, b : arrays like ``a0`` and ``b0``

    Examples
    --------
    >>> import numpy as np
    >>> box_simplex_pair(np.array([3.0, 1.0, -1.0]), np.array([1.0, -2.0]), upper_a=1.0)
    (array([1. , 0.5, 0. ]), array([1.5, 0. ]))
    """
    a0, b0 = _vector(a0, "a0"), _vector(b0, "b0")
    top_a = None if upper_a is None else _bounds(upper_a, a0, "upper_a")
    top_b = None if upper_b is None else _bounds(upper_b, b0, "upper_b")
    pieces = [(a0, 1, True), (-b0, 1, False)]
    if top_a is not None:
        pieces.append((a0 - top_a, -1, True))
    if top_b is not None:
        pieces.append((top_b - b0, -1, False))
    g = _root(pieces, seed)
    return _clip(a0, -g, top_a), _clip(b0, g, top_b)


def capped_simplex_pair(
    a0: ArrayLike,
    b0: ArrayLike,
    caps_b: ArrayLike,
    *,
    upper_a: ArrayLike | None = None,
    seed: int = 0,
) -> tuple[Array, Array]:
    """Projection onto the pairs with equal sums of which no entry of b takes more than its share.

    ::

        minimise    1/2 ||a - a0||^2 + 1/2 ||b - b0||^2
        subject to  0 <= a <= upper_a,  b >= 0,  sum(a) = sum(b) = s,  b_j <= cap_j * s

    The caps move with the common sum s, which makes the set a cone (cut off by ``upper_a``) and the problem
    one in s: for given s each half is a projection onto a boxed simplex,

        a = clip(a0 - mu, 0, upper_a),   b = clip(b0 + nu, 0, cap * s),   sum(a) = sum(b) = s,

    with derivative -mu of the first half's optimal value, and nu - sum_j cap_j [b0_j + nu - cap_j s]_+ of the
    second's.
    Their total derivative increases in s and is piecewise linear; its root is found by Newton's method
    inside a bracket, exactly once the piece is found.  A step costs two roots of the kind in
    ``simplex_pair``: expected O(m + n).

    Parameters
    ----------
    a0, b0 : (m,) and (n,) arrays
        Not empty, finite.
    caps_b : scalar or (n,) array
        Positive, with sum at least 1; 1/K for the mean of the K largest.
    upper_a : scalar or array, optional
        Non-negative and finite; no limit where omitted.
    seed : int
        Of the random pivots.

    Returns
    -------
    a, b : arrays like ``a0`` and ``b0``

    Examples
    --------
    >>> import numpy as np
    >>> a, b = capped_simplex_pair(np.array([3.0, 1.0, -1.0]), np.array([1.0, -2.0, -3.0]), 0.5)
    >>> a.round(3), b.round(3)
    (array([1.667, 0.   , 0.   ]), array([0.833, 0.833, 0.   ]))
    """
    a0, b0 = _vector(a0, "a0"), _vector(b0, "b0")
    caps = _bounds(caps_b, b0, "caps_b").astype(np.float64)
    if np.any(caps <= 0) or float(caps.sum()) < 1 - 1e-9:
        raise ValueError("caps_b must be positive and sum to at least 1, or no b but 0 is feasible")
    top = None if upper_a is None else _bounds(upper_a, a0, "upper_a")
    dtype_a, dtype_b = a0.dtype, b0.dtype
    a0, b0 = a0.astype(np.float64), b0.astype(np.float64)

    def half_a(s: float) -> tuple[Array, float, float]:
        pieces = [(a0, 1, True)] if top is None else [(a0, 1, True), (a0 - top, -1, True)]
        mu = _root(pieces, seed, constant=-s)
        a = _clip(a0, -mu, top)
        free = a > 0 if top is None else (a > 0) & (a < top)
        return a, mu, 1 / max(int(free.sum()), 1)

    def half_b(s: float) -> tuple[Array, float, float]:
        limit = caps * s
        nu = _root([(-b0, 1, False), (limit - b0, -1, False)], seed, constant=s)
        b = _clip(b0, nu, limit)
        full = b >= limit
        c = caps[full]
        slope = nu - float(np.dot(c, (b0[full] + nu - limit[full])))
        free = max(int(((b > 0) & ~full).sum()), 1)
        return b, slope, (1 - float(c.sum())) ** 2 / free + float(np.dot(c, c))

    # The sum of a is zero exactly when even the first crumb costs more than it brings.
    if float(a0.max()) + _best_mix(b0, caps) <= 0 or (top is not None and not np.any(top)):
        return np.zeros(len(a0), dtype_a), np.zeros(len(b0), dtype_b)
    # A projection onto a set that holds 0 is no longer than what it projects: that bounds the sum.
    scale = max(float(np.abs(a0).max()), float(np.abs(b0).max()))
    low, high = 0.0, scale * float(np.sqrt(len(a0) * (len(a0) + len(b0))))
    if top is not None:
        high = min(high, float(top.sum(dtype=np.float64)))
    s = min(float(np.sum(simplex_pair(a0, b0, seed=seed)[0])), high) or 0.5 * high
    for _ in range(_MAX_NEWTON):
        a, mu, curve_a = half_a(s)
        b, slope, curve_b = half_b(s)
        derivative = slope - mu
        step = derivative / (curve_a + curve_b)
        if abs(step) <= _ROUNDING * s or high - low <= _ROUNDING * s:
            break
        low, high = (s, high) if step < 0 else (low, s)
        s = s - step if low < s - step < high else 0.5 * (low + high)
    return a.astype(dtype_a), b.astype(dtype_b)


def l1_inf_ball(A0: ArrayLike, radius: float) -> Array:
    """Projection onto the non-negative matrices with a bounded sum of column maxima.

    ::

        minimise    1/2 ||A - A0||_F^2
        subject to  A >= 0,  sum_j max_i A_ij <= radius

    The solution cuts each column off at its own height, A_ij = min([A0_ij]_+, h_j), with the same amount
    theta removed from every column that is not removed whole:

        sum_i [A0_ij - h_j]_+ = theta  where h_j > 0,    sum_i [A0_ij]_+ <= theta  where h_j = 0.

    The total height sum_j h_j(theta) is convex, decreasing and piecewise linear, so Newton's method from
    theta = 0 rises to the root without a bracket and stops there exactly.  Sorting the columns costs O(m n
    log m), a Newton step O(n log m), and there are few of them.

    Parameters
    ----------
    A0 : (m, n) array
        Finite.
    radius : float
        Not negative.

    Returns
    -------
    A : (m, n) array like ``A0``

    Notes
    -----
    The Infinite Push projects onto the l1,inf ball first and sets negative entries to zero afterwards.
    That is not the projection: negative entries of large magnitude then count towards the height of their
    column.  Setting them to zero *first* is exact, because with A >= 0 no entry whose target is negative
    can be better than 0, and what remains is non-negative, where the ball's own projection keeps the sign:

    >>> import numpy as np
    >>> A0 = np.array([[2.0, 2.0], [-2.0, 0.0]])
    >>> l1_inf_ball(A0, 2.0)
    array([[1., 1.],
           [0., 0.]])
    >>> project_then_clip = np.maximum(np.sign(A0) * l1_inf_ball(np.abs(A0), 2.0), 0)
    >>> project_then_clip.round(3)
    array([[1.333, 0.667],
           [0.   , 0.   ]])

    The second is feasible, but farther from A0.
    """
    A0 = np.asarray(A0)
    if A0.dtype not in (np.float32, np.float64):
        A0 = A0.astype(np.float64)
    if A0.ndim != 2 or A0.size == 0 or not np.all(np.isfinite(A0)):
        raise ValueError("A0 must be a finite matrix with at least one row and one column")
    if not (np.isfinite(radius) and radius >= 0):
        raise ValueError(f"radius must be finite and not negative, got {radius!r}")
    A: Array = np.maximum(A0, 0)
    if float(A.max(axis=0).sum(dtype=np.float64)) <= radius:
        return A
    if radius == 0:
        return np.zeros_like(A)
    # Heights depend on theta through k_j, the number of entries that column j has above its height.
    columns = np.sort(A.T, axis=1)[:, ::-1]
    m, n = A.shape
    sums = np.cumsum(columns, axis=1, dtype=np.float64)
    j = np.arange(n)
    theta = 0.0
    while True:
        # k: how many entries column j has lost height from, once theta is removed.  Bisection over the
        # sorted column; the amount that must go before entry k + 1 is touched is sums[k] - k * columns[k].
        k, beyond = np.zeros(n, dtype=np.intp), np.full(n, m, dtype=np.intp)
        while np.any(k + 1 < beyond):
            middle = (k + beyond) // 2
            touched = sums[j, middle] - (middle + 1) * columns[j, middle].astype(np.float64) <= theta
            k, beyond = np.where(touched, middle, k), np.where(touched, beyond, middle)
        alive = sums[:, -1] > theta
        total, count = sums[j, k], k + 1.0
        step = (float(np.sum((total / count)[alive])) - radius) / float(np.sum(1 / count[alive]))
        if step <= theta:
            break
        theta = step
    height = np.where(alive, np.maximum(total - theta, 0) / count, 0)
    A = np.minimum(A, height.astype(A.dtype))
    return A


def _vector(x: ArrayLike, name: str) -> Array:
    x = np.asarray(x)
    if x.dtype not in (np.float32, np.float64):
        x = x.astype(np.float64)
    if x.ndim != 1 or len(x) == 0 or not np.all(np.isfinite(x)):
        raise ValueError(f"{name} must be a finite vector with at least one entry")
    return x


def _bounds(limit: ArrayLike, like: Array, name: str) -> Array:
    limit = np.broadcast_to(np.asarray(limit, dtype=like.dtype), like.shape)
    if not np.all((limit >= 0) & np.isfinite(limit)):
        raise ValueError(f"{name} must be finite and not negative")
    return limit


def _clip(x: Array, shift: float, upper: Array | None = None) -> Array:
    """clip(x + shift, 0, upper) in the dtype of x."""
    y: Array = x + x.dtype.type(shift)
    np.maximum(y, 0, out=y)
    if upper is not None:
        np.minimum(y, upper, out=y)
    return y


def _best_mix(b: Array, caps: Array) -> float:
    """``max { p.b : 0 <= p <= caps, sum(p) = 1 }``."""
    order = np.argsort(b)[::-1]
    filled = np.minimum(np.cumsum(caps[order]), 1.0)
    return float(np.dot(np.diff(filled, prepend=0.0), b[order]))


def _root(pieces: list[tuple[Array, int, bool]], seed: int, *, constant: float = 0.0) -> float:
    """Root of a non-increasing piecewise linear function by random pivots.

        rho(g) = constant + sum over pieces (v, sign, right) of  sign * sum_{k active} (v_k - g),

    v_k being active for g < v_k if ``right`` and for g > v_k otherwise.  Expected time linear in the number
    of v.
    """
    rng = np.random.default_rng(seed)
    left_over = pieces
    s, n, last = constant, 0, 0.0  # rho(g) = s - n g, of what is known to be active at the root
    while left_over:
        largest = max(left_over, key=lambda piece: len(piece[0]))[0]
        u = float(np.median(largest[rng.integers(len(largest), size=_PIVOT_SAMPLE)]))
        below = [(v[v < u], sign, right) for v, sign, right in left_over]
        above = [(v[v > u], sign, right) for v, sign, right in left_over]
        s_left, n_left = _active(below, right=False)
        s_right, n_right = _active(above, right=True)
        rho = (s + s_left + s_right) - (n + n_left + n_right) * u
        if rho == 0:
            return u
        last = u
        # What lies beyond the pivot is settled.  Of the ties with it, those that point to the root are
        # active there.
        if rho < 0:
            s_ties, n_ties = _ties(left_over, u, right=True)
            s, n, left_over = s + s_right + s_ties, n + n_right + n_ties, below
        else:
            s_ties, n_ties = _ties(left_over, u, right=False)
            s, n, left_over = s + s_left + s_ties, n + n_left + n_ties, above
        left_over = [piece for piece in left_over if len(piece[0])]
    return s / n if n > 0 else last  # n = 0: rho is constant here, and zero up to rounding


def _active(pieces: list[tuple[Array, int, bool]], *, right: bool) -> tuple[float, int]:
    """Sum and number, with signs, of the elements that are active on the given side."""
    chosen = [(v, sign) for v, sign, side in pieces if side == right]
    return (
        sum(sign * float(v.sum(dtype=np.float64)) for v, sign in chosen),
        sum(sign * len(v) for v, sign in chosen),
    )


def _ties(pieces: list[tuple[Array, int, bool]], u: float, *, right: bool) -> tuple[float, int]:
    n = sum(sign * int(np.count_nonzero(v == u)) for v, sign, side in pieces if side == right)
    return n * u, n
