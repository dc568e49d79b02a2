"""Is ranking the top again worth it over a strong base?  Boosted trees alone, and with an exact ranker on their top.

    python -m benchmarks.peers.rerank [--sets w8a spambase nslkdd] [--splits 10] [--seconds 1]

The base is HistGradientBoostingClassifier as it comes.  Random stratified splits, at most 10,000 rows for training and
all others for test; positives at top (above every negative) and DCG@100 in log2 of the test rows, mean and standard
deviation over the splits, paired t-tests at 0.05 against the base alone.  The training rows' top is found by
five-fold cross-validation, because boosting knows its own training rows by heart: "own rows" shows what happens
without.  "score" gives the second model the base's score as a further feature; "price" asks 0.1 of DCG for every
coefficient, so that a feature has to earn its place beside the score.  With 57 to 300 features there is no proof to be
had: the search is the ascent alone, for ``--seconds``.

"rivals" counts the splits in which the top held both classes; otherwise the base's order stays, as on nslkdd, where
boosting puts thousands of positives above the first negative.  Seconds are those of the second model; the base and its
folds are fitted once for all.
"""

from __future__ import annotations

import argparse
import hashlib
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit

from benchmarks._common import RESULTS, Array, describe, load_scaled, number, table, threads, versions
from benchmarks.papers._rerank import changes, keep
from shortlist import ExactRanker, Reranker
from shortlist.exceptions import NothingToRerankWarning
from shortlist.metrics import dcg, positives_at_top

SETS = ("spambase", "w8a", "nslkdd")
MOST_ROWS = 10_000
PLACES = 100


class Boosting(HistGradientBoostingClassifier):
    """The base, which remembers its fits: all variants of a split fit it to the same rows."""

    _fits: ClassVar[dict[bytes, dict[str, Any]]] = {}

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Boosting:
        key = hashlib.sha256(np.ascontiguousarray(X).tobytes() + np.asarray(y).tobytes()).digest()
        if key not in self._fits:
            super().fit(X, y, sample_weight)
            self._fits[key] = dict(vars(self))
        vars(self).update(self._fits[key])
        return self


@dataclass(frozen=True)
class Variant:
    """A way to rank the top again."""

    top: int
    add_score: bool = False
    l0: float = 0.0
    unseen: bool = True

    @property
    def name(self) -> str:
        extras = ["score"] * self.add_score + ["price"] * (self.l0 > 0) + ["own rows"] * (not self.unseen)
        return ", ".join([f"top {self.top}", *extras])

    def build(self, seconds: float) -> Reranker:
        second = ExactRanker("dcg", l0=self.l0, method="ascent", time_limit=seconds, random_state=0)
        return Reranker(base(), second, top=self.top, cv=folds() if self.unseen else None, add_score=self.add_score)


VARIANTS = (
    *(
        Variant(top, add_score=score, l0=price)
        for top in (100, 200)
        for score, price in ((False, 0.0), (True, 0.0), (True, 0.1))
    ),
    Variant(500, add_score=True, l0=0.1),
    Variant(100, unseen=False),
)


def base() -> Boosting:
    return Boosting(random_state=0)


def folds() -> StratifiedKFold:
    return StratifiedKFold(5, shuffle=True, random_state=0)


def dense(X: Any) -> Array:
    """Boosted trees take no sparse rows."""
    return np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)


def run(name: str, X: Any, y: Array, options: argparse.Namespace, found: dict[str, dict[str, list[float]]]) -> None:
    """All variants on all splits; ``found`` grows by an entry a split."""
    size = min(MOST_ROWS, len(y) // 2)
    splits = StratifiedShuffleSplit(options.splits, train_size=size, random_state=0)
    for train, test in splits.split(np.zeros(len(y)), y):
        Boosting._fits.clear()
        X_train, y_train, X_test, y_test = dense(X[train]), y[train], dense(X[test]), y[test]
        start = time.perf_counter()
        alone = base().fit(X_train, y_train)
        seconds = time.perf_counter() - start
        note(found, "boosting alone", y_test, alone.decision_function(X_test), seconds, None)
        for rows, _ in folds().split(X_train, y_train):
            base().fit(X_train[rows], y_train[rows])
        for variant in VARIANTS:
            model = variant.build(options.seconds)
            start = time.perf_counter()
            model.fit(X_train, y_train)
            seconds = time.perf_counter() - start
            scores = model.decision_function(X_test)
            note(found, variant.name, y_test, scores, seconds, float(model.reranker_ is not None))
        keep(options.path, options.head, "sets", name, {"rows": len(y), "positives": int(y.sum()), "figures": found})


def note(
    found: dict[str, dict[str, list[float]]], method: str, y: Array, scores: Array, seconds: float, rivals: float | None
) -> None:
    figures = {
        "positives_at_top": positives_at_top(y, scores),
        "dcg": dcg(y, scores, k=PLACES),
        "seconds": seconds,
        **({} if rivals is None else {"rivals": rivals}),
    }
    for key, value in figures.items():
        found.setdefault(method, {}).setdefault(key, []).append(float(value))


def spread(values: list[float]) -> str:
    deviation = np.std(values, ddof=1) if len(values) > 1 else 0.0
    return f"{number(float(np.mean(values)), 4)} ± {number(float(deviation), 2)}"


def show(found: dict[str, dict[str, list[float]]]) -> str:
    alone = found["boosting alone"]
    rows = []
    for method, figures in found.items():
        cells = [method]
        for key in ("positives_at_top", "dcg"):
            cells += [spread(figures[key]), "" if figures is alone else changes(figures[key], alone[key])]
        rivals = figures.get("rivals")
        cells += ["" if rivals is None else f"{int(sum(rivals))}/{len(rivals)}"]
        rows.append([*cells, f"{np.mean(figures['seconds']):.2f}"])
    return table(["method", "positives at top", "p", f"DCG@{PLACES}", "p", "rivals", "seconds"], rows)


def main(arguments: list[str] | None = None) -> dict[str, dict[str, dict[str, list[float]]]]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", default=list(SETS))
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=1.0, help="for each search")
    parser.add_argument("--threads", type=int, default=1, help="of BLAS and of the boosting")
    parser.add_argument("--quick", action="store_true", help="small generated data, two splits")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    if options.quick:
        options.sets, options.splits, options.seconds = ["made"], 2, 0.1
    options.path = options.json or (None if options.quick else RESULTS / "peers_rerank.json")
    options.head = versions(threads=options.threads, seconds=options.seconds, splits=options.splits)
    print(describe(options.head), flush=True)
    results: dict[str, dict[str, dict[str, list[float]]]] = {}
    with threads(options.threads):
        warnings.simplefilter("ignore", NothingToRerankWarning)
        for name in options.sets:
            X, y = load_scaled(name)
            print(f"\n{name}: {len(y)} rows, {int(y.sum())} positives, {X.shape[1]} columns", flush=True)
            results[name] = {}
            run(name, X, y, options, results[name])
            print(show(results[name]), flush=True)
    print("\n● better than boosting alone, ○ worse: paired t-test over the splits at 0.05")
    return results


if __name__ == "__main__":
    main()
