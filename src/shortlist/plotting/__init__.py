"""Displays in scikit-learn's manner: `from_estimator`, `from_predictions`, ``ax=``, ``plot``, ``ax_``, ``line_``.

Of one ranked list: `PrecisionRecallAtKDisplay`, `TopROCDisplay`, `CumulativeGainsDisplay`, `ScoreDistributionDisplay`.
Of fits: `TopOverCDisplay`, `CertificateTraceDisplay`. Of a comparison: `ComparisonDisplay`. They need matplotlib, the
extra ``plot``.
"""

from shortlist.plotting.at_k import PrecisionRecallAtKDisplay
from shortlist.plotting.forest import ComparisonDisplay
from shortlist.plotting.gains import CumulativeGainsDisplay
from shortlist.plotting.path import TopOverCDisplay
from shortlist.plotting.roc import TopROCDisplay
from shortlist.plotting.scores import ScoreDistributionDisplay
from shortlist.plotting.trace import CertificateTraceDisplay

__all__ = [
    "CertificateTraceDisplay",
    "ComparisonDisplay",
    "CumulativeGainsDisplay",
    "PrecisionRecallAtKDisplay",
    "ScoreDistributionDisplay",
    "TopOverCDisplay",
    "TopROCDisplay",
]
