"""Feature vectors that are made again at every pass, a block at a time, because all of them at once take too much.

A solver that only ever asks for ``Z[first:last]`` cannot tell them from a matrix.  Each pass pays for the kernel
values again; memory stays that of X, the landmarks and one block.

>>> import numpy as np
>>> from shortlist.features import feature_map
>>> X = np.array([[0.0], [1.0], [2.0]])
>>> Z = StreamedFeatures(feature_map("rbf", n_landmarks=2, random_state=0).fit(X), X)
>>> Z.shape, Z[1:3].shape
((3, 2), (2, 2))
"""

from __future__ import annotations

import numpy as np

from shortlist.features.maps import FeatureMap
from shortlist.features.matrices import Array, Matrix

__all__ = ["STREAMED_BYTES", "StreamedFeatures"]

#: Feature vectors of landmarks that take more than this are streamed where the solver allows it.
STREAMED_BYTES = 2**29


class StreamedFeatures:
    """Rows of ``features.transform(X)``, on demand.

    Parameters
    ----------
    features : FeatureMap
        Fitted.
    X : array or CSR
    """

    def __init__(self, features: FeatureMap, X: Matrix) -> None:
        self.features = features
        self.X = X
        self.shape = (int(X.shape[0]), features.n_components_)
        self.dtype = np.dtype(np.float32 if X.dtype == np.float32 else np.float64)

    def __getitem__(self, rows: slice) -> Array:
        return np.asarray(self.features.transform(self.X[rows]))
