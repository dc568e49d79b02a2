"""MPRankCV and MLSRRankCV: C, kernels, scales and their weights chosen by exact hold-out errors.

Each kernel costs one decomposition, which gives the errors of all C and the fit itself.  Equal rows are left out
together where there are few rows: a row that is there twice then is a row of weight 2, and does not vouch for itself.
"""

from __future__ import annotations

import logging
import time
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shortlist.estimators._docs import fill_doc
from shortlist.estimators._merge import MOST_ROWS
from shortlist.estimators._regression import merged_rows, regression_rows, unmerged
from shortlist.estimators._validation import check_choice, check_count, check_magnitude
from shortlist.estimators.magnitude import LeastSquaresRanker, MLSRRank, MPRank, outcome_of
from shortlist.selection._rows import DEFAULT_CS, Decomposed, check_grid, decomposed
from shortlist.selection.hold_out import HoldOut, errors_by_group, errors_by_pair, errors_by_row
from shortlist.solvers.least_squares import certified
from shortlist.solvers.pair_problem import PairProblem

Array = NDArray[Any]

__all__ = ["MLSRRankCV", "MPRankCV"]

log = logging.getLogger(__name__)

METHODS = ("leave_one_out", "leave_pair_out", "paper")
KERNEL_PARAMETERS = ("kernel", "gamma", "scales", "degree", "coef0", "kernel_params", "n_landmarks")


class _Tried(NamedTuple):
    """One kernel: its errors, and all that a fit needs."""

    model: LeastSquaresRanker
    found: HoldOut
    made: Decomposed

    @property
    def error(self) -> float:
        return float(self.found.errors.min())


Attempt = Callable[[LeastSquaresRanker], _Tried]


class _ChosenByHoldOut(LeastSquaresRanker):
    """A subclass says which C and which models to try, and what the best ones are called."""

    _solvers: ClassVar[tuple[str, ...]] = ()
    max_iter = None

    method: str

    @abstractmethod
    def _grid(self) -> Array:
        """Every C to try."""

    @abstractmethod
    def _search(self, attempt: Attempt) -> _Tried:
        """The best of the models."""

    @abstractmethod
    def _name(self, chosen: _Tried) -> None:
        """Set the fitted attributes that say what was chosen."""

    def _check_weight(self) -> None:
        check_choice("method", self.method, METHODS)

    def _fit(self, X: Any, y: Any, groups: Any, sample_weight: Any) -> list[Warning]:
        began = time.perf_counter()
        self._check_parameters()
        Cs = self._grid()
        given = regression_rows(self, X, y, groups, sample_weight, several=True)
        if self.method != "leave_one_out" and (given.groups is not None or given.weights is not None):
            raise ValueError(
                f"method={self.method!r} knows neither groups nor sample_weight; method='leave_one_out' does, and "
                "leaves out whole groups where there are groups"
            )
        check_magnitude(given.X)
        if len(given.group_ids) == 1:
            given = replace(given, groups=None)
        # The errors of pairs have no weights, so equal rows stay apart there.
        merge = given.X.shape[0] <= MOST_ROWS and self.method == "leave_one_out"
        kept, rows, places = merged_rows(given) if merge else (None, given, None)
        problem = PairProblem.of(rows.y, groups=rows.groups, sample_weight=rows.weights)
        tried = 0

        def attempt(model: LeastSquaresRanker) -> _Tried:
            nonlocal tried
            model.set_params(max_memory=self.max_memory, random_state=self.random_state)
            model._check_parameters()
            made = decomposed(model, given, rows, kept, problem)
            found = self._errors(made, Cs)
            tried += 1
            if self.verbose and tried % self.verbose == 0:
                log.info("%s: kernel %d, least error %.8g", type(self).__name__, tried, found.errors.min())
            return _Tried(model, found, made)

        chosen = self._search(attempt)
        C = chosen.found.best_C
        W = chosen.made.spectrum.coefficients(C)[0].T
        fit = certified(chosen.made.spectrum.Z, problem, W, C, tol=float(self.tol), began=began)
        outcome = outcome_of(fit, problem, rows, C)
        self._keep(outcome if places is None else unmerged(outcome, given, places), given, chosen.made.features, None)
        self.best_error_ = chosen.error
        self.hold_out_predictions_ = self._predictions(chosen.found, places)
        self._name(chosen)
        return self._complaints()

    def _errors(self, made: Decomposed, Cs: Array) -> HoldOut:
        if made.rows.groups is not None:
            return errors_by_group(made, Cs)
        if self.method == "leave_one_out":
            return errors_by_row(made, Cs)
        return errors_by_pair(made, Cs, "exact" if self.method == "leave_pair_out" else "paper")

    @staticmethod
    def _predictions(found: HoldOut, places: Array | None) -> Array | None:
        """For the given rows, at the best C; NaN for rows of weight 0."""
        if found.predictions is None:
            return None
        best = found.predictions[int(np.argmin(found.errors))]
        if places is None:
            return np.asarray(best)
        return np.asarray(np.where((places < 0).reshape(-1, *[1] * (best.ndim - 1)), np.nan, best[places]))


@fill_doc
class MPRankCV(_ChosenByHoldOut):
    """`MPRank` with C and the kernel chosen by exact leave-one-out, leave-pair-out or leave-group-out errors.

    Parameters
    ----------
    Cs : sequence of float, optional
        By default 33 values from 0.01 to 1,000,000.
    kernels : sequence, optional
        What to try: values of `MPRank`'s ``kernel``, or dicts of its ``kernel``, ``gamma``, ``scales``, ``degree``,
        ``coef0``, ``kernel_params`` and ``n_landmarks``. By default linear alone.
    {chosen}

    Attributes
    ----------
    C_ : float
        The C chosen.
    kernel_ : dict
        The kernel chosen, as parameters of `MPRank`.
    errors_ : ndarray of shape (n_kernels, n_C)
        Hold-out errors.
    {chosen_attributes}
    {regressor}

    See Also
    --------
    shortlist.selection.leave_one_out : The errors alone.

    Examples
    --------
    >>> import numpy as np
    >>> from shortlist.selection import MPRankCV
    >>> X = np.linspace(0, 6, 40)[:, None]
    >>> model = MPRankCV(kernels=[None, {"kernel": "rbf", "gamma": 1.0}]).fit(X, np.sin(X[:, 0]))
    >>> model.kernel_
    {'kernel': 'rbf', 'gamma': 1.0}
    >>> model.errors_.min(axis=1) < 0.01
    array([False,  True])
    """

    def __init__(
        self,
        Cs: Any = None,
        *,
        kernels: Any = None,
        method: str = "leave_one_out",
        n_landmarks: Any = None,
        tol: float = 1e-6,
        max_memory: float = 2e9,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.Cs = Cs
        self.kernels = kernels
        self.method = method
        self.n_landmarks = n_landmarks
        self.tol = tol
        self.max_memory = max_memory
        self.random_state = random_state
        self.verbose = verbose

    def _grid(self) -> Array:
        return check_grid("Cs", DEFAULT_CS if self.Cs is None else self.Cs)

    def _candidates(self) -> list[dict[str, Any]]:
        given = [None] if self.kernels is None else self.kernels
        if isinstance(given, str) or not isinstance(given, Sequence) or not len(given):
            raise ValueError(f"kernels must be a non-empty list of kernels or of dicts of parameters, got {given!r}")
        candidates = [dict(one) if isinstance(one, dict) else {"kernel": one} for one in given]
        for one in candidates:
            unknown = sorted(set(one) - set(KERNEL_PARAMETERS))
            if unknown:
                known = ", ".join(KERNEL_PARAMETERS)
                raise ValueError(f"kernels holds the parameter {unknown[0]!r}; known are {known}")
            if isinstance(one.get("kernel"), str) and one["kernel"] == "precomputed":
                raise ValueError(
                    "kernels cannot hold 'precomputed': X is rows here. leave_one_out(K, y, kernel='precomputed') "
                    "gives the errors of one matrix"
                )
        return candidates

    def _search(self, attempt: Attempt) -> _Tried:
        best: _Tried | None = None
        errors = []
        for settings in self._candidates():
            one = attempt(MPRank(**{"n_landmarks": self.n_landmarks, **settings}))
            errors.append(one.found.errors)
            if best is None or one.error < best.error:
                best, self.kernel_ = one, settings
        assert best is not None
        self.errors_ = np.stack(errors)
        return best

    def _name(self, chosen: _Tried) -> None:
        self.C_ = chosen.found.best_C


@fill_doc
class MLSRRankCV(_ChosenByHoldOut):
    """`MLSRRank` with scales, penalty weights v and lam chosen by exact hold-out errors.

    Scales are added one at a time: the best single one, then the one that lowers the error most beside it, with the
    best of the ratios of v, and so on while the error falls. A scale costs one decomposition for each ratio, whatever
    the number of lam.

    Parameters
    ----------
    scales : sequence of float, default=(1/64, 1/16, 1/4, 1, 4, 16, 64)
        Widths sigma of Gaussians to choose from.
    vs : sequence of float, default=(0.25, 1.0, 4.0)
        Penalty weights of an added scale, relative to the first one's.
    lams : sequence of float, optional
        By default 33 values from 0.0000005 to 50.
    n_scales : int, default=2
        The most scales to combine.
    {chosen}

    Attributes
    ----------
    scales_, v_ : list of float
        What was chosen, the smallest v being 1.
    lam_ : float
        The lam that belongs to them.
    trials_ : list of tuple
        Scales, v and least error of each combination that was tried, in order; their v as tried, the first being 1.
    {chosen_attributes}
    {regressor}

    Examples
    --------
    >>> import numpy as np
    >>> from shortlist.selection import MLSRRankCV
    >>> x = np.linspace(0, 6, 60)
    >>> model = MLSRRankCV(scales=(0.1, 1.0, 10.0)).fit(x[:, None], x + 0.3 * np.sin(9 * x))
    >>> model.scales_
    [10.0, 0.1]
    """

    def __init__(
        self,
        scales: Any = (1 / 64, 1 / 16, 1 / 4, 1.0, 4.0, 16.0, 64.0),
        vs: Any = (0.25, 1.0, 4.0),
        lams: Any = None,
        *,
        n_scales: int = 2,
        method: str = "leave_one_out",
        n_landmarks: Any = None,
        tol: float = 1e-6,
        max_memory: float = 2e9,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.scales = scales
        self.vs = vs
        self.lams = lams
        self.n_scales = n_scales
        self.method = method
        self.n_landmarks = n_landmarks
        self.tol = tol
        self.max_memory = max_memory
        self.random_state = random_state
        self.verbose = verbose

    def _grid(self) -> Array:
        check_count("n_scales", self.n_scales)
        return np.array(DEFAULT_CS) if self.lams is None else 1 / (2 * check_grid("lams", self.lams))

    def _search(self, attempt: Attempt) -> _Tried:
        self.trials_: list[tuple[list[float], list[float], float]] = []
        best: _Tried | None = None
        chosen: tuple[list[float], list[float]] = ([], [])
        for _ in range(int(self.n_scales)):
            before = best
            for scales, v in self._additions(*chosen):
                one = attempt(MLSRRank(scales, v, n_landmarks=self.n_landmarks))
                self.trials_.append((scales, v, one.error))
                if best is None or one.error < best.error:
                    best, chosen = one, (scales, v)
            if best is before:
                break
        assert best is not None
        return best

    def _additions(self, scales: list[float], v: list[float]) -> Iterator[tuple[list[float], list[float]]]:
        """One scale more, in every weight; the first scale of all weighs 1, as lam does the rest."""
        weights = check_grid("vs", self.vs) if scales else np.ones(1)
        for scale in check_grid("scales", self.scales):
            if scale not in scales:
                for weight in weights:
                    yield [*scales, float(scale)], [*v, float(weight)]

    def _name(self, chosen: _Tried) -> None:
        scales, v = chosen.model.scales, chosen.model.v
        least = min(v)
        self.scales_ = list(scales)
        self.v_ = [number / least for number in v]
        self.lam_ = least / (2 * chosen.found.best_C)
