"""Functions of ragged axes: sequences that lie end to end, and offsets that say where each is.

Ops that leave rows to themselves (elementwise, norms, products with weights) need nothing of this:
the packed axis is one like others. What follows is what sequences are to each other: nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from anyshape.frontend.builder.assemble import concat
from anyshape.frontend.builder.checks import check_values
from anyshape.frontend.builder.convert import ArrayLike, asarray, cast_to, floating
from anyshape.frontend.builder.elementwise import where
from anyshape.frontend.builder.movement import gather
from anyshape.frontend.builder.pytree import Branch, Structure, join, leaves_along
from anyshape.frontend.builder.ragged_value import Ragged
from anyshape.frontend.builder.search import searchsorted
from anyshape.frontend.builder.source import arange, full, zeros
from anyshape.frontend.builder.tracer import active
from anyshape.ir.checks import ValueCheck
from anyshape.ir.types import i64
from anyshape.sym import Dim

if TYPE_CHECKING:
    from anyshape.frontend.builder.tensor import Tensor


# --- where rows are -------------------------------------------------------------------------------


def segment_ids(offsets: ArrayLike, rows: Dim | int) -> Tensor:
    """For each of so many rows the sequence that it is of; empty ones have none."""
    ends = cast_to(asarray(offsets), i64)[1:]
    return searchsorted(ends, arange(rows), right=True)


def segment_positions(offsets: ArrayLike, rows: Dim | int) -> Tensor:
    """For each of so many rows its place in its sequence."""
    starts = cast_to(asarray(offsets), i64)
    return arange(rows) - gather(starts, segment_ids(starts, rows))


def segment_lengths(offsets: ArrayLike) -> Tensor:
    given = cast_to(asarray(offsets), i64)
    return given[1:] - given[:-1]


# --- rows of a sequence together ------------------------------------------------------------------


def ragged_attention(
    q: ArrayLike, k: ArrayLike, v: ArrayLike, offsets: ArrayLike, scale: float | None = None
) -> Tensor:
    """`attention` in which a query sees the keys of its own sequence: q, k and v are [heads, rows,
    width] or [batch, heads, rows, width], where rows are those of all sequences."""
    tensors = floating(q, k, v)
    given = asarray(offsets)
    ids = segment_ids(given, tensors[0].shape[-2])
    return active().emit("ragged_attention", *tensors, given, ids, scale=scale)


def segment_sum(x: ArrayLike, offsets: ArrayLike) -> Tensor:
    """The sum of the rows of each sequence; 0 for an empty one."""
    return _combined(asarray(x), asarray(offsets), 0, "add")


def segment_max(x: ArrayLike, offsets: ArrayLike) -> Tensor:
    """The greatest of each sequence's rows, column by column: the least number of the dtype for an
    empty one."""
    operand = asarray(x)
    return _combined(operand, asarray(offsets), operand.dtype.lowest, "max")


def segment_mean(x: ArrayLike, offsets: ArrayLike) -> Tensor:
    """The mean of the rows of each sequence; NaN for an empty one, as in NumPy."""
    (operand,) = floating(x)
    lengths = cast_to(segment_lengths(offsets), operand.dtype)
    return segment_sum(operand, offsets) / _beside(lengths, operand)


def segment_first(x: ArrayLike, offsets: ArrayLike) -> Tensor:
    """The first row of each sequence; zeros for an empty one, which has none."""
    operand, given = asarray(x), asarray(offsets)
    is_first = _beside(segment_positions(given, operand.shape[0]) == 0, operand)
    first = segment_max(where(is_first, operand, operand.dtype.lowest), given)
    return where(_beside(segment_lengths(given) > 0, operand), first, zeros((), operand.dtype))


def _combined(x: Tensor, offsets: Tensor, start: float, combine: str) -> Tensor:
    count = offsets.shape[0] - 1
    into = full((count, *x.shape[1:]), start, x.dtype)
    ids = segment_ids(offsets, x.shape[0])
    return active().emit("scatter", into, ids, x, axis=0, combine=combine)


def _beside(numbers: Tensor, x: Tensor) -> Tensor:
    """A number for each sequence, so that it broadcasts along the other axes of rows."""
    return numbers.reshape(numbers.shape[0], *[1] * (x.ndim - 1))


# --- arguments ------------------------------------------------------------------------------------


def check_ragged(structure: Structure, arguments: object) -> None:
    """Every ragged argument has offsets that fit its values; those with one axis have the same."""
    first: dict[object, Tensor] = {}
    for path, given in _ragged(structure, "", iter(leaves_along(structure, arguments))):
        name = join(path, "offsets")
        check_offsets(name, given.values.shape[0], given.offsets)
        axis = given.values.shape[0], given.offsets.shape[0]
        if axis in first:
            differ = given.offsets != first[axis]
            check = ValueCheck("same_offsets", name, None, differ.shape)
            check_values(differ, Dim.of(1), check, Dim.of(1))
        first.setdefault(axis, given.offsets)


def check_offsets(name: str, rows: Dim, offsets: Tensor) -> None:
    """A call ends if the offsets do not ascend from 0 to the number of rows."""
    given = cast_to(offsets, i64)
    wrong = concat([given[:1] != 0, given[1:] < given[:-1], given[-1:] != rows])
    check = ValueCheck("offsets", name, None, wrong.shape)
    check_values(wrong, Dim.of(1), check, Dim.of(1))


def _ragged(
    structure: Structure, path: str, leaves: Iterator[object]
) -> Iterator[tuple[str, Ragged]]:
    """Those in the containers of the arguments, which are built like the structure."""
    if not isinstance(structure, Branch):
        next(leaves)
    elif structure.kind is Ragged:
        yield path, Ragged(next(leaves), next(leaves))
    else:
        for key, child in zip(structure.keys, structure.children, strict=True):
            yield from _ragged(child, join(path, key), leaves)
