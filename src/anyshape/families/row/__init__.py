"""Rows: reductions and what is made of them."""
