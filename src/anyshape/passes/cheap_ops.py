"""Which ops are worth computing again rather than keeping their results in memory."""

from __future__ import annotations

CHEAP = frozenset(
    {"add", "sub", "mul", "neg", "abs", "maximum", "minimum", "select", "cast", "relu", "eq", "ne"}
    | {"lt", "le", "gt", "ge", "logical_and", "logical_or", "logical_not", "floor", "ceil", "round"}
)
"""Elementwise ops that cost less to compute again than to keep."""
