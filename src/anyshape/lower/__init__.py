"""Graph regions to loop nests. Files mirror `ops/`: an op's index rule is the entry of its name.

Importing this package fills the table of index rules.
"""

from anyshape.lower import dot, elementwise, indexing, movement, reduce, source

__all__ = ["dot", "elementwise", "indexing", "movement", "reduce", "source"]
