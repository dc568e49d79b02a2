"""The generated sets have the published sizes and moments, and show what they are meant to show."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from shortlist.datasets import make_gaussians, make_theorem1, make_top_heavy


class TestGaussians:
    def test_population(self) -> None:
        X, y = make_gaussians(None, random_state=0)
        assert X.shape == (6210, 2)
        assert (int(y.sum()), int((1 - y).sum())) == (3200, 3010)
        far = X[:, 0] > 6
        low = (X[:, 1] < -2.7) & (np.abs(X[:, 0]) < 0.3) & (y == 1)
        assert far.sum() == 10
        assert not y[far].any()
        np.testing.assert_allclose(X[far].mean(axis=0), [10, 1], atol=0.1)
        assert low.sum() == pytest.approx(200, abs=3)
        np.testing.assert_allclose(X[(y == 0) & ~far].mean(axis=0), [0, 0], atol=0.05)
        np.testing.assert_allclose(X[(y == 1) & ~low].mean(axis=0), [0, 1], atol=0.05)
        np.testing.assert_allclose(X[(y == 0) & ~far].var(axis=0), 0.5, rtol=0.1)

    def test_sample_is_of_distinct_rows_and_seeded(self) -> None:
        X, y = make_gaussians(random_state=3)
        assert X.shape == (1250, 2)
        assert len(np.unique(X, axis=0)) == 1250
        assert set(y) == {0, 1}
        np.testing.assert_array_equal(X, make_gaussians(random_state=3)[0])
        assert not np.array_equal(X, make_gaussians(random_state=4)[0])

    @pytest.mark.parametrize(("n", "error"), [(0, ValueError), (6211, ValueError), (2.5, TypeError)])
    def test_wrong_sizes(self, n, error) -> None:
        with pytest.raises(error, match="n_samples"):
            make_gaussians(n)


class TestTheorem1:
    def test_clumps(self) -> None:
        X, y = make_theorem1(random_state=0)
        assert X.shape == (6090, 1)
        expected = np.repeat([3, 1, 0, -10], [10, 3000, 3000, 80])
        assert np.abs(X[:, 0] - expected).max() < 0.3
        np.testing.assert_array_equal(y, np.repeat([0, 1, 0, 1], [10, 3000, 3000, 80]))
        assert len(np.unique(X)) == 6090

    def test_measures_disagree_on_the_two_orders(self) -> None:
        """The two of the theorem's claims that need no more than a sort."""
        X, y = make_theorem1(random_state=1)

        def gain_of_the_first_hundred(order: np.ndarray) -> float:
            return float((y[order][:100] / np.log2(np.arange(2, 102))).sum())

        def pairs_in_order(order: np.ndarray) -> int:
            return int((np.cumsum(y[order]) * (1 - y[order])).sum())

        down = np.argsort(-X[:, 0])
        assert pairs_in_order(down) > pairs_in_order(down[::-1])
        assert gain_of_the_first_hundred(down) < gain_of_the_first_hundred(down[::-1])

    @pytest.mark.parametrize(("std", "error"), [(0.0, ValueError), (np.inf, ValueError), ("wide", TypeError)])
    def test_wrong_std(self, std, error) -> None:
        with pytest.raises(error, match="std"):
            make_theorem1(std=std)


class TestTopHeavy:
    def test_shape_and_shares(self) -> None:
        X, y, groups = make_top_heavy(40, (10, 30), 5, positives=0.2, random_state=0)
        sizes = np.bincount(groups)
        assert len(sizes) == 40
        assert sizes.min() >= 10
        assert sizes.max() <= 30
        assert X.shape == (len(y), 5)
        assert (np.diff(groups) >= 0).all()
        np.testing.assert_array_equal(np.bincount(groups, y), np.ceil(0.2 * sizes))

    def test_every_group_has_both_classes(self) -> None:
        for share in (1e-9, 1 - 1e-9):
            _, y, groups = make_top_heavy(10, 2, positives=share, decoys=0.9, random_state=0)
            np.testing.assert_array_equal(np.bincount(groups, y), 1)

    def test_seed(self) -> None:
        first, again, other = (make_top_heavy(3, 9, random_state=seed)[0] for seed in (0, 0, 1))
        np.testing.assert_array_equal(first, again)
        assert not np.array_equal(first, other)

    def test_is_linear_without_noise_and_decoys(self) -> None:
        X, y, groups = make_top_heavy(1, 300, 4, noise=0.0, decoys=0.0, heterogeneity=0.0, random_state=0)
        s = LogisticRegression(C=1e6, max_iter=10_000).fit(X, y).decision_function(X)
        assert s[y == 1].min() > s[y == 0].max()
        assert not groups.any()

    def test_offsets_belong_to_groups(self) -> None:
        options = {"n_groups": 30, "rows_per_group": 50, "noise": 0.0, "random_state": 0}
        for size in (0.0, 5.0):
            X, _, groups = make_top_heavy(heterogeneity=size, **options)
            means = np.array([X[groups == g].mean(axis=0) for g in range(30)])
            assert means.std() == pytest.approx(size, abs=0.5)

    def test_decoys_are_above_the_positives_but_marked(self) -> None:
        """Along the hidden direction they are the top; the last feature tells them apart."""
        options = {"heterogeneity": 0.0, "noise": 0.0, "random_state": 0}
        X, y, _ = make_top_heavy(1, 2000, 6, decoys=0.05, **options)
        marked = (X[:, -1] > 1) & (y == 0)
        hidden = X[y == 1].mean(axis=0)
        hidden[-1] = 0
        top = np.argsort(-X @ hidden)[:40]
        assert np.isin(top, np.flatnonzero(marked)).mean() > 0.6
        honest, y_honest, _ = make_top_heavy(1, 2000, 6, decoys=0.0, **options)
        hidden = honest[y_honest == 1].mean(axis=0)
        assert y_honest[np.argsort(-honest @ hidden)[:40]].all()

    def test_sparse(self) -> None:
        X, y, groups = make_top_heavy(10, 30, 40, density=0.1, random_state=0)
        assert sparse.issparse(X)
        assert X.shape == (300, 40)
        assert X.nnz / 12_000 == pytest.approx(0.1, abs=0.02)
        assert len(y) == len(groups) == 300
        assert make_top_heavy(2, 5, density=1.0, random_state=0)[0].nnz == 200

    @pytest.mark.parametrize(
        ("given", "error", "words"),
        [
            ({"n_groups": 0}, ValueError, "n_groups must be 1 or more"),
            ({"n_groups": True}, TypeError, "n_groups"),
            ({"rows_per_group": 1}, ValueError, "rows_per_group"),
            ({"rows_per_group": (5, 3)}, ValueError, "rows_per_group must be 5 or more"),
            ({"n_features": 1}, ValueError, "n_features"),
            ({"positives": 0.0}, ValueError, "positives must be above 0 and below 1"),
            ({"positives": 1.0}, ValueError, "positives"),
            ({"noise": -1.0}, ValueError, "noise must be at least 0"),
            ({"noise": np.nan}, ValueError, "noise"),
            ({"heterogeneity": -1}, ValueError, "heterogeneity"),
            ({"decoys": 1.0}, ValueError, "decoys"),
            ({"density": 0.0}, ValueError, "density"),
            ({"density": 1.1}, ValueError, "density"),
        ],
    )
    def test_wrong_parameters(self, given, error, words) -> None:
        with pytest.raises(error, match=words):
            make_top_heavy(**given)
