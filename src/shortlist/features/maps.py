"""Feature maps: rows in, feature vectors ``Z`` out, so that every score is ``Z @ w`` and every solver is
linear.

* ``LinearMap`` is the identity; it hands X itself on.
* ``KernelMap`` gives vectors whose products are kernel values: exactly (to rounding) on the training rows
  when all distinct rows are used, and on the span of the landmarks otherwise (Nystroem; Williams and Seeger,
  2001).
* ``PrecomputedMap`` is the same for a matrix of kernel values instead of rows.

Minimising 1/2 ||w||^2 + C risk(Z w) is then the kernel method itself: the optimal w lies in the span of the
training rows' features.  A repeated row or a weight changes neither the span nor any product, so weight 2
equals the row twice; a row of weight 0 is never a landmark and has no part in anything that is fitted.

Memory: transform works through blocks of rows, so beyond X and Z it needs some 64 MB whatever the number of
rows. Kernel values are computed in double precision; Z is single when X is.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.exceptions import NotFittedError

from shortlist.features.factor import Factor, factor
from shortlist.features.kernels import Kernel
from shortlist.features.landmarks import distinct_rows, seed_of
from shortlist.features.matrices import Array, Matrix, dense, is_sparse

__all__ = [
    "AUTO_LANDMARKS",
    "EXACT_LIMIT",
    "ApproximationWarning",
    "FeatureMap",
    "KernelMap",
    "LinearMap",
    "PrecomputedMap",
]

#: Up to so many distinct rows the factor is exact unless ``n_landmarks`` asks otherwise.
EXACT_LIMIT = 2000
#: Beyond, so many landmarks are drawn unless ``n_landmarks`` gives their number.
AUTO_LANDMARKS = 1000

_BLOCK_VALUES = 2**21


class ApproximationWarning(UserWarning):
    """A kernel is approximated by landmarks although nobody asked for it."""


class FeatureMap(ABC):
    """Rows in, feature vectors out.

    Attributes
    ----------
    is_linear : bool
        Whether transform returns X itself.
    is_precomputed : bool
        Whether X is a matrix of kernel values.
    n_features_in_ : int
        Columns of X at fit.
    n_components_ : int
        Columns of Z.
    landmarks_ : int array or None
        Numbers of the training rows that new rows are compared with; None for the linear map.
    """

    is_linear: bool = False
    is_precomputed: bool = False
    n_features_in_: int
    n_components_: int
    landmarks_: Array | None

    @abstractmethod
    def fit(self, X: Matrix, sample_weight: Any = None) -> Self:
        """Learn the map from training rows; rows of weight 0 take no part."""

    @abstractmethod
    def transform(self, X: Matrix) -> Matrix:
        """Feature vectors of rows."""

    @abstractmethod
    def fit_transform(self, X: Matrix, sample_weight: Any = None) -> Matrix:
        """``fit(X).transform(X)`` in one go."""

    def _check_fit(self, X: Matrix, sample_weight: Any) -> Array:
        """Remember the width of X; the weights as an array."""
        n_rows = _n_rows(X)
        if n_rows == 0 or X.shape[1] == 0:
            raise ValueError(f"a feature map needs at least one row and one column, X has shape {X.shape}")
        weight = np.ones(n_rows) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        if weight.shape != (n_rows,):
            raise ValueError(
                f"sample_weight must hold one number for each of the {n_rows} rows, got shape {weight.shape}"
            )
        if not weight.max() > 0:
            raise ValueError(
                "every row has weight 0: a feature map needs at least one row of positive weight"
            )
        self.n_features_in_ = X.shape[1]
        return weight

    def _check_transform(self, X: Matrix) -> None:
        if not hasattr(self, "n_features_in_"):
            raise NotFittedError(
                f"this {type(self).__name__} is not fitted yet: call fit(X) before transform"
            )
        _n_rows(X)
        if X.shape[1] != self.n_features_in_:
            raise ValueError(f"X has {X.shape[1]} columns, but the map was fitted on {self.n_features_in_}")


class LinearMap(FeatureMap):
    """The identity: no copy, whatever X is.

    >>> import numpy as np
    >>> X = np.eye(2)
    >>> LinearMap().fit(X).transform(X) is X
    True
    """

    is_linear = True

    def fit(self, X: Matrix, sample_weight: Any = None) -> Self:
        self._check_fit(X, sample_weight)
        self.n_components_ = X.shape[1]
        self.landmarks_ = None
        return self

    def transform(self, X: Matrix) -> Matrix:
        self._check_transform(X)
        return X

    def fit_transform(self, X: Matrix, sample_weight: Any = None) -> Matrix:
        return self.fit(X, sample_weight).transform(X)

    def __repr__(self) -> str:
        return "LinearMap()"


class KernelMap(FeatureMap):
    """Features whose products are kernel values: ``Z = k(X, basis_) @ mixing_``.

    Parameters
    ----------
    kernel : Kernel
    n_landmarks : int, "all" or None
        Number of distinct rows to compare with. ``"all"``, or a number not below that of the distinct rows,
        is exact. None: all of them up to ``EXACT_LIMIT``, otherwise ``AUTO_LANDMARKS`` and an
        ``ApproximationWarning``.
    random_state : None, int, RandomState or Generator
        Seed of the landmarks.

    Attributes
    ----------
    kernel_ : Kernel
        The kernel with its parameters as numbers.
    basis_ : (m, d) dense or CSR
        The rows that new rows are compared with, in double precision.
    mixing_ : (m, n_components_) array
    is_exact_ : bool
        Whether Z Z' = K on all training rows.

    Examples
    --------
    >>> import numpy as np
    >>> from shortlist.features.kernels import Rbf
    >>> X = np.array([[0.0], [1.0], [1.0], [3.0]])
    >>> Z = KernelMap(Rbf(0.5)).fit_transform(X)
    >>> Z.shape, np.allclose(Z @ Z.T, np.exp(-0.5 * (X - X.T) ** 2))
    ((4, 3), True)
    """

    def __init__(
        self, kernel: Kernel, *, n_landmarks: int | str | None = None, random_state: Any = None
    ) -> None:
        self.kernel = kernel
        self.n_landmarks = n_landmarks
        self.random_state = random_state

    def fit(self, X: Matrix, sample_weight: Any = None) -> Self:
        self._fit(X, sample_weight)
        return self

    def fit_transform(self, X: Matrix, sample_weight: Any = None) -> Array:
        found, representative = self._fit(X, sample_weight)
        if not self.is_exact_:
            return self.transform(X)
        Z = np.empty((X.shape[0], self.n_components_), dtype=_precision(X))
        present = representative >= 0
        Z[present] = found.Z[representative[present]]
        if not present.all():
            absent = np.flatnonzero(~present)
            Z[absent] = self.transform(_rows(X)[absent])
        return Z

    def transform(self, X: Matrix) -> Array:
        self._check_transform(X)
        n_rows, n_landmarks = X.shape[0], len(self.mixing_)
        X = _rows(X)
        Z = np.empty((n_rows, self.n_components_), dtype=_precision(X))
        width = n_landmarks + (0 if is_sparse(X) else X.shape[1])
        step = max(1, _BLOCK_VALUES // width)
        for start in range(0, n_rows, step):
            block = slice(start, min(start + step, n_rows))
            with np.errstate(over="ignore", invalid="ignore"):
                K = self._against_basis(X[block])
                Z[block] = K @ self.mixing_
            if not np.isfinite(Z[block]).all():
                raise ValueError(
                    f"kernel values of rows {block.start} to {block.stop - 1} are not finite or too large. "
                    "Scale the features, or lower gamma or degree"
                )
        return Z

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.kernel!r}, n_landmarks={self.n_landmarks!r})"

    def _fit(self, X: Matrix, sample_weight: Any) -> tuple[Factor, Array]:
        weight = self._check_fit(X, sample_weight)
        single = _precision(X) == np.float32
        X = _rows(X)
        present = np.flatnonzero(weight > 0)
        # Where all rows serve there is nothing to draw, and the features must not depend on a seed.
        candidates, representative = self._candidates(X, present, 0)
        m = self._number_of_landmarks(len(candidates))
        self.is_exact_ = m == len(candidates)
        if not self.is_exact_:
            candidates, representative = self._candidates(X, present, seed_of(self.random_state))
        with np.errstate(over="ignore", invalid="ignore"):
            gram = self._gram(X, candidates[:m], weight)
        # Single precision cannot hold more of a row than its rounding unit; double is left to the factor.
        found = factor(
            _symmetric(gram, single),
            tolerance=float(np.finfo(np.float32).eps) if single else 0.0,
            indefinite=1e-4 if single else 1e-8,
        )
        self.landmarks_ = candidates[found.rows]
        self.mixing_ = found.mixing
        self.n_components_ = found.mixing.shape[1]
        self._keep_basis(X)
        return found, representative

    def _candidates(self, X: Matrix, present: Array, seed: int) -> tuple[Array, Array]:
        return distinct_rows(X, present, seed)

    def _number_of_landmarks(self, n_distinct: int) -> int:
        if self.n_landmarks is None:
            if n_distinct <= EXACT_LIMIT:
                return n_distinct
            warnings.warn(
                f"the kernel is approximated with {AUTO_LANDMARKS:,} landmarks because X has {n_distinct:,} "
                f"distinct rows, more than {EXACT_LIMIT:,}. Set n_landmarks to a number to choose, or to "
                f"'all' for the exact kernel, which needs {8e-9 * n_distinct**2:.2g} GB for each copy of "
                "its matrix",
                ApproximationWarning,
                stacklevel=5,
            )
            return AUTO_LANDMARKS
        if isinstance(self.n_landmarks, str):
            return n_distinct
        return min(int(self.n_landmarks), n_distinct)

    def _gram(self, X: Matrix, rows: Array, weight: Array) -> Array:
        self.kernel_ = self.kernel.resolve(X, weight)
        basis = X[rows].astype(np.float64, copy=False)
        return self.kernel_(basis, basis)

    def _keep_basis(self, X: Matrix) -> None:
        self.basis_ = X[self.landmarks_].astype(np.float64, copy=False)

    def _against_basis(self, block: Matrix) -> Array:
        if is_sparse(self.basis_):
            block = sparse.csr_array(block)
        elif is_sparse(block):
            block = block.toarray()
        return self.kernel_(block.astype(np.float64, copy=False), self.basis_)


class PrecomputedMap(KernelMap):
    """Features from kernel values: X is k(train, train) at fit and k(rows, train) at transform.

    Rows have no content here by which equal ones could be known; the sample of landmarks is uniform over row
    numbers.

    >>> import numpy as np
    >>> K = np.array([[2.0, 1.0], [1.0, 2.0]])
    >>> Z = PrecomputedMap().fit_transform(K)
    >>> np.allclose(Z @ Z.T, K)
    True
    """

    is_precomputed = True

    def __init__(self, *, n_landmarks: int | str | None = None, random_state: Any = None) -> None:
        self.n_landmarks = n_landmarks
        self.random_state = random_state

    def __repr__(self) -> str:
        return f"PrecomputedMap(n_landmarks={self.n_landmarks!r})"

    def _check_fit(self, X: Matrix, sample_weight: Any) -> Array:
        if _n_rows(X) != X.shape[1]:
            raise ValueError(
                "kernel='precomputed' takes the square matrix of kernel values of all training rows with "
                f"each other at fit, but X has shape {X.shape}. For rows of features choose another kernel"
            )
        return super()._check_fit(X, sample_weight)

    def _candidates(self, X: Matrix, present: Array, seed: int) -> tuple[Array, Array]:
        shuffled = np.random.default_rng(seed).permutation(present)
        representative = np.full(X.shape[0], -1, dtype=np.intp)
        representative[shuffled] = np.arange(len(shuffled))
        return shuffled, representative

    def _gram(self, X: Matrix, rows: Array, weight: Array) -> Array:
        return dense(X[rows][:, rows])

    def _keep_basis(self, X: Matrix) -> None:
        pass

    def _against_basis(self, block: Matrix) -> Array:
        return dense(block[:, self.landmarks_])


def _n_rows(X: Matrix) -> int:
    shape = getattr(X, "shape", None)
    if shape is None or len(shape) != 2:
        raise ValueError(
            "a feature map takes a 2-d array or sparse matrix, got "
            + (f"shape {shape}" if shape is not None else type(X).__name__)
        )
    return int(shape[0])


def _rows(X: Matrix) -> Matrix:
    """Dense as it is; sparse as CSR without duplicate entries, so that blocks of rows are cheap."""
    if not is_sparse(X):
        return X
    X = X.tocsr()
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def _precision(X: Matrix) -> type[np.floating[Any]]:
    return np.float32 if X.dtype == np.float32 else np.float64


def _symmetric(K: Array, single: bool) -> Array:
    largest = float(np.abs(K).max())
    with np.errstate(invalid="ignore"):  # values that are not finite are the factor's to refuse
        asymmetry = float(np.abs(K - K.T).max())
    if asymmetry > (1e-4 if single else 1e-8) * largest:
        raise ValueError(
            f"the kernel is not symmetric: two rows swapped give values that differ by {asymmetry:.3g} "
            f"(the largest value is {largest:.3g}). Use a symmetric kernel, for instance (K + K.T) / 2"
        )
    return K
