"""Tables of three kinds: the rows come back in the model's order, with all that they carried."""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from shortlist import MPRank, RankSVM, TauFPL, TopPush, ranked
from shortlist.frames import features_of, model_scores
from tests.common.estimators import ALL, REGRESSORS, clouds, name_of

X, y = clouds(60)
NAMES = ["a", "b", "größe", "量"]
KNOWN: dict[str, Any] = {}
KINDS = ["pandas", "polars", "pyarrow"]


def table(kind: str, **more: Any) -> Any:
    frame = pl.DataFrame({**{name: X[:, at] for at, name in enumerate(NAMES)}, **more})
    return {"pandas": frame.to_pandas, "polars": lambda: frame, "pyarrow": frame.to_arrow}[kind]()


def column(frame: Any, name: str) -> list[Any]:
    found = frame[name]
    return list(found.to_pylist() if hasattr(found, "to_pylist") else found)


def names(frame: Any) -> list[str]:
    return list(getattr(frame, "column_names", frame.columns))


def fitted(model: Any, rows: Any, labels: Any = y, **more: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return clone(model).fit(rows, labels, **more)


@pytest.mark.parametrize("kind", ["polars", "pyarrow"])  # of pandas the common tests know
@pytest.mark.parametrize("model", [*ALL, *REGRESSORS], ids=name_of)
def test_every_estimator_takes_tables(model: Any, kind: str) -> None:
    if "max_nodes" in repr(model):
        model = clone(model).set_params(**{name: 1 for name in model.get_params() if name.endswith("max_nodes")})
    frame, rows = table(kind), table("pandas")
    learned = fitted(model, frame)
    expected = KNOWN[repr(model)] = KNOWN.get(repr(model)) or fitted(model, rows)
    assert list(learned.feature_names_in_) == NAMES
    scores = model_scores(expected, rows)
    np.testing.assert_allclose(model_scores(learned, frame), scores, rtol=1e-9, atol=1e-9)
    listed = ranked(learned, table(kind, row=range(len(X))))
    assert sorted(column(listed, "row")) == list(range(len(X)))
    np.testing.assert_allclose(column(listed, "score"), scores[column(listed, "row")], rtol=1e-9, atol=1e-9)
    assert column(listed, "score") == sorted(column(listed, "score"), reverse=True)


@pytest.mark.parametrize("kind", KINDS)
def test_the_kind_of_the_table_stays(kind: str) -> None:
    frame = table(kind, row=[f"id {row}" for row in range(len(X))])
    model = fitted(TauFPL(), table(kind))
    listed = ranked(model, frame, score="Punkte", rank="Platz")
    assert type(listed) is type(frame)
    assert names(listed) == ["Platz", "Punkte", *NAMES, "row"]
    scores = model.decision_function(table(kind))
    order = model.rank(table(kind))
    assert column(listed, "row") == [f"id {row}" for row in order]
    assert column(listed, "Platz") == list(range(1, len(X) + 1))
    np.testing.assert_allclose(column(listed, "Punkte"), scores[order])
    assert column(listed, "量") == X[order, 3].tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_groups(kind: str) -> None:
    ids = [f"query {row % 7}" for row in range(len(X))]
    frame = table(kind, query=ids)
    for model in (fitted(TopPush(), table(kind), groups=ids), fitted(RankSVM(), table(kind), groups=ids)):
        listed = ranked(model, frame, groups="query", top=2)
        assert column(listed, "query") == [f"query {at // 2}" for at in range(14)]
        assert column(listed, "rank") == [1, 2] * 7
        scores = np.array(column(listed, "score")).reshape(7, 2)
        assert (scores[:, 0] >= scores[:, 1]).all()
        for at in range(7):
            mine = model_scores(model, table(kind), ids)[at::7]
            np.testing.assert_allclose(scores[at], np.sort(mine)[::-1][:2])
        given = ranked(model, frame, groups=ids, top=2)
        assert column(given, "score") == column(listed, "score")


@pytest.mark.parametrize("kind", KINDS)
def test_how_many(kind: str) -> None:
    frame, model = table(kind), fitted(TauFPL(), table(kind))
    assert len(column(ranked(model, frame, top=7), "rank")) == 7
    assert len(column(ranked(model, frame, top=1000), "rank")) == 60
    assert len(column(ranked(model, frame, top=0.05), "rank")) == 3
    assert len(column(ranked(model, frame, top=0.051), "rank")) == 4
    assert len(column(ranked(model, frame, top=1.0), "rank")) == 60
    for top in (0, -1, 0.0, 1.5, True, "all", float("nan")):
        with pytest.raises(ValueError, match="top must be"):
            ranked(model, frame, top=top)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", KINDS)
def test_columns(kind: str) -> None:
    frame, model = table(kind, id=range(len(X))), fitted(TauFPL(), table(kind))
    assert names(ranked(model, frame, columns=["id"])) == ["rank", "score", "id"]
    assert names(ranked(model, frame, columns=[])) == ["rank", "score"]
    with pytest.raises(ValueError, match=r"columns='nothing' is no column; there are 'a', 'b'"):
        ranked(model, frame, columns=["nothing"])
    with pytest.raises(ValueError, match="groups='nothing' is no column"):
        ranked(model, frame, groups="nothing")


@pytest.mark.parametrize("kind", KINDS)
def test_columns_in_another_order_and_missing_ones(kind: str) -> None:
    model = fitted(TauFPL(), table(kind))
    turned = pl.DataFrame({"id": range(60), **{name: X[:, NAMES.index(name)] for name in NAMES[::-1]}})
    frame: Any = {"pandas": turned.to_pandas, "polars": lambda: turned, "pyarrow": turned.to_arrow}[kind]()
    assert column(ranked(model, frame), "id") == model.rank(table(kind)).tolist()
    few = turned.select("id", "a")
    frame = {"pandas": few.to_pandas, "polars": lambda: few, "pyarrow": few.to_arrow}[kind]()
    with pytest.raises(ValueError, match="lacks columns that the model was fitted on: 'b', 'größe', '量'"):
        ranked(model, frame)
    one = turned.drop("量")
    with pytest.raises(ValueError, match="lacks the column that the model was fitted on: '量'"):
        ranked(model, one)


@pytest.mark.parametrize("kind", KINDS)
def test_names_that_are_taken(kind: str) -> None:
    model = fitted(TauFPL(), table(kind))
    taken = table(kind, score=range(len(X)))
    with pytest.raises(ValueError, match="column 'score' already: pass score="):
        ranked(model, taken)
    assert names(ranked(model, taken, score="points"))[:2] == ["rank", "points"]
    assert names(ranked(model, taken, columns=["a"])) == ["rank", "score", "a"]
    with pytest.raises(ValueError, match="cannot both be called 'x'"):
        ranked(model, taken, score="x", rank="x")


def test_names_that_occur_twice() -> None:
    model = fitted(TauFPL(), table("pandas"))
    doubled = pd.concat([table("pandas"), table("pandas")[["b"]]], axis=1)
    with pytest.raises(ValueError, match="more than one column called 'b'; rename"):
        ranked(model, doubled)
    with pytest.raises(ValueError, match="more than one column called 'b'; rename"):
        ranked(model, pa.table([pa.array(doubled.iloc[:, at]) for at in range(5)], names=list(doubled.columns)))


@pytest.mark.parametrize("kind", KINDS)
def test_tables_without_rows(kind: str) -> None:
    frame = table(kind, query=["q"] * len(X))
    model = fitted(TopPush(), table(kind))
    empty = frame.slice(0, 0) if kind == "pyarrow" else frame[:0]
    for listed in (ranked(model, empty), ranked(model, empty, groups="query", top=0.5)):
        assert names(listed) == ["rank", "score", *NAMES, "query"]
        assert column(listed, "rank") == []
        assert type(listed) is type(frame)
    with pytest.raises(ValueError, match="lacks"):
        ranked(model, empty.drop(columns="a") if kind == "pandas" else empty.select(["b"]))


@pytest.mark.parametrize("kind", KINDS)
def test_pipelines_and_models_of_scikit_learn(kind: str) -> None:
    towns = ["Zürich" if label else "Αθήνα" for label in y]
    frame, pandas = table(kind, town=towns, id=range(len(X))), table("pandas", town=towns)
    columns = ColumnTransformer([("n", "passthrough", NAMES), ("w", OneHotEncoder(), ["town"])])
    for model in (TauFPL(), RandomForestClassifier(5, random_state=0), LogisticRegression(), Ridge()):
        learned = fitted(make_pipeline(columns, model), pandas)
        listed = ranked(learned, frame, top=10)
        scores = column(listed, "score")
        assert scores == sorted(scores, reverse=True)
        assert set(column(listed, "id")) <= set(np.flatnonzero(y).tolist())


def test_a_model_fitted_without_names() -> None:
    model = fitted(TauFPL(), X)
    ids = [row % 3 for row in range(len(X))]
    frame = table("polars", query=ids)
    listed = ranked(model, frame, groups="query")  # every column but that of the groups
    assert sorted(column(listed, "rank")) == sorted([*range(1, 21)] * 3)
    assert names(features_of(model, frame, but="query")) == NAMES


def test_pandas_keeps_its_index() -> None:
    frame = table("pandas").set_index(pd.Index([f"case {row % 30}" for row in range(len(X))]))
    model = fitted(TauFPL(), frame)
    listed = ranked(model, frame)
    assert list(listed.index) == [f"case {row % 30}" for row in model.rank(frame)]
    assert listed["score"].tolist() == np.sort(model.decision_function(frame))[::-1].tolist()
    numbered = pd.DataFrame(X)  # names that are no text
    plain = fitted(TauFPL(), X)
    assert list(ranked(plain, numbered).columns) == ["rank", "score", 0, 1, 2, 3]


def test_equal_scores_keep_their_order() -> None:
    frame = pl.DataFrame({"x": [1.0, 0.0, 1.0, 0.0], "id": [1, 2, 3, 4]})
    model = TopPush().fit(frame.select("x"), [1, 0, 1, 0])
    assert column(ranked(model, frame), "id") == [1, 3, 2, 4]


def test_what_is_no_table() -> None:
    model = fitted(TauFPL(), X)
    for thing in (X, X.tolist(), {"a": [1]}, pl.LazyFrame({"a": [1]})):
        with pytest.raises(TypeError, match=r"takes a pandas, polars or pyarrow table, got"):
            ranked(model, thing)
    with pytest.raises(ValueError, match="2 targets"):
        ranked(fitted(MPRank(), X, X[:, :2]), table("polars"))
    with pytest.raises(ValueError, match="one id for each of the 60 rows"):
        ranked(fitted(TauFPL(), table("polars")), table("polars"), groups=[1, 2])


def test_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("narwhals", "narwhals.stable", "narwhals.stable.v1"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=r"shortlist\[frames\]"):
        ranked(TopPush(), table("polars"))
