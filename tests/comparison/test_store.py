"""A comparison's file: written whole, continued after an interruption, refused where it belongs to something else."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shortlist import compare
from shortlist.comparison import Comparison, Run, read, write
from tests.comparison.models import Column, Plain, rows


@pytest.fixture(autouse=True)
def _forget() -> None:
    Column.fits.clear()
    Column.asked.clear()


def lists(comparison: Comparison) -> dict[str, list[Any]]:
    """All but the seconds."""
    return {name: [(run.figures, run.chosen, run.proof) for run in runs] for name, runs in comparison.runs.items()}


def two(**settings: Any) -> dict[str, Any]:
    return {"a": (Column(**settings), {"at": [1, 2]}), "b": Plain()}


class TestContinuing:
    # Of each split seven fits count here: six within and the one that counts.
    @pytest.mark.parametrize("stop", [3, 7, 10, 20])
    def test_after_an_interruption(self, tmp_path: Path, stop: int, monkeypatch: pytest.MonkeyPatch) -> None:
        X, y = rows()
        whole = compare(two(), X, y, budget=12, cv=3, repeats=1)
        assert len(Column.fits) == 21
        Column.fits.clear()
        path = tmp_path / "comparison.json"
        fit = Column.fit

        def stopping(self: Column, *given: Any, **named: Any) -> Column:
            if len(Column.fits) == stop:
                raise KeyboardInterrupt
            return fit(self, *given, **named)

        monkeypatch.setattr(Column, "fit", stopping)
        with pytest.raises(KeyboardInterrupt):
            compare(two(), X, y, budget=12, cv=3, repeats=1, path=path)
        half = read(path)
        assert [len(runs) for runs in half.runs.values()] == [stop // 7, stop // 7]
        monkeypatch.undo()
        Column.fits.clear()
        assert lists(compare(two(), X, y, budget=12, cv=3, repeats=1, path=path)) == lists(whole)
        assert len(Column.fits) == 7 * (3 - stop // 7)
        assert lists(read(path)) == lists(whole)
        assert os.listdir(tmp_path) == ["comparison.json"]

    def test_half_of_one_speaks_of_the_splits_that_all_have(self, tmp_path: Path) -> None:
        X, y = rows()
        path = tmp_path / "half.json"
        stopping = {"b": Plain(), "a": Column(stop_after=2)}
        with pytest.raises(KeyboardInterrupt):
            compare(stopping, X, y, cv=4, repeats=1, path=path)
        half = read(path)
        assert {name: len(values) for name, values in half.scores().items()} == {"b": 2, "a": 2}
        assert len(half.runs["b"]) == 3
        assert len(half.leaderboard()) == 2

    def test_before_the_first_split_nothing_can_be_said(self, tmp_path: Path) -> None:
        X, y = rows()
        with pytest.raises(KeyboardInterrupt):
            compare([Column(stop_after=0)], X, y, path=tmp_path / "none.json")
        with pytest.raises(ValueError, match="continue the comparison"):
            read(tmp_path / "none.json").leaderboard()

    def test_what_is_done_is_not_done_again_and_models_may_be_added(self, tmp_path: Path) -> None:
        X, y = rows()
        path = tmp_path / "c.json"
        first = compare({"a": Column()}, X, y, cv=3, repeats=1, path=path)
        Column.fits.clear()
        again = compare({"a": Column()}, X, y, cv=3, repeats=1, path=path, level=0.1, test="wilcoxon")
        assert Column.fits == []
        assert again.settings["statistical_test"] == "wilcoxon"
        more = compare({"b": Column(2, tag="b"), "a": Column()}, X, y, cv=3, repeats=1, path=path)
        assert [one["tag"] for one in Column.fits] == ["b"] * 3
        assert lists(more)["a"] == lists(again)["a"] == lists(first)["a"]
        assert set(read(path).runs) == {"a", "b"}

    def test_figures_that_are_undefined_survive(self, tmp_path: Path) -> None:
        X, y = rows()
        metrics = {"odd": lambda labels, scores: math.nan, "auc": lambda labels, scores: 0.5}
        path = tmp_path / "c.json"
        result = compare([Column()], X, y, metrics=metrics, cv=2, repeats=1, path=path)
        assert all(math.isnan(run.figures["odd"]) for run in read(path).runs["Column"])
        assert result.leaderboard("odd")[0].model == "Column"
        assert "NaN" not in path.read_text()

    def test_settings_that_json_cannot_hold_are_told_by_their_repr(self, tmp_path: Path) -> None:
        X, y = rows()
        path = tmp_path / "c.json"
        models = {"a": (Column(), {"tag": [("x", 1)], "at": np.array([1, 2])})}
        result = compare(models, X, y, cv=2, repeats=1, path=path)
        assert result.runs["a"][0].chosen == {"tag": "('x', 1)", "at": 1}
        assert lists(read(path)) == lists(result)


class TestRefused:
    @pytest.mark.parametrize("what", ["X", "y", "groups", "weights"])
    def test_other_data(self, tmp_path: Path, what: str) -> None:
        X, y = rows()
        path = tmp_path / "c.json"
        given: dict[str, Any] = {"groups": None, "sample_weight": None}
        compare([Column()], X, y, cv=2, repeats=1, path=path, **given)
        before = path.read_text()
        if what == "X":
            X = X + 1e-9
        elif what == "y":
            y = 1 - y
        elif what == "groups":
            given["groups"] = np.arange(120) // 10
        else:
            given["sample_weight"] = np.full(120, 2.0)
        with pytest.raises(ValueError, match="other rows, labels, groups or weights"):
            compare([Column()], X, y, cv=2, repeats=1, path=path, **given)
        assert path.read_text() == before

    @pytest.mark.parametrize(
        "other", [{"cv": 3}, {"repeats": 2}, {"budget": 7}, {"metrics": ["auc"]}, {"random_state": 1}]
    )
    def test_another_plan(self, tmp_path: Path, other: dict[str, Any]) -> None:
        X, y = rows()
        path = tmp_path / "c.json"
        plan: dict[str, Any] = {"cv": 2, "repeats": 1, "budget": 30}
        compare([Column()], X, y, path=path, **plan)
        with pytest.raises(ValueError, match="other splits, metrics or budget"):
            compare([Column()], X, y, path=path, **(plan | other))

    def test_another_model_of_the_same_name(self, tmp_path: Path) -> None:
        X, y = rows()
        path = tmp_path / "c.json"
        compare({"a": Column()}, X, y, cv=2, repeats=1, path=path)
        for other in (Column(2), (Column(), {"at": [1, 2]}), Plain()):
            with pytest.raises(ValueError, match="the model 'a' has other settings"):
                compare({"a": other}, X, y, cv=2, repeats=1, path=path)

    def test_models_that_would_be_lost(self, tmp_path: Path) -> None:
        X, y = rows()
        path = tmp_path / "c.json"
        compare({"a": Column(), "b": Plain()}, X, y, cv=2, repeats=1, path=path)
        before = path.read_text()
        with pytest.raises(ValueError, match="holds b too"):
            compare({"a": Column()}, X, y, cv=2, repeats=1, path=path)
        assert path.read_text() == before

    @pytest.mark.parametrize(
        "text",
        ["", "{", "[]", '{"format": "other"}', '{"format": "shortlist comparison 1"}', "\ufeff\x00", "null", "3"],
    )
    def test_files_that_are_no_comparison(self, tmp_path: Path, text: str) -> None:
        path = tmp_path / "c.json"
        path.write_text(text)
        X, y = rows(60)
        with pytest.raises(ValueError, match="is no comparison"):
            compare([Column()], X, y, cv=2, repeats=1, path=path)
        assert path.read_text() == text

    def test_bytes(self, tmp_path: Path) -> None:
        path = tmp_path / "c.json"
        path.write_bytes(b"\xff\xfe\x00\x01")
        with pytest.raises(ValueError, match="is no comparison"):
            read(path)

    @pytest.mark.parametrize(
        "change",
        [
            lambda content: content.pop("runs"),
            lambda content: content["settings"].pop("fingerprint"),
            lambda content: content["runs"]["Column"][0].pop("gap"),
            lambda content: content["runs"]["Column"][0]["figures"].pop("auc"),
            lambda content: content["runs"].update(Column=[3]),
            lambda content: content.update(runs=[1, 2]),
            lambda content: content["runs"]["Column"].extend(content["runs"]["Column"] * 2),
            lambda content: content["runs"]["Column"][0].update(seconds="long"),
        ],
    )
    def test_parts_that_are_missing_or_wrong(self, tmp_path: Path, change: Any) -> None:
        X, y = rows(60)
        path = tmp_path / "c.json"
        compare([Column()], X, y, cv=2, repeats=1, path=path)
        content = json.loads(path.read_text())
        change(content)
        path.write_text(json.dumps(content))
        with pytest.raises(ValueError, match="is no comparison"):
            read(path)

    def test_a_fingerprint_without_models(self, tmp_path: Path) -> None:
        X, y = rows(60)
        path = tmp_path / "c.json"
        compare([Column()], X, y, cv=2, repeats=1, path=path)
        content = json.loads(path.read_text())
        content["settings"]["fingerprint"]["models"] = 3
        path.write_text(json.dumps(content))
        with pytest.raises(ValueError, match="lacks the models"):
            compare([Column()], X, y, cv=2, repeats=1, path=path)


class TestWrittenWhole:
    def test_a_write_that_fails_leaves_the_last_file(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        path = tmp_path / "c.json"
        path.write_text("before")
        good = Comparison({"a": [Run({"auc": 0.5}, 1.0, {})]}, ["auc"], [], {"splits": 1, "fingerprint": {"data": ""}})

        def full(*_: Any) -> None:
            raise OSError("no space left")

        monkeypatch.setattr("shortlist.comparison.store.os.replace", full)
        with pytest.raises(OSError, match="no space left"):
            write(path, good)
        assert path.read_text() == "before"
        assert os.listdir(tmp_path) == ["c.json"]
        monkeypatch.undo()
        write(path, good)
        assert lists(read(path)) == lists(good)

    def test_a_place_that_cannot_be_written_is_known_before_the_first_fit(self, tmp_path: Path) -> None:
        X, y = rows(60)
        with pytest.raises(OSError):
            compare([Column()], X, y, path=tmp_path / "absent" / "c.json")
        assert Column.fits == []

    def test_labels_and_names_of_any_script(self, tmp_path: Path) -> None:
        X, y = rows(60)
        path = tmp_path / "größe 表.json"
        compare({"Модель | <b>": Column()}, X, np.where(y == 1, "да", "no"), cv=2, repeats=1, path=path)
        assert read(path).names == ["Модель | <b>"]
        assert read(path).settings["positive_label"] == "да"
