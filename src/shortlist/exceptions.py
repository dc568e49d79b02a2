"""Warnings that Shortlist gives, each of its own type, to be caught or turned into errors."""

from __future__ import annotations

from sklearn.exceptions import ConvergenceWarning

__all__ = [
    "ConvergenceWarning",
    "DegenerateOptimumWarning",
    "FileVersionWarning",
    "NotProvenWarning",
    "NothingToRerankWarning",
    "QuantileWarning",
]


class DegenerateOptimumWarning(UserWarning):
    """The optimum of the problem is w = 0: every row has the same score and nothing is ranked.

    Under the ``max`` threshold this is so, whatever C, as soon as the mean of the positives lies among the
    negatives (in their convex hull).
    """


class QuantileWarning(UserWarning):
    """AATP's threshold is not the quantile that was asked for: no candidate's score is."""


class NotProvenWarning(ConvergenceWarning):  # type: ignore[misc]
    """An exact fit ended within its limits before its answer was proven: the bound says how far it can be off."""


class NothingToRerankWarning(UserWarning):
    """The rows at the top of the base's list are of one class: a reranker cannot learn, the base's order is kept."""


class FileVersionWarning(UserWarning):
    """A model was written by another version of Shortlist or scikit-learn than the one that reads it."""
