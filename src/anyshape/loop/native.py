"""Native kernels: what the functions that the runtime brings along mean.

    sort_<dtype>         (outer, length, inner, kept, descending; x, values, places)
    sort_parts_<dtype>   (…, parts, part_length; x, part_values, part_places)
    merge_parts_<dtype>  (…, parts, part_length, ranges; x, part_values, part_places,
                          values, places)
    first_outside_<dtype> (count, number, size, from_end, live; x, earlier, offence)
    worklist_<dtype>     (tokens, choices, groups, capacity; keys, order, ends, position, source)
    part_counts_<dtype>  (size, parts, length; x, counts)
    compact_places_<dtype> (size, parts, length, rank, axes…; x, counts, places, count)
    compact_rows_<dtype> (size, parts, length, width; mask, x, counts, rows, count)
    nms_<dtype>          (batch, classes, count, most; boxes, order, candidates, threshold,
                          kept, counts)
    fft_<dtype>          (outer, length, inner, inverse, scaling, lines, vector; x, y)
    search_<dtype>       (rows, length, count, right, shared; ordered, x, places)
    rfft_<dtype>, irfft_<dtype> (outer, length, scaling, lines, vector; x, y)

The middle axis of x[outer, length, inner] is sorted; the first `kept` elements of each row, and
where they were, are stored. Equal elements keep their order, and NaN is greater than any number.
Parts of a row are sorted by themselves, [parts, outer*inner, …], and then merged; where there are
none, merging is sorting.

`first_outside` writes the first element of x[count] that is outside of its range: `ops/checks.py`.

`worklist` sorts rows by their groups: `ops/worklist.py`.

Of compaction, kernels look at `size` elements as one axis, and write the first `count` rows of
their results: `ops/compact.py`. A row of `rows` has `width` elements. `nms` keeps boxes:
`ops/nms.py`.

`search` finds places in sorted rows: `ops/search.py`.

`fft` is a Fourier transform of the middle axis of x[outer, length, inner, 2], `rfft` one of real
x[outer, length], and `irfft` gives such: `ops/fourier.py`. A task has `lines` of them; `vector` are
the bytes of a vector that may be used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np

from anyshape.ir.types import Array, DType
from anyshape.ops.checks import first_offence
from anyshape.ops.compact import counts_of_parts
from anyshape.ops.fourier import real_inverse, real_transformed, transformed
from anyshape.ops.nms import suppressed
from anyshape.ops.search import places_in
from anyshape.ops.sort import sorted_parts, sorted_places
from anyshape.ops.worklist import rows_by_group


def sort_name(dtype: DType) -> str:
    return f"sort_{dtype}"


def sort_parts_name(dtype: DType) -> str:
    return f"sort_parts_{dtype}"


def merge_parts_name(dtype: DType) -> str:
    return f"merge_parts_{dtype}"


def check_name(dtype: DType) -> str:
    return f"first_outside_{dtype}"


def part_counts_name(dtype: DType) -> str:
    return f"part_counts_{dtype}"


def compact_places_name(dtype: DType) -> str:
    return f"compact_places_{dtype}"


def compact_rows_name(dtype: DType) -> str:
    return f"compact_rows_{dtype}"


def worklist_name(dtype: DType) -> str:
    return f"worklist_{dtype}"


def nms_name(dtype: DType) -> str:
    return f"nms_{dtype}"


def fft_name(dtype: DType) -> str:
    return f"fft_{dtype}"


def rfft_name(dtype: DType) -> str:
    return f"rfft_{dtype}"


def irfft_name(dtype: DType) -> str:
    return f"irfft_{dtype}"


def search_name(dtype: DType) -> str:
    return f"search_{dtype}"


SCALINGS: Final = ("none", "length", "root")
"""By number, as transforms are given them."""


def run_native(name: str, buffers: Sequence[Array], sizes: Sequence[int]) -> None:
    """The definition of a native kernel, on flat arrays."""
    run = next((run for start, run in _RUNS.items() if name.startswith(start)), None)
    assert run is not None, f"the runtime has no '{name}'"
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


def _first_outside(buffers: Sequence[Array], sizes: Sequence[int]) -> None:
    _, number, size, from_end, live = sizes
    x, earlier, offence = buffers
    offence[:] = first_offence(x, earlier, number, size, bool(from_end), live)


def _part_counts(buffers: Sequence[Array], sizes: Sequence[int]) -> None:
    _, parts, length = sizes
    x, counts = buffers
    counts[:] = counts_of_parts(x, parts, length)


def _compact_places(buffers: Sequence[Array], sizes: Sequence[int]) -> None:
    size, _, _, rank, *axes = sizes
    x, _, places, count = buffers
    found = np.argwhere(x.reshape(axes) != 0)
    places.reshape(size, rank)[: len(found)] = found
    count[:] = len(found)


def _compact_rows(buffers: Sequence[Array], sizes: Sequence[int]) -> None:
    size, _, _, width = sizes
    mask, x, _, rows, count = buffers
    found = x.reshape(size, width)[mask != 0]
    rows.reshape(size, width)[: len(found)] = found
    count[:] = len(found)


def _worklist(buffers: Sequence[Array], sizes: Sequence[int]) -> None:
    (keys, *results), (tokens, choices, groups, capacity) = buffers, sizes
    made = rows_by_group(keys.reshape(tokens, choices), groups, capacity)
    for result, array in zip(results, made, strict=True):
        result[:] = array.ravel()


def _nms(buffers: Sequence[Array], sizes: Sequence[int]) -> None:
    batch, classes, count, most = sizes
    boxes, order, candidates, threshold, kept, counts = buffers
    each = batch, classes, count
    found = suppressed(
        boxes.reshape(batch, count, 4), order.reshape(each), candidates.reshape(each[:2]),
        float(threshold[0]), most,
    )  # fmt: skip
    kept[:], counts[:] = (array.ravel() for array in found)


def _fft(buffers: Sequence[Array], sizes: Sequence[int]) -> None:
    (x, y), (outer, length, inner, inverse, scaling, *_) = buffers, sizes
    numbers = x.reshape(outer, length, inner, 2)
    y[:] = transformed(numbers, 1, bool(inverse), SCALINGS[scaling]).ravel()


def _rfft(buffers: Sequence[Array], sizes: Sequence[int]) -> None:
    (x, y), (outer, length, scaling, *_) = buffers, sizes
    y[:] = real_transformed(x.reshape(outer, length), SCALINGS[scaling]).ravel()


def _irfft(buffers: Sequence[Array], sizes: Sequence[int]) -> None:
    (x, y), (outer, length, scaling, *_) = buffers, sizes
    halves = x.reshape(outer, length // 2 + 1, 2)
    y[:] = real_inverse(halves, length, SCALINGS[scaling]).ravel()


def _search(buffers: Sequence[Array], sizes: Sequence[int]) -> None:
    (ordered, x, places), (rows, length, count, right, shared) = buffers, sizes
    own = ordered.reshape(1 if shared else rows, length)
    places[:] = places_in(own, x.reshape(rows, count), bool(right)).ravel()


_RUNS: Final[Mapping[str, Callable[[Sequence[Array], Sequence[int]], None]]] = {
    "sort_parts_": _sort_parts,
    "sort_": _sort,
    "merge_parts_": _sort,
    "first_outside_": _first_outside,
    "part_counts_": _part_counts,
    "compact_places_": _compact_places,
    "compact_rows_": _compact_rows,
    "worklist_": _worklist,
    "nms_": _nms,
    "fft_": _fft,
    "rfft_": _rfft,
    "irfft_": _irfft,
    "search_": _search,
}
"""By how the names begin, the longer beginnings first."""
