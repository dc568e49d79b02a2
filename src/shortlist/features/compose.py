"""Kernels made of others: weighted sums, the user's own functions, scikit-learn's kernel objects.

>>> import numpy as np
>>> from shortlist.features.kernels import Linear, Rbf
>>> SumKernel([(Rbf(1.0), 0.5), (Linear(), 2.0)])(np.eye(2), np.eye(2)).round(3)
array([[2.5  , 0.068],
       [0.068, 2.5  ]])
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from shortlist.features.kernels import Kernel, positive
from shortlist.features.matrices import Array, Matrix, dense, is_sparse

__all__ = ["CallableKernel", "SklearnKernel", "SumKernel"]


@dataclass(frozen=True)
class SumKernel(Kernel):
    """``sum_t v_t k_t(x, x')`` with positive weights.

    Parameters
    ----------
    terms : sequence of (Kernel, float)
        Each kernel with its weight v_t > 0.
    """

    terms: Sequence[tuple[Kernel, float]]

    def __post_init__(self) -> None:
        terms = tuple((kernel, positive("the weight of a kernel in a sum", v)) for kernel, v in self.terms)
        if not terms:
            raise ValueError("a sum of kernels needs at least one kernel")
        for kernel, _ in terms:
            if not isinstance(kernel, Kernel):
                raise TypeError(f"a sum of kernels is made of Kernel objects, got {kernel!r}")
        object.__setattr__(self, "terms", terms)

    def resolve(self, X: Matrix, weight: Array) -> Self:
        return replace(self, terms=tuple((kernel.resolve(X, weight), v) for kernel, v in self.terms))

    def __call__(self, X: Matrix, Y: Matrix) -> Array:
        total = np.zeros((X.shape[0], Y.shape[0]))
        for kernel, v in self.terms:
            term = kernel(X, Y)
            term *= v
            total += term
        return total


@dataclass(frozen=True)
class CallableKernel(Kernel):
    """A kernel computed by the user's function, in one of two forms.

    Parameters
    ----------
    function : callable
        ``of="blocks"``: ``function(X, Y, **parameters)`` takes two blocks of rows and returns the matrix of
        values. ``of="pairs"``: ``function(x, y, **parameters)`` takes two single rows (1-d arrays; 1-row CSR
        for sparse X) and returns a number, as in scikit-learn's ``pairwise_kernels``.
    parameters : mapping, optional
        Keyword arguments.
    of : {"auto", "blocks", "pairs"}
        ``"auto"`` tries the function on blocks of two and of three rows: an answer of shape (2, 3) means
        blocks, anything else pairs.

    Examples
    --------
    >>> import numpy as np
    >>> kernel = CallableKernel(lambda x, y: min(x[0], y[0]))
    >>> X = np.array([[1.0], [2.0]])
    >>> kernel.resolve(X, np.ones(2))(X, X)
    array([[1., 1.],
           [1., 2.]])
    """

    function: Callable[..., Any]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    of: str = "auto"

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise TypeError(f"the function of a CallableKernel must be callable, got {self.function!r}")
        if self.of not in ("auto", "blocks", "pairs"):
            raise ValueError(f"of must be 'auto', 'blocks' or 'pairs', got {self.of!r}")

    def resolve(self, X: Matrix, weight: Array) -> Self:
        return replace(self, of=self._form(X)) if self.of == "auto" else self

    def __call__(self, X: Matrix, Y: Matrix) -> Array:
        if self.of == "pairs":
            return self._by_pairs(X, Y)
        K = dense(self.function(X, Y, **self.parameters))
        if K.shape != (X.shape[0], Y.shape[0]):
            raise ValueError(
                f"the kernel function returned shape {K.shape} for blocks of {X.shape[0]} and {Y.shape[0]} "
                f"rows; it must return one value for each pair, shape {(X.shape[0], Y.shape[0])}"
            )
        return K

    def _by_pairs(self, X: Matrix, Y: Matrix) -> Array:
        K = np.empty((X.shape[0], Y.shape[0]))
        same = X is Y
        for i in range(X.shape[0]):
            x = _row(X, i)
            for j in range(i if same else 0, Y.shape[0]):
                K[i, j] = self.function(x, _row(Y, j), **self.parameters)
                if same:
                    K[j, i] = K[i, j]
        return K

    def _form(self, X: Matrix) -> str:
        rows = np.minimum(np.arange(3), X.shape[0] - 1)
        try:
            if np.shape(self.function(X[rows[:2]], X[rows], **self.parameters)) == (2, 3):
                return "blocks"
            trouble = ""
        except Exception as error:  # whatever a function of single rows raises when it is given blocks
            trouble = f" (for blocks: {type(error).__name__}: {error})"
        try:
            float(self.function(_row(X, rows[0]), _row(X, rows[1]), **self.parameters))
        except Exception as error:
            raise TypeError(
                f"kernel={self.function!r} is neither a function of two blocks of rows that returns a "
                f"matrix nor a function of two rows that returns a number{trouble} (for rows: "
                f"{type(error).__name__}: {error})"
            ) from error
        return "pairs"


def _row(X: Matrix, i: int) -> Any:
    return X[i : i + 1] if is_sparse(X) else X[i]


@dataclass(frozen=True)
class SklearnKernel(Kernel):
    """A ``sklearn.gaussian_process.kernels.Kernel`` with its hyperparameters as they stand.

    White noise lives on the diagonal of one matrix and is not a similarity of two rows, so a ``WhiteKernel``
    contributes nothing here.

    Parameters
    ----------
    kernel : sklearn.gaussian_process.kernels.Kernel
        It is cloned; tuning it is the user's choice.
    """

    kernel: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "kernel", clone(self.kernel))

    def __call__(self, X: Matrix, Y: Matrix) -> Array:
        if is_sparse(X) or is_sparse(Y):
            raise TypeError(
                f"the scikit-learn kernel {self.kernel} needs dense rows and X is sparse. Use a named kernel "
                "('rbf', 'laplacian', 'polynomial', 'tanimoto'), which keeps X sparse, or pass X.toarray()"
            )
        return np.array(self.kernel(X, Y), dtype=np.float64)
