"""Exact optimisation of rank statistics: ascent, branch and bound, mixed-integer programs."""
