"""The papers' guarantees as functions: what a training list proves about rows to come.

=============================  ====================================================================================
function                       statement
=============================  ====================================================================================
``magnitude_bound``            expected cost of a pair, MPRank and SVRank (Cortes, Mohri and Rastogi, Corollary 1)
``magnitude_stability``        change of a cost when one row is replaced (there, Proposition 3)
``infinite_push_failure``      probability of an excess at the worst negative (Agarwal, Theorem 5.1)
``infinite_push_bound``        errors at all but a share of the negatives; all constants known
``top_push_bound``             positives with more than a share of negatives above them (Li, Jin and Zhou, Theorem 3)
``top_push_delta``             that share (there, Lemma 1)
``multiscale_bound``           excess risk of MLSRRank, all constants known
``multiscale_covering_bound``  the same by covering numbers (Zhou, Chen, Lan and Pan, Theorem 2)
``multiscale_rate``            its power of 1/m (there, Theorem 3); ``best_multiscale_rate`` chooses C's growth
``clump_statistics``           a list against its reverse (Rudin and Wang, Theorem 1); ``clump_losses`` for losses
=============================  ====================================================================================

Each was derived anew.  Where a printed proof or constant did not survive that, the function returns the corrected
bound, ``printed=True`` the formula as it stands in the paper, and the Notes show the smallest counterexample.  A bound
holds for rows that are drawn independently, and for a margin, a C and a class that were fixed before.
"""

from __future__ import annotations

from shortlist.theory.classes import FiniteClass, FunctionClass, LinearClass, norm_bound
from shortlist.theory.infinite_push import PushBound, infinite_push_bound, infinite_push_failure
from shortlist.theory.magnitude import magnitude_bound, magnitude_stability, residual_bound
from shortlist.theory.multiscale import (
    best_multiscale_rate,
    multiscale_bound,
    multiscale_covering_bound,
    multiscale_rate,
)
from shortlist.theory.orders import clump_losses, clump_statistics
from shortlist.theory.top_push import TopBound, top_push_bound, top_push_delta

__all__ = [
    "FiniteClass",
    "FunctionClass",
    "LinearClass",
    "PushBound",
    "TopBound",
    "best_multiscale_rate",
    "clump_losses",
    "clump_statistics",
    "infinite_push_bound",
    "infinite_push_failure",
    "magnitude_bound",
    "magnitude_stability",
    "multiscale_bound",
    "multiscale_covering_bound",
    "multiscale_rate",
    "norm_bound",
    "residual_bound",
    "top_push_bound",
    "top_push_delta",
]
