"""A fitted model in words: what it is, its settings, and what its certificate proves."""

from __future__ import annotations

from typing import Any

from shortlist.comparison.entrants import last_step
from shortlist.report._text import clip, number, percent, plain, plural

__all__ = ["certificate_in_words", "settings_of"]


def certificate_in_words(model: Any) -> tuple[str, list[tuple[str, str]]]:
    """A sentence, and the numbers behind it."""
    ranker = last_step(model)
    name, found = type(ranker).__name__, getattr(ranker, "certificate_", None)
    if found is None:
        several = getattr(getattr(ranker, "model_", None), "models", None)
        if several:
            told = [certificate_in_words(one) for one in several]
            return " ".join(sentence for sentence, _ in told), [pair for _, pairs in told for pair in pairs]
        return f"{name} carries no certificate: nothing says how far from its optimum it stopped.", []
    if hasattr(found, "proven"):
        return _exact(name, found)
    return _convex(name, found)


def _exact(name: str, found: Any) -> tuple[str, list[tuple[str, str]]]:
    took = f"after {plural(found.nodes, 'nodes')} and {number(found.seconds)} seconds"
    if found.proven:
        words = (
            f"{name} is proven optimal: its weights earn {number(found.value, 6)} on the training rows, and the search "
            f"ruled out every other choice of weights, {took}."
        )
    else:
        words = (
            f"{name} is not proven optimal: its weights earn {number(found.value, 6)} on the training rows, and no "
            f"weights can earn more than {number(found.bound, 6)}, which leaves {percent(found.relative_gap)} open, "
            f"{took}."
        )
    pairs = [
        ("value", number(found.value, 8)),
        ("proven bound", number(found.bound, 8)),
        ("relative gap", percent(found.relative_gap)),
        ("a list without a mistake", number(found.trivial_bound, 8)),
        ("method", plain(found.method)),
    ]
    return words, pairs


def _convex(name: str, found: Any) -> tuple[str, list[tuple[str, str]]]:
    took = f"after {plural(found.n_iter, 'iterations')} and {number(found.seconds)} seconds"
    if found.converged:
        words = (
            f"{name} is as good as its method can make it: its objective on the training rows is "
            f"{number(found.primal, 6)}, no coefficients whatever bring it below {number(found.bound, 6)}, and so at "
            f"most {percent(found.relative_gap)} is left, {took}."
        )
    else:
        words = (
            f"{name} stopped early: its objective on the training rows is {number(found.primal, 6)}, and what is "
            f"proven is only that no coefficients bring it below {number(found.bound, 6)}; "
            f"{percent(found.relative_gap)} is left where {percent(found.tolerance)} was asked for, {took}."
        )
    pairs = [
        ("objective", number(found.primal, 8)),
        ("proven bound", number(found.bound, 8)),
        ("relative gap", percent(found.relative_gap)),
        ("asked for", percent(found.tolerance)),
        ("passes over the data", number(found.n_passes)),
    ]
    return words, pairs


def settings_of(model: Any) -> list[tuple[str, str]]:
    """What it would take to make the model again: its class and its parameters."""
    found = [("model", f"{type(model).__module__.split('.')[0]}.{type(model).__name__}")]
    if hasattr(model, "steps"):
        found.append(("steps", " → ".join(type(step).__name__ for _, step in model.steps)))
    ranker = last_step(model)
    if ranker is not model:
        found.append(("ranked by", type(ranker).__name__))
    chosen = getattr(model, "best_params_", None)
    if chosen:
        found.append(("chosen by the search", ", ".join(f"{name} = {value!r}" for name, value in chosen.items())))
    if hasattr(ranker, "get_params"):
        for name, value in ranker.get_params(deep=False).items():
            found.append((name, clip(plain(repr(value)), 120)))
    return found
