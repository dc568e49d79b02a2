"""Rankers that weigh a mistake by where it stands in the list: OWPC, SVMpAUC and SVMMAP."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortlist.estimators._docs import fill_doc
from shortlist.estimators._listwise import ListObjective, ListwiseClassifier
from shortlist.estimators._ordered import minimise_pairs
from shortlist.estimators._validation import check_flag, check_number
from shortlist.risks.average_precision import AveragePrecisionRisk
from shortlist.risks.lists import Lists
from shortlist.risks.ordered_pairs import FAMILIES, OrderedPairsRisk
from shortlist.risks.partial_auc import PartialAUCRisk
from shortlist.solvers.bundle import PlaneSolution

Array = NDArray[Any]

__all__ = ["OWPC", "SVMMAP", "SVMpAUC"]

MOST_COPIES = 1e8


@fill_doc
class OWPC(ListwiseClassifier):
    """Ordered weighted pairwise classification: for every positive its worst negatives count most.

    Minimises ``1/2 ||w||^2 + C * mean_i sum_k alpha_k [1 - s_i + s_(k)]_+`` over the positives i, where s_(1), s_(2),
    ... are the scores of the negatives of i's group in descending order, and the weights alpha do not increase and sum
    to 1. From the mean over all pairs (RankSVM) to the worst negative alone (the Infinite Push), by one choice.

    Parameters
    ----------
    {C}
    weights : {'reciprocal', 'top', 'mean', 'max'} or array, default='reciprocal'
        'reciprocal': alpha_k in proportion to 1 / k. 'top': the k worst negatives alike. 'mean': all alike. 'max': the
        worst alone. Or the weights themselves by rank, the first for the worst negative; 0 beyond their end. Each group
        is normalised to a sum of 1.
    k : float, default=10
        Of 'top': how many negatives of a group, counted by weight; all where there are fewer.
    {kernel}
    {stopping}
    solver : {'auto', 'bundle'}, default='auto'
        'auto' begins with the bundle. Where that takes many steps for 'reciprocal' or given weights of one group, it
        goes on with smoothed risks of falling width.
    {tail}
    {random_state}

    Attributes
    ----------
    {attributes}
    {bound}
        Both are empty where the dual variables are the proof: after smoothing, and where one negative alone counts.

    See Also
    --------
    RankSVM : 'mean' with one group.
    InfinitePush : 'max'.
    TauFPL : One loss against the mean of the worst negatives, in place of the mean of their losses.
    SVMpAUC : 'top' by a share of the negatives in place of a count.

    Notes
    -----
    The threshold of `predict` is the cut of the training scores that gets most rows of the group right. A negative of
    weight v holds v ranks; positives weigh the mean.

    References
    ----------
    N. Usunier, D. Buffoni, P. Gallinari. Ranking with ordered weighted pairwise classification. ICML 2009.

    Examples
    --------
    >>> import numpy as np
    >>> from shortlist import OWPC
    >>> X = np.array([[3.0, 0.0], [2.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    >>> y = np.array([1, 1, 0, 0])
    >>> model = OWPC(C=10.0).fit(X, y)
    >>> model.certificate_.converged
    True
    >>> model.rank(X)[:2]
    array([0, 1])
    """

    def __init__(
        self,
        C: float = 1.0,
        weights: Any = "reciprocal",
        *,
        k: float = 10,
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
        self.weights = weights
        self.k = k
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

    def _minimise(self, X: Any, risk: Any, C: float, start: Array | None) -> PlaneSolution:
        smoothed = self.solver == "auto" and (not isinstance(self.weights, str) or self.weights == "reciprocal")
        return minimise_pairs(X, risk, C, start, smoothed=smoothed, **self._stopping())

    def _check_parameters(self) -> None:
        super()._check_parameters()
        _checked_weights(self.weights)
        check_number("k", self.k, advice="it is how many negatives weights='top' compares with")

    def _is_maximum(self, lists: Lists) -> bool:
        if isinstance(self.weights, str):
            most = {"max": 0.0, "top": float(self.k)}.get(self.weights, np.inf)
        else:
            most = float(np.count_nonzero(self.weights))
        return bool(most <= lists.negative_weights.min())

    def _objective(self) -> ListObjective:
        return ListObjective(float(self.C), "ordered_pairs", _checked_weights(self.weights), float(self.k))

    def _risk(self, problem: ListObjective) -> Any:
        return partial(OrderedPairsRisk.from_labels, weights=problem.weights, k=problem.k)


def _checked_weights(weights: Any) -> Any:
    """The name of a family, or weights by rank that can be minimised."""
    families = ", ".join(map(repr, FAMILIES))
    if isinstance(weights, str):
        if weights not in FAMILIES:
            raise ValueError(f"weights must be one of {families}, or an array of weights by rank, got {weights!r}")
        return weights
    try:
        alpha = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"weights must be one of {families}, or an array of weights by rank, got {weights!r}") from None
    if alpha.ndim != 1 or not len(alpha):
        raise ValueError(f"weights must hold one number for each rank, got an array of shape {alpha.shape}")
    if not np.isfinite(alpha).all() or alpha.min() < 0 or not alpha[0] > 0:
        raise ValueError("weights must be finite, not negative, and the first of them above 0")
    rising = np.flatnonzero(np.diff(alpha) > 0)
    if len(rising):
        k = int(rising[0])
        raise ValueError(
            f"weights must not increase, got {alpha[k + 1]:g} after {alpha[k]:g} at rank {k + 2}: the risk would not "
            "be convex, and no certificate would hold"
        )
    return alpha


@fill_doc
class SVMpAUC(ListwiseClassifier):
    """The partial AUC: positives against the negatives in a range of false-positive rates.

    Minimises a convex bound on the share of misranked pairs of a positive and a negative that stands, among the
    negatives of its group, between the ranks min_fpr * n and max_fpr * n. With min_fpr = 0 and ``tight`` that is
    ``1/2 ||w||^2 + C * mean of [1 - s_i + s_(k)]_+`` over the positives i and the ranks k up to max_fpr * n.

    Parameters
    ----------
    {C}
    min_fpr, max_fpr : float, default=0.0, 0.1
        The range, 0 <= min_fpr < max_fpr <= 1. Where it ends inside of a negative, that row takes part with the share
        of its weight that is inside.
    tight : bool, default=True
        Whether a positive pays for negatives above the range's end only. Without, for all that stand above it: the
        looser bound of the first of the two papers.
    {kernel}
    {stopping}
    {listwise_solver}
    {tail}
    {random_state}

    Attributes
    ----------
    {attributes}
    {bound}

    See Also
    --------
    TauFPL : One loss against the mean of the worst share of the negatives.
    OWPC : Weights of any kind on the ranks.
    shortlist.metrics.partial_auc : The measure itself.

    Notes
    -----
    The threshold of `predict` is the cut of the training scores that gets most rows of the group right. Several groups
    count by the weight of their positives.

    The papers divide the loss by m n (max_fpr - min_fpr) and the features by m n; a problem stated so with a C of its
    own is this one at C times (max_fpr - min_fpr)^2.

    References
    ----------
    H. Narasimhan, S. Agarwal. A structural SVM based approach for optimizing partial AUC. ICML 2013.
    H. Narasimhan, S. Agarwal. SVMpAUC-tight: a new support vector method for optimizing partial AUC based on a tight
    convex upper bound. KDD 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from shortlist import SVMpAUC
    >>> X = np.array([[3.0, 0.0], [2.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    >>> y = np.array([1, 1, 0, 0])
    >>> model = SVMpAUC(C=10.0, max_fpr=0.5).fit(X, y)
    >>> model.certificate_.converged
    True
    >>> model.rank(X)[:2]
    array([0, 1])
    """

    def __init__(
        self,
        C: float = 1.0,
        *,
        min_fpr: float = 0.0,
        max_fpr: float = 0.1,
        tight: bool = True,
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
        self.min_fpr = min_fpr
        self.max_fpr = max_fpr
        self.tight = tight
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
        check_number("min_fpr", self.min_fpr, zero=True, at_most=1.0)
        check_number("max_fpr", self.max_fpr, at_most=1.0)
        if not self.min_fpr < self.max_fpr:
            raise ValueError(f"min_fpr must be below max_fpr, got {self.min_fpr!r} and {self.max_fpr!r}")
        check_flag("tight", self.tight)

    def _is_maximum(self, lists: Lists) -> bool:
        if not self.tight or self.min_fpr > 0:
            return False
        least, total = (of.reduceat(lists.negative_weights, lists.negative_starts[:-1]) for of in (np.minimum, np.add))
        return bool(np.all(self.max_fpr * total <= least * (1 + 1e-12)))

    def _objective(self) -> ListObjective:
        return ListObjective(
            float(self.C),
            "partial_auc",
            min_fpr=float(self.min_fpr),
            max_fpr=float(self.max_fpr),
            tight=bool(self.tight),
        )

    def _risk(self, problem: ListObjective) -> Any:
        return partial(
            PartialAUCRisk.from_labels, min_fpr=problem.min_fpr, max_fpr=problem.max_fpr, tight=problem.tight
        )


@fill_doc
class SVMMAP(ListwiseClassifier):
    """Average precision by structural SVM: the mean over the groups where there are several.

    Minimises ``1/2 ||w||^2 + C * risk``, the risk being the mean over the groups of the largest, over all orders of the
    group's rows, of ``1 - AP(order) - 2 / (m n) * sum of s_i - s_j`` over the pairs of a positive i and a negative j
    that the order puts above it: a convex bound of 1 - average precision. The worst order is found exactly in
    O(n log n).

    Parameters
    ----------
    {C}
    {kernel}
    {stopping}
    {listwise_solver}
    {tail}
    {random_state}

    Attributes
    ----------
    {attributes}
    {bound}

    See Also
    --------
    OWPC : Ordered weights in place of precisions; any weights of rows.
    TauFPL : Positives against the best share of the negatives.
    shortlist.metrics.average_precision : The measure itself.

    Notes
    -----
    The threshold of `predict` is the cut of the training scores that gets most rows of the group right.

    ``sample_weight`` has to hold whole numbers: the precision at a positive counts the rows above it, so that a row
    takes part a whole number of times.

    C is the paper's: its sum over queries carries C / (number of queries).

    References
    ----------
    Y. Yue, T. Finley, F. Radlinski, T. Joachims. A support vector method for optimizing average precision. SIGIR 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from shortlist import SVMMAP
    >>> X = np.array([[3.0, 0.0], [2.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    >>> y = np.array([1, 1, 0, 0])
    >>> model = SVMMAP(C=10.0).fit(X, y)
    >>> model.certificate_.converged
    True
    >>> model.rank(X)[:2]
    array([0, 1])
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

    def _fit(self, X: Any, y: Any, groups: Any, sample_weight: Any) -> list[Warning]:
        _refuse_parts(sample_weight)
        return super()._fit(X, y, groups, sample_weight)

    def _objective(self) -> ListObjective:
        return ListObjective(float(self.C), "average_precision")

    def _risk(self, problem: ListObjective) -> Any:
        return AveragePrecisionRisk.from_labels


def _refuse_parts(sample_weight: Any) -> None:
    """Weights that are not whole numbers; whatever else is wrong with them is found with the other rows."""
    weights = np.asarray(0.0 if sample_weight is None else sample_weight)
    if weights.ndim != 1 or weights.dtype.kind not in "fiu" or not np.isfinite(weights).all():
        return
    broken = np.flatnonzero(weights != np.round(weights))
    if len(broken):
        raise ValueError(
            f"sample_weight must hold whole numbers for SVMMAP, got {weights[broken[0]]:g} in row {broken[0]}: the "
            "precision counts rows, so a row takes part a whole number of times. Round the weights, or take OWPC, "
            "whose weights may be any"
        )
    if weights.sum() > MOST_COPIES:
        raise ValueError(
            f"sample_weight sums to {weights.sum():.3g} and SVMMAP counts as many rows: at most {MOST_COPIES:.0e} have "
            "room. Divide the weights by what they have in common, or take OWPC, whose weights may be any"
        )
