"""The importer's table, one file per family. Importing this package fills it."""

from anyshape.frontend.aten.entries import (
    composites,
    control,
    convolutions,
    elementwise,
    indexing,
    layers,
    movement,
    products,
    reductions,
    sizes,
    sources,
)

__all__ = [
    "composites",
    "control",
    "convolutions",
    "elementwise",
    "indexing",
    "layers",
    "movement",
    "products",
    "reductions",
    "sizes",
    "sources",
]
