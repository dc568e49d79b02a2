"""Methods by name, and what a fitted model says of itself: its name, its certificates, its settings."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from shortlist.cli.failure import Usage, closest

__all__ = ["METHODS", "SHORT", "certificates", "make_model", "parse_settings", "ranker_of"]

# What scikit-learn offers, by a short name.
SHORT = {
    "logistic": "logistic regression",
    "boosting": "gradient boosting",
    "forest": "random forest",
}
# Classifiers of this package that learn from rows and two labels.
METHODS = (
    "TopPush",
    "TopPushK",
    "TauFPL",
    "InfinitePush",
    "SparseInfinitePush",
    "PatMat",
    "RankSVM",
    "OWPC",
    "SVMMAP",
    "SVMpAUC",
    "RankBoost",
    "PNormPush",
)


def make_model(name: str, budget: Any, settings: dict[str, Any], seed: int, time_limit: float | None = None) -> Any:
    """An unfitted model for features that are numbers without gaps."""
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression

    import shortlist
    from shortlist.selection import AutoRanker

    model: Any
    if name == "auto":
        model = AutoRanker(budget, time_limit=time_limit, random_state=seed)
    elif name == "logistic":
        model = LogisticRegression(max_iter=1000)
    elif name == "boosting":
        model = HistGradientBoostingClassifier(random_state=seed)
    elif name == "forest":
        model = RandomForestClassifier(300, min_samples_leaf=2, random_state=seed)
    elif name in METHODS:
        model = getattr(shortlist, name)()
    else:
        known = ["auto", *SHORT, *METHODS]
        raise Usage(f"there is no method {name!r}{closest(name, known) or '; known are ' + ', '.join(known)}")
    known = sorted(model.get_params(deep=False))
    for key in settings:
        if key not in known:
            raise Usage(f"{name} has no setting {key!r}{closest(key, known) or '; it has ' + ', '.join(known)}")
    return model.set_params(**settings)


def needs_scale(name: str) -> bool:
    """Whether features should have the same spread: not for trees, nor for what scales on its own."""
    return name not in ("auto", "boosting", "forest", "RankBoost", "PNormPush")


def parse_settings(given: Sequence[str]) -> dict[str, Any]:
    """
    >>> parse_settings(["C=0.1", "tau=auto", "kernel=rbf"])
    {'C': 0.1, 'tau': 'auto', 'kernel': 'rbf'}
    """
    made: dict[str, Any] = {}
    for one in given:
        name, sign, text = one.partition("=")
        if not sign or not name.isidentifier():
            raise Usage(f"--set takes name=value, such as --set C=0.1, and got {one!r}")
        try:
            made[name] = json.loads(text)
        except ValueError:
            made[name] = text
    return made


def ranker_of(model: Any) -> Any:
    """The last step of a pipeline."""
    while hasattr(model, "steps"):
        model = model.steps[-1][1]
    return model


def title_of(model: Any) -> str:
    """What a fitted model is called."""
    ranker = ranker_of(model)
    chosen = getattr(ranker, "best_name_", None)
    if chosen is not None:
        return str(chosen)
    if type(ranker).__name__ == "Reranker":
        base = ranker.base
        return f"{title_of(getattr(base, 'estimator', base))}, its top reranked by an exact search"
    names = {"LogisticRegression": "logistic", "HistGradientBoostingClassifier": "boosting"}
    return SHORT.get(names.get(type(ranker).__name__, ""), type(ranker).__name__)


def certificates(model: Any) -> list[str]:
    """What is proven of a fitted model, a line for each part of it that has a certificate."""
    found: list[str] = []
    waiting = [model]
    while waiting:
        one = ranker_of(waiting.pop(0))
        certificate = getattr(one, "certificate_", None)
        if certificate is not None:
            found.append(f"{type(one).__name__} {certificate}")
        parts = getattr(getattr(one, "model_", None), "models", None) or []
        waiting += [
            *parts,
            *(getattr(one, name) for name in ("base_", "reranker_", "estimator_") if hasattr(one, name)),
        ]
        waiting = [part for part in waiting if part is not None]
    return found
