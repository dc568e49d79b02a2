"""What a user fits: scikit-learn estimators over the solvers."""

from shortlist.estimators.aatp import AATP
from shortlist.estimators.quantile import PatMat, TauFPL
from shortlist.estimators.top import InfinitePush, SparseInfinitePush, TopPush, TopPushK

__all__ = ["AATP", "InfinitePush", "PatMat", "SparseInfinitePush", "TauFPL", "TopPush", "TopPushK"]
