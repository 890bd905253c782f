"""Graph regions to loop nests. Files mirror `ops/`: an op's index rule is the entry of its name.

Importing this package fills the table of index rules.
"""

from anyshape.lower import (
    conv,
    cumulative,
    dot,
    elementwise,
    indexing,
    movement,
    parts,
    random,
    reduce,
    source,
    windows,
)
from anyshape.lower.context import Lowering

__all__ = [
    "Lowering",
    "conv",
    "cumulative",
    "dot",
    "elementwise",
    "indexing",
    "movement",
    "parts",
    "random",
    "reduce",
    "source",
    "windows",
]
