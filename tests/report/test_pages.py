"""Reports as pages: well formed, alone, escaped, the same for the same input, and right in their figures."""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.sparse import csr_matrix
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

from shortlist import TopPush, metrics
from shortlist.comparison import Comparison, Run
from shortlist.report import Report, comparison_report, evaluation_report, write_report
from tests.report.reading import check

EVIL = "</script><script>alert(1)</script>\"'<img src=x onerror=alert(1)>&amp;\x00\ud800\u202e"


@pytest.fixture(scope="module")
def data() -> tuple[Any, Any, Any]:
    X, y = make_classification(600, 5, weights=[0.8], flip_y=0.05, random_state=0)
    return X, y, LogisticRegression().fit(X, y).decision_function(X)


def comparison(names: tuple[str, ...] = ("A", "B"), baseline: str | None = None, **changed: Any) -> Comparison:
    """A comparison without its fits; the models differ by 0.1 in the mean."""
    rng = np.random.default_rng(0)
    noise = rng.normal(0, 0.01, 10)
    runs = {
        name: [
            Run({"precision_at_budget": 0.7 - 0.1 * i + e, "positives_at_top": 5.0 - i}, 0.5, {"C": 1.0}, "proof", 1e-4)
            for e in noise + rng.normal(0, 0.003, 10)
        ]
        for i, name in enumerate(names)
    }
    settings = {
        "rows": 2000,
        "positives": 200,
        "columns": 5,
        "groups": None,
        "positive_label": "1",
        "budget": 100,
        "budget_in_words": "100 rows of 2,000",
        "places": [20] * 10,
        "splits": 10,
        "train": [1600] * 10,
        "test": [400] * 10,
        "statistical_test": "t",
        "level": 0.05,
        "baseline": baseline,
        "random_state": 3,
        "models": {name: f"{name}: Model(C=1) over None" for name in names},
    }
    return Comparison(runs, ["precision_at_budget", "positives_at_top"], [], settings | changed)


# One list


def test_an_evaluation_tells_what_the_metrics_measure(data: Any) -> None:
    X, y, scores = data
    report = evaluation_report(
        y,
        scores,
        budget=50,
        name="ours",
        others={"theirs": X[:, 0]},
        noun="cases",
        positive="fraud",
        settings={"seed": 7},
    )
    page = check(report.html)
    hits = round(50 * metrics.precision_at_k(y, scores, 50))
    fewer = round(50 * metrics.precision_at_k(y, X[:, 0], 50))
    assert report.summary.startswith(f"Of the first 50 cases, {hits} are fraud, against {fewer} with theirs.")
    assert str(report) == report.summary and report.summary.split(". ")[0] in page.text("p")
    ours, theirs = page.figures["lists"]
    assert ours["precision"] == metrics.precision_at_k(y, scores, 50)
    assert ours["auc"] == metrics.auc(y, scores)
    assert theirs["average_precision"] == metrics.average_precision(y, X[:, 0])
    assert ours["low"] < ours["precision"] < ours["high"]
    assert page.figures["settings"] == {"seed": "7"} and page.figures["budget"] == 50
    assert page.figures["lists"] == report.figures["lists"]
    assert len(page.all("figure")) == 6
    text = page.text()
    assert f"{hits} of 50 are fraud" in text and "seed" in text and "numpy" in text


def test_the_top_of_the_list_shows_the_rows(data: Any) -> None:
    X, y, scores = data
    table = pd.DataFrame(X, columns=list("abcde"), index=[f"row-{i}" for i in range(600)])
    page = check(evaluation_report(y, scores, table=table, top=7, max_columns=3).html)
    order = np.argsort(-scores, kind="stable")[:7]
    rows = [cells for cells in page.cells if cells and cells[0].isdigit()]
    assert [cells[1] for cells in rows] == [f"row-{i}" for i in order]
    assert [float(cells[4].replace("\N{MINUS SIGN}", "-")) for cells in rows] == pytest.approx(X[order, 0], abs=1e-3)
    assert "2 columns of the table are not shown. The other 593 rows are not in this file." in page.text("p")


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table, dict, "array", "sparse", None])
def test_every_kind_of_table_gives_the_same_rows(make: Any, data: Any) -> None:
    X, y, scores = data
    columns = {"id": [f"n{i}" for i in range(600)], "x": X[:, 0].round(2).tolist()}
    if make is None or isinstance(make, str):
        table = {"array": X, "sparse": csr_matrix(X), None: None}[make]
        page = check(evaluation_report(y, scores, table=table, ids=columns["id"], top=3).html)
    else:
        page = check(evaluation_report(y, scores, table=make(columns), ids="id", top=3).html)
    rows = [cells for cells in page.cells if cells and cells[0].isdigit()]
    assert [cells[1] for cells in rows] == [f"n{i}" for i in np.argsort(-scores, kind="stable")[:3]]
    if make is not None:
        assert rows[0][4] == rows[0][4].strip() != ""


def test_groups_weights_and_ties(data: Any) -> None:
    X, y, _ = data
    coarse = X[:, 1].round()
    groups, weights = np.arange(600) % 6, np.arange(600) % 3
    report = evaluation_report(y, coarse, budget=10, groups=groups, sample_weight=weights, others={"other": X[:, 0]})
    page = check(report.html)
    first = page.figures["lists"][0]
    assert first["precision"] == metrics.precision_at_k(y, coarse, 10, groups=groups, sample_weight=weights)
    assert report.summary.startswith("Of the first 10 rows of each group,")
    assert "on average" in report.summary
    weighted = evaluation_report(y, coarse, budget=30, sample_weight=weights, others={"other": X[:, 0]})
    assert "luck" not in weighted.summary
    assert "Place by place" not in check(weighted.html).text()


def test_a_model_is_described_with_its_certificate(data: Any) -> None:
    X, y, scores = data
    model = TopPush(C=0.1, tol=1e-2).fit(X[:80], y[:80])
    page = check(
        evaluation_report(y, scores, model=model, held_out=False, data="a.csv", command="shortlist evaluate").html
    )
    text = page.text()
    assert "TopPush is as good as its method can make it" in text
    assert "the figures flatter it" in text
    assert "shortlist evaluate" in page.text("code")
    assert "carries no certificate" in evaluation_report(y, scores, model=LogisticRegression().fit(X, y)).html


def test_labels_of_one_kind_still_give_a_page() -> None:
    for labels in (np.zeros(20, dtype=bool), np.ones(20, dtype=bool)):
        page = check(evaluation_report(labels, np.arange(20), budget=5).html)
        assert "Down the list" not in page.text()


# Markup


def test_nothing_from_the_data_becomes_markup(data: Any) -> None:
    X, y, scores = data
    labels = np.where(y == 1, EVIL, "plain")
    table = {EVIL: X[:, 0].tolist(), "text": [EVIL] * 600}
    arguments = {"noun": EVIL, "positive": EVIL, "title": EVIL, "data": EVIL, "command": EVIL, "settings": {EVIL: EVIL}}
    pages = [
        evaluation_report(
            labels,
            scores,
            pos_label=EVIL,
            name=EVIL,
            others={EVIL + "2": X[:, 0]},
            table=table,
            ids="text",
            groups=None,
            **arguments,
        ),
        evaluation_report(labels, scores, pos_label=EVIL, groups=np.where(y == 1, EVIL, "other"), budget=3),
        comparison_report(
            comparison((EVIL, "B"), positive_label=EVIL, budget_in_words=EVIL),
            y_score=scores,
            y_true=labels,
            table=table,
            name=EVIL,
            **arguments,
        ),
    ]
    for report in pages:
        page = check(report.html)  # two script elements, no img, no handler
        assert "alert(1)" in page.text()  # it is there, as text
        assert not re.search("[\x00\ud800\u202e]", report.html)
    assert check(pages[0].html).figures["lists"][0]["name"].startswith("</script><script>")


def test_a_browser_would_run_no_other_script(data: Any) -> None:
    _, y, scores = data
    html = evaluation_report(y, scores).html
    script = re.findall(r"<script>(.*?)</script>", html, re.DOTALL)
    assert len(script) == 1
    digest = b64encode(hashlib.sha256(script[0].encode()).digest()).decode()
    assert f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'" in html


def test_the_same_input_gives_the_same_bytes(data: Any) -> None:
    X, y, scores = data
    one, two = (evaluation_report(y, scores, table=X, others={"x": X[:, 0]}).html for _ in range(2))
    assert one == two
    assert comparison_report(comparison()).html == comparison_report(comparison()).html


def test_the_size_does_not_grow_with_the_rows() -> None:
    rng = np.random.default_rng(0)
    sizes = []
    for n in (2000, 60_000):
        y = rng.random(n) < 0.1
        table = {f"c{i}": np.zeros(n) for i in range(60)}
        sizes.append(len(evaluation_report(y, y + rng.normal(size=n), table=table, budget=0.1).html))
    assert sizes[1] < 1.5 * sizes[0] < 300_000


# Comparisons


def test_a_comparison_tells_its_leaderboard() -> None:
    report = comparison_report(comparison(("A", "B", "C")), noun="cases", positive="fraud", title="A or B?")
    page = check(report.html)
    board = comparison(("A", "B", "C")).leaderboard()
    assert report.title == "A or B?"
    first = f"Of the first 100 cases, about {round(100 * board[0].mean)} will be fraud with A"
    assert report.summary.startswith(f"{first}, against {round(100 * board[1].mean)} with B.")
    assert "better than every other model by more than chance explains" in report.summary
    assert [row["model"] for row in page.figures["leaderboard"]] == ["A", "B", "C"]
    assert [cells[1] for cells in page.cells if cells and cells[0] in "123"] == ["A", "B", "C"]
    text = page.text()
    assert "more than luck" in text and "gap at most 1e-04" in text and "Model(C=1)" in text


def test_a_baseline_is_what_the_leader_is_measured_against() -> None:
    report = comparison_report(comparison(("A", "B", "C"), baseline="C"))
    assert "with C." in report.summary.split(" Picked")[0]


def test_another_metric_has_words_of_its_own() -> None:
    result = comparison()
    swapped = Comparison(result.runs, ["positives_at_top"], ["positives_at_top"], result.settings)
    report = comparison_report(swapped)
    assert report.summary.startswith("B is best in positives at top: 4 on average.")
    assert "Less is better" in check(report.html).text()


def test_one_model_and_groups() -> None:
    report = comparison_report(comparison(("A",), groups=20, budget=0.1, positive_label="yes"))
    assert report.summary.startswith("Of the first 10 rows of each group, about 7 will be “yes” with A.")
    assert "nothing to compare it with" in check(report.html).text()


def test_the_list_of_the_chosen_model_can_be_shown(data: Any) -> None:
    X, y, scores = data
    report = comparison_report(
        comparison(), y_score=scores, y_true=y, table=X, model=LogisticRegression().fit(X, y), top=4
    )
    text = check(report.html).text()
    assert "The list of A. The model was fitted to these very rows" in text
    assert "The first 4 of 600 rows" in text and "LogisticRegression carries no certificate" in text
    assert "label" not in [cells[2:3] for cells in check(comparison_report(comparison(), y_score=scores).html).cells]


# Files


def test_a_report_is_written_whole_or_not_at_all(data: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, y, scores = data
    report = evaluation_report(y, scores)
    place = tmp_path / "report.html"
    assert write_report(place, report) == place
    assert place.read_text(encoding="utf-8") == report.html
    with pytest.raises(FileExistsError, match="pass overwrite=True"):
        write_report(place, report)
    other = Report("t", "s", "<p>", {})
    monkeypatch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        write_report(place, other, overwrite=True)
    monkeypatch.undo()
    assert place.read_text(encoding="utf-8") == report.html
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
    write_report(place, other, overwrite=True)
    assert place.read_text(encoding="utf-8") == "<p>"
    with pytest.raises(FileNotFoundError, match="does not exist; make it first"):
        write_report(tmp_path / "no" / "report.html", report)
    with pytest.raises(TypeError, match="takes a Report, got str"):
        write_report(place, "<p>")  # type: ignore[arg-type]


# What users hand in


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"top": -1}, "top must be a whole number"),
        ({"max_columns": True}, "max_columns must be a whole number"),
        ({"noun": " "}, "noun must be a word"),
        ({"budget": 0}, "budget must be"),
        ({"ids": "id"}, "ids='id' is no column of table; there are none"),
        ({"ids": [1]}, "ids has 1 entries and there are 4 scores"),
        ({"table": {"a": [1]}}, "rows has 1 rows and there are 4 scores"),
        ({"table": np.zeros((3, 2))}, "must be a table with the 4 rows"),
        ({"others": {"x": [1, 2]}}, r"others\['x'\]: y_true has 4 rows"),
    ],
)
def test_errors_say_what_to_do(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        evaluation_report([0, 1, 0, 1], [1, 2, 3, 4], **arguments)
