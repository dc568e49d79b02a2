"""Estimators whose threshold is the best negative, or the mean of the k best: TopPush and its kin."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

from shortlist.estimators._base import Objective, Outcome, TopClassifier, warm
from shortlist.estimators._docs import fill_doc
from shortlist.estimators._validation import TrainingRows, check_choice, check_number
from shortlist.risks.surrogates import SURROGATES, surrogate
from shortlist.risks.thresholds import Maximum, MeanOfLargest, Threshold
from shortlist.risks.top import TopRisk
from shortlist.solvers.linear_program import solve_sparse_infinite_push
from shortlist.solvers.reference.gradient_projection import solve_gradient_projection
from shortlist.solvers.reference.nesterov import solve_nesterov
from shortlist.solvers.solution import Solution
from shortlist.solvers.working_set import solve_top

__all__ = ["InfinitePush", "SparseInfinitePush", "TopPush", "TopPushK"]


def risk_of(rows: TrainingRows, loss: str, threshold: Threshold) -> TopRisk:
    """The risk of checked rows."""
    risk = TopRisk.from_labels(
        rows.is_positive, surrogate(loss), threshold, groups=rows.groups, sample_weight=rows.weights
    )
    if risk.caps is not None and risk.caps.min() >= 1:  # the mean of the one largest: the maximum, and easier
        return replace(risk, threshold=Maximum(), caps=None)
    return risk


def push(estimator: TopClassifier, X: Any, risk: TopRisk, start: Solution | None) -> Solution:
    """The working-set solver, with the estimator's parameters."""
    return solve_top(X, risk, float(estimator.C), start=warm(start, X), **estimator._stopping())


@fill_doc
class TopPush(TopClassifier):
    """Push as many positives as possible above the best negative.

    Minimises ``1/2 ||w||^2 + C * mean_i l(max_j s_j - s_i)`` over the positives i and negatives j of each
    group, in time linear in the rows, with a duality gap as proof.

    Parameters
    ----------
    {C}
    {loss}
    {kernel}
    {stopping}
    solver : {'auto', 'working_set', 'nesterov'}, default='auto'
        'auto' is 'working_set'. 'nesterov' is the paper's own accelerated dual method with the paper's early
        stop, for which ``tol`` is the change of its dual objective in a step; without groups.
    {tail}
    {random_state}

    Attributes
    ----------
    {attributes}

    See Also
    --------
    TauFPL : A tail mean as threshold, more robust against noise.
    TopPushK : The mean of the k best negatives as threshold.
    InfinitePush : The same with the hinge.

    Notes
    -----
    {overfits}

    In the paper's terms C = 1 / lambda.

    References
    ----------
    N. Li, R. Jin, Z.-H. Zhou. Top rank optimization in linear time. NIPS 2014.

    Examples
    --------
    >>> import numpy as np
    >>> from shortlist import TopPush
    >>> X = np.array([[3.0, 0.0], [2.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    >>> y = np.array([1, 1, 0, 0])
    >>> model = TopPush(C=10.0).fit(X, y)
    >>> model.certificate_.converged
    True
    >>> model.rank(X)[:2]
    array([0, 1])
    """

    _solvers: ClassVar[tuple[str, ...]] = ("auto", "working_set", "nesterov")

    def __init__(
        self,
        C: float = 1.0,
        *,
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

    def _solve(self, X: Any, rows: TrainingRows, start: Solution | None) -> Outcome:
        risk = risk_of(rows, self.loss, Maximum())
        objective = Objective("l2", float(self.C), self.loss, "max")
        if self.solver == "nesterov":
            solution = solve_nesterov(X, risk, float(self.C), **self._stopping())
        else:
            solution = push(self, X, risk, start)
        return Outcome.of(solution, objective, risk)


@fill_doc
class InfinitePush(TopClassifier):
    """The support vector Infinite Push: the hinge against the best negative.

    Minimises ``1/2 ||w||^2 + C * max_j mean_i [1 - (s_i - s_j)]_+``, the largest share of positives that
    any negative surpasses, in convex form. As the hinge does not decrease this equals ``mean_i [1 + max_j
    s_j - s_i]_+``, so m + n dual variables take the place of the paper's m * n.

    Parameters
    ----------
    {C}
    {kernel}
    {stopping}
    solver : {'auto', 'working_set', 'gradient_projection'}, default='auto'
        'auto' is 'working_set'. 'gradient_projection' is the paper's own method in m * n variables, for small
        data without groups.
    {tail}
    {random_state}

    Attributes
    ----------
    {attributes}

    See Also
    --------
    SparseInfinitePush : The same with an l1 penalty.
    TopPush : Smooth losses.

    Notes
    -----
    {overfits}

    C is the paper's.

    References
    ----------
    S. Agarwal. The infinite push: a new support vector ranking algorithm that
    directly optimizes accuracy at the absolute top of the list. SDM 2011.

    Examples
    --------
    >>> import numpy as np
    >>> from shortlist import InfinitePush
    >>> X = np.array([[3.0, 0.0], [2.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    >>> y = np.array(["spam", "spam", "ham", "ham"])
    >>> model = InfinitePush(C=10.0).fit(X, y)
    >>> [str(label) for label in model.predict(X)]
    ['spam', 'spam', 'ham', 'ham']
    """

    _solvers: ClassVar[tuple[str, ...]] = ("auto", "working_set", "gradient_projection")

    def __init__(
        self,
        C: float = 1.0,
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

    def _solve(self, X: Any, rows: TrainingRows, start: Solution | None) -> Outcome:
        risk = risk_of(rows, "hinge", Maximum())
        objective = Objective("l2", float(self.C), "hinge", "max")
        if self.solver == "gradient_projection":
            solution = solve_gradient_projection(X, risk, float(self.C), **self._stopping())
        else:
            solution = push(self, X, risk, start)
        return Outcome.of(solution, objective, risk)


@fill_doc
class TopPushK(TopClassifier):
    """Push positives above the mean of the k best negatives.

    Minimises ``1/2 ||w||^2 + C * mean_i l(mean of the k largest s_j - s_i)``. With k = 1 it is `TopPush`; a
    larger k asks less of the positives and is less at the mercy of single negatives.

    Parameters
    ----------
    {C}
    k : float, default=5
        How many negatives of a group the threshold averages, counted by weight; all where there are fewer.
    {loss}
    {kernel}
    {stopping}
    solver : {'auto', 'working_set'}, default='auto'
        The two are the same.
    {tail}
    {random_state}

    Attributes
    ----------
    {attributes}

    See Also
    --------
    TauFPL : The same with a share of the negatives in place of a count.

    Notes
    -----
    {overfits}

    References
    ----------
    V. Macha, L. Adam, V. Smidl. Nonlinear classifiers for ranking problems based on kernelized SVM. 2020.

    Examples
    --------
    >>> import numpy as np
    >>> from shortlist import TopPushK
    >>> X = np.array([[3.0, 0.0], [2.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    >>> y = np.array([1, 1, 0, 0])
    >>> TopPushK(C=10.0, k=2).fit(X, y).rank(X)[:2]
    array([0, 1])
    """

    _solvers: ClassVar[tuple[str, ...]] = ("auto", "working_set")

    def __init__(
        self,
        C: float = 1.0,
        *,
        k: float = 5,
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
        self.k = k
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
        check_number("k", self.k, above=0.0)
        check_choice("loss", self.loss, tuple(SURROGATES))

    def _solve(self, X: Any, rows: TrainingRows, start: Solution | None) -> Outcome:
        risk = risk_of(rows, self.loss, MeanOfLargest(float(self.k)))
        solution = push(self, X, risk, start)
        objective = Objective("l2", float(self.C), self.loss, "mean_of_largest", float(self.k))
        return Outcome.of(solution, objective, risk)


@fill_doc
class SparseInfinitePush(TopClassifier):
    """The Infinite Push with few features: an l1 penalty, solved as a linear program.

    Minimises ``||w||_1 + C * mean_i [1 + max_j s_j - s_i]_+``. HiGHS solves the program while negatives and
    features are added as they turn out to matter, so its dual is the certificate. The rows' features are
    used as they are: there is no kernel, whose features have no meaning one by one.

    Parameters
    ----------
    C : float, default=100.0
        Weight of the risk against the penalty. With features in [0, 1] nothing is learned up to C = 1: a
        margin costs as much as it gains.
    {stopping}
    verbose : int, default=0
        Log every so many steps at level INFO to the logger ``shortlist``.

    Attributes
    ----------
    {attributes}

    See Also
    --------
    InfinitePush : The same with an l2 penalty.

    Notes
    -----
    For a small C no feature is worth its price, w = 0 is the optimum and nothing is ranked: fit then gives a
    `DegenerateOptimumWarning`. The penalty depends on the units of the features: scale them.

    {overfits}

    References
    ----------
    A. Rakotomamonjy. Sparse support vector infinite push. ICML 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from shortlist import SparseInfinitePush
    >>> X = np.array([[3.0, 0.2], [2.0, 0.1], [1.0, 0.3], [0.0, 0.0]])
    >>> y = np.array([1, 1, 0, 0])
    >>> model = SparseInfinitePush(C=10.0).fit(X, y)
    >>> model.coef_.round(6)
    array([[1., 0.]])
    """

    def __init__(
        self, C: float = 100.0, *, tol: float = 1e-4, max_iter: int | None = None, verbose: int = 0
    ) -> None:
        self.C = C
        self.tol = tol
        self.max_iter = max_iter
        self.verbose = verbose

    def _solve(self, X: Any, rows: TrainingRows, start: Solution | None) -> Outcome:
        risk = risk_of(rows, "hinge", Maximum())
        solution = solve_sparse_infinite_push(X, risk, float(self.C), **self._stopping())
        return Outcome.of(solution, Objective("l1", float(self.C), "hinge", "max"), risk)

    def _degenerate_advice(self) -> str:
        return (
            "at this C no feature is worth its l1 price, or the mean of the positives lies among the "
            "negatives. "
            "Try a larger C; if that changes nothing, more features or TauFPL"
        )
