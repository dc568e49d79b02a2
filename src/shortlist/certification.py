"""``certify``: recompute what a fitted model claims, by code that shares no mathematics with the solvers.

Everything is written anew from the definitions in plain NumPy and in double precision: the scores, the
thresholds, the losses and their conjugates, and the lower bound from the model's dual variables.  For the
penalty 1/2 ||w||^2, positives i with u_i = C a_i, and negatives j of the same group,

    objective  P(w) = 1/2 ||w||^2 + sum_i u_i l(t_g - w.x_i),
    bound      D(alpha, beta) = -1/2 ||w_dual||^2 - sum_i u_i l*(alpha_i / u_i),
               w_dual = sum_i alpha_i x_i - sum_j beta_j x_j,

and D <= min P for every alpha, beta >= 0 that have equal sums in each group and keep below the caps of the
threshold's average.  The model's dual variables are first made to satisfy that to the letter, so the bound
holds whatever the model says: wrong coefficients raise P, wrong dual variables lower D, and either opens a
gap.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq, minimize_scalar
from sklearn.utils.validation import check_array, check_is_fitted

from shortlist.certification_boosting import certify_boosting
from shortlist.certification_lists import certify_lists
from shortlist.certification_pairs import certify_pairs
from shortlist.certification_pairwise import certify_pairwise
from shortlist.solvers.solution import Certificate

Array = NDArray[Any]

__all__ = ["certify"]

_BLOCK = 1 << 22


@dataclass(frozen=True)
class _Loss:
    """A surrogate: its value, its slope, its conjugate on [0, upper]."""

    value: Callable[[Array], Array]
    slope: Callable[[Array], Array]
    conjugate: Callable[[Array], Array]
    upper: float


def _entropy(a: Array) -> Array:
    return np.where(a > 0, a * np.log(np.where(a > 0, a, 1.0)), 0.0)


_LOSSES = {
    "squared_hinge": _Loss(
        lambda z: np.where(z > -1, (1 + z) ** 2, 0.0),
        lambda z: np.where(z > -1, 2 * (1 + z), 0.0),
        lambda a: a**2 / 4 - a,
        np.inf,
    ),
    "hinge": _Loss(
        lambda z: np.where(z > -1, 1 + z, 0.0),
        lambda z: np.where(z > -1, 1.0, 0.0),
        lambda a: -a,
        1.0,
    ),
    "logistic": _Loss(
        lambda z: np.maximum(z, 0) + np.log1p(np.exp(-np.abs(z))),
        lambda z: 0.5 + 0.5 * np.tanh(z / 2),
        lambda a: _entropy(a) + _entropy(1 - a),
        1.0,
    ),
    "exponential": _Loss(np.exp, np.exp, lambda a: _entropy(a) - a, np.inf),
}


@dataclass(frozen=True)
class _Group:
    """The rows of one group that take part."""

    positives: Array
    negatives: Array
    u: Array  # C times the share of each positive among all positives
    v: Array  # weights of the negatives


def certify(model: Any, X: Any, y: Any, *, groups: Any = None, sample_weight: Any = None) -> Certificate:
    """Recompute objective, lower bound and gap of a fitted model on the data that it was fitted on.

    Parameters
    ----------
    model : fitted estimator of the top family, over pairs or lists, of least squares, or of the magnitude costs
    X, y, groups, sample_weight
        Exactly what ``fit`` was given. On other data the gap is large, as it should be.

    Returns
    -------
    Certificate
        ``n_iter`` is 0, ``tolerance`` the model's.

    Notes
    -----
    The feature map of a kernel is taken as fitted; what is certified is the optimisation upon it. For
    `PatMat` it covers the convex problem whose threshold solves mean_j l(theta (s_j - t)) = tau, not the
    quantile; for `AATP` the convex program of the chosen row, not the choice of the row. For `RankBoost` and
    `PNormPush` it is the bound among answers of the same size, and the tolerance the gap that the model claims.

    Examples
    --------
    >>> import numpy as np
    >>> from shortlist import TopPush, certify
    >>> X = np.array([[3.0, 0.0], [2.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    >>> y = np.array([1, 1, 0, 0])
    >>> model = TopPush(C=10.0).fit(X, y)
    >>> certify(model, X, y).converged
    True
    >>> model.coef_ = -model.coef_
    >>> certify(model, X, y).converged
    False
    """
    began = time.perf_counter()
    check_is_fitted(model)
    if hasattr(model, "rounds_"):
        return certify_boosting(model, X, y, groups, sample_weight)
    problem = model.objective_
    if hasattr(problem, "power"):
        return certify_pairwise(model, X, y, groups, sample_weight)
    if hasattr(problem, "measure"):
        return certify_lists(model, X, y, groups, sample_weight)
    if hasattr(problem, "cost"):
        return certify_pairs(model, X, y, groups, sample_weight)
    X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32])
    Z = model.feature_map_.transform(X)
    w = np.asarray(model.coef_[0], dtype=np.float64)
    loss = _LOSSES[problem.loss]
    if problem.threshold.startswith("quantile_by_"):
        primal, bound = _at_a_row(model, Z, w, y, sample_weight)
        return _certificate(model, primal, bound, began)
    members = _members(model, Z.shape[0], y, groups, sample_weight, problem.C)

    scores = _scores(Z, w)
    primal = 0.5 * float(w @ w) if problem.penalty == "l2" else float(np.abs(w).sum())
    thresholds = [_threshold(scores[g.negatives], g.v, problem, loss) for g in members]
    for group, t in zip(members, thresholds, strict=True):
        primal += float(group.u @ loss.value(t - scores[group.positives]))

    dual = _dual_of(model, Z.shape[0])
    feasible, paid = np.zeros_like(dual), 0.0
    for group, t in zip(members, thresholds, strict=True):
        alpha = np.clip(dual[group.positives], 0, loss.upper * group.u)
        beta = _balanced(np.clip(-dual[group.negatives], 0, None), float(alpha.sum()), group.v, problem)
        feasible[group.positives], feasible[group.negatives] = alpha, -beta
        paid += float(group.u @ loss.conjugate(alpha / group.u))
        if problem.threshold == "surrogate_quantile":
            paid += _price_of_quantile(beta, scores[group.negatives] - t, group.v, problem, loss)
    direction = _transposed(Z, feasible)
    if problem.penalty == "l2":
        bound = -0.5 * float(direction @ direction) - paid
    else:
        bound = -paid / max(1.0, float(np.abs(direction).max()))
    return _certificate(model, primal, bound, began)


def _certificate(model: Any, primal: float, bound: float, began: float) -> Certificate:
    return Certificate.of(
        primal,
        bound,
        tolerance=model.tol,
        n_iter=0,
        n_passes=2.0,
        seconds=time.perf_counter() - began,
    )


def _at_a_row(model: Any, Z: Any, w: Array, y: Any, sample_weight: Any) -> tuple[float, float]:
    """Objective and bound of AATP's program: hinges about the score of one row, q, on both sides of it.

    minimise 1/2 ||w||^2 + sum_i u_i [1 - y_i (s_i - s_q)]_+ has the dual, for 0 <= alpha <= u,
    sum(alpha) - 1/2 ||sum_i alpha_i y_i (x_i - x_q)||^2; the term of q itself is always u_q.
    """
    n_rows, q, problem = Z.shape[0], model.threshold_row_, model.objective_
    weight = np.ones(n_rows) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    y = np.asarray(y).ravel()
    if not len(y) == len(weight) == n_rows > q:
        raise ValueError(f"X has {n_rows} rows, y {len(y)}: certify needs what fit was given")
    sign = np.where(y == model.classes_[1], 1.0, -1.0)
    if problem.threshold == "quantile_by_rows":
        total = np.full(n_rows, weight.sum())
    else:
        total = np.where(sign > 0, weight[sign > 0].sum(), weight[sign < 0].sum())
    u = problem.C * weight / total
    scores = _scores(Z, w)
    primal = 0.5 * float(w @ w) + float(u @ np.maximum(0, 1 - sign * (scores - scores[q])))
    alpha = np.clip(sign * _dual_of(model, n_rows), 0, u)
    alpha[q] = 0
    signed = sign * alpha
    signed[q] = -signed.sum()
    direction = _transposed(Z, signed)
    return primal, float(alpha.sum() + u[q] - 0.5 * (direction @ direction))


def _members(model: Any, n_rows: int, y: Any, groups: Any, sample_weight: Any, C: float) -> list[_Group]:
    """The groups that hold both classes, from the raw arguments of fit."""
    y = np.asarray(y).ravel()
    weight = np.ones(n_rows) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    names = [None] * n_rows if groups is None else list(groups)
    if not len(y) == len(weight) == len(names) == n_rows:
        raise ValueError(
            f"X has {n_rows} rows, y {len(y)}, sample_weight {len(weight)} and groups {len(names)}: "
            "certify needs what fit was given"
        )
    rows_of: dict[Any, list[int]] = {}
    for row in np.flatnonzero(weight > 0):
        rows_of.setdefault(names[row], []).append(int(row))
    top = y == model.classes_[1]
    split = [(rows[top[rows]], rows[~top[rows]]) for rows in map(np.array, rows_of.values())]
    split = [(p, n) for p, n in split if len(p) and len(n)]
    if not split:
        raise ValueError("no group holds rows of both classes: certify needs what fit was given")
    total = sum(float(weight[p].sum()) for p, _ in split)
    return [_Group(p, n, C * weight[p] / total, weight[n]) for p, n in split]


def _dual_of(model: Any, n_rows: int) -> Array:
    support = model.support_
    if len(support) and support.max() >= n_rows:
        raise ValueError(
            f"the model was fitted on at least {support.max() + 1} rows, X has {n_rows}: "
            "certify needs what fit was given"
        )
    dual = np.zeros(n_rows)
    dual[support] = model.dual_coef_[0]
    return dual


def _caps(v: Array, problem: Any) -> Array | None:
    """How much of the threshold's average each negative may bear."""
    if problem.threshold in ("max", "surrogate_quantile"):
        return None
    if problem.threshold == "mean_of_largest":
        k = problem.amount
    elif problem.threshold == "tail_mean":
        k = max(1.0, np.ceil(problem.amount * v.sum() * (1 - 1e-12)))
    else:
        raise ValueError(f"there is no certificate for the threshold {problem.threshold!r}")
    return np.asarray(v / min(k, float(v.sum())))


def _threshold(s: Array, v: Array, problem: Any, loss: _Loss) -> float:
    """What the positives of a group must beat."""
    if problem.threshold == "surrogate_quantile":
        share, theta, tau = v / v.sum(), problem.scale, problem.amount

        def excess(t: float) -> float:
            with np.errstate(over="ignore"):
                return min(float(share @ loss.value(theta * (s - t))), 1e300) - float(tau)

        low = high = float(s.max())
        step = 1.0 / theta
        while excess(high) > 0:
            high += step
            step *= 2
        step = 1.0 / theta
        while excess(low) < 0:
            low -= step
            step *= 2
        return float(brentq(excess, low, high, xtol=1e-14 * max(1.0, abs(high)), rtol=1e-14))
    caps = _caps(v, problem)
    return float(s.max()) if caps is None else float(_fill(s, caps) @ s)


def _fill(s: Array, caps: Array) -> Array:
    """The weights of sum 1 below the caps that favour the largest scores."""
    order = np.argsort(-s)
    before = np.concatenate([[0.0], np.cumsum(caps[order])[:-1]])
    weights = np.empty(len(s))
    weights[order] = np.clip(1.0 - before, 0.0, caps[order])
    return weights


def _balanced(beta: Array, total: float, v: Array, problem: Any) -> Array:
    """Dual variables of a group's negatives with a given sum, below their caps, close to the given ones."""
    share = beta / beta.sum() if beta.sum() > 0 else v / v.sum()
    caps = _caps(v, problem)
    if caps is not None:
        share = np.minimum(share, caps)
        room = caps - share
        if share.sum() < 1 and room.sum() > 0:
            share += room * min(1.0, (1.0 - share.sum()) / room.sum())
    return np.asarray(total * share)


def _price_of_quantile(beta: Array, above: Array, v: Array, problem: Any, loss: _Loss) -> float:
    """``min over nu of nu tau + sum_j nu p_j l*(beta_j / (nu p_j theta))``; any nu gives a valid bound."""
    p, theta, tau = v / v.sum(), problem.scale, problem.amount
    if not beta.any():
        return 0.0

    def price(nu: float) -> float:
        slope = np.minimum(beta / (nu * p * theta), loss.upper)
        return float(nu * tau + nu * (p @ loss.conjugate(slope)))

    guess = float(beta.sum() / (theta * max(p @ loss.slope(theta * above), 1e-300)))
    least = float((beta / (p * theta)).max() / loss.upper)
    low, high = max(least, guess * 1e-3), max(least, guess) * 1e3
    found = minimize_scalar(
        lambda x: price(float(np.exp(x))),
        bounds=(np.log(low), np.log(high)),
        method="bounded",
        options={"xatol": 1e-10},
    )
    candidates = [price(float(np.exp(found.x))), price(max(least, guess))]
    return min([*candidates, price(least)] if least > 0 else candidates)


def _scores(Z: Any, w: Array) -> Array:
    """``Z @ w`` in double precision, a block of rows at a time."""
    return np.concatenate([block @ w for _, block in _blocks(Z)])


def _transposed(Z: Any, dual: Array) -> Array:
    """``Z.T @ dual`` in double precision."""
    total = np.zeros(Z.shape[1])
    for rows, block in _blocks(Z):
        total += block.T @ dual[rows]
    return total


def _blocks(Z: Any) -> Any:
    step = max(1, _BLOCK // max(1, Z.shape[1]))
    for first in range(0, Z.shape[0], step):
        rows = slice(first, first + step)
        yield rows, Z[rows].astype(np.float64, copy=False)
