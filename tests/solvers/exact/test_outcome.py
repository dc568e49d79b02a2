"""Certificates, and the line that a search says about itself."""

from __future__ import annotations

import pytest

from shortlist.solvers.exact.outcome import ExactCertificate, Progress, relative_gap


def certificate(value, bound, trivial=10.0):
    return ExactCertificate.of(value, bound, nodes=3, seconds=0.5, method="m", trivial_bound=trivial)


def test_a_gap_is_a_gap():
    c = certificate(4.0, 5.0)
    assert (c.value, c.bound, c.gap, c.relative_gap, c.proven) == (4.0, 5.0, 1.0, 0.25, False)
    assert (c.nodes, c.seconds, c.method, c.trivial_bound) == (3, 0.5, "m", 10.0)
    assert str(c).startswith("NOT proven: value 4, bound 5, gap 25 % (without a mistake 10), 3 nodes")


def test_rounding_is_not_a_gap():
    c = certificate(4.0, 4.0 + 1e-12)
    assert c.proven and c.bound == 4.0 and c.gap == 0.0 and c.relative_gap == 0.0
    assert str(c).startswith("proven optimal")
    assert not certificate(4.0, 4.0 + 1e-6).proven


def test_a_bound_is_never_above_the_trivial_one_nor_below_the_value():
    assert certificate(4.0, 99.0).bound == 10.0
    assert certificate(4.0, 3.0).bound == 4.0


def test_values_of_zero_and_below():
    assert certificate(0.0, 0.0).relative_gap == 0.0
    assert certificate(0.0, 1.0).relative_gap > 1e300
    assert certificate(-2.0, -1.0).relative_gap == 0.5
    assert relative_gap(1.0, 0.5) == 0.0


def test_the_share_of_the_way_that_is_proven():
    assert certificate(4.0, 5.5).closed == 0.75
    assert certificate(4.0, 4.0).closed == 1.0
    assert certificate(10.0, 10.0).closed == 1.0
    assert certificate(4.0, 10.0).closed == 0.0


@pytest.mark.parametrize(("note", "end"), [("", "/s)"), ("climb 3", "/s)  climb 3")])
def test_progress_is_one_line(note, end):
    progress = Progress(2.0, 4.0, 5.0, 100, note)
    assert progress.relative_gap == 0.25
    line = str(progress)
    assert "answer 4  bound 5  gap 25.000 %  100 boxes (50/s)" in line and line.endswith(end)
    assert "\n" not in line


def test_progress_at_the_very_beginning():
    assert "(0/s)" in str(Progress(0.0, 0.0, 0.0, 0))
