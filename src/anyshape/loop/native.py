"""Native kernels: what the functions that the runtime brings along mean.

    sort_<dtype>         (outer, length, inner, kept, descending; x, values, places)
    sort_parts_<dtype>   (…, parts, part_length; x, part_values, part_places)
    merge_parts_<dtype>  (…, parts, part_length, ranges; x, part_values, part_places,
                          values, places)

The middle axis of x[outer, length, inner] is sorted; the first `kept` elements of each row, and
where they were, are stored. Equal elements keep their order, and NaN is greater than any number.
Parts of a row are sorted by themselves, [parts, outer*inner, …], and then merged; where there are
none, merging is sorting.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from anyshape.ir.types import Array, DType
from anyshape.ops.sort import sorted_parts, sorted_places


def sort_name(dtype: DType) -> str:
    return f"sort_{dtype}"


def sort_parts_name(dtype: DType) -> str:
    return f"sort_parts_{dtype}"


def merge_parts_name(dtype: DType) -> str:
    return f"merge_parts_{dtype}"


def run_native(name: str, buffers: Sequence[Array], sizes: Sequence[int]) -> None:
    """The definition of a native kernel, on flat arrays."""
    assert name.startswith(("sort_", "merge_parts_")), f"the runtime has no '{name}'"
    run = _sort_parts if name.startswith("sort_parts_") else _sort
    run(buffers, sizes)


def _sort(buffers: Sequence[Array], sizes: Sequence[int]) -> None:
    outer, length, inner, kept, descending = sizes[:5]
    x, (values, places) = buffers[0], buffers[-2:]
    rows = x.reshape(outer, length, inner)
    found = sorted_places(rows, 1, bool(descending))[:, :kept]
    places.reshape(outer, kept, inner)[:] = found
    values.reshape(outer, kept, inner)[:] = np.take_along_axis(rows, found, 1)


def _sort_parts(buffers: Sequence[Array], sizes: Sequence[int]) -> None:
    outer, length, inner, kept, descending, parts, part_length = sizes
    x, values, places = buffers
    rows = np.moveaxis(x.reshape(outer, length, inner), 1, -1).reshape(outer * inner, length)
    found = sorted_parts(rows, kept, bool(descending), parts, part_length)
    values[:], places[:] = (array.ravel() for array in found)
