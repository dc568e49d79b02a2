"""The race for the best ranker under a budget: many settings on few folds, few of them on many.

Round one fits every setting of every family to a sample of the rows, in three folds, and keeps the best setting of
each family.  Round two fits these, and regression and boosting with their top ranked again by an exact search, in folds
drawn anew, and drops on the way what lies hopelessly behind, and second models that do not improve on their first.
Blends of the best are made of the held-out scores of round two at no cost.  Every figure is of rows that the model had
not seen.

What decides is the mean of precision at the budget and average precision: the latter alone is about another question,
the former alone is so noisy at a few places that it picks settings hardly better than at random.  A fold's list is
judged by no fewer than ``FEWEST_PLACES`` places, or as many as it has positives.

The best of logistic regression, boosting, a forest and the blend of all three leads.  It loses the lead only to what is
better by ``MARGIN`` standard errors, by the variance that allows for overlapping folds: the largest of many noisy means
says little, and mixing sound models is the safest thing to do.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler

from shortlist.estimators.exact import ExactRanker
from shortlist.estimators.rerank import Reranker
from shortlist.metrics.gain import average_precision
from shortlist.metrics.top import precision_at_k
from shortlist.selection.blend import Scale, mean_log_odds
from shortlist.selection.candidates import BASELINES, Family, families_for
from shortlist.selection.splits import make_splits
from shortlist.selection.table import Table

Array = NDArray[Any]

__all__ = ["Candidate", "Outcome", "Race", "choose", "lead"]

# Round one: rows, at least so many of the rarer label where there are as many, folds.
FIRST_ROWS, FIRST_RARE, FIRST_FOLDS = 2_000, 200, 3
# Small data are noisy and cheap: their folds are drawn twice.
TWICE = 500
FINALISTS = 6
MARGIN = 1.0
HOPELESS = 2.5
BLENDS = (2, 3, 4)
FEWEST_PLACES = 5
CORE = ("logistic regression", "gradient boosting", "random forest")
# The exact search: features, rows of the top, and its share as a multiple of the budget's.
MOST_RERANKED_COLUMNS, MOST_RERANKED_ROWS, RERANKED_TIMES = 60, 200, 5

log = logging.getLogger(__name__)


@dataclass
class Candidate:
    """A model, its figures and what became of it.

    Attributes
    ----------
    name, family : str
    settings : dict
    make : callable or None
        ``make(X)`` returns an unfitted model; None for a blend.
    base : Candidate or None
        Of a reranked one.
    parts : list of Candidate
        Of a blend.
    figures : list of (precision, worth)
        A fold each: precision at the budget, and what decides.
    held : list of arrays
        Held-out scores, a fold each.
    seconds : float
    status : str
    """

    name: str
    family: str
    settings: dict[str, Any]
    make: Callable[[Any], Any] | None = None
    base: Candidate | None = None
    parts: list[Candidate] = field(default_factory=list)
    figures: list[tuple[float, float]] = field(default_factory=list)
    held: list[Array] = field(default_factory=list)
    seconds: float = 0.0
    status: str = ""
    scale: Scale | None = None

    @property
    def worth(self) -> Array:
        return np.array([worth for _, worth in self.figures])

    @property
    def precision(self) -> float:
        return float(np.mean([precision for precision, _ in self.figures])) if self.figures else float("nan")


def standard_error(differences: Array, ratio: float) -> float:
    """Of the mean of differences on overlapping folds."""
    if len(differences) < 2:
        return float("inf")
    return float(np.sqrt((1 / len(differences) + ratio) * differences.var(ddof=1)))


def lead(worths: Array, safe: list[int]) -> int:
    """The best mean of the safe rows; among equals the first."""
    return max(safe, key=lambda row: round(float(worths[row].mean()), 12))


def choose(worths: Array, ratio: float, safe: list[int], margin: float = MARGIN) -> int:
    """The row to take: the best of the safe ones, unless another is better by ``margin`` standard errors.

    >>> worths = np.array([[0.5, 0.6, 0.5], [0.7, 0.9, 0.8], [0.9, 0.1, 0.9]])
    >>> choose(worths, ratio=0.25, safe=[0]), choose(worths, ratio=0.25, safe=[0, 2])
    (1, 2)
    """
    leader = lead(worths, safe)
    gains = worths - worths[leader]
    means = gains.mean(axis=1)
    clear = [mean > margin * standard_error(gain, ratio) for mean, gain in zip(means, gains, strict=True)]
    clear[leader] = True
    return int(np.argmax(np.where(clear, np.round(means, 12), -np.inf)))


@dataclass(frozen=True)
class Outcome:
    """How a race ended.

    Attributes
    ----------
    winner : Candidate
    board : list of Candidate
        Finalists, best mean first, then those that were dropped.
    incumbent : Candidate
        The best of what is safe.
    expected : float
        Precision at the budget of the whole procedure: of what it would have chosen without a fold, on that fold.
    advantage, error : float
        Of the winner over the incumbent, and its standard error.
    rows, folds : int
        Of the last round.
    """

    winner: Candidate
    board: list[Candidate]
    incumbent: Candidate
    expected: float
    advantage: float
    error: float
    rows: int
    folds: int
    out_of_time: bool


@dataclass
class Race:
    """See the module; ``run`` returns the outcome."""

    table: Table
    families: list[str]
    budget: Any
    folds: int
    max_rows: int
    blend: bool
    rerank: bool
    deadline: float
    seed: int
    late: bool = False

    def run(self) -> Outcome:
        first = self._sample(FIRST_ROWS, FIRST_RARE)
        last = self._sample(self.max_rows, self.max_rows)
        kept, dropped = self._first_round(first)
        repeats = 2 if len(last) <= TWICE else 1
        splits = self._splits(last, self.folds, repeats, self.seed + 1)
        if not kept:
            raise ValueError(f"no candidate could be fitted; {dropped[0].name} {dropped[0].status}")
        kept = kept + (self._reranked(kept, last) if self.rerank else [])
        finalists, fallen, n = self._second_round(kept, last, splits)
        return self._decide(finalists, fallen + dropped, last, splits[:n])

    def simplest(self) -> Candidate:
        """The safest setting of the first family."""
        family = families_for(self.families, self.table.X)[0]
        return self._candidate(family, family.settings[0])

    def _late(self) -> bool:
        self.late = self.late or time.perf_counter() > self.deadline
        return self.late

    def _sample(self, rows: int, rare: int) -> Table:
        """A stratified sample, or all rows; whole groups."""
        table, n = self.table, len(self.table)
        counts = np.bincount(table.labels, minlength=2)
        share = max(rows / n, min(1.0, rare / counts.min(), self.max_rows / n))
        if share >= 1:
            return table
        rng = np.random.default_rng(self.seed)
        if table.codes is not None:
            with_positives = np.bincount(table.codes, table.labels) > 0
            groups = self._share(with_positives, share, 2 * self.folds, rng)
            return table.take(np.flatnonzero(np.isin(table.codes, groups)))
        return table.take(self._share(table.labels == 1, share, 1, rng))

    @staticmethod
    def _share(positive: Array, share: float, least: int, rng: np.random.Generator) -> Array:
        """Numbers of a share of each kind, in order."""
        kinds = [rng.permutation(np.flatnonzero(positive == one)) for one in (False, True)]
        return np.sort(np.concatenate([kind[: max(int(share * len(kind)), least)] for kind in kinds]))

    def _splits(self, table: Table, folds: int, repeats: int, seed: int) -> list[tuple[Array, Array]]:
        """As many folds as are wanted, or as there can be with both labels in each."""
        most = min(int(np.bincount(table.labels).min()), table.n_groups or len(table))
        for number in range(max(min(folds, most), 2), 1, -1):
            try:
                return make_splits(number, repeats, table.labels, table.codes, seed)
            except ValueError:
                if number == 2:
                    raise
        raise AssertionError

    def _hold(self, candidate: Candidate, train: Table, test: Table) -> bool:
        """Fit and score the held-out rows; False where the model refuses the rows."""
        assert candidate.make is not None
        began = time.perf_counter()
        try:
            scores = self._scores(candidate.make(train.X), train, test)
        except ValueError as error:
            candidate.status = f"refused the rows: {error}"[:200]
            return False
        candidate.seconds += time.perf_counter() - began
        candidate.held.append(scores)
        candidate.figures.append(self._figure(test, scores))
        return True

    @staticmethod
    def _scores(model: Any, train: Table, test: Table) -> Array:
        return test.scores(train.fit(model))

    def _figure(self, test: Table, scores: Array) -> tuple[float, float]:
        """Precision at the budget; and what decides, its mean with average precision, which is far less noisy."""
        k = test.places(self.budget, self.table.size)
        among: dict[str, Any] = {"groups": test.codes, "sample_weight": test.weights}
        precision = precision_at_k(test.labels, scores, k, **among)
        # A handful of places says next to nothing about a model.
        wide = k if test.codes is not None else max(k, min(FEWEST_PLACES, int(test.labels.sum())))
        decides = precision if wide == k else precision_at_k(test.labels, scores, wide, **among)
        return precision, (decides + average_precision(test.labels, scores, **among)) / 2

    def _first_round(self, table: Table) -> tuple[list[Candidate], list[Candidate]]:
        """The best setting of each family, and the others."""
        families = families_for(self.families, table.X)
        entries = [self._candidate(family, settings) for family in families for settings in family.settings]
        if len(entries) == len(families):
            return entries, []
        # Should time run out, every family has had its safest setting, the baselines first.
        entries.sort(key=lambda one: (one.settings != self._safest(one.family, families), one.family not in BASELINES))
        splits = self._splits(table, FIRST_FOLDS, 1, self.seed)
        pairs = [(table.take(train), table.take(test)) for train, test in splits]
        tried = []
        for number, entry in enumerate(entries):
            if number >= len(BASELINES) and self._late():
                entry.status = "not tried: out of time"
            elif all(self._hold(entry, *pair) for pair in pairs):
                tried.append(entry)
        best = []
        for family in families:
            own = [entry for entry in tried if entry.family == family.name]
            if own:
                best.append(max(own, key=lambda one: round(float(one.worth.mean()), 12)))
        best.sort(key=lambda one: (one.family not in CORE, -float(one.worth.mean())))
        kept = best[: max(FINALISTS, len(CORE))]
        for entry in entries:
            if entry not in kept:
                entry.status = entry.status or "dropped in round one"
        fresh = [Candidate(one.name, one.family, one.settings, one.make) for one in kept]
        return fresh, [entry for entry in entries if entry not in kept]

    @staticmethod
    def _safest(name: str, families: list[Family]) -> dict[str, Any]:
        return dict(next(family.settings[0] for family in families if family.name == name))

    def _candidate(self, family: Family, settings: Any) -> Candidate:
        words = ", ".join(f"{key}={value}" for key, value in settings.items())
        name = f"{family.name} ({words})" if words else family.name
        return Candidate(name, family.name, dict(settings), lambda X: family.make(X, self.seed, **settings))

    def _reranked(self, kept: list[Candidate], table: Table) -> list[Candidate]:
        """Logistic regression and boosting with their top ranked again, where an exact search can serve."""
        weights = table.weights
        whole = weights is None or bool(np.all(weights == np.floor(weights)))
        if hasattr(table.X, "tocsr") or table.X.shape[1] > MOST_RERANKED_COLUMNS or not whole or self._late():
            return []
        k = table.places(self.budget, self.table.size) * (table.n_groups or 1)
        rows = min(max(RERANKED_TIMES * k, 30), MOST_RERANKED_ROWS)
        share = rows / table.size
        if rows <= k or share > 0.5:  # nothing would cross the budget's edge, or it is no top
            return []
        return [self._second_model(one, share) for one in kept if one.family in BASELINES]

    def _second_model(self, base: Candidate, share: float) -> Candidate:
        def make(X: Any) -> Any:
            assert base.make is not None
            exact = ExactRanker("dcg", l0=0.1, method="ascent", n_starts=1, time_limit=None, random_state=self.seed)
            cv = None if base.family == "logistic regression" else 3
            model = Reranker(base.make(X), exact, top=share, cv=cv, add_score=True)
            return Pipeline([("scale", MinMaxScaler()), ("rank", model)])

        settings = {**base.settings, "top": round(share, 6)}
        return Candidate(
            f"{base.name}, its top {100 * share:.2g} % reranked", f"{base.family}, reranked", settings, make, base
        )

    def _second_round(
        self, kept: list[Candidate], table: Table, splits: list[tuple[Array, Array]]
    ) -> tuple[list[Candidate], list[Candidate], int]:
        """Held-out figures of all, fold by fold; those left behind drop out on the way."""
        alive, fallen, done = list(kept), [], 0
        ratio = len(splits[0][1]) / len(splits[0][0])
        for number, (rows, rest) in enumerate(splits):
            train, test = table.take(rows), table.take(rest)
            for one in list(alive):
                if not self._hold(one, train, test):
                    alive.remove(one)
                    fallen.append(one)
            done = number + 1
            if not alive:
                raise ValueError(f"no candidate could be fitted; {fallen[0].name} {fallen[0].status}")
            if done >= 2 and self._late():
                break
            if 3 <= done < len(splits):
                leader = max(alive, key=lambda one: float(one.worth.mean()))
                for one in [one for one in alive if self._hopeless(one, leader, ratio)]:
                    one.status = f"dropped in round two after {done} folds"
                    alive.remove(one)
                    fallen.append(one)
            log.info("AutoRanker: fold %d of %d, %d candidates", done, len(splits), len(alive))
        return alive, fallen, done

    @staticmethod
    def _hopeless(one: Candidate, leader: Candidate, ratio: float) -> bool:
        """Far behind, or no better than the model whose top it ranks again; the core is there to the end."""
        base = one.base
        if base is not None and len(base.figures) == len(one.figures) and one.worth.mean() <= base.worth.mean():
            return True
        behind = leader.worth - one.worth
        return one.family not in CORE and bool(behind.mean() > HOPELESS * standard_error(behind, ratio))

    def _decide(
        self, finalists: list[Candidate], fallen: list[Candidate], table: Table, splits: list[tuple[Array, Array]]
    ) -> Outcome:
        ratio = len(splits[0][1]) / len(splits[0][0])
        tests = [table.take(rest) for _, rest in splits]
        labels = np.concatenate([test.labels for test in tests])
        weights = None if table.weights is None else np.concatenate([test.weights for test in tests])
        for one in finalists:
            one.scale = Scale.of(np.concatenate(one.held), labels, weights)
        finalists.sort(key=lambda one: -round(float(one.worth.mean()), 12))
        core = [one for one in finalists if one.family in CORE] or finalists[:1]
        start = self._blended(core, tests) if self.blend and len(core) > 1 else core[0]
        field_ = [start, *(one for one in finalists if one is not start)]
        safe = [row for row, one in enumerate(field_) if one is start or one.family in CORE]
        if self.blend:
            sound = [one for one in finalists if one.scale is not None and one.scale.slope > 0]
            for n in BLENDS:
                if n <= len(sound) and set(map(id, sound[:n])) != set(map(id, core)):
                    field_.append(self._blended(sound[:n], tests))
        worths = np.stack([one.worth for one in field_])
        winner, incumbent = field_[choose(worths, ratio, safe)], field_[lead(worths, safe)]
        without = [choose(np.delete(worths, fold, axis=1), ratio, safe) for fold in range(len(tests))]
        expected = float(np.mean([field_[at].figures[fold][0] for fold, at in enumerate(without)]))
        gain = winner.worth - incumbent.worth
        for one in field_:
            one.status = "chosen" if one is winner else "finalist"
        board = sorted(field_, key=lambda one: -round(float(one.worth.mean()), 12))
        error = standard_error(gain, ratio)
        return Outcome(
            winner, board + fallen, incumbent, expected, float(gain.mean()), error, len(table), len(tests), self.late
        )

    def _blended(self, parts: list[Candidate], tests: list[Table]) -> Candidate:
        *names, last = [one.family for one in parts]
        settings = {one.family: dict(one.settings) for one in parts}
        blend = Candidate(f"blend of {'; '.join(names)} and {last}", "blend", settings, parts=parts)
        scales = [one.scale for one in parts if one.scale is not None]
        for fold, test in enumerate(tests):
            blend.held.append(mean_log_odds([one.held[fold] for one in parts], scales))
            blend.figures.append(self._figure(test, blend.held[-1]))
        return blend
