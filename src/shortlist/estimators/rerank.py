"""Reranker: any model orders the rows, a second one orders those at the top again."""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone, is_regressor
from sklearn.model_selection import GroupKFold, check_cv
from sklearn.utils import _safe_indexing as take_rows
from sklearn.utils import get_tags, indexable
from sklearn.utils.validation import check_is_fitted, validate_data

from shortlist.estimators._blend import Blend, cut_at
from shortlist.estimators._ranking import RankingClassifier, ranked
from shortlist.estimators._responses import RESPONSES, fit_arguments, scores_of
from shortlist.estimators._validation import check_count, check_flag, class_labels, encode_groups, row_weights
from shortlist.estimators.exact import ExactRanker
from shortlist.exceptions import NothingToRerankWarning

Array = NDArray[Any]

__all__ = ["Reranker"]


class Reranker(RankingClassifier):
    """Let any model rank the rows, and a second one, as a rule an `ExactRanker`, those at the top again.

    The second model is fitted on the ``top`` training rows alone: a few hundred rows, for which the exact search is
    fast, and the only ones that will be acted on. A new row whose base score reaches that of the last of them is
    scored by the second model and stands above all others; below, the base's order stays.

    Parameters
    ----------
    base : estimator
        Any scikit-learn classifier or regressor with ``decision_function``, ``predict_proba`` or ``predict``. A fitted
        one that is to stay as it is goes into ``sklearn.frozen.FrozenEstimator``. A regressor is fitted to 0 and 1.
    reranker : estimator, default=None
        The second model, of the same kinds; None is ``ExactRanker()``. Give ``ExactRanker()`` to search over its
        parameters, ``reranker__l0`` and the like.
    top : int or float, default=100
        How many rows are ranked again: a number of at least 1, or a share of the rows up to 1.0. Rows that tie with the
        last one are taken too. With groups it holds for each.
    cv : None, int, splitter or iterable, default=None
        How the training rows are scored to find the top. None: by the base that has seen them, as in the paper.
        Otherwise each by a base that has not: for bases that learn their training rows by heart, such as boosting,
        whose top would hold positives only.
    add_score : bool, default=False
        Give the second model the base's score as a further feature, the last. A linear second model can then repeat
        the base's order, whatever the base; without, only if the base is linear.

    Attributes
    ----------
    base_ : estimator
        The fitted base.
    reranker_ : estimator or None
        The fitted second model; None if the top held rows of one class only.
    cut_ : float
        Base score from which rows are ranked again.
    group_cuts_ : dict or None
        With groups: the same for each group of the training rows.
    n_top_ : int
        Training rows that the second model was given.
    classes_ : ndarray of shape (2,)
        ``classes_[1]``, the label that sorts last, is the positive: it belongs at the top.
    n_features_in_ : int
        Columns of X in fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, where X was a frame with string names.

    See Also
    --------
    ExactRanker : The second model on its own, for small data.

    Notes
    -----
    ``predict`` follows the base below the cut. Above, all rows are positive if the base calls the last of the top
    positive, else the second model decides.

    The joint score of a row depends on that row alone. With groups, ``rank(X, groups)`` and
    ``decision_function(X, groups)`` of a model that was fitted with groups take the ``top`` rows of each group that
    they are given, as they were taken in training; without groups there is one cut, at which as many training rows are
    ranked again as in all groups together.

    If the top holds rows of one class, nothing can be learned from it: the base's order stays, and fit gives a
    `NothingToRerankWarning`. A larger ``top`` helps, or ``cv``.

    A default `ExactRanker` may search for a minute: in a search over parameters give it a smaller ``time_limit``.

    An `ExactRanker` that has no ``start`` begins at the weights of a linear base, and at its score where that is given:
    so on its training rows it is not worse than the base by its own measure.

    References
    ----------
    C. Rudin, Y. Wang. Direct learning to rank and rerank. AISTATS 2018.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from shortlist import ExactRanker, Reranker
    >>> from shortlist.datasets import make_gaussians
    >>> X, y = make_gaussians(random_state=2)
    >>> model = Reranker(LogisticRegression(), ExactRanker(random_state=0), top=50).fit(X, y)
    >>> model.n_top_, model.rank(X).shape
    (50, (1250,))
    """

    def __init__(
        self, base: Any, reranker: Any = None, top: Any = 100, *, cv: Any = None, add_score: bool = False
    ) -> None:
        self.base = base
        self.reranker = reranker
        self.top = top
        self.cv = cv
        self.add_score = add_score

    def _fit(self, X: Any, y: Any, groups: Any, sample_weight: Any) -> list[Warning]:
        self._check_parameters()
        y = validate_data(self, y=y)
        validate_data(self, X, skip_check_array=True)
        X, y = indexable(X, y)
        n_rows = len(y)
        if n_rows == 0:
            raise ValueError("found 0 samples, but at least one row of each class is needed")
        given = row_weights(sample_weight, n_rows)
        weights = np.ones(n_rows) if given is None else given
        self.classes_, labels = class_labels(y, given)
        codes = np.zeros(n_rows, dtype=np.intp) if groups is None else encode_groups(groups, n_rows)[0]
        present = _competing(codes, labels, weights)

        def fitted(model: Any, data: Any, rows: Array) -> Any:
            own = None if groups is None else codes[rows]
            target = labels[rows].astype(np.float64) if is_regressor(model) else y[rows]
            arguments = fit_arguments(model, own, None if given is None else weights[rows])
            return model.fit(data, target, **arguments)

        self.base_ = fitted(clone(self.base), take_rows(X, present), present)
        self._check_classes()
        if self.cv is None:
            scores = np.zeros(n_rows)
            found = scores_of(self.base_, take_rows(X, present), self.classes_[1])
            scores = scores.astype(found.dtype)
            scores[present] = found
        else:
            scores = self._unseen(X, y, labels, None if groups is None else codes, present, fitted)
        cuts = self._find_cuts(scores[present], codes[present], weights[present])
        self.group_cuts_ = None
        if groups is not None:
            ids = encode_groups(groups, n_rows)[1]
            self.group_cuts_ = {ids[code]: cut for code, cut in cuts.items()}
        row_cuts = np.array([cuts[code] for code in codes[present]])
        is_top = scores[present] >= row_cuts
        rows = present[is_top]
        self.cut_ = cut_at(scores[present], weights[present], float(weights[rows].sum()))
        self.n_top_ = len(rows)
        self.reranker_ = None
        if not _has_rivals(codes[rows], labels[rows]):
            return [self._nothing(labels[rows])]
        top_scores, top_cuts = scores[rows].astype(np.float64), row_cuts[is_top]
        above = top_scores - top_cuts
        tied = np.ptp(above) <= 1e-12 * np.abs(scores[present]).max()
        self._spread = 1.0 if tied else float(above.max())
        data = self._features(take_rows(X, rows), top_scores, top_cuts)
        second = ExactRanker() if self.reranker is None else clone(self.reranker)
        if isinstance(second, ExactRanker):
            second._hints = self._starts(X)
        self.reranker_ = fitted(second, data, rows)
        seconds = scores_of(self.reranker_, data, self.classes_[1]).astype(np.float64)
        self._blend = Blend.of(scores[present].astype(np.float64), seconds)
        return []

    def _check_parameters(self) -> None:
        for name, model in (("base", self.base), ("reranker", self.reranker)):
            if not hasattr(model, "fit") and not (name == "reranker" and model is None):
                raise TypeError(f"{name} must be an estimator with a method fit, got {model!r}")
            if model is not None and not any(hasattr(model, method) for method in RESPONSES):
                raise TypeError(f"{name} must have one of {', '.join(RESPONSES)}, but {model!r} has none of them")
        if isinstance(self.top, numbers.Integral) or not isinstance(self.top, numbers.Real):
            check_count("top", self.top)
        elif not 0 < float(self.top) <= 1:
            raise ValueError(f"top must be a number of rows, or a share of them up to 1.0, got {self.top!r}")
        check_flag("add_score", self.add_score)

    def _check_classes(self) -> None:
        known = getattr(self.base_, "classes_", None)
        if known is not None and set(known) != set(self.classes_):
            raise ValueError(
                f"the base knows the labels {list(known)}, but y holds {list(self.classes_)}; fit it on the same labels"
            )

    def _unseen(self, X: Any, y: Array, labels: Array, codes: Array | None, present: Array, fitted: Any) -> Array:
        """Scores of rows by bases that have not seen them."""
        cv = GroupKFold(self.cv) if codes is not None and isinstance(self.cv, numbers.Integral) else self.cv
        splitter = check_cv(cv, y, classifier=True)
        scores = np.full(len(y), np.nan)
        for train, test in splitter.split(np.zeros(len(y)), labels, codes):
            train, test = np.intersect1d(train, present), np.intersect1d(test, present)
            if len(test):
                model = fitted(clone(self.base), take_rows(X, train), train)
                scores[test] = scores_of(model, take_rows(X, test), self.classes_[1])
        if np.isnan(scores[present]).any():
            row = int(present[np.argmax(np.isnan(scores[present]))])
            raise ValueError(f"cv leaves row {row} out of every test part; each row has to be in one")
        return scores

    def _find_cuts(self, scores: Array, codes: Array, weights: Array) -> dict[int, float]:
        """The cut of each list."""
        cuts = {}
        for code in np.unique(codes):
            own = codes == code
            total = float(weights[own].sum())
            wanted = self.top if isinstance(self.top, numbers.Integral) else math.ceil(self.top * total * (1 - 1e-12))
            cuts[int(code)] = cut_at(scores[own], weights[own], min(float(wanted), total))
        return cuts

    def _nothing(self, labels: Array) -> Warning:
        share = "positives" if labels.all() else "negatives" if not labels.any() else "rows of one class in each group"
        return NothingToRerankWarning(
            f"the {len(labels)} rows that the base puts on top are all {share}, so nothing can be learned from them: "
            "the base's order is kept. A larger top, or cv=5, which scores rows by a base that has not seen them, may "
            "bring in both classes"
        )

    def _features(self, X: Any, scores: Array, cuts: Array) -> Any:
        """What the second model sees."""
        if not self.add_score:
            return X
        # Scores that differ by the order of their sums alone are one score, or an exact search would start elsewhere.
        column = np.round((scores - cuts) / self._spread, 12)
        if hasattr(X, "tocsr"):
            parts: list[Any] = [X.tocsr(), sparse.csr_array(column[:, np.newaxis])]
            return sparse.csr_array(sparse.hstack(parts))
        if hasattr(X, "iloc"):
            frame = X.copy()
            frame[_new_name(list(X.columns))] = column
            return frame
        if hasattr(X, "hstack") and hasattr(X, "to_series"):  # polars
            return X.hstack([type(X.to_series(0))(_new_name(list(X.columns)), column)])
        return np.column_stack([np.asarray(X), column])

    def _starts(self, X: Any) -> list[Array]:
        """Where an exact search begins: at what ranks as the base does."""
        width = self.n_features_in_
        starts = []
        coef = getattr(self.base_, "coef_", None)
        if coef is not None and np.shape(coef) in ((1, width), (width,)):
            starts.append(np.append(np.ravel(coef).astype(np.float64), [0.0] * self.add_score))
        if self.add_score:
            starts.append(np.append(np.zeros(width), 1.0))
        return starts

    def decision_function(self, X: Any, groups: Any = None) -> Array:
        """The joint score of each row: above 0 where the row counts as positive.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_rows, n_features)
        groups : array-like of shape (n_rows,), optional
            Take the top of each group instead of the rows above one cut; for a model that was fitted with groups.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        check_is_fitted(self)
        if groups is not None and self.group_cuts_ is None:
            raise ValueError(
                "this model was fitted without groups and has one cut for all rows; fit it with groups, or leave them "
                "out here (rank lists the rows by group all the same)"
            )
        validate_data(self, X, reset=False, skip_check_array=True, ensure_2d=False)  # the base checks the width
        (X,) = indexable(X)
        scores = scores_of(self.base_, X, self.classes_[1])
        if self.reranker_ is None:
            return scores
        cuts = np.full(len(scores), self.cut_)
        if groups is not None:
            codes, _ = encode_groups(groups, len(scores))
            found = self._find_cuts(scores, codes, np.ones(len(scores)))
            cuts = np.array([found[code] for code in codes])
        is_top = scores >= cuts
        if not is_top.any():
            return scores
        scores = scores.astype(np.float64)
        data = self._features(take_rows(X, np.flatnonzero(is_top)), scores[is_top], cuts[is_top])
        seconds = scores_of(self.reranker_, data, self.classes_[1])
        return self._blend(scores, is_top, seconds.astype(np.float64), cuts)

    def rank(self, X: Any, groups: Any = None) -> Array:
        """Row numbers, best first.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_rows, n_features)
        groups : array-like of shape (n_rows,), optional
            With groups the rows of the group that appears first come first, best first; then the next
            group's. If the model was fitted with groups the top of each is ranked again.

        Returns
        -------
        ndarray of int of shape (n_rows,)
            Rows with equal scores keep their order.
        """
        check_is_fitted(self)
        return ranked(self.decision_function(X, groups if self.group_cuts_ is not None else None), groups)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        parts = [get_tags(model).input_tags for model in (self.base, self.reranker) if hasattr(model, "fit")]
        tags.input_tags.sparse = all(part.sparse for part in parts)
        tags.input_tags.allow_nan = len(parts) == 2 and all(part.allow_nan for part in parts)
        return tags


def _new_name(names: list[Any]) -> Any:
    """Of a further column, of the kind of the others."""
    if not all(isinstance(name, str) for name in names):
        return 1 + max((name for name in names if isinstance(name, int)), default=len(names))
    name = "base_score"
    while name in names:
        name += "_"
    return name


def _has_rivals(codes: Array, labels: Array) -> bool:
    """Whether any list holds rows of both classes."""
    sizes = np.bincount(codes)
    positives = np.bincount(codes, labels == 1, minlength=len(sizes))
    return bool(((positives > 0) & (positives < sizes)).any())


def _competing(codes: Array, labels: Array, weights: Array) -> Array:
    """The rows of positive weight in groups that hold both classes."""
    positives = np.bincount(codes, weights * (labels == 1))
    negatives = np.bincount(codes, weights * (labels == 0))
    rows = np.flatnonzero((weights > 0) & ((positives > 0) & (negatives > 0))[codes])
    if not len(rows):
        raise ValueError("there is nothing to rank: no group holds rows of both classes with a positive weight")
    return rows
