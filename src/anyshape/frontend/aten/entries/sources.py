"""Tensors from nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from anyshape.frontend.aten.calls import Call, NoEntryError, entry
from anyshape.frontend.builder import source
from anyshape.frontend.builder.axes import Size
from anyshape.frontend.builder.convert import ArrayLike, cast_to
from anyshape.frontend.builder.tensor import Tensor
from anyshape.ir.types import i64
from anyshape.sym import Dim


@entry("aten.full.default")
def full(call: Call, size: Sequence[Size], value: ArrayLike, **_: Any) -> Tensor:
    return source.full(tuple(size), call.held(value))


@entry("aten.full_like.default")
def full_like(call: Call, x: Tensor, value: ArrayLike, **_: Any) -> Tensor:
    return source.full(x.shape, call.held(value))


@entry("aten.scalar_tensor.default")
def scalar_tensor(call: Call, value: ArrayLike, **_: Any) -> Tensor:
    return call.held(value)


@entry("aten.empty.memory_format", "aten.empty_permuted.default", "aten.zeros.default")
def empty(call: Call, size: Sequence[Size], *_: Any, **__: Any) -> Tensor:
    """Memory without values has zeros here: what a program reads of it must not vary."""
    return source.zeros(tuple(size), call.dtype)


@entry("aten.ones.default")
def ones(call: Call, size: Sequence[Size], **_: Any) -> Tensor:
    return source.ones(tuple(size), call.dtype)


@entry("aten.arange.start_step")
def arange(call: Call, start: Any, end: Any, step: Any = 1, **_: Any) -> Tensor:
    whole = isinstance(step, (int, float)) and step == int(step)
    if whole and all(isinstance(bound, (int, Dim)) for bound in (start, end)):
        return call.operand(source.arange(start, end, int(step)))  # wraps, as torch's does
    if any(isinstance(bound, (Dim, Tensor)) for bound in (start, end, step)):
        raise NoEntryError
    count = -int(-(end - start) // step)
    return cast_to(source.iota(count, 0, i64), call.dtype) * step + start
