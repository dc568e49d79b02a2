"""AATP: the threshold is a quantile of all scores, found by one convex program for each candidate row."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from shortlist.estimators._base import Objective, Outcome, TopClassifier
from shortlist.estimators._docs import fill_doc
from shortlist.estimators._validation import TrainingRows, check_choice, check_count, check_number
from shortlist.exceptions import QuantileWarning
from shortlist.solvers.aatp import solve_aatp
from shortlist.solvers.solution import Solution

__all__ = ["AATP"]


@fill_doc
class AATP(TopClassifier):
    """Accuracy at the Top: positives above, negatives below the (1 - tau) quantile of all scores.

    For each candidate row q, whose score is to be the threshold, minimises ``1/2 ||w||^2 + C * (mean over
    positives of [1 - s_i + s_q]_+ + mean over negatives of [1 + s_j - s_q]_+)`` and keeps the best solution
    whose threshold is the quantile. Candidates are ruled out by bounds where possible.

    Parameters
    ----------
    {C}
    tau : float in (0, 1), default=0.1
        Share of all rows that may be at the top. Shares far from the one that a support vector machine would
        call positive are hard to reach, and slow.
    weighting : {'classes', 'rows'}, default='classes'
        A mean for each class, or one mean over all rows as in the paper.
    max_candidates : int or None, default=100
        Candidates are the rows nearest to the quantile of a support vector machine's scores; None takes every
        row, which a few thousand rows make slow.
    {kernel}
    {stopping}
    verbose : int, default=0
        Log every so many candidates at level INFO to the logger ``shortlist``.
    {random_state}

    Attributes
    ----------
    threshold_row_ : int
        The training row whose score is the threshold.
    quantile_satisfied_ : bool
        Whether that score is a (1 - tau) quantile of the training scores.
    violation_ : float
        Share of the rows by which it is not.
    exhaustive_ : bool
        Whether every row was a candidate.
    {attributes}

    See Also
    --------
    TauFPL : A convex threshold on the negatives alone, for data of any size.
    PatMat : A convex stand-in for a quantile.

    Notes
    -----
    The certificate covers the convex program of the chosen candidate. Among the candidates the
    choice is exact, up to ``tol``; where no candidate's threshold is the quantile, the nearest is kept and
    fit gives a `QuantileWarning`. There is one list and one quantile: several groups are refused.

    References
    ----------
    S. Boyd, C. Cortes, M. Mohri, A. Radovanovic. Accuracy at the top. NIPS 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from shortlist import AATP
    >>> X = np.array([[3.0], [2.0], [1.5], [1.0], [0.0], [-1.0]])
    >>> y = np.array([1, 1, 0, 0, 0, 0])
    >>> model = AATP(C=10.0, tau=1 / 3).fit(X, y)
    >>> model.rank(X)[:2], model.quantile_satisfied_
    (array([0, 1]), True)
    """

    # At most a share tau of the rows is called positive, however many are.
    _poor_score: ClassVar[bool] = True

    def __init__(
        self,
        C: float = 1.0,
        *,
        tau: float = 0.1,
        weighting: str = "classes",
        max_candidates: int | None = 100,
        kernel: Any = None,
        gamma: Any = None,
        scales: Any = None,
        degree: int = 3,
        coef0: float = 1.0,
        kernel_params: Any = None,
        n_landmarks: Any = None,
        tol: float = 1e-4,
        max_iter: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.C = C
        self.tau = tau
        self.weighting = weighting
        self.max_candidates = max_candidates
        self.kernel = kernel
        self.gamma = gamma
        self.scales = scales
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.n_landmarks = n_landmarks
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("tau", self.tau, at_most=float(np.nextafter(1, 0)))
        check_choice("weighting", self.weighting, ("classes", "rows"))
        if self.max_candidates is not None:
            check_count("max_candidates", self.max_candidates)

    def _solve(self, X: Any, rows: TrainingRows, start: Solution | None) -> Outcome:
        solution = solve_aatp(
            X,
            rows.is_positive,
            float(self.tau),
            float(self.C),
            sample_weight=rows.weights,
            groups=rows.groups,
            weighting=self.weighting,
            max_candidates=self.max_candidates,
            **self._stopping(),
        )
        row = solution.candidate
        fitted = {
            "threshold_row_": row if rows.origin is None else int(rows.origin[row]),
            "quantile_satisfied_": bool(solution.quantile_satisfied),
            "violation_": float(solution.violation),
            "exhaustive_": bool(solution.exhaustive),
        }
        group = np.array([0 if rows.groups is None else rows.groups[row]])
        objective = Objective("l2", float(self.C), "hinge", f"quantile_by_{self.weighting}", float(self.tau))
        return Outcome(solution, objective, group, np.ones(1), fitted)

    def _complaints(self, outcome: Outcome) -> list[Warning]:
        complaints = super()._complaints(outcome)
        if not self.quantile_satisfied_:
            complaints.append(
                QuantileWarning(
                    f"AATP found no candidate whose score is the (1 - {self.tau:g}) quantile: the threshold "
                    f"misses it by a share of {self.violation_:.3g} of the rows. Try another C or tau, or "
                    "max_candidates=None"
                )
            )
        return complaints

    def _degenerate_advice(self) -> str:
        return "w = 0 is the optimum of the chosen candidate. A larger C, more features or a kernel help"
