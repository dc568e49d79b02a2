"""Shortlist: certified ranking for when only the top of the list will be acted on."""

from shortlist.certification import certify
from shortlist.estimators import (
    AATP,
    ExactRanker,
    GradedRankSVM,
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
from shortlist.frames import ranked
from shortlist.persist import load, save, to_onnx

__all__ = [
    "AATP",
    "ExactRanker",
    "GradedRankSVM",
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
    "load",
    "ranked",
    "save",
    "to_onnx",
]
