"""The importer's table, one file per family. Importing this package fills it."""

from anyshape.frontend.torch_export.entries import (
    control,
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
    "control",
    "elementwise",
    "indexing",
    "layers",
    "movement",
    "products",
    "reductions",
    "sizes",
    "sources",
]
