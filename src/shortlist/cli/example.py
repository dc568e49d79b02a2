"""Insurance claims, made up: what ``shortlist demo`` works on. Text, gaps, a date, a note, and a label in words."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

__all__ = ["claims"]

CHANNELS = ("phone", "web", "broker", "branch office")
PRODUCTS = ("car", "home", "travel", "liability", "pets", "bicycle")
CITIES = (
    "Aachen", "Bremen", "Chemnitz", "Dresden", "Essen", "Freiburg", "Görlitz", "Halle", "Ingolstadt", "Jena", "Kiel",
    "Lübeck", "Mainz", "Neuss", "Oberhausen", "Potsdam", "Regensburg", "Siegen", "Trier", "Ulm", "Velbert", "Worms",
)  # fmt: skip
THINGS = ("bumper", "window", "laptop", "suitcase", "carpet", "fence", "phone", "roof", "mirror", "lock")
WAYS = ("scratched", "broken", "stolen", "wet", "lost", "dented", "burnt", "torn")


def claims(n_rows: int, seed: int = 0, *, labelled: bool = True, first: int = 1) -> str:
    """A CSV file; about 2 % of the rows are fraud, and it can be told from chance, but not from all others.

    >>> print(claims(2, seed=1).splitlines()[0])
    claim,received,city,channel,product,amount,policy days,earlier claims,hours to report,police report,note,outcome
    """
    rng = np.random.default_rng(seed)
    amount = np.round(np.exp(rng.normal(6.6, 0.9, n_rows)), 2)
    days = rng.integers(1, 3000, n_rows)
    earlier = rng.poisson(0.6, n_rows)
    hours = np.round(rng.exponential(60, n_rows), 1)
    city, thing, way = (rng.integers(0, len(names), n_rows) for names in (CITIES, THINGS, WAYS))
    channel = rng.choice(len(CHANNELS), n_rows, p=[0.35, 0.4, 0.15, 0.1])
    product = rng.choice(len(PRODUCTS), n_rows, p=[0.4, 0.25, 0.12, 0.1, 0.08, 0.05])
    police = rng.random(n_rows) < 0.3
    gap = {
        "amount": rng.random(n_rows) < 0.03,
        "hours": rng.random(n_rows) < 0.12,
        "channel": rng.random(n_rows) < 0.05,
        "police": rng.random(n_rows) < 0.2,
    }
    odds = (
        -8.8
        + 0.7 * (np.log(amount) - 6.6)
        + 1.6 * (days < 90)
        + 0.5 * np.minimum(earlier, 4)
        + 0.012 * np.minimum(hours, 200)
        + 1.2 * gap["hours"]
        + 0.8 * (channel == 1)
        + 1.1 * np.isin(product, (2, 5))
        - 1.0 * police
        + 1.8 * ((days < 200) & (amount > 1500))
        + 0.3 * rng.normal(size=n_rows)
    )
    fraud = rng.random(n_rows) < 1 / (1 + np.exp(-1.25 * odds - 4.2))
    start = np.datetime64("2024-01-01")
    received = (start + np.sort(rng.integers(0, 365, n_rows))).astype(str)
    columns: list[list[str]] = [
        [f"CL-{first + i:07d}" for i in range(n_rows)],
        received.tolist(),
        [CITIES[i] for i in city],
        ["" if none else CHANNELS[i] for i, none in zip(channel, gap["channel"], strict=True)],
        [PRODUCTS[i] for i in product],
        ["" if none else f"{value:.2f}" for value, none in zip(amount, gap["amount"], strict=True)],
        days.astype(str).tolist(),
        earlier.astype(str).tolist(),
        ["" if none else f"{value:.1f}" for value, none in zip(hours, gap["hours"], strict=True)],
        ["" if none else "yes" if one else "no" for one, none in zip(police, gap["police"], strict=True)],
        [f'"{THINGS[i]} {WAYS[j]}, case {n}"' for n, (i, j) in enumerate(zip(thing, way, strict=True), first)],
    ]
    names = "claim,received,city,channel,product,amount,policy days,earlier claims,hours to report,police report,note"
    if labelled:
        columns.append(["fraud" if one else "settled" for one in fraud])
        names += ",outcome"
    return "\n".join([names, *map(",".join, zip(*columns, strict=True))]) + "\n"
