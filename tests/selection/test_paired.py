"""Paired tests against their formulas, SciPy, and enumeration."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy import stats

from shortlist.selection.paired import corrected_interval, corrected_t_test, holm, signed_rank_test

GAINS = [0.02, -0.01, 0.05, 0.03, 0.0, 0.04, 0.01]


class TestCorrectedT:
    @pytest.mark.parametrize("ratio", [0.0, 0.1, 0.25, 1.0])
    def test_by_its_formula(self, ratio: float) -> None:
        n, mean = len(GAINS), sum(GAINS) / len(GAINS)
        variance = sum((gain - mean) ** 2 for gain in GAINS) / (n - 1)
        t = mean / ((1 / n + ratio) * variance) ** 0.5
        assert corrected_t_test(GAINS, ratio) == pytest.approx(2 * (1 - stats.t.cdf(abs(t), n - 1)))
        assert corrected_t_test([-gain for gain in GAINS], ratio) == pytest.approx(corrected_t_test(GAINS, ratio))

    def test_without_overlap_it_is_the_plain_one(self) -> None:
        assert corrected_t_test(GAINS, 0.0) == pytest.approx(stats.ttest_1samp(GAINS, 0.0).pvalue)

    def test_overlap_makes_it_shier(self) -> None:
        p = [corrected_t_test(GAINS, ratio) for ratio in (0.0, 0.1, 0.5, 2.0)]
        assert p == sorted(p) and p[0] < p[-1]

    def test_nothing_to_go_by(self) -> None:
        assert corrected_t_test([], 0.25) == corrected_t_test([0.3], 0.25) == 1.0
        assert corrected_t_test([0.0, 0.0, 0.0], 0.25) == 1.0
        assert corrected_t_test([0.1, -0.1], 0.25) == 1.0

    def test_equal_differences_are_a_sign_test(self) -> None:
        assert corrected_t_test([0.1] * 5, 0.25) == 2 * 0.5**5
        assert corrected_t_test([-0.1] * 2, 0.25) == 0.5

    def test_the_interval_excludes_zero_where_the_test_rejects(self) -> None:
        rng = np.random.default_rng(0)
        for _ in range(50):
            values = rng.normal(0.5, 1.0, size=8)
            low, high = corrected_interval(values, 0.25)
            assert (low > 0 or high < 0) == (corrected_t_test(values, 0.25) < 0.05)
            assert (low + high) / 2 == pytest.approx(values.mean())

    def test_the_interval_of_one(self) -> None:
        assert np.isnan(corrected_interval([0.5], 0.25)).all()

    def test_a_wider_level_is_a_wider_interval(self) -> None:
        narrow, wide = (corrected_interval(GAINS, 0.25, level) for level in (0.8, 0.99))
        assert wide[0] < narrow[0] < narrow[1] < wide[1]

    def test_it_keeps_its_level_on_splits_that_overlap(self) -> None:
        """Differences that share a part, as those of one cross-validation do, with the correlation that it assumes."""
        rng = np.random.default_rng(0)
        n, ratio, runs = 10, 0.25, 600
        correlation = ratio / (1 + ratio)
        common = rng.normal(size=(runs, 1)) * correlation**0.5
        draws = common + rng.normal(size=(runs, n)) * (1 - correlation) ** 0.5
        ours, plain = (np.mean([corrected_t_test(draw, r) < 0.05 for draw in draws]) for r in (ratio, 0.0))
        assert ours < 0.08 < 0.2 < plain


class TestSignedRanks:
    def test_by_enumeration(self) -> None:
        gains = np.array([0.02, -0.01, 0.05, 0.03, 0.04, 0.015])
        ranks = stats.rankdata(np.abs(gains))
        seen = ranks[gains > 0].sum()
        sums = np.array([(ranks * signs).sum() for signs in product((0, 1), repeat=6)])
        middle = ranks.sum() / 2
        expected = np.mean(np.abs(sums - middle) >= abs(seen - middle))
        assert signed_rank_test(gains) == pytest.approx(expected)

    def test_zeros_and_rounding(self) -> None:
        assert signed_rank_test([0.0, 0.0, 0.0]) == signed_rank_test([]) == signed_rank_test([0.1]) == 1.0
        assert signed_rank_test([1e-15, -1e-16, 0.0]) == 1.0
        # Ties of figures such as 0.3 - 0.1 and 0.2 are ties.
        assert signed_rank_test([0.3 - 0.1, 0.2, -0.2, 0.4]) == signed_rank_test([0.2, 0.2, -0.2, 0.4])


class TestHolm:
    def test_step_by_step(self) -> None:
        rng = np.random.default_rng(0)
        for _ in range(30):
            p = np.round(rng.random(6) ** 2, 2)
            corrected = holm(p)
            for level in (0.01, 0.05, 0.2):
                # The procedure as its paper has it: go up as long as p <= level / (those left).
                rejected = set()
                for step, at in enumerate(np.argsort(p, kind="stable")):
                    if p[at] > level / (6 - step) + 1e-15:
                        break
                    rejected.add(int(at))
                assert {int(at) for at in np.flatnonzero(corrected <= level + 1e-12)} == rejected

    def test_never_smaller_never_above_one(self) -> None:
        p = [0.2, 0.9, 0.04]
        assert (holm(p) >= p).all() and holm(p).max() <= 1.0
        assert holm([]).tolist() == []
        assert holm([0.03]).tolist() == [0.03]
