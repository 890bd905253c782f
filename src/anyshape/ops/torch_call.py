"""Calls of torch's own kernels, for what no other op computes: they run on the host.

The node says all that the call needs: the overload by name, the arguments as text, and what torch's
meta kernel said of the results. What the kernel gives is compared with that at each call, so a meta
kernel that is right for the example's sizes alone leads to an error and never to a wrong result.

`torch_call` is a function of its operands. `torch_effect` is one of its surroundings too (torch's
generator of random numbers, a custom op's own state): it takes a token and gives one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from anyshape.base.errors import HostResultError
from anyshape.ir.attrs import Attrs, map_dims
from anyshape.ir.context import ShapeContext
from anyshape.ir.node import Node, Region
from anyshape.ir.opdef import Call, OpDef, Signature, Trait, register
from anyshape.ir.types import TOKEN, Array, DType, Shape, TensorType, TokenType, Type, dtype_of
from anyshape.ops.torch_arguments import Arguments
from anyshape.ops.torch_kernels import call_torch
from anyshape.sym import Dim


@dataclass(frozen=True)
class TorchCallAttrs(Attrs):
    """An overload of torch, its arguments (see `torch_arguments`), and its results: a size that is
    none is for the call to decide. `sizes` are those among the arguments."""

    target: str
    arguments: str
    dtypes: tuple[DType, ...]
    shapes: tuple[tuple[Dim | None, ...], ...]
    sizes: tuple[Dim, ...] = ()


def _result_types(
    ctx: ShapeContext, operands: Sequence[Type], attrs: TorchCallAttrs
) -> tuple[Type, ...]:
    for index, type_ in enumerate(operands):
        if not isinstance(type_, TensorType):
            raise ctx.refuse_operand(f"operand x{index} is a {type_}, expected a tensor")
    _check_names(ctx, len(operands), attrs)
    if len(attrs.dtypes) != len(attrs.shapes):
        raise ctx.refuse_attribute("shapes", f"has {len(attrs.shapes)} items, and dtypes another")
    known = map_dims(attrs, ctx.scope.resolve)
    shapes = (_shape(ctx, shape) for shape in known.shapes)
    return tuple(TensorType(*pair) for pair in zip(attrs.dtypes, shapes, strict=True))


def _check_names(ctx: ShapeContext, operands: int, attrs: TorchCallAttrs) -> None:
    known = {f"x{i}" for i in range(operands)} | {f"n{i}" for i in range(len(attrs.sizes))}
    try:
        unknown = set(Arguments.read(attrs.arguments).names()) - known
    except ValueError as error:
        raise ctx.refuse_attribute("arguments", str(error)) from None
    if unknown:
        names = ", ".join(sorted(unknown))
        raise ctx.refuse_attribute("arguments", f"has {names}, which no operand or size is")


def _shape(ctx: ShapeContext, shape: tuple[Dim | None, ...]) -> Shape:
    dims = tuple(ctx.late_axis(None) if dim is None else dim for dim in shape)
    ctx.require_sizes(dims)
    return dims


def _call_type(
    ctx: ShapeContext, types: Sequence[Type], attrs: TorchCallAttrs, regions: Sequence[Region], /
) -> tuple[Type, ...]:
    return _result_types(ctx, types, attrs)


def _effect_type(
    ctx: ShapeContext, types: Sequence[Type], attrs: TorchCallAttrs, regions: Sequence[Region], /
) -> tuple[Type, ...]:
    if not isinstance(types[0], TokenType):
        raise ctx.refuse_operand(f"takes a token first, got {types[0]}")
    return (*_result_types(ctx, types[1:], attrs), TOKEN)


def _results(call: Call[TorchCallAttrs], operands: Sequence[Array]) -> tuple[Array, ...]:
    attrs = call.attrs
    arrays = call_torch(attrs.target, attrs.arguments, operands, [int(n) for n in attrs.sizes])
    declared = [type_ for type_ in call.types if isinstance(type_, TensorType)]
    arrays = [*map(_without_elements, declared, arrays), *arrays[len(declared) :]]
    if len(arrays) != len(declared) or not all(map(_fits, declared, arrays)):
        found = [dtype_of(array, attrs.target)[array.shape] for array in arrays]
        raise HostResultError(attrs.target, _text(declared), _text(found))
    return tuple(arrays)


def _without_elements(type_: TensorType, array: Array) -> Array:
    """Some kernels give another dtype where there are no elements."""
    return array if array.size else array.astype(type_.dtype.numpy)


def _fits(type_: TensorType, array: Array) -> bool:
    """Late dims of a type are still symbolic."""
    sizes = zip(type_.shape, array.shape, strict=False)
    same = all(dim.constant in (None, size) for dim, size in sizes)
    return same and len(type_.shape) == array.ndim and type_.dtype.numpy == array.dtype


def _text(types: Sequence[TensorType]) -> str:
    return ", ".join(map(str, types)) or "nothing"


def _call(call: Call[TorchCallAttrs]) -> tuple[Array, ...]:
    return _results(call, call.args)


def _effect(call: Call[TorchCallAttrs]) -> tuple[Array, ...]:
    return (*_results(call, call.args[1:]), call.args[0])


torch_call = register(
    OpDef(
        "torch_call",
        Signature(("xs*",)),
        TorchCallAttrs,
        type_rule=_call_type,
        reference=_call,
        doc="What an op of torch computes, by torch's own kernel.",
    )
)

torch_effect = register(
    OpDef(
        "torch_effect",
        Signature(("token", "xs*")),
        TorchCallAttrs,
        type_rule=_effect_type,
        reference=_effect,
        traits=frozenset({Trait.EFFECT}),
        doc="As `torch_call`, for ops that depend on more than their operands: in a stated order.",
    )
)


def op_name(node: Node) -> str:
    """What users know an op by: that of torch, where torch is called."""
    return node.attrs.target if isinstance(node.attrs, TorchCallAttrs) else node.op.name
