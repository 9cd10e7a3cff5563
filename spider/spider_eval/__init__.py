"""Execution match on Spider: whether a predicted query gives the rows of the gold query."""
