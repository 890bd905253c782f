"""Products with constants that are not as large as the matrix they stand for.

A row that was repeated for each step of the depth was packed as one row: the kernel read what lay
behind it. Random programs drew it once in many thousands, so it is asked for here by name.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import anyshape as ash
from anyshape.ir.types import DType

Array = np.ndarray[Any, Any]
RNG = np.random.default_rng(3)
ROW = RNG.integers(-3, 4, 70)
MATRIX = RNG.integers(-3, 4, (70, 70))

VIEWS: dict[str, tuple[Array, Callable[[Any, Any], Any]]] = {
    "row": (ROW, lambda c, to: to(c, (70, 70))),
    "row of few": (ROW[:7], lambda c, to: to(c, (7, 7))),
    "row of many": (ROW[:7], lambda c, to: to(c, (200, 7))),
    "column": (ROW[:, None], lambda c, to: to(c, (70, 70))),
    "one row": (ROW[None], lambda c, to: to(c, (70, 70))),
    "row turned": (ROW, lambda c, to: to(c, (70, 70)).mT),
    "slice": (MATRIX, lambda c, to: c[3:10]),
    "slice of a row": (ROW, lambda c, to: to(c, (70, 70))[:, 2:35]),
    "batch": (MATRIX, lambda c, to: to(c, (3, 70, 70))),
    "batch of rows": (ROW, lambda c, to: to(c, (3, 70, 70))),
    "batch of columns": (MATRIX[:3, :, None], lambda c, to: to(c, (3, 70, 70))),
    "number": (np.array(2), lambda c, to: to(c, (70, 70))),
}
"""A constant, and a view of it, in words that NumPy and `ash` share."""


@pytest.mark.parametrize("dtype", [ash.f32, ash.f16, ash.i8], ids=str)
@pytest.mark.parametrize("name", VIEWS)
@pytest.mark.parametrize("first", [False, True], ids=["second", "first"])
def test_like_numpy(name: str, dtype: DType, first: bool) -> None:
    array, view = VIEWS[name]
    stored = array.astype(dtype.numpy)
    exact: Array = view(array, np.broadcast_to)
    depth: int = exact.shape[-1 if first else -2]

    @ash.jit
    def product(x: dtype["n", depth]):  # type: ignore[valid-type]
        operand: ash.Tensor = view(ash.asarray(stored), ash.broadcast_to)
        return operand @ x.mT if first else x @ operand

    for rows in (1, 0, 2, 7, 33):
        x = RNG.integers(-1, 2, (rows, depth))
        wanted = exact @ x.T if first else x @ exact
        np.testing.assert_array_equal(product(x.astype(dtype.numpy)), wanted.astype(dtype.numpy))
