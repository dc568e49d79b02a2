"""Kernels: positive semidefinite similarities ``k(x, x')`` between rows, each a small immutable object.

====================  =================================================
========================================= class                 k(x, x')
positive semidefinite when
====================  =================================================
========================================= ``Linear``            x.x'
always ``Rbf``               exp(-gamma |x - x'|^2)                             gamma > 0 ``Gaussians``
sum_t v_t exp(-|x - x'|^2 / (2 sigma_t^2))         sigma_t, v_t > 0 ``Laplacian``         exp(-gamma |x -
x'|_1)                             gamma > 0 ``Polynomial``        (gamma x.x' + coef0)^degree
gamma > 0, coef0 >= 0, degree 1, 2, ... ``Tanimoto``          x.x' / (|x|^2 + |x'|^2 - x.x'), 1 if x = x' = 0
always; here for x >= 0
====================  =================================================
=========================================

That Tanimoto is positive semidefinite follows from the series sum_k (x.x')^(k+1) / (|x|^2 + |x'|^2)^(k+1),
which converges because 2 x.x' <= |x|^2 + |x'|^2 and whose every term is a product of positive semidefinite
kernels.

A kernel is first resolved on the training rows (``gamma="scale"`` becomes a number) and then called on two
blocks of rows.  Blocks are dense or CSR and of double precision, the values always dense and double.

>>> import numpy as np
>>> bits = np.array([[1.0, 1, 0, 1], [1, 0, 0, 1]])
>>> Tanimoto()(bits, bits).round(3)
array([[1.   , 0.667],
       [0.667, 1.   ]])
"""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, Self, cast

import numpy as np
from sklearn.metrics.pairwise import euclidean_distances, manhattan_distances
from sklearn.utils.extmath import safe_sparse_dot

from shortlist.features.matrices import Array, Matrix, is_sparse
from shortlist.features.spread import entry_variance

Gamma = float | str | None

__all__ = ["Gaussians", "Kernel", "Laplacian", "Linear", "Polynomial", "Rbf", "Tanimoto", "positive"]


def positive(name: str, value: object) -> float:
    """``value`` as a finite number above 0, or an error that names the parameter."""
    if not _is_number(value, numbers.Real):
        raise TypeError(f"{name} must be a number above 0, got {value!r}")
    number = float(cast(float, value))
    if not 0 < number < np.inf:
        raise ValueError(f"{name} must be a finite number above 0, got {value!r}")
    return number


def _is_number(value: object, kind: type) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool)


def _check_gamma(gamma: object) -> None:
    if isinstance(gamma, str):
        if gamma not in ("scale", "auto"):
            raise ValueError(f"gamma must be a number above 0, 'scale', 'auto' or None, got {gamma!r}")
    elif gamma is not None:
        positive("gamma", gamma)


def _resolve_gamma(gamma: Gamma, X: Matrix, weight: Array, *, power: int) -> float:
    """A number for ``gamma``; ``power`` is that of the length which gamma multiplies."""
    if gamma is not None and not isinstance(gamma, str):
        return float(gamma)
    if gamma == "auto":
        return 1.0 / float(X.shape[1])
    variance = entry_variance(X, weight)
    if variance == 0.0:
        return 1.0
    with np.errstate(divide="ignore", over="ignore"):
        number = float(np.divide(1.0, X.shape[1] * variance ** (power / 2)))
    if not 0 < number < np.inf:
        raise ValueError(
            f"gamma='scale' cannot be computed: the variance of the entries of X is {variance:g}. "
            "Scale the features (for instance with StandardScaler) or give gamma as a number"
        )
    return number


def _inner(X: Matrix, Y: Matrix) -> Array:
    return np.asarray(safe_sparse_dot(X, Y.T, dense_output=True))


def _squared_distances(X: Matrix, Y: Matrix) -> Array:
    """Dense rows are centred first: far from the origin |x|^2 + |y|^2 - 2 x.y loses what matters."""
    if not is_sparse(Y):
        origin = Y.mean(axis=0)
        same = X is Y
        Y = Y - origin
        X = Y if same else X - origin
    return np.asarray(euclidean_distances(X, Y, squared=True))


class Kernel(ABC):
    """A positive semidefinite function of two rows."""

    def resolve(self, X: Matrix, weight: Array) -> Kernel:
        """The same kernel with every parameter a number, found on training rows ``X`` of weight
        ``weight``."""
        return self

    @abstractmethod
    def __call__(self, X: Matrix, Y: Matrix) -> Array:
        """Kernel values, a row for each row of ``X`` and a column for each row of ``Y``."""


@dataclass(frozen=True)
class Linear(Kernel):
    """``x.x'``: useful inside a sum; alone, ``kernel="linear"`` needs no kernel at all."""

    def __call__(self, X: Matrix, Y: Matrix) -> Array:
        return _inner(X, Y)


@dataclass(frozen=True)
class Rbf(Kernel):
    """``exp(-gamma |x - x'|^2)``.

    Parameters
    ----------
    gamma : float, "scale", "auto" or None
        ``None`` and ``"scale"`` mean 1 / (d * variance of all entries of X), ``"auto"`` means 1 / d, with d
        the number of features, as in scikit-learn's SVC.
    """

    gamma: Gamma = None

    def __post_init__(self) -> None:
        _check_gamma(self.gamma)

    def resolve(self, X: Matrix, weight: Array) -> Self:
        return replace(self, gamma=_resolve_gamma(self.gamma, X, weight, power=2))

    def __call__(self, X: Matrix, Y: Matrix) -> Array:
        K = _squared_distances(X, Y)
        K *= -_number(self.gamma)
        return np.exp(K, out=K)


@dataclass(frozen=True)
class Gaussians(Kernel):
    """``sum_t v_t exp(-|x - x'|^2 / (2 sigma_t^2))``: Gaussians of several widths, for one matrix of
    distances.

    Parameters
    ----------
    scales : float or sequence of float
        The widths sigma_t.
    weights : sequence of float, optional
        The weights v_t, 1 by default.

    Examples
    --------
    >>> import numpy as np
    >>> Gaussians([1.0, 2.0])(np.zeros((1, 1)), np.ones((1, 1))).round(4)
    array([[1.489]])
    """

    scales: Any
    weights: Any = None

    def __post_init__(self) -> None:
        scales = _positives("scales", self.scales)
        weights = (1.0,) * len(scales) if self.weights is None else _positives("weights", self.weights)
        if len(weights) != len(scales):
            raise ValueError(f"there are {len(weights)} weights for {len(scales)} scales: give one each")
        object.__setattr__(self, "scales", scales)
        object.__setattr__(self, "weights", weights)

    def __call__(self, X: Matrix, Y: Matrix) -> Array:
        squared = _squared_distances(X, Y)
        total = np.zeros_like(squared)
        for scale, weight in zip(self.scales, self.weights, strict=True):
            term = squared * (-0.5 / scale**2)
            np.exp(term, out=term)
            term *= weight
            total += term
        return total


@dataclass(frozen=True)
class Laplacian(Kernel):
    """``exp(-gamma |x - x'|_1)``.

    Parameters
    ----------
    gamma : float, "scale", "auto" or None
        ``None`` and ``"scale"`` mean 1 / (d * standard deviation of all entries of X): the distance is not
        squared, so neither is the deviation. ``"auto"`` means 1 / d.
    """

    gamma: Gamma = None

    def __post_init__(self) -> None:
        _check_gamma(self.gamma)

    def resolve(self, X: Matrix, weight: Array) -> Self:
        return replace(self, gamma=_resolve_gamma(self.gamma, X, weight, power=1))

    def __call__(self, X: Matrix, Y: Matrix) -> Array:
        K: Array = np.asarray(manhattan_distances(X, Y))
        K *= -_number(self.gamma)
        np.exp(K, out=K)
        return K


@dataclass(frozen=True)
class Polynomial(Kernel):
    """``(gamma x.x' + coef0)^degree``.

    Parameters
    ----------
    degree : int
        1 or more. Other powers are not positive semidefinite.
    gamma : float, "scale", "auto" or None
        As for ``Rbf``.
    coef0 : float
        0 or more, for the same reason.
    """

    degree: int = 3
    gamma: Gamma = None
    coef0: float = 1.0

    def __post_init__(self) -> None:
        _check_gamma(self.gamma)
        if not _is_number(self.degree, numbers.Integral):
            raise TypeError(
                f"degree must be a whole number of 1 or more, got {self.degree!r}: "
                "a fractional power is not positive semidefinite"
            )
        if self.degree < 1:
            raise ValueError(f"degree must be 1 or more, got {self.degree}")
        if not _is_number(self.coef0, numbers.Real):
            raise TypeError(f"coef0 must be a number of 0 or more, got {self.coef0!r}")
        if not 0 <= self.coef0 < np.inf:
            raise ValueError(
                f"coef0 must be a finite number of 0 or more, got {self.coef0!r}: "
                "with a negative one the kernel is not positive semidefinite"
            )

    def resolve(self, X: Matrix, weight: Array) -> Self:
        return replace(self, gamma=_resolve_gamma(self.gamma, X, weight, power=2))

    def __call__(self, X: Matrix, Y: Matrix) -> Array:
        K = _inner(X, Y)
        K *= _number(self.gamma)
        K += self.coef0
        return np.power(K, int(self.degree), out=K)


@dataclass(frozen=True)
class Tanimoto(Kernel):
    """``x.x' / (|x|^2 + |x'|^2 - x.x')`` on bit vectors and other non-negative rows, 1 between two rows of
    zeros.

    On bits it is the number of bits in common over the number of bits in either (Jaccard's index). On counts
    it is the same formula, not the ratio of summed minima to summed maxima that some toolkits use for counts.
    """

    def __call__(self, X: Matrix, Y: Matrix) -> Array:
        for block in (X, Y):
            if block.shape[0] and block.min() < 0:
                raise ValueError(
                    "kernel='tanimoto' compares bit vectors or non-negative counts, but X has negative "
                    "entries. Leave out centring steps such as StandardScaler, or use kernel='rbf'"
                )
        K = _inner(X, Y)
        either = _squared_norms(X)[:, None] + _squared_norms(Y)[None, :] - K
        empty = either <= 0
        either[empty] = 1.0
        K /= either
        K[empty] = 1.0
        return K


def _squared_norms(X: Matrix) -> Array:
    if is_sparse(X):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()
    return np.asarray(np.einsum("ij,ij->i", X, X))


def _number(gamma: Gamma) -> float:
    if gamma is None or isinstance(gamma, str):
        raise ValueError(f"gamma={gamma!r} depends on training rows: call kernel.resolve(X, weight) first")
    return float(gamma)


def _positives(name: str, values: Any) -> tuple[float, ...]:
    if isinstance(values, str):
        raise TypeError(f"{name} must be numbers above 0, got {values!r}")
    numbers_given = tuple(np.atleast_1d(values).ravel().tolist())
    if not numbers_given:
        raise ValueError(f"{name} is empty: give at least one number above 0")
    return tuple(positive(f"each of {name}", value) for value in numbers_given)
