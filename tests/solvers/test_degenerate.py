"""The projection of the positives' mean onto the negatives' hull, against linear programming and cvxpy."""

import cvxpy as cp
import numpy as np
import pytest
from scipy import sparse

from shortlist.risks.surrogates import surrogate
from shortlist.risks.thresholds import Maximum, MeanOfLargest
from shortlist.risks.top import TopRisk
from shortlist.solvers.degenerate import escape_direction


def risk_of(y, threshold, groups=None, weights=None):
    return TopRisk.from_labels(y, surrogate("hinge"), threshold, groups=groups, sample_weight=weights)


def nearest(X, risk):
    """The residual by cvxpy, from the definition."""
    A, a = X[risk.negatives], risk.positive_weights
    b = cp.Variable(len(A), nonneg=True)
    constraints = []
    for g in range(risk.n_groups):
        share = a[risk.positive_groups == g].sum()
        rows = risk.negative_groups == g
        constraints.append(cp.sum(b[rows]) == share)
        if risk.caps is not None:
            constraints.append(b[rows] <= risk.caps[rows] * share)
    m = a @ X[risk.positives]
    problem = cp.Problem(cp.Minimize(cp.sum_squares(m - A.T @ b)), constraints)
    problem.solve(solver="CLARABEL")
    return m - A.T @ b.value


@pytest.mark.parametrize("threshold", [Maximum(), MeanOfLargest(3), MeanOfLargest(8)])
@pytest.mark.parametrize("n_groups", [1, 3])
@pytest.mark.parametrize("d", [2, 5, 40])
def test_it_is_the_projection(threshold, n_groups, d):
    rng = np.random.default_rng(d)
    for shift in (0.0, 0.5, 3.0):
        X = rng.normal(size=(60, d))
        y = np.arange(60) % 4 == 0
        X[y, 0] += shift
        risk = risk_of(y, threshold, groups=np.arange(60) // 4 % n_groups, weights=1.0 + np.arange(60) % 2)
        expected = nearest(X, risk)
        for storage in (X, sparse.csr_array(X), 1e-8 * X):
            scale = 1e-8 if storage is not X and not sparse.issparse(storage) else 1.0
            found = escape_direction(storage, risk, tol=1e-6)
            if np.linalg.norm(expected) < 1e-6:
                assert found is None
            else:
                np.testing.assert_allclose(found / scale, expected, atol=2e-3 * np.linalg.norm(expected))


def test_identical_rows_leave_no_direction():
    assert escape_direction(np.ones((6, 2)), risk_of(np.arange(6) < 3, Maximum())) is None


def test_a_point_on_the_boundary_counts_as_inside():
    X = np.array([[0.5, 0.0], [0.0, 0.0], [1.0, 0.0], [0.3, 1.0]])
    assert escape_direction(X, risk_of(np.arange(4) == 0, Maximum())) is None
