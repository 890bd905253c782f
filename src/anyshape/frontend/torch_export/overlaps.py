"""Writes of what lies in the same memory as what is read: `z[1:] += z[:-1]`.

Eager mode refuses many of them, and of the others the result depends on the order of its loops:
what is read may have been written before. torch's functionalization takes all elements as they were
before. Such writes are refused. At the example's sizes elements are counted one by one; where there
may be an overlap at other sizes, a condition excludes these: a distance along one axis.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice, product
from typing import Any

import numpy as np
import sympy as typed_sympy  # pyright: ignore[reportMissingTypeStubs]  torch brings it
import torch
from torch._C._functorch import is_functorch_wrapped_tensor
from torch.utils import _pytree as pytree

from anyshape.base.errors import TraceError
from anyshape.frontend.aten.walk import location_of, target_name
from anyshape.frontend.torch_export.export_errors import code_at
from anyshape.frontend.torch_export.guards import Guard
from anyshape.frontend.torch_export.questions import Questions

sympy: Any = typed_sympy
Sizes = Mapping[Any, int]

_WHOLE = frozenset(
    f"aten.{name}_.{overload}"
    for name, overload in (
        ("index_put", "default"), ("index_add", "default"), ("index_copy", "default"),
        ("masked_scatter", "default"), ("scatter", "src"), ("scatter_add", "default"),
        ("scatter_reduce", "two"), ("scatter", "reduce"), ("index_reduce", "default"),
    )
)  # fmt: skip
"""Ops that read all of an operand for each element that they write."""

_TRIED, _MOST = (0, 1, 2, 3, 4, 7), 400
"""Sizes at which a possible overlap is looked for, and at how many of them together."""


def exclude_overlaps(program: Any, questions: Questions) -> None:
    """Refuses writes that overlap what they read at the example's sizes, and asks that they do not
    at others."""
    for node in program.graph.nodes:
        for written, read, elementwise in _pairs(node):
            if not _is_known(written) or not _is_known(read):
                continue
            condition = _Overlap(node, _View.of(written), _View.of(read), elementwise).excluded()
            if condition is not None:
                guard = Guard(condition, location_of(node), str(condition))
                questions.asked.setdefault(str(condition), guard)


def _pairs(node: Any) -> Iterator[tuple[Any, Any, bool]]:
    """What an op writes, with itself, as its elements may share memory, and with each operand in
    the same memory; and whether it reads of these the elements at the places that it writes."""
    schema = getattr(node.target, "_schema", None)
    if schema is None or not schema.is_mutable or node.target.namespace != "aten":
        return
    given = dict(zip((each.name for each in schema.arguments), node.args, strict=False))
    given |= node.kwargs
    for argument in schema.arguments:
        written = given.get(argument.name)
        is_written = argument.alias_info is not None and argument.alias_info.is_write
        if not is_written or not isinstance(written, torch.fx.Node):
            continue
        value = written.meta.get("val")
        if _has_strides(value):
            yield value, value, True
            others = {name: each for name, each in given.items() if name != argument.name}
            leaves = (
                each for each in pytree.tree_leaves(others) if isinstance(each, torch.fx.Node)
            )
            read = (each.meta.get("val") for each in leaves)
            whole = target_name(node) in _WHOLE
            yield from ((value, each, not whole) for each in read if _share(value, each))


def _has_strides(value: Any) -> bool:
    """Whether it is a tensor in memory that can be asked for: what `vmap` goes over is none."""
    is_dense = isinstance(value, torch.Tensor) and value.layout is torch.strided
    return is_dense and not is_functorch_wrapped_tensor(value)


def _share(value: Any, other: Any) -> bool:
    if not _has_strides(other):
        return False
    return _memory(value) == _memory(other) and value.dtype == other.dtype


def _memory(tensor: Any) -> int:
    """What tells the memory of a tensor from others: torch gives these no addresses."""
    return tensor.untyped_storage()._cdata


def _is_known(tensor: Any) -> bool:
    """Whether sizes say where its elements are; an offset that torch leaves open is none."""
    return all(
        number.node.hint is not None
        for number in (tensor.storage_offset(), *tensor.shape, *tensor.stride())
        if hasattr(number, "node")
    )


@dataclass(frozen=True)
class _View:
    """Where the elements of a tensor are: expressions of sizes, and the numbers of the example."""

    offset: Any
    shape: tuple[Any, ...]
    strides: tuple[Any, ...]
    example: tuple[int, ...]  # of all of them
    room: Any  # of the memory, in elements

    @classmethod
    def of(cls, tensor: Any) -> _View:
        shape, strides = tuple(tensor.shape), tuple(tensor.stride())
        numbers = (tensor.storage_offset(), *shape, *strides)
        offset, *rest = map(_expression, numbers)
        rank = len(shape)
        room = _expression(tensor.untyped_storage().nbytes()) / tensor.element_size()
        example = tuple(map(_hint, numbers))
        return cls(offset, tuple(rest[:rank]), tuple(rest[rank:]), example, room)

    @property
    def numbers(self) -> tuple[Any, ...]:
        return (self.offset, *self.shape, *self.strides)

    def places(self, numbers: tuple[int, ...]) -> Any:
        """The place of each element in memory."""
        rank = len(self.shape)
        offset, shape, strides = numbers[0], numbers[1 : rank + 1], numbers[rank + 1 :]
        found = np.array(offset)
        for size, stride in zip(shape, strides, strict=True):
            found = found[..., None] + np.arange(max(size, 0)) * stride
        return found


def _expression(number: Any) -> Any:
    return number.node.expr if hasattr(number, "node") else sympy.Integer(int(number))


def _hint(number: Any) -> int:
    return int(number.node.hint) if hasattr(number, "node") else int(number)


@dataclass(frozen=True)
class _Overlap:
    """A write, and an operand of it in the same memory."""

    node: Any
    written: _View
    read: _View
    elementwise: bool  # what is written at a place depends on the operand there alone

    def excluded(self) -> Any:
        """What is to hold of sizes so that nothing is read where something else is written."""
        one, other = self.written, self.read
        repeats = any(stride == 0 for stride in one.strides)
        if self.elementwise and not repeats and one.numbers == other.numbers:
            return None
        if self._is_at(one.example, other.example):
            raise self._refusal()
        overlapping = [sizes for sizes in self._tried() if self._overlaps(sizes)]
        if not overlapping:
            return None
        for condition in self._distances():
            if not any(bool(condition.subs(sizes)) for sizes in overlapping):
                return condition
        raise self._refusal()

    def _is_at(self, one: tuple[int, ...], other: tuple[int, ...]) -> bool:
        written, read = self.written.places(one), self.read.places(other)
        if not written.size or not read.size:
            return False
        if len(np.unique(written)) < written.size:
            return True
        if self.elementwise:
            try:
                read = np.broadcast_to(read, written.shape)
            except ValueError:
                return False  # torch refuses it, or it is no operand of each element
        owner = np.full(max(written.max(), read.max()) + 1, -1)
        owner[written.ravel()] = np.arange(written.size)
        met = owner[read.ravel()]
        same = np.arange(read.size) if self.elementwise else -1
        return bool(((met >= 0) & (met != same)).any())

    def _tried(self) -> Iterator[Sizes]:
        """Small sizes, all together."""
        numbers = (*self.written.numbers, *self.read.numbers)
        symbols = sorted({s for number in numbers for s in number.free_symbols}, key=str)
        combined = islice(product(_TRIED, repeat=len(symbols)), _MOST) if symbols else ()
        return (dict(zip(symbols, sizes, strict=True)) for sizes in combined)

    def _overlaps(self, sizes: Sizes) -> bool:
        """At sizes at which there are such views."""
        one, other = (
            tuple(int(number.subs(sizes)) for number in view.numbers)
            for view in (self.written, self.read)
        )
        room = self.written.room.subs(sizes)
        ends = (view.places(at) for view, at in ((self.written, one), (self.read, other)))
        return all(end.max(initial=0) < room for end in ends) and self._is_at(one, other)

    def _distances(self) -> Iterator[Any]:
        """How far apart two views of one form are along one axis, at least, as the example has
        it; of a view that repeats its elements, that it does not."""
        one, other = self.written, self.read
        for size, stride, number in zip(one.shape, one.strides, one.example[1:], strict=False):
            if stride == 0 and number <= 1:
                yield sympy.Le(size, 1)
        if one.strides != other.strides:
            return
        rank = len(one.shape)
        order = sorted(range(rank), key=lambda axis: -one.example[1 + rank + axis])
        for axis in order:
            distance = sympy.cancel((other.offset - one.offset) / one.strides[axis])
            if one.strides[axis] != 0 and distance.as_numer_denom()[1] == 1:
                behind = other.example[0] >= one.example[0]
                size = (one if behind else other).shape[axis]
                yield sympy.Ge(distance if behind else -distance, size)

    def _refusal(self) -> TraceError:
        location = location_of(self.node)
        problem = (
            "some elements of what it writes and what it reads lie at the same place in memory"
        )
        fix = "write into a clone, or read from one: z[1:] += z[:-1].clone()"
        return TraceError("the model", f"{problem}{code_at(location)}", fix, location)
