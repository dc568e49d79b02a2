"""Parameters chosen by exact hold-out errors: closed forms for least-squares ranking, for whole grids of C at once."""

from shortlist.selection.hold_out import HoldOut, leave_group_out, leave_one_out, leave_pair_out

__all__ = ["HoldOut", "leave_group_out", "leave_one_out", "leave_pair_out"]
