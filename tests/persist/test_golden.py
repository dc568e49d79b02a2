"""What an older Shortlist wrote loads, and scores as it did."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sklearn

from shortlist import load
from shortlist.persist._container import FORMAT_VERSION, read_container
from tests.persist.golden.make import scores_of

FOLDER = Path(__file__).parent / "golden"
EXPECTED: dict[str, Any] = json.loads((FOLDER / "expected.json").read_text())


def series(version: str) -> str:
    return version.rpartition(".")[0]


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_golden_files(name: str) -> None:
    path = FOLDER / f"{name}.shortlist"
    header, _ = read_container(path.read_bytes())
    foreign = "scikit-learn" in json.dumps(header["model"])
    if foreign and series(header["scikit-learn"]) != series(sklearn.__version__):
        pytest.skip(f"it holds parts of scikit-learn {header['scikit-learn']}, and this is {sklearn.__version__}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of another version
        model = load(path)
    if EXPECTED[name] is None:
        assert repr(model) == "TopPush(C=2.0, loss='logistic')"
        return
    # To rounding: another machine's sums may come in another order.
    tolerance = 1e-5 if "float32" in name else 1e-10
    np.testing.assert_allclose(scores_of(model, name), EXPECTED[name], rtol=tolerance, atol=tolerance)


def test_each_version_of_the_format_has_its_files() -> None:
    files = {path.stem for path in FOLDER.glob("*.shortlist")}
    assert files == EXPECTED.keys()
    for version in range(1, FORMAT_VERSION + 1):
        assert len([name for name in files if name.startswith(f"{version}-")]) >= 10
    assert sum(path.stat().st_size for path in FOLDER.glob("*")) < 500_000
