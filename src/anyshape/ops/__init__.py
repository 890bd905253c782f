"""The ops: one file per family, one entry per op. Importing this package fills the registry."""

from anyshape.ops import (
    attention,
    compound,
    control,
    cumulative,
    dot,
    elementwise,
    indexing,
    kernel,
    late,
    movement,
    parts,
    random,
    reduce,
    scatter,
    sort,
    source,
)

__all__ = [
    "attention",
    "compound",
    "control",
    "cumulative",
    "dot",
    "elementwise",
    "indexing",
    "kernel",
    "late",
    "movement",
    "parts",
    "random",
    "reduce",
    "scatter",
    "sort",
    "source",
]
