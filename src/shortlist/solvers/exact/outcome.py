"""What an exact solver returns, and what it tells on the way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

__all__ = ["Callback", "ExactCertificate", "ExactSolution", "Progress"]


@dataclass(frozen=True)
class Progress:
    """The state of a search at one moment.

    Attributes
    ----------
    seconds : float
        Since the search began.
    value : float
        Of the best answer so far, scored from the definition.
    bound : float
        Proven: no answer is better.
    nodes : int
        Boxes (or nodes of the solver's tree) looked at so far.
    note : str
        What is being done, where that needs saying.
    """

    seconds: float
    value: float
    bound: float
    nodes: int
    note: str = ""

    @property
    def relative_gap(self) -> float:
        """``(bound - value) / |value|``."""
        return relative_gap(self.value, self.bound)

    def __str__(self) -> str:
        speed = self.nodes / self.seconds if self.seconds > 0 else 0.0
        line = (
            f"{self.seconds:7.1f} s  answer {self.value:.6g}  bound {self.bound:.6g}  "
            f"gap {100 * self.relative_gap:.3f} %  {self.nodes} boxes ({speed:.0f}/s)"
        )
        return f"{line}  {self.note}" if self.note else line


# Called now and then; a true answer ends the search, which keeps what it has.
Callback = Callable[[Progress], Any]


def relative_gap(value: float, bound: float) -> float:
    """The distance that a bound leaves open, against the value."""
    gap = max(bound - value, 0.0)
    return gap / max(abs(value), float(np.finfo(float).tiny)) if gap else 0.0


@dataclass(frozen=True)
class ExactCertificate:
    """Evidence of an exact fit.

    Attributes
    ----------
    value : float
        Of the answer, scored from the definition: the statistic less the price of its coefficients.
    bound : float
        Proven: no coefficients have a larger value.
    gap, relative_gap : float
        ``bound - value``, and that over ``|value|``.
    proven : bool
        Whether the answer is proven to be the best one (``gap`` is rounding).
    nodes : int
        Boxes (or nodes of the solver's tree) looked at.
    seconds : float
    method : str
    trivial_bound : float
        What an order without a mistake would earn: the bound of those who have not searched.
    """

    value: float
    bound: float
    gap: float
    relative_gap: float
    proven: bool
    nodes: int
    seconds: float
    method: str
    trivial_bound: float

    # Bounds and values are sums of the same weights in another order.
    ROUNDING = 1e-9

    @classmethod
    def of(
        cls, value: float, bound: float, *, nodes: int, seconds: float, method: str, trivial_bound: float
    ) -> ExactCertificate:
        """A certificate from its two sides.

        >>> ExactCertificate.of(2.0, 2.5, nodes=7, seconds=0.1, method="ascent", trivial_bound=3.0).relative_gap
        0.25
        """
        bound = max(min(bound, trivial_bound), value)
        proven = bound - value <= cls.ROUNDING * max(abs(value), 1.0)
        bound = value if proven else bound
        return cls(
            value=float(value),
            bound=float(bound),
            gap=float(bound - value),
            relative_gap=float(relative_gap(value, bound)),
            proven=bool(proven),
            nodes=int(nodes),
            seconds=float(seconds),
            method=method,
            trivial_bound=float(trivial_bound),
        )

    @property
    def closed(self) -> float:
        """Share of the way from the trivial bound to the answer that the proof has come."""
        room = self.trivial_bound - self.value
        return 1.0 if room <= 0 else (self.trivial_bound - self.bound) / room

    def __str__(self) -> str:
        word = "proven optimal" if self.proven else "NOT proven"
        return (
            f"{word}: value {self.value:.6g}, bound {self.bound:.6g}, gap {100 * self.relative_gap:.3g} % "
            f"(without a mistake {self.trivial_bound:.6g}), {self.nodes} nodes, {self.seconds:.2f} s, {self.method}"
        )


@dataclass(frozen=True)
class ExactSolution:
    """Outcome of an exact solver.

    Attributes
    ----------
    coef : (d,) array
        The largest entry is 1 in size, or all are zero.
    certificate : ExactCertificate
    trace : tuple of Progress
        Whenever the answer improved, and the bound now and then; the last entry is the end.
    """

    coef: Array
    certificate: ExactCertificate
    trace: tuple[Progress, ...]
