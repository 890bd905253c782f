"""Windows: the place of one and what lies inside are one index of the operand."""

from __future__ import annotations

from anyshape.ir.node import Node
from anyshape.loop import Scalar
from anyshape.loop.ir import Index
from anyshape.lower.context import Conditions, Lowering, rule
from anyshape.ops.windows import WindowsAttrs


@rule("windows")
def windows(low: Lowering, node: Node, index: Index, conditions: Conditions) -> Scalar:
    attrs = node.attrs_as(WindowsAttrs)
    (x,), count = node.operands, len(attrs.counts)
    first = x.tensor.rank - count
    places, inside = index[first : first + count], index[first + count :]
    axes = zip(places, inside, attrs.steps, attrs.gaps, strict=True)
    source = (*index[:first], *(o * step + k * gap for o, k, step, gap in axes))
    return low.at(x, source, conditions)
