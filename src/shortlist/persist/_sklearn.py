"""Parts that are scikit-learn's, by skops: audited before skops sees them, and their trees after.

skops writes a zip of a schema in JSON and arrays.  Its own audit says which types a file names; ours, which comes
first, allows fewer of them (`_trust`), and looks at what types do not say (`_audit`).
"""

from __future__ import annotations

import warnings
from typing import Any

from shortlist.persist._audit import audit
from shortlist.persist._trees import check_models

__all__ = ["dump_part", "load_part"]

MISSING = (
    "this model has parts of scikit-learn's, which are saved and loaded with skops: pip install 'shortlist[files]'"
)


def dump_part(thing: Any, where: str) -> bytes:
    """A thing of scikit-learn's as bytes; what could not be loaded again is refused here."""
    skops_io = _skops()
    try:
        data = bytes(skops_io.dumps(thing))
        audit(data)
        check_models(thing)
    except (TypeError, ValueError, AttributeError) as error:
        raise TypeError(
            f"{where} ({type(thing).__name__}) cannot be saved: {error}. Files hold models of Shortlist, and those of "
            "scikit-learn's whose numbers can be checked (linear models, trees, forests, boosting, preprocessing)"
        ) from error
    return data


def load_part(data: bytes) -> Any:
    """The thing again; a ValueError for anything that is not on the list or does not fit."""
    skops_io = _skops()
    named = audit(data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # versions are compared for the file as a whole
        thing = skops_io.loads(data, trusted=sorted(named))  # skops keeps the list for each node
    check_models(thing)
    return thing


def _skops() -> Any:
    try:
        import skops.io
    except ImportError as error:
        raise ImportError(MISSING) from error
    return skops.io
