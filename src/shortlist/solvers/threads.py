"""How many threads the BLAS may use.

Matrices of a few hundred columns gain nothing from a second thread, and lose much where the cores are busy: threads
that wait for each other spin.  The same goes for the vectors of wide, sparse problems.  Both run on one thread; only
problems whose dense Newton matrix is large keep what the user set.

``threadpoolctl`` is what scikit-learn itself depends on for this.
"""

from __future__ import annotations

import functools
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from threadpoolctl import ThreadpoolController

__all__ = ["blas_threads"]

DENSE_AND_LARGE = range(513, 3001)  # columns


@functools.cache
def _controller() -> ThreadpoolController:
    # Finding the libraries takes longer than a small fit.
    return ThreadpoolController()


def blas_threads(n_columns: int) -> AbstractContextManager[Any]:
    """Context in which a problem of this width should be solved."""
    if n_columns in DENSE_AND_LARGE:
        return nullcontext()
    limited: AbstractContextManager[Any] = _controller().limit(limits=1, user_api="blas")
    return limited
