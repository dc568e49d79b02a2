"""The outcome of a comparison: figures of every model on every split, and what they prove."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortlist.comparison import tables
from shortlist.comparison.measures import TITLES
from shortlist.selection.paired import corrected_interval, corrected_t_test, holm, signed_rank_test

Array = NDArray[Any]

__all__ = ["Comparison", "Place", "Run", "Test"]


@dataclass(frozen=True)
class Run:
    """One model on one split.

    Attributes
    ----------
    figures : dict of str to float
        By metric, on the test rows.
    seconds : float
        Of the inner search and the fit.
    chosen : dict
        Parameters that the inner search chose.
    proof : str or None
        Of the fit's certificate, in words.
    gap : float or None
        Its relative gap.
    """

    figures: dict[str, float]
    seconds: float
    chosen: dict[str, Any]
    proof: str | None = None
    gap: float | None = None


@dataclass(frozen=True)
class Place:
    """A row of the leaderboard.

    Attributes
    ----------
    model : str
    mean, deviation : float
        Over the splits.
    low, high : float
        Interval for the mean at 95 %, by the corrected variance.
    p : float or None
        Against the leader, corrected; None for the leader.
    verdict : str
        'best', 'no proof of a difference' or 'worse'; with a baseline that does not lead also 'not tested', of models
        other than it.
    seconds : float
        Median of a search with its fit.
    proof : str
        Of the certificates of all splits.
    """

    model: str
    mean: float
    deviation: float
    low: float
    high: float
    p: float | None
    verdict: str
    seconds: float
    proof: str


@dataclass(frozen=True)
class Test:
    """Two models on the same splits: ``difference`` is ``first`` less ``second``, the better being first."""

    first: str
    second: str
    difference: float
    low: float
    high: float
    p: float
    p_corrected: float
    significant: bool


@dataclass(frozen=True)
class Comparison:
    """What `compare` returns: figures, and methods that draw conclusions from them.

    ``leaderboard`` is a list of `Place`, ``tests`` and ``improvements`` are lists of `Test`, ``scores`` a dict of
    arrays, ``winner`` a name or None, ``summary`` text; ``to_frame``, ``to_markdown`` and ``to_html`` show the
    leaderboard. All take a metric, and without one speak of the first.

    Attributes
    ----------
    runs : dict of str to list of Run
        For each model one run a split: ``figures`` (dict of metric to float, NaN where undefined), ``seconds``,
        ``chosen`` (dict), ``proof`` and ``gap`` of its certificate or None. In a comparison that was interrupted the
        lists differ in length.
    metrics : list of str
        The first decides.
    losses : list of str
        Those of which less is better.
    settings : dict
        Data and settings, plain enough for JSON: 'rows', 'positives', 'columns' (int), 'groups' (their number, or
        None), 'positive_label' (str), 'budget' (int or float), 'budget_in_words' (str), 'places' (list of int, one a
        split), 'splits' (int), 'train', 'test' (lists of int, rows of each split), 'statistical_test' ('t' or
        'wilcoxon'), 'level' (float), 'baseline' (str or None), 'random_state' (int), 'models' (dict of str, how each
        is spelled), 'fingerprint' (dict).
    names : list of str
        The models, in the order given.
    ratio : float
        Test rows for each training row, on average over the splits.
    """

    runs: dict[str, list[Run]]
    metrics: list[str]
    losses: list[str]
    settings: dict[str, Any]

    @property
    def names(self) -> list[str]:
        return list(self.runs)

    @property
    def ratio(self) -> float:
        """Test rows for each training row, on average over the splits."""
        return float(np.mean(np.divide(self.settings["test"], self.settings["train"])))

    def scores(self, metric: str | None = None) -> dict[str, Array]:
        """Figures by model, one a split; of a comparison that was interrupted, the splits that all models have."""
        metric = self._metric(metric)
        n = min(len(runs) for runs in self.runs.values())
        if n == 0:
            raise ValueError("no split has been done by all models yet: continue the comparison")
        return {name: np.array([run.figures[metric] for run in runs[:n]]) for name, runs in self.runs.items()}

    def title(self, metric: str | None = None) -> str:
        """A metric's name in words."""
        metric = self._metric(metric)
        return TITLES.get(metric, metric.replace("_", " "))

    def _metric(self, metric: str | None) -> str:
        metric = self.metrics[0] if metric is None else metric
        if metric not in self.metrics:
            raise ValueError(f"metric {metric!r} was not measured; there are {', '.join(self.metrics)}")
        return metric

    def _sign(self, metric: str) -> float:
        return -1.0 if metric in self.losses else 1.0

    def _by_mean(self, metric: str) -> list[str]:
        """The models, best first."""
        means = {name: self._sign(metric) * float(_present(v).mean()) for name, v in self.scores(metric).items()}
        return sorted(self.names, key=lambda name: -means[name] if np.isfinite(means[name]) else np.inf)

    def tests(self, metric: str | None = None) -> list[Test]:
        """Paired tests of all pairs of models, or of all with the baseline where there is one, corrected by Holm.

        The leader is chosen by the data, so a test of the leader alone against the others would have to be corrected
        for all pairs just the same.
        """
        metric = self._metric(metric)
        scores, order, baseline = self.scores(metric), self._by_mean(metric), self.settings["baseline"]
        pairs = [pair for pair in combinations(order, 2) if baseline is None or baseline in pair]
        made = []
        for first, second in pairs:
            difference = _present(scores[first] - scores[second])
            if self.settings["statistical_test"] == "wilcoxon":
                p = signed_rank_test(difference)
            else:
                p = corrected_t_test(difference, self.ratio)
            low, high = corrected_interval(difference, self.ratio)
            made.append((first, second, float(difference.mean()), low, high, p))
        corrected = holm([one[-1] for one in made])
        level = float(self.settings["level"])
        return [Test(*one, float(c), bool(c <= level)) for one, c in zip(made, corrected, strict=True)]

    def leaderboard(self, metric: str | None = None) -> list[Place]:
        """The models, best first, each with its interval and how it stands against the leader."""
        metric = self._metric(metric)
        scores, order = self.scores(metric), self._by_mean(metric)
        against = {(test.first, test.second): test for test in self.tests(metric)}
        board = []
        for name in order:
            values = _present(scores[name])
            test = against.get((order[0], name))
            verdict = "best" if name == order[0] else "not tested"
            if test is not None:
                verdict = "worse" if test.significant else "no proof of a difference"
            board.append(
                Place(
                    name,
                    float(values.mean()),
                    float(values.std(ddof=1)) if len(values) > 1 else float("nan"),
                    *corrected_interval(values, self.ratio),
                    None if test is None else test.p_corrected,
                    verdict,
                    float(np.median([run.seconds for run in self.runs[name]])),
                    _proof(self.runs[name]),
                )
            )
        return board

    def winner(self, metric: str | None = None) -> str | None:
        """The model that is significantly better than every other, if there is one."""
        metric = self._metric(metric)
        best, *others = self._by_mean(metric)
        beaten = {test.second for test in self.tests(metric) if test.first == best and test.significant}
        return best if others and beaten == set(others) else None

    def improvements(self, metric: str | None = None) -> list[Test]:
        """Significant differences alone."""
        return [test for test in self.tests(metric) if test.significant]

    def summary(self, metric: str | None = None) -> str:
        """Two or three sentences for those who decide."""
        return tables.summary(self, self._metric(metric))

    def to_frame(self, metric: str | None = None) -> Any:
        """The leaderboard as a pandas data frame."""
        try:
            import pandas as pd
        except ImportError:
            raise ImportError("to_frame needs pandas: pip install 'shortlist[frames]'") from None
        return pd.DataFrame([asdict(place) for place in self.leaderboard(metric)]).set_index("model")

    def to_markdown(self, metric: str | None = None) -> str:
        """The leaderboard and the summary as Markdown."""
        return tables.markdown(self, self._metric(metric))

    def to_html(self, metric: str | None = None) -> str:
        """The same as HTML, without a style of its own."""
        return tables.html(self, self._metric(metric))

    def _repr_html_(self) -> str:
        return self.to_html()

    def __str__(self) -> str:
        return self.to_markdown()


def _present(values: Array) -> Array:
    """Without the splits where a metric was undefined."""
    kept = values[np.isfinite(values)]
    return kept if len(kept) else np.array([np.nan])


def _proof(runs: list[Run]) -> str:
    gaps = [run.gap for run in runs if run.gap is not None]
    if not gaps:
        return "none"
    return f"gap at most {max(gaps):.0e}" if max(gaps) > 0 else "proven optimal"
