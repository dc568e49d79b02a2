"""Shortlist: certified ranking for when only the top of the list will be acted on."""
