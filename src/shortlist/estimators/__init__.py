"""What a user fits: scikit-learn estimators over the solvers."""

from shortlist.estimators.aatp import AATP
from shortlist.estimators.boosting import PNormPush, RankBoost
from shortlist.estimators.exact import ExactRanker
from shortlist.estimators.listwise import OWPC, SVMMAP, SVMpAUC
from shortlist.estimators.magnitude import LSRRank, MLSRRank, MPRank
from shortlist.estimators.magnitude_costs import MagnitudeRanker, SVRank
from shortlist.estimators.online import OnlineMPRank, SGDRank
from shortlist.estimators.pairwise import GradedRankSVM, RankSVM
from shortlist.estimators.quantile import PatMat, TauFPL
from shortlist.estimators.rerank import Reranker
from shortlist.estimators.top import InfinitePush, SparseInfinitePush, TopPush, TopPushK

__all__ = [
    "AATP",
    "OWPC",
    "SVMMAP",
    "ExactRanker",
    "GradedRankSVM",
    "InfinitePush",
    "LSRRank",
    "MLSRRank",
    "MPRank",
    "MagnitudeRanker",
    "OnlineMPRank",
    "PNormPush",
    "PatMat",
    "RankBoost",
    "RankSVM",
    "Reranker",
    "SGDRank",
    "SVMpAUC",
    "SVRank",
    "SparseInfinitePush",
    "TauFPL",
    "TopPush",
    "TopPushK",
]
