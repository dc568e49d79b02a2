"""Which form of the Newton system to use."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from shortlist.solvers.interior.direct import ColumnSystem, RowSystem
from shortlist.solvers.interior.iterative import ColumnConjugateGradients, RowConjugateGradients
from shortlist.solvers.interior.negatives import NegativeBlock
from shortlist.solvers.interior.newton_system import NewtonSystem
from shortlist.solvers.rows import Rows

Array = NDArray[Any]

__all__ = ["choose_system"]

# Largest orders of matrices that are factored: d of the column form, rows of the row form.
MOST_COLUMNS = 3000
MOST_ROWS = 1200
# Up to so many rows a column conjugate gradients need fewer products over rows than over columns.
ROWS_PER_COLUMN = 2
# Border variables that the row forms carry as dense columns.
MOST_BORDER = 300


def choose_system(positives: Rows, groups: Array, negatives: NegativeBlock, working: int) -> NewtonSystem:
    """The cheapest form for ``working`` negatives that fits memory."""
    rows, d = len(positives) + working, positives.n_columns
    form: type[NewtonSystem]
    if d <= MOST_COLUMNS and (d <= rows or rows > MOST_ROWS):
        form = ColumnSystem
    elif rows <= MOST_ROWS:
        form = RowSystem
    elif rows <= ROWS_PER_COLUMN * d and negatives.n_groups * negatives.n_border <= MOST_BORDER:
        form = RowConjugateGradients
    else:
        form = ColumnConjugateGradients
    return form(positives, groups, negatives)
