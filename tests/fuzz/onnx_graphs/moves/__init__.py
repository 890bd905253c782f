"""All moves, each with a weight: how often it is tried."""

from tests.fuzz.onnx_graphs.generator import Move
from tests.fuzz.onnx_graphs.moves.contrib import CONTRIB
from tests.fuzz.onnx_graphs.moves.elementwise import ELEMENTWISE
from tests.fuzz.onnx_graphs.moves.indexing import INDEXING
from tests.fuzz.onnx_graphs.moves.layers import LAYERS
from tests.fuzz.onnx_graphs.moves.movement import MOVEMENT
from tests.fuzz.onnx_graphs.moves.quantized import QUANTIZED
from tests.fuzz.onnx_graphs.moves.recurrent import RECURRENT
from tests.fuzz.onnx_graphs.moves.reductions import REDUCTIONS
from tests.fuzz.onnx_graphs.moves.regions import REGIONS
from tests.fuzz.onnx_graphs.moves.sequences import SEQUENCES
from tests.fuzz.onnx_graphs.moves.sizes import SIZES
from tests.fuzz.onnx_graphs.moves.windows import WINDOWS

MOVES: tuple[tuple[Move, int], ...] = tuple(
    (move, weight)
    for moves, weight in (
        (ELEMENTWISE, 12), (REDUCTIONS, 12), (MOVEMENT, 8), (INDEXING, 6), (SIZES, 10),
        (WINDOWS, 8), (LAYERS, 7), (QUANTIZED, 6), (CONTRIB, 4), (REGIONS, 10), (SEQUENCES, 8),
        (RECURRENT, 6),
    )
    for move in moves
)  # fmt: skip
