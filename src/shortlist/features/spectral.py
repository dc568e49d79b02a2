"""A kernel's features by eigenvectors: ``K = U diag(l) U'`` is the factor of a map and a decomposition at once.

Where a method needs the eigenvectors of the kernel matrix anyway, they make the feature map too: Z = U sqrt(l), and
A = U / sqrt(l) carries it to new rows.  The Cholesky factor of ``factor`` is cheaper for those that do not.

>>> import numpy as np
>>> from shortlist.features import feature_map
>>> X = np.array([[0.0], [1.0], [3.0]])
>>> features, Z, values, vectors = spectral_map(feature_map("rbf", gamma=0.5), X)
>>> np.allclose(features.transform(X), Z), np.allclose(Z @ Z.T, np.exp(-0.5 * (X - X.T) ** 2))
(True, True)
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh

from shortlist.features.maps import KernelMap
from shortlist.features.matrices import Array, Matrix, is_sparse

__all__ = ["spectral_map"]


def spectral_map(features: KernelMap, X: Matrix) -> tuple[KernelMap, Array, Array, Array]:
    """Fit ``features`` on all rows of X.

    Returns
    -------
    features : KernelMap
        Fitted, every row a landmark.
    Z : (m, r) array
        Features of the rows, r the numerical rank.
    values : (m,) array
        All eigenvalues, ascending, those below 0 by rounding as 0.
    vectors : (m, m) array

    Raises
    ------
    ValueError
        For an indefinite kernel, and for values that are not finite.
    """
    m = X.shape[0]
    features._check_fit(X, None)
    single = X.dtype == np.float32
    if is_sparse(X) and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    with np.errstate(over="ignore", invalid="ignore"):
        K = features._gram(X, np.arange(m), np.ones(m))
    largest = float(np.abs(K).max())
    if not np.isfinite(largest):
        raise ValueError("kernel values are not finite. Scale the features, or lower gamma or degree")
    # The lower triangle is all that eigh reads; a few entries of the upper one show a kernel that is not symmetric.
    some = slice(0, min(m, 64))
    if float(np.abs(K[some] - K[:, some].T).max()) > (1e-4 if single else 1e-8) * largest:
        raise ValueError("the kernel is not symmetric: use a symmetric kernel, for instance (K + K.T) / 2")
    values, vectors = eigh(K, driver="evd", overwrite_a=True, check_finite=False)
    smallest, top = float(values[0]), float(values[-1])
    if smallest < -(1e-4 if single else 1e-8) * max(top, 0.0):
        raise ValueError(
            f"the kernel is not positive semidefinite: the smallest eigenvalue of its matrix on {m} training rows is "
            f"{smallest:.6g} (the largest {top:.6g}). Use a positive semidefinite kernel"
        )
    tolerance = float(np.finfo(np.float32 if single else np.float64).eps) * (1 if single else m)
    kept = values > max(tolerance * top, 2 * abs(min(smallest, 0.0)))
    kept[-1] = True
    roots = np.sqrt(np.maximum(values[kept], np.finfo(float).tiny))
    U = vectors[:, kept]
    features.landmarks_ = np.arange(m)
    features.mixing_ = U / roots if top > 0 else np.zeros_like(U)
    features.n_components_ = U.shape[1]
    features.is_exact_ = True
    features._keep_basis(X)
    Z = (U * roots).astype(np.float32 if single else np.float64, copy=False)
    return features, Z, np.where(kept, np.maximum(values, 0.0), 0.0), vectors
