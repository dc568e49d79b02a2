"""Every metric at once, on one sort."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import UndefinedMetricWarning

from shortlist.metrics import _graded, _two_label, gain, magnitude, pairs, rank_sums, roc, top
from shortlist.metrics._discounts import make_discount
from shortlist.metrics._input import Sample, read, relevance, two_labels
from shortlist.metrics._ranking import (
    Empty,
    Ties,
    check_ties,
    group_sizes,
    in_order,
    mean_over_groups,
    ranking_of,
    ratio,
)
from shortlist.statistics import rank_weights

Array = NDArray[Any]

__all__ = ["evaluate"]


def evaluate(
    y_true: Any,
    y_score: Any,
    *,
    k: float = 10,
    groups: Any = None,
    sample_weight: Any = None,
    ties: Ties = "average",
    empty: Empty = "skip",
    pos_label: Any = None,
    min_fpr: float = 0.0,
    max_fpr: float = 0.1,
    p: float = 4.0,
    fraction: float = 0.01,
    alpha: float = 20.0,
    gains: gain.Gains = "identity",
    discounts: Any = "log2",
    weights: Any = "wrs",
) -> dict[str, float]:
    """All metrics that have a meaning for the labels, by name.

    With two labels, every metric of ``shortlist.metrics``; with grades or real numbers those on gains, pairs
    and magnitudes.  Each equals the function of the same name with its own defaults and the parameters given
    here, and ``dcg_at_k`` and ``ndcg_at_k`` are ``dcg`` and ``ndcg`` with ``k``.

    Parameters
    ----------
    k, min_fpr, max_fpr, p, fraction, alpha, gains, discounts, weights
        As in the single functions; ``weights`` belongs to ``rank_statistic``.
    groups, sample_weight, ties, empty, pos_label
        As everywhere.  ``ties`` concerns the metrics of an order; at the top is always strictly above.

    Returns
    -------
    dict of str to float
        ``rank_statistic`` is left out under fractional weights.  Metrics undefined in every group are NaN
        under ``empty="skip"``, named in one ``UndefinedMetricWarning``.

    Notes
    -----
    Two labels: the scores are sorted once, and everything else is cumulative sums over the places of the
    positives; the residuals of ``mean_absolute_difference`` are two sorted runs, merged.  Grades: a few
    sorts.

    Examples
    --------
    >>> result = evaluate([1, 0, 1, 0], [0.9, 0.8, 0.7, 0.1], k=2)
    >>> result["auc"], result["positives_at_top"], result["precision_at_k"]
    (0.75, 1.0, 0.5)
    """
    check_ties(ties)
    top.check_k(k)
    top.check_exponent(p)
    roc.check_range(min_fpr, max_fpr)
    gain.check_fraction(fraction)
    gain.check_alpha(alpha)
    discount, rank_weight = make_discount(discounts), rank_weights(weights)
    sample = read(y_true, y_score, groups, sample_weight)
    labels = two_labels(sample.y, pos_label)
    values: dict[str, Array] = {}

    if labels is None:
        y = relevance(sample.y, "evaluate")
        if y.min() >= 0 or callable(gains):
            worth = gain.list_gains(y, gains)

            def list_gained(at: float | None) -> tuple[Array, Array]:
                best = _graded.ideal_dcg(sample, worth, discount, at)
                return _graded.dcg(sample, worth, ties, discount, at), best

            _add_gains(values, list_gained, k)
        disagreement = _graded.disagreement(sample, y)
        misranking = disagreement.misranking(ties)
        values["ranking_error"] = disagreement.error(ties)
        values["spearman_rho"] = _graded.spearman_rho(sample, y, ties)
        found = _magnitudes(sample, y)
    else:
        scores, positive, ordered_weights = in_order(sample, labels.positive)
        if sample.weights is None:
            found = magnitude.two_label_magnitudes(
                group_sizes(sample), scores, positive, labels.low, labels.high
            )
        else:
            found = _magnitudes(sample, magnitude.numeric_labels(sample.y, pos_label))
        r = ranking_of(sample, scores, positive, ordered_weights)
        del scores, positive
        terms = {
            "auc": _two_label.auc_terms(ties),
            "p_norm_loss": _two_label.p_norm_terms(ties, p),
            "average_precision": _two_label.precision_terms(ties),
            "bedroc": _two_label.bedroc_terms(ties, alpha),
            "dcg": _two_label.discount_terms(ties, discount),
        }
        if r.whole:
            terms["rank_statistic"] = rank_sums.rank_terms(rank_weight, "subrank")
        sums = dict(zip(terms, r.totals_of([*terms.values()]), strict=True))
        area = _two_label.auc(r, ties, sums["auc"])
        misranking = 1.0 - area
        strict = _two_label.positives_at_top(r, "pessimistic")
        values["auc"] = area
        values["partial_auc"] = _two_label.partial_auc(r, ties, min_fpr, max_fpr)
        values["positives_at_top"] = strict
        values["pos_at_top"] = ratio(strict, r.total_pos)
        values["infinite_push_loss"] = 1.0 - values["pos_at_top"]
        values["p_norm_loss"] = _two_label.p_norm_loss(r, ties, p, sums["p_norm_loss"])
        values["precision_at_k"] = _two_label.precision_at_k(r, ties, k)
        values["recall_at_k"] = _two_label.recall_at_k(r, ties, k)
        values["winner_takes_all"] = _two_label.winner_takes_all(r, ties)
        values["reciprocal_rank"] = _two_label.reciprocal_rank(r, ties)
        values["average_precision"] = _two_label.average_precision(r, ties, sums["average_precision"])
        values["enrichment_factor"] = _two_label.enrichment_factor(r, ties, fraction)
        values["bedroc"] = _two_label.bedroc(r, ties, alpha, sums["bedroc"])
        if r.whole:
            values["rank_statistic"] = sums["rank_statistic"]
        worths = gain.two_values(labels.low, labels.high, gains)

        def gained(at: float | None) -> tuple[Array, Array]:
            return gain.two_label_gains(r, worths, ties, discount, at, sums["dcg"] if at is None else None)

        _add_gains(values, gained, k)
        values["ranking_error"] = (labels.high - labels.low) * misranking
        values["spearman_rho"] = pairs.two_label_spearman(r, area)

    values["pairwise_misranking"] = misranking
    values["kendall_tau"] = 1.0 - 2.0 * misranking
    names = ("mean_squared_difference", "mean_absolute_difference", "pearson")
    values.update(zip(names, found, strict=True))
    return _means(values, sample.group_ids, empty)


def _add_gains(
    values: dict[str, Array], gained: Callable[[float | None], tuple[Array, Array]], k: float
) -> None:
    for suffix, at in (("", None), ("_at_k", k)):
        values["dcg" + suffix], best = gained(at)
        values["ndcg" + suffix] = ratio(values["dcg" + suffix], best)


def _magnitudes(sample: Sample, y: Array) -> tuple[Array, Array, Array]:
    return (
        magnitude.squared_difference(sample, y),
        magnitude.absolute_difference(sample, y),
        magnitude.correlation(sample, y),
    )


def _means(values: dict[str, Array], group_ids: Any, empty: str) -> dict[str, float]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UndefinedMetricWarning)
        result = {name: mean_over_groups(v, group_ids, empty, name) for name, v in values.items()}
    undefined = [name for name, value in result.items() if np.isnan(value)]
    if undefined:
        warnings.warn(
            f"undefined, because no group holds the labels that they compare: {', '.join(undefined)}",
            UndefinedMetricWarning,
            stacklevel=3,
        )
    return result
