"""The sections of plots about one list and those beside it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortlist.plotting.curves import corners
from shortlist.report._charts import gains_chart, places_chart, precision_chart, roc_chart, score_chart
from shortlist.report._figures import Scored
from shortlist.report._svg import key
from shortlist.report._text import plural
from shortlist.report._words import Wording
from shortlist.report.document import Section

Array = NDArray[Any]

__all__ = ["pictures"]

# More lines than this nobody tells apart.
MOST_LISTS = 6


def pictures(words: Wording, scored: Scored, lists: list[tuple[str, Array]]) -> list[Section]:
    """Place by place, and curves down the list; the first list is the one that the page is about."""
    sample, lists = scored.sample, lists[:MOST_LISTS]
    names = [name for name, _ in lists]
    found = []
    if sample.groups is None and sample.weights is None:
        orders = [scored.positive[np.argsort(-scores, kind="stable")] for _, scores in lists]
        drawn = "".join(
            places_chart(name, flags, scored.k, words.positive, i)
            for i, (name, flags) in enumerate(zip(names, orders, strict=True))
        )
        found.append(Section("places", "Place by place", f'<div class="charts">{drawn}</div>'))
    if not scored.positive.any() or scored.positive.all():
        return found
    curves = [corners(scored.positive, scores, sample.groups, sample.weights) for _, scores in lists]
    pairs = list(zip(curves[0].positives, curves[0].negatives, strict=True))
    budget = f"budget: {plural(scored.k, words.noun)}" + (" of each group" if words.grouped else "")
    charts = [
        precision_chart(names, curves, scored.k, budget, words.noun),
        gains_chart(names, curves, scored.k, budget, words.noun),
        *([roc_chart(names, curves)] if any(p[-1] and n[-1] for p, n in pairs) else []),
        score_chart(curves[0], scored.k, budget, names[0]),
    ]
    legend = key(names) if len(names) > 1 else ""
    found.append(Section("curves", "Down the list", f'{legend}<div class="charts">{"".join(charts)}</div>'))
    return found
