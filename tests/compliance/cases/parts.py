"""Long axes in parts: each part by itself, element by element."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np
from tests.compliance.case import Collection, emit
from tests.compliance.tolerance import ANY_ZERO, accumulated

from anyshape.ir import Builder, Value
from anyshape.ir.types import f32, f64, i32, i64

CASES = Collection()

STEPS: dict[str, tuple[Callable[[Any, Any], Any], float]] = {
    "add": (lambda a, b: a + b, 0),
    "mul": (lambda a, b: a * b, 1),
    "maximum": (max, -math.inf),
    "minimum": (min, math.inf),
}


def totals(combine: str, axes: tuple[int, ...], length: int, flat: bool) -> Callable[..., Any]:
    """Rows as lists of elements, cut into pieces."""
    step, start = STEPS[combine]

    def expect(x: Any) -> Any:
        last = tuple(range(-len(axes), 0))
        rows = np.moveaxis(x, axes, last)
        kept = rows.shape[: -len(axes)]
        inner = 1 if flat else math.prod(rows.shape[rows.ndim - len(axes) + 1 :])
        divided = math.prod(rows.shape[len(kept) :]) // max(1, inner) if inner else 0
        if not flat:
            divided = rows.shape[len(kept)]
        parts = divided // length + 1
        found = np.empty((parts, *kept))
        for place in np.ndindex(*kept):
            elements = rows[place].reshape(divided, inner)
            for part in range(parts):
                inside = elements[part * length : (part + 1) * length].ravel().tolist()
                found[(part, *place)] = reduce(step, inside, start)
        return found

    return expect


for _combine in STEPS:
    CASES.add(
        "part_reduce", f"{_combine} of rows", ("f32[batch, seq]",),
        emit("part_reduce", combine=_combine, axes=(1,), parts="seq//4 + 1", length=4, dtype=f32),
        ("f32[seq//4 + 1, batch]",), totals(_combine, (1,), 4, False), tolerance=accumulated(64),
    )  # fmt: skip
CASES.add(
    "part_reduce", "columns in a wider type", ("f32[seq, batch]",),
    emit("part_reduce", combine="add", axes=(0,), parts="seq//3 + 1", length=3, dtype=f64),
    ("f64[seq//3 + 1, batch]",), totals("add", (0,), 3, False), tolerance=accumulated(64),
)  # fmt: skip
CASES.add(
    "part_reduce", "two axes as one", ("f32[batch, seq, 5]",),
    emit("part_reduce", combine="add", axes=(1, 2), parts="seq*5//7 + 1", length=7, dtype=f32,
         flat=True),
    ("f32[(5*seq)//7 + 1, batch]",), totals("add", (1, 2), 7, True), tolerance=accumulated(64),
)  # fmt: skip
CASES.add(
    "part_reduce", "the first of two axes", ("i64[seq, batch, 3]",),
    emit("part_reduce", combine="maximum", axes=(0, 2), parts="seq//2 + 1", length=2, dtype=i64),
    ("i64[seq//2 + 1, batch]",),
    lambda x: _least_where_empty(totals("maximum", (0, 2), 2, False)(x)), tolerance=ANY_ZERO,
)  # fmt: skip


def _least_where_empty(found: Any) -> Any:
    least = np.iinfo(np.int64).min
    return np.array([least if v == -math.inf else int(v) for v in found.ravel()]).reshape(
        found.shape
    )


def _extremum_and_index(combine: str, axis: int, length: int) -> Callable[..., Value]:
    """As passes make them: of each part the extremum, and where it is."""

    def make(b: Builder, x: Value) -> Value:
        parts = {"parts": f"{x.tensor.shape[axis]}//{length} + 1", "length": length}
        dtype = x.tensor.dtype
        extrema = b.emit("part_reduce", x, combine=combine, axes=(axis,), dtype=dtype, **parts)
        return b.emit("part_index", x, extrema, axis=axis, **parts)

    return make


def _first_indices(combine: str, axis: int, length: int) -> Callable[..., Any]:
    def expect(x: Any) -> Any:
        rows = np.moveaxis(x, axis, 0)
        found = np.full((len(rows) // length + 1, *rows.shape[1:]), np.iinfo(np.int64).max)
        find = np.argmax if combine == "maximum" else np.argmin
        for part in range(len(found)):
            inside = rows[part * length : (part + 1) * length]
            if len(inside):
                found[part] = part * length + find(inside, axis=0)
        return found

    return expect


for _combine, _axis, _shape, _kept in (
    ("maximum", 1, "f32[batch, seq]", ", batch"),
    ("minimum", 0, "f16[seq, batch]", ", batch"),
    ("maximum", 0, "i64[seq]", ""),
    ("minimum", 1, "bool[batch, seq, 3]", ", batch, 3"),
):
    _length = 3 + _axis
    CASES.add(
        "part_index", f"{_combine} along {_axis} of {_shape}", (_shape,),
        _extremum_and_index(_combine, _axis, _length),
        (f"i64[seq//{_length} + 1{_kept}]",),
        _first_indices(_combine, _axis, _length),
    )  # fmt: skip


def _products(letters: str, pairs: Any, length: int) -> Callable[..., Any]:
    """Sums of products over pieces of the contracted axes, by einsum over each piece."""

    def depth_first(x: Any, axes: tuple[int, ...]) -> Any:
        depth = math.prod(x.shape[axis] for axis in axes)
        moved = np.moveaxis(x, axes, range(len(axes)))
        return moved.reshape(depth, *moved.shape[len(axes) :])

    def expect(*operands: Any) -> Any:
        lhs, rhs = map(depth_first, operands, pairs)
        pieces = [slice(p * length, (p + 1) * length) for p in range(len(lhs) // length + 1)]
        return np.stack([np.einsum(letters, lhs[piece], rhs[piece]) for piece in pieces])

    return expect


for _label, _lhs, _rhs, _pairs, _parts, _length, _kept, _letters in (
    ("two vectors", "f32[seq]", "f32[seq]", ((0,), (0,)), "seq//4 + 1", 4, "", "k,k->"),
    ("rows along the depth", "f32[batch, seq]", "f32[seq, 5]", ((1,), (0,)), "seq//3 + 1", 3,
     ", batch, 5", "ka,kb->ab"),
    ("columns along the depth", "f32[seq, 3]", "f32[seq, batch]", ((0,), (0,)), "seq//5 + 1", 5,
     ", 3, batch", "ka,kb->ab"),
    ("two axes as one", "f16[seq, 3, 2]", "f16[seq, 3, batch]", ((0, 1), (0, 1)), "3*seq//4 + 1",
     4, ", 2, batch", "ka,kb->ab"),
):  # fmt: skip
    CASES.add(
        "part_dot", _label, (_lhs, _rhs),
        emit("part_dot", contract=_pairs, parts=_parts, length=_length, dtype=f32),
        (f"f32[{_parts.replace('3*seq', '(3*seq)')}{_kept}]",),
        _products(_letters, _pairs, _length), tolerance=accumulated(64),
    )  # fmt: skip
CASES.add(
    "part_dot", "of batches", ("i32[batch, seq, 3]", "i32[batch, 4, seq]"),
    emit("part_dot", contract=((1,), (2,)), batch=((0,), (0,)), parts="seq//4 + 1", length=4,
         dtype=i32),
    ("i32[seq//4 + 1, batch, 3, 4]",), _products("kba,kbc->bac", ((1,), (2,)), 4),
)  # fmt: skip


def _walk(
    combine: str, axis: int, exclusive: bool, reverse: bool, length: int
) -> Callable[..., Value]:
    """Totals and running totals, as passes make them."""

    def make(b: Builder, x: Value) -> Value:
        parts = {"parts": f"{x.tensor.shape[axis]}//{length} + 1", "length": length}
        given = b.emit("part_reduce", x, combine=combine, axes=(axis,), dtype=f64, **parts)
        ways = {"exclusive": exclusive, "reverse": reverse}
        return b.emit("part_cumulative", x, given, combine=combine, axis=axis, **ways, **parts)

    return make


def _walked(combine: str, axis: int, exclusive: bool, reverse: bool) -> Callable[..., Any]:
    step, start = STEPS[combine]

    def expect(x: Any) -> Any:
        rows = np.moveaxis(x, axis, -1)
        found = np.empty_like(rows)
        for place in np.ndindex(rows.shape[:-1]):
            total = start
            order = range(rows.shape[-1])
            for i in reversed(order) if reverse else order:
                before, total = total, step(total, float(rows[(*place, i)]))
                found[(*place, i)] = before if exclusive else total
        return np.moveaxis(found, -1, axis)

    return expect


for _combine, _axis, _exclusive, _reverse, _shape in (
    ("add", 1, False, False, "[batch, seq]"),
    ("add", 0, True, True, "[seq, batch]"),
    ("mul", 0, True, False, "[seq]"),
    ("maximum", 1, False, True, "[batch, seq, 3]"),
    ("minimum", 0, True, True, "[seq, 2]"),
):
    _ways = (_combine, _axis, _exclusive, _reverse)
    CASES.add(
        "part_cumulative", f"{_combine} along {_axis} of {_shape}", (f"f32{_shape}",),
        _walk(*_ways, 3 + _axis), (f"f32{_shape}",), _walked(*_ways),
        tolerance=accumulated(512, ulps=1024),
    )  # fmt: skip


for _parts, _taken in ((0, 0), (2, 1)):
    CASES.add(
        "staged", f"{_parts} parts", ("f32[batch]", "f32[batch]"), emit("staged", parts=_parts),
        ("f32[batch]",), lambda x, y, taken=_taken: (x, y)[taken],
    )  # fmt: skip
