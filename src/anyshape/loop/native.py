"""Native kernels: what the functions that the runtime brings along mean.

    sort_<dtype>    (outer, length, inner, kept, descending; x, values, places)

The middle axis of x[outer, length, inner] is sorted; the first `kept` elements of each row, and
where they were, are stored. Equal elements keep their order, and NaN is greater than any number.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from anyshape.ir.types import Array, DType
from anyshape.ops.order import sorted_places


def sort_name(dtype: DType) -> str:
    return f"sort_{dtype}"


def run_native(name: str, buffers: Sequence[Array], sizes: Sequence[int]) -> None:
    """The definition of a native kernel, on flat arrays."""
    assert name.startswith("sort_"), f"the runtime has no '{name}'"
    outer, length, inner, kept, descending = sizes
    x, values, places = buffers
    rows = x.reshape(outer, length, inner)
    found = sorted_places(rows, 1, bool(descending))[:, :kept]
    places.reshape(outer, kept, inner)[:] = found
    values.reshape(outer, kept, inner)[:] = np.take_along_axis(rows, found, 1)
