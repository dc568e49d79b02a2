"""Models and parameters chosen by held-out rows: AutoRanker's race, and closed forms for least-squares ranking."""

from shortlist.selection.auto import AutoRanker
from shortlist.selection.hold_out import HoldOut, leave_group_out, leave_one_out, leave_pair_out
from shortlist.selection.search import MLSRRankCV, MPRankCV

__all__ = ["AutoRanker", "HoldOut", "MLSRRankCV", "MPRankCV", "leave_group_out", "leave_one_out", "leave_pair_out"]
