"""Makes the golden files of the present version of the format: ``python -m tests.persist.golden.make``.

A file that is there is kept: what an older Shortlist wrote has to load for ever.  A new version of the format gets new
files beside the old ones.  ``expected.json`` holds the rows and the scores that each model gives them.
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from shortlist import ExactRanker, GradedRankSVM, MPRank, PatMat, RankSVM, Reranker, TauFPL, TopPush, save
from shortlist.persist._container import FORMAT_VERSION

FOLDER = Path(__file__).parent
ROWS = [[0.0, 0.5, 2.0], [1.0, -0.5, 0.0], [2.0, 1.5, 1.0], [0.25, 4.0, 2.0], [-1.0, 0.125, 0.0]]


def rows_of(name: str) -> Any:
    """What a model is asked: numbers, or a table with text and a hole."""
    if "table" not in name:
        return np.array(ROWS)
    frame = pd.DataFrame(ROWS, columns=["a", "ä b", "c"])
    frame["town"] = ["Zürich", "Αθήνα", "Zürich", "nowhere", "東京"]
    frame.loc[2, "a"] = np.nan
    return frame


def scores_of(model: Any, name: str) -> Any:
    rows = rows_of(name)
    if hasattr(model, "decision_function"):
        return model.decision_function(rows)
    return model.predict_proba(rows)[:, 1] if hasattr(model, "predict_proba") else model.predict(rows)


def models() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3)).round(2)
    y = (X[:, 0] + 0.5 * rng.normal(size=30) > 0.5).astype(int)
    table = pd.DataFrame(X, columns=["a", "ä b", "c"])
    table["town"] = np.where(y == 1, "Zürich", "Αθήνα")
    table.loc[::5, "town"] = "東京"
    table.loc[3, "a"] = np.nan
    columns = ColumnTransformer([("n", make_pipeline(SimpleImputer(), StandardScaler()), ["a", "ä b", "c"]),
                                 ("t", OneHotEncoder(handle_unknown="ignore"), ["town"])])  # fmt: skip
    ids = [("query", row % 3) for row in range(30)]
    exact = ExactRanker(time_limit=None, max_nodes=5, random_state=0)
    return {
        "toppush": TopPush().fit(X, y, groups=ids),
        "taufpl-float32": TauFPL(tau="auto").fit(X.astype(np.float32), y),
        "patmat-text-labels": PatMat().fit(X, np.where(y == 1, "żółw", "mrówka")),
        "ranksvm-kernel": RankSVM(kernel="rbf", loss="squared_hinge").fit(X, y),
        "graded": GradedRankSVM().fit(X, X[:, 0].round()),
        "mprank-two-targets": MPRank().fit(X, X[:, :2]),
        "exact": exact.fit(X, y),
        "unfitted": TopPush(C=2.0, loss="logistic"),
        "table": make_pipeline(columns, TauFPL()).fit(table, y),
        "reranked-table": make_pipeline(columns, Reranker(LogisticRegression(), exact, top=10)).fit(table, y),
        "forest": RandomForestClassifier(2, max_depth=2, random_state=0).fit(X, y),
        "reranked-boosting": Reranker(
            GradientBoostingClassifier(n_estimators=2, max_depth=2, random_state=0), TopPush(), top=10
        ).fit(X, y),
    }


def main() -> None:
    kept = FOLDER / "expected.json"
    expected = json.loads(kept.read_text()) if kept.exists() else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, model in models().items():
            path = FOLDER / f"{FORMAT_VERSION}-{name}.shortlist"
            if not path.exists():
                save(model, path)
                expected[path.stem] = None if name == "unfitted" else np.asarray(scores_of(model, name)).tolist()
    kept.write_text(json.dumps(expected, indent=1) + "\n")


if __name__ == "__main__":
    main()
