"""``feature_map``: the one door through which every estimator's ``kernel=`` goes."""

from __future__ import annotations

import difflib
import numbers
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from shortlist.features.compose import CallableKernel, SklearnKernel, SumKernel
from shortlist.features.kernels import (
    Gaussians,
    Kernel,
    Laplacian,
    Linear,
    Polynomial,
    Rbf,
    Tanimoto,
    positive,
)
from shortlist.features.maps import FeatureMap, KernelMap, LinearMap, PrecomputedMap

__all__ = ["KERNEL_NAMES", "feature_map"]

KERNEL_NAMES = ("linear", "rbf", "gaussian", "laplacian", "polynomial", "poly", "tanimoto", "precomputed")


def feature_map(
    kernel: Any = None,
    *,
    gamma: float | str | None = None,
    scales: Any = None,
    degree: int = 3,
    coef0: float = 1.0,
    kernel_params: Mapping[str, Any] | None = None,
    n_landmarks: int | str | None = None,
    random_state: Any = None,
) -> FeatureMap:
    """The feature map of a kernel, not yet fitted.

    Parameters
    ----------
    kernel : None, str, callable, Kernel, scikit-learn kernel object, or list
        * None or ``"linear"``: the identity, X itself;
        * ``"rbf"`` or ``"gaussian"``: exp(-gamma |x-x'|^2), or with ``scales`` the sum over them of
          exp(-|x-x'|^2 / (2 sigma^2));
        * ``"laplacian"``: exp(-gamma |x-x'|_1); ``"polynomial"`` or ``"poly"``: (gamma x.x' + coef0)^degree;
        * ``"tanimoto"``: for bit vectors and non-negative counts;
        * ``"precomputed"``: X is the matrix of kernel values, k(train, train) at fit and k(rows, train)
          later;
        * a function of two blocks of rows that returns a matrix, or of two rows that returns a number;
        * a ``Kernel`` of this package or a ``sklearn.gaussian_process.kernels.Kernel``;
        * a list of any of these but ``"precomputed"``, or of pairs (kernel, weight > 0): their weighted sum.

        ``"sigmoid"`` is refused: it is not positive semidefinite.
    gamma : float, "scale", "auto" or None
        Of the named kernels that have one. None and ``"scale"`` are 1 / (d * variance of the entries of X),
        for ``"laplacian"`` 1 / (d * standard deviation); ``"auto"`` is 1 / d.
    scales : float or sequence of float, optional
        Widths sigma of Gaussians; with ``"rbf"`` or ``"gaussian"`` only, instead of gamma.
    degree, coef0 : int, float
        Of ``"polynomial"``.
    kernel_params : mapping, optional
        Keyword arguments of a function given as kernel.
    n_landmarks : int, "all" or None
        How many distinct training rows stand for all. ``"all"`` is exact. None: exact up to 2,000 distinct
        rows, beyond 1,000 landmarks with an ``ApproximationWarning``. The linear map needs none.
    random_state : None, int, RandomState or Generator
        Seed of the landmarks.

    Returns
    -------
    FeatureMap

    Raises
    ------
    ValueError, TypeError
        For a parameter out of its range; parameters that the kernel does not use are checked and then
        ignored, but for ``scales`` and ``kernel_params``, which are refused where they have no meaning.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0, 1.0], [1.0, 1.0], [2.0, 0.0]])
    >>> Z = feature_map("rbf", gamma=0.5).fit_transform(X)
    >>> (Z @ Z.T).round(3)
    array([[1.   , 0.607, 0.082],
           [0.607, 1.   , 0.368],
           [0.082, 0.368, 1.   ]])
    >>> feature_map([("rbf", 0.5), ("linear", 1.0)], gamma=0.5).fit(X).n_components_
    3
    """
    _check_n_landmarks(n_landmarks)
    parameters = _Parameters(gamma, scales, degree, coef0, kernel_params)
    if kernel is None or (isinstance(kernel, str) and kernel == "linear"):
        parameters.refuse_unused(kernel)
        return LinearMap()
    if isinstance(kernel, str) and kernel == "precomputed":
        parameters.refuse_unused(kernel)
        return PrecomputedMap(n_landmarks=n_landmarks, random_state=random_state)
    made = parameters.sum(kernel) if _is_list(kernel) else parameters.make(kernel)
    parameters.refuse_unused(kernel)
    return KernelMap(made, n_landmarks=n_landmarks, random_state=random_state)


class _Parameters:
    """The door's parameters, checked, and the kernels made with them."""

    def __init__(
        self, gamma: Any, scales: Any, degree: Any, coef0: Any, kernel_params: Mapping[str, Any] | None
    ) -> None:
        if kernel_params is not None and not isinstance(kernel_params, Mapping):
            raise TypeError(f"kernel_params must be a mapping of keyword arguments, got {kernel_params!r}")
        self.rbf = Rbf(gamma)
        self.laplacian = Laplacian(gamma)
        self.polynomial = Polynomial(degree, gamma, coef0)
        self.gaussians = None if scales is None else Gaussians(scales)
        self.gamma = gamma
        self.kernel_params = dict(kernel_params or {})
        self.used: set[str] = set()

    def make(self, kernel: Any) -> Kernel:
        if isinstance(kernel, str):
            return self.named(kernel)
        if isinstance(kernel, Kernel):
            return kernel
        from sklearn.gaussian_process.kernels import Kernel as ProcessKernel

        if isinstance(kernel, ProcessKernel):
            return SklearnKernel(kernel)
        if callable(kernel):
            self.used.add("kernel_params")
            return CallableKernel(kernel, self.kernel_params)
        raise TypeError(
            f"kernel must be None, one of {', '.join(map(repr, KERNEL_NAMES))}, a function, a Kernel, a "
            f"scikit-learn kernel object, or a list of these, got {kernel!r}"
        )

    def named(self, name: str) -> Kernel:
        if name in ("rbf", "gaussian"):
            if self.gaussians is None:
                return self.rbf
            if self.gamma is not None:
                raise ValueError(
                    "gamma and scales both set the width of the Gaussian kernel: give one of them "
                    "(gamma = 1 / (2 sigma^2))"
                )
            self.used.add("scales")
            return self.gaussians
        simple: dict[str, Kernel] = {
            "linear": Linear(),
            "laplacian": self.laplacian,
            "polynomial": self.polynomial,
            "poly": self.polynomial,
            "tanimoto": Tanimoto(),
        }
        if name in simple:
            return simple[name]
        if name == "sigmoid":
            raise ValueError(
                "kernel='sigmoid' is refused: tanh(gamma x.x' + coef0) is not positive semidefinite, so no "
                "feature vectors have these products, the training problem is not convex and no "
                "certificate would hold. Use 'rbf' or 'polynomial'"
            )
        if name == "precomputed":
            raise ValueError(
                "'precomputed' cannot be a term of a sum, because X is either rows or kernel values: add the "
                "matrices yourself and pass the sum with kernel='precomputed'"
            )
        near = difflib.get_close_matches(name, KERNEL_NAMES, n=1)
        raise ValueError(
            f"kernel={name!r} is unknown; the names are {', '.join(map(repr, KERNEL_NAMES))}"
            + (f". Did you mean {near[0]!r}?" if near else "")
        )

    def sum(self, entries: Sequence[Any]) -> Kernel:
        terms = []
        for entry in entries:
            is_pair = isinstance(entry, tuple | list)
            if is_pair and len(entry) != 2:
                raise ValueError(
                    f"a term of a kernel sum is a kernel or a pair (kernel, weight), got {entry!r}"
                )
            kernel, weight = entry if is_pair else (entry, 1.0)
            terms.append((self.make(kernel), positive("the weight of a kernel in a sum", weight)))
        return SumKernel(terms)

    def refuse_unused(self, kernel: Any) -> None:
        if self.gaussians is not None and "scales" not in self.used:
            raise ValueError(f"scales belongs to kernel='gaussian' (or 'rbf'), but kernel={kernel!r}")
        if self.kernel_params and "kernel_params" not in self.used:
            raise ValueError(f"kernel_params are keyword arguments of a function, but kernel={kernel!r}")


def _is_list(kernel: Any) -> bool:
    return isinstance(kernel, Sequence) and not isinstance(kernel, str)


def _check_n_landmarks(n_landmarks: Any) -> None:
    if n_landmarks is None:
        return
    if isinstance(n_landmarks, str):
        if n_landmarks != "all":
            raise ValueError(
                f"n_landmarks must be a whole number of 1 or more, 'all' or None, got {n_landmarks!r}"
            )
    elif isinstance(n_landmarks, bool | np.bool_) or not isinstance(n_landmarks, numbers.Integral):
        raise TypeError(
            f"n_landmarks must be a whole number of 1 or more, 'all' or None, got {n_landmarks!r}"
        )
    elif n_landmarks < 1:
        raise ValueError(f"n_landmarks must be 1 or more, got {n_landmarks}")
