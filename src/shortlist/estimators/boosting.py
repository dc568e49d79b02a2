"""RankBoost and the P-Norm Push: a weak ranker a round, by the exponential risks of pairs and heights."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from shortlist.estimators._boosting import Booster, labelled_problem
from shortlist.estimators._docs import fill_doc
from shortlist.estimators._preferences import given_pairs, weighted, within_groups
from shortlist.estimators._problems import joined
from shortlist.estimators._validation import TrainingRows, check_choice, check_number, training_rows
from shortlist.features.landmarks import row_keys
from shortlist.risks.boosting import BoostingRisk, PreferenceRisk

Array = NDArray[Any]

__all__ = ["PNormPush", "RankBoost"]

SEVERAL = "; if the classes are ordered, pairs='classes' takes every pair of rows of different classes as a preference"


@fill_doc
class RankBoost(Booster):
    """RankBoost (Freund, Iyer, Schapire and Singer 2003): few pairs out of order, by exponential loss.

    Minimises ``mean over pairs (i above k) of exp(s_k - s_i)``, one weak ranker a round: the one with the largest edge,
    and the step that is best for it. Pairs are never formed: a round costs O(rows) whatever their number.

    Parameters
    ----------
    {boosting}
    pairs : None, 'classes', matrix of shape (n_rows, n_rows) or array of shape (n_pairs, 2), default=None
        None takes two labels. 'classes' takes two or more, in sorted order: of any two rows of a group the one with the
        larger label belongs above. A matrix (dense or sparse) holds in (i, k) the weight of "row i above row k"; an
        array or list holds the row numbers i, k. These refer to rows of the ``X`` that is given to fit, so they do not
        pass through cross-validation; y then only serves to learn where to cut and may be None.
    {boosting_tail}

    Attributes
    ----------
    {boosting_attributes}

    See Also
    --------
    PNormPush : Concentrates on the top of the list.
    RankSVM : The hinge in place of the exponential, with a penalty and a certificate over all weights.

    Notes
    -----
    Every pair counts once, so that a group with more pairs has more say. A group of rows of one class takes no part.
    One pair far out of order can rule the exponential loss: where labels are noisy take few rounds, or a
    ``validation``.

    References
    ----------
    Y. Freund, R. Iyer, R. Schapire, Y. Singer. An efficient boosting algorithm for combining preferences. JMLR 4, 2003.

    Examples
    --------
    >>> import numpy as np
    >>> from shortlist import RankBoost
    >>> X = np.array([[0.0, 3.0], [1.0, 0.0], [2.0, 2.0], [3.0, 1.0]])
    >>> model = RankBoost(n_estimators=10).fit(X, [0, 0, 1, 1])
    >>> sorted(model.rank(X)[:2].tolist()), model.rounds_["feature"][0], model.rounds_["threshold"][0]
    ([2, 3], np.int64(0), np.float64(1.5))
    >>> grades = RankBoost(pairs="classes", weak="linear").fit(X, [0, 1, 2, 3])
    >>> grades.rank(X)
    array([3, 2, 1, 0])
    """

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        weak: str = "stump",
        learning_rate: float = 1.0,
        pairs: Any = None,
        validation: Any = None,
        metric: Any = "average_precision",
        patience: int = 20,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.weak = weak
        self.learning_rate = learning_rate
        self.pairs = pairs
        self.validation = validation
        self.metric = metric
        self.patience = patience
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, *, groups: Any = None, sample_weight: Any = None) -> Self:
        """Run the rounds.

        Parameters
        ----------
        X : array, CSR or CSC matrix, or data frame of shape (n_rows, n_features)
            float32 stays float32, sparse stays sparse.
        y : array-like of shape (n_rows,)
            Two labels, the one that sorts last is the positive; with ``pairs='classes'`` two or more. With explicit
            ``pairs`` it may be None: then there is nothing to predict, only scores and ranks.
        groups : array-like of shape (n_rows,), optional
            A query id for each row, of any hashable kind and in any order. Rows compete only within their group. No
            explicit pair may join two groups.
        sample_weight : array-like of shape (n_rows,), optional
            Weight 2 equals the row twice, weight 0 equals the row removed; a pair weighs the product.

        Returns
        -------
        self
        """
        return self._fit_whole(X, y, groups, sample_weight)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if isinstance(self.pairs, str):
            check_choice("pairs", self.pairs, ("classes",))

    @property
    def _explicit(self) -> bool:
        return self.pairs is not None and not isinstance(self.pairs, str)

    def _rows(self, X: Any, y: Any, groups: Any, sample_weight: Any) -> TrainingRows:
        if self.pairs is None:
            return training_rows(self, X, y, groups, sample_weight, advice=SEVERAL)
        labelled = y is not None or not self._explicit
        return training_rows(self, X, y, groups, sample_weight, several=True, labelled=labelled)

    def _problem(self, rows: TrainingRows, weights: Array | None) -> tuple[Array, Array | None, BoostingRisk]:
        if not self._explicit:
            return labelled_problem(rows, weights, 1.0)
        better, worse, weight = weighted(within_groups(given_pairs(self.pairs, rows.X.shape[0]), rows.groups), weights)
        if not len(better):
            raise ValueError("there is nothing to rank: no preference joins two rows of positive weight")
        keys = row_keys(rows.X, 0)
        order = np.argsort(keys, kind="stable")
        chosen = order if weights is None else order[weights[order] > 0]
        named = joined(better, worse, weight, keys, chosen)
        return chosen, None if weights is None else weights[chosen], PreferenceRisk.of(*named, len(chosen))


@fill_doc
class PNormPush(Booster):
    """The P-Norm Push (Rudin 2009): negatives that stand high cost more than those lower down.

    Minimises ``mean over negatives j of (mean over positives i of exp(s_j - s_i))^p``, one weak ranker a round. p = 1
    is `RankBoost`; the larger p, the more the highest negatives decide, up to the exponential form of the Infinite
    Push.

    Parameters
    ----------
    p : float, default=4.0
        At least 1.
    {boosting}
    {boosting_tail}

    Attributes
    ----------
    {boosting_attributes}

    See Also
    --------
    RankBoost : p = 1, and graded labels and preferences.
    TopPush : The highest negative alone, with a penalty and a certificate over all weights.

    Notes
    -----
    The loss is the p-th root of that mean, divided by its value at equal scores. Of several groups a negative competes
    with the positives of its own, and the sum over them is taken, not their mean: p = 1 counts every pair once.

    References
    ----------
    C. Rudin. The P-Norm Push: a simple convex ranking algorithm that concentrates at the top of the list. JMLR 10,
    2009.

    Examples
    --------
    >>> import numpy as np
    >>> from shortlist import PNormPush
    >>> X = np.array([[0.0, 3.0], [1.0, 0.0], [2.0, 2.0], [1.5, 1.0]])
    >>> model = PNormPush(p=4, n_estimators=50).fit(X, [0, 0, 1, 1])
    >>> sorted(model.rank(X)[:2].tolist()), model.certificate_.value < 0.1
    ([2, 3], True)
    """

    def __init__(
        self,
        p: float = 4.0,
        n_estimators: int = 100,
        *,
        weak: str = "linear",
        learning_rate: float = 1.0,
        validation: Any = None,
        metric: Any = "average_precision",
        patience: int = 20,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.p = p
        self.n_estimators = n_estimators
        self.weak = weak
        self.learning_rate = learning_rate
        self.validation = validation
        self.metric = metric
        self.patience = patience
        self.random_state = random_state
        self.verbose = verbose

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("p", self.p, advice="1 is RankBoost, larger ones look at the top")
        if self.p < 1:
            raise ValueError(f"p must be at least 1, where the risk is convex, got {self.p!r}")

    def _problem(self, rows: TrainingRows, weights: Array | None) -> tuple[Array, Array | None, BoostingRisk]:
        return labelled_problem(rows, weights, float(self.p))
