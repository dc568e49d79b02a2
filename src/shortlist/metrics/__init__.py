"""Ranking metrics: one function each, one sort for all.

    metric(y_true, y_score, *, ties, groups, sample_weight, empty, pos_label) -> float

Parameters that they share
--------------------------
y_true : (n,) array
    Two labels of any type that can be put in order, the larger being positive; or grades; or real numbers.  A
    single number alone is positive when it is above 0.
y_score : (n,) array
    Finite; higher is nearer the top.
ties : "average", "pessimistic", "optimistic"
    Equal scores leave the order open: take the exact expectation over all orders of the tied rows (a constant
    score then earns what a random order earns), the worst order, or the best.
groups : (n,) array of any hashable ids, optional
    Rows compete inside their group; the result is the mean over groups, each counting once.
sample_weight : (n,) array, optional
    Weight 2 equals the row twice, weight 0 the row removed; fractions continue between.
empty : "skip", "zero", "one", "error"
    What a group in which the metric is undefined contributes; each function says when that is.  If every
    group is skipped the result is NaN, with ``sklearn.exceptions.UndefinedMetricWarning``.
pos_label : optional
    The positive label; every other one is then negative.

``evaluate`` returns all metrics at once; ``scorer(name)`` and ``SCORERS`` serve scikit-learn's model
selection.

>>> auc([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
0.75
"""

from shortlist.metrics.evaluation import evaluate
from shortlist.metrics.gain import average_precision, bedroc, dcg, enrichment_factor, ndcg
from shortlist.metrics.magnitude import mean_absolute_difference, mean_squared_difference, pearson
from shortlist.metrics.pairs import kendall_tau, pairwise_misranking, ranking_error, spearman_rho
from shortlist.metrics.rank_sums import rank_statistic
from shortlist.metrics.roc import auc, partial_auc
from shortlist.metrics.scorers import SCORERS, scorer
from shortlist.metrics.top import (
    infinite_push_loss,
    p_norm_loss,
    pos_at_top,
    positives_at_top,
    precision_at_k,
    recall_at_k,
    reciprocal_rank,
    winner_takes_all,
)

__all__ = [
    "SCORERS",
    "auc",
    "average_precision",
    "bedroc",
    "dcg",
    "enrichment_factor",
    "evaluate",
    "infinite_push_loss",
    "kendall_tau",
    "mean_absolute_difference",
    "mean_squared_difference",
    "ndcg",
    "p_norm_loss",
    "pairwise_misranking",
    "partial_auc",
    "pearson",
    "pos_at_top",
    "positives_at_top",
    "precision_at_k",
    "rank_statistic",
    "ranking_error",
    "recall_at_k",
    "reciprocal_rank",
    "scorer",
    "spearman_rho",
    "winner_takes_all",
]
