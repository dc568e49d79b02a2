"""What is saved comes back: every estimator of the house, and scikit-learn's around and inside of it."""

from __future__ import annotations

import datetime
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from shortlist import ExactRanker, OnlineMPRank, Reranker, TauFPL, TopPush, load, save
from shortlist.exceptions import FileVersionWarning
from tests.common.estimators import ALL, REGRESSORS, clouds, name_of

X, y = clouds()
LIMITS: dict[str, Any] = {"time_limit": None, "max_nodes": 5, "random_state": 0}


def table() -> pd.DataFrame:
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["town"] = np.where(y == 1, "Zürich", "Αθήνα")
    frame.loc[::7, "town"] = "東京"
    frame.loc[3, "a"] = np.nan
    return frame


def prepared(model: Any) -> Any:
    numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    words = OneHotEncoder(handle_unknown="ignore", dtype=np.float64)
    return make_pipeline(ColumnTransformer([("numbers", numbers, list("abcd")), ("words", words, ["town"])]), model)


def scores(model: Any, rows: Any) -> Any:
    for method in ("decision_function", "predict_proba", "predict"):
        if hasattr(model, method):
            return getattr(model, method)(rows)
    raise AssertionError(model)


def fitted(model: Any, rows: Any = X, labels: Any = y, **more: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return clone(model).fit(rows, labels, **more)


def back(model: Any, folder: Path) -> Any:
    save(model, folder / "model.shortlist")
    return load(folder / "model.shortlist")


def check(model: Any, rows: Any, folder: Path) -> Any:
    again = back(model, folder)
    assert type(again) is type(model)
    first, second = scores(model, rows), scores(again, rows)
    assert first.dtype == second.dtype
    np.testing.assert_array_equal(first, second)
    return again


@pytest.mark.parametrize("estimator", [*ALL, *REGRESSORS], ids=name_of)
def test_every_estimator(estimator: Any, tmp_path: Path) -> None:
    model = fitted(estimator)
    again = check(model, X, tmp_path)
    assert repr(again) == repr(model)
    assert repr(getattr(again, "certificate_", None)) == repr(getattr(model, "certificate_", None))
    np.testing.assert_array_equal(again.rank(X), model.rank(X))


@pytest.mark.parametrize("estimator", [TopPush(C=3.0, loss="logistic"), Reranker(LogisticRegression(), top=0.5)])
def test_unfitted(estimator: Any, tmp_path: Path) -> None:
    again = back(estimator, tmp_path)
    assert repr(again) == repr(estimator)
    assert not hasattr(again, "classes_")


def test_pipeline_of_a_table(tmp_path: Path) -> None:
    frame = table()
    again = check(fitted(prepared(TauFPL()), frame), frame, tmp_path)
    strange = frame.assign(town="nowhere")
    assert np.isfinite(again.decision_function(strange)).all()


BASES = [
    LogisticRegression(),
    GradientBoostingClassifier(n_estimators=3, random_state=0),
    HistGradientBoostingClassifier(max_iter=3, random_state=0),
    RandomForestClassifier(4, random_state=0),
    BaggingClassifier(n_estimators=2, random_state=0),
    AdaBoostClassifier(n_estimators=3, random_state=0),
]


@pytest.mark.parametrize("base", BASES, ids=lambda base: type(base).__name__)
def test_reranked_bases(base: Any, tmp_path: Path) -> None:
    check(fitted(Reranker(base, ExactRanker(**LIMITS), top=30)), X, tmp_path)
    check(fitted(base), X, tmp_path)


def test_boosting_with_categories(tmp_path: Path) -> None:
    frame = table()
    frame["town"] = frame["town"].astype("category")
    rows = np.column_stack([X, np.arange(len(X)) % 5])
    model = HistGradientBoostingClassifier(max_iter=3, categorical_features=[4], min_samples_leaf=3)
    check(fitted(model, rows), rows, tmp_path)


@pytest.mark.parametrize(
    "model",
    [
        GridSearchCV(TopPush(), {"C": [0.1, 1.0]}, cv=2),
        GridSearchCV(TopPush(), {"C": [0.1, 1.0]}, cv=2, scoring="average_precision"),
        CalibratedClassifierCV(TopPush(), cv=2),
        prepared(Reranker(HistGradientBoostingClassifier(max_iter=2), ExactRanker(**LIMITS), top=30)),
        make_pipeline(FunctionTransformer(np.exp), TopPush()),
    ],
    ids=["search", "search by a metric", "calibrated", "prepared", "function of numpy"],
)
def test_scikit_learn_around_ours(model: Any, tmp_path: Path) -> None:
    rows = table() if "columntransformer" in getattr(model, "named_steps", {}) else X
    again = check(fitted(model, rows), rows, tmp_path)
    assert again.score(rows, y) == fitted(model, rows).score(rows, y)


@pytest.mark.parametrize(
    "kernel", ["rbf", "laplacian", "tanimoto", [("rbf", 1.0), ("linear", 2.0)], RBF(0.7) + WhiteKernel()], ids=str
)
def test_kernels(kernel: Any, tmp_path: Path) -> None:
    check(fitted(TopPush(kernel=kernel, random_state=0), np.abs(X)), np.abs(X), tmp_path)


def test_forms_of_data(tmp_path: Path) -> None:
    few = sparse.csr_array(X * (X > 0))
    check(fitted(TopPush(kernel="rbf"), few), few, tmp_path)
    check(fitted(TopPush(), X.astype(np.float32)), X.astype(np.float32), tmp_path)
    check(fitted(TopPush(kernel="precomputed"), X @ X.T), X @ X.T, tmp_path)
    check(fitted(TopPush(random_state=np.random.RandomState(3), kernel="rbf", n_landmarks=20)), X, tmp_path)
    check(fitted(TopPush(random_state=np.random.default_rng(3), kernel="rbf", n_landmarks=20)), X, tmp_path)
    check(fitted(TopPush(), X, np.where(y == 1, "żółw", "mrówka")), X, tmp_path)


@pytest.mark.parametrize(
    "ids",
    [
        [f"query {row % 7}" for row in range(len(X))],
        [("a", row % 7) for row in range(len(X))],
        [2**70 + row % 7 for row in range(len(X))],
        [datetime.date(2020, 1, 1 + row % 7) for row in range(len(X))],
        [f"many {row // 3}" for row in range(len(X))],
        [row // 3 for row in range(len(X))],
    ],
    ids=["text", "tuples", "large", "dates", "many texts", "many numbers"],
)
def test_ids_of_groups(ids: list[Any], tmp_path: Path) -> None:
    model = fitted(TopPush(), groups=ids)
    again = check(model, X, tmp_path)
    assert again.thresholds_ == model.thresholds_
    assert [*map(type, again.thresholds_)] == [*map(type, model.thresholds_)]


def test_a_model_goes_on_learning(tmp_path: Path) -> None:
    model = OnlineMPRank().partial_fit(X[:60], y[:60])
    again = back(model, tmp_path)
    more = (X[60:], y[60:])
    np.testing.assert_array_equal(model.partial_fit(*more).coef_, again.partial_fit(*more).coef_)
    warm = fitted(TopPush(warm_start=True))
    assert fitted(warm).n_iter_ >= back(warm, tmp_path).fit(X, y).n_iter_


def by_hand(A: Any, B: Any) -> Any:
    return A @ B.T


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (fitted(TopPush(kernel=by_hand)), r"TopPush.kernel is the function by_hand"),
        (ExactRanker(callback=print), "callback is the function print"),
        (Reranker(KNeighborsClassifier()), "KNeighborsClassifier.*not on the list of trusted types"),
        (TopPush(C=object()), "TopPush.C is a builtins.object"),  # type: ignore[arg-type]
        (TopPush(gamma=dict), "TopPush.gamma is the class builtins.dict"),
        (TopPush(gamma=np.zeros(2, dtype="i4,f8")), "an array of"),
        ("a model", "takes an estimator"),
    ],
    ids=["kernel", "callback", "neighbours", "object", "class", "records", "text"],
)
def test_what_no_file_may_hold(model: Any, words: str, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=words):
        save(model, tmp_path / "model.shortlist")
    assert list(tmp_path.iterdir()) == []


def test_a_model_within_itself(tmp_path: Path) -> None:
    model = Reranker(TopPush())
    model.base = model
    with pytest.raises(ValueError, match=r"Reranker\.base refers back"):
        save(model, tmp_path / "model.shortlist")


def test_files_are_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "model.shortlist"
    save(TopPush(C=2.0), path)
    before = path.read_bytes()

    def full(descriptor: int) -> None:
        raise OSError("no space left on the device")

    with monkeypatch.context() as patch, pytest.raises(OSError, match="no space"):
        patch.setattr("os.fsync", full)
        save(TopPush(C=3.0), path)
    assert [*tmp_path.iterdir()] == [path]
    assert path.read_bytes() == before
    with pytest.raises(FileExistsError, match="overwrite=True"):
        save(TopPush(C=3.0), path, overwrite=False)
    save(TopPush(C=3.0), path)
    assert load(path).C == 3.0
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "nothing")


def test_other_versions_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("shortlist.persist.sklearn_version", "0.1")
        save(TopPush(), tmp_path / "model")
    with pytest.warns(FileVersionWarning, match=r"scikit-learn 0\.1"):
        load(tmp_path / "model")


def test_skops_is_named_where_it_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "skops.io", None)
    save(TopPush(), tmp_path / "ours")
    assert load(tmp_path / "ours").C == 1.0
    with pytest.raises(ImportError, match=r"shortlist\[files\]"):
        save(LogisticRegression(), tmp_path / "theirs")
