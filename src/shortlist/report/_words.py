"""Findings as sentences for those who decide, without a symbol in them."""

from __future__ import annotations

import math

from shortlist.report._figures import Difference, Figures
from shortlist.report._text import number, percent, plural

__all__ = ["Wording", "compared_with", "count", "list_findings"]


class Wording:
    """How rows and positives are called.

    >>> words = Wording("cases", "fraud", 100, grouped=False)
    >>> words.first, words.are(62), words.are(1)
    ('Of the first 100 cases', '62 are fraud', '1 is fraud')
    """

    def __init__(self, noun: str, positive: str | None, k: int, grouped: bool) -> None:
        self.noun, self.positive, self.k, self.grouped = noun, positive or "positive", k, grouped

    @property
    def first(self) -> str:
        return f"Of the first {plural(self.k, self.noun)}" + (" of each group" if self.grouped else "")

    def are(self, hits: float) -> str:
        return f"{count(hits)} {'is' if count(hits) == '1' else 'are'} {self.positive}"

    def would_be(self, hits: float) -> str:
        return f"{count(hits)} would be"


def count(hits: float) -> str:
    """Positives among some rows: a whole number from ten on.

    >>> count(61.7), count(6.17), count(6.0)
    ('62', '6.2', '6')
    """
    return number(round(hits) if hits >= 10 or float(hits).is_integer() else round(hits, 1))


def list_findings(words: Wording, found: Figures, others: list[tuple[Figures, Difference]], base: float) -> list[str]:
    """What a list is worth: against chance, against other lists, and what luck could make of it."""
    k = found.hits / found.precision if found.precision > 0 else words.k
    opening = f"{words.first}, {words.are(found.hits)}"
    average = " on average" if words.grouped else ""
    if others:
        rival, _ = max(others, key=lambda pair: pair[0].precision)
        opening += f"{average}, against {count(rival.hits)} with {rival.name}."
    else:
        opening += f"{average}; picked at random, {words.would_be(base * k)}."
    sentences = [opening]
    if others:
        sentences.append(f"Picked at random, {words.would_be(base * k)}.")
    if math.isfinite(found.lift) and found.lift > 0:
        caught = f"{percent(found.recall)} of all that are {words.positive}"
        times = number(found.lift, 2)
        many = "as many as chance" if times == "1" else f"{times} times as many as chance"
        sentences.append(f"{_start(found.name)} finds {many}, and {caught}.")
    if math.isfinite(found.low):
        sentences.append(
            f"Other {words.noun} of the same kind would give between {count(found.low * k)} and "
            f"{count(found.high * k)}, in 95 of 100 such samples."
        )
    sentences += [compared_with(found, rival, gap) for rival, gap in others]
    return sentences


def _start(name: str) -> str:
    """A name at the start of a sentence."""
    return name[:1].upper() + name[1:]


def compared_with(found: Figures, rival: Figures, gap: Difference) -> str:
    """One list against another, and whether luck explains it."""
    if abs(gap.hits) < 1e-9:
        return f"{_start(found.name)} and {rival.name} find the same number."
    better, worse = (found, rival) if gap.hits > 0 else (rival, found)
    sentence = f"{_start(better.name)} finds {count(abs(gap.hits))} more than {worse.name}"
    if gap.only_first is not None and gap.only_second is not None:
        ours, theirs = gap.only_first, gap.only_second
        if gap.hits < 0:
            ours, theirs = theirs, ours
        sentence += f" ({ours} that {worse.name} misses, less {theirs} that only {worse.name} has)"
    if not math.isfinite(gap.p):
        return sentence + "."
    p = "p\u00a0<\u00a00.001" if gap.p < 0.001 else f"p\u00a0=\u00a0{number(gap.p, 2)}"
    if gap.p <= 0.05:
        return f"{sentence}; luck alone would rarely do that ({p})."
    those = "groups" if gap.only_first is None else "rows"
    return f"{sentence}; luck alone could do that ({p}), so these {those} do not prove it better."
