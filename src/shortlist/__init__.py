"""Shortlist: certified ranking for when only the top of the list will be acted on."""

from shortlist.certification import certify
from shortlist.estimators import (
    AATP,
    ExactRanker,
    InfinitePush,
    LSRRank,
    MagnitudeRanker,
    MLSRRank,
    MPRank,
    OnlineMPRank,
    PatMat,
    RankSVM,
    Reranker,
    SGDRank,
    SparseInfinitePush,
    SVRank,
    TauFPL,
    TopPush,
    TopPushK,
)

__all__ = [
    "AATP",
    "ExactRanker",
    "InfinitePush",
    "LSRRank",
    "MLSRRank",
    "MPRank",
    "MagnitudeRanker",
    "OnlineMPRank",
    "PatMat",
    "RankSVM",
    "Reranker",
    "SGDRank",
    "SVRank",
    "SparseInfinitePush",
    "TauFPL",
    "TopPush",
    "TopPushK",
    "certify",
]
