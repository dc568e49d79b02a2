"""The pieces on their own: credits against all orders, samples, what is said of columns and numbers."""

from __future__ import annotations

import doctest
import importlib
import itertools
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from shortlist.cli import columns as columns_module
from shortlist.cli.columns import features, plan_columns, preparation
from shortlist.cli.explaining import MOST_MIXTURES, is_sum, shapley
from shortlist.cli.failure import Failure
from shortlist.cli.fitting import _sample, aside
from shortlist.cli.read import read_rows
from shortlist.cli.rows import Rows
from shortlist.cli.terminal import Terminal, plain
from shortlist.cli.write import places_in_groups


def brute(worth, n: int):
    """Mean over every order of the columns."""
    values = np.zeros(n)
    orders = list(itertools.permutations(range(n)))
    for order in orders:
        mixed = np.zeros((n + 1, n), dtype=bool)
        for at, j in enumerate(order, start=1):
            mixed[at:, j] = True
        values[list(order)] += np.diff(worth(mixed))
    return values / len(orders)


def test_credits_are_shapley_values() -> None:
    rng = np.random.default_rng(0)
    W = rng.normal(size=(5, 5))

    def worth(mixed):
        Z = mixed.astype(float)
        return Z @ W[0] + np.einsum("ni,ij,nj->n", Z, W, Z) + np.tanh(Z @ W[1])

    credits = shapley(worth, 5)
    assert credits.values == pytest.approx(brute(worth, 5))
    assert "all 32 mixtures" in credits.method


def test_credits_over_drawn_orders_add_up_and_repeat() -> None:
    n = 14
    assert 2**n > MOST_MIXTURES
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=n), rng.normal(size=n)

    def worth(mixed):
        return mixed @ a + 0.1 * (mixed @ b) ** 2

    first, again = shapley(worth, n, seed=1), shapley(worth, n, seed=1)
    ends = worth(np.array([np.ones(n), np.zeros(n)], dtype=bool))
    assert first.values.sum() == pytest.approx(ends[0] - ends[1])
    assert (first.values == again.values).all() and first.error is not None
    # Shapley values of a square of a sum: b_j times the sum of b, by symmetry of pairs.
    exact = a + 0.1 * b * b.sum()
    assert np.abs(first.values - exact).max() < 5 * first.error + 1e-12
    linear = shapley(lambda mixed: mixed @ a, n, is_additive=True)
    assert linear.values == pytest.approx(a)
    assert len(shapley(worth, 0).values) == 0


def test_which_models_are_sums() -> None:
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import QuantileTransformer, StandardScaler

    from shortlist import AutoRanker, Reranker, TopPush

    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2))
    y = (X[:, 0] > 0.5).astype(int)
    for model, expected in (
        (make_pipeline(StandardScaler(), LogisticRegression()), True),
        (TopPush(), True),
        (TopPush(kernel="rbf"), False),
        (HistGradientBoostingClassifier(max_iter=2), False),
        (make_pipeline(QuantileTransformer(n_quantiles=10), LogisticRegression()), False),
        (Reranker(LogisticRegression(), LogisticRegression(), top=40), False),
        (AutoRanker(10, candidates=["RankSVM"], rerank=False), None),
    ):
        found = is_sum(model.fit(X, y))
        if expected is None:  # by whichever scaler the race chose
            expected = "ranks" not in model.best_name_
        assert found is expected


def test_samples_are_of_both_labels_and_whole_groups() -> None:
    y = (np.arange(1000) % 10 == 0).astype(np.int8)
    chosen = _sample(np.arange(1000), y, None, 100, 0)
    assert len(chosen) == 100 and y[chosen].sum() == 10 and (np.diff(chosen) > 0).all()
    groups = np.array([f"g{i // 20}" for i in range(1000)], dtype=object)
    chosen = _sample(np.arange(1000), y, groups, 100, 0)
    assert len(chosen) == 100 and len(set(groups[chosen])) == 5
    rest, held = aside(y, None, 0.3, 0)
    assert sorted([*rest, *held]) == list(range(1000)) and y[held].sum() == 30
    rest, held = aside(y, groups, 0.3, 0)
    assert not set(groups[rest]) & set(groups[held]) and len(held) == 300


def rows_of(tmp_path: Path, text: str) -> Rows:
    (tmp_path / "t.csv").write_text(text)
    return read_rows(str(tmp_path / "t.csv"))


def test_columns_of_no_use_are_left_out_with_the_reason(tmp_path: Path) -> None:
    n = 200
    lines = ["case_id,key,empty,same,word,flag,amount,almost,free"]
    for i in range(n):
        almost = "n.k." if i == 7 else f"{i}.5"
        lines.append(f"{i},{1000 - i},,5,always,{'ab'[i % 2]},{i % 17},{almost},text {i}")
    plan = plan_columns(rows_of(tmp_path, "\n".join(lines) + "\n"), ["flag"])
    assert plan.identity == "case_id" and plan.numbers == ["amount"] and plan.texts == []
    assert plan.left_out == {
        "key": "names the rows",
        "empty": "no value in any row",
        "same": "the same in every row",
        "word": "the same in every row",
        "almost": "200 different texts, numbers but for 'n.k.'",
        "free": "200 different texts",
    }


def test_infinite_cells_and_columns_that_are_neither(tmp_path: Path) -> None:
    rows = rows_of(tmp_path, "a,y\n1,0\ninf,1\n")
    with pytest.raises(Failure, match="'a' is infinite in row 2"):
        plan_columns(rows, ["y"])
    table = pa.table({"a": [1.0, 2.0, 3.0], "l": [[1], [2], [3]], "y": [0, 1, 0]})
    rows = Rows("t", table, {"a": "number", "l": "other", "y": "number"})
    assert plan_columns(rows, ["y"]).left_out == {"l": "neither numbers nor text"}


def test_gaps_levels_and_rare_levels(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    n = 2000
    words = np.where(rng.random(n) < 0.6, "usual", np.char.add("w", (rng.zipf(1.3, n) % 300).astype(str)))
    text = "n,w,y\n" + "".join(f"{'' if i % 5 == 0 else i % 7},{'' if i % 9 == 0 else words[i]},0\n" for i in range(n))
    rows = rows_of(tmp_path, text)
    plan = plan_columns(rows, ["y"])
    prepared = preparation(plan, n).fit(features(rows, plan.names))
    names = list(prepared.get_feature_names_out())
    assert "numbers__n" in names and "numbers__missingindicator_n" in names and "texts__w_nan" in names
    assert len(names) <= 2 + columns_module.MOST_LEVELS + 1 and "texts__w_infrequent_sklearn" in names
    odd = rows_of(tmp_path, "n,w\n,never seen\n3,usual\n")
    made = prepared.transform(features(odd, plan.names))
    medians = np.median([i % 7 for i in range(n) if i % 5])
    assert made[0, names.index("numbers__n")] == medians and made[0, names.index("numbers__missingindicator_n")] == 1
    assert made[0, names.index("texts__w_infrequent_sklearn")] == 1 and made[1, names.index("texts__w_usual")] == 1


def test_many_features_stay_sparse(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    names = [f"c{j}" for j in range(12)]
    lines = [",".join(f"v{value}" for value in row) for row in rng.integers(0, 30, (300, 12))]
    rows = rows_of(tmp_path, ",".join(names) + "\n" + "\n".join(lines) + "\n")
    plan = plan_columns(rows, [])
    assert hasattr(preparation(plan, 300).fit_transform(features(rows, plan.names)), "toarray")


def test_ranks_within_groups() -> None:
    order = np.array([3, 1, 4, 0, 2])
    assert places_in_groups(order, np.array([1, 0, 1, 0, 0])).tolist() == [1, 2, 3, 1, 2]


def test_json_has_no_numbers_that_it_cannot_hold(capsys: pytest.CaptureFixture[str]) -> None:
    assert plain({"a": [np.float64("nan"), np.int64(3)], "b": (True, None, Path("x"))}) == {
        "a": [None, 3],
        "b": [True, None, "x"],
    }
    terminal = Terminal(as_json=True)
    terminal.say("nothing")
    terminal.json({"a": np.array([1.5])})
    assert capsys.readouterr().out == '{\n "a": [\n  1.5\n ]\n}\n'


def test_tables_are_aligned_whatever_the_script(capsys: pytest.CaptureFixture[str]) -> None:
    Terminal().table(("name", "n"), [("名前", "1"), ("x" * 60, "20"), ("a\tb", "3")], right=(1,))
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "名前" + " " * 40 + "   1" and lines[2].endswith("…  20") and lines[3].startswith("a b ")


@pytest.mark.parametrize("name", ["budget", "failure", "labels", "measured", "methods", "rows", "terminal", "example"])
def test_examples(name: str) -> None:
    found = doctest.testmod(importlib.import_module(f"shortlist.cli.{name}"))
    assert found.attempted > 0 and found.failed == 0
