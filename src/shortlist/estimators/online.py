"""Least squares over all pairs, a few rows at a time: OnlineMPRank and SGDRank."""

from __future__ import annotations

import copy
import warnings
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from shortlist.estimators._docs import fill_doc
from shortlist.estimators._regression import RankingRegressor, RegressionOutcome, RegressionRows, regression_rows
from shortlist.estimators._validation import check_count, check_magnitude, check_number, encode_groups
from shortlist.estimators.magnitude import outcome_of
from shortlist.exceptions import ConvergenceWarning
from shortlist.features.landmarks import seed_of
from shortlist.solvers.pair_problem import PairProblem
from shortlist.solvers.reference.online import solve_online
from shortlist.solvers.solution import Solution
from shortlist.solvers.stochastic import solve_stochastic

Array = NDArray[Any]

__all__ = ["OnlineMPRank", "SGDRank"]


@dataclass(frozen=True)
class _Seen:
    """What ``partial_fit`` goes on with."""

    Z: Any
    rows: RegressionRows
    names: list[Any] | None
    alpha: Array
    u: Array


@fill_doc
class OnlineMPRank(RankingRegressor):
    """`MPRank` by the online algorithm of its paper: one dual variable after the other, no kernel matrix.

    Minimises ``1/2 ||w||^2 + C * mean_ij ((s_i - s_j) - (y_i - y_j))^2`` in rounds over the rows, each row moving its
    own dual variable, until the objective changes by less than 0.01 % in a round: the paper's stop. `partial_fit` adds
    rows and goes on from there.

    Parameters
    ----------
    {C}
    {kernel}
    eta : float or None, default=None
        One step length for all rows, as printed. None, as the paper gives no value: each row's best step.
    tol : float, default=1e-4
        Change of the objective in a round, relative to it, at which to stop. The gap is another thing, and often
        larger: ``certificate_`` has it.
    max_iter : int or None, default=None
        The most rounds; None is 1,000.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the choice of landmarks; nothing else is random.
    verbose : int, default=0
        Log every so many rounds at level INFO to the logger ``shortlist``.

    Attributes
    ----------
    {regressor}
    n_samples_seen_ : int
        Rows that the model has learnt from.

    See Also
    --------
    MPRank : The same optimum by one linear system, faster wherever that fits.
    SGDRank : Stochastic steps with a gap that closes.

    Notes
    -----
    A round costs one pass over the rows' features. The larger C is, the more rounds it takes: the paper's stop then
    comes early. A smaller ``tol`` leads to the optimum of `MPRank`.

    References
    ----------
    C. Cortes, M. Mohri, A. Rastogi. An alternative ranking problem for search engines. WEA 2007, section 2.5.

    Examples
    --------
    >>> import numpy as np
    >>> from shortlist import OnlineMPRank
    >>> X = np.array([[0.0], [1.0], [2.0], [4.0]])
    >>> model = OnlineMPRank(C=100.0).partial_fit(X[:2], [1.0, 3.0])
    >>> model.partial_fit(X[2:], [5.0, 9.0]).predict(X).round(1)
    array([1., 3., 5., 9.])
    """

    _several: ClassVar[bool] = True

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
        eta: float | None = None,
        tol: float = 1e-4,
        max_iter: int | None = None,
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
        self.eta = eta
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.eta is not None:
            check_number("eta", self.eta, advice="it is the step length; None takes the best for each row")

    def _solve(self, X: Any, rows: RegressionRows, start: Solution | None) -> RegressionOutcome:
        self._seen: _Seen | None = None
        return self._online(X, rows, None)

    def _online(self, Z: Any, rows: RegressionRows, alpha: Array | None) -> RegressionOutcome:
        problem = PairProblem.of(rows.y, groups=rows.groups, sample_weight=rows.weights)
        C = float(self.C)
        found, self._stood_still = solve_online(Z, problem, C, eta=self.eta, start=alpha, **self._stopping())
        return outcome_of(found, problem, rows, C)

    def _keep(self, outcome: RegressionOutcome, rows: RegressionRows, features: Any, Z: Any) -> None:
        super()._keep(outcome, rows, features, Z)
        self.n_samples_seen_ = len(rows.y)

    def _gap_complaints(self) -> list[Warning]:
        if self._stood_still:
            return []
        return [
            ConvergenceWarning(
                f"{type(self).__name__} ended after {self.n_iter_} rounds before the objective changed by less than "
                f"tol={self.tol:g} in a round. Raise max_iter, scale the features or lower C"
            )
        ]

    def partial_fit(self, X: Any, y: Any, *, groups: Any = None, sample_weight: Any = None) -> Self:
        """Add rows to those of earlier calls and go on until the objective stands still again.

        The model is then that of all rows given to ``partial_fit``. They are kept, as feature vectors; those given to
        ``fit`` are not, and the first call after ``fit`` starts anew. A kernel compares with the rows of the first
        call.

        Parameters
        ----------
        X, y, groups, sample_weight
            As in ``fit``. The first call needs two rows of one group, others may bring single rows; groups and weights
            come with all calls or with none.

        Returns
        -------
        self
        """
        attempt = copy.copy(self)
        complaints = attempt._add(X, y, groups, sample_weight)
        self.__dict__ = attempt.__dict__
        for complaint in complaints:
            warnings.warn(complaint, stacklevel=2)
        return self

    def _add(self, X: Any, y: Any, groups: Any, sample_weight: Any) -> list[Warning]:
        self._check_parameters()
        seen: _Seen | None = getattr(self, "_seen", None)
        features = self._feature_map() if seen is None else self.feature_map_
        if features.is_precomputed:
            raise ValueError("partial_fit needs rows of features; kernel='precomputed' has none. Use fit")
        fresh = regression_rows(
            self, X, y, groups, sample_weight, several=True, reset=seen is None, needs_pairs=seen is None
        )
        check_magnitude(fresh.X)
        if seen is None:
            Z = features.fit_transform(fresh.X, sample_weight=fresh.weights)
        else:
            Z = features.transform(fresh.X)
        names = None if fresh.groups is None else [fresh.group_ids[number] for number in fresh.groups]
        rows, alpha = fresh, np.zeros_like(fresh.y)
        if seen is not None:
            Z, rows, names = _together(seen, Z, fresh, names)
            u = PairProblem.of(rows.y, groups=rows.groups, sample_weight=rows.weights).u[: len(seen.u)]
            # At the optimum alpha = 2 C u * residual: as the mean grows over more rows, each counts for less.
            ratio = np.divide(u, seen.u, out=np.zeros_like(u), where=seen.u > 0)
            alpha = np.vstack([seen.alpha * ratio[:, None], alpha])
        outcome = self._online(Z, rows, alpha)
        u = PairProblem.of(rows.y, groups=rows.groups, sample_weight=rows.weights).u
        self._keep(outcome, rows, features, None)
        self._seen = _Seen(Z, replace(rows, X=None), names, outcome.solution.dual.T, u)
        return self._complaints()


def _together(
    seen: _Seen, Z: Any, fresh: RegressionRows, names: list[Any] | None
) -> tuple[Any, RegressionRows, list[Any] | None]:
    """Rows of earlier calls and of this one."""
    old = seen.rows
    for what, before, now in (("groups", seen.names, names), ("sample_weight", old.weights, fresh.weights)):
        if (before is None) != (now is None):
            word = "without" if before is None else "with"
            raise ValueError(f"partial_fit began {word} {what}; go on like that, or start anew with a fresh estimator")
    if old.y.shape[1] != fresh.y.shape[1]:
        raise ValueError(f"y has {fresh.y.shape[1]} targets; earlier calls of partial_fit had {old.y.shape[1]}")
    if hasattr(Z, "tocsr"):
        parts: Any = [sparse.csr_array(seen.Z), sparse.csr_array(Z)]
        together: Any = sparse.csr_array(sparse.vstack(parts))
    else:
        together = np.vstack([seen.Z.toarray() if hasattr(seen.Z, "toarray") else seen.Z, Z])
    all_names = None if names is None or seen.names is None else [*seen.names, *names]
    weights = None if old.weights is None or fresh.weights is None else np.append(old.weights, fresh.weights)
    y = np.vstack([old.y, fresh.y])
    codes, ids = (None, old.group_ids) if all_names is None else encode_groups(all_names, len(y))
    return together, replace(old, y=y, groups=codes, group_ids=ids, weights=weights), all_names


@fill_doc
class SGDRank(RankingRegressor):
    """Least squares over all pairs by stochastic steps: a few pairs at a time.

    Minimises ``1/2 ||w||^2 + C * mean_ij ((s_i - s_j) - (y_i - y_j))^2``. Each step draws a batch of pairs. After a
    first epoch whose steps are averaged, variance reduction lets the gap fall by a factor an epoch, so that ``tol`` is
    met.

    Parameters
    ----------
    {C}
    {kernel}
    tol : float, default=1e-3
        Relative duality gap at which to stop.
    max_iter : int or None, default=None
        The most epochs; None is 100. An epoch draws as many pairs as there are rows.
    solver : {'auto', 'averaged', 'variance_reduced'}, default='auto'
        'auto' is 'variance_reduced'. 'averaged' is averaged stochastic gradient descent throughout: the method of the
        literature, whose gap closes slowly.
    batch_size : int, default=64
        Pairs in a step.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the pairs and of the choice of landmarks.
    warm_start : bool, default=False
        Start from the last fit's weights where their shape allows.
    verbose : int, default=0
        Log every so many epochs at level INFO to the logger ``shortlist``.

    Attributes
    ----------
    {regressor}

    See Also
    --------
    MPRank : The same optimum by one linear system, faster wherever that fits.

    References
    ----------
    H. Chen et al. Error analysis of stochastic gradient descent ranking. IEEE Trans. Cybernetics 2013.
    R. Johnson, T. Zhang. Accelerating stochastic gradient descent using predictive variance reduction. NIPS 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from shortlist import SGDRank
    >>> X = np.array([[0.0], [1.0], [2.0], [4.0]])
    >>> model = SGDRank(C=10.0, tol=1e-6, random_state=0).fit(X, [1.0, 3.0, 5.0, 9.0])
    >>> model.rank(X), model.certificate_.converged
    (array([3, 2, 1, 0]), True)
    """

    _several: ClassVar[bool] = True
    _solvers: ClassVar[tuple[str, ...]] = ("auto", "averaged", "variance_reduced")

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
        tol: float = 1e-3,
        max_iter: int | None = None,
        solver: str = "auto",
        batch_size: int = 64,
        random_state: Any = None,
        warm_start: bool = False,
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
        self.batch_size = batch_size
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_count("batch_size", self.batch_size)

    def _solve(self, X: Any, rows: RegressionRows, start: Solution | None) -> RegressionOutcome:
        problem = PairProblem.of(rows.y, groups=rows.groups, sample_weight=rows.weights)
        C = float(self.C)
        usable = start is not None and start.coef.shape == (rows.y.shape[1], X.shape[1])
        found = solve_stochastic(
            X,
            problem,
            C,
            averaged=self.solver == "averaged",
            batch_size=int(self.batch_size),
            seed=seed_of(self.random_state),
            start=start.coef.T if start is not None and usable else None,
            **self._stopping(),
        )
        return outcome_of(found, problem, rows, C)
