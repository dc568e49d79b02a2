"""Who takes part: models by name, each with a grid or none, and the default line-up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import Pipeline

from shortlist.estimators import ExactRanker, InfinitePush, RankSVM, Reranker, TopPush
from shortlist.estimators._responses import RESPONSES
from shortlist.selection.candidates import boosting, scaled

__all__ = ["Entrant", "default_models", "last_step", "make_entrants"]

GRID = (0.1, 1.0, 10.0)


@dataclass(frozen=True)
class Entrant:
    """A model, and the grid to choose its parameters from within the training rows of each split."""

    name: str
    model: Any
    grid: Any = None

    @property
    def settings(self) -> list[dict[str, Any]]:
        """Every combination of the grid; one empty one without."""
        return [{}] if self.grid is None else list(ParameterGrid(self.grid))

    def __repr__(self) -> str:
        """All that decides what it does: for the fingerprint."""
        return f"{self.name}: {_spelled(self.model)} over {_spelled(self.grid)}"


def _spelled(thing: Any) -> str:
    """A repr without addresses, with every parameter."""
    if hasattr(thing, "get_params") and not isinstance(thing, type):
        inner = ", ".join(f"{name}={_spelled(value)}" for name, value in sorted(thing.get_params(deep=False).items()))
        return f"{type(thing).__module__}.{type(thing).__qualname__}({inner})"
    if isinstance(thing, Mapping):
        return "{" + ", ".join(f"{key!r}: {_spelled(value)}" for key, value in sorted(thing.items(), key=repr)) + "}"
    if isinstance(thing, list | tuple):
        return "[" + ", ".join(_spelled(value) for value in thing) + "]"
    if callable(thing) and hasattr(thing, "__qualname__"):
        return f"{thing.__module__}.{thing.__qualname__}"
    return repr(thing.tolist() if hasattr(thing, "tolist") else thing)


def last_step(model: Any) -> Any:
    """What does the ranking: the end of a pipeline, the best model of a search, the second model of a reranker."""
    while True:
        if isinstance(model, Pipeline):
            model = model.steps[-1][1]
        elif hasattr(model, "best_estimator_"):
            model = model.best_estimator_
        elif getattr(model, "reranker_", None) is not None:
            model = model.reranker_
        else:
            return model


def default_models(X: Any, seed: int = 0) -> dict[str, Any]:
    """The line-up of ``models="default"`` for rows like ``X``: a dict of models, or of (model, grid)."""
    from sklearn.linear_model import LogisticRegression

    def tuned(model: Any) -> tuple[Any, dict[str, Any]]:
        return scaled(model, X), {"rank__C": list(GRID)}

    # Bounded by its climbs, not by seconds: the same answer on every machine.
    exact = ExactRanker("dcg", l0=0.1, method="ascent", n_starts=3, time_limit=None, random_state=seed)
    return {
        "TopPush": tuned(TopPush(tol=1e-3)),
        "InfinitePush": tuned(InfinitePush(tol=1e-3)),
        "RankSVM": tuned(RankSVM(loss="squared_hinge", tol=1e-3)),
        "logistic regression": tuned(LogisticRegression(max_iter=1000)),
        "gradient boosting": boosting(X, seed),
        "gradient boosting, reranked": Reranker(boosting(X, seed), exact, top=100, cv=3, add_score=True),
    }


def make_entrants(models: Any, X: Any, seed: int) -> list[Entrant]:
    """From what the user gives: "default", a dict, or a list of models, (name, model) or (model, grid)."""
    if isinstance(models, str):
        if models != "default":
            raise ValueError(f"models must be 'default', a dict or a list of models, got {models!r}")
        models = default_models(X, seed)
    if isinstance(models, Mapping):
        pairs = list(models.items())
    elif isinstance(models, Sequence):
        pairs = [one if _is_named(one) else (_name_of(one), one) for one in models]
    else:
        pairs = [(_name_of(models), models)]
    if not pairs:
        raise ValueError("models is empty; give at least one, or 'default'")
    entrants: list[Entrant] = []
    for name, given in pairs:
        model, grid = given if isinstance(given, tuple) and len(given) == 2 else (given, None)
        if isinstance(model, type) or not hasattr(model, "fit"):
            raise TypeError(f"the model {name!r} must be an estimator, or (estimator, grid), got {given!r}")
        if not any(hasattr(model, method) for method in RESPONSES):
            raise TypeError(f"the model {name!r} has none of {', '.join(RESPONSES)}: it gives no score to rank by")
        entrants.append(Entrant(_unused(str(name), [one.name for one in entrants]), model, grid))
    return entrants


def _is_named(one: Any) -> bool:
    return isinstance(one, tuple) and len(one) == 2 and isinstance(one[0], str)


def _name_of(one: Any) -> str:
    model = one[0] if isinstance(one, tuple) else one
    return type(last_step(model)).__name__


def _unused(name: str, taken: list[str]) -> str:
    """The name, with a number where another model has it already."""
    tried, number = name, 1
    while tried in taken:
        number += 1
        tried = f"{name} ({number})"
    return tried
