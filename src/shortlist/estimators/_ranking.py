"""What all rankers of the house share: a fit that cannot be left half done, scores, labels, ranking.

A fit works on a copy of the estimator and replaces its state at the very end, so an interruption leaves the last valid
state.  Warnings are given after that, so that one raised as an error leaves a valid model too.
"""

from __future__ import annotations

import copy
import warnings
from abc import abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from shortlist.estimators._validation import encode_groups

Array = NDArray[Any]

__all__ = ["Ranker", "RankingClassifier", "ranked"]


def ranked(scores: Array, groups: Any = None) -> Array:
    """Row numbers, best first; with groups the first group's rows, then the next group's.

    >>> ranked(np.array([0.2, 0.9, 0.5]), groups=["b", "a", "b"])
    array([2, 0, 1])
    """
    if groups is None:
        return np.argsort(-scores, kind="stable")
    codes, _ = encode_groups(groups, len(scores))
    return np.lexsort((-scores, codes))


class Ranker(BaseEstimator):  # type: ignore[misc]
    """A fit that cannot be left half done; a subclass adds ``_fit``, and ``fit`` with words of its own."""

    @abstractmethod
    def _fit(self, X: Any, y: Any, groups: Any, sample_weight: Any) -> list[Warning]:
        """Check, solve, set the fitted attributes; what the user has to be told."""

    def _fit_whole(self, X: Any, y: Any, groups: Any, sample_weight: Any) -> Self:
        """Fit a copy without fitted attributes and become it; called by ``fit``, whose caller the warnings name."""
        attempt = copy.copy(self)
        for name in [name for name in vars(attempt) if name.endswith("_") and not name.startswith("_")]:
            delattr(attempt, name)
        complaints = attempt._fit(X, y, groups, sample_weight)
        self.__dict__ = attempt.__dict__
        for complaint in complaints:
            warnings.warn(complaint, stacklevel=3)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class RankingClassifier(ClassifierMixin, Ranker):  # type: ignore[misc]
    """A classifier whose score is what matters; a subclass adds parameters, ``_fit`` and ``decision_function``."""

    # ``predict`` calls positive only what beats the threshold: few false alarms, at the cost of accuracy.
    _poor_score: ClassVar[bool] = False

    classes_: Array

    @abstractmethod
    def decision_function(self, X: Any) -> Array:
        """Score of each row, less the threshold: above 0 where the row beats it.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,)
        """

    def fit(self, X: Any, y: Any, *, groups: Any = None, sample_weight: Any = None) -> Self:
        """Learn weights and threshold.

        Parameters
        ----------
        X : array, CSR or CSC matrix, or data frame of shape (n_rows, n_features)
            float32 stays float32. With ``kernel='precomputed'`` the kernel values of all pairs of rows.
        y : array-like of shape (n_rows,)
            Two labels; the one that sorts last is the positive and belongs at the top.
        groups : array-like of shape (n_rows,), optional
            A query id for each row, of any hashable kind and in any order. Rows compete only within their
            group; a group without positives or without negatives takes no part.
        sample_weight : array-like of shape (n_rows,), optional
            Weight 2 equals the row twice, weight 0 equals the row removed.

        Returns
        -------
        self
        """
        return self._fit_whole(X, y, groups, sample_weight)

    def predict(self, X: Any) -> Array:
        """Label of each row: the positive one where the score beats the threshold.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        beats = self.decision_function(X) > 0
        return np.asarray(self.classes_[beats.astype(np.intp)])

    def rank(self, X: Any, groups: Any = None) -> Array:
        """Row numbers, best first.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_rows, n_features)
        groups : array-like of shape (n_rows,), optional
            With groups the rows of the group that appears first come first, best first; then the next
            group's.

        Returns
        -------
        ndarray of int of shape (n_rows,)
            Rows with equal scores keep their order.
        """
        return ranked(self.decision_function(X), groups)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.poor_score = self._poor_score
        return tags
