"""What each op means, in NumPy and nothing of ours: the oracle of the fuzzer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.fuzz.against_numpy.meaning.elementwise import FUNCTIONS
from tests.fuzz.against_numpy.meaning.layers import LAYERS
from tests.fuzz.against_numpy.meaning.movement import MOVES
from tests.fuzz.against_numpy.meaning.products import PRODUCTS
from tests.fuzz.against_numpy.meaning.reductions import FUNCTIONS_OF_AXES
from tests.fuzz.against_numpy.meaning.selection import SELECTIONS
from tests.fuzz.against_numpy.meaning.special import SPECIAL

MEANINGS: dict[str, Callable[..., Any]] = {
    **FUNCTIONS,
    **FUNCTIONS_OF_AXES,
    **MOVES,
    **PRODUCTS,
    **LAYERS,
    **SELECTIONS,
    **SPECIAL,
}
