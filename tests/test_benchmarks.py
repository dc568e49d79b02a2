"""Every benchmark runs: on small generated data, with everything that it prints checked for form only."""

import doctest
import gzip
import json

import numpy as np
import pytest
from scipy import sparse
from sklearn.ensemble import HistGradientBoostingClassifier

from benchmarks import _common
from benchmarks.papers import (
    _protocol,
    _ratings,
    _rerank,
    _rerank_proofs,
    infinite_push,
    magnitude,
    multiscale,
    rerank,
    top_push,
)
from benchmarks.peers import magnitude as peers_magnitude
from benchmarks.peers import rerank as peers_rerank
from benchmarks.peers import top as peers
from benchmarks.scaling import magnitude_costs
from benchmarks.scaling import metrics as scaling_metrics
from benchmarks.scaling import top as scaling
from shortlist.datasets import DownloadError, make_gaussians


@pytest.mark.parametrize("module", [_common, _rerank, scaling])
def test_examples(module):
    result = doctest.testmod(module, extraglobs={"np": np})
    assert result.attempted > 0
    assert result.failed == 0


def test_unit_range_keeps_sparse_rows_sparse():
    X = sparse.csr_array(np.array([[0.0, 4.0, 0.0], [2.0, 1.0, 0.0]]))
    scaled = _common.unit_range(X)
    assert sparse.issparse(scaled)
    assert scaled.indices.dtype == np.int32
    np.testing.assert_array_equal(scaled.toarray(), [[0, 1, 0], [1, 0.25, 0]])
    np.testing.assert_array_equal(X.data, [4, 2, 1])
    with pytest.raises(ValueError, match="below 0"):
        _common.unit_range(-X)


def test_absent_data_are_named(monkeypatch):
    def absent(name):
        raise DownloadError("no network")

    monkeypatch.setattr(_common, "load", absent)
    monkeypatch.delenv("SHORTLIST_DATA", raising=False)
    with pytest.raises(SystemExit, match="SHORTLIST_DATA"):
        _common.load_scaled("w8a")
    with pytest.raises(SystemExit, match="SHORTLIST_DATA"):
        infinite_push.load_screening("cdk2")


def test_peers(capsys, tmp_path):
    path = tmp_path / "new" / "peers.json"
    report = peers.main(["--quick", "--C", "1", "--json", str(path)])
    methods = {row["method"]: row for row in report["results"]}
    assert set(methods) == set(peers.METHODS)
    assert methods["TopPush"]["relative_gap"] <= 1e-4
    assert methods["nesterov"]["objective"] >= methods["TopPush"]["objective"] * (1 - 1e-4)
    assert "TopPush/LIBLINEAR" in capsys.readouterr().out
    assert json.loads(path.read_text())["threads"] == 1


def test_certificates_of_all_losses():
    report = peers.main(["--quick", "--losses", "--C", "1"])
    assert report["passed"]
    assert {(row["loss"], row["tol"]) for row in report["results"]} == {
        (loss, tol) for loss in ("squared_hinge", "hinge", "logistic", "exponential") for tol in (1e-4, 1e-8)
    }


def test_misses_are_told_apart():
    rows = [
        {"set": "a", "C": 1.0, "rows": 5000, "reached": True, "method": method, "seconds": seconds}
        for method, seconds in (("TopPush", 4.0), ("LIBLINEAR LR", 1.0), ("nesterov", 30.0))
    ]
    summary = peers.sum_up(rows, cap=20.0)
    assert summary["failed"] == {"LIBLINEAR": ["a C=1 (4.0x)"], "nesterov": ["a C=1 (7.5x)"]}


def test_scaling_of_metrics(capsys, tmp_path):
    path = tmp_path / "metrics.json"
    report = scaling_metrics.main(["--quick", "--json", str(path)])
    assert len(report["results"]) == 16
    assert all(result["ratio"] > 0 for result in report["results"])
    assert report["passed"] == all(result["ratio"] <= result["aim"] for result in report["results"])
    assert json.loads(path.read_text())["rows"] == 2000
    assert "evaluate ms" in capsys.readouterr().out


def test_scaling(capsys):
    report = scaling.main(["--quick"])
    assert [row["rows"] for row in report["results"]] == [2_000, 4_000]
    assert all(row["relative_gap"] <= 1e-4 for row in report["results"])
    assert "slope" in capsys.readouterr().out


@pytest.mark.parametrize("make", [scaling.make_dense, scaling.make_sparse])
def test_scaling_data(make):
    X, y = make(2_000)
    assert X.shape[0] == len(y) == 2_000
    assert 0.05 < y.mean() < 0.12
    assert X.min() >= 0
    assert X.max() <= 1
    again, _ = make(2_000)
    assert abs(X - again).max() == 0


def test_top_push_paper(capsys):
    results = top_push.main(["--quick"])["made"]
    assert set(results) == {"TopPush", "TauFPL", "LR"}
    assert all(len(trials.figures["pos_at_top"]) == 2 for trials in results.values())
    assert "Pos@Top" in capsys.readouterr().out


@pytest.mark.parametrize("full", [True, False])
@pytest.mark.parametrize("name", top_push.SETS)
def test_top_push_methods_have_parameters_to_choose_from(name, full):
    for method in top_push.methods_for(name, np.array([0, 1, 1]), full).values():
        assert all(len(values) > 0 for values in method.grid.values())
        assert set(method.extends) <= set(method.grid)
        method.build(*(values[0] for values in method.grid.values()))


def test_infinite_push_paper():
    results = infinite_push.main(["--quick"])["made"]
    assert set(results) == {"InfinitePush", "RankBoost", "LR"}
    joined = infinite_push.joined([results, infinite_push.main(["--quick"])["made"]])
    assert len(joined["LR"].figures["auc"]) == 4


@pytest.mark.parametrize(
    ("module", "methods"),
    [(infinite_push, ["RankBoost"]), (top_push, ["LR"])],
    ids=["infinite push", "top push"],
)
def test_rows_that_are_not_asked_for_stay(module, methods, tmp_path):
    path = tmp_path / "found.json"
    whole = module.main(["--quick", "--json", str(path)])["made"]
    for options in (["--methods", *methods], ["--show"]):
        again = module.main(["--quick", *options, "--json", str(path)])["made"]
        assert {key: trials.figures for key, trials in again.items()} == {key: whole[key].figures for key in whole}
    stored = json.loads(path.read_text())["sets"]["made"]
    assert set(stored["methods"]) == set(stored["settings"]["grids"]) == set(whole)


@pytest.mark.parametrize("full", [True, False])
@pytest.mark.parametrize("name", infinite_push.SETS)
def test_the_papers_systems_are_all_run(name, full):
    assert set(infinite_push.PAPER[name]) <= set(infinite_push.methods_for(name, full, quick=False))
    for name, found in top_push.PAPER.items():
        assert set(found) <= set(top_push.methods_for(name, np.array([0, 1, 1]), full))


def test_the_range_ends_at_the_highest_negative():
    X, y = _common.make_noisy(80, 3, share=0.4, seed=1)
    top = _protocol.METHODS["SVMpAUC"].build(1.0).fit(X, y)
    assert top.max_fpr == 1 / int((y == 0).sum())
    push = _protocol.METHODS["InfinitePush"].build(1.0).fit(X, y)
    assert top.certificate_.primal == pytest.approx(push.certificate_.primal, rel=3e-4)
    assert _protocol.choose(_protocol.METHODS["RankBoost"], X, y, "auc", seed=0) == ()


class Noisy:
    """The larger C, the nearer the scores are to the one feature, which is right."""

    def __init__(self, C):
        self.C = C

    def fit(self, X, y):
        return self

    def decision_function(self, X):
        return X[:, 0] + 1e3 / self.C * np.sin(1e3 * X[:, 0])


def test_grids_are_extended_while_the_best_is_at_the_end():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 50)
    X = (rng.normal(size=100) + 5 * y)[:, None]
    method = _protocol.Method(Noisy, {"C": (1.0, 10.0)})
    assert _protocol.choose(method, X, y, "average_precision", seed=0) == (1000.0,)
    fixed = _protocol.Method(Noisy, {"C": (1.0, 10.0)}, extends=())
    assert _protocol.choose(fixed, X, y, "average_precision", seed=0) == (10.0,)
    X[:] = 0  # no positive at the top anywhere: nothing to follow
    assert _protocol.choose(method, X, y, "pos_at_top", seed=0) == (1.0,)


def test_marks():
    ours, same, worse = (_protocol.Trials() for _ in range(3))
    for k in range(10):
        ours.add({"auc": 0.9 + 0.001 * k})
        same.add({"auc": 0.9 + 0.001 * k})
        worse.add({"auc": 0.8 + 0.002 * k})
    assert [_protocol.marks(a, b, "auc") for a, b in ((ours, same), (ours, worse), (worse, ours))] == [
        "",
        "●",
        "○",
    ]


def test_results_of_sets_are_kept_side_by_side(tmp_path):
    trials = _protocol.Trials()
    trials.add({"auc": 0.5})
    path = tmp_path / "results.json"
    for name in ("a", "b"):
        _protocol.save(path, {"python": "3"}, name, {"grids": {}}, {"LR": trials})
    assert set(json.loads(path.read_text())["sets"]) == {"a", "b"}


def test_rerank_paper(capsys, tmp_path):
    path = tmp_path / "rerank.json"
    results = rerank.main(["--quick", "--seconds", "60", "--json", str(path)])
    made = results["tables_1_2"]["made"]
    assert set(made) >= {"LR", "SVM", "top 20", "all"}
    for split in range(2):  # the search starts at the base's weights
        assert made["all"].figures["train"][split] >= made["LR"].figures["train"][split] - 0.01
    assert made["all"].figures["proven"] == [1.0, 1.0]
    assert set(results["table_3"]["made"]) == set(results["table_4"]["made"]) == {"1e-02", "1e-04"}
    stored = json.loads(path.read_text())
    assert stored["tables_1_2"]["made"]["methods"]["LR"]["figures"] == made["LR"].figures
    assert stored["table_3"]["made"]["top"] == 20
    assert rerank.proofs_in({"made": {"LR": made["LR"]}}) == "no search was run"
    assert "natural logarithms" in capsys.readouterr().out
    again = ["--quick", "--tables", "1", "--json", str(path)]
    for chosen in (["--show"], ["--methods", "LR"]):  # the others are as they were kept
        found = rerank.main([*again, *chosen])["tables_1_2"]["made"]
        assert {key: trials.figures for key, trials in found.items()} == {key: made[key].figures for key in made}
    assert rerank.earlier(path, "tables_1_2", "made", 3) == {}  # other splits
    assert rerank.earlier(tmp_path / "none.json", "tables_1_2", "made", 2) == {}


def test_rerank_paper_takes_boosting_when_it_is_there(monkeypatch):
    class Boosting:
        def __init__(self, p=1):
            self.p = p

        def fit(self, X, y):
            self.seen = len(y)
            return self

    monkeypatch.setattr(rerank.shortlist, "RankBoost", Boosting, raising=False)
    monkeypatch.setattr(rerank.shortlist, "PNormPush", Boosting, raising=False)
    fits = rerank.baselines()
    X, y = np.eye(3), np.array([0, 1, 0])
    assert [fits[name](X, y).p for name in ("RankBoost", "P-Norm Push")] == [1, 2]


def test_rerank_paper_splits_are_halves():
    for X, y, X_test, y_test in rerank.halves("made", 2):
        assert len(X) == len(y) == len(X_test) == len(y_test) == 60


def test_rerank_solver_beside_branch_and_bound(capsys, tmp_path):
    path = tmp_path / "solver.json"
    found = rerank.main(["--quick", "--solver", "--json", str(path)])["made:60"]
    solvers = ("printed", "tight", "branch and bound")
    assert set(solvers) <= set(found)
    best = max(found[solver]["value"] for solver in solvers)
    for solver in solvers:
        assert found[solver]["value"] >= found["logistic_regression"] - 1e-9
        assert found[solver]["bound"] is None or found[solver]["bound"] >= best - 1e-9
    assert json.loads(path.read_text())["solver"]["made:60"]["rows"] == 60
    assert "branch and bound" in capsys.readouterr().out


def test_rerank_proofs(capsys, tmp_path):
    path = tmp_path / "proofs.json"
    found = rerank.main(["--quick", "--proofs", "--seconds", "60", "--json", str(path)])
    assert {"proven", "close", "large", "without"} <= set(found)
    assert all(found["without"]["made:60"][part]["gap"] == 0 for part in _rerank_proofs.WITHOUT)
    for part in ("proven", "close", "large"):
        figures = found[part]["made:60"]
        assert figures["proven"]
        assert figures["logistic_regression"] <= figures["value"] <= figures["bound"] <= figures["trivial_bound"]
    assert json.loads(path.read_text())["proven"]["made:60"]["proven"]
    assert "no mistake" in capsys.readouterr().out


def test_rerank_proofs_know_their_cases(monkeypatch):
    monkeypatch.setattr(_rerank_proofs, "available", lambda: False)
    options = type("", (), {"cases": ["pima:100"], "quick": False, "json": None, "seconds": 1.0})
    measurement = _rerank_proofs.Measurement(options)
    assert measurement.cases(_rerank_proofs.CLOSE) == ["pima:100"]
    assert measurement.cases(_rerank_proofs.PROVEN) == []
    measurement.arrays()  # says that there is nothing to compare with
    assert measurement.found == {}


def test_a_problem_of_the_top_is_the_definition():
    problem, w = _rerank.top_problem("made", 20)
    X, y = _rerank.load_set("made")
    rows = np.argsort(-(X @ w), kind="stable")[:20]
    scores = X[rows] @ (w / np.abs(w).max())
    beaten = (scores[:, np.newaxis] - scores >= 1e-4).sum(axis=1)
    by_hand = sum(1 / np.log2(20 - beaten[i] + 1) for i in np.flatnonzero(y[rows]))
    assert problem.value(w / np.abs(w).max()) == pytest.approx(by_hand)


def test_significant_changes_are_marked():
    worse, better = [1.0, 1.1, 1.2, 1.3], [2.0, 2.1, 2.3, 2.3]
    assert _rerank.changes(better, worse) == "<.001 ●"
    assert _rerank.changes(worse, better) == "<.001 ○"
    assert _rerank.changes([1.0, 2.0, 3.0], [1.1, 1.9, 3.0]) == "1.000"
    assert _rerank.changes(worse, worse) == "-"


def test_the_papers_sets_as_its_tables_have_them(monkeypatch):
    nhanes = type("", (), {"data": np.ones((700, 3)), "target": np.arange(700) % 2, "feature_names": ["a", "wt", "b"]})
    years = type("", (), {"data": np.arange(6.0)[:, None], "target": np.arange(6), "groups": np.repeat([3, 9], 3)})
    monkeypatch.setattr(_rerank, "load_scaled", lambda name: (np.zeros((1, 1)), np.zeros(1)))
    monkeypatch.setattr(_rerank, "load_nhanes", lambda: nhanes)
    monkeypatch.setattr(_rerank, "load_polypharm", lambda complete: years)
    monkeypatch.setattr(_rerank, "load_set", _rerank.load_set.__wrapped__)
    assert _rerank.load_set("nhanes")[0].shape == (600, 2)
    chosen = _rerank.load_set("polypharm")[1]
    assert (chosen // 3).tolist() == [0, 1]  # a year of each subject
    assert len(_rerank.load_whole("polypharm")[1]) == 6
    assert len(_rerank.load_whole("nhanes")[1]) == 1
    assert _rerank.load_set("gaussians")[0].shape == _rerank.load_whole("gaussians")[0].shape == (1250, 2)


def test_the_gaussians_of_the_tables_have_two_strays():
    strays = [int((make_gaussians(random_state=seed)[0][:, 0] > 5).sum()) for seed in range(_rerank.TWO_STRAYS + 1)]
    assert strays[-1] == 2
    assert 2 not in strays[:-1]


def test_rerank_over_boosting(capsys, tmp_path):
    path = tmp_path / "peers.json"
    found = peers_rerank.main(["--quick", "--threads", "1", "--json", str(path)])["made"]
    assert list(found) == ["boosting alone", *(variant.name for variant in peers_rerank.VARIANTS)]
    assert all(len(figures["dcg"]) == 2 for figures in found.values())
    assert "rivals" not in found["boosting alone"]
    assert found["top 100"]["rivals"] == [1.0, 1.0]
    assert json.loads(path.read_text())["sets"]["made"]["rows"] == 600
    assert "boosting alone" in capsys.readouterr().out


def test_remembered_boosting_is_boosting():
    X, y = _common.make_noisy(80, 3, share=0.4, seed=1)
    plain = HistGradientBoostingClassifier(random_state=0).fit(X, y).decision_function(X)
    for _ in range(2):  # fitted, then remembered
        np.testing.assert_array_equal(peers_rerank.base().fit(X, y).decision_function(X), plain)
    other = peers_rerank.base().fit(X[:60], y[:60]).decision_function(X)
    assert not np.array_equal(other, plain)


def test_boosting_takes_sparse_rows_made_dense():
    assert peers_rerank.dense(sparse.csr_array(np.eye(2))).tolist() == [[1, 0], [0, 1]]


def test_scaling_of_the_magnitude_costs(capsys, tmp_path):
    path = tmp_path / "costs.json"
    report = magnitude_costs.main(["--quick", "--json", str(path)])
    assert {row["form"] for row in report["passes"]} == set(magnitude_costs.FORMS)
    assert all(row["by merit"] <= magnitude_costs.AIM for row in report["passes"])
    assert magnitude_costs.bundle.SHARE_KEPT > 0  # put back
    assert "slope of the seconds" in capsys.readouterr().out
    assert json.loads(path.read_text())["rows"] == 500


def test_peers_of_the_magnitude_rankers(capsys, tmp_path):
    path = tmp_path / "magnitude.json"
    peers_magnitude.main(["--quick", "--only", "pairs", "--json", str(path)])
    report = peers_magnitude.main(["--quick", "--json", str(path)])
    assert list(report["tasks"]) == list(peers_magnitude.TASKS)
    lines = [line for task in report["tasks"].values() for line in task]
    assert all(line["ratio"] == pytest.approx(line["figure"] / line["reference_figure"]) for line in lines)
    passes = report["tasks"]["svrank"][0]
    assert passes["passed"]
    assert passes["figure"] <= 60
    assert "one X.T @ X" in capsys.readouterr().out
    assert json.loads(path.read_text()) == report


def test_multiscale_paper(capsys, tmp_path):
    path = tmp_path / "multiscale.json"
    results = multiscale.main(["--quick", "--json", str(path)])["results"]
    assert set(results) == {"made", "made ratings"}
    found = results["made"]["found"]
    assert found["MLSRRank"]["error"] < 0.2
    assert [n for n, *_ in results["made"]["curve"]] == [10, 20, 30, 40]
    assert results["made"]["curve"][-1][1] < results["made"]["curve"][0][1]
    rated = results["made ratings"]["20-40"]
    assert len(rated["LSRRank MSD"]) == 2
    assert rated["MLSRRank MSD, best on test"] <= rated["LSRRank MSD, best on test"] < rated["LSRRank MSD"][0]
    again = multiscale.main(["--quick", "--json", str(path)])["results"]
    assert json.loads(json.dumps(again)) == json.loads(path.read_text())["results"]
    assert "paper's tau" in capsys.readouterr().out


def test_magnitude_paper(capsys, tmp_path):
    path = tmp_path / "magnitude.json"
    report = magnitude.main(["--quick", "--json", str(path)])
    made = report["results"]["made"]["20-40"]["runs"]
    assert np.mean(made["MPRank MSD"]) < np.mean(made["equal scores MSD"])
    assert np.mean(made["RankBoost misranked"]) < 0.5
    assert made["equal scores misranked"] == [1.0, 1.0]  # ties are errors, as printed
    curve = report["results"]["figure 1a"]["curves"]["best step of each row"]["curve"]
    above = [gap for _, gap, _ in curve]
    assert above[0] > above[2] > above[-1] > -1e-9
    assert curve[-1][2] == pytest.approx(report["results"]["figure 1a"]["batch"], rel=1e-4)
    assert [line["rows"] for line in report["results"]["figure 1b"]] == [100, 200]
    assert json.loads(path.read_text())["repeats"] == 2
    assert "Figure 1 (b)" in capsys.readouterr().out


def test_the_magnitude_papers_tables_are_whole():
    groups = {(name, group) for name in _ratings.SETS for group in _ratings.GROUPS[name]}
    assert set(magnitude.PAPER_1) == set(multiscale.PAPER_RATINGS) == groups
    assert magnitude.theirs("jester", "20-40")["RankBoost", "misranked"] == (0.479, 0.008)
    assert magnitude.theirs("jester", "20-40")["SVRank", "M1D"] == (5.40, 0.20)
    assert ("MPRank", "misranked") not in magnitude.theirs("books", "all")


def test_reviewers_held_out_are_not_tested_again():
    R = _ratings.load_ratings("made")
    drawn = {
        among: [
            tuple(sorted(np.append(one.y_train, one.y_test)))  # names a reviewer, whatever the halves
            for one in _ratings.problems("made", R, (20, 40), 100, seed, among)
        ]
        for seed, among in enumerate(("all", "held out", "others"))
    }
    assert len(drawn["held out"]) == len(drawn["all"]) // 4 > 0
    assert sorted(drawn["held out"] + drawn["others"]) == sorted(drawn["all"])
    for one in _ratings.problems("made", R, (20, 40), 2, 0):
        assert one.X_train.shape[1] == one.X_test.shape[1] <= _ratings.REFERENCES
        assert not np.isnan(one.X_train).any()
        assert abs(len(one.y_train) - len(one.y_test)) <= 1


def test_rating_sets_and_qsar_sets_from_files(monkeypatch, tmp_path):
    monkeypatch.setenv("SHORTLIST_DATA", str(tmp_path))
    for name in ("movielens", "jester", "books"):
        with pytest.raises(SystemExit, match="SHORTLIST_DATA"):
            _ratings.load_ratings(name)
    for folder in ("jester1", "movielens1m_part", "bookcrossing_part", "dhfr"):
        (tmp_path / folder).mkdir()
    np.savez(tmp_path / "jester1" / "jester1.npz", ratings_x100=np.array([[9900, 150], [-200, 0]]))
    np.testing.assert_array_equal(_ratings.load_ratings("jester"), np.float32([[np.nan, 1.5], [-2, 0]]))
    np.savez(tmp_path / "movielens1m_part" / "ratings.npz", user=[7, 9], item=[3, 2], rating=[5, 1])
    np.testing.assert_array_equal(_ratings.load_ratings("movielens"), np.float32([[np.nan, 5], [1, np.nan]]))
    monkeypatch.setattr(_ratings, "BOOK_RATINGS", 2)
    monkeypatch.setattr(_ratings, "BOOK_READERS", 2)
    text = "user_id,isbn,rating\na,x,1\na,y,2\nb,x,3\nb,z,4\nc,x,5\n"
    with gzip.open(tmp_path / "bookcrossing_part" / "ratings.csv.gz", "wt") as file:
        file.write(text)
    np.testing.assert_array_equal(_ratings.load_ratings("books"), np.float32([[1], [3]]))
    with gzip.open(tmp_path / "dhfr" / "dhfr.csv.gz", "wt") as file:
        file.write("name,pIC50,set,a,b\np,5,1,0,7\nq,6,1,4,7\nr,7,2,2,7\ns,8,3,1,1\n")
    X, y, X_test, y_test = multiscale.load_qsar("dhfr")
    np.testing.assert_array_equal(X, [[-1, 0], [1, 0]])
    np.testing.assert_array_equal(X_test, [[0, 0]])
    np.testing.assert_array_equal(multiscale.load_qsar("dhfr", interval=True)[2], [[0.5, 0]])
    assert (y.tolist(), y_test.tolist()) == ([5, 6], [7])
