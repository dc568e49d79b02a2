"""Whatever happens to a file: it is loaded, or refused with a ValueError; nothing runs, nothing crashes."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from shortlist import Reranker, TauFPL, TopPush
from shortlist.persist import load_bytes
from tests.common.estimators import clouds
from tests.persist.forge import Part, apart, attempt, changed_array, changed_block, mutated, saved, together

X, y = clouds(40)
EXAMPLES = int(os.environ.get("SHORTLIST_FUZZ", "6"))  # `make fuzz` asks for more
SETTINGS = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
seeds = st.integers(0, 2**32 - 1)


def models() -> dict[str, Any]:
    ids = [("query", row % 4) for row in range(len(X))]
    columns = ColumnTransformer([("a", SimpleImputer(), [0, 1]), ("b", OneHotEncoder(handle_unknown="ignore"), [2])])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {
            "linear": TauFPL().fit(X, y, groups=ids),
            "kernel": TopPush(kernel="rbf", n_landmarks=5, random_state=np.random.RandomState(0)).fit(X, y),
            "pipeline": make_pipeline(columns, TopPush()).fit(np.round(X), y),
            "forest": RandomForestClassifier(2, max_depth=2, random_state=0).fit(X, y),
            "boosting": GradientBoostingClassifier(n_estimators=2, max_depth=2, random_state=0).fit(X, y),
            "histograms": HistGradientBoostingClassifier(
                max_iter=2, max_leaf_nodes=4, min_samples_leaf=5, categorical_features=[3]
            ).fit(np.column_stack([X[:, :3], np.arange(len(X)) % 5]), y),
            "reranked": Reranker(RandomForestClassifier(2, max_depth=2), TopPush(), top=20).fit(X, y),
        }


NAMES = ["linear", "kernel", "pipeline", "forest", "boosting", "histograms", "reranked"]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("files")
    return {name: saved(model, folder) for name, model in models().items()}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("forged")


def test_the_files_are_sound(files: dict[str, bytes]) -> None:
    assert [name for name in NAMES if not attempt(files[name], X)] == []


@pytest.mark.parametrize("name", NAMES)
@SETTINGS
@given(seed=seeds)
def test_damage_is_told(name: str, seed: int, files: dict[str, bytes]) -> None:
    random, data = Random(seed), bytearray(files[name])
    if random.random() < 0.3:
        del data[random.randrange(len(data)) :]
    else:
        for _ in range(random.randint(1, 4)):
            data[random.randrange(len(data))] ^= 1 << random.randrange(8)
    if bytes(data) != files[name]:
        with pytest.raises(ValueError, match="cannot be loaded"):
            load_bytes(bytes(data), "damaged")
    attempt(bytes(data), X)  # and as if the hash were right


@pytest.mark.parametrize("name", NAMES)
@SETTINGS
@given(seed=seeds)
def test_headers_are_not_believed(name: str, seed: int, files: dict[str, bytes], folder: Path) -> None:
    random = Random(seed)
    header, blocks = apart(files[name])
    del header["blocks"]
    attempt(together(mutated(header, random, random.randint(1, 3)), blocks, folder), X)


@pytest.mark.parametrize("name", NAMES)
@SETTINGS
@given(seed=seeds)
def test_blocks_are_not_believed(name: str, seed: int, files: dict[str, bytes], folder: Path) -> None:
    random = Random(seed)
    header, blocks = apart(files[name])
    del header["blocks"]
    for _ in range(random.randint(1, 3)):
        changed_block(blocks, random)
    attempt(together(header, blocks, folder), X)


@pytest.mark.parametrize("name", NAMES[2:])
@SETTINGS
@given(seed=seeds)
def test_parts_are_not_believed(name: str, seed: int, files: dict[str, bytes], folder: Path) -> None:
    random = Random(seed)
    part = Part(files[name])
    if random.random() < 0.6:
        part.schema = mutated(part.schema, random, random.randint(1, 2))
    else:
        changed_array(part, random)
    attempt(part.data(folder), X)
