"""Kernels as feature maps: one door, ``feature_map``, used by every estimator that takes ``kernel=``."""

from shortlist.features.compose import CallableKernel, SklearnKernel, SumKernel
from shortlist.features.door import KERNEL_NAMES, feature_map
from shortlist.features.kernels import Gaussians, Kernel, Laplacian, Linear, Polynomial, Rbf, Tanimoto
from shortlist.features.maps import (
    AUTO_LANDMARKS,
    EXACT_LIMIT,
    ApproximationWarning,
    FeatureMap,
    KernelMap,
    LinearMap,
    PrecomputedMap,
)

__all__ = [
    "AUTO_LANDMARKS",
    "EXACT_LIMIT",
    "KERNEL_NAMES",
    "ApproximationWarning",
    "CallableKernel",
    "FeatureMap",
    "Gaussians",
    "Kernel",
    "KernelMap",
    "Laplacian",
    "Linear",
    "LinearMap",
    "Polynomial",
    "PrecomputedMap",
    "Rbf",
    "SklearnKernel",
    "SumKernel",
    "Tanimoto",
    "feature_map",
]
