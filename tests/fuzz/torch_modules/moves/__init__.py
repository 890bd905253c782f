"""All moves, each with a weight: how often it is tried."""

from tests.fuzz.torch_modules.generator import Move
from tests.fuzz.torch_modules.moves.branches import BRANCHES
from tests.fuzz.torch_modules.moves.layers import LAYERS
from tests.fuzz.torch_modules.moves.movement import MOVEMENT
from tests.fuzz.torch_modules.moves.sizes import SIZES
from tests.fuzz.torch_modules.moves.tensors import TENSORS
from tests.fuzz.torch_modules.moves.updates import UPDATES

MOVES: tuple[tuple[Move, int], ...] = tuple(
    (move, weight)
    for moves, weight in (
        (TENSORS, 4), (MOVEMENT, 4), (LAYERS, 3), (SIZES, 5), (BRANCHES, 3), (UPDATES, 2),
    )
    for move in moves
)  # fmt: skip
