"""ExactRanker: the linear score that really maximises a rank statistic, with a bound on what any other could reach."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from shortlist.estimators._cuts import best_cuts
from shortlist.estimators._docs import fill_doc
from shortlist.estimators._problems import preference_problem, statistic_problem
from shortlist.estimators._ranking import RankingClassifier
from shortlist.estimators._search import METHODS, Limits, Reporter, search
from shortlist.estimators._validation import (
    TrainingRows,
    check_choice,
    check_count,
    check_flag,
    check_magnitude,
    check_number,
    prediction_rows,
    training_rows,
)
from shortlist.exceptions import DegenerateOptimumWarning, NotProvenWarning
from shortlist.features.landmarks import seed_of
from shortlist.solvers.exact import compiled
from shortlist.solvers.exact.outcome import Callback, ExactCertificate, ExactSolution
from shortlist.solvers.exact.problem import ExactProblem
from shortlist.statistics import rank_weights

Array = NDArray[Any]

__all__ = ["ExactRanker"]

NUMBA = "pip install 'shortlist[exact]' installs Numba, which makes the search many times faster and its bound stronger"
SEVERAL = "; if the classes are ordered, pairs='classes' takes every pair of rows of different classes as a preference"


@fill_doc
class ExactRanker(RankingClassifier):
    """Maximise a rank statistic itself, not a convex stand-in, and prove how far the answer can be off.

    Maximises ``sum over the positives i of a[1 + rank_i(w)] - l0 * ||w||_0`` over all weights w with largest entry 1,
    where rank_i counts the rows that row i beats by at least ``margin``: the discounted cumulative gain (DCG), the
    AUC, the reciprocal rank or any other statistic with weights that do not decrease towards the top. The ascent finds
    an answer; branch and bound, or a mixed-integer program, proves it, or says how much a better one could earn.

    Parameters
    ----------
    statistic : str, RankWeights or array of shape (n_rows,), default='dcg'
        'dcg', 'auc' (or 'wrs', the same order), 'winner_takes_all', 'reciprocal_rank'; an object of
        `shortlist.statistics` such as ``DCG(top=10)`` or ``PartialAUC(top=50)``; or weights a_1 <= ... <= a_n. With
        groups it is summed over the groups.
    l0 : float, default=0.0
        Price of a coefficient that is not zero, in units of the statistic.
    margin : float, default=1e-4
        A row beats another when its score is larger by at least this; the largest coefficient is 1 in size. It has to
        be small against differences of the features: scale them to [0, 1].
    method : {'auto', 'branch_and_bound', 'mip', 'ascent'}, default='auto'
        How to prove. 'auto' is branch and bound; 'mip' is the paper's mixed-integer program, solved by HiGHS, for
        comparison; 'ascent' proves nothing and is fast.
    formulation : {'subrank', 'resolved'}, default='subrank'
        What equal scores earn. 'subrank': rows of equal score share the lower rank. 'resolved': the positives stand in
        a strict order, whatever their scores, below the negatives that they do not beat. The two differ only where
        positives lie within the margin of one another.
    pairs : None, 'classes', matrix of shape (n_rows, n_rows) or array of shape (n_pairs, 2), default=None
        Preferences in place of the statistic: the objective is then the weight of the preferences that are met by the
        margin. A matrix (dense or sparse) holds in (i, k) the weight of "row i above row k"; an array or list holds
        the row numbers i, k. These refer to rows of the ``X`` that is given to fit, so they do not pass through
        cross-validation; y then only serves to learn where to cut and may be None. 'classes' takes the classes in
        sorted order, two or more: of any two rows of a group the one with the larger label should be above.
    time_limit : float or None, default=60.0
        Seconds. None is no limit.
    max_nodes : int or None, default=None
        Boxes that branch and bound looks at. Unlike seconds, a limit that gives the same answer on every machine.
    gap_tol : float, default=0.0
        Relative gap at which the search may stop.
    n_starts : int or None, default=None
        Climbs of the ascent: 20 by default; before branch and bound, which climbs on its own, none unless asked for or
        the pairs of rows are many.
    max_memory : float, default=1e9
        Bytes for the boxes that wait; as many for the pairs of rows, and for the dense copy of sparse rows. Where the
        pairs take more there is a climb, but no proof.
    n_jobs : int or None, default=None
        Threads of branch and bound, all cores by default (as with -1). The answer does not depend on it.
    big_m : {'printed', 'tight'}, default='tight'
        The constant of the mixed-integer program's indicator constraints: the paper's 1 + margin, which cuts off
        answers where features differ by more than 1 (the docs show how), or the smallest that the data allow.
    start : array of shape (n_features,) or (n_starts, n_features), optional
        Weights to start from as well, such as those of another model.
    callback : callable, optional
        Called with each `Progress` (seconds, value, bound, nodes, note); a true answer ends the search, which keeps
        what it has.
    warm_start : bool, default=False
        Start also from the last fit's weights where their number allows.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the ascent.
    verbose : int, default=0
        1 logs a line of progress a second at level INFO to the logger ``shortlist``, 2 every step.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features)
        The largest is 1 in size. Single precision for single-precision rows; the search is in double precision.
    intercept_ : ndarray of shape (1,)
        Minus the highest of ``cuts_``.
    cuts_ : ndarray of shape (n_classes - 1,)
        Ascending scores at which ``predict`` passes from one class to the next: those that get most training rows
        right, among equals the highest. With few positives that can be "none".
    certificate_ : ExactCertificate
        ``value`` of the coefficients, proven ``bound``, ``gap``, ``relative_gap``, ``proven``, ``nodes``, ``seconds``,
        ``method``, and the ``trivial_bound`` that needs no search.
    trace_ : dict of arrays
        The search as it went: 'seconds', 'value' of the best answer, 'bound', 'nodes'; a data frame's worth.
    classes_ : ndarray
        The last is the positive: it belongs at the top. Absent where there were no labels.
    n_features_in_ : int
        Columns of X in fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, where X was a frame with string names.

    See Also
    --------
    Reranker : The exact search on the rows that another model puts on top: how larger data are served.
    TopPush : A convex stand-in for data of any size.

    Notes
    -----
    The search is exponential in the number of features at worst. Up to five features and a few hundred rows it
    usually ends with a proof within seconds; beyond eight features expect a good answer with a bound that says little.
    Numba, the extra ``exact`` (``pip install 'shortlist[exact]'``), makes the search many times faster and its bound
    stronger; without it all works, and the limits are met sooner. Where they end the search before the gap meets
    ``gap_tol``, fit gives a `NotProvenWarning`; an interruption from the keyboard ends the search likewise and keeps
    its answer; a second one breaks fit off.

    ``sample_weight`` has to hold whole numbers, for a rank is a count of rows; with ``pairs`` any numbers, and a pair
    weighs its weight times those of its two rows.

    References
    ----------
    C. Rudin, Y. Wang. Direct learning to rank and rerank. AISTATS 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from shortlist import ExactRanker
    >>> X = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.5], [0.1, 0.2], [0.5, 0.9]])
    >>> y = np.array([1, 0, 1, 0, 0])
    >>> model = ExactRanker("dcg", random_state=0).fit(X, y)
    >>> model.certificate_.proven
    True
    >>> model.rank(X)[:2]
    array([0, 2])
    """

    def __init__(
        self,
        statistic: Any = "dcg",
        *,
        l0: float = 0.0,
        margin: float = 1e-4,
        method: str = "auto",
        formulation: str = "subrank",
        pairs: Any = None,
        time_limit: float | None = 60.0,
        max_nodes: int | None = None,
        gap_tol: float = 0.0,
        n_starts: int | None = None,
        max_memory: float = 1e9,
        n_jobs: int | None = None,
        big_m: str = "tight",
        start: Any = None,
        callback: Callback | None = None,
        warm_start: bool = False,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.statistic = statistic
        self.l0 = l0
        self.margin = margin
        self.method = method
        self.formulation = formulation
        self.pairs = pairs
        self.time_limit = time_limit
        self.max_nodes = max_nodes
        self.gap_tol = gap_tol
        self.n_starts = n_starts
        self.max_memory = max_memory
        self.n_jobs = n_jobs
        self.big_m = big_m
        self.start = start
        self.callback = callback
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, *, groups: Any = None, sample_weight: Any = None) -> Self:
        """Search for the best weights, and for a proof.

        Parameters
        ----------
        X : array, CSR or CSC matrix, or data frame of shape (n_rows, n_features)
            float32 gives float32 coefficients. Sparse rows are made dense.
        y : array-like of shape (n_rows,)
            Two labels, the one that sorts last is the positive; with ``pairs='classes'`` two or more. With explicit
            ``pairs`` it may be None: then there is nothing to predict, only scores and ranks.
        groups : array-like of shape (n_rows,), optional
            A query id for each row, of any hashable kind and in any order. Rows compete only within their
            group; a group of rows of one class takes no part. No explicit pair may join two groups.
        sample_weight : array-like of shape (n_rows,), optional
            Weight 2 equals the row twice, weight 0 equals the row removed; whole numbers, unless there are ``pairs``.

        Returns
        -------
        self
        """
        return self._fit_whole(X, y, groups, sample_weight)

    def _fit(self, X: Any, y: Any, groups: Any, sample_weight: Any) -> list[Warning]:
        self._check_parameters()
        rows = self._rows(X, y, groups, sample_weight)
        check_magnitude(rows.X)
        problem: ExactProblem
        common = {"margin": float(self.margin), "l0": float(self.l0), "max_memory": float(self.max_memory)}
        if self.pairs is None:
            chosen, problem = statistic_problem(rows, self.statistic, self.formulation, **common)
        else:
            chosen, problem = preference_problem(rows, self.pairs, **common)
        limits = Limits(
            n_starts=self.n_starts,
            time_limit=self.time_limit,
            max_nodes=self.max_nodes,
            gap_tol=float(self.gap_tol),
            max_memory=float(self.max_memory),
            n_jobs=None if self.n_jobs == -1 else self.n_jobs,
            big_m="printed" if self.big_m == "printed" else "tight",
            seed=seed_of(self.random_state) % 2**32,
        )
        report = Reporter(type(self).__name__, self.verbose, self.callback)
        solution = search(problem, self.method, limits, self._starts(rows.X.shape[1]), report)
        self._keep(solution, problem, rows, chosen)
        return self._complaints(solution, report, problem.floor)

    def _check_parameters(self) -> None:
        try:
            rank_weights(self.statistic)
        except (TypeError, ValueError) as error:
            raise type(error)(f"statistic: {error}") from None
        check_number("l0", self.l0, zero=True, advice="it is the price of a coefficient that is not zero")
        check_number("margin", self.margin, advice="it is the least difference of scores that counts; 1e-4 is a start")
        check_choice("method", self.method, METHODS)
        check_choice("formulation", self.formulation, ("subrank", "resolved"))
        check_choice("big_m", self.big_m, ("printed", "tight"))
        if self.time_limit is not None:
            check_number("time_limit", self.time_limit, advice="it is in seconds; None is no limit")
        if self.max_nodes is not None:
            check_count("max_nodes", self.max_nodes)
        check_number("gap_tol", self.gap_tol, zero=True, advice="it is a relative gap")
        if self.n_starts is not None:
            check_count("n_starts", self.n_starts)
        check_number("max_memory", self.max_memory, advice="it is in bytes")
        if self.n_jobs is not None and self.n_jobs != -1:
            check_count("n_jobs", self.n_jobs)
        if self.callback is not None and not callable(self.callback):
            raise TypeError(f"callback must be callable with a Progress, got {self.callback!r}")
        if isinstance(self.pairs, str):
            check_choice("pairs", self.pairs, ("classes",))
        check_flag("warm_start", self.warm_start)
        check_count("verbose", self.verbose, least=0)

    def _rows(self, X: Any, y: Any, groups: Any, sample_weight: Any) -> TrainingRows:
        if self.pairs is None:
            return training_rows(self, X, y, groups, sample_weight, advice=SEVERAL)
        labelled = y is not None or isinstance(self.pairs, str)
        return training_rows(self, X, y, groups, sample_weight, several=True, labelled=labelled)

    def _starts(self, d: int) -> list[Array]:
        starts: list[Array] = []
        if self.start is not None:
            wanted = f"start must hold {d} finite weights, or rows of them"
            try:
                given = np.atleast_2d(np.asarray(self.start, dtype=np.float64))
            except (TypeError, ValueError) as error:
                raise type(error)(f"{wanted}, got {self.start!r}") from None
            if given.ndim != 2 or given.shape[1] != d or not np.isfinite(given).all():
                raise ValueError(f"{wanted}, got the shape {given.shape}, or NaN or infinity in it")
            starts.extend(given)
        else:
            starts.extend(hint for hint in getattr(self, "_hints", ()) if hint.shape == (d,))
        last = getattr(self, "_last", None) if self.warm_start else None
        if last is not None and last.shape == (d,):
            starts.append(last)
        return starts

    def _keep(self, solution: ExactSolution, problem: ExactProblem, rows: TrainingRows, chosen: Array) -> None:
        coef = solution.coef.astype(rows.X.dtype)
        w, certificate = coef.astype(np.float64), solution.certificate
        if coef.dtype != solution.coef.dtype:  # the certificate speaks of the coefficients as they are kept
            certificate = ExactCertificate.of(
                problem.value(w),
                certificate.bound,
                nodes=certificate.nodes,
                seconds=certificate.seconds,
                method=certificate.method,
                trivial_bound=certificate.trivial_bound,
            )
        self.coef_ = coef[np.newaxis, :]
        self.cuts_ = np.empty(0)
        if rows.labels is not None:
            weights = None if rows.weights is None or self.pairs is None else rows.weights[chosen]
            present = slice(None) if weights is None else weights > 0
            self.classes_ = rows.classes
            self.cuts_ = best_cuts(
                (problem.X @ w)[present],
                rows.labels[chosen][present],
                len(rows.classes),
                None if weights is None else weights[present],
            )
            if not w.any():
                self.cuts_ = np.zeros(len(rows.classes) - 1)
        self.intercept_ = np.array([-self.cuts_[-1] if len(self.cuts_) else 0.0], dtype=coef.dtype)
        self.certificate_ = certificate
        self.trace_ = {
            name: np.array([getattr(step, name) for step in solution.trace])
            for name in ("seconds", "value", "bound", "nodes")
        }
        self._last = solution.coef if self.warm_start else None

    def _complaints(self, solution: ExactSolution, report: Reporter, floor: float) -> list[Warning]:
        complaints: list[Warning] = []
        name, certificate = type(self).__name__, self.certificate_
        wanted = self.method != "ascent" and not certificate.proven
        if wanted and certificate.relative_gap > self.gap_tol:
            searched = self.method in ("auto", "branch_and_bound")
            faster = f". {NUMBA}" if searched and not compiled.available() else ""
            complaints.append(
                NotProvenWarning(
                    f"{name} {self._ended(solution, report)} with the value {certificate.value:.6g}, no answer is "
                    f"better than {certificate.bound:.6g}: a gap of {100 * certificate.relative_gap:.3g} %, and "
                    f"{100 * self.gap_tol:g} % was asked for (the bound without a search is "
                    f"{certificate.trivial_bound:.6g}). Raise time_limit or max_nodes, rank fewer rows or features, or "
                    f"accept a larger gap_tol; method='ascent' asks for no proof{faster}"
                )
            )
        slack = ExactCertificate.ROUNDING * max(1.0, abs(floor))
        if not self.coef_.any() or certificate.value <= floor + slack:
            what = "earns no more than w = 0 does" if self.coef_.any() else "ranks nothing"
            known = "w = 0 is the best answer" if certificate.proven else "nothing better than w = 0 was found"
            complaints.append(
                DegenerateOptimumWarning(
                    f"{name} {what}: {known}. No coefficient is worth the price l0={self.l0:g}, or no scores that "
                    f"matter can differ by the margin {self.margin:g}: lower them, or scale the features to [0, 1]"
                    + ("" if certificate.proven else "; or give the search more time")
                )
            )
        return complaints

    def _ended(self, solution: ExactSolution, report: Reporter) -> str:
        """How the search came to its end, where that is known."""
        certificate, note = solution.certificate, solution.trace[-1].note
        if report.stopped:
            return "was stopped"
        if note.startswith("no proof"):
            return f"ended ({note})"
        if self.method != "mip" and self.max_nodes is not None and certificate.nodes >= self.max_nodes:
            return f"ended at max_nodes={self.max_nodes}"
        if self.time_limit is not None and certificate.seconds >= self.time_limit:
            return f"ended at time_limit={self.time_limit:g}"
        return f"ended ({note})" if note != "end" else "ended"

    def decision_function(self, X: Any) -> Array:
        """Score of each row, less the highest cut: above 0 where the row counts as of the last class.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        check_is_fitted(self)
        return np.asarray(prediction_rows(self, X) @ self.coef_[0] + self.intercept_[0])

    def predict(self, X: Any) -> Array:
        """Label of each row: the positive one where the score beats the cut; of several classes, by all cuts.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        scores = self.decision_function(X)
        if not hasattr(self, "classes_"):
            raise ValueError("there are no labels to predict: fit was given pairs alone; use rank or decision_function")
        steps = self.cuts_ - self.cuts_[-1]
        return np.asarray(self.classes_[(scores[:, np.newaxis] > steps).sum(axis=1)])

