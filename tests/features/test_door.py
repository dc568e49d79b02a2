"""``feature_map``: what each way of naming a kernel means, and what is refused."""

import numpy as np
import pytest
from sklearn.gaussian_process import kernels as gp

import shortlist.features as room
from shortlist.features import (
    KERNEL_NAMES,
    CallableKernel,
    Gaussians,
    KernelMap,
    Laplacian,
    Linear,
    LinearMap,
    Polynomial,
    PrecomputedMap,
    Rbf,
    SklearnKernel,
    SumKernel,
    Tanimoto,
    feature_map,
)


def plain(x: np.ndarray, y: np.ndarray) -> float:
    return float(x @ y)


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ({"kernel": "rbf"}, Rbf()),
        ({"kernel": "gaussian", "gamma": 2.0}, Rbf(2.0)),
        ({"kernel": "rbf", "scales": [1, 2]}, Gaussians([1.0, 2.0])),
        ({"kernel": "gaussian", "scales": 3.0}, Gaussians(3.0)),
        ({"kernel": "gaussian", "scales": np.array([1.0, 4.0])}, Gaussians([1, 4])),
        ({"kernel": "laplacian", "gamma": "auto"}, Laplacian("auto")),
        ({"kernel": "poly", "degree": 2, "coef0": 0}, Polynomial(2, None, 0)),
        ({"kernel": "polynomial", "gamma": 1}, Polynomial(3, 1)),
        ({"kernel": "tanimoto", "gamma": 1.0}, Tanimoto()),
        ({"kernel": Laplacian(0.5)}, Laplacian(0.5)),
        ({"kernel": gp.RBF(2.0)}, SklearnKernel(gp.RBF(2.0))),
        ({"kernel": plain}, CallableKernel(plain)),
        ({"kernel": plain, "kernel_params": {}}, CallableKernel(plain, {})),
        ({"kernel": ["rbf", "linear"]}, SumKernel([(Rbf(), 1.0), (Linear(), 1.0)])),
        (
            {"kernel": [("rbf", 0.5), (gp.RBF(2.0), 2), Tanimoto(), ["gaussian", 1]], "scales": 2.0},
            None,
        ),
        (
            {"kernel": (("rbf", 0.5), (Rbf(3.0), 2)), "gamma": 1.0},
            SumKernel([(Rbf(1.0), 0.5), (Rbf(3.0), 2.0)]),
        ),
    ],
)
def test_what_a_kernel_argument_means(given, meant) -> None:
    mapped = feature_map(**given, n_landmarks=5, random_state=1)
    assert isinstance(mapped, KernelMap)
    assert (mapped.n_landmarks, mapped.random_state) == (5, 1)
    if meant is None:
        assert [type(kernel).__name__ for kernel, _ in mapped.kernel.terms] == [
            "Gaussians",
            "SklearnKernel",
            "Tanimoto",
            "Gaussians",
        ]
    else:
        assert mapped.kernel == meant


def test_maps_without_a_kernel_object() -> None:
    assert isinstance(feature_map(None, n_landmarks=3, gamma=2.0), LinearMap)
    assert isinstance(feature_map("linear"), LinearMap)
    assert isinstance(feature_map(), LinearMap)
    assert isinstance(feature_map("precomputed", n_landmarks="all"), PrecomputedMap)


def test_every_name_is_accepted_and_exported() -> None:
    for name in KERNEL_NAMES:
        feature_map(name)
    for name in room.__all__:
        assert hasattr(room, name)


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"kernel": "rbff"}, ValueError, "Did you mean 'rbf'"),
        ({"kernel": "quantum"}, ValueError, r"the names are 'linear', .*'precomputed'$"),
        ({"kernel": "sigmoid"}, ValueError, "not positive semidefinite"),
        ({"kernel": 3}, TypeError, "kernel must be None, one of"),
        ({"kernel": ["rbf", "precomputed"]}, ValueError, "add the matrices yourself"),
        ({"kernel": []}, ValueError, "at least one kernel"),
        ({"kernel": [("rbf", 1.0, 2.0)]}, ValueError, r"a pair \(kernel, weight\)"),
        ({"kernel": [("rbf", -1.0)]}, ValueError, "weight of a kernel"),
        ({"kernel": [("rbf", "linear")]}, TypeError, "weight of a kernel"),
        ({"kernel": "rbf", "gamma": -1}, ValueError, "gamma"),
        ({"kernel": "linear", "gamma": -1}, ValueError, "gamma"),
        ({"kernel": "rbf", "gamma": "wide"}, ValueError, "'scale', 'auto'"),
        ({"kernel": "rbf", "degree": 0}, ValueError, "degree"),
        ({"kernel": "rbf", "coef0": -1}, ValueError, "coef0"),
        ({"kernel": "gaussian", "scales": []}, ValueError, "scales is empty"),
        ({"kernel": "gaussian", "scales": [0.0]}, ValueError, "each of scales"),
        ({"kernel": "gaussian", "scales": 1.0, "gamma": 1.0}, ValueError, "give one of them"),
        ({"kernel": None, "scales": 1.0}, ValueError, "scales belongs to"),
        ({"kernel": "laplacian", "scales": 1.0}, ValueError, "scales belongs to"),
        ({"kernel": "precomputed", "scales": 1.0}, ValueError, "scales belongs to"),
        ({"kernel": "rbf", "kernel_params": {"a": 1}}, ValueError, "kernel_params are keyword"),
        ({"kernel": None, "kernel_params": {"a": 1}}, ValueError, "kernel_params are keyword"),
        ({"kernel": plain, "kernel_params": 3}, TypeError, "mapping"),
        ({"kernel": "rbf", "n_landmarks": 0}, ValueError, "n_landmarks must be 1 or more"),
        ({"kernel": "rbf", "n_landmarks": 2.5}, TypeError, "n_landmarks must be a whole number"),
        ({"kernel": "rbf", "n_landmarks": True}, TypeError, "n_landmarks"),
        ({"kernel": "rbf", "n_landmarks": "most"}, ValueError, "'all' or None"),
        ({"kernel": None, "n_landmarks": -1}, ValueError, "n_landmarks"),
    ],
)
def test_wrong_arguments_are_named(given, error, words) -> None:
    with pytest.raises(error, match=words):
        feature_map(**given)
