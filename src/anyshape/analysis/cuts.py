"""Slices along one axis, without steps: what takes a value apart."""

from __future__ import annotations

from typing import NamedTuple

from anyshape.ir.node import Node
from anyshape.ops.movement import SliceAttrs
from anyshape.sym import Dim


class Cut(NamedTuple):
    """Where a slice begins, along the only axis that it shortens."""

    axis: int
    start: Dim


def only_cut(node: Node) -> Cut | None:
    """None for a slice with steps, or along several axes or none."""
    attrs, shape = node.attrs_as(SliceAttrs), node.operands[0].tensor.shape
    bounds = zip(attrs.starts, attrs.stops, shape, strict=True)
    cut = [axis for axis, (start, stop, size) in enumerate(bounds) if (start, stop) != (0, size)]
    if len(cut) != 1 or any(step != 1 for step in attrs.steps):
        return None
    return Cut(cut[0], attrs.starts[cut[0]])
