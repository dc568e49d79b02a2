"""Exact hold-out errors of least-squares ranking, for a whole grid of C, from one decomposition.

Leaving rows out of a least-squares fit is a small linear system.  With R the matrix that turns targets into residuals
(``least_squares_path``), and e the residuals of the fit on all rows, the residuals of the rows in a set I, of the fit
without them, solve

    R_II  e_out = e_I.

Left out for good means that the mean over pairs loses these rows too: one row of share a_i / A less is the same C with
1 / (2 C) times 1 - a_i / A, two of m rows times 1 - 2 / m.  All formulas here use that, so that they equal refitting at
the same C.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortlist.estimators._validation import check_choice
from shortlist.estimators.magnitude import MPRank
from shortlist.selection._rows import DEFAULT_CS, Decomposed, check_grid, decompose
from shortlist.solvers.least_squares_path import Spectrum

Array = NDArray[Any]

__all__ = [
    "HoldOut",
    "errors_by_group",
    "errors_by_pair",
    "errors_by_row",
    "leave_group_out",
    "leave_one_out",
    "leave_pair_out",
]

BLOCK_ENTRIES = 2**21


@dataclass(frozen=True)
class HoldOut:
    """Hold-out errors for a grid of C.

    Attributes
    ----------
    C : (n_C,) array
    errors : (n_C,) array
        Mean squared error, summed over the targets: of rows left out one by one, or of differences of pairs.
    predictions : (n_C, m) or (n_C, m, n_targets) array or None
        Score of each row by the fit without it. Where whole groups are left out nothing tells their level: their
        predictions have the mean of y, and are NaN for rows of weight 0. None where pairs are left out.
    best_C : float
        The C of least error, the first of several.
    """

    C: Array
    errors: Array
    predictions: Array | None

    @property
    def best_C(self) -> float:
        return float(self.C[int(np.argmin(self.errors))])


_KERNEL = "kernel gamma scales degree coef0 kernel_params n_landmarks max_memory random_state"


def leave_one_out(X: Any, y: Any, C: Any = DEFAULT_CS, *, sample_weight: Any = None, **kernel: Any) -> HoldOut:
    """Exact leave-one-out errors of `MPRank` for many C, for the price of one decomposition.

    Parameters
    ----------
    X : array, CSR or CSC matrix, or data frame of shape (n_rows, n_features)
    y : array-like of shape (n_rows,) or (n_rows, n_targets)
    C : float or sequence of float
        By default 33 values from 0.01 to 1,000,000. C = 1 / (2 lam).
    sample_weight : array-like of shape (n_rows,), optional
        A row of weight 2 is left out whole. Errors are weighted as well.
    **kernel
        ``kernel``, ``gamma``, ``scales``, ``degree``, ``coef0``, ``kernel_params``, ``n_landmarks``, ``max_memory`` and
        ``random_state`` of `MPRank`.

    Returns
    -------
    HoldOut
        ``errors`` are means of (y_i - prediction of the fit without row i)^2, intercept included.

    Notes
    -----
    The kernel stays what it is on all rows: a ``gamma="scale"`` or a choice of landmarks is not made again without the
    row.

    Examples
    --------
    >>> import numpy as np
    >>> from shortlist.selection import leave_one_out
    >>> X = np.array([[0.0], [1.0], [2.0], [4.0], [5.0]])
    >>> found = leave_one_out(X, [1.0, 2.5, 4.5, 9.0, 10.0], C=[0.1, 1.0, 10.0, 100.0])
    >>> found.errors.round(3)
    array([4.498, 0.326, 0.325, 0.342])
    >>> found.best_C
    10.0
    """
    Cs = check_grid("C", C)
    made = decompose(_model(kernel), X, y, None, sample_weight)
    return errors_by_row(made, Cs)


def leave_pair_out(X: Any, y: Any, C: Any = DEFAULT_CS, *, method: str = "exact", **kernel: Any) -> HoldOut:
    """Leave-pair-out errors of `MPRank`: every pair of rows left out and its difference predicted.

    Parameters
    ----------
    X, y, C, **kernel
        As in `leave_one_out`.
    method : {'exact', 'paper'}, default='exact'
        'exact' equals fitting m (m - 1) / 2 times. 'paper' is section 2.6 of Cortes et al.: it takes the mean score
        without the pair for the mean score with it, and m for m - 2 in the mean over pairs.

    Returns
    -------
    HoldOut
        ``errors`` are means over pairs of ((s_i - s_j) - (y_i - y_j))^2; ``predictions`` is None.

    Notes
    -----
    O(m^2 k) for each C, k the smaller of rows and columns: one matrix product. In blocks: no m x m matrix.

    The printed matrix V depends on the pair on its diagonal too, V_ii = U_ii + (U_ii + U_ij) / (m - 2), as the proof
    of its Proposition 2 has it; equation (24) lacks the minus sign that the formula after it has.

    Examples
    --------
    >>> import numpy as np
    >>> from shortlist.selection import leave_pair_out
    >>> X = np.array([[0.0], [1.0], [2.0], [4.0], [5.0]])
    >>> leave_pair_out(X, [1.0, 2.5, 4.5, 9.0, 10.0], C=[1.0, 10.0]).errors.round(3)
    array([0.467, 0.66 ])
    """
    check_choice("method", method, ("exact", "paper"))
    Cs = check_grid("C", C)
    return errors_by_pair(decompose(_model(kernel), X, y, None, None), Cs, method)


def leave_group_out(
    X: Any, y: Any, groups: Any, C: Any = DEFAULT_CS, *, sample_weight: Any = None, **kernel: Any
) -> HoldOut:
    """Exact errors of `MPRank` on whole groups left out: what a new query will see.

    Parameters
    ----------
    groups : array-like of shape (n_rows,)
        Query ids.
    X, y, C, sample_weight, **kernel
        As in `leave_one_out`.

    Returns
    -------
    HoldOut
        ``errors`` are means over the pairs within groups of ((s_i - s_j) - (y_i - y_j))^2, s by the fit without their
        group; ``predictions`` have the mean of y in each group.

    Examples
    --------
    >>> import numpy as np
    >>> from shortlist.selection import leave_group_out
    >>> X = np.array([[0.0], [1.0], [2.0], [4.0], [5.0]])
    >>> leave_group_out(X, [1.0, 2.5, 4.5, 19.0, 20.0], list("aaabb"), C=[1.0, 10.0]).errors.round(3)
    array([1.473, 0.745])
    """
    Cs = check_grid("C", C)
    if groups is None:
        raise ValueError("leave_group_out needs groups: one id for each row. To leave out single rows: leave_one_out")
    return errors_by_group(decompose(_model(kernel), X, y, groups, sample_weight), Cs)


def _model(kernel: dict[str, Any]) -> MPRank:
    unknown = sorted(set(kernel) - set(_KERNEL.split()))
    if unknown:
        known = _KERNEL.replace(" ", ", ")
        raise TypeError(f"unexpected keyword argument {unknown[0]!r}; the kernel is set by {known}")
    return MPRank(**kernel)


def errors_by_row(made: Decomposed, Cs: Array) -> HoldOut:
    """Leave-one-out of a decomposed problem in one group."""
    spectrum, y = made.spectrum, made.rows.y
    u, root = spectrum.problem.u, spectrum.root
    present = u > 0
    predictions = np.empty((len(Cs), *y.shape))
    uniform = spectrum.problem.is_uniform
    if uniform:
        rho = spectrum.rho(Cs) * (1 - u[0] / 2)
        out = spectrum.residuals(rho) / spectrum.diagonal(rho)[:, :, None] / root[:, None]
        predictions[:] = y - out
    else:
        coefficients = spectrum.coefficients(Cs)
        for k, C in enumerate(Cs):
            diagonal, residuals = spectrum.each_row(float(spectrum.rho(C)) * (1 - u / 2))
            safe = np.where(present, root * diagonal, 1.0)
            predictions[k] = y - residuals / safe[:, None]
            # Without weight a row is left out already.
            scores = np.asarray(spectrum.Z[0 : len(y)] @ coefficients[k].T.astype(spectrum.Z.dtype, copy=False))
            level = u @ (y - scores) / u.sum()
            predictions[k, ~present] = scores[~present] + level
    errors = ((predictions - y) ** 2).sum(axis=2) @ (u / u.sum())
    return HoldOut(Cs, errors, predictions[:, :, 0] if made.rows.one_column else predictions)


def errors_by_pair(made: Decomposed, Cs: Array, method: str) -> HoldOut:
    """Leave-pair-out of a decomposed problem without groups and weights."""
    m = len(made.rows.y)
    if m < 3:
        raise ValueError(f"leave-pair-out needs at least 3 rows, X has {m}: without a pair one row has to be left")
    each = _exact_pairs if method == "exact" else _pairs_of_the_paper
    total = np.array([sum(each(made, float(C))) for C in Cs])
    return HoldOut(Cs, 2 * total / (m * (m - 1)), None)


def _strips(m: int) -> Iterator[tuple[slice, slice, Array]]:
    """The pairs i < j in strips: rows, columns from the first of the rows on, and which entries are pairs."""
    step = max(16, BLOCK_ENTRIES // m)
    for first in range(0, m, step):
        rows = slice(first, min(first + step, m))
        i = np.arange(rows.start, rows.stop)
        yield rows, slice(first, m), i[:, None] < np.arange(first, m)


def _exact_pairs(made: Decomposed, C: float) -> Iterator[float]:
    """Sums over strips of the squared differences of held-out residuals.

    The two residuals solve [[R_ii, R_ij], [R_ij, R_jj]] out = e; their difference is
    ((R_jj + R_ij) e_i - (R_ii + R_ij) e_j) / (R_ii R_jj - R_ij^2).
    """
    spectrum = made.spectrum
    m = len(spectrum.root)
    rho = spectrum.rho(C) * (1 - 2 / m)
    diagonal = spectrum.diagonal(rho)[0]
    residuals = spectrum.residuals(rho)[0] / spectrum.root[:, None]
    for rows, columns, is_pair in _strips(m):
        R = spectrum.block(float(rho), rows, columns)
        left, right = diagonal[rows, None] + R, diagonal[columns] + R
        determinant = np.multiply.outer(diagonal[rows], diagonal[columns])
        R *= R
        determinant -= R
        determinant[~is_pair] = np.inf
        for e in residuals.T:
            difference = right * e[rows, None]
            difference -= left * e[columns]
            difference /= determinant
            yield float(np.vdot(difference, difference))


def _pairs_of_the_paper(made: Decomposed, C: float) -> Iterator[float]:
    """Proposition 2 with the mean score of all rows in place of the mean score without the pair."""
    spectrum = made.spectrum
    y, m = made.rows.y, len(spectrum.root)
    rho = float(spectrum.rho(C))
    # Scores in the paper are w.x without intercept; U is what turns y into them, c the row that all rows of U share.
    c, mean = spectrum.mean_row(rho)
    level = mean @ spectrum.coefficients(C)[0].T - y.mean(axis=0)
    off = level - spectrum.residuals(np.array([rho]))[0] / spectrum.root[:, None]  # h(x_i) - y_i
    own = 1 - spectrum.diagonal(np.array([rho]))[0] - 1 / m + c
    stretch = 1 / (m - 2)
    for rows, columns, is_pair in _strips(m):
        shared = -spectrum.block(rho, rows, columns) - 1 / m
        U_ij, U_ji = shared + c[columns], shared + c[rows, None]
        q_i, q_j = stretch * (own[rows, None] + U_ij), stretch * (own[columns] + U_ji)
        V_ii, V_ij = own[rows, None] + q_i, U_ij + q_i
        V_jj, V_ji = own[columns] + q_j, U_ji + q_j
        left, right = 1 - V_ii - V_ij, 1 - V_ji - V_jj
        determinant = (1 - V_jj) * (1 - V_ii) - V_ij * V_ji
        determinant[~is_pair] = np.inf
        shift = left * (V_jj + V_ji) - right * (V_ii + V_ij)
        for r, d in zip(off.T, level, strict=True):
            cost = (left * r[columns] - right * r[rows, None] - shift * d) / determinant
            yield float(np.vdot(cost, cost))


def errors_by_group(made: Decomposed, Cs: Array) -> HoldOut:
    """Each group left out whole.

    In rows centred within their group the others do not depend on it, but for S = sum_g A_g^2, by which the mean over
    pairs divides: rho falls by the factor 1 - A_g^2 / S, and that share is half the group's sum of u.
    """
    spectrum, y, groups = made.spectrum, made.rows.y, made.rows.groups
    assert groups is not None
    u = spectrum.problem.u
    members = [rows[u[rows] > 0] for rows in np.split(np.argsort(groups, kind="stable"), _ends(groups))]
    members = [rows for rows in members if len(rows)]
    if len(members) < 2:
        raise ValueError("leave_group_out needs two groups with rows of positive weight: without one no pair is left")
    predictions, errors = np.full((len(Cs), *y.shape), np.nan), np.zeros(len(Cs))
    for k, C in enumerate(Cs):
        for rows in members:
            rho = float(spectrum.rho(C)) * (1 - float(u[rows].sum()) / float(u.sum()))
            out = _residuals_without(spectrum, rho, rows)
            errors[k] += float((out**2).sum())
            predictions[k, rows] = y[rows] - out / spectrum.root[rows, None]
    return HoldOut(Cs, errors, predictions[:, :, 0] if made.rows.one_column else predictions)


def _ends(groups: Array) -> Array:
    return np.cumsum(np.bincount(groups))[:-1]


def _residuals_without(spectrum: Spectrum, rho: float, rows: Array) -> Array:
    """Scaled residuals of a group by the fit without it, less their mean."""
    basis, root = spectrum.basis[rows], spectrum.root[rows]
    bent = basis * spectrum.filters(np.asarray(rho))
    residuals = bent @ spectrum.target
    if spectrum.by_rows:
        # Along the group's level R is 0; the right-hand side has no part there, so any number above 0 will do.
        return np.linalg.solve(bent @ basis.T + np.outer(root, root) / (root @ root), residuals)
    residuals += root[:, None] * spectrum.problem.y[rows]
    if len(rows) <= len(spectrum.values):
        return np.linalg.solve(np.eye(len(rows)) + bent @ basis.T, residuals)
    # (I - P D^-1 P')^-1 = I + P (D - P'P)^-1 P'
    small = np.diag(spectrum.values + rho) - basis.T @ basis
    return np.asarray(residuals + basis @ np.linalg.solve(small, basis.T @ residuals))
