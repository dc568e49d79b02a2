"""Metrics as scikit-learn scorers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sklearn.metrics import make_scorer

from shortlist.metrics import gain, magnitude, pairs, rank_sums, roc, top

__all__ = ["METRICS", "SCORERS", "scorer"]

# The metric, and whether more is better.
METRICS: dict[str, tuple[Callable[..., float], bool]] = {
    "auc": (roc.auc, True),
    "partial_auc": (roc.partial_auc, True),
    "positives_at_top": (top.positives_at_top, True),
    "pos_at_top": (top.pos_at_top, True),
    "infinite_push_loss": (top.infinite_push_loss, False),
    "p_norm_loss": (top.p_norm_loss, False),
    "precision_at_k": (top.precision_at_k, True),
    "recall_at_k": (top.recall_at_k, True),
    "winner_takes_all": (top.winner_takes_all, True),
    "reciprocal_rank": (top.reciprocal_rank, True),
    "average_precision": (gain.average_precision, True),
    "dcg": (gain.dcg, True),
    "ndcg": (gain.ndcg, True),
    "enrichment_factor": (gain.enrichment_factor, True),
    "bedroc": (gain.bedroc, True),
    "rank_statistic": (rank_sums.rank_statistic, True),
    "pairwise_misranking": (pairs.pairwise_misranking, False),
    "ranking_error": (pairs.ranking_error, False),
    "kendall_tau": (pairs.kendall_tau, True),
    "spearman_rho": (pairs.spearman_rho, True),
    "pearson": (magnitude.pearson, True),
    "mean_squared_difference": (magnitude.mean_squared_difference, False),
    "mean_absolute_difference": (magnitude.mean_absolute_difference, False),
}


def scorer(name: str, **parameters: Any) -> Any:
    """A scorer for ``GridSearchCV``, ``cross_validate`` and the like; losses are negated.

    The score of a row is the estimator's ``decision_function``, or ``predict_proba`` of the positive class,
    or ``predict``, whichever comes first.  With scikit-learn's metadata routing switched on, groups and
    weights reach the metric by ``scorer(...).set_score_request(groups=True, sample_weight=True)``.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import RidgeClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> bool(scorer("precision_at_k", k=50)(RidgeClassifier().fit(X, y), X, y) > 0.99)
    True
    """
    try:
        metric, greater = METRICS[name]
    except (KeyError, TypeError):
        raise ValueError(f"metric must be one of {sorted(METRICS)}, got {name!r}") from None
    return make_scorer(
        metric,
        response_method=("decision_function", "predict_proba", "predict"),
        greater_is_better=greater,
        **parameters,
    )


SCORERS: dict[str, Any] = {name: scorer(name) for name in METRICS}
