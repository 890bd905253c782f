"""The importer's table, one file per family. Importing this package fills it."""

from anyshape.frontend.onnx.entries import (
    activations,
    control,
    convolutions,
    elementwise,
    indexing,
    layers,
    movement,
    pools,
    quantized,
    recurrent,
    reductions,
    resizes,
    sources,
)

__all__ = [
    "activations",
    "control",
    "convolutions",
    "elementwise",
    "indexing",
    "layers",
    "movement",
    "pools",
    "quantized",
    "recurrent",
    "reductions",
    "resizes",
    "sources",
]
