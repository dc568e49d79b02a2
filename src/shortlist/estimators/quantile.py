"""Estimators whose threshold is set by a share tau of the negatives: TauFPL and PatMat."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from shortlist.estimators._base import Objective, Outcome, TopClassifier, warm
from shortlist.estimators._docs import fill_doc
from shortlist.estimators._tau import smallest_tau
from shortlist.estimators._validation import TrainingRows, check_choice, check_number
from shortlist.estimators.top import push, risk_of
from shortlist.risks.quantile import PatMatRisk
from shortlist.risks.surrogates import SURROGATES, surrogate
from shortlist.risks.thresholds import TailMean
from shortlist.solvers.degenerate import escape_direction
from shortlist.solvers.patmat import solve_patmat
from shortlist.solvers.solution import Solution

__all__ = ["PatMat", "TauFPL"]


@fill_doc
class TauFPL(TopClassifier):
    """Push positives above the mean of the highest share tau of the negatives.

    Minimises ``1/2 ||w||^2 + C * mean_i l(mean of the ceil(tau n) largest s_j - s_i)``: the share tau is
    the rate of false alarms that is of interest. Of the family this is the one to try first: averaging
    makes the threshold robust, and tau can be tuned like any parameter.

    Parameters
    ----------
    {C}
    tau : float in (0, 1] or 'auto', default=0.05
        Share of a group's negatives that the threshold averages. 'auto' takes the smallest share whose
        optimum is not w = 0; it is a floor for tuning rather than the best choice.
    {loss}
    {kernel}
    {stopping}
    solver : {'auto', 'working_set'}, default='auto'
        The two are the same.
    {tail}
    {random_state}

    Attributes
    ----------
    tau_ : float
        The share that was used.
    {attributes}

    See Also
    --------
    TopPush : The best negative as threshold.
    PatMat : A convex stand-in for the quantile as threshold.

    Notes
    -----
    The optimum is w = 0, whatever C, where the mean of the positives is an average of negatives
    none of which weighs more than 1 / ceil(tau n); fit then gives a `DegenerateOptimumWarning`.
    ``tau='auto'`` finds the smallest tau that escapes, by bisection over the count.

    References
    ----------
    A. Zhang, N. Li, J. Pu, J. Wang, J. Yan, H. Zha. tau-FPL: tolerance-constrained
    learning in linear time. AAAI 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from shortlist import TauFPL
    >>> X = np.array([[3.0, 0.0], [2.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    >>> y = np.array([1, 1, 0, 0])
    >>> model = TauFPL(C=10.0, tau="auto").fit(X, y)
    >>> model.tau_, model.certificate_.converged
    (0.5, True)
    """

    _solvers: ClassVar[tuple[str, ...]] = ("auto", "working_set")

    def __init__(
        self,
        C: float = 1.0,
        *,
        tau: float | str = 0.05,
        loss: str = "squared_hinge",
        kernel: Any = None,
        gamma: Any = None,
        scales: Any = None,
        degree: int = 3,
        coef0: float = 1.0,
        kernel_params: Any = None,
        n_landmarks: Any = None,
        tol: float = 1e-4,
        max_iter: int | None = None,
        solver: str = "auto",
        warm_start: bool = False,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.C = C
        self.tau = tau
        self.loss = loss
        self.kernel = kernel
        self.gamma = gamma
        self.scales = scales
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.n_landmarks = n_landmarks
        self.tol = tol
        self.max_iter = max_iter
        self.solver = solver
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("loss", self.loss, tuple(SURROGATES))
        if isinstance(self.tau, str):
            check_choice("tau", self.tau, ("auto",))
        else:
            check_number("tau", self.tau, at_most=1.0, advice="or 'auto'")

    def _solve(self, X: Any, rows: TrainingRows, start: Solution | None) -> Outcome:
        tau = self._smallest_tau(X, rows) if self.tau == "auto" else float(self.tau)
        risk = risk_of(rows, self.loss, TailMean(tau))
        solution = push(self, X, risk, start)
        objective = Objective("l2", float(self.C), self.loss, "tail_mean", tau)
        return Outcome.of(solution, objective, risk, tau_=tau)

    def _smallest_tau(self, X: Any, rows: TrainingRows) -> float:
        """Neither C nor the loss decides whether w = 0 is optimal: a projection does."""
        risk = risk_of(rows, "squared_hinge", TailMean(1.0))
        total = float(np.bincount(risk.negative_groups, weights=risk.negative_weights).max())

        def is_degenerate(tau: float) -> bool:
            return escape_direction(X, risk_of(rows, "squared_hinge", TailMean(tau)), tol=0.5) is None

        return smallest_tau(total, is_degenerate)


@fill_doc
class PatMat(TopClassifier):
    """Pat&Mat: push positives above a convex stand-in for the (1 - tau) quantile of the negatives.

    Minimises ``1/2 ||w||^2 + C * mean_i l(t - s_i)``, where the threshold t solves
    ``mean_j l(theta (s_j - t)) = tau`` over the negatives of each group.

    Parameters
    ----------
    {C}
    tau : float in (0, 1], default=0.05
        Share of the negatives that may reach the threshold, as the surrogate counts it; fewer do.
    theta : float, default=1.0
        Scale of the scores within the constraint. A larger one brings the surrogate nearer to the count.
    {loss}
    {kernel}
    {stopping}
    {tail}
    {random_state}

    Attributes
    ----------
    {attributes}

    See Also
    --------
    TauFPL : The mean of the highest share tau as threshold.

    Notes
    -----
    The certificate covers this convex problem. It says nothing of the quantile itself, which is not convex.

    Here the optimum is w = 0 only where both classes have the same mean.

    References
    ----------
    M. Grill, T. Pevny. Learning combination of anomaly detectors for security domain.
    Computer Networks, 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from shortlist import PatMat
    >>> X = np.array([[3.0, 0.0], [2.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    >>> y = np.array([1, 1, 0, 0])
    >>> PatMat(C=10.0, tau=0.5).fit(X, y).rank(X)[:2]
    array([0, 1])
    """

    def __init__(
        self,
        C: float = 1.0,
        *,
        tau: float = 0.05,
        theta: float = 1.0,
        loss: str = "squared_hinge",
        kernel: Any = None,
        gamma: Any = None,
        scales: Any = None,
        degree: int = 3,
        coef0: float = 1.0,
        kernel_params: Any = None,
        n_landmarks: Any = None,
        tol: float = 1e-4,
        max_iter: int | None = None,
        warm_start: bool = False,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.C = C
        self.tau = tau
        self.theta = theta
        self.loss = loss
        self.kernel = kernel
        self.gamma = gamma
        self.scales = scales
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.n_landmarks = n_landmarks
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("loss", self.loss, tuple(SURROGATES))
        check_number("tau", self.tau, at_most=1.0)
        check_number("theta", self.theta)

    def _solve(self, X: Any, rows: TrainingRows, start: Solution | None) -> Outcome:
        risk = PatMatRisk.from_labels(
            rows.is_positive,
            surrogate(self.loss),
            float(self.tau),
            theta=float(self.theta),
            groups=rows.groups,
            sample_weight=rows.weights,
        )
        usable = warm(start, X)
        coef = usable.coef if isinstance(usable, Solution) else usable
        solution = solve_patmat(X, risk, float(self.C), start=coef, **self._stopping())
        objective = Objective(
            "l2", float(self.C), self.loss, "surrogate_quantile", float(self.tau), float(self.theta)
        )
        return Outcome.of(solution, objective, risk.top)

    def _degenerate_advice(self) -> str:
        return (
            "w = 0 is the optimum, whatever C, because both classes have the same mean. "
            "More features or a kernel help"
        )
