"""Parameters chosen by exact hold-out errors: closed forms for least-squares ranking, for whole grids of C at once."""

from shortlist.selection.hold_out import HoldOut, leave_group_out, leave_one_out, leave_pair_out
from shortlist.selection.search import MLSRRankCV, MPRankCV

__all__ = ["HoldOut", "MLSRRankCV", "MPRankCV", "leave_group_out", "leave_one_out", "leave_pair_out"]
