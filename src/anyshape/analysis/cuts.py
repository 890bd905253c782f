"""Slices along one axis, without steps: what takes a value apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from anyshape.ir.node import Node
from anyshape.ops.known import SLICE
from anyshape.ops.movement import SliceAttrs
from anyshape.sym import Dim


class Cut(NamedTuple):
    """Where a slice begins, along the only axis that it shortens."""

    axis: int
    start: Dim


def are_halves(slices: Sequence[Node]) -> bool:
    """Whether these are the two halves of a value, along its last axis."""
    if len(slices) != 2 or any(node.op is not SLICE for node in slices):
        return False
    *_, size = slices[0].operands[0].tensor.shape
    half = None if size.constant is None or size.constant % 2 else size.constant // 2
    last = slices[0].result().tensor.rank - 1
    found = {(only_cut(node), node.result().tensor.shape[-1].constant) for node in slices}
    return found == {(Cut(last, Dim.of(start)), half) for start in (0, half or 0)}


def only_cut(node: Node) -> Cut | None:
    """None for a slice with steps, or along several axes or none."""
    attrs, shape = node.attrs_as(SliceAttrs), node.operands[0].tensor.shape
    bounds = zip(attrs.starts, attrs.stops, shape, strict=True)
    cut = [axis for axis, (start, stop, size) in enumerate(bounds) if (start, stop) != (0, size)]
    if len(cut) != 1 or any(step != 1 for step in attrs.steps):
        return None
    return Cut(cut[0], attrs.starts[cut[0]])
