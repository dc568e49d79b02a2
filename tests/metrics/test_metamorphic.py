"""What must not change a metric, and what must change it in a known way."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shortlist import metrics
from shortlist.metrics.scorers import METRICS

ALL = {name: pair[0] for name, pair in METRICS.items()}
WITHOUT_TIES = {"mean_squared_difference", "mean_absolute_difference", "pearson", "rank_statistic"}
GRADED = {"dcg", "ndcg", "pairwise_misranking", "ranking_error", "kendall_tau", "spearman_rho"}
GRADED |= {"mean_squared_difference", "mean_absolute_difference", "pearson"}
CASES = [(name, 2) for name in ALL] + [(name, 4) for name in sorted(GRADED)]
TIES = ("average", "pessimistic", "optimistic")


def sample(seed, n=60, levels=7, labels=2):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, labels, n)
    y[:labels] = np.arange(labels)
    return y, rng.integers(0, levels, n) / 3.0, rng


def options(name, ties):
    return {} if name in WITHOUT_TIES else {"ties": ties}


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("name", ALL)
def test_row_order_does_not_matter(name, ties):
    y, s, rng = sample(1)
    groups = rng.integers(0, 4, len(y))
    order = rng.permutation(len(y))
    value = ALL[name](y, s, groups=groups, **options(name, ties))
    again = ALL[name](y[order], s[order], groups=groups[order], **options(name, ties))
    assert value == pytest.approx(again, rel=1e-12)


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize(("name", "labels"), CASES)
def test_a_weight_is_a_repetition(name, ties, labels):
    y, s, rng = sample(2, labels=labels)
    w = rng.integers(0, 4, len(y))
    w[:labels] = 1
    groups = rng.integers(0, 3, len(y))
    for g in (None, groups):
        value = ALL[name](y, s, groups=g, sample_weight=w, **options(name, ties))
        rows = np.repeat(np.arange(len(y)), w)
        repeated = ALL[name](y[rows], s[rows], groups=None if g is None else g[rows], **options(name, ties))
        assert value == pytest.approx(repeated, rel=1e-11, abs=1e-13)


@pytest.mark.parametrize(("name", "labels"), CASES)
def test_groups_are_the_mean_of_single_lists(name, labels):
    y, s, rng = sample(3, n=90, labels=labels)
    groups = np.array(["a", "b", "c"])[rng.integers(0, 3, len(y))]
    single = [ALL[name](y[groups == g], s[groups == g]) for g in "abc"]
    assert ALL[name](y, s, groups=groups) == pytest.approx(np.mean(single), rel=1e-12)


@pytest.mark.parametrize("name", sorted(GRADED))
def test_the_graded_way_agrees_with_the_two_label_way(name, monkeypatch):
    from shortlist.metrics import gain, pairs

    y, s, rng = sample(4)
    groups = rng.integers(0, 3, len(y))
    for w in (None, rng.integers(1, 3, len(y)), rng.random(len(y)) + 0.5):
        two = ALL[name](y, s, groups=groups, sample_weight=w)
        with monkeypatch.context() as patch:
            for module in (gain, pairs):
                patch.setattr(module, "two_labels", lambda *_: None)
            graded = ALL[name](y, s, groups=groups, sample_weight=w)
        assert two == pytest.approx(graded, rel=1e-10)


@pytest.mark.parametrize("name", sorted(set(ALL) - {"rank_statistic"}))
@pytest.mark.parametrize("ties", TIES)
def test_fractional_weights_stay_in_range_and_continue_between_whole_ones(name, ties):
    y, s, rng = sample(5)
    w = rng.integers(1, 4, len(y)).astype(float)
    near = w + rng.uniform(-1e-9, 1e-9, len(y))
    value = ALL[name](y, s, sample_weight=w, **options(name, ties))
    assert ALL[name](y, s, sample_weight=near, **options(name, ties)) == pytest.approx(value, abs=1e-5)
    # A list whose weights sum to less than one row has no rank correlation.
    for scale in (0.3, 1.7) if name == "spearman_rho" else (0.01, 0.3, 1.7):
        some = ALL[name](y, s, sample_weight=rng.random(len(y)) * scale + 1e-3, **options(name, ties))
        assert np.isfinite(some)
        if name in {"average_precision", "auc", "ndcg", "reciprocal_rank", "bedroc", "partial_auc"}:
            assert -1e-12 <= some <= 1 + 1e-12


def test_any_labels_any_group_ids():
    y, s, rng = sample(6)
    text = np.array(["ham", "spam"])[y]
    numbers = rng.integers(0, 3, len(y))
    value = metrics.auc(y, s, groups=numbers)
    assert metrics.auc(text, s, groups=numbers) == value
    assert metrics.auc(text.astype(object), s, groups=numbers) == value
    assert metrics.auc(y == 1, s, groups=numbers) == value
    assert metrics.auc(2 * y - 1, s, groups=numbers) == value
    assert metrics.auc(1 - y, s, groups=numbers, pos_label=0) == pytest.approx(value)
    assert metrics.auc(text, s, pos_label="ham") == pytest.approx(1 - metrics.auc(text, s))
    for ids in (
        numbers - 10**12,
        (numbers * 10**15).astype(np.int64),
        numbers.astype(np.int8) * 100 - 100,
        numbers.astype(np.uint64) + np.uint64(2**63),
        numbers * 5,
        numbers / 2,
        [("q", int(g)) for g in numbers],
        [None if g == 9 else f"q{g}" for g in numbers],
        np.array([f"q{g}" for g in numbers], dtype=object),
        numbers.astype(str),
    ):
        assert metrics.auc(y, s, groups=ids) == pytest.approx(value, rel=1e-14)


def test_more_groups_than_two_bytes_number():
    rng = np.random.default_rng(0)
    n_groups = 70_000
    groups = rng.permutation(np.repeat(np.arange(n_groups), 2))
    y = np.empty(len(groups), dtype=int)
    y[np.argsort(groups, kind="stable")] = np.tile([0, 1], n_groups)
    s = rng.normal(size=len(groups))
    first = np.argsort(groups, kind="stable").reshape(-1, 2)
    expected = np.mean(s[first[:, 1]] > s[first[:, 0]])
    assert metrics.auc(y, s, groups=groups) == pytest.approx(expected)
    assert metrics.evaluate(y, s, groups=groups)["auc"] == pytest.approx(expected)


@pytest.mark.parametrize(
    "dtype", [np.float32, np.float16, np.int8, np.int16, np.uint8, np.uint64, bool, object]
)
def test_score_types(dtype):
    """Among them types whose differences wrap round."""
    y, _, rng = sample(7)
    low, high = {np.int8: (-128, 128), bool: (0, 2)}.get(dtype, (0, 256))
    groups = rng.integers(0, 3, len(y))
    for s in (rng.integers(low, high, len(y)), rng.integers(low, high, 4)[rng.integers(0, 4, len(y))]):
        s = s.astype(dtype)
        for g in (None, groups):
            plain = metrics.evaluate(y, s.astype(float), groups=g)
            typed = metrics.evaluate(y, s, groups=g)
            for name, value in plain.items():
                assert typed[name] == pytest.approx(value, rel=1e-12), name
            for metric in ALL.values():
                assert metric(y, s, groups=g) == pytest.approx(
                    metric(y, s.astype(float), groups=g), rel=1e-12
                )


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.booleans(), st.integers(-3, 3)), min_size=1, max_size=30),
    st.sampled_from(TIES),
)
def test_bounds_and_order_of_the_modes(rows, ties):
    y = np.array([label for label, _ in rows])
    s = np.array([score for _, score in rows], dtype=float)
    for name in sorted(set(ALL) - WITHOUT_TIES - {"kendall_tau", "spearman_rho"}):
        low, middle, high = (
            ALL[name](y, s, ties=t, empty="zero") for t in ("pessimistic", "average", "optimistic")
        )
        if not METRICS[name][1]:
            low, high = high, low
        assert low - 1e-12 <= middle <= high + 1e-12
        if name not in {"positives_at_top", "dcg", "enrichment_factor"}:
            assert -1e-12 <= low <= high <= 1 + 1e-12


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.floats(0.1, 10), st.floats(-5, 5))
def test_an_increasing_transform_changes_no_order(seed, slope, shift):
    y, s, _ = sample(seed % 1000, n=30, levels=12)
    moved = np.arctan(slope * s) + shift
    for name in set(ALL) - {"mean_squared_difference", "mean_absolute_difference", "pearson"}:
        assert ALL[name](y, s) == pytest.approx(ALL[name](y, moved), rel=1e-12), name
