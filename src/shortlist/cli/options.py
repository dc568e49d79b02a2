"""The options of the commands, each said once."""

from __future__ import annotations

from typing import Annotated

import typer

READING, LEARNING, RESULT = "Reading", "Learning", "Result"

File = Annotated[str, typer.Argument(metavar="FILE", help="CSV, TSV, Parquet, Arrow or svmlight; - is standard input.")]
Model = Annotated[str, typer.Option("--model", "-m", metavar="FILE", help="A model that fit or rerank wrote.")]
MaybeModel = Annotated[
    str | None, typer.Option("--model", "-m", metavar="FILE", help="A model that fit or rerank wrote.")
]
Label = Annotated[str | None, typer.Option("--label", "-l", metavar="COLUMN", help="Column of the labels.")]
Positive = Annotated[
    list[str] | None,
    typer.Option(metavar="VALUE", help="Label that belongs at the top, as often as needed; or a bound: '>=4'."),
]
Identity = Annotated[
    str | None, typer.Option("--id", metavar="COLUMN", help="Column that names the rows; carried through.")
]
Group = Annotated[
    str | None, typer.Option("--group", "-g", metavar="COLUMN", help="Column of queries: rows compete within.")
]
Budget = Annotated[
    str, typer.Option("--budget", "-b", metavar="ROWS", help="How many rows will be acted on: 100, 0.02 or 2%.")
]
MaybeBudget = Annotated[
    str | None, typer.Option("--budget", "-b", metavar="ROWS", help="How many rows will be acted on; else the model's.")
]
Of = Annotated[
    int | None,
    typer.Option(metavar="ROWS", min=2, help="Length of the lists that the budget is for; else of this file."),
]
Method = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="auto chooses by cross-validation; else logistic, boosting, forest, TopPush, TauFPL, RankSVM, ...",
    ),
]
Settings = Annotated[
    list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A parameter of the method: --set C=0.1.")
]
Drop = Annotated[
    list[str] | None, typer.Option("--drop", metavar="COLUMN", help="Column not to learn from, as often as needed.")
]
Only = Annotated[list[str] | None, typer.Option("--only", metavar="COLUMN", help="Learn from these columns alone.")]
Holdout = Annotated[
    float, typer.Option(min=0.0, max=0.9, help="Share of the rows kept aside to measure on; 0 for none.")
]
MaxRows = Annotated[int, typer.Option(metavar="ROWS", min=20, help="Learn from no more than so many rows.")]
TimeLimit = Annotated[
    float | None,
    typer.Option(metavar="SECONDS", min=0.1, help="For comparing methods (auto), or for the exact search."),
]
Seed = Annotated[int, typer.Option(min=0, help="Of folds, samples and methods.")]
Output = Annotated[
    str | None, typer.Option("--output", "-o", metavar="FILE", help="Where to write; the ending says the format.")
]
ModelOutput = Annotated[
    str | None, typer.Option("--output", "-o", metavar="FILE", help="The model's file; else named after the data.")
]
Report = Annotated[str | None, typer.Option(metavar="FILE", help="Write a page for others: one HTML file.")]
Force = Annotated[bool, typer.Option("--force", "-f", help="Replace files that are there.")]
AsJson = Annotated[bool, typer.Option("--json", help="The result as one JSON object.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No notes, no progress.")]
Form = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="NAME",
        help="csv, tsv, parquet, arrow or svmlight; else by content and ending.",
        rich_help_panel=READING,
    ),
]
Separator = Annotated[
    str | None,
    typer.Option(metavar="SIGN", help="Between the fields of CSV; else as it looks.", rich_help_panel=READING),
]
Decimal = Annotated[
    str | None, typer.Option(metavar="SIGN", help="Of numbers in CSV; else as it looks.", rich_help_panel=READING)
]
Encoding = Annotated[
    str | None, typer.Option(metavar="NAME", help="Of CSV: utf8, latin-1, cp1252, ...", rich_help_panel=READING)
]
Top = Annotated[int | None, typer.Option(metavar="ROWS", min=1, help="Keep so many rows; with groups, of each.")]
Columns = Annotated[
    list[str] | None, typer.Option("--column", "-c", metavar="COLUMN", help="Keep these columns; else all.")
]
ScoreName = Annotated[str, typer.Option(metavar="NAME", help="What the new column of scores is called.")]
RankName = Annotated[str, typer.Option(metavar="NAME", help="What the new column of ranks is called.")]
Score = Annotated[
    str | None, typer.Option(metavar="COLUMN", help="A column of scores, higher being better, in place of a model.")
]
Models = Annotated[
    str, typer.Option(metavar="NAMES", help="Methods as fit knows them, with commas between; or default.")
]
Baseline = Annotated[
    str | None, typer.Option(metavar="NAME", help="Test the others against this one alone, with more power.")
]
Folds = Annotated[int, typer.Option(min=2, max=50, help="Of the cross-validation.")]
Repeats = Annotated[int, typer.Option(min=1, max=100, help="How often folds are drawn anew.")]
Keep = Annotated[
    str | None, typer.Option(metavar="FILE", help="Keep what is done in a file; started again, it goes on from there.")
]
FewerRows = Annotated[int, typer.Option("--max-rows", metavar="ROWS", min=20, help="Use no more than so many rows.")]
RerankTop = Annotated[
    int, typer.Option(metavar="ROWS", min=2, help="How many rows of the top are ordered again; with groups, of each.")
]
Row = Annotated[str, typer.Option(metavar="ROW", help="The row, by its id, or by its number from 1.")]
Above = Annotated[
    str | None, typer.Option(metavar="ROW", help="The other row; else the one on the other side of the budget.")
]
ModelFile = Annotated[str, typer.Argument(metavar="MODEL", help="A model that fit or rerank wrote.")]
Folder = Annotated[str, typer.Option(metavar="FOLDER", help="Where the files go.")]
DemoRows = Annotated[int, typer.Option("--rows", metavar="ROWS", min=200, help="Rows of the labelled file.")]
