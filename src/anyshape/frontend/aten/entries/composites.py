"""Ops that torch itself writes with others: programs have them as long as torch has not decomposed
them. Each is its definition in terms of the builder's functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from anyshape.frontend.aten.calls import TABLE, Call, entry
from anyshape.frontend.aten.entries import elementwise, sources
from anyshape.frontend.builder import elementwise as ew
from anyshape.frontend.builder import movement as mv
from anyshape.frontend.builder import source
from anyshape.frontend.builder.assemble import repeat
from anyshape.frontend.builder.axes import Size, normal_axis
from anyshape.frontend.builder.convert import ArrayLike, cast_to
from anyshape.frontend.builder.tensor import Tensor
from anyshape.frontend.builder.tracer import active
from anyshape.sym import Dim, product

# --- types and copies -----------------------------------------------------------------------------


@entry(
    "aten.to.dtype",
    "aten.to.dtype_layout",
    "aten.to.device",
    "aten.to.other",
    "aten.type_as.default",
    "aten.contiguous.default",
    "aten.detach_.default",
)
def converted(call: Call, x: Tensor, *_: Any, **__: Any) -> Tensor:
    """Another dtype; devices and layouts are none of ours."""
    return call.operand(x)


@entry("aten.dropout.default", "aten.feature_dropout.default")
def dropout(call: Call, x: Tensor, p: float, train: bool) -> Tensor:
    """In evaluation nothing is dropped."""
    if train and p > 0:
        raise active().refuse("dropout in training mode", "call model.eval() before compiling")
    return x


# --- elements -------------------------------------------------------------------------------------

for _name, _function in {"and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor"}.items():
    TABLE[f"aten.__{_name}__.Tensor"] = TABLE[f"aten.{_function}.Tensor"]
    TABLE[f"aten.__{_name}__.Scalar"] = TABLE[f"aten.{_function}.Scalar"]
for _name, _function in {"multiply": "mul", "subtract": "sub", "divide": "div"}.items():
    TABLE[f"aten.{_name}.Tensor"] = TABLE[f"aten.{_function}.Tensor"]
for _name, _function in {"max": "maximum", "min": "minimum"}.items():
    TABLE[f"aten.{_name}.other"] = TABLE[f"aten.{_function}.default"]


@entry("aten.where.ScalarOther", "aten.where.ScalarSelf", "aten.where.Scalar")
def where(call: Call, condition: Tensor, x: ArrayLike, y: ArrayLike) -> Tensor:
    return elementwise.where(call, condition, x, y)


@entry("aten.masked_fill.Scalar", "aten.masked_fill.Tensor")
def masked_fill(call: Call, x: Tensor, mask: Tensor, value: ArrayLike) -> Tensor:
    return ew.where(mask, call.held(value), x)


@entry("aten.clamp_min.default", "aten.clamp_min.Tensor")
def clamp_min(call: Call, x: Tensor, least: ArrayLike) -> Tensor:
    return elementwise.clamp(call, x, least)


@entry("aten.clamp_max.default", "aten.clamp_max.Tensor")
def clamp_max(call: Call, x: Tensor, greatest: ArrayLike) -> Tensor:
    return elementwise.clamp(call, x, None, greatest)


# --- sources --------------------------------------------------------------------------------------


@entry("aten.arange.default")
def arange(call: Call, end: Any, **options: Any) -> Tensor:
    return sources.arange(call, 0, end, **options)


@entry("aten.arange.start")
def arange_from(call: Call, start: Any, end: Any, **options: Any) -> Tensor:
    return sources.arange(call, start, end, **options)


@entry("aten.zeros_like.default", "aten.empty_like.default")
def zeros_like(call: Call, x: Tensor, **_: Any) -> Tensor:
    """Memory without values has zeros here: what a program reads of it must not vary."""
    return source.zeros(x.shape, call.dtype)


@entry("aten.ones_like.default")
def ones_like(call: Call, x: Tensor, **_: Any) -> Tensor:
    return source.ones(x.shape, call.dtype)


@entry("aten.new_zeros.default", "aten.new_empty.default")
def new_zeros(call: Call, x: Tensor, size: Sequence[Size], **_: Any) -> Tensor:
    return source.zeros(tuple(size), call.dtype)


@entry("aten.new_ones.default")
def new_ones(call: Call, x: Tensor, size: Sequence[Size], **_: Any) -> Tensor:
    return source.ones(tuple(size), call.dtype)


@entry("aten.new_full.default")
def new_full(call: Call, x: Tensor, size: Sequence[Size], value: ArrayLike, **_: Any) -> Tensor:
    return source.full(tuple(size), call.held(value))


# --- shapes ---------------------------------------------------------------------------------------


@entry("aten.reshape_as.default", "aten.view_as.default")
def reshape_as(call: Call, x: Tensor, other: Tensor) -> Tensor:
    return mv.reshape(x, other.shape)


@entry("aten.expand_as.default")
def expand_as(call: Call, x: Tensor, other: Tensor) -> Tensor:
    return mv.broadcast_to(x, other.shape)


@entry("aten.numpy_T.default")
def reversed_axes(call: Call, x: Tensor) -> Tensor:
    return mv.transpose(x)


@entry("aten.mT.default")
def matrix_transpose(call: Call, x: Tensor) -> Tensor:
    return mv.matrix_transpose(x)


@entry("aten.flatten.using_ints")
def flatten(call: Call, x: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """A number becomes one element."""
    if x.ndim == 0:
        return mv.reshape(x, (1,))
    first, last = normal_axis(start_dim, x.ndim), normal_axis(end_dim, x.ndim)
    together = product(x.shape[first : last + 1])
    return mv.reshape(x, (*x.shape[:first], together, *x.shape[last + 1 :]))


@entry("aten.unflatten.int")
def unflatten(call: Call, x: Tensor, dim: int, sizes: Sequence[Size]) -> Tensor:
    """-1 is what is left for one of the sizes."""
    axis = normal_axis(dim, x.ndim)
    given = [Dim.of(size) for size in sizes if size != -1]
    rest = x.shape[axis] // product(given) if len(given) < len(sizes) else Dim.of(1)
    parts = tuple(rest if size == -1 else Dim.of(size) for size in sizes)
    return mv.reshape(x, (*x.shape[:axis], *parts, *x.shape[axis + 1 :]))


@entry("aten.repeat_interleave.self_int")
def repeat_interleave(
    call: Call, x: Tensor, repeats: Size, dim: int | None = None, *, output_size: Any = None
) -> Tensor:
    """Each element several times in a row."""
    if dim is None:
        return repeat(mv.ravel(x), repeats, 0)
    return repeat(x, repeats, normal_axis(dim, x.ndim))


@entry("aten.eye.default", "aten.eye.m")
def eye(call: Call, n: Size, m: Size | None = None, **_: Any) -> Tensor:
    rows = mv.reshape(source.arange(0, n, 1), (-1, 1))
    columns = source.arange(0, n if m is None else m, 1)
    return cast_to(rows == columns, call.dtype)


@entry("aten.tril.default")
def tril(call: Call, x: Tensor, diagonal: int | Dim = 0) -> Tensor:
    return source.tril(x, diagonal)


@entry("aten.triu.default")
def triu(call: Call, x: Tensor, diagonal: int | Dim = 0) -> Tensor:
    return source.triu(x, diagonal)


# --- in place -------------------------------------------------------------------------------------

for _name in ("masked_fill_.Scalar", "relu_.default", "add_.Tensor", "mul_.Tensor"):
    TABLE[f"aten.{_name}"] = TABLE[f"aten.{_name.replace('_.', '.')}"]  # see `fresh_writes`
