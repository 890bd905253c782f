"""Control flow: cond, while, scan, with closed regions.

What a body uses of its surroundings is passed in: operands are the values the op works on followed
by captures, and a region has one parameter for each. Sizes need no capture: dims may use the
symbols around the region.

A size that differs between the branches of `cond`, or from one iteration of `while` to the next,
is not known before it runs, so the op bears a late axis for it. In a `while` such a size is a
symbol of the region itself: the parameter is `f32[n, 8]` with an `n` of its own, bound anew each
iteration.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from anyshape.ir.attrs import Attrs
from anyshape.ir.context import ShapeContext
from anyshape.ir.node import Region
from anyshape.ir.opdef import Call, OpDef, Results, Signature, register
from anyshape.ir.types import Array, Shape, TensorType, Type, bool_
from anyshape.ir.verify import provably_same
from anyshape.sym import Answer, Dim, Equal, FactScope, Symbol, maximum

PREDICATE = bool_[()]


def _inside(ctx: ShapeContext, region: Region) -> FactScope:
    """The facts that hold in a region."""
    return FactScope.of(region.facts, parent=ctx.scope)


def check_params(ctx: ShapeContext, label: str, region: Region, wanted: Sequence[Type]) -> None:
    if not provably_same(_inside(ctx, region), region.params, wanted):
        raise ctx.refuse_operand(f"region '{label}' takes {region.params}, given {tuple(wanted)}")


def _check_predicate(ctx: ShapeContext, what: str, type_: Type) -> None:
    if type_ != PREDICATE:
        raise ctx.refuse_operand(f"{what} must be {PREDICATE}, got {type_}")


# --- cond -----------------------------------------------------------------------------------------


def cond_type(
    ctx: ShapeContext, types: Sequence[Type], attrs: Attrs, regions: Sequence[Region], /
) -> tuple[Type, ...]:
    _check_predicate(ctx, "the predicate", types[0])
    for label, region in zip(ctx.op.regions, regions, strict=True):
        check_params(ctx, label, region, types[1:])
    then, other = regions
    if len(then.results) != len(other.results):
        counts = f"{len(then.results)} and {len(other.results)}"
        raise ctx.refuse_operand(f"the branches give {counts} results")
    local = then.born | other.born
    pairs = zip(then.result_types, other.result_types, strict=True)
    return tuple(_merge(ctx, left, right, local) for left, right in pairs)


def _merge(ctx: ShapeContext, left: Type, right: Type, local: frozenset[Symbol]) -> Type:
    if not isinstance(left, TensorType) or not isinstance(right, TensorType):
        if left != right:
            raise ctx.refuse_operand(f"the branches give {left} and {right}")
        return left
    if left.dtype != right.dtype or left.rank != right.rank:
        raise ctx.refuse_operand(f"the branches give {left} and {right}")
    dims = zip(left.shape, right.shape, strict=True)
    return left.with_shape(tuple(_merge_dim(ctx, a, b, local) for a, b in dims))


def _merge_dim(ctx: ShapeContext, left: Dim, right: Dim, local: frozenset[Symbol]) -> Dim:
    if (left.symbols | right.symbols) & local:
        return ctx.late_axis(None)
    if ctx.proves(Equal(left, right)):
        return left
    return ctx.late_axis(maximum(left, right))


def _cond(call: Call[Attrs]) -> Results:
    return call.run(0 if call.args[0] else 1, call.args[1:])


cond = register(
    OpDef(
        "cond",
        Signature(("predicate", "captures*")),
        Attrs,
        type_rule=cond_type,
        reference=_cond,
        regions=("then", "else"),
        doc="Runs one of two regions on the captures.",
    )
)


# --- while ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class WhileAttrs(Attrs):
    """The first `carried` operands change from iteration to iteration; the rest are captures."""

    carried: int


def while_type(
    ctx: ShapeContext, types: Sequence[Type], attrs: WhileAttrs, regions: Sequence[Region], /
) -> tuple[Type, ...]:
    condition, body = regions
    if not 0 <= attrs.carried <= len(types):
        raise ctx.refuse_attribute("carried", f"is {attrs.carried} of {len(types)} operands")
    if condition.params != body.params or len(body.params) != len(types):
        raise ctx.refuse_operand("condition and body must take the operands of the op")
    if len(condition.results) != 1:
        raise ctx.refuse_operand("the condition must give one result")
    _check_predicate(ctx, "the result of the condition", condition.result_types[0])
    if len(body.results) != attrs.carried:
        given = f"{len(body.results)} results for {attrs.carried} carried values"
        raise ctx.refuse_operand(f"the body gives {given}")
    _check_captures(ctx, body, types[attrs.carried :], attrs.carried)
    scope = _inside(ctx, body)
    carried = zip(types[: attrs.carried], body.params, body.result_types, strict=False)
    return tuple(_carried(ctx, scope, *three) for three in carried)


def _check_captures(ctx: ShapeContext, body: Region, captures: Sequence[Type], first: int) -> None:
    if not provably_same(_inside(ctx, body), body.params[first:], captures):
        raise ctx.refuse_operand(f"captures are {body.params[first:]}, given {tuple(captures)}")


def _carried(ctx: ShapeContext, scope: FactScope, init: Type, param: Type, result: Type) -> Type:
    """The type after the loop, from the type before, inside and after an iteration."""
    if not isinstance(init, TensorType) or not isinstance(param, TensorType):
        if not init == param == result:
            raise ctx.refuse_operand(f"a carried value is {init}, {param} and {result}")
        return init
    if not (
        isinstance(result, TensorType)
        and init.dtype == param.dtype == result.dtype
        and init.rank == param.rank == result.rank
    ):
        raise ctx.refuse_operand(f"a carried {param} starts as {init} and continues as {result}")
    dims = zip(init.shape, param.shape, result.shape, strict=True)
    return init.with_shape(tuple(_carried_dim(ctx, scope, *three) for three in dims))


def _carried_dim(ctx: ShapeContext, scope: FactScope, init: Dim, param: Dim, result: Dim) -> Dim:
    starts = scope.proves(Equal(init, param)) is Answer.TRUE
    stays = scope.proves(Equal(param, result)) is Answer.TRUE
    if starts and stays:
        return init
    if param.symbol is None or starts:
        problem = f"a carried size is {param} but continues as {result}"
        raise ctx.refuse_operand(f"{problem}: give it a symbol of the region")
    return ctx.late_axis(None)


def _while(call: Call[WhileAttrs]) -> Results:
    carried: tuple[Array, ...] = call.args[: call.attrs.carried]
    captures = call.args[call.attrs.carried :]
    while call.run(0, (*carried, *captures))[0]:
        carried = call.run(1, (*carried, *captures))
    return carried


while_ = register(
    OpDef(
        "while",
        Signature(("values*",)),
        WhileAttrs,
        type_rule=while_type,
        reference=_while,
        regions=("condition", "body"),
        doc="Runs the body on the carried values as long as the condition holds for them.",
    )
)


# --- scan -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ScanAttrs(Attrs):
    """Operands are `carried` states, then `scanned` sequences of `length`, then captures.

    The body gives the next states and then one element of each result sequence.
    """

    carried: int
    scanned: int
    length: Dim
    reverse: bool = False


def scan_type(
    ctx: ShapeContext, types: Sequence[Type], attrs: ScanAttrs, regions: Sequence[Region], /
) -> tuple[Type, ...]:
    (body,) = regions
    states, sequences = attrs.carried, attrs.carried + attrs.scanned
    if min(attrs.carried, attrs.scanned) < 0 or sequences > len(types):
        raise ctx.refuse_attribute("carried", f"and scanned exceed {len(types)} operands")
    ctx.require(attrs.length >= 0, "the length must not be negative")
    elements = [_element(ctx, type_, attrs.length) for type_ in types[states:sequences]]
    check_params(ctx, "body", body, [*types[:states], *elements, *types[sequences:]])
    if not provably_same(_inside(ctx, body), body.result_types[:states], types[:states]):
        given = f"{body.result_types[:states]}, not {tuple(types[:states])}"
        raise ctx.refuse_operand(f"the body continues the states as {given}")
    stacked = [_stacked(ctx, type_, attrs.length, body) for type_ in body.result_types[states:]]
    return (*types[:states], *stacked)


def _element(ctx: ShapeContext, type_: Type, length: Dim) -> TensorType:
    if not isinstance(type_, TensorType) or type_.rank == 0:
        raise ctx.refuse_operand(f"cannot scan over {type_}")
    ctx.require_equal(type_.shape[0], length, "a scanned sequence must have the scan's length")
    return type_.with_shape(type_.shape[1:])


def _stacked(ctx: ShapeContext, type_: Type, length: Dim, body: Region) -> TensorType:
    if not isinstance(type_, TensorType) or type_.symbols & body.born:
        raise ctx.refuse_operand(f"cannot stack results of {type_}: sizes may differ")
    shape: Shape = (length, *type_.shape)
    return type_.with_shape(shape)


def _scan(call: Call[ScanAttrs]) -> Results:
    attrs, length = call.attrs, int(call.attrs.length)
    states = call.args[: attrs.carried]
    sequences = call.args[attrs.carried : attrs.carried + attrs.scanned]
    captures = call.args[attrs.carried + attrs.scanned :]
    stacked = [_empty(type_) for type_ in call.types[attrs.carried :]]
    for step in reversed(range(length)) if attrs.reverse else range(length):
        results = call.run(0, (*states, *(xs[step] for xs in sequences), *captures))
        states = results[: attrs.carried]
        for whole, part in zip(stacked, results[attrs.carried :], strict=True):
            whole[step] = part
    return (*states, *stacked)


def _empty(type_: Type) -> Array:
    assert isinstance(type_, TensorType)
    return np.empty([int(dim) for dim in type_.shape], type_.dtype.numpy)


scan = register(
    OpDef(
        "scan",
        Signature(("values*",)),
        ScanAttrs,
        type_rule=scan_type,
        reference=_scan,
        regions=("body",),
        doc="A loop over the first axis of sequences, with states.",
    )
)
