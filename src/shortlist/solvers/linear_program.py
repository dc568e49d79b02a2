"""The sparse Infinite Push: a linear program that is never written down whole.

Problem, with the hinge, the ``max`` threshold of each group and u_i = C a_i:

    minimise    ||w||_1 + sum_i u_i xi_i
    subject to  xi_i >= 1 + t_g(i) - w.x_i,  xi_i >= 0          for every positive i,
                t_g(j) >= w.x_j                                 for every negative j.

Its dual,

    maximise    sum_i alpha_i
    subject to  0 <= alpha_i <= u_i,   beta_j >= 0,
                sum(alpha in g) = sum(beta in g)                for every group g,
                |sum_i alpha_i x_i - sum_j beta_j x_j|_k <= 1   for every feature k,

says what may be left out.  A negative that is left out has beta_j = 0 and is wanted when its score passes
the threshold; a feature that is left out has w_k = 0 and is wanted when its dual constraint is broken.  So
the master program starts with one negative a group and a few features, and HiGHS goes on from its last
basis after each addition.  The master is the dual, because its basis has one row a feature held and one a
group, however many positives there are: they are only variables in a box.  w and t are its multipliers.

Certificate: any w has a primal value over all rows; any alpha, beta >= 0 with equal sums become feasible for
all features when divided by max(1, max_k |.|_k), and their sum(alpha) is then a lower bound.

Cost: two passes over X a round (scores, reduced costs) and a warm simplex.  Beside X lie the entries of the
positives, and of the negatives in the master, at the features in the master.

Reference: the l1 problem is the L1-SVIP of A. Rakotomamonjy, Sparse Support Vector Infinite Push, ICML 2012,
there in m * n pair variables; the m + n variables here have the same optimum, as the hinge does not decrease.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any

import highspy
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from shortlist.risks.thresholds import Maximum
from shortlist.risks.top import TopRisk
from shortlist.solvers.solution import Certificate, Solution

Array = NDArray[Any]

__all__ = ["solve_sparse_infinite_push"]

log = logging.getLogger(__name__)

_FIRST_FEATURES = 20
_FIRST_NEGATIVES = 50
_FEASIBILITY = 1e-9
_ROUNDING = 1e-13


def solve_sparse_infinite_push(
    X: Any,
    risk: TopRisk,
    C: float,
    *,
    tol: float = 1e-6,
    max_iter: int = 1000,
    callback: Callable[[int, float, float], object] | None = None,
) -> Solution:
    """Minimise ||w||_1 + C * risk(X w) for the hinge under the ``max`` threshold.

    Parameters
    ----------
    X : (n_rows, d) array or CSR
    risk : TopRisk
        Surrogate ``hinge``, threshold ``Maximum``; any groups and weights.
    C : float
    tol : float
        Relative gap at which to stop.
    max_iter : int
        Largest number of rounds; each adds negatives and features.
    callback : callable, optional
        Called after every round with its number, the best objective and the best bound.

    Returns
    -------
    Solution
        ``dual`` holds alpha and -beta, scaled to satisfy every constraint of the dual.
    """
    if risk.surrogate.name != "hinge" or not isinstance(risk.threshold, Maximum):
        raise ValueError(
            "the linear program needs the hinge under the max threshold, "
            f"got {risk.surrogate.name!r} under {risk.threshold!r}"
        )
    started = time.perf_counter()
    coef, dual = np.zeros(X.shape[1]), np.zeros(X.shape[0])
    best_primal, best_bound = C * risk.value(dual), 0.0
    master = _Master(X, risk, C)
    master.add_features(
        _features_to_add(_times(X, _mean_difference(risk, X.shape[0])), master, slack=-np.inf)
    )
    master.add_negatives(np.unique(risk.negative_groups, return_index=True)[1])
    n_iter, n_passes = 0, 1.0

    while n_iter < max_iter and best_primal - best_bound > tol * best_primal:
        n_iter += 1
        answer = master.solve()
        if answer is None:
            break
        w, thresholds, alpha, beta = answer
        scores = X @ w.astype(X.dtype)
        primal = float(np.abs(w).sum()) + C * risk.value(scores)
        if primal < best_primal * (1 - _ROUNDING):  # w = 0 is kept where nothing beats it
            best_primal, coef = primal, w
        signed = _balanced(risk, alpha, beta, C, master.negatives, X.shape[0])
        gradient = _times(X, signed)
        shrink = 1.0 / max(1.0, float(np.abs(gradient).max()))
        bound = shrink * float(signed[risk.positives].sum())
        if bound > best_bound:
            best_bound, dual = bound, shrink * signed
        n_passes += 2.0
        if callback is not None:
            callback(n_iter, best_primal, best_bound)
        negatives = _negatives_to_add(scores, thresholds, risk, master)
        features = _features_to_add(gradient, master, slack=_FEASIBILITY)
        if not len(negatives) and not len(features):
            break
        master.add_features(features)
        master.add_negatives(negatives)

    coef = coef.astype(X.dtype)
    certificate = Certificate.of(
        best_primal,
        best_bound,
        tolerance=tol,
        n_iter=n_iter,
        n_passes=n_passes,
        seconds=time.perf_counter() - started,
    )
    return Solution(coef=coef, thresholds=risk.thresholds(X @ coef), certificate=certificate, dual=dual)


def _mean_difference(risk: TopRisk, n_rows: int) -> Array:
    """Signed weights under which ``X.T @ .`` is the mean positive less the mean negative of its group."""
    signed = np.zeros(n_rows)
    signed[risk.positives] = risk.positive_weights
    share = np.bincount(risk.positive_groups, weights=risk.positive_weights, minlength=risk.n_groups)
    count = np.bincount(risk.negative_groups, minlength=risk.n_groups)
    signed[risk.negatives] = -(share / count)[risk.negative_groups]
    return signed


def _balanced(risk: TopRisk, alpha: Array, beta: Array, C: float, held: Array, n_rows: int) -> Array:
    """Signed duals of all rows, clipped to their boxes, with equal sums of both signs in every group."""
    alpha = np.clip(alpha, 0.0, C * risk.positive_weights)
    beta = np.maximum(beta, 0.0)
    groups = risk.negative_groups[held]
    up = np.bincount(risk.positive_groups, weights=alpha, minlength=risk.n_groups)
    down = np.bincount(groups, weights=beta, minlength=risk.n_groups)
    common = np.minimum(up, down)
    signed = np.zeros(n_rows)
    signed[risk.positives] = alpha * _ratio(common, up)[risk.positive_groups]
    signed[risk.negatives[held]] = -beta * _ratio(common, down)[groups]
    return signed


def _ratio(numerator: Array, denominator: Array) -> Array:
    return np.divide(numerator, denominator, out=np.zeros_like(numerator), where=denominator > 0)


def _times(X: Any, dual: Array) -> Array:
    """``X.T @ dual`` over the rows that carry any."""
    rows = np.flatnonzero(dual)
    if 2 * len(rows) < X.shape[0]:
        return np.asarray(X[rows].T @ dual[rows].astype(X.dtype), dtype=np.float64)
    return np.asarray(X.T @ dual.astype(X.dtype), dtype=np.float64)


def _column_scales(X: Any) -> Array:
    """The largest entry of each column, by size; 1 for a column of zeros."""
    ends = [X.max(axis=0), X.min(axis=0)]
    high, low = (
        np.asarray(e.toarray() if hasattr(e, "toarray") else e, dtype=np.float64).ravel() for e in ends
    )
    scales = np.maximum(high, -low)
    return np.where(scales > 0, scales, 1.0)


def _negatives_to_add(scores: Array, thresholds: Array, risk: TopRisk, master: _Master) -> Array:
    """Positions of the negatives furthest above their threshold: the worst of all and of each group."""
    excess = scores[risk.negatives].astype(np.float64) - thresholds[risk.negative_groups]
    excess[master.negatives] = -np.inf
    violated = np.flatnonzero(excess > _FEASIBILITY * max(1.0, float(np.abs(thresholds).max())))
    violated = violated[np.argsort(-excess[violated], kind="stable")]
    chosen = np.zeros(len(violated), dtype=bool)
    chosen[: max(_FIRST_NEGATIVES, len(master.negatives))] = True
    chosen[np.unique(risk.negative_groups[violated], return_index=True)[1]] = True
    return violated[chosen]


def _features_to_add(gradient: Array, master: _Master, *, slack: float) -> Array:
    """Features whose dual constraint is broken the most."""
    size = np.abs(gradient)
    size[master.features] = -np.inf
    wanted = np.flatnonzero(size > 1 + slack)
    batch = max(_FIRST_FEATURES, len(master.features))
    return wanted[np.argsort(-size[wanted], kind="stable")[:batch]]


class _Master:
    """The dual, restricted to some negatives and some features, in one HiGHS object.

    Variables: alpha (a positive each), then beta of the negatives held.  Rows: the balance of each group,
    then the features held.  The tolerances of HiGHS are absolute, so each column of X is divided by its
    largest entry, and the unit of alpha and beta is small enough to see their limits u_i and 1 / scale.
    """

    def __init__(self, X: Any, risk: TopRisk, C: float) -> None:
        self._X, self._risk, self._scales = X, risk, _column_scales(X)
        self.features = np.zeros(0, dtype=np.intp)
        self.negatives = np.zeros(0, dtype=np.intp)
        m = len(risk.positives)
        self._unit = max(1.0 / (float(risk.positive_weights.min()) * C), 1e-3 * float(self._scales.max()))
        self._lp = lp = highspy.Highs()  # type: ignore[no-untyped-call]
        lp.silent()
        for option in ("primal_feasibility_tolerance", "dual_feasibility_tolerance"):
            lp.setOptionValue(option, _FEASIBILITY)
        lp.setOptionValue("small_matrix_value", 1e-12)
        lp.setOptionValue("threads", 1)
        lp.setOptionValue("presolve", "off")
        self._add_rows(sparse.csr_array((risk.n_groups, 0)), np.zeros(risk.n_groups))
        balance = sparse.csc_array(
            (np.ones(m), (risk.positive_groups, np.arange(m))), shape=(risk.n_groups, m)
        )
        self._add_variables(balance, -1.0, self._unit * C * risk.positive_weights)

    def _add_rows(self, rows: Any, limits: Array) -> None:
        n = rows.shape[0]
        self._lp.addRows(
            n,
            -limits,
            limits,
            rows.nnz,
            rows.indptr[:-1].astype(np.int32),
            rows.indices.astype(np.int32),
            rows.data.astype(np.float64),
        )

    def _add_variables(self, columns: Any, cost: float, upper: Array) -> None:
        n = columns.shape[1]
        self._lp.addCols(
            n,
            np.full(n, cost),
            np.zeros(n),
            upper,
            columns.nnz,
            columns.indptr[:-1].astype(np.int32),
            columns.indices.astype(np.int32),
            columns.data.astype(np.float64),
        )

    def _block(self, rows: Array, features: Array) -> Any:
        """The scaled entries of X at some rows and features."""
        block = self._X[rows][:, features] if hasattr(self._X, "tocsr") else self._X[np.ix_(rows, features)]
        return sparse.csr_array(block, dtype=np.float64) @ sparse.diags_array(1 / self._scales[features])

    def add_features(self, features: Array) -> None:
        if not len(features):
            return
        risk = self._risk
        up = self._block(risk.positives, features)
        down = self._block(risk.negatives[self.negatives], features)
        self._add_rows(sparse.vstack([up, -down]).T.tocsr(), self._unit / self._scales[features])
        self.features = np.concatenate([self.features, features])

    def add_negatives(self, positions: Array) -> None:
        n = len(positions)
        if not n:
            return
        risk = self._risk
        balance = sparse.csr_array(
            (-np.ones(n), (np.arange(n), risk.negative_groups[positions])), shape=(n, risk.n_groups)
        )
        block = self._block(risk.negatives[positions], self.features)
        self._add_variables(sparse.hstack([balance, -block]).tocsr().T, 0.0, np.full(n, np.inf))
        self.negatives = np.concatenate([self.negatives, positions])

    def solve(self) -> tuple[Array, Array, Array, Array] | None:
        """Coefficients, thresholds, alpha, beta of the restricted optimum, in the units of the whole problem.

        None where HiGHS finds none, as it may when the columns of X differ by many powers of ten.
        """
        self._lp.run()
        if self._lp.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            self._lp.clearSolver()  # a warm basis can fail where a fresh start does not
            self._lp.run()
        status = self._lp.getModelStatus()
        if status != highspy.HighsModelStatus.kOptimal:
            log.warning("HiGHS stopped with %r", self._lp.modelStatusToString(status))
            return None
        answer = self._lp.getSolution()
        variables, multipliers = np.asarray(answer.col_value), np.asarray(answer.row_dual)
        n_groups, m = self._risk.n_groups, len(self._risk.positives)
        w = np.zeros(self._X.shape[1])
        w[self.features] = -multipliers[n_groups:] / self._scales[self.features]
        variables = variables / self._unit
        return w, multipliers[:n_groups], variables[:m], variables[m:]
