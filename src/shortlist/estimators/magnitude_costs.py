"""The pairwise costs that keep magnitudes: SVRank, and MagnitudeRanker for all four of them."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

from shortlist.estimators._docs import fill_doc
from shortlist.estimators._regression import PairObjective, RankingRegressor, RegressionOutcome, RegressionRows
from shortlist.estimators._validation import check_choice, check_number
from shortlist.risks.magnitude import COSTS, MagnitudeRisk
from shortlist.solvers.bundle import solve_bundle
from shortlist.solvers.newton import solve_newton
from shortlist.solvers.solution import Solution

__all__ = ["MagnitudeRanker", "SVRank"]


class _CostRanker(RankingRegressor):
    """Base of the estimators of this page; a subclass says which cost."""

    _solvers: ClassVar[tuple[str, ...]] = ("auto", "bundle", "newton")

    order: int
    epsilon: float

    @abstractmethod
    def _objective(self) -> PairObjective:
        """The problem in the words of the house."""

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if isinstance(self.order, bool) or self.order not in (1, 2):
            raise ValueError(f"order must be 1 or 2, the power of the cost, got {self.order!r}")
        check_number("epsilon", self.epsilon, zero=True, advice="it is half the width of the tube, in units of y")

    def _solve(self, X: Any, rows: RegressionRows, start: Solution | None) -> RegressionOutcome:
        problem = self._objective()
        risk = MagnitudeRisk.from_labels(
            rows.y[:, 0],
            problem.cost,
            problem.order,
            problem.epsilon,
            one_sided=problem.one_sided,
            groups=rows.groups,
            sample_weight=rows.weights,
        )
        if self.solver == "newton" and not risk.smooth:
            raise ValueError(
                f"solver='newton' needs a smooth cost, and {problem.cost!r} of order {problem.order} has kinks: take "
                "solver='bundle', or order=2"
            )
        solve = solve_newton if risk.smooth and self.solver != "bundle" else solve_bundle
        begin = start.coef if start is not None and start.coef.shape == (X.shape[1],) else None
        solution = solve(X, risk, problem.C, start=begin, **self._stopping())
        fitted = {"bound_points_": solution.points, "bound_weights_": solution.point_weights}
        return RegressionOutcome(solution, problem, fitted=fitted)


@fill_doc
class SVRank(_CostRanker):
    """Support vector ranking: differences of scores match differences of y up to epsilon.

    Minimises ``1/2 ||w||^2 + C * mean_ij [|(s_i - s_j) - (y_i - y_j)| - epsilon]_+^order`` over all ordered pairs (i,
    j) of rows of a group, in O(m log m) for a value: the paper's quadratic program has m^2 variables.

    Parameters
    ----------
    {C}
    epsilon : float, default=0.1
        Differences that are off by less cost nothing; in units of y.
    order : {1, 2}, default=1
        Power of what exceeds the tube. 1 is robust against outliers in y, 2 is smooth and faster.
    {kernel}
    {stopping}
    {costs_solver}
    {tail}
    {random_state}

    Attributes
    ----------
    {regressor}
    {bound}

    See Also
    --------
    MPRank : Squared differences without a tube, in one linear system.
    MagnitudeRanker : The paper's other costs.

    Notes
    -----
    In the paper's terms C = C_paper / 2. Equation (7) there lacks an absolute value; this is the problem of its section
    2.4.

    References
    ----------
    C. Cortes, M. Mohri, A. Rastogi. An alternative ranking problem for search engines. WEA 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from shortlist import SVRank
    >>> X = np.array([[0.0], [1.0], [2.0], [4.0]])
    >>> model = SVRank(C=1000.0, epsilon=0.0).fit(X, [1.0, 3.0, 5.0, 9.0])
    >>> model.predict(X).round(2)
    array([1., 3., 5., 9.])
    >>> model.rank(X)
    array([3, 2, 1, 0])
    >>> model.certificate_.converged
    True
    """

    def __init__(
        self,
        C: float = 1.0,
        epsilon: float = 0.1,
        order: int = 1,
        *,
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
        self.epsilon = epsilon
        self.order = order
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

    def _objective(self) -> PairObjective:
        return PairObjective(float(self.C), "svr", int(self.order), float(self.epsilon))


@fill_doc
class MagnitudeRanker(_CostRanker):
    """The four magnitude costs of Cortes, Mohri and Rastogi, for all pairs of rows of a group.

    Minimises ``1/2 ||w||^2 + C * mean_ij c(s_j - s_i, y_j - y_i)``. Of a pair with the differences D of scores and Y of
    labels, misranked when D Y < 0, the cost c is, with n the order,

    * 'mp': |D - Y|^n, every pair;
    * 'svr': [|D - Y| - epsilon]_+^n, every pair;
    * 'hr': |D|^n, misranked pairs only;
    * 'hmp': |D - Y|^n, misranked pairs only, in a convex form: see ``one_sided``.

    Parameters
    ----------
    {C}
    cost : {'mp', 'svr', 'hr', 'hmp'}, default='mp'
    order : {1, 2}, default=1
        Power of the cost. 1 is robust against outliers in y, 2 is smooth and faster.
    epsilon : float, default=0.1
        Of 'svr': differences that are off by less cost nothing; in units of y.
    one_sided : {'closure', 'hinge'}, default='closure'
        Of 'hmp', which as printed is not convex. 'closure' is the largest convex function below it: of order 1 that is
        'hr', of order 2 it is 4 |Y D| up to |D| = |Y|, then (D - Y)^2. 'hinge' is [|Y| - D sign(Y)]_+^n: the same cost
        where a pair is misranked, and a price for a difference of the right sign that is too small.
    {kernel}
    {stopping}
    {costs_solver}
    {tail}
    {random_state}

    Attributes
    ----------
    {regressor}
    {bound}

    See Also
    --------
    SVRank : 'svr' under its own name.
    MPRank : 'mp' of order 2 in one linear system.

    Notes
    -----
    Equal scores cost nothing under 'hr' and under 'hmp', as printed and in its closure. So **w = 0 is optimal for both,
    whatever C and the data**: fit returns it, with a certificate, and says so with a `DegenerateOptimumWarning`. They
    are of use as measures of other fits. To train on misranked pairs take 'hmp' with ``one_sided='hinge'``.

    In the paper's terms C = C_paper / 2.

    References
    ----------
    C. Cortes, M. Mohri, A. Rastogi. An alternative ranking problem for search engines. WEA 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from shortlist import MagnitudeRanker
    >>> X = np.array([[0.0], [1.0], [2.0], [4.0]])
    >>> y = [1.0, 3.0, 5.0, 9.0]
    >>> MagnitudeRanker(C=1000.0, cost="hmp", order=2, one_sided="hinge").fit(X, y).predict(X).round(2)
    array([1., 3., 5., 9.])
    """

    def __init__(
        self,
        C: float = 1.0,
        *,
        cost: str = "mp",
        order: int = 1,
        epsilon: float = 0.1,
        one_sided: str = "closure",
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
        self.cost = cost
        self.order = order
        self.epsilon = epsilon
        self.one_sided = one_sided
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
        check_choice("cost", self.cost, COSTS)
        check_choice("one_sided", self.one_sided, ("closure", "hinge"))

    def _objective(self) -> PairObjective:
        epsilon = float(self.epsilon) if self.cost == "svr" else 0.0
        return PairObjective(float(self.C), self.cost, int(self.order), epsilon, self.one_sided)

    @property
    def _vanishes_at_zero(self) -> bool:
        return self.cost == "hr" or (self.cost == "hmp" and self.one_sided != "hinge")

    def _degenerate_advice(self) -> str:
        if not self._vanishes_at_zero:
            return super()._degenerate_advice()
        return (
            f"equal scores cost nothing under cost={self.cost!r}, so that w = 0 is the optimum whatever C. Take "
            "'mp' or 'svr', or 'hmp' with one_sided='hinge'"
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = self._vanishes_at_zero
        return tags
