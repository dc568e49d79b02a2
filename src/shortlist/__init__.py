"""Shortlist: certified ranking for when only the top of the list will be acted on."""

from shortlist.certification import certify
from shortlist.estimators import InfinitePush, PatMat, SparseInfinitePush, TauFPL, TopPush, TopPushK

__all__ = [
    "InfinitePush",
    "PatMat",
    "SparseInfinitePush",
    "TauFPL",
    "TopPush",
    "TopPushK",
    "certify",
]
