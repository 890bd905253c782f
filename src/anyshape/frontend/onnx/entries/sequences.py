"""Sequences and optionals: lists of tensors, whose lengths are part of the program.

A sequence is a Python list, an optional is what it holds, or `EMPTY`. So positions and lengths must
be known while the model is read; where an input decides them, there is a program for each value.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from anyshape.frontend.builder.assemble import concat, split_sizes, stack
from anyshape.frontend.builder.axes import normal_axis
from anyshape.frontend.builder.convert import asarray
from anyshape.frontend.builder.movement import squeeze
from anyshape.frontend.builder.tensor import Tensor
from anyshape.frontend.builder.tracer import active
from anyshape.frontend.onnx.calls import EMPTY, Body, Call, TypeOf, entry
from anyshape.frontend.onnx.dtypes import dtype_of_code
from anyshape.frontend.onnx.numbers import integers_of
from anyshape.ir.types import bool_, i64
from anyshape.sym import Dim

Sequence = list[Any]


def _position(call: Call, where: Tensor | None, length: int, last: int) -> int:
    """From the front; `last` is what no position stands for, and the greatest there is."""
    if where is None:
        return last
    (found,) = integers_of(where, "position in a sequence")
    place = found + length if found < 0 else found
    if not 0 <= place <= last:
        raise call.invalid(f"has the position {found} in a sequence of {length}")
    return place


@entry("SequenceConstruct", since=11)
def sequence_construct(call: Call, *elements: Tensor) -> Sequence:
    return list(elements)


@entry("SequenceEmpty", since=11)
def sequence_empty(call: Call, *, dtype: int = 1) -> Sequence:
    dtype_of_code(dtype, str(call))
    return []


@entry("SequenceAt", since=11)
def sequence_at(call: Call, sequence: Sequence, position: Tensor) -> Tensor:
    return sequence[_position(call, position, len(sequence), len(sequence) - 1)]


@entry("SequenceInsert", since=11)
def sequence_insert(
    call: Call, sequence: Sequence, tensor: Tensor, position: Tensor | None = None
) -> Sequence:
    place = _position(call, position, len(sequence), len(sequence))
    return [*sequence[:place], tensor, *sequence[place:]]


@entry("SequenceErase", since=11)
def sequence_erase(call: Call, sequence: Sequence, position: Tensor | None = None) -> Sequence:
    place = _position(call, position, len(sequence), len(sequence) - 1)
    return [*sequence[:place], *sequence[place + 1 :]]


@entry("SequenceLength", since=11)
def sequence_length(call: Call, sequence: Sequence) -> Tensor:
    return asarray(len(sequence), i64)


@entry("ConcatFromSequence", since=11)
def concat_from_sequence(call: Call, sequence: Sequence, *, axis: int, new_axis: int = 0) -> Tensor:
    if not sequence:
        raise call.invalid("has a sequence without elements")
    return stack(sequence, axis) if new_axis else concat(sequence, axis)


@entry("SplitToSequence", since=11)
def split_to_sequence(
    call: Call, x: Tensor, split: Tensor | None = None, *, axis: int = 0, keepdims: int = 1
) -> Sequence:
    """Into parts of these sizes, of one size, or of size 1, which may leave the axis out."""
    place = normal_axis(axis, x.ndim)
    sizes = _part_sizes(x, split, x.shape[place])
    parts: Sequence = split_sizes(x, sizes, place)
    if split is None and not keepdims:
        return [squeeze(part, place) for part in parts]
    return parts


def _part_sizes(x: Tensor, split: Tensor | None, whole: Dim) -> list[int]:
    numbers = (1,) if split is None else integers_of(split, "sizes of parts")
    if split is not None and split.ndim:
        return list(numbers)
    if whole.constant is None:
        problem = f"a sequence of as many parts as {whole}"
        raise active().refuse(problem, "give the axis a fixed size, or the sizes of parts")
    size = numbers[0]
    return [min(size, whole.constant - begin) for begin in range(0, whole.constant, size)]


@entry("SequenceMap", since=17)
def sequence_map(call: Call, sequence: Sequence, *others: Any, body: Body) -> tuple[Sequence, ...]:
    """The body for each element; of other sequences too, while tensors are the same for all."""
    rows = [
        body(each, *(other[n] if isinstance(other, list) else other for other in others))
        for n, each in enumerate(sequence)
    ]
    columns = zip(*rows, strict=True) if rows else ((),) * len(body.outputs)
    return tuple(list(column) for column in columns)


# --- optionals ------------------------------------------------------------------------------------


@entry("Optional", since=15)
def optional(call: Call, held: Any = None, *, type: TypeOf | None = None) -> Any:
    return EMPTY if held is None else held


@entry("OptionalHasElement", since=15)
def optional_has_element(call: Call, held: Any = None) -> Tensor:
    return asarray(np.array(held is not None and held is not EMPTY), bool_)


@entry("OptionalGetElement", since=15)
def optional_get_element(call: Call, held: Any) -> Any:
    if held is EMPTY:
        raise call.invalid("takes the element of an empty optional")
    return held
