"""Graphs give the scores that their models give: onnxruntime is asked."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, OneHotEncoder, StandardScaler

from shortlist import (
    AATP,
    SVMMAP,
    ExactRanker,
    GradedRankSVM,
    InfinitePush,
    MPRank,
    PatMat,
    RankBoost,
    RankSVM,
    Reranker,
    SparseInfinitePush,
    TauFPL,
    TopPush,
    TopPushK,
    load,
    to_onnx,
)
from tests.common.estimators import clouds, name_of

ort = pytest.importorskip("onnxruntime")
X, y = clouds()
LINEAR = [TopPush(), InfinitePush(), TopPushK(), TauFPL(), PatMat(), AATP(), SparseInfinitePush(), RankSVM(), SVMMAP()]


def fitted(model: Any, rows: Any = X, labels: Any = y) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(rows, labels)


def answers(graph: bytes, inputs: dict[str, Any]) -> Any:
    session = ort.InferenceSession(graph, providers=["CPUExecutionProvider"])
    assert [output.name for output in session.get_outputs()] == ["score"]
    return session.run(None, inputs)[0]


def check(graph: bytes, inputs: dict[str, Any], expected: Any) -> None:
    got = answers(graph, inputs)
    assert got.dtype == np.float64
    assert got.shape == (len(expected), 1 if expected.ndim == 1 else expected.shape[1])
    np.testing.assert_allclose(got.reshape(expected.shape), expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("model", LINEAR, ids=name_of)
def test_linear_models(model: Any) -> None:
    fitted(model)
    check(to_onnx(model), {"X": X}, model.decision_function(X))


def test_regressors_and_targets() -> None:
    for labels in (X[:, 0], X[:, :2]):
        model = fitted(MPRank(), X, labels)
        check(to_onnx(model), {"X": X}, model.predict(X))
    graded = fitted(GradedRankSVM(), X, X[:, 0].round())
    check(to_onnx(graded), {"X": X}, graded.predict(X))


def test_single_precision() -> None:
    rows = X.astype(np.float32)
    model = fitted(TauFPL(), rows)
    expected = model.decision_function(rows)
    graph = to_onnx(model, rows)
    got = answers(graph, {"X": rows})  # an input of the kind that the example rows are
    np.testing.assert_allclose(got[:, 0], expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("prepare", [StandardScaler(), MinMaxScaler(), SimpleImputer(strategy="median")], ids=name_of)
def test_pipelines(prepare: Any) -> None:
    rows = X.copy()
    if isinstance(prepare, SimpleImputer):
        rows[::5, 1] = np.nan
    model = fitted(make_pipeline(prepare, TauFPL()), rows)
    check(to_onnx(model), {"X": rows}, model.decision_function(rows))
    nested = fitted(make_pipeline(prepare, make_pipeline(StandardScaler(), TauFPL())), rows)
    check(to_onnx(nested), {"X": rows}, nested.decision_function(rows))


def table() -> pd.DataFrame:
    frame = pd.DataFrame(X, columns=["a", "b", "ä c", "d"])
    frame["town"] = np.where(y == 1, "Zürich", "Αθήνα")
    frame.loc[::7, "town"] = "東京"
    frame.loc[3, "a"] = np.nan
    return frame


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_tables_with_text(kind: str) -> None:
    frame: Any = table()
    numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    words = OneHotEncoder(handle_unknown="ignore")
    columns = ColumnTransformer([("n", numbers, ["a", "b", "ä c", "d"]), ("w", words, ["town"])])
    model = fitted(make_pipeline(columns, TauFPL()), frame)
    given = {"pandas": frame, "polars": pl.from_pandas(frame), "pyarrow": pl.from_pandas(frame).to_arrow()}[kind]
    strange = frame.assign(town=["nowhere", *frame["town"][1:]])
    inputs = {name.replace(" ", "_"): strange[[name]].to_numpy() for name in frame.columns}
    inputs["town"] = inputs["town"].astype(object)
    check(to_onnx(model, given), inputs, model.decision_function(strange))


def test_written_whole(tmp_path: Path) -> None:
    model = fitted(TauFPL())
    graph = to_onnx(model, path=tmp_path / "model.onnx")
    assert (tmp_path / "model.onnx").read_bytes() == graph
    assert [path.name for path in tmp_path.iterdir()] == ["model.onnx"]


REFUSED: list[tuple[Any, str]] = [
    (TopPush(kernel="rbf"), r"TopPush with kernel='rbf' is not linear.*shortlist\.save.*without a kernel"),
    (RankBoost(n_estimators=3), "RankBoost is not linear"),
    (Reranker(LogisticRegression(), TopPush(), top=30), "Reranker is not linear"),
    (LogisticRegression(), "skl2onnx converts those of scikit-learn"),
    (make_pipeline(FunctionTransformer(np.cbrt), TauFPL()), "cannot be written as ONNX"),
]


@pytest.mark.parametrize(("model", "words"), REFUSED, ids=[name_of(model)[:30] for model, _ in REFUSED])
def test_what_is_not_linear(model: Any, words: str) -> None:
    with pytest.raises(TypeError, match=words):
        to_onnx(fitted(model))


@pytest.mark.filterwarnings("ignore::shortlist.exceptions.FileVersionWarning")
def test_exact_rankers_are_linear_where_they_have_weights() -> None:
    model = load(Path(__file__).parent / "golden" / "1-exact.shortlist")
    assert isinstance(model, ExactRanker)
    check(to_onnx(model), {"X": X[:, :3]}, model.decision_function(X[:, :3]))


def test_not_fitted() -> None:
    with pytest.raises(ValueError, match="not fitted"):
        to_onnx(TopPush())
    with pytest.raises(ValueError, match="not fitted"):
        to_onnx(Pipeline([("model", TopPush())]))


def test_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "skl2onnx", None)
    with pytest.raises(ImportError, match=r"shortlist\[onnx\]"):
        to_onnx(fitted(TauFPL()))
