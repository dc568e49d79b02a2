"""Every check that scikit-learn has for estimators, none of them expected to fail."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from tests.common.estimators import CHECKED, REGRESSORS

pytestmark = [
    pytest.mark.filterwarnings("ignore::shortlist.exceptions.DegenerateOptimumWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning"),
    pytest.mark.filterwarnings("ignore::shortlist.exceptions.QuantileWarning"),
    pytest.mark.filterwarnings("ignore::shortlist.exceptions.NothingToRerankWarning"),
]


@parametrize_with_checks([*CHECKED, *REGRESSORS])
def test_check(estimator: Any, check: Any) -> None:
    check(estimator)
