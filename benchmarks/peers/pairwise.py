"""RankSVM beside LIBLINEAR, GradedRankSVM beside gradient boosted rankers: seconds, proofs, quality.

    python -m benchmarks.peers.pairwise [--sets w8a nslkdd] [--C 1 100 10000] [--losses squared_hinge]
    python -m benchmarks.peers.pairwise --grades [--graded-sets lightgbm_rank]

Two labels: seconds of the whole ``fit``, input checks included, least of several in turns; the ratio is that to
``LogisticRegression(solver="liblinear", C=C/n)`` on the same rows, which has as many coefficients and one loss a row.
"proven" is the relative gap that ``certify`` finds anew.  AUC is that of held-out rows, a third of all.

``--grades``: queries with grades 0 to 4, trained on the sets' own training part.  Every method has four settings, and
the one with the best NDCG@10 on a fifth of the training queries is fitted again to all of them; NDCG@10 (gains 2^g - 1)
is that of the sets' own test part, with its standard error over queries, seconds are those of the last fit.  The
rankers of XGBoost and LightGBM come with ``pip install shortlist[bench]``; what is not installed is left out.

The files of results keep sets that are not run again.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from benchmarks._common import (
    RESULTS,
    SIX,
    Array,
    describe,
    load_scaled,
    mark,
    number,
    table,
    threads,
    versions,
    write_json,
)
from shortlist import GradedRankSVM, RankSVM, certify
from shortlist.datasets.fetch import local_file
from shortlist.metrics import auc, ndcg

LOSSES = ("squared_hinge", "hinge", "logistic")
GRADED = ("mslr10k_sample", "lightgbm_rank")
LONG = 10.0  # seconds; a fit longer than this is not repeated
RATIO, RATIO_SETS = 3.0, ("w8a", "news20_train", "nslkdd")
HINGE_SECONDS = {"spambase": 2.0}

Settings = list[dict[str, Any]]


def seconds_of(fit: Callable[[], Any]) -> float:
    began = time.perf_counter()
    fit()
    return time.perf_counter() - began


def two_labels(name: str, X: Any, y: Array, C: float, losses: list[str], repeats: int) -> list[dict[str, Any]]:
    """The least seconds of each loss, in turns with the peer, its certificate, and held-out AUC."""
    models: dict[str, Any] = {"peer": LogisticRegression(solver="liblinear", C=C / len(y), max_iter=1000)}
    models |= {loss: RankSVM(C, loss=loss) for loss in losses}
    least = dict.fromkeys(models, np.inf)
    for turn in range(repeats):
        for key, model in models.items():
            if not turn or least[key] <= LONG:
                least[key] = min(least[key], seconds_of(lambda model=model: model.fit(X, y)))
    proofs = {loss: (models[loss].certificate_, certify(models[loss], X, y)) for loss in losses}
    train, test = train_test_split(np.arange(len(y)), test_size=1 / 3, stratify=y, random_state=0)
    held_out = {k: float(auc(y[test], m.fit(X[train], y[train]).decision_function(X[test]))) for k, m in models.items()}
    return [
        {"set": name, "rows": len(y), "C": C, "loss": loss, "seconds": least[loss], "peer_seconds": least["peer"],
         "ratio": least[loss] / least["peer"], "n_iter": found.n_iter, "passes": found.n_passes,
         "objective": found.primal, "relative_gap": found.relative_gap, "proven": again.relative_gap,
         "converged": found.converged and again.relative_gap <= 1.01 * found.tolerance, "auc": held_out[loss],
         "peer_auc": held_out["peer"]}
        for loss, (found, again) in proofs.items()
    ]  # fmt: skip


def shown(line: dict[str, Any]) -> list[Any]:
    figures = [number(line[key]) for key in ("seconds", "peer_seconds", "ratio")]
    figures += [line["n_iter"], f"{line['passes']:.0f}"]
    quality = [f"{line[key]:.4f}" for key in ("auc", "peer_auc")]
    gaps = [f"{line[key]:.0e}" for key in ("relative_gap", "proven")]
    return [line["set"], f"{line['C']:g}", line["loss"], *figures, *gaps, *quality, mark(line["converged"])]


def misses(lines: list[dict[str, Any]]) -> list[str]:
    """What is not certified, and what took longer than its aim."""
    out = []
    for line in lines:
        where = f"{line['loss']} on {line['set']}, C = {line['C']:g}"
        if not line["converged"]:
            out.append(f"{where}: not certified")
        if line["loss"] == "squared_hinge" and line["set"] in RATIO_SETS and line["ratio"] > RATIO:
            out.append(f"{where}: {line['ratio']:.1f} times LIBLINEAR, more than {RATIO:g}")
        if line["loss"] == "hinge" and line["seconds"] > HINGE_SECONDS.get(line["set"], np.inf):
            out.append(f"{where}: more than {HINGE_SECONDS[line['set']]:g} s")
    return out


def load_graded(name: str) -> dict[str, tuple[Any, Array, Array]]:
    """Rows, grades and queries of the training and the test part, columns scaled by the training rows."""
    if name == "made":
        return {part: make_graded(seed) for seed, part in enumerate(("train", "test"))}
    path = local_file(f"{name}/{name}.npz")
    if path is None:
        raise SystemExit(f"The benchmark needs {name}/{name}.npz in a folder that SHORTLIST_DATA names (docs/data.md)")
    with np.load(path) as z:
        found = {}
        for part in ("train", "test"):
            if "n_features" in z:
                parts = (z[f"data_{part}"], z[f"indices_{part}"].astype(np.int32), z[f"indptr_{part}"])
                X = sparse.csr_array(parts, shape=(len(z[f"y_{part}"]), int(z["n_features"])))
            else:
                X = z[f"X_{part}"]
                X = np.sign(X) * np.log1p(np.abs(X))  # counts and lengths over many powers of ten
            found[part] = (X, z[f"y_{part}"].astype(np.float64), z[f"qid_{part}"].astype(np.int64))
    scale = (MaxAbsScaler() if sparse.issparse(found["train"][0]) else StandardScaler()).fit(found["train"][0])
    return {part: (scale.transform(X), y, query) for part, (X, y, query) in found.items()}


def make_graded(seed: int) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(seed)
    X, query = rng.normal(size=(240, 6)), np.repeat(np.arange(20), 12)
    raw = X[:, 0] - X[:, 1] + rng.normal(size=240) + rng.normal(size=20)[query]
    return X, np.digitize(raw, [0.0, 1.0, 2.0]).astype(np.float64), query


def shortlist_ranker(loss: str, gap_power: int) -> tuple[Callable[..., Any], Settings]:
    def fit(X: Any, y: Array, query: Array, **setting: Any) -> Any:
        return GradedRankSVM(loss=loss, gap_power=gap_power, **setting).fit(X, y, groups=query)

    return fit, [{"C": C} for C in (0.1, 1.0, 10.0, 100.0)]


def sizes(query: Array) -> Array:
    """Rows of each query; the rows of a query follow one another."""
    return np.diff(np.flatnonzero(np.concatenate([[True], query[1:] != query[:-1], [True]])))


def boosted(kind: str, n_threads: int) -> tuple[Callable[..., Any], Settings]:
    """A gradient boosted ranker; imported here, for most readers of these tables will not have it."""
    grid = [{"learning_rate": rate, "leaves": leaves} for rate in (0.05, 0.1) for leaves in (7, 31)]

    def fit(X: Any, y: Array, query: Array, *, learning_rate: float, leaves: int) -> Any:
        if kind == "LightGBM":
            from lightgbm import LGBMRanker

            model = LGBMRanker(
                n_estimators=100, learning_rate=learning_rate, num_leaves=leaves, n_jobs=n_threads, random_state=0,
                verbose=-1,
            )  # fmt: skip
            return model.fit(X, y, group=sizes(query))
        from xgboost import XGBRanker

        model = XGBRanker(
            objective="rank:ndcg" if kind == "XGBoost ndcg" else "rank:pairwise", n_estimators=100, max_leaves=leaves,
            learning_rate=learning_rate, max_depth=0, grow_policy="lossguide", tree_method="hist", n_jobs=n_threads,
            random_state=0,
        )  # fmt: skip
        return model.fit(X, y, qid=query)

    return fit, grid


def rankers(n_threads: int) -> dict[str, tuple[Callable[..., Any], Settings]]:
    found = {
        "GradedRankSVM hinge": shortlist_ranker("hinge", 0),
        "GradedRankSVM squared hinge": shortlist_ranker("squared_hinge", 0),
        "GradedRankSVM logistic": shortlist_ranker("logistic", 0),
        "GradedRankSVM logistic, gap_power=1": shortlist_ranker("logistic", 1),
    }
    if importlib.util.find_spec("xgboost"):
        found |= {kind: boosted(kind, n_threads) for kind in ("XGBoost pairwise", "XGBoost ndcg")}
    if importlib.util.find_spec("lightgbm"):
        found["LightGBM"] = boosted("LightGBM", n_threads)
    return found


def by_query(y: Array, scores: Array, query: Array) -> Array:
    """NDCG@10 of each query in which something can be gained."""
    each = [
        float(ndcg(y[rows], scores[rows], k=10, gains="exp2"))
        for rows in (np.flatnonzero(query == number) for number in np.unique(query))
        if y[rows].any()
    ]
    return np.array(each)


def grades(name: str, n_threads: int) -> list[dict[str, Any]]:
    """Every ranker on one set."""
    data = load_graded(name)
    X, y, query = data["train"]
    X_test, y_test, query_test = data["test"]
    queries = np.unique(query)
    held_out = np.isin(query, np.random.default_rng(0).permutation(queries)[: max(1, len(queries) // 5)])
    known = np.flatnonzero(~held_out)
    lines = []
    for method, (fit, settings) in rankers(n_threads).items():
        chosen = []
        for setting in settings:
            model = fit(X[known], y[known], query[known], **setting)
            chosen.append(by_query(y[held_out], predict(model, X[held_out]), query[held_out]).mean())
        setting = settings[int(np.argmax(chosen))]
        began = time.perf_counter()
        model = fit(X, y, query, **setting)
        seconds = time.perf_counter() - began
        each = by_query(y_test, predict(model, X_test), query_test)
        line = {"set": name, "rows": len(y), "queries": len(queries), "method": method, "setting": setting,
                "seconds": seconds, "ndcg": float(each.mean()), "error": float(each.std(ddof=1) / np.sqrt(len(each))),
                "relative_gap": None, "proven": None}  # fmt: skip
        if isinstance(model, GradedRankSVM):
            line["relative_gap"] = model.certificate_.relative_gap
            line["proven"] = certify(model, X, y, groups=query).relative_gap
        lines.append(line)
    return lines


def predict(model: Any, X: Any) -> Array:
    return np.asarray(model.predict(X), dtype=np.float64)


def shown_grades(line: dict[str, Any]) -> list[Any]:
    setting = ", ".join(f"{key} {value:g}" for key, value in line["setting"].items())
    gaps = ["-" if line[key] is None else f"{line[key]:.0e}" for key in ("relative_gap", "proven")]
    quality = [f"{line[key]:.4f}" for key in ("ndcg", "error")]
    return [line["set"], line["method"], setting, *quality, number(line["seconds"]), *gaps]


def kept(path: Path | None, drop: Callable[[dict[str, Any]], bool]) -> list[dict[str, Any]]:
    """Lines of an earlier run that this one does not repeat."""
    if path is None or not path.exists():
        return []
    return [line for line in json.loads(path.read_text())["results"] if not drop(line)]


def main(arguments: list[str] | None = None) -> dict[str, Any]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", default=list(SIX))
    parser.add_argument("--graded-sets", nargs="+", default=list(GRADED))
    parser.add_argument("--C", nargs="+", type=float, default=[1.0, 100.0, 10_000.0])
    parser.add_argument("--losses", nargs="+", choices=LOSSES, default=list(LOSSES))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1, help="of BLAS and of the boosted rankers")
    parser.add_argument("--grades", action="store_true", help="the graded sets")
    parser.add_argument("--quick", action="store_true", help="small generated data, once")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    if options.quick:
        options.sets, options.graded_sets, options.repeats = ["made"], ["made"], 1
    name = "peers_pairwise_grades.json" if options.grades else "peers_pairwise.json"
    path = options.json or (None if options.quick else RESULTS / name)
    head = versions(threads=options.threads, repeats=options.repeats)
    print(describe(head) + "\n")
    with threads(options.threads), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        report = {**head, **(run_grades if options.grades else run_two_labels)(options, path)}
    write_json(path, report)
    return report


def run_two_labels(options: argparse.Namespace, path: Path | None) -> dict[str, Any]:
    lines = kept(path, lambda x: x["set"] in options.sets and x["C"] in options.C and x["loss"] in options.losses)
    for name in options.sets:
        X, y = load_scaled(name)
        for C in options.C:
            lines += two_labels(name, X, y, C, options.losses, options.repeats)
    sets = [*SIX, *options.sets]
    lines.sort(key=lambda x: (sets.index(x["set"]), x["C"], LOSSES.index(x["loss"])))
    columns = ("set", "C", "loss", "seconds", "LIBLINEAR", "ratio", "steps", "passes", "gap", "proven", "AUC", "of LR")
    print(table((*columns, ""), [shown(line) for line in lines], first_left=3))
    missed = misses(lines)
    print("\n" + "\n".join(["misses:", *missed] if missed else ["all certified, aims met"]))
    return {"results": lines, "misses": missed}


def run_grades(options: argparse.Namespace, path: Path | None) -> dict[str, Any]:
    lines = kept(path, lambda x: x["set"] in options.graded_sets)
    for name in options.graded_sets:
        lines += grades(name, options.threads)
    columns = ("set", "method", "setting", "NDCG@10", "error", "seconds", "gap", "proven")
    print(table(columns, [shown_grades(line) for line in lines], first_left=3))
    return {"results": lines}


if __name__ == "__main__":
    main()
