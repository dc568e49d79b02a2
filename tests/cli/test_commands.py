"""The commands as they are typed: what they print, write, refuse, and how they end."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import feather, parquet

import shortlist
from shortlist.cli.example import claims
from tests.cli.conftest import Run


def table_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_from_a_table_to_a_ranked_table_and_a_report_in_two_commands(run: Run, tmp_path: Path) -> None:
    (tmp_path / "past.csv").write_text(claims(500, 3), encoding="utf-8")
    (tmp_path / "new.csv").write_text(claims(100, 4, labelled=False), encoding="utf-8")
    model, page, ranked = tmp_path / "m.shortlist", tmp_path / "r.html", tmp_path / "ranked.csv"
    quick = ["--set", 'candidates=["logistic regression"]', "--set", "rerank=false", "--holdout", "0.4", "-b", "10%"]
    done = run("fit", tmp_path / "past.csv", "--label", "outcome", "-o", model, "--report", page, *quick)
    assert "outcome = 'fraud' is taken to belong at the top, being the rarer value" in done.err
    for words in (
        "500 in",
        "\nid           claim\n",
        "received (dates)",
        "different texts)",
        "kept aside",
        "m.shortlist",
    ):
        assert words in done.out
    assert "<html" in page.read_text(encoding="utf-8") and "shortlist fit" in page.read_text(encoding="utf-8")
    assert type(shortlist.load(model).steps[-1][1]).__name__ == "AutoRanker"
    done = run("rank", tmp_path / "new.csv", "--model", model, "--output", ranked)
    rows = table_of(ranked)
    assert [row["rank"] for row in rows] == [str(i) for i in range(1, 101)]
    assert sorted(row["claim"] for row in rows) == [f"CL-{i:07d}" for i in range(1, 101)]
    scores = [float(row["score"]) for row in rows]
    assert scores == sorted(scores, reverse=True)
    # What was in the file is in the list, cell by cell, but for how numbers are spelled.
    was = {row["claim"]: row for row in table_of(tmp_path / "new.csv")}
    for row in rows:
        for name, cell in was[row["claim"]].items():
            assert row[name] == cell or float(row[name]) == float(cell)


def test_the_model_is_a_pipeline_that_scores_frames(made: Path) -> None:
    import pandas as pd

    model = shortlist.load(made / "claims.shortlist")
    assert [name for name, _ in model.steps] == ["prepare", "scale", "rank"]
    frame = pd.read_csv(made / "new.csv")
    scores = model.decision_function(frame)
    rows = shortlist.ranked(model, frame, top=3)
    assert rows["score"].tolist() == sorted(scores, reverse=True)[:3]


def test_every_format_gives_the_same_list(run: Run, made: Path, tmp_path: Path) -> None:
    import pandas as pd

    frame = pd.read_csv(made / "new.csv", keep_default_na=False)
    frame["amount"] = pd.to_numeric(frame["amount"])
    frame["hours to report"] = pd.to_numeric(frame["hours to report"])
    table = pa.Table.from_pandas(frame)
    parquet.write_table(table, tmp_path / "new.parquet")
    feather.write_feather(table, tmp_path / "new.feather")
    frame.to_csv(tmp_path / "new.tsv", sep="\t", index=False)
    frame.to_csv(tmp_path / "new.txt", sep=";", decimal=",", index=False)
    (tmp_path / "new.csv").write_bytes((made / "new.csv").read_bytes())
    lists = {}
    for name in ("new.csv", "new.tsv", "new.txt", "new.parquet", "new.feather"):
        done = run("rank", tmp_path / name, "-m", made / "claims.shortlist", "--json", "--top", 40)
        lists[name] = [(row["claim"], round(row["score"], 9)) for row in done.json["ranked"]]
    assert len(lists["new.csv"]) == 40
    assert all(one == lists["new.csv"] for one in lists.values())


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "arrow", "feather"])
def test_lists_are_written_in_every_format(run: Run, made: Path, tmp_path: Path, ending: str) -> None:
    place = tmp_path / f"out.{ending}"
    run("rank", made / "new.csv", "-m", made / "claims.shortlist", "-o", place, "-c", "claim", "-c", "channel")
    if ending == "parquet":
        table = parquet.read_table(place)
    elif ending in ("arrow", "feather"):
        table = feather.read_table(place)
    else:
        names = place.read_text().splitlines()[0].split("," if ending == "csv" else "\t")
        assert names == ["rank", "score", "claim", "channel"]
        return
    assert table.column_names == ["rank", "score", "claim", "channel"]
    assert table.column("rank").to_pylist() == list(range(1, 301))


def test_cells_that_need_quotes_get_them_and_no_others(run: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=60)
    notes = ["plain", '"with, comma"', '"two\nlines"', '"say ""hi"""', ""]
    lines = [f"{x[i]:.3f},{notes[i % 5]},{int(x[i] > 0.8)}" for i in range(60)]
    (tmp_path / "t.csv").write_text("x,note,y\n" + "\n".join(lines) + "\n")
    run("fit", tmp_path / "t.csv", "-l", "y", "--method", "logistic", "--drop", "note", "-o", tmp_path / "m", "-b", 5)
    run("rank", tmp_path / "t.csv", "-m", tmp_path / "m", "-o", tmp_path / "r.csv")
    rows = table_of(tmp_path / "r.csv")
    assert {row["note"] for row in rows} == {"plain", "with, comma", "two\nlines", 'say "hi"', ""}
    assert "plain" in (tmp_path / "r.csv").read_text() and '"plain"' not in (tmp_path / "r.csv").read_text()


def test_nothing_is_replaced_without_force(run: Run, made: Path, tmp_path: Path) -> None:
    model, new = made / "claims.shortlist", made / "new.csv"
    place = tmp_path / "there.csv"
    place.write_text("mine")
    done = run("rank", new, "-m", model, "-o", place, code=1)
    assert "exists; --force replaces it" in done.err and place.read_text() == "mine"
    done = run("fit", made / "claims.csv", "-l", "outcome", "-o", place, code=1)
    assert place.read_text() == "mine"
    run("rank", new, "-m", model, "-o", place, "--force")
    assert len(table_of(place)) == 300
    assert "is also read from" in run("rank", place, "-m", model, "-o", place, "-f", code=1).err
    assert "does not exist; make it first" in run("rank", new, "-m", model, "-o", tmp_path / "no/x.csv", code=1).err
    assert "is a folder" in run("rank", new, "-m", model, "-o", tmp_path, code=1).err
    assert "the ending says the format" in run("rank", new, "-m", model, "-o", tmp_path / "x.doc", code=2).err


def test_standard_output_is_csv_where_nobody_looks_on(run: Run, made: Path) -> None:
    done = run("rank", made / "new.csv", "-m", made / "claims.shortlist", "--top", 3, "-c", "claim")
    lines = done.out.splitlines()
    assert lines[0] == "rank,score,claim" and [line.split(",")[0] for line in lines[1:]] == ["1", "2", "3"]
    assert done.err == ""


def test_evaluate_a_model_and_a_column(run: Run, made: Path, tmp_path: Path) -> None:
    page = tmp_path / "e.html"
    done = run("evaluate", made / "claims.csv", "-m", made / "claims.shortlist", "--report", page, "--json")
    found = done.json["measured"]
    assert found["k"] == 50 and found["rows"] == 1500 and done.json["positive"] == ["fraud"]
    model = shortlist.load(made / "claims.shortlist")
    import pandas as pd

    frame = pd.read_csv(made / "claims.csv")
    y, scores = frame["outcome"] == "fraud", model.decision_function(frame)
    assert found["precision_at_k"] == pytest.approx(shortlist.metrics.precision_at_k(y, scores, k=50))
    assert found["auc"] == pytest.approx(shortlist.metrics.auc(y, scores))
    assert page.exists()
    done = run("evaluate", made / "claims.csv", "--score", "earlier claims", "-l", "outcome", "-b", "3%", "-q")
    assert "the column 'earlier claims'" in done.out and "precision in the first 45" in done.out
    expected = shortlist.metrics.auc(y, frame["earlier claims"])
    assert f"{expected:.3f}" in done.out
    assert (
        "has no finite score" in run("evaluate", made / "claims.csv", "--score", "amount", "-l", "outcome", code=1).err
    )
    assert (
        "does not hold numbers" in run("evaluate", made / "claims.csv", "--score", "city", "-l", "outcome", code=1).err
    )
    assert "--model FILE, or --score COLUMN" in run("evaluate", made / "claims.csv", code=2).err
    assert "--label says" in run("evaluate", made / "claims.csv", "--score", "earlier claims", code=1).err


def test_rows_without_a_label_are_left_out_and_counted(run: Run, made: Path, tmp_path: Path) -> None:
    text = (made / "claims.csv").read_text(encoding="utf-8").replace(",settled\n", ",\n", 200)
    (tmp_path / "some.csv").write_text(text, encoding="utf-8")
    done = run("fit", tmp_path / "some.csv", "-l", "outcome", "--method", "logistic", "-o", tmp_path / "m", "--json")
    assert "200 rows without a label are left out" in done.err
    assert done.json["learned_from"] == 1040
    done = run("evaluate", tmp_path / "some.csv", "-m", tmp_path / "m", "--json")
    assert done.json["measured"]["rows"] == 1300 and "200 rows without a label" in done.err


@pytest.mark.parametrize(
    ("label", "positive", "told"),
    [
        ("0,1", [], "y = '1' belongs at the top"),
        ("no,yes", [], "y = 'yes' belongs at the top"),
        ("ok,fraud", ["--positive", "fraud"], "with y = 'fraud'"),
        ("1,5", ["--positive", ">=4"], "with y = '>=4'"),
        ("2.0,3.5", ["--positive", "3.50"], "with y = '3.50'"),
    ],
)
def test_labels_of_any_kind(run: Run, tmp_path: Path, label: str, positive: list[str], told: str) -> None:
    low, high = label.split(",")
    rng = np.random.default_rng(0)
    x = rng.normal(size=80)
    text = "x,y\n" + "".join(f"{value:.3f},{high if value > 0.9 else low}\n" for value in x)
    (tmp_path / "t.csv").write_text(text)
    options = ["--method", "logistic", "--budget", "10", "-o", tmp_path / "m", "--holdout", "0"]
    done = run("fit", tmp_path / "t.csv", "-l", "y", *positive, *options)
    assert told in done.out + done.err and "measured on none" in done.out
    done = run("rank", tmp_path / "t.csv", "-m", tmp_path / "m", "--top", 5, "-c", "y")
    assert [line.split(",")[-1] for line in done.out.splitlines()[1:]] == [high] * 5


def test_groups_compete_within(run: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    lines = ["query,x,z,y"]
    for query in range(40):
        for _ in range(6):
            x = rng.normal()
            lines.append(f"q{query},{x:.3f},{rng.normal():.3f},{int(x + 0.3 * rng.normal() > 1)}")
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    fitted = run("fit", tmp_path / "t.csv", "-l", "y", "-g", "query", "-b", 2, "--method", "TauFPL", "--set", "tau=0.5",
                 "-o", tmp_path / "m", "--json")  # fmt: skip
    assert fitted.json["group"] == "query" and fitted.json["certificates"][0].startswith("TauFPL converged")
    assert fitted.json["kinds"] == {"x": "number", "z": "number"}
    done = run("rank", tmp_path / "t.csv", "-m", tmp_path / "m", "--top", 2, "--json")
    rows = done.json["ranked"]
    assert [row["rank"] for row in rows] == [1, 2] * 40
    assert [row["query"] for row in rows[::2]] == [f"q{i}" for i in range(40)]
    done = run("evaluate", tmp_path / "t.csv", "-m", tmp_path / "m")
    assert "precision in the first 2 of each" in done.out
    (tmp_path / "hole.csv").write_text("query,x,z\nq1,1,1\n,2,2\n")
    assert "row 2 has no value of 'query'" in run("rank", tmp_path / "hole.csv", "-m", tmp_path / "m", code=1).err
    noted = run("fit", tmp_path / "t.csv", "-l", "y", "-g", "query", "-b", 2, "--method", "logistic", "-o",
                tmp_path / "m2", "--max-rows", 120)  # fmt: skip
    assert "logistic knows no groups" in noted.err and "120 of 240 rows are learned from" in noted.err
    done = run("explain", tmp_path / "t.csv", "-m", tmp_path / "m", "--row", 7)
    assert "row 7 " in done.out


def test_svmlight_from_end_to_end(run: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    lines = []
    for i in range(200):
        x = rng.normal(size=4)
        features = " ".join(f"{j + 1}:{value:.3f}" for j, value in enumerate(x) if value > -1)
        lines.append(f"{int(x[0] > 1)} qid:{i // 10} {features}")
    (tmp_path / "t.svm").write_text("\n".join(lines) + "\n")
    run("fit", tmp_path / "t.svm", "--method", "RankSVM", "-b", 3, "-o", tmp_path / "m", "--set", "C=1")
    done = run("rank", tmp_path / "t.svm", "-m", tmp_path / "m", "--top", 1)
    assert done.out.splitlines()[0] == "rank,score,row,label,query" and len(done.out.splitlines()) == 21
    assert "AUC" in run("evaluate", tmp_path / "t.svm", "-m", tmp_path / "m").out
    told = run("explain", tmp_path / "t.svm", "-m", tmp_path / "m", "--row", 1, "--above", 2).out
    assert "feature 1" in told and "Exact: the score is a sum over columns" in told
    assert "4 of svmlight" in run("info", tmp_path / "m").out
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    assert "takes svmlight rows" in run("rank", tmp_path / "t.csv", "-m", tmp_path / "m", code=1).err


def test_a_column_of_the_model_is_missing(run: Run, made: Path, tmp_path: Path) -> None:
    text = (made / "new.csv").read_text(encoding="utf-8").replace("policy days", "policy day", 1)
    (tmp_path / "new.csv").write_text(text, encoding="utf-8")
    done = run("rank", tmp_path / "new.csv", "-m", made / "claims.shortlist", code=1)
    assert "has no column 'policy days'; did you mean 'policy day'?" in done.err
    (tmp_path / "t.svm").write_text("1 1:1\n")
    assert "takes columns with names" in run("rank", tmp_path / "t.svm", "-m", made / "claims.shortlist", code=1).err


def test_levels_that_are_new_and_cells_that_are_empty_are_scored(run: Run, made: Path, tmp_path: Path) -> None:
    lines = (made / "new.csv").read_text(encoding="utf-8").splitlines()
    (tmp_path / "new.csv").write_text(
        "\n".join([lines[0], "X1,2024-01-01,Atlantis,,,,10,,,,", "X2,,,fax,boat,5,10,0,1,maybe,", ""]),
        encoding="utf-8",
    )
    done = run("rank", tmp_path / "new.csv", "-m", made / "claims.shortlist", "--json")
    assert all(np.isfinite(row["score"]) for row in done.json["ranked"])


def test_explain_is_exact_for_linear_models(run: Run, made: Path) -> None:
    model = made / "claims.shortlist"
    done = run("explain", made / "new.csv", "-m", model, "--row", "CL-0090005", "--above", "CL-0090017", "--json")
    found = done.json
    assert found["method"].startswith("Exact")
    assert sum(one["credit"] for one in found["columns"]) == pytest.approx(found["difference"])
    # By hand: the coefficients of the features that a column became, times their differences.
    import pandas as pd

    pipeline = shortlist.load(model)
    frame = pd.read_csv(made / "new.csv").set_index("claim").loc[[row["name"] for row in found["rows"]]]
    prepared, scale, ranker = (pipeline.named_steps[name] for name in ("prepare", "scale", "rank"))
    Z = scale.transform(prepared.transform(frame))
    parts = (Z[0] - Z[1]) * ranker.coef_[0]
    names = prepared.get_feature_names_out()
    amount = sum(part for part, name in zip(parts, names, strict=True) if name.endswith("amount"))
    credits = {one["column"]: one["credit"] for one in found["columns"]}
    assert credits.get("amount", 0.0) == pytest.approx(amount)
    assert {one["column"] for one in found["columns"]} <= set(pipeline.table_["kinds"])


def test_explain_says_what_it_compares_with(run: Run, made: Path) -> None:
    model, new = made / "claims.shortlist", made / "new.csv"
    best = run("rank", new, "-m", model, "--top", 1, "--json").json["ranked"][0]["claim"]
    done = run("explain", new, "-m", model, "--row", best)
    assert f"{best} stands above" in done.out and "the first that did not make it into the first 10" in done.out
    assert "Credits add up to the difference of the scores" in done.out
    worst = run("rank", new, "-m", model, "--json").json["ranked"][-1]["claim"]
    done = run("explain", new, "-m", model, "--row", worst)
    assert f"stands above {worst}, which did not make it into the first 10" in done.out
    assert "no row with claim = 'nobody'" in run("explain", new, "-m", model, "--row", "nobody", code=1).err
    assert "name two different rows" in run("explain", new, "-m", model, "--row", 3, "--above", 3, code=1).err


def test_info_says_what_a_file_holds(run: Run, made: Path, tmp_path: Path) -> None:
    done = run("info", made / "claims.shortlist")
    for words in ("logistic regression", "scikit-learn", "outcome = 'fraud'", "a level of its own", "received (dates)"):
        assert words in done.out
    found = run("info", made / "claims.shortlist", "--json").json
    assert found["kinds"]["amount"] == "number" and found["measured"]["rows"] == 450
    assert {one["column"] for one in found["columns"]} == set(found["kinds"])
    (tmp_path / "bad").write_bytes(b"not a model")
    assert "was not written by shortlist.save" in run("info", tmp_path / "bad", code=1).err
    assert "does not exist" in run("info", tmp_path / "none", code=1).err
    assert "is a folder" in run("info", tmp_path, code=1).err


def test_models_that_were_saved_elsewhere(run: Run, tmp_path: Path) -> None:
    import pandas as pd

    from shortlist import TopPush

    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"id": [f"r{i}" for i in range(40)], "a": rng.normal(size=40), "b": rng.normal(size=40)})
    y = (frame["a"] > 0.5).astype(int)
    frame.to_csv(tmp_path / "t.csv", index=False)
    named, bare = TopPush().fit(frame[["a", "b"]], y), TopPush().fit(frame[["a", "b"]].to_numpy(), y)
    for name, model in (("named", named), ("bare", bare)):
        shortlist.save(model, tmp_path / name)
        found = run("rank", tmp_path / "t.csv", "-m", tmp_path / name, "--json").json["ranked"]
        assert [row["id"] for row in found] == frame["id"].iloc[model.rank(frame[["a", "b"]].to_numpy())].tolist()
        assert "TopPush" in run("info", tmp_path / name).out
    (tmp_path / "one.csv").write_text("a\n1\n2\n")
    assert "fitted to 2 columns without names" in run("rank", tmp_path / "one.csv", "-m", tmp_path / "bare", code=1).err
    done = run("explain", tmp_path / "t.csv", "-m", tmp_path / "named", "--row", "1")
    assert "Exact" in done.out


def test_compare_prints_a_leaderboard_and_goes_on_from_its_file(run: Run, made: Path, tmp_path: Path) -> None:
    page, kept = tmp_path / "c.html", tmp_path / "kept.json"
    common = ["compare", made / "claims.csv", "-l", "outcome", "--max-rows", 400, "--folds", 2, "--repeats", 1, "-q",
              "--models", "logistic,TauFPL", "-b", "10%", "--drop", "city"]  # fmt: skip
    done = run(*common, "--report", page, "--keep", kept)
    for words in ("logistic regression", "TauFPL", "95 % interval", "best mean precision", "gap at most"):
        assert words in done.out
    assert page.exists() and kept.exists()
    again = run(*common, "--keep", kept, "--json", "--baseline", "logistic").json
    assert {one["model"] for one in again["leaderboard"]} == {"logistic regression", "TauFPL"}
    assert again["metric"] == "precision_at_budget" and len(again["tests"]) == 1
    assert "twice" in run(*common[:-6], "--models", "TauFPL,TauFPL", code=2).err


def test_rerank_the_top_of_a_model_and_of_a_column(run: Run, made: Path, tmp_path: Path) -> None:
    model = tmp_path / "r.shortlist"
    done = run("rerank", made / "claims.csv", "-m", made / "claims.shortlist", "--top", 30, "-o", model, "-b", 50)
    assert "ExactRanker" in done.out and "reranked" in done.out and "of 1,200 rows" in done.out
    base = run("rank", made / "new.csv", "-m", made / "claims.shortlist", "--json").json["ranked"]
    after = run("rank", made / "new.csv", "-m", model, "--json").json["ranked"]
    # What lies below the cut keeps the base's order, and what is above it stays above.
    loaded = shortlist.load(model).steps[-1][1]
    n_top = sum(row["score"] >= loaded.cut_ for row in base)
    assert {row["claim"] for row in after[:n_top]} == {row["claim"] for row in base[:n_top]}
    assert [row["claim"] for row in after[n_top:]] == [row["claim"] for row in base[n_top:]]
    assert "its top reranked" in run("info", model).out
    again = run("rerank", made / "claims.csv", "--score", "policy days", "-l", "outcome", "-o", tmp_path / "s", code=1)
    assert "turn its sign round" in again.err
    done = run("rerank", made / "claims.csv", "--score", "earlier claims", "-l", "outcome", "-o", tmp_path / "s",
               "--only", "earlier claims", "--only", "policy days", "--only", "amount", "--json", "--top", 40,
               "-b", "5%", "--time-limit", 1, "--positive", "fraud")  # fmt: skip
    assert done.json["before"]["k"] == done.json["after"]["k"] and done.json["reranked_rows"] >= 40
    run("rank", made / "new.csv", "-m", tmp_path / "s", "-o", tmp_path / "s.csv")
    assert "--model FILE, or --score COLUMN" in run("rerank", made / "claims.csv", code=2).err


@pytest.mark.parametrize(
    ("extra", "code", "message"),
    [
        (["--label", "outcme"], 1, "has no column 'outcme'; did you mean 'outcome'?"),
        ([], 1, "--label says which column holds the labels"),
        (
            ["-l", "outcome", "--positive", "theft"],
            1,
            "no row has the label outcome = 'theft'; there are 'fraud', 'set",
        ),
        (["-l", "city"], 1, "has 22 different values"),
        (["-l", "outcome", "--budget", "lots"], 2, "--budget takes a number of rows"),
        (["-l", "outcome", "--budget", "5000"], 2, "leaves nothing to choose in a list of 1,500"),
        (["-l", "outcome", "--method", "Toppush"], 2, "did you mean 'TopPush'?"),
        (["-l", "outcome", "--method", "TopPush", "--set", "c=1"], 2, "did you mean 'C'?"),
        (["-l", "outcome", "--set", "C"], 2, "--set takes name=value"),
        (["-l", "outcome", "--drop", "nope"], 1, "has no column 'nope'"),
        (["-l", "outcome", "--only", "outcome"], 2, "cannot be a feature"),
        (["-l", "outcome", "--only", "note"], 1, "has no column to learn from (note: 1,500 different texts)"),
        (["-l", "outcome", "--format", "excel"], 2, "--format is one of"),
        (["-l", "outcome", "--separator", "::"], 2, "--separator is one sign"),
        (["-l", "outcome", "--holdout", "2"], 2, "Invalid value for '--holdout'"),
        (["-l", "outcome", "--method", "TopPush", "--set", "C=-1", "-o", "m"], 1, "C must be a finite number above 0"),
        (["--nonsense"], 2, "No such option"),
    ],
)
def test_mistakes_are_told_with_the_right_code(
    run: Run, made: Path, tmp_path: Path, extra: list[str], code: int, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = run("fit", made / "claims.csv", *extra, code=code)
    assert message in done.err and done.err.count("shortlist:") == 1 and done.out == ""
    assert "Traceback" not in done.err
    assert list(tmp_path.iterdir()) == []


def test_one_label_only(run: Run, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("x,y\n1,a\n2,a\n3,\n")
    assert "'a' in every row" in run("fit", tmp_path / "t.csv", "-l", "y", code=1).err
    assert (
        "all rows with a label have y = 'a'" in run("fit", tmp_path / "t.csv", "-l", "y", "--positive", "a", code=1).err
    )
    (tmp_path / "t.csv").write_text("x,y\n1,\n2,\n")
    assert "has no value in any row" in run("fit", tmp_path / "t.csv", "-l", "y", code=1).err


def test_help_and_version(run: Run) -> None:
    assert "Commands:" in run("--help").out
    for command in ("demo", "fit", "rank", "evaluate", "compare", "rerank", "explain", "info"):
        assert "Usage: shortlist" in run(command, "--help").out
    assert run("--version").out.startswith("shortlist ")
    assert "Commands:" in (run(code=2).out + run(code=2).err)


def test_names_of_new_columns(run: Run, made: Path, tmp_path: Path) -> None:
    ranked = tmp_path / "r.csv"
    model = made / "claims.shortlist"
    run("rank", made / "new.csv", "-m", model, "-o", ranked)
    assert "has a column 'rank' already; --rank-name" in run("rank", ranked, "-m", model, code=1).err
    names = ["--rank-name", "place", "--score-name", "points"]
    done = run("rank", ranked, "-m", model, *names, "--top", 2)
    assert done.out.splitlines()[0].startswith("place,points,rank,score,claim")
    assert "has no column 'clam'" in run("rank", made / "new.csv", "-m", model, "-c", "clam", code=1).err


def test_the_demo_runs_what_it_prints(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[Any] = []
    from shortlist.cli import app

    real = app.run

    def quick(arguments: list[str]) -> int:
        ran.append(arguments)
        fast = ["--method", "logistic"] if arguments[0] == "fit" else []
        return real([*arguments, *fast])

    monkeypatch.setattr(app, "run", quick)
    done = real(["demo", "--folder", str(tmp_path / "d"), "--rows", "400", "--quiet"])
    assert done == 0 and [one[0] for one in ran] == ["fit", "rank"]
    names = {path.name for path in (tmp_path / "d").iterdir()}
    assert names == {"claims.csv", "new-claims.csv", "claims.shortlist", "report.html", "ranked.csv"}
    assert "--force replaces what an earlier demo left" in run("demo", "--folder", tmp_path / "d", code=1).err
