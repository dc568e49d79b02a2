"""RankSVM and GradedRankSVM against a conic solver, in other clothes, and what their parameters mean."""

from __future__ import annotations

import doctest
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from shortlist import GradedRankSVM, RankSVM, certify
from shortlist.estimators import _signs, pairwise
from shortlist.exceptions import DegenerateOptimumWarning
from shortlist.metrics import auc
from shortlist.risks.pairwise import PairwiseRisk
from shortlist.solvers.reference import gradient_projection_pairs
from shortlist.solvers.reference.gradient_projection_pairs import solve_pairs_by_projection
from tests.oracle.pairwise import pairwise_optimum

LOSSES = ["hinge", "squared_hinge", "logistic"]
ROUTES = [
    ("hinge", "bundle"),
    ("squared_hinge", "newton"),
    ("squared_hinge", "bundle"),
    ("logistic", "newton"),
    ("logistic", "bundle"),
]


@pytest.mark.parametrize("module", [pairwise, _signs, gradient_projection_pairs])
def test_examples(module: Any) -> None:
    result = doctest.testmod(module, extraglobs={"np": np})
    assert result.attempted > 0
    assert result.failed == 0


def data(seed: int = 0, n: int = 30, d: int = 4, grades: int = 2) -> tuple[Any, Any, Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    raw = X[:, 0] - 0.5 * X[:, 1] + rng.normal(size=n)
    y = np.searchsorted(np.quantile(raw, np.arange(1, grades) / grades), raw)
    return X, y, rng.integers(0, 3, n), rng.integers(0, 4, n).astype(float)


@pytest.mark.parametrize(("loss", "solver"), ROUTES)
@pytest.mark.parametrize("C", [0.1, 10.0, 1000.0])
@pytest.mark.parametrize("extra", ["plain", "groups and weights", "positive"])
def test_two_labels(loss: str, solver: str, C: float, extra: str) -> None:
    X, y, groups, weights = data(1)
    given: dict[str, Any] = {"groups": groups, "sample_weight": weights} if extra.startswith("groups") else {}
    signs = np.array([-1, 1, 1, 0]) if extra == "positive" else None
    rows = {"groups": given.get("groups"), "weights": given.get("sample_weight")}
    value, w = pairwise_optimum(X, y, C, loss, signs=signs, **rows)
    positive = {0: -1, 1: 1, 2: 1} if extra == "positive" else False
    model = RankSVM(C=C, loss=loss, solver=solver, positive=positive, tol=1e-8).fit(X, y, **given)
    assert model.certificate_.converged
    assert model.certificate_.bound <= value * (1 + 1e-7)
    assert model.certificate_.primal == pytest.approx(value, rel=1e-6)
    np.testing.assert_allclose(model.coef_[0], w, atol=2e-3 * max(float(np.abs(w).max()), 1e-2))
    assert certify(model, X, y, **given).relative_gap <= 1e-7


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("power", [0, 1, 2])
@pytest.mark.parametrize("extra", ["plain", "groups and weights", "positive"])
def test_grades(loss: str, power: int, extra: str) -> None:
    X, y, groups, weights = data(2, grades=4)
    given: dict[str, Any] = {"groups": groups, "sample_weight": weights} if extra.startswith("groups") else {}
    positive = extra == "positive"
    value, _ = pairwise_optimum(
        X, y, 20.0, loss, power, groups=given.get("groups"), weights=given.get("sample_weight"),
        signs=np.ones(4) if positive else None,
    )  # fmt: skip
    model = GradedRankSVM(C=20.0, loss=loss, gap_power=power, positive=positive, tol=1e-8).fit(X, y, **given)
    assert model.certificate_.converged
    assert model.certificate_.primal == pytest.approx(value, rel=1e-6)
    assert model.coef_.min() >= 0 or not positive
    assert certify(model, X, y, **given).relative_gap <= 1e-7


@pytest.mark.parametrize("loss", LOSSES)
def test_two_grades_are_two_labels(loss: str) -> None:
    X, y, groups, weights = data(3)
    one = RankSVM(C=5.0, loss=loss, tol=1e-9).fit(X, y, groups=groups, sample_weight=weights)
    for power in (0, 2):
        other = GradedRankSVM(C=5.0, loss=loss, gap_power=power, tol=1e-9)
        other.fit(X, 3.0 * y - 7, groups=groups, sample_weight=weights)
        assert other.certificate_.primal == pytest.approx(one.certificate_.primal, rel=1e-8)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("form", ["csr", "csc", "float32", "csr32", "permuted", "repeated", "kernel", "one group"])
@pytest.mark.parametrize("estimator", [RankSVM(), GradedRankSVM(gap_power=1)], ids=["two labels", "grades"])
def test_twins(estimator: Any, loss: str, form: str) -> None:
    """The same problem in other clothes has the same optimum."""
    X, y, groups, weights = data(4, n=40, grades=3 if isinstance(estimator, GradedRankSVM) else 2)
    X[np.abs(X) < 0.3] = 0
    if form == "one group":
        groups = np.zeros(len(y))
    model = clone(estimator).set_params(C=5.0, loss=loss, tol=1e-8)
    reference = clone(model).fit(X, y, groups=groups, sample_weight=weights)
    rows = np.arange(len(y))
    if form == "permuted":
        rows = np.random.default_rng(0).permutation(len(y))
    elif form == "repeated":
        rows = np.repeat(rows, weights.astype(int))
    short = form.endswith("32")
    twin = {
        "csr": lambda: sparse.csr_matrix(X),
        "csc": lambda: sparse.csc_array(X),
        "float32": lambda: X.astype(np.float32),
        "csr32": lambda: sparse.csr_array(X.astype(np.float32)),
    }.get(form, lambda: X[rows])()
    model.set_params(tol=1e-5 if short else 1e-8, kernel="linear" if form == "kernel" else None)
    given = {
        "groups": None if form == "one group" else groups[rows],
        "sample_weight": None if form == "repeated" else weights[rows],
    }
    model.fit(twin, y[rows], **given)
    assert model.certificate_.converged
    assert model.coef_.dtype == twin.dtype
    assert model.certificate_.primal == pytest.approx(reference.certificate_.primal, rel=3e-5 if short else 3e-8)
    # Which side of a kink a point lies on is a matter of the last digit: in double precision it may be the other.
    slack = 2e-2 if loss == "hinge" else 2e-4
    assert certify(model, twin, y[rows], **given).relative_gap <= (slack if short else 1e-7)


@pytest.mark.parametrize("loss", LOSSES)
def test_kernels_by_the_kernel_matrix(loss: str) -> None:
    X, y, _, _ = data(5)
    gram = np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(axis=2))
    named = RankSVM(C=5.0, loss=loss, kernel="rbf", gamma=0.5, tol=1e-7).fit(X, y)
    given = RankSVM(C=5.0, loss=loss, kernel="precomputed", tol=1e-7).fit(gram, y)
    # w is a sum of the rows' images: so the rows of a square root of the matrix serve as features.
    values, vectors = np.linalg.eigh(gram)
    root = vectors * np.sqrt(np.maximum(values, 0))
    value, w = pairwise_optimum(root, y, 5.0, loss)
    for model, rows in ((named, X), (given, gram)):
        assert model.certificate_.primal == pytest.approx(value, rel=1e-6)
        differences = np.subtract.outer(model.decision_function(rows), model.decision_function(rows))
        np.testing.assert_allclose(differences, np.subtract.outer(root @ w, root @ w), atol=5e-3)
        assert certify(model, rows, y).converged


@pytest.mark.parametrize("loss", LOSSES)
def test_many_rows_at_once(loss: str) -> None:
    """Beyond where equal rows are merged, and cells hold many rows: weights against repetition to the tolerance."""
    X, y, groups, _ = data(6, n=2600, grades=3)
    weights = np.random.default_rng(0).integers(0, 3, 2600)
    rows = np.repeat(np.arange(2600), weights)
    one = GradedRankSVM(C=10.0, loss=loss, tol=1e-6).fit(X, y, groups=groups, sample_weight=weights)
    two = GradedRankSVM(C=10.0, loss=loss, tol=1e-6).fit(X[rows], y[rows], groups=groups[rows])
    assert one.certificate_.converged and two.certificate_.converged
    assert one.certificate_.primal == pytest.approx(two.certificate_.primal, rel=2e-6)
    assert certify(one, X, y, groups=groups, sample_weight=weights).converged


@pytest.mark.parametrize(("loss", "solver"), ROUTES)
def test_a_warm_start_saves_steps_and_changes_nothing(loss: str, solver: str) -> None:
    X, y, _, _ = data(7, n=200)
    model = RankSVM(C=10.0, loss=loss, solver=solver, warm_start=True, tol=1e-7).fit(X, y)
    cold, steps = model.certificate_.primal, model.n_iter_
    model.fit(X, y)
    assert model.n_iter_ <= steps
    assert model.certificate_.primal == pytest.approx(cold, rel=1e-6)
    model.fit(X[:, :3], y)  # another width: from nothing
    assert model.certificate_.converged


def test_the_step_loss_is_one_minus_auc() -> None:
    """Where scores are large against the margin, the slope of a loss that grows linearly counts misranked pairs."""
    rng = np.random.default_rng(8)
    y, s = np.arange(60) % 3 == 0, rng.normal(size=60)
    for loss in ("hinge", "logistic"):
        slope = PairwiseRisk.from_labels(y, loss).value_and_subgradient(1e6 * s)[1]
        assert slope[y].sum() == pytest.approx(-(1 - auc(y, s)), rel=1e-9)


class TestGradientProjection:
    @pytest.mark.parametrize("C", [0.1, 10.0, 1000.0])
    @pytest.mark.parametrize("extra", [False, True])
    def test_the_same_optimum_with_a_variable_a_pair(self, C: float, extra: bool) -> None:
        X, y, groups, weights = data(9)
        given = {"groups": groups, "sample_weight": weights} if extra else {}
        model = RankSVM(C=C, solver="gradient_projection", tol=1e-5, max_iter=20_000).fit(X, y, **given)
        reference = RankSVM(C=C, tol=1e-8).fit(X, y, **given)
        assert model.certificate_.converged
        assert model.certificate_.primal == pytest.approx(reference.certificate_.primal, rel=2e-5)
        again = certify(model, X, y, **given)
        assert again.primal == pytest.approx(model.certificate_.primal, rel=1e-10)
        assert again.bound == pytest.approx(model.certificate_.bound, rel=1e-8)
        assert not hasattr(model, "bound_points_")
        assert not hasattr(model.set_params(solver="auto").fit(X, y), "pair_dual_")

    def test_lies_do_not_raise_the_bound(self) -> None:
        X, y, groups, weights = data(10)
        X = np.repeat(X, 2, axis=0)
        y, groups, weights = (np.repeat(v, 2) for v in (y, groups, weights))
        model = RankSVM(C=10.0, solver="gradient_projection", tol=1e-6, max_iter=5000)
        model.fit(X, y, groups=groups, sample_weight=weights)
        optimum = model.certificate_.primal
        assert certify(model, X, y, groups=groups, sample_weight=weights).converged
        dual, pairs = model.pair_dual_, model.pair_rows_
        for wrong, rows in ((10 * dual, pairs), (-dual, pairs), (dual, pairs[::-1]), (dual, np.zeros_like(pairs))):
            model.pair_dual_, model.pair_rows_ = wrong, rows
            assert certify(model, X, y, groups=groups, sample_weight=weights).bound < optimum * (1 - 1e-4)

    def test_as_printed_it_is_on_its_way(self) -> None:
        X, y, _, _ = data(11)
        risk = PairwiseRisk.from_labels(y, "hinge")
        optimum = RankSVM(C=5.0, tol=1e-9).fit(X, y).certificate_.primal
        gaps = []
        for steps in (20, 200, 1000):
            found = solve_pairs_by_projection(X, risk, 5.0, tol=0, max_iter=steps, schedule="printed", eta0=1e-2)
            assert found.certificate.n_iter == steps
            assert found.certificate.bound <= optimum <= found.certificate.primal * (1 + 1e-12)
            gaps.append(found.certificate.relative_gap)
        assert gaps[2] < gaps[1] < gaps[0]
        assert gaps[2] < 3e-2

    def test_the_dual_gives_the_weights_and_a_callback_may_stop(self) -> None:
        X, y, _, _ = data(12)
        risk = PairwiseRisk.from_labels(y, "hinge")
        found = solve_pairs_by_projection(sparse.csr_array(X), risk, 5.0, tol=1e-9, max_iter=5000)
        np.testing.assert_allclose(X.T @ found.dual, found.coef, atol=1e-3)
        ended = solve_pairs_by_projection(X, risk, 5.0, tol=0, callback=lambda k, p, b: k == 4)
        assert ended.certificate.n_iter == 4

    def test_what_it_does_not_do(self, monkeypatch: pytest.MonkeyPatch) -> None:
        X, y, _, _ = data(13)
        model = RankSVM(solver="gradient_projection")
        with pytest.raises(ValueError, match="for the hinge, got loss='logistic'"):
            clone(model).set_params(loss="logistic").fit(X, y)
        with pytest.raises(ValueError, match="knows no signs"):
            clone(model).set_params(positive=True).fit(X, y)
        with pytest.raises(ValueError, match="schedule must be"):
            solve_pairs_by_projection(X, PairwiseRisk.from_labels(y, "hinge"), 1.0, schedule="other")  # type: ignore[arg-type]
        monkeypatch.setattr(gradient_projection_pairs, "MAX_PAIRS", 100)
        with pytest.raises(ValueError, match=r"each of the 225 pairs, more than the 100 .*solver='bundle'"):
            model.fit(X, y)


class TestPositive:
    def test_the_forms_agree(self) -> None:
        pandas = pytest.importorskip("pandas")
        X, y, _, _ = data(14)
        frame = pandas.DataFrame(X, columns=["age", "size", "price", "rest"])
        forms: list[Any] = [[1, 3], [-3, -1], ["size", "rest"], [False, True, False, True], {"size": 1, 3: 1, "age": 0}]
        forms += [np.array([1, 3]), np.array([False, True, False, True])]
        models = [RankSVM(loss="logistic", positive=form).fit(frame, y) for form in forms]
        assert {model.objective_.signs for model in models} == {(0, 1, 0, 1)}
        assert all(model.coef_[0, [1, 3]].min() >= 0 for model in models)
        assert RankSVM(positive=[]).fit(X, y).objective_.signs is None

    @pytest.mark.parametrize(
        ("positive", "error", "words"),
        [
            ("size", TypeError, "positive must be False, True"),
            (1, TypeError, "positive must be False, True"),
            ([4], ValueError, "names the column 4, X has 4 columns"),
            (["size"], ValueError, "X came without names"),
            ([True], ValueError, "mask of 1 entries"),
            ({0: 2}, ValueError, "a sign must be 1, -1 or 0, got 2"),
        ],
    )
    def test_what_it_cannot_be(self, positive: Any, error: Any, words: str) -> None:
        X, y, _, _ = data(15)
        for model in (RankSVM(positive=positive), GradedRankSVM(positive=positive)):
            with pytest.raises(error, match=words):
                model.fit(X, y)

    def test_unknown_names_and_kernels(self) -> None:
        pandas = pytest.importorskip("pandas")
        X, y, _, _ = data(16)
        with pytest.raises(ValueError, match="names the column 'weight', and X has a, b, c, d"):
            RankSVM(positive=["weight"]).fit(pandas.DataFrame(X, columns=list("abcd")), y)
        with pytest.raises(ValueError, match="a kernel's features are not"):
            RankSVM(positive=[0], kernel="rbf").fit(X, y)

    def test_a_model_that_breaks_its_signs_has_no_certificate(self) -> None:
        X, y, _, _ = data(17)
        model = RankSVM(positive={1: 1}, tol=1e-6).fit(X, y)
        assert model.coef_[0, 1] == 0
        assert certify(model, X, y).converged
        model.coef_[0, 1] = -0.1
        assert certify(model, X, y).primal == np.inf

    def test_where_nothing_is_allowed_it_is_said(self) -> None:
        X, y, _, _ = data(18)
        with pytest.warns(DegenerateOptimumWarning, match="positive= forbids"):
            model = RankSVM(positive=True).fit(-np.abs(X) * (1.0 + 9.0 * y[:, None]), y)
        assert not model.coef_.any()


@pytest.mark.parametrize("estimator", [RankSVM(), GradedRankSVM()], ids=["two labels", "grades"])
def test_what_does_not_fit_together(estimator: Any) -> None:
    X, y, _, _ = data(19)
    with pytest.raises(ValueError, match="newton' needs a smooth loss"):
        clone(estimator).set_params(solver="newton").fit(X, y)
    with pytest.raises(ValueError, match="loss must be one of"):
        clone(estimator).set_params(loss="exponential").fit(X, y)


@pytest.mark.parametrize("power", [3, True, 0.5])
def test_gap_power_is_checked(power: Any) -> None:
    X, y, _, _ = data(20)
    with pytest.raises(ValueError, match="gap_power must be 0, 1 or 2"):
        GradedRankSVM(gap_power=power).fit(X, y)
