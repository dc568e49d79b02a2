"""Models compared on the same splits, with tests that allow for the overlap of the splits and the number of models."""

from shortlist.comparison.entrants import default_models
from shortlist.comparison.measures import DEFAULT_METRICS
from shortlist.comparison.result import Comparison, Place, Run, Test
from shortlist.comparison.run import compare
from shortlist.comparison.store import read, write

__all__ = ["DEFAULT_METRICS", "Comparison", "Place", "Run", "Test", "compare", "default_models", "read", "write"]
