"""Moves of the generator: each gives one instruction that NumPy can read too."""

from __future__ import annotations

from tests.fuzz.against_numpy.generator import Move
from tests.fuzz.against_numpy.moves.elementwise import ELEMENTWISE
from tests.fuzz.against_numpy.moves.movement import MOVEMENT
from tests.fuzz.against_numpy.moves.products import LAYERS, PRODUCTS
from tests.fuzz.against_numpy.moves.reductions import REDUCING
from tests.fuzz.against_numpy.moves.selection import SELECTION

MOVES: tuple[Move, ...] = (
    *ELEMENTWISE, *REDUCING, *MOVEMENT, *PRODUCTS, *LAYERS, *SELECTION,
)  # fmt: skip
