"""Least squares over all pairs: MPRank, and the same in the words of least-squares ranking, LSRRank and MLSRRank."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from shortlist.estimators._docs import fill_doc
from shortlist.estimators._regression import PairObjective, RankingRegressor, RegressionOutcome, RegressionRows
from shortlist.estimators._validation import check_number
from shortlist.features import FeatureMap, Gaussians, feature_map
from shortlist.solvers.least_squares import LeastSquares, solve_least_squares
from shortlist.solvers.pair_problem import PairProblem
from shortlist.solvers.solution import Solution

__all__ = ["LSRRank", "LeastSquaresRanker", "MLSRRank", "MPRank", "outcome_of"]


class LeastSquaresRanker(RankingRegressor):
    """Base of the estimators of this page; a subclass adds parameters and says what C is."""

    _several: ClassVar[bool] = True
    _streams: ClassVar[bool] = True
    _solvers: ClassVar[tuple[str, ...]] = ("auto", "primal", "dual", "iterative")

    max_memory: float

    def _weight(self) -> float:
        """C of 1/2 ||w||^2 + C * risk."""
        return float(self.C)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("max_memory", self.max_memory, advice="it is the bytes that a square matrix may take")

    def _solve(self, X: Any, rows: RegressionRows, start: Solution | None) -> RegressionOutcome:
        problem = PairProblem.of(rows.y, groups=rows.groups, sample_weight=rows.weights)
        C = self._weight()
        stopping = self._stopping()
        begin = None
        if start is not None and start.coef.shape == (rows.y.shape[1], X.shape[1]):
            begin = start.coef.T
        found = solve_least_squares(
            X, problem, C, solver=self.solver, max_memory=float(self.max_memory), start=begin, **stopping
        )
        return outcome_of(found, problem, rows, C)


def outcome_of(found: LeastSquares, problem: PairProblem, rows: RegressionRows, C: float) -> RegressionOutcome:
    """What the solver found, with the mean residual as intercept."""
    # What the problem's targets lack of y is the level of each group.
    residuals = found.residuals + (rows.y - problem.y)
    return RegressionOutcome(found.solution, PairObjective(C), np.average(residuals, axis=0, weights=rows.weights))


@fill_doc
class MPRank(LeastSquaresRanker):
    """Magnitude-preserving ranking: differences of scores match differences of y in the square mean.

    Minimises ``1/2 ||w||^2 + C * mean_ij ((s_i - s_j) - (y_i - y_j))^2`` over all ordered pairs (i, j) of rows of a
    group. That mean is twice the variance of the residuals s - y, so that one linear system in the smaller of rows and
    columns is the answer: pairs cost nothing.

    Parameters
    ----------
    {C}
    {kernel}
    {least_squares}

    Attributes
    ----------
    {regressor}

    See Also
    --------
    LSRRank : The same in the parameters of least-squares ranking.
    MLSRRank : A sum of kernels.
    OnlineMPRank : Rows one by one.
    shortlist.selection.MPRankCV : C and the kernel chosen by exact leave-one-out or leave-pair-out.

    Notes
    -----
    Of one group this is ridge regression with a free intercept: rank by it, or read differences off it. With groups
    every group has a level of its own that costs nothing, as only pairs within groups count; a group counts by its
    number of pairs.

    In the paper's terms C = C_paper / 2. The paper's system with the centred kernel matrix, rho = m / (4 C) and
    H = I - 11'/m, is (H K H + rho I) alpha = H y.

    References
    ----------
    C. Cortes, M. Mohri, A. Rastogi. An alternative ranking problem for search engines. WEA 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from shortlist import MPRank
    >>> X = np.array([[0.0], [1.0], [2.0], [4.0]])
    >>> model = MPRank(C=1000.0).fit(X, [1.0, 3.0, 5.0, 9.0])
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
        *,
        kernel: Any = None,
        gamma: Any = None,
        scales: Any = None,
        degree: int = 3,
        coef0: float = 1.0,
        kernel_params: Any = None,
        n_landmarks: Any = None,
        tol: float = 1e-6,
        max_iter: int | None = None,
        solver: str = "auto",
        max_memory: float = 2e9,
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
        self.max_memory = max_memory
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose


class _Regularised(LeastSquaresRanker):
    """Parameters as in least-squares ranking: ``risk + lam * ||f||^2``, that is C = 1 / (2 lam)."""

    lam: float

    def _weight(self) -> float:
        return 1 / (2 * float(self.lam))

    def _check_weight(self) -> None:
        check_number("lam", self.lam, advice="it weighs the penalty against the risk; 0.01 is a start")
        if not np.isfinite(self._weight()):
            raise ValueError(f"lam is too small, got {self.lam!r}: C = 1 / (2 lam) overflows")


@fill_doc
class LSRRank(_Regularised):
    """Least-squares regularised ranking: `MPRank` in the parameters of its own papers.

    Minimises ``mean_ij ((s_i - s_j) - (y_i - y_j))^2 + lam * ||f||_K^2``.

    Parameters
    ----------
    lam : float, default=0.01
        Weight of the penalty against the risk. The risk is a mean, so lam does not depend on the number of rows.
        C = 1 / (2 lam).
    {kernel}
    {least_squares}

    Attributes
    ----------
    {regressor}

    See Also
    --------
    MPRank : The same in the parameters of this package.
    MLSRRank : A sum of kernels.

    References
    ----------
    Y. Zhou, H. Chen, R. Lan, Z. Pan. Generalization performance of regularized ranking with multiscale kernels. IEEE
    TNNLS 2016, equation (4).

    Examples
    --------
    >>> import numpy as np
    >>> from shortlist import LSRRank
    >>> X = np.array([[0.0], [1.0], [2.0], [4.0]])
    >>> LSRRank(lam=0.001, kernel="rbf", gamma=0.1).fit(X, [1.0, 3.0, 5.0, 9.0]).predict(X).round(1)
    array([1. , 2.9, 5.1, 9. ])
    """

    def __init__(
        self,
        lam: float = 0.01,
        *,
        kernel: Any = None,
        gamma: Any = None,
        scales: Any = None,
        degree: int = 3,
        coef0: float = 1.0,
        kernel_params: Any = None,
        n_landmarks: Any = None,
        tol: float = 1e-6,
        max_iter: int | None = None,
        solver: str = "auto",
        max_memory: float = 2e9,
        warm_start: bool = False,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.lam = lam
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
        self.max_memory = max_memory
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose


@fill_doc
class MLSRRank(_Regularised):
    """Multiscale least-squares ranking: a sum of functions, one for each kernel, each with a penalty of its own.

    Minimises ``mean_ij ((s_i - s_j) - (y_i - y_j))^2 + lam * sum_t v_t ||f_t||_{K_t}^2`` over f = sum_t f_t. A narrow
    Gaussian follows steep parts of y, a wide one the flat parts.

    Parameters
    ----------
    scales : sequence of float, default=(1.0, 4.0)
        Widths sigma_t of the Gaussians exp(-|x-x'|^2 / (2 sigma_t^2)).
    v : sequence of float, optional
        Penalty weights v_t > 0, one for each kernel; all 1 by default. The paper scales them so that the smallest
        is 1.
    lam : float, default=0.01
        Weight of the penalty against the risk.
    kernels : list of kernels, optional
        In place of the Gaussians: names, functions or kernel objects as in a list given to
        `shortlist.features.feature_map`, with their default parameters.
    n_landmarks : int, 'all' or None, default=None
        Rows that stand for all in a kernel; None is exact up to 2,000 distinct rows.
    {least_squares}

    Attributes
    ----------
    {regressor}

    See Also
    --------
    LSRRank : One kernel.
    shortlist.selection.MLSRRankCV : Scales, v and lam chosen by exact leave-one-out or leave-pair-out.

    Notes
    -----
    The paper solves a system of m * l unknowns. Its blocks share one right-hand side: the coefficients of kernel t are
    alpha / v_t with one alpha for all, so that this is `LSRRank` with the kernel sum_t K_t / v_t, and one m x m system.

    References
    ----------
    Y. Zhou, H. Chen, R. Lan, Z. Pan. Generalization performance of regularized ranking with multiscale kernels. IEEE
    TNNLS 2016, equations (6) and (7).

    Examples
    --------
    >>> import numpy as np
    >>> from shortlist import MLSRRank
    >>> X = np.array([[0.0], [1.0], [2.0], [4.0]])
    >>> MLSRRank(scales=[1.0, 8.0], v=[1.0, 0.5], lam=0.001).fit(X, [1.0, 3.0, 5.0, 9.0]).rank(X)
    array([3, 2, 1, 0])
    """

    def __init__(
        self,
        scales: Any = (1.0, 4.0),
        v: Any = None,
        lam: float = 0.01,
        *,
        kernels: Any = None,
        n_landmarks: Any = None,
        tol: float = 1e-6,
        max_iter: int | None = None,
        solver: str = "auto",
        max_memory: float = 2e9,
        warm_start: bool = False,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.scales = scales
        self.v = v
        self.lam = lam
        self.kernels = kernels
        self.n_landmarks = n_landmarks
        self.tol = tol
        self.max_iter = max_iter
        self.solver = solver
        self.max_memory = max_memory
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose

    def _feature_map(self) -> FeatureMap:
        if isinstance(self.kernels, str):
            raise ValueError(f"kernels must be a list of kernels, got {self.kernels!r}; for one kernel use LSRRank")
        single = self.kernels is None and np.ndim(self.scales) == 0
        terms = [self.scales] if single else list(self.scales if self.kernels is None else self.kernels)
        if not terms:
            raise ValueError(f"{'scales' if self.kernels is None else 'kernels'} is empty: give at least one")
        penalties = [1.0] * len(terms) if self.v is None else list(np.atleast_1d(self.v))
        if len(penalties) != len(terms):
            raise ValueError(f"v holds {len(penalties)} penalty weights for {len(terms)} kernels: give one each")
        for number in penalties:
            check_number("v", number)
        weights = [1 / float(number) for number in penalties]
        kernel = Gaussians(terms, weights) if self.kernels is None else list(zip(terms, weights, strict=True))
        return feature_map(kernel, n_landmarks=self.n_landmarks, random_state=self.random_state)
