"""RankSVM for two labels, GradedRankSVM for graded or real relevance: every pair of unequal rows in its right order."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shortlist.estimators._base import Outcome, TopClassifier
from shortlist.estimators._cuts import group_cuts
from shortlist.estimators._docs import fill_doc
from shortlist.estimators._regression import RankingRegressor, RegressionOutcome, RegressionRows
from shortlist.estimators._signs import check_signs, signs_of
from shortlist.estimators._validation import TrainingRows, check_choice
from shortlist.risks.pairwise import LOSSES, PairwiseRisk
from shortlist.solvers.bundle import PlaneSolution, solve_bundle
from shortlist.solvers.newton import solve_newton
from shortlist.solvers.reference.gradient_projection_pairs import solve_pairs_by_projection
from shortlist.solvers.solution import Solution

Array = NDArray[Any]

__all__ = ["GradedRankSVM", "PairwiseObjective", "RankSVM"]


@dataclass(frozen=True)
class PairwiseObjective:
    """The problem that a fit solved: 1/2 ||w||^2 + C * mean over the pairs with y_i < y_j of a group of a loss.

    Attributes
    ----------
    C : float
    loss : {'hinge', 'squared_hinge', 'logistic'}
        Surrogate of s_i - s_j.
    power : {0, 1, 2}
        A pair weighs the product of its rows' weights and (y_j - y_i)^power.
    signs : tuple of int or None
        1 for each coefficient that must not be negative, -1 for one that must not be positive, 0 for either.
    """

    C: float
    loss: str
    power: int = 0
    signs: tuple[int, ...] | None = None


def solve_pairs(
    estimator: Any, X: Any, risk: PairwiseRisk, start: Solution | None
) -> tuple[PlaneSolution, PairwiseObjective, dict[str, Any]]:
    """The certified solvers, with the estimator's parameters: solution, problem and evidence."""
    names = getattr(estimator, "feature_names_in_", None)
    signs = signs_of(estimator.positive, estimator.n_features_in_, names)
    if estimator.solver == "newton" and not risk.smooth:
        raise ValueError(
            f"solver='newton' needs a smooth loss, and loss={risk.loss!r} has kinks: take solver='bundle', or "
            "a smooth loss"
        )
    solve = solve_newton if risk.smooth and estimator.solver != "bundle" else solve_bundle
    begin = start.coef if start is not None and start.coef.shape == (X.shape[1],) else None
    solution = solve(X, risk, float(estimator.C), start=begin, signs=signs, **estimator._stopping())
    given = None if signs is None else tuple(map(int, signs))
    problem = PairwiseObjective(float(estimator.C), risk.loss, risk.power, given)
    return solution, problem, {"bound_points_": solution.points, "bound_weights_": solution.point_weights}


@fill_doc
class RankSVM(TopClassifier):
    """The ranking support vector machine: every positive above every negative.

    Minimises ``1/2 ||w||^2 + C * mean_ij l(s_j - s_i)`` over the pairs of a positive i and a negative j of one group:
    a convex bound of 1 - AUC. The pairs are summed in the order of the scores and never listed, so a fit takes
    O(n log n) a step, and has a duality gap as proof.

    Parameters
    ----------
    {C}
    loss : {'hinge', 'squared_hinge', 'logistic'}, default='hinge'
        Surrogate of "the positive is not above the negative". 'hinge' is the support vector machine's; 'squared_hinge'
        and 'logistic' are smooth, and faster where C is large.
    {positive}
    {kernel}
    {stopping}
    solver : {'auto', 'newton', 'bundle', 'gradient_projection'}, default='auto'
        'newton' takes the smooth losses, 'bundle' any; 'auto' is 'newton' where it can be. 'gradient_projection' is
        Agarwal's method for the hinge with a variable a pair, for up to 5,000,000 pairs and without ``positive``.
    {tail}
    {random_state}

    Attributes
    ----------
    {attributes}
    {bound}
    pair_rows_, pair_dual_ : ndarrays of shape (2, n_pairs) and (n_pairs,)
        With 'gradient_projection' in place of these: the better and the worse row of each pair with a dual variable
        other than 0, and these variables. Equal rows are one row, and the first of them stands for all.

    See Also
    --------
    GradedRankSVM : More than two grades of relevance, or real ones.
    TauFPL : Positives against the best negatives only: for when the top matters more than all pairs.

    Notes
    -----
    The threshold of `predict` is the cut of the training scores that gets most rows of the group right.

    In the terms of Agarwal's paper on the Infinite Push, C is the paper's: its sum over pairs carries C / (m n).

    References
    ----------
    R. Herbrich, T. Graepel, K. Obermayer. Large margin rank boundaries for ordinal regression. 2000.
    T. Joachims. Training linear SVMs in linear time. KDD 2006.

    Examples
    --------
    >>> import numpy as np
    >>> from shortlist import RankSVM
    >>> X = np.array([[3.0, 0.0], [2.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    >>> y = np.array([1, 1, 0, 0])
    >>> model = RankSVM(C=10.0).fit(X, y)
    >>> model.certificate_.converged
    True
    >>> model.rank(X)[:2]
    array([0, 1])
    """

    _solvers: ClassVar[tuple[str, ...]] = ("auto", "newton", "bundle", "gradient_projection")

    def __init__(
        self,
        C: float = 1.0,
        *,
        loss: str = "hinge",
        positive: Any = False,
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
        self.loss = loss
        self.positive = positive
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
        check_choice("loss", self.loss, LOSSES)
        check_signs(self.positive, self.kernel)

    def _solve(self, X: Any, rows: TrainingRows, start: Solution | None) -> Outcome:
        risk = PairwiseRisk.from_labels(rows.is_positive, self.loss, groups=rows.groups, sample_weight=rows.weights)
        if self.solver == "gradient_projection":
            solution, problem, fitted = self._by_projection(X, risk, rows)
        else:
            solution, problem, fitted = solve_pairs(self, X, risk, start)
        groups, thresholds, shares = group_cuts(np.asarray(X @ solution.coef), rows)
        return Outcome(replace(solution, thresholds=thresholds), problem, groups, shares, fitted)

    def _by_projection(
        self, X: Any, risk: PairwiseRisk, rows: TrainingRows
    ) -> tuple[Solution, PairwiseObjective, dict[str, Any]]:
        if self.positive is not False:
            raise ValueError(
                "solver='gradient_projection' knows no signs of coefficients: take solver='auto' or leave positive="
            )
        solution = solve_pairs_by_projection(X, risk, float(self.C), **self._stopping())
        pairs = solution.pairs if rows.origin is None else rows.origin[solution.pairs]
        fitted = {"pair_rows_": pairs, "pair_dual_": solution.pair_dual}
        return solution, PairwiseObjective(float(self.C), risk.loss), fitted

    def _degenerate_advice(self) -> str:
        return (
            "w = 0 is the optimum. The positives and the negatives have the same mean, or differ only in directions "
            "that positive= forbids, so that none puts one above the other on the whole: more features or a kernel help"
        )


@fill_doc
class GradedRankSVM(RankingRegressor):
    """The ranking support vector machine for graded or real relevance, in groups or without.

    Minimises ``1/2 ||w||^2 + C * mean_ij l(s_j - s_i)`` over the pairs of rows of a group with ``y_i > y_j``: only the
    order of the grades counts, unless ``gap_power`` weighs a pair by how far they are apart. O(n log n) a step times
    the binary digits of the number of grades.

    Parameters
    ----------
    {C}
    loss : {'hinge', 'squared_hinge', 'logistic'}, default='hinge'
        Surrogate of "the better row is not above the worse one".
    gap_power : {0, 1, 2}, default=0
        A pair weighs the product of its rows' weights times ``(y_i - y_j) ** gap_power``: 0 for all alike, 1 or 2 where
        a difference of two grades is worth more than one of one.
    {positive}
    {kernel}
    {stopping}
    solver : {'auto', 'newton', 'bundle'}, default='auto'
        'newton' takes the smooth losses, 'bundle' any; 'auto' is 'newton' where it can be.
    {tail}
    {random_state}

    Attributes
    ----------
    {regressor}
    {bound}

    See Also
    --------
    RankSVM : Two labels, as a classifier.
    SVRank, MPRank : Differences of scores that match those of y.

    Notes
    -----
    ``intercept_`` makes the mean residual 0, as in the other regressors. The scale of the scores is that of the margin,
    1 between a worse and a better row, not that of y.

    References
    ----------
    R. Herbrich, T. Graepel, K. Obermayer. Large margin rank boundaries for ordinal regression. 2000.
    C.-P. Lee, C.-J. Lin. Large-scale linear RankSVM. Neural Computation 2014.

    Examples
    --------
    >>> import numpy as np
    >>> from shortlist import GradedRankSVM
    >>> X = np.array([[0.0, 1.0], [1.0, 1.0], [2.0, 0.0], [0.0, 0.0], [3.0, 1.0]])
    >>> query = ["a", "a", "a", "b", "b"]
    >>> model = GradedRankSVM(C=100.0).fit(X, [0, 1, 2, 0, 1], groups=query)
    >>> model.rank(X, groups=query)
    array([2, 1, 0, 4, 3])
    """

    _solvers: ClassVar[tuple[str, ...]] = ("auto", "newton", "bundle")

    def __init__(
        self,
        C: float = 1.0,
        *,
        loss: str = "hinge",
        gap_power: int = 0,
        positive: Any = False,
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
        self.loss = loss
        self.gap_power = gap_power
        self.positive = positive
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
        check_choice("loss", self.loss, LOSSES)
        check_signs(self.positive, self.kernel)
        if isinstance(self.gap_power, bool) or self.gap_power not in (0, 1, 2):
            raise ValueError(f"gap_power must be 0, 1 or 2, the power of differences of labels, got {self.gap_power!r}")

    def _solve(self, X: Any, rows: RegressionRows, start: Solution | None) -> RegressionOutcome:
        power = int(self.gap_power)
        risk = PairwiseRisk.from_labels(
            rows.y[:, 0], self.loss, power, groups=rows.groups, sample_weight=rows.weights, needs_pairs=False
        )
        solution, problem, fitted = solve_pairs(self, X, risk, start)
        return RegressionOutcome(solution, problem, fitted=fitted)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # the scores have the order of y, not its scale
        return tags
