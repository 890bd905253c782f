"""Cumulative ops: a walk along an axis."""
