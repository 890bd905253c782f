"""The importer's table, one file per family. Importing this package fills it."""

from anyshape.frontend.aten.entries import (
    complexes,
    composites,
    control,
    convolutions,
    cumulative,
    elementwise,
    indexing,
    layers,
    movement,
    numbers,
    padding,
    products,
    reductions,
    selection,
    sizes,
    sources,
)

__all__ = [
    "complexes",
    "composites",
    "control",
    "convolutions",
    "cumulative",
    "elementwise",
    "indexing",
    "layers",
    "movement",
    "numbers",
    "padding",
    "products",
    "reductions",
    "selection",
    "sizes",
    "sources",
]
