"""Laws of ops that only place elements: reshape, transpose, broadcast, reverse, concat, pad.

Whether sizes agree is asked of the facts, so `reshape` to a shape that is written differently but
provably the same disappears too.
"""

from __future__ import annotations

from typing import cast

from anyshape.ir.build import Builder
from anyshape.ir.node import Value
from anyshape.ir.rewrite import Match, Refusal, Rule, Var, attr, op
from anyshape.ops.source import IotaAttrs
from anyshape.passes.rules.common import keeps_type
from anyshape.sym import Dim, Equal

x, fill = Var("x"), Var("fill")

# --- reshape, broadcast, transpose, reverse -------------------------------------------------------


def permutes_nothing(found: Match) -> Refusal | None:
    perm = found.ints("perm")
    if perm == tuple(range(len(perm))):
        return None
    return Refusal(f"{list(perm)} moves an axis")


def compose_permutations(found: Match, builder: Builder) -> Value:
    first, second = found.ints("first"), found.ints("second")
    return builder.emit("transpose", found["x"], perm=[first[axis] for axis in second])


def moves_ones_only(found: Match) -> Refusal | None:
    shape = found["x"].tensor.shape
    order = [axis for axis in found.ints("perm") if shape[axis] != 1]
    return None if order == sorted(order) else Refusal("it moves axes other than 1")


def as_reshape(found: Match, builder: Builder) -> Value:
    return builder.emit("reshape", found["x"], shape=found.root.tensor.shape)


def broadcast_transposed(found: Match, builder: Builder) -> Value | Refusal:
    given, perm = found["x"], found.ints("perm")
    if given.tensor.rank != len(perm):
        return Refusal("the broadcast adds axes")
    turned = builder.emit("transpose", given, perm=perm)
    return builder.emit("broadcast", turned, shape=found.root.tensor.shape)


def counted_in_shape(found: Match, builder: Builder) -> Value | Refusal:
    """Positions along the only axis that is not 1, under another shape."""
    node, shape = found.root.node.operands[0].node, found.root.tensor.shape
    attrs = node.attrs_as(IotaAttrs)
    axes = [axis for axis, dim in enumerate(shape) if dim != 1] or [*range(len(shape))][:1]
    if len(attrs.shape) != 1 or len(axes) != 1 or shape[axes[0]] != attrs.shape[0]:
        return Refusal("it has other axes")
    return builder.emit("iota", shape=shape, axis=axes[0], dtype=attrs.dtype)


def reverse_the_difference(found: Match, builder: Builder) -> Value:
    axes = set(found.ints("first")) ^ set(found.ints("second"))
    return builder.emit("reverse", found["x"], axes=sorted(axes)) if axes else found["x"]


# --- concat, pad ----------------------------------------------------------------------------------


def concat_flat(found: Match, builder: Builder) -> Value | Refusal:
    """Operands that are concats along the same axis are replaced by their operands."""
    node = found.root.node
    parts: list[Value] = []
    for value in node.operands:
        same = value.node.op is node.op and value.node.attrs == node.attrs
        parts.extend(value.node.operands if same else (value,))
    if len(parts) == len(node.operands):
        return Refusal("no operand is a concat along the same axis")
    return builder.node(node.op, parts, node.attrs).result()


def concat_not_empty(found: Match, builder: Builder) -> Value | Refusal:
    """Operands that provably have size 0 along the axis add nothing; one of them must stay."""
    node, axis = found.root.node, cast(int, found.attrs["axis"])
    parts = [value for value in node.operands if not _is_empty(found, value.tensor.shape[axis])]
    if len(parts) == len(node.operands):
        return Refusal("no operand is known to be empty")
    return builder.node(node.op, parts or node.operands[:1], node.attrs).result()


def _is_empty(found: Match, size: Dim) -> bool:
    return found.proves(Equal(size, Dim.of(0)))


def pad_once(found: Match, builder: Builder) -> Value:
    def total(side: str) -> list[Dim]:
        pairs = zip(found.dims(f"inner_{side}"), found.dims(side), strict=True)
        return [inner + outer for inner, outer in pairs]

    return builder.emit("pad", found["x"], found["fill"], low=total("low"), high=total("high"))


RULES: tuple[Rule, ...] = (
    Rule("reshape-same", "reshape(x, shape of x) -> x", op("reshape", x), x, (keeps_type,)),
    Rule(
        "reshape-reshape",
        "reshape(reshape(x, m), s) -> reshape(x, s)",
        op("reshape", op("reshape", x), shape=attr("s")),
        op("reshape", x, shape=attr("s")),
    ),
    Rule("broadcast-same", "broadcast(x, shape of x) -> x", op("broadcast", x), x, (keeps_type,)),
    Rule(
        "broadcast-broadcast",
        "broadcast(broadcast(x, m), s) -> broadcast(x, s)",
        op("broadcast", op("broadcast", x), shape=attr("s")),
        op("broadcast", x, shape=attr("s")),
    ),
    Rule(
        "transpose-identity",
        "transpose(x, [0, 1, …]) -> x",
        op("transpose", x, perm=attr("perm")),
        x,
        (permutes_nothing,),
    ),
    Rule(
        "transpose-transpose",
        "transpose(transpose(x, p), q) -> transpose(x, p[q])",
        op("transpose", op("transpose", x, perm=attr("first")), perm=attr("second")),
        compose_permutations,
    ),
    Rule(
        "transpose-ones",
        "transpose(x, p) -> reshape(x) where p moves axes of size 1 only",
        op("transpose", x, perm=attr("perm")),
        as_reshape,
        (moves_ones_only,),
    ),
    Rule(
        "transpose-broadcast",
        "transpose(broadcast(x, s), p) -> broadcast(transpose(x, p), s[p])",
        op("transpose", op("broadcast", x), perm=attr("perm")),
        broadcast_transposed,
    ),
    Rule(
        "reshape-iota",
        "reshape(iota(n), [1, n]) -> iota([1, n])",
        op("reshape", op("iota")),
        counted_in_shape,
    ),
    Rule("reverse-nothing", "reverse(x, []) -> x", op("reverse", x, axes=()), x),
    Rule(
        "reverse-reverse",
        "reverse(reverse(x, a), b) -> reverse(x, axes in one of a and b)",
        op("reverse", op("reverse", x, axes=attr("first")), axes=attr("second")),
        reverse_the_difference,
    ),
    Rule("concat-one", "concat(x) -> x", op("concat", x), x),
    Rule(
        "concat-empty",
        "concat(…, x, …) -> concat(…, …) where x has size 0 along the axis",
        op("concat", ..., axis=attr("axis")),
        concat_not_empty,
    ),
    Rule(
        "concat-concat",
        "concat(…, concat(x, y), …) -> concat(…, x, y, …) along one axis",
        op("concat", ...),
        concat_flat,
    ),
    Rule("pad-nothing", "pad(x, fill, 0, 0) -> x", op("pad", x, fill), x, (keeps_type,)),
    Rule(
        "pad-pad",
        "pad(pad(x, fill, a, b), fill, c, d) -> pad(x, fill, a + c, b + d)",
        op(
            "pad",
            op("pad", x, fill, low=attr("inner_low"), high=attr("inner_high")),
            fill,
            low=attr("low"),
            high=attr("high"),
        ),
        pad_once,
    ),
)
