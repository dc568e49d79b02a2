"""Models into files and back, without pickle: what a file holds is data, and what it may become is on a list.

>>> import tempfile
>>> from pathlib import Path
>>> from shortlist import TauFPL
>>> from shortlist.datasets import make_gaussians
>>> X, y = make_gaussians(random_state=0)
>>> model = TauFPL(tau=0.5).fit(X, y)
>>> with tempfile.TemporaryDirectory() as folder:
...     save(model, Path(folder) / "model.shortlist")
...     again = load(Path(folder) / "model.shortlist")
>>> bool((again.decision_function(X) == model.decision_function(X)).all())
True
"""

from __future__ import annotations

import os
import warnings
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from sklearn import __version__ as sklearn_version

from shortlist.exceptions import FileVersionWarning
from shortlist.persist._container import read_container, write_container

__all__ = ["load", "save", "to_onnx"]


def _own_version() -> str:
    try:
        return version("shortlist")
    except PackageNotFoundError:  # run from a folder that was not installed
        return "unknown"


def save(model: Any, path: str | os.PathLike[str], *, overwrite: bool = True) -> None:
    """Write a model to a file, whole or not at all.

    Parameters
    ----------
    model : estimator
        Any estimator of this package, fitted or not, or a scikit-learn pipeline, search or ensemble with such parts.
        Parts of scikit-learn's are written with skops (``pip install 'shortlist[files]'``); linear models, trees,
        forests, boosting and preprocessing can be saved, kernel machines and nearest neighbours not.
    path : path
        Whatever its ending; ``.shortlist`` is a custom.
    overwrite : bool, default=True
        Whether a file that is there may be replaced.

    Raises
    ------
    TypeError
        For what no file may hold: functions, such as a kernel or callback of the user's own, and models that are not
        on the list of trusted types. The message names the attribute.
    FileExistsError
        Without ``overwrite``, if the file is there.

    See Also
    --------
    load : The way back.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from shortlist import TauFPL, load, save
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "model.shortlist"
    ...     save(TauFPL(C=10.0), path)
    ...     load(path)
    TauFPL(C=10.0)
    """
    from shortlist.persist._encode import Encoder

    path = Path(path)
    if not hasattr(model, "get_params"):
        raise TypeError(f"save takes an estimator, got {type(model).__name__}")
    encoder = Encoder()
    header = {
        "shortlist": _own_version(),
        "scikit-learn": sklearn_version,
        "model": encoder.node(model, type(model).__name__),
    }
    if not overwrite and path.exists():
        raise FileExistsError(f"{path} is there already; pass overwrite=True to replace it")
    write_container(path, header, encoder.blocks)


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model that `save` wrote.

    A file can make models of Shortlist and those of scikit-learn's that are on a list, and nothing else: it runs no
    code, costs a small multiple of its size in memory, and a tree in it is checked node by node. Whether its numbers
    are the ones that you want is another matter: load models from those whose advice you would take.

    Parameters
    ----------
    path : path

    Returns
    -------
    estimator
        Its scores are the same to the last bit, on the same machine and versions.

    Raises
    ------
    ValueError
        For a file that is damaged, truncated, of another kind, of a newer format, or that holds what is not trusted.
    ImportError
        If skops is missing and the file needs it.

    Warns
    -----
    FileVersionWarning
        If another version of Shortlist or scikit-learn wrote it: fit again if its scores surprise.

    Examples
    --------
    >>> import shortlist, tempfile
    >>> from shortlist import TopPush
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     shortlist.save(TopPush(C=3.0), folder + "/model.shortlist")
    ...     shortlist.load(folder + "/model.shortlist")
    TopPush(C=3.0)
    """
    path = Path(path)
    return load_bytes(path.read_bytes(), str(path))


def to_onnx(model: Any, X: Any = None, path: str | os.PathLike[str] | None = None) -> bytes:
    """A fitted linear model, or a pipeline that ends in one, as an ONNX graph.

    Parameters
    ----------
    model : estimator
        A linear model of Shortlist (no kernel, no `Reranker`), or a scikit-learn ``Pipeline`` whose last step is one
        and whose other steps skl2onnx can convert: scalers, one-hot encoders, column transformers, and imputers of
        numbers.
    X : array, or pandas, polars or pyarrow table, optional
        A few rows, for the names and types of the columns: of a frame each column is an input of its own (spaces in its
        name become underscores), of an array there is one input ``X``. None: one input of ``model.n_features_in_``
        numbers in double precision.
    path : path, optional
        Where to write it, whole or not at all.

    Returns
    -------
    bytes
        The graph. Its output ``score``, of shape (n_rows, 1) or (n_rows, n_targets), is ``decision_function``, or
        ``predict`` of a regressor.

    Raises
    ------
    TypeError
        For a model that is not linear in its (prepared) features, or that skl2onnx cannot convert.
    ImportError
        Without ``shortlist[onnx]``.

    Examples
    --------
    >>> from shortlist import TauFPL, to_onnx
    >>> from shortlist.datasets import make_gaussians
    >>> X, y = make_gaussians(random_state=0)
    >>> graph = to_onnx(TauFPL(tau=0.5).fit(X, y))
    >>> type(graph).__name__
    'bytes'
    """
    from shortlist.persist._onnx import convert

    return convert(model, X, None if path is None else Path(path))


def load_bytes(data: bytes, name: str, *, check_hash: bool = True) -> Any:
    """`load` from the bytes of a file; without ``check_hash`` of one that was changed on purpose."""
    from shortlist.persist._decode import Decoder
    from shortlist.persist._trees import check_models

    try:
        header, blocks = read_container(data, check_hash=check_hash)
        decoder = Decoder(blocks)
        model = decoder.thing(header["model"])
        decoder.finish()
        if not hasattr(model, "get_params"):
            raise ValueError("it holds no model")
        check_models(model)
    except (ImportError, KeyboardInterrupt):
        raise
    except Exception as error:  # whatever a crafted header provokes
        what = error if isinstance(error, ValueError) else f"its header does not fit together ({type(error).__name__})"
        raise ValueError(f"{name} cannot be loaded: {what}") from error
    _compare_versions(header, name)
    return model


def _compare_versions(header: dict[str, Any], name: str) -> None:
    for package, now in (("shortlist", _own_version()), ("scikit-learn", sklearn_version)):
        then = str(header.get(package))[:40]
        if then != now:
            warnings.warn(
                f"{name} was written with {package} {then}, and this is {now}: its scores may differ",
                FileVersionWarning,
                stacklevel=4,
            )
