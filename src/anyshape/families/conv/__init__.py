"""Convolutions: products whose rows are the places that a kernel meets."""
