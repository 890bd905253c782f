"""Grouped dots: products whose rows choose their matrix."""
