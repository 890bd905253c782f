"""The ops: one file per family, one entry per op. Importing this package fills the registry."""

from anyshape.ops import (
    attention,
    compound,
    control,
    dot,
    elementwise,
    indexing,
    kernel,
    late,
    movement,
    random,
    reduce,
    source,
)

__all__ = [
    "attention",
    "compound",
    "control",
    "dot",
    "elementwise",
    "indexing",
    "kernel",
    "late",
    "movement",
    "random",
    "reduce",
    "source",
]
