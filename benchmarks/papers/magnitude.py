"""Tables 1 and 2 and figure 1 of "An alternative ranking problem for search engines" (2007), section 4.

    python -m benchmarks.papers.magnitude [--sets movielens jester books figure] [--reviewers 300] [--repeats 10]

Tables: see ``_ratings`` for the protocol and for what is here of the paper's sets; Netflix is not.  As in the paper the
width of the Gaussian, C and, for SVRank, epsilon are those that are best on held-out reviewers, each method by its own
measure, and fixed then; so is the number of RankBoost's rounds, by misranked pairs.  Two lines are not in the paper:
"MPRank, own C" has C and width chosen for each reviewer by exact leave-one-out on the training half; "equal scores"
ranks nothing.  MSD and M1D are means over pairs of test items, misranked pairs count ties as the paper's (69) does.

Figure 1: the reviewer with the most ratings.  (a) the online algorithm after so many rounds beside the batch solution;
(b) seconds by the number of rows, on generated ratings, the Gram matrix being there already, as in the paper: one
Cholesky solution, `MPRank` and `OnlineMPRank` on that matrix; and both without any, by 500 landmarks.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from benchmarks._common import RESULTS, Array, describe, number, table, threads, versions, write_json
from benchmarks.papers._ratings import GROUPS, SETS, Problem, load_ratings, problems
from shortlist import MPRank, OnlineMPRank, RankBoost, SVRank
from shortlist.exceptions import ConvergenceWarning
from shortlist.features import Rbf
from shortlist.metrics import mean_absolute_difference, mean_squared_difference, pairwise_misranking
from shortlist.selection import MPRankCV

CS = tuple(10.0**k for k in range(-1, 6))
WIDTHS = (0.01, 0.1, 1.0, 10.0)  # gamma in units of 1 / (columns * variance)
SV_CS = CS[1:6]  # its larger C take long, and were never the best
TUBES = (0.1, 0.5)  # epsilon in units of the deviation of y
ROUNDS = (3, 10, 30, 100)
MEASURES: dict[str, Callable[..., float]] = {
    "MSD": mean_squared_difference,
    "M1D": mean_absolute_difference,
    "misranked": partial(pairwise_misranking, ties="pessimistic"),
}
Predictor = Callable[[Problem], Array]

# Means and deviations: MSD of MPRank, SVRank, RankBoost, then M1D of the three.
PAPER_1: dict[tuple[str, str], tuple[tuple[float, float], ...]] = {
    ("movielens", "20-40"): ((2.01, 0.02), (2.43, 0.13), (12.88, 2.15), (1.04, 0.05), (1.17, 0.03), (2.59, 0.04)),
    ("movielens", "40-60"): ((2.02, 0.06), (2.36, 0.16), (20.06, 2.76), (1.04, 0.02), (1.15, 0.07), (2.99, 0.12)),
    ("movielens", "60-80"): ((2.07, 0.05), (2.66, 0.09), (21.35, 2.71), (1.06, 0.01), (1.24, 0.02), (3.82, 0.23)),
    ("jester", "20-40"): ((51.34, 2.90), (55.00, 5.14), (77.08, 17.1), (5.08, 0.15), (5.40, 0.20), (5.97, 0.16)),
    ("jester", "40-60"): ((46.77, 2.03), (57.75, 5.14), (80.00, 18.2), (4.98, 0.13), (5.27, 0.20), (6.18, 0.11)),
    ("jester", "60-80"): ((49.33, 3.11), (56.06, 4.26), (88.61, 18.6), (4.88, 0.14), (5.25, 0.19), (6.46, 0.20)),
    ("books", "all"): ((4.00, 3.12), (3.64, 3.04), (7.58, 9.95), (1.38, 0.60), (1.32, 0.56), (1.72, 1.05)),
}
# Misranked pairs of MPRank and RankBoost.
PAPER_2: dict[tuple[str, str], tuple[tuple[float, float], ...]] = {
    ("movielens", "40-60"): ((0.471, 0.005), (0.476, 0.007)),
    ("movielens", "60-80"): ((0.442, 0.005), (0.463, 0.011)),
    ("jester", "20-40"): ((0.414, 0.005), (0.479, 0.008)),
    ("jester", "40-60"): ((0.418, 0.007), (0.432, 0.005)),
}


def theirs(name: str, group: str) -> dict[tuple[str, str], tuple[float, float]]:
    """The paper's figures by method and measure."""
    first = [(method, measure) for measure in ("MSD", "M1D") for method in ("MPRank", "SVRank", "RankBoost")]
    second = [(method, "misranked") for method in ("MPRank", "RankBoost")]
    known = dict(zip(first, PAPER_1.get((name, group), ()), strict=False))
    return known | dict(zip(second, PAPER_2.get((name, group), ()), strict=False))


def mp_rank(C: float, gamma: float, one: Problem) -> Array:
    return MPRank(C, kernel="rbf", gamma=gamma).fit(one.X_train, one.y_train).predict(one.X_test)


def sv_rank(C: float, gamma: float, epsilon: float, one: Problem) -> Array:
    model = SVRank(C, epsilon, kernel="rbf", gamma=gamma, tol=1e-3)
    return model.fit(one.X_train, one.y_train).predict(one.X_test)


def boosting(rounds: int, one: Problem) -> Array:
    grades = np.unique(one.y_train, return_inverse=True)[1]
    if not grades.any():
        return np.zeros(len(one.y_test))
    return RankBoost(rounds, pairs="classes").fit(one.X_train, grades).decision_function(one.X_test)


def own_choice(gammas: Sequence[float], one: Problem) -> Array:
    kernels = [{"kernel": "rbf", "gamma": gamma} for gamma in gammas]
    return MPRankCV(CS, kernels=kernels).fit(one.X_train, one.y_train).predict(one.X_test)


def equal_scores(one: Problem) -> Array:
    return np.zeros(len(one.y_test))


def score(measure: str, one: Problem, scores: Array) -> float:
    if measure == "misranked" and np.ptp(one.y_test) == 0:
        return float("nan")
    return float(MEASURES[measure](one.y_test, scores))


def tuned(held_out: list[Problem], small: bool) -> tuple[dict[str, Predictor], dict[str, Any]]:
    """Each method with the parameters that are best on the held-out reviewers."""
    base = fmean(1 / (one.X_train.shape[1] * one.X_train.var()) for one in held_out)
    gammas = [width * base for width in WIDTHS]
    deviation = fmean(float(one.y_train.std()) for one in held_out)
    tubes = [tube * deviation for tube in TUBES]
    Cs, sv_Cs = (CS[1:3], CS[1:3]) if small else (CS, SV_CS)
    methods: dict[str, tuple[str, list[tuple[float, ...]], Callable[..., Predictor]]] = {
        "MPRank": ("MSD", list(product(Cs, gammas)), lambda *p: partial(mp_rank, *p)),
        "SVRank": ("M1D", list(product(sv_Cs, gammas, tubes)), lambda *p: partial(sv_rank, *p)),
        "RankBoost": ("misranked", [(k,) for k in ROUNDS], lambda k: partial(boosting, k)),
    }
    chosen: dict[str, Predictor] = {}
    parameters: dict[str, Any] = {}
    for name, (measure, grid, made) in methods.items():
        known = {
            params: float(np.nanmean([score(measure, one, made(*params)(one)) for one in held_out])) for params in grid
        }
        parameters[name] = min(known, key=lambda params: known[params])
        chosen[name] = made(*parameters[name])
    chosen |= {"MPRank, own C": partial(own_choice, gammas), "equal scores": equal_scores}
    return chosen, parameters


def tables(name: str, options: Any) -> dict[str, Any]:
    """Tables 1 and 2 on a set."""
    R = load_ratings(name)
    results: dict[str, Any] = {}
    rows = []
    for group, bounds in GROUPS[name].items():
        drawn = partial(problems, name, R, bounds)
        methods, parameters = tuned(list(drawn(options.reviewers, 0, "held out")), options.quick)
        runs: dict[tuple[str, str], list[float]] = {}
        for repeat in range(options.repeats):
            seen: dict[tuple[str, str], list[float]] = {}
            for one in drawn(options.reviewers, 1 + repeat, "others"):
                for method, predict in methods.items():
                    scores = predict(one)
                    for measure in MEASURES:
                        seen.setdefault((method, measure), []).append(score(measure, one, scores))
            for key, values in seen.items():
                # Equal ratings have no pair that could be misranked.
                runs.setdefault(key, []).append(float(np.nanmean(values)))
        paper = theirs(name, group)
        for (method, measure), values in sorted(runs.items(), key=lambda item: list(MEASURES).index(item[0][1])):
            spread = stdev(values) if len(values) > 1 else None
            printed = [number(value) for value in paper.get((method, measure), (None, None))]
            rows.append([f"{name} {group}", measure, method, number(fmean(values)), number(spread), *printed])
        results[group] = {"parameters": parameters, "runs": {" ".join(key): values for key, values in runs.items()}}
    print(f"\n{name}: {options.reviewers} test reviewers at most, {options.repeats} repeats\n")
    print(table(["set", "measure", "method", "mean", "deviation", "paper", "its deviation"], rows, first_left=3))
    for group, result in results.items():
        print(f"{group}: {result['parameters']}", flush=True)
    return results


def longest(name: str, seed: int = 0) -> Problem:
    """The reviewer with the most ratings, half of them to learn from; references from all others."""
    R = load_ratings(name)
    counts = (~np.isnan(R)).sum(axis=1)
    reviewer = int(np.argmax(counts))
    rng = np.random.default_rng(seed)
    references = rng.permutation(np.delete(np.arange(len(R)), reviewer))[:300]
    items = rng.permutation(np.flatnonzero(~np.isnan(R[reviewer])))
    F = R[np.ix_(references, items)]
    F = np.where(np.isnan(F), np.nanmedian(R[references], axis=1)[:, None], F).T.astype(np.float64)
    y, half = R[reviewer, items].astype(np.float64), len(items) // 2
    return Problem(F[:half], y[:half], F[half:], y[half:])


def convergence(options: Any) -> dict[str, Any]:
    """Figure 1 (a): the online algorithm and the batch solution."""
    one = longest("made" if options.quick else "movielens")
    chosen = MPRankCV(CS, kernels=[{"kernel": "rbf", "gamma": g * gamma_of(one.X_train)} for g in WIDTHS])
    chosen.fit(one.X_train, one.y_train)
    settings = {"kernel": "rbf", "gamma": chosen.kernel_["gamma"], "n_landmarks": "all", "random_state": 0}
    batch = MPRank(chosen.C_, **settings).fit(one.X_train, one.y_train)
    target = score("MSD", one, batch.predict(one.X_test))
    curves: dict[str, Any] = {}
    rows = []
    constant = 1 / (2 + len(one.y_train) / (2 * chosen.C_))  # no kernel value exceeds 1
    for way, eta in (("best step of each row", None), ("one step for all", constant)):
        curve = []
        for rounds in (1, 3, 10, 30, 120, 400):
            online = OnlineMPRank(chosen.C_, eta=eta, max_iter=rounds, tol=1e-12, **settings)
            online.fit(one.X_train, one.y_train)
            above = online.certificate_.primal / batch.certificate_.primal - 1
            curve.append((rounds, above, score("MSD", one, online.predict(one.X_test))))
        stopped = OnlineMPRank(chosen.C_, eta=eta, **settings).fit(one.X_train, one.y_train)
        curves[way] = {"curve": curve, "rounds to the paper's stop": stopped.n_iter_}
        rows += [[way, rounds, f"{above:.1e}", number(msd, 4)] for rounds, above, msd in curve]
        msd = score("MSD", one, stopped.predict(one.X_test))
        above = stopped.certificate_.primal / batch.certificate_.primal - 1
        rows.append([way, f"{stopped.n_iter_}: its stop", f"{above:.1e}", number(msd, 4)])
    print(f"\nFigure 1 (a): {len(one.y_train)} training rows, C = {chosen.C_:g}; MSD of the batch {target:.4f}\n")
    print(table(["step", "rounds", "objective above the optimum", "MSD"], rows))
    return {"rows": len(one.y_train), "C": chosen.C_, "batch": target, "curves": curves}


def gamma_of(X: Array) -> float:
    return 1 / (X.shape[1] * float(X.var()))


def made_ratings(n: int) -> tuple[Array, Array]:
    """Items by the ratings of 300 reviewers with tastes of five dimensions, and of one more."""
    rng = np.random.default_rng(0)
    R = rng.normal(size=(n, 5)) @ rng.normal(size=(5, 301)) + 0.5 * rng.normal(size=(n, 301))
    R = np.clip(np.round(R + 3), 1, 5)
    return R[:, :-1], R[:, -1]


def cholesky(K: Array, y: Array, C: float) -> Array:
    """The paper's (13) on a given Gram matrix."""
    centred = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
    centred[np.diag_indices(len(y))] += len(y) / (4 * C)
    return np.asarray(cho_solve(cho_factor(centred, overwrite_a=True), y - y.mean()))


def seconds(options: Any) -> list[dict[str, Any]]:
    """Figure 1 (b): time by size."""
    results = []
    C = 1000.0
    for n in (100, 200) if options.quick else (500, 1000, 2000, 4000, 8000):
        X, y = made_ratings(n)
        gamma = gamma_of(X)
        K = Rbf(gamma)(X, X)
        given = {"kernel": "precomputed", "n_landmarks": "all", "random_state": 0}
        few = {"kernel": "rbf", "gamma": gamma, "n_landmarks": min(500, n // 2), "random_state": 0}
        online = OnlineMPRank(C, **given)
        tasks: dict[str, Callable[[], Any]] = {
            "Cholesky": partial(cholesky, K, y, C),
            "MPRank": partial(MPRank(C, **given).fit, K, y),
            "OnlineMPRank": partial(online.fit, K, y),
            "MPRank, landmarks": partial(MPRank(C, **few).fit, X, y),
            "OnlineMPRank, landmarks": partial(OnlineMPRank(C, **few).fit, X, y),
        }
        if n > 4000:  # its features are a factor of the whole matrix
            del tasks["OnlineMPRank"], tasks["MPRank"]
        took = {name: min(timed(task) for _ in range(2)) for name, task in tasks.items()}
        rounds = getattr(online, "n_iter_", None)
        results.append({"rows": n, **took, "rounds": rounds})
    names = [name for name in results[0] if name not in ("rows", "rounds")]
    rows = [[r["rows"], *(number(r.get(name)) for name in names), r["rounds"] or "-"] for r in results]
    print("\nFigure 1 (b): seconds, the Gram matrix not counted\n")
    print(table(["rows", *names, "rounds online"], rows, first_left=0))
    return results


def timed(task: Callable[[], Any]) -> float:
    began = time.perf_counter()
    task()
    return time.perf_counter() - began


def parts(options: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    for name in options.sets:
        if name == "figure":
            yield "figure 1a", partial(convergence, options)
            yield "figure 1b", partial(seconds, options)
        else:
            yield name, partial(tables, name, options)


def main(arguments: list[str] | None = None) -> dict[str, Any]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", choices=[*SETS, "figure"], default=[*SETS, "figure"])
    parser.add_argument("--reviewers", type=int, default=300)
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--threads", type=int, default=1, help="of BLAS")
    parser.add_argument("--quick", action="store_true", help="small generated data, few parameters")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    if options.quick:
        options.sets, options.reviewers, options.repeats = ["made", "figure"], 2, 2
    path = options.json or (None if options.quick else RESULTS / "papers_magnitude.json")
    results: dict[str, Any] = json.loads(path.read_text())["results"] if path is not None and path.exists() else {}
    head = versions(threads=options.threads, reviewers=options.reviewers, repeats=options.repeats)
    print(describe(head), flush=True)
    with threads(options.threads), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # rounds are cut short on purpose
        for name, part in parts(options):
            results[name] = part()
            write_json(path, {**head, "results": results})  # beside what the file holds of other sets
    return {**head, "results": results}


if __name__ == "__main__":
    main()
