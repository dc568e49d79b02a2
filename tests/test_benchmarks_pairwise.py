"""The pairwise benchmarks, on little data."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks.peers import pairwise
from benchmarks.scaling import pairwise as scaling


def test_two_labels_are_certified_and_what_is_not_run_again_is_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "pairwise.json"
    report = pairwise.main(["--quick", "--C", "1", "100", "--json", str(path)])
    assert [line["loss"] for line in report["results"]] == 2 * list(pairwise.LOSSES)
    assert all(line["converged"] and line["proven"] <= 1.01e-4 for line in report["results"])
    assert report["misses"] == []
    assert "all certified, aims met" in capsys.readouterr().out
    again = pairwise.main(["--quick", "--C", "10", "--losses", "hinge", "--json", str(path)])
    assert [line["C"] for line in again["results"]] == [1] * 3 + [10] + [100] * 3
    assert json.loads(path.read_text()) == again


def test_misses_are_named() -> None:
    lines = [
        {"set": "w8a", "loss": "squared_hinge", "C": 1.0, "ratio": 3.5, "seconds": 1.0, "converged": True},
        {"set": "w8a", "loss": "hinge", "C": 1.0, "ratio": 3.5, "seconds": 9.0, "converged": False},
        {"set": "spambase", "loss": "hinge", "C": 1.0, "ratio": 3.5, "seconds": 2.5, "converged": True},
    ]
    assert pairwise.misses(lines) == [
        "squared_hinge on w8a, C = 1: 3.5 times LIBLINEAR, more than 3",
        "hinge on w8a, C = 1: not certified",
        "hinge on spambase, C = 1: more than 2 s",
    ]


def test_grades(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = pairwise.rankers(1)
    monkeypatch.setattr(pairwise, "rankers", lambda n: {k: found[k] for k in found if k.startswith("Graded")})
    report = pairwise.main(["--quick", "--grades", "--json", str(tmp_path / "grades.json")])
    assert len(report["results"]) == 4
    assert all(0.5 < line["ndcg"] <= 1 and line["proven"] <= 1.01e-4 for line in report["results"])
    assert "GradedRankSVM logistic, gap_power=1" in capsys.readouterr().out


@pytest.mark.parametrize(("kind", "module"), [("LightGBM", "lightgbm"), ("XGBoost ndcg", "xgboost")])
def test_boosted_rankers_where_installed(kind: str, module: str) -> None:
    pytest.importorskip(module)
    X, y, query = pairwise.make_graded(0)
    fit, settings = pairwise.boosted(kind, 1)
    scores = pairwise.predict(fit(X, y, query, **settings[0]), X)
    assert pairwise.by_query(y, scores, query).mean() > 0.8


def test_graded_sets_by_their_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHORTLIST_DATA", str(tmp_path))
    with pytest.raises(SystemExit, match="SHORTLIST_DATA"):
        pairwise.load_graded("mslr10k_sample")
    rng = np.random.default_rng(0)
    dense, thin = tmp_path / "mslr10k_sample", tmp_path / "lightgbm_rank"
    arrays = {}
    for part in ("train", "test"):
        arrays |= {f"X_{part}": 100 * rng.random((6, 3)), f"y_{part}": np.arange(6) % 3}
        arrays |= {f"qid_{part}": np.arange(6) // 3}
    dense.mkdir()
    np.savez(dense / "mslr10k_sample.npz", **arrays)
    X, y, query = pairwise.load_graded("mslr10k_sample")["train"]
    np.testing.assert_allclose(X.mean(axis=0), 0, atol=1e-12)
    assert y.tolist() == [0, 1, 2, 0, 1, 2] and query.tolist() == [0, 0, 0, 1, 1, 1]
    arrays = {"n_features": np.array(4)}
    for part in ("train", "test"):
        arrays |= {f"data_{part}": np.array([2.0, 4.0]), f"indices_{part}": np.array([0, 3], dtype=np.int16)}
        arrays |= {f"indptr_{part}": np.array([0, 1, 2]), f"y_{part}": np.arange(2), f"qid_{part}": np.zeros(2)}
    thin.mkdir()
    np.savez(thin / "lightgbm_rank.npz", **arrays)
    X, _, _ = pairwise.load_graded("lightgbm_rank")["test"]
    np.testing.assert_array_equal(X.toarray(), [[1, 0, 0, 0], [0, 0, 0, 1]])
    assert pairwise.sizes(np.array([3, 3, 1])).tolist() == [2, 1]


def test_scaling(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "scaling.json"
    report = scaling.main(["--quick", "--json", str(path)])
    assert [r["rows"] for r in report["results"]] == [2_000, 4_000]
    assert report["verdicts"][0]["certified"]
    assert "slope" in capsys.readouterr().out
    for method, form in (("grades", "sparse"), ("hinge", "dense")):
        found = scaling.measure(method, form, 500, 10.0, 1, 1)
        assert found["converged"]
        assert found["beyond_bytes_a_row"] >= 0
