"""What a comparison concludes: tests by their formulas, the leaderboard, its tables."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from scipy import stats

from shortlist import compare
from shortlist.comparison import Comparison, Run
from tests.comparison.models import Column, rows


def made(
    figures: dict[str, Any], *, test: str = "t", level: float = 0.05, baseline: str | None = None, **more: Any
) -> Any:
    """A comparison with these figures, of five folds drawn twice."""
    n = len(next(iter(figures.values())))
    runs = {
        name: [Run({"auc": float(v), "p_norm_loss": 1 - float(v)}, 0.5, {}, **more) for v in values]
        for name, values in figures.items()
    }
    settings = {
        "rows": 1000,
        "places": [2] * n,
        "splits": n,
        "train": [800] * n,
        "test": [200] * n,
        "budget_in_words": "10 rows of 1,000",
        "statistical_test": test,
        "level": level,
        "baseline": baseline,
    }
    return Comparison(runs, ["auc", "p_norm_loss"], ["p_norm_loss"], settings)


def drawn(n: int = 10, seed: int = 0, **shifts: float) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    common = rng.normal(0.6, 0.05, size=n)
    return {name: common + shift + rng.normal(0, 0.01, size=n) for name, shift in shifts.items()}


class TestTests:
    def test_the_t_test_by_its_formula_and_holms_correction(self) -> None:
        figures = drawn(a=0.1, b=0.09, c=0.0, d=0.005)
        result = made(figures)
        found = {(test.first, test.second): test for test in result.tests()}
        assert len(found) == 6
        raw = {}
        for pair, test in found.items():
            gain = figures[pair[0]] - figures[pair[1]]
            error = np.sqrt((1 / 10 + 200 / 800) * np.var(gain, ddof=1))
            raw[pair] = 2 * stats.t.sf(abs(gain.mean()) / error, 9)
            assert gain.mean() > 0
            assert test.p == pytest.approx(raw[pair])
            half = stats.t.ppf(0.975, 9) * error
            assert (test.low, test.high) == pytest.approx((gain.mean() - half, gain.mean() + half))
            assert test.difference == pytest.approx(gain.mean())
        # Holm, step by step: the smallest times six, the next times five, none below its predecessor.
        largest = 0.0
        for step, pair in enumerate(sorted(raw, key=lambda one: raw[one])):
            largest = max(largest, min(1.0, (6 - step) * raw[pair]))
            assert found[pair].p_corrected == pytest.approx(largest)
            assert found[pair].significant == (largest <= 0.05)

    def test_wilcoxons(self) -> None:
        figures = drawn(a=0.02, b=0.0, c=0.015)
        for test in made(figures, test="wilcoxon").tests():
            expected = stats.wilcoxon(figures[test.first], figures[test.second], zero_method="zsplit").pvalue
            assert test.p == pytest.approx(expected)

    def test_a_baseline_leaves_fewer_pairs_to_correct_for(self) -> None:
        figures = drawn(a=0.012, b=0.0, c=0.011, d=0.0)
        alone = made(figures, baseline="b").tests()
        assert {frozenset((test.first, test.second)) for test in alone} == {frozenset(("b", one)) for one in "acd"}
        every = {frozenset((test.first, test.second)): test for test in made(figures).tests()}
        assert all(test.p_corrected <= every[frozenset((test.first, test.second))].p_corrected for test in alone)

    def test_the_level(self) -> None:
        figures = drawn(a=0.012, b=0.0)
        p = made(figures).tests()[0].p_corrected
        assert made(figures, level=p * 1.01).improvements() and not made(figures, level=p * 0.99).improvements()

    def test_equal_models(self) -> None:
        values = np.linspace(0.4, 0.6, 10)
        result = made({"a": values, "b": values})
        assert [test.p for test in result.tests()] == [1.0]
        assert result.winner() is None

    def test_one_model_and_one_split(self) -> None:
        assert made({"a": [0.5, 0.6]}).winner() is None
        assert made({"a": [0.5, 0.6]}).tests() == []
        one = made({"a": [0.5], "b": [0.9]})
        assert one.winner() is None
        assert one.leaderboard()[0].model == "b"
        assert np.isnan(one.leaderboard()[0].deviation)

    def test_undefined_splits_are_left_out(self) -> None:
        figures = drawn(a=0.1, b=0.0)
        short = {name: values[2:] for name, values in figures.items()}
        figures["a"][0] = figures["b"][1] = np.nan
        found = made(figures).tests()[0]
        assert found.p == pytest.approx(made(short).tests()[0].p)
        # No split at all: last, and nothing is said of it.
        figures["b"][:] = np.nan
        board = made(figures).leaderboard()
        assert [place.model for place in board] == ["a", "b"]
        assert made(figures).winner() is None


class TestLeaderboard:
    def test_means_deviations_and_intervals(self) -> None:
        figures = drawn(a=0.0, b=0.2)
        board = made(figures).leaderboard()
        assert [place.model for place in board] == ["b", "a"]
        for place in board:
            values = figures[place.model]
            assert place.mean == pytest.approx(values.mean())
            assert place.deviation == pytest.approx(values.std(ddof=1))
            half = stats.t.ppf(0.975, 9) * np.sqrt((0.1 + 0.25) * values.var(ddof=1))
            assert (place.low, place.high) == pytest.approx((values.mean() - half, values.mean() + half))
            assert place.seconds == 0.5
        assert [place.verdict for place in board] == ["best", "worse"]
        assert board[0].p is None and board[1].p == made(figures).tests()[0].p_corrected

    def test_losses_are_best_when_small(self) -> None:
        result = made(drawn(a=0.0, b=0.2))
        assert [place.model for place in result.leaderboard("p_norm_loss")] == ["b", "a"]
        assert result.winner("p_norm_loss") == result.winner() == "b"

    def test_a_winner_beats_every_other(self) -> None:
        assert made(drawn(a=0.1, b=0.0, c=0.0)).winner() == "a"
        result = made(drawn(a=0.1, b=0.0, c=0.0995))
        assert result.winner() is None
        assert sorted(place.verdict for place in result.leaderboard()) == ["best", "no proof of a difference", "worse"]

    def test_with_a_baseline_what_was_not_tested_says_so(self) -> None:
        board = {place.model: place for place in made(drawn(a=0.1, b=0.05, c=0.0), baseline="b").leaderboard()}
        assert (board["a"].verdict, board["b"].verdict, board["c"].verdict) == ("best", "worse", "not tested")
        assert board["c"].p is None

    def test_certificates(self) -> None:
        figures = {"a": [0.5, 0.6]}
        assert made(figures).leaderboard()[0].proof == "none"
        assert made(figures, gap=3e-5).leaderboard()[0].proof == "gap at most 3e-05"
        assert made(figures, gap=0.0).leaderboard()[0].proof == "proven optimal"

    def test_a_metric_that_was_not_measured(self) -> None:
        with pytest.raises(ValueError, match="'dcg' was not measured; there are auc, p_norm_loss"):
            made({"a": [0.5]}).scores("dcg")


class TestWords:
    def test_summaries(self) -> None:
        assert "is better than every other model" in made(drawn(a=0.1, b=0.0)).summary()
        level = made(drawn(a=0.1, b=0.0, c=0.0995)).summary()
        assert "do not tell it from" in level and "It is better than b by more than chance explains." in level
        assert made({"a": [0.5, 0.7]}).summary().startswith("a has the best mean AUC, 0.6")
        versus = made(drawn(a=0.1, b=0.05, c=0.0), baseline="b").summary()
        assert "Better than b by more than chance explains: a." in versus and "Worse than b: c." in versus
        same = made({"a": [0.5, 0.6, 0.7], "b": [0.5, 0.7, 0.6], "c": [0.4, 0.7, 0.6]}, baseline="b").summary()
        assert "No model is better than b" in same

    def test_markdown(self) -> None:
        result = made(drawn(**{"a|b": 0.1, "c": 0.0}))
        lines = result.to_markdown().splitlines()
        assert lines[0].startswith("AUC on the test rows of 10 splits; budget 10 rows of 1,000, k = 2 there.")
        table = [line for line in lines if line.startswith("|")]
        assert len(table) == 4
        assert len({len(line) for line in table}) == 1
        assert "a\\|b" in table[2] and "< 0.001" in table[3]
        assert str(result) == result.to_markdown()
        assert "Wilcoxon" in made(drawn(a=0.1, b=0.0), test="wilcoxon").to_markdown()

    def test_html_is_escaped(self) -> None:
        name = "<script>alert('x')</script> & \"y\""
        result = made(drawn(**{name: 0.1, "b": 0.0}))
        page = result.to_html()
        assert "<script" not in page
        assert "&lt;script&gt;" in page and "&amp;" in page
        assert page.count("<tr>") == 3 and page.count("<td>") == 16
        assert result._repr_html_() == page

    def test_frame(self) -> None:
        pytest.importorskip("pandas")
        result = made(drawn(a=0.0, b=0.2))
        frame = result.to_frame()
        assert frame.index.tolist() == ["b", "a"]
        assert frame.loc["b", "mean"] == pytest.approx(result.scores()["b"].mean())
        assert {"mean", "deviation", "low", "high", "p", "verdict", "seconds", "proof"} == set(frame.columns)

    def test_frame_without_pandas(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(__import__("sys").modules, "pandas", None)
        with pytest.raises(ImportError, match=r"shortlist\[frames\]"):
            made({"a": [0.5]}).to_frame()

    def test_titles(self) -> None:
        X, y = rows(60)
        metrics = {"mine_too": lambda labels, scores: 0.5}
        result = compare([Column()], X, y, metrics=metrics, cv=2, repeats=1)
        assert result.title() == "mine too"
        assert made({"a": [0.5]}).title() == "AUC"


def test_no_winner_among_copies_of_one_model() -> None:
    X, y = rows(90)
    result = compare({"a": Column(), "b": Column(), "c": Column(2)}, X, y, budget=9, metrics=["auc"], cv=3)
    verdicts = {place.model: place.verdict for place in result.leaderboard()}
    assert verdicts["a"] != "worse" and verdicts["b"] != "worse"
    p = {frozenset((test.first, test.second)): test.p for test in result.tests()}
    assert p[frozenset("ab")] == 1.0
    assert {frozenset(pair) for pair in combinations("abc", 2)} == set(p)
