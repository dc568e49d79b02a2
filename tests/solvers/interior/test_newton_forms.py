"""The four forms of the Newton system solve one system: at real states, with offsets, dense and sparse."""

import numpy as np
import pytest
from scipy import sparse

from shortlist.risks.surrogates import surrogate
from shortlist.risks.thresholds import Maximum, MeanOfLargest
from shortlist.risks.top import TopRisk
from shortlist.solvers.interior import iterative
from shortlist.solvers.interior.choice import choose_system
from shortlist.solvers.interior.direct import ColumnSystem, RowSystem
from shortlist.solvers.interior.iterative import ColumnConjugateGradients, RowConjugateGradients
from shortlist.solvers.interior.method import InteriorPoint
from shortlist.solvers.interior.newton_system import factor
from shortlist.solvers.rows import Rows

FORMS = (ColumnSystem, RowSystem, RowConjugateGradients, ColumnConjugateGradients)


def begin(X, loss, threshold, n_groups, C=10.0):
    rng = np.random.default_rng(0)
    n = X.shape[0]
    y = np.asarray(X[:, [0]].sum(axis=1)).ravel() + 0.3 * rng.normal(size=n) > 0.3
    groups = np.arange(n) % n_groups
    risk = TopRisk.from_labels(y, surrogate(loss), threshold, groups=groups)
    positives, negatives = Rows(X, risk.positives), Rows(X, risk.negatives)
    w = 0.1 * rng.normal(size=X.shape[1])
    method = InteriorPoint(X, risk, C, positives, negatives, w, np.full(risk.n_groups, 1.0), mu=0.1)
    everyone = np.arange(len(risk.negatives))
    method.add(everyone, negatives.dot(w), 0.1, first=True)
    return method


def dense_solution(method, r_w, r_b, r_pos, r_neg, D_pos, D_neg):
    """The system as the module states it, formed whole."""
    block, G, k = method.block, method.block.n_groups, method.block.n_border
    rho = np.vstack([-method.rows.dense(np.arange(len(method.rows))), method.negative_rows.dense(method.members)])
    m = len(method.rows)
    rho[m:] *= block.sign[:, None]
    N = np.zeros((len(rho), G * k))
    N[np.arange(m), method.groups * k] = 1.0
    for a in range(k):
        N[np.arange(m, len(rho)), block.groups * k + a] = block.coupling[:, a]
    H = np.zeros((rho.shape[1], G * k))
    for j in range(len(block)):
        H[:, block.groups[j] * k + k - 1] += block.pull[j] * block.sign[j] * rho[m + j]
    Q0 = np.zeros((G * k, G * k))
    for g in range(G):
        Q0[g * k : (g + 1) * k, g * k : (g + 1) * k] = block.border[g]
    D = np.concatenate([D_pos, D_neg])[:, None]
    r = np.concatenate([np.zeros(m) if r_pos is None else r_pos, r_neg])
    d = rho.shape[1]
    K = np.block([[np.eye(d) + rho.T @ (D * rho), H + rho.T @ (D * N)], [H.T + N.T @ (D * rho), Q0 + N.T @ (D * N)]])
    rhs = np.concatenate([r_w - rho.T @ (D[:, 0] * r), r_b.ravel() - N.T @ (D[:, 0] * r)])
    x = np.linalg.solve(K, rhs)
    y = D[:, 0] * (rho @ x[:d] + N @ x[d:] + r)
    return x[:d], x[d:].reshape(G, k), y[m:]


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("n_groups", [1, 3])
@pytest.mark.parametrize("threshold", [Maximum(), MeanOfLargest(4)])
@pytest.mark.parametrize("loss", ["squared_hinge", "hinge", "logistic"])
@pytest.mark.parametrize("d", [7, 90])
def test_all_forms_solve_the_system_as_stated(monkeypatch, loss, threshold, n_groups, storage, d):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(70, d)) * (rng.random((70, d)) < 0.6)
    method = begin(storage(X), loss, threshold, n_groups)
    monkeypatch.setattr(type(method.block), "forcing", 1e-12)
    for _ in range(4):
        method.refresh_bound()
        method.step(1e-12)
    assert not method.stalled
    D_pos, D_neg = method.positive.curvature(), method.block.curvature()
    r_pos = rng.normal(size=len(D_pos)) if loss == "hinge" else None
    r_w, r_b = rng.normal(size=d), rng.normal(size=(n_groups, method.block.n_border))
    arguments = (r_w, r_b, r_pos, rng.normal(size=len(D_neg)))
    dw, db, y = dense_solution(method, *arguments, D_pos, D_neg)
    for form in FORMS:
        system = form(method.rows, method.groups, method.block)
        system.take_negatives(method.negative_rows, method.members)
        system.update(D_pos, D_neg)
        for _ in range(2):  # the second right-hand side may start from the first's answer
            got_w, got_b, got_y = system.solve(*arguments)
            scale = np.abs(dw).max() + np.abs(db).max()
            # ColumnSystem leaves out rows that cannot matter.
            tolerance = (0.05 if form is ColumnSystem else 1e-5) * scale
            np.testing.assert_allclose(got_w, dw, atol=tolerance, err_msg=form.__name__)
            np.testing.assert_allclose(got_b, db, atol=tolerance, err_msg=form.__name__)
            if got_y is not None:
                np.testing.assert_allclose(got_y, y, atol=1e-4 * (1 + np.abs(y).max()), err_msg=form.__name__)


def test_without_negligible_rows_the_column_form_is_exact(monkeypatch):
    from shortlist.solvers.interior import direct

    monkeypatch.setattr(direct, "NEGLIGIBLE", 0.0)
    X = np.random.default_rng(3).normal(size=(60, 5))
    for threshold in (Maximum(), MeanOfLargest(3)):
        method = begin(X, "squared_hinge", threshold, 2)
        D_pos, D_neg = method.positive.curvature(), method.block.curvature()
        rng = np.random.default_rng(4)
        arguments = (rng.normal(size=5), rng.normal(size=(2, method.block.n_border)), None, rng.normal(size=len(D_neg)))
        dw, db, _ = dense_solution(method, *arguments, D_pos, D_neg)
        method.system.update(D_pos, D_neg)
        got_w, got_b, _ = method.system.solve(*arguments)
        np.testing.assert_allclose(got_w, dw, rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(got_b, db, rtol=1e-8, atol=1e-10)


def test_the_choice_follows_the_shape():
    def chosen(n, d, working, n_groups=1):
        rng = np.random.default_rng(0)
        X = sparse.random_array((n, d), density=min(1.0, 3 / d), format="csr", rng=rng)
        y = np.arange(n) % 2 == 0
        risk = TopRisk.from_labels(y, surrogate("hinge"), Maximum(), groups=np.arange(n) // 2 % n_groups)
        method = InteriorPoint(
            X, risk, 1.0, Rows(X, risk.positives), Rows(X, risk.negatives), np.zeros(d), np.ones(n_groups), 0.1
        )
        return type(choose_system(method.rows, method.groups, method.block, working))

    assert chosen(500, 50, 100) is ColumnSystem
    assert chosen(500, 2000, 100) is RowSystem
    assert chosen(3000, 20_000, 1000) is RowConjugateGradients
    assert chosen(3000, 20_000, 1000, n_groups=500) is ColumnConjugateGradients
    assert chosen(20_000, 4000, 1000) is ColumnConjugateGradients


def test_a_matrix_spoilt_by_rounding_is_repaired_and_a_broken_one_refused():
    v = np.array([1.0, 1e8])
    c, _ = factor(np.outer(v, v))
    assert np.all(np.isfinite(c))
    with pytest.raises(FloatingPointError, match="scale the features"), np.errstate(all="ignore"):
        factor(np.full((2, 2), np.nan))


def test_conjugate_gradients_stop_at_their_limit(monkeypatch):
    monkeypatch.setattr(iterative, "MOST_PRODUCTS", 1)
    X = np.random.default_rng(3).normal(size=(60, 5))
    method = begin(X, "squared_hinge", Maximum(), 1)
    for form in (RowConjugateGradients, ColumnConjugateGradients):
        system = form(method.rows, method.groups, method.block)
        system.take_negatives(method.negative_rows, method.members)
        system.update(method.positive.curvature(), method.block.curvature())
        dw, db, _ = system.solve(np.ones(5), np.ones((1, 1)), None, np.zeros(len(method.block)))
        assert np.all(np.isfinite(dw)) and np.all(np.isfinite(db))
