"""From values to text that is safe in a page: escaped, without characters that a file cannot hold, short numbers."""

from __future__ import annotations

import html
import json
import math
import re
from collections.abc import Sequence
from typing import Any

__all__ = ["as_json", "clip", "column", "escape", "fixed", "listed", "number", "percent", "plain", "plural", "spell"]

# Control characters, halves of surrogate pairs, and marks that turn the direction of the text around them.
UNFIT = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)


def plain(value: Any) -> str:
    """Text without characters that have no place in a page."""
    return UNFIT.sub("\N{REPLACEMENT CHARACTER}", str(value))


def escape(value: Any) -> str:
    """Text for an element or an attribute of HTML and SVG.

    >>> escape('<b title="x">')
    '&lt;b title=&quot;x&quot;&gt;'
    """
    return html.escape(plain(value), quote=True)


def as_json(value: Any) -> str:
    """JSON for a script element: nothing in it can end the element.

    >>> as_json({"a": "</script>"})
    '{"a": "\\\\u003c/script\\\\u003e"}'
    """
    text = json.dumps(_jsonable(value), ensure_ascii=True, allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _jsonable(value: Any) -> Any:
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, dict):
        return {plain(key): _jsonable(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_jsonable(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, bool | int | float | None) else plain(value)


def number(value: Any, digits: int = 3) -> str:
    """A number as people write it; a whole one without a point.

    >>> number(62.0), number(0.61538), number(12345.678), number(float("nan")), number(1.2e-9), number(-3)
    ('62', '0.615', '12,346', '–', '1.2e-09', '\N{MINUS SIGN}3')
    """
    value = float(value)
    if not math.isfinite(value):
        return "–" if math.isnan(value) else "∞" if value > 0 else "\N{MINUS SIGN}∞"
    if value.is_integer() and abs(value) < 1e15:
        text = f"{int(value):,}"
    elif abs(value) >= 10**digits:
        text = f"{value:,.0f}"
    else:
        text = f"{value:.{digits}g}"
    return text.replace("-", "\N{MINUS SIGN}", 1) if text.startswith("-") else text


def fixed(value: float, places: int = 3) -> str:
    """A figure with so many places, that stands well below others.

    >>> fixed(0.7), fixed(-0.25), fixed(float("nan"))
    ('0.700', '−0.250', '–')
    """
    if not math.isfinite(value):
        return number(value)
    return f"{value:,.{places}f}".replace("-", "−")


def column(values: Sequence[Any]) -> list[str]:
    """Numbers of a column, with as many places each as the largest needs for four figures.

    >>> column([0.5, -12.25, None]), column([1, 2000]), column([2.0, 3.0])
    (['0.50', '−12.25', '–'], ['1', '2000'], ['2', '3'])
    """
    plain_values = [value.item() if hasattr(value, "item") else value for value in values]
    numbers = [float(value) for value in plain_values if value is not None and math.isfinite(value)]
    if all(value is None or isinstance(value, int) for value in plain_values):
        return [spell(value) for value in plain_values]
    largest = max((abs(value) for value in numbers), default=0.0)
    if largest >= 1e7 or 0 < largest < 1e-3:
        return [spell(value) for value in plain_values]
    whole = all(value.is_integer() for value in numbers)
    places = 0 if whole else min(max(3 - math.floor(math.log10(largest)), 1), 4)
    return ["–" if value is None else fixed(float(value), places) for value in plain_values]


def percent(share: float) -> str:
    """
    >>> percent(0.123456), percent(1.0), percent(0.00012)
    ('12.3 %', '100 %', '0.012 %')
    """
    return f"{number(100 * share)} %"


def plural(count: float, noun: str) -> str:
    """A number with its noun, which is given in the plural.

    >>> plural(1, "rows"), plural(2, "rows"), plural(1, "cases"), plural(1, "compounds")
    ('1 row', '2 rows', '1 case', '1 compound')
    """
    return f"{number(count)} {noun[:-1] if count == 1 and noun.endswith('s') else noun}"


def listed(names: Sequence[str]) -> str:
    """
    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]


def clip(text: str, most: int = 80) -> str:
    """
    >>> clip("abcdef", 4)
    'abc…'
    """
    return text if len(text) <= most else text[: most - 1] + "…"


def spell(value: Any) -> str:
    """A cell of a table of rows: numbers short, missing values as a dash, text clipped."""
    if hasattr(value, "item") and not hasattr(value, "__len__"):
        value = value.item()
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return number(value, 4)
    return clip(plain(value))
