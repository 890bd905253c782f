"""Masks that a kernel computes for each score: distances, slopes of heads, segments of a sequence.

    slope[h] * (key - query)      segment[query] == segment[key]

Such a mask is a *plane* of queries and keys made of operands with fewer axes, by a few cheap ops.
Computed where it is needed it takes no memory. A plane that is read from memory is not worth that:
vectors run across the queries, which are apart there, so that it is better read as a whole.
"""

from __future__ import annotations

from anyshape.families.body import Body
from anyshape.ir.node import Node, Value
from anyshape.ir.opdef import Trait
from anyshape.ops.attention import ScoreAttrs, masks_and_sink
from anyshape.ops.known import BROADCAST, IOTA

MOST_OPS = 12
"""Of a mask. Each is done for every score."""


def is_mask_by_position(body: Body, anchor: Node, node: Node) -> bool:
    """Whether `node`, which the attention `anchor` is computed from, is part of such a mask."""
    if not (is_plane(node.result()) or node.op is IOTA) or not _is_cheap(node):
        return False
    masks, _ = masks_and_sink(anchor.operands, anchor.attrs_as(ScoreAttrs))
    return (
        node in _behind(masks, body)
        and node not in _behind(anchor.operands[:3], body)
        and _is_made(node)
    )


def is_plane(value: Value) -> bool:
    """Whether a value has axes of queries and of keys."""
    shape = value.tensor.shape
    return len(shape) >= 2 and all(size != 1 for size in shape[-2:])


def _is_cheap(node: Node) -> bool:
    is_elementwise = node.op.has(Trait.ELEMENTWISE) and node.op.generated and node.op.is_cheap
    return is_elementwise or node.op in (IOTA, BROADCAST)


def _behind(values: tuple[Value, ...], body: Body) -> set[Node]:
    """Nodes of a body that values are computed from."""
    waiting, found = [value.node for value in values], set[Node]()
    while waiting:
        node = waiting.pop()
        if node in body.inside and node not in found:
            found.add(node)
            waiting += [value.node for value in node.operands]
    return found


def _is_made(node: Node) -> bool:
    """Whether all planes behind a node are made by cheap ops, of which there are few."""
    waiting, found = [node], {node}
    while waiting:
        current = waiting.pop()
        planes = {value.node for value in current.operands if is_plane(value)} - found
        if not all(map(_is_cheap, planes)) or len(found) + len(planes) > MOST_OPS:
            return False
        found |= planes
        waiting += planes
    return True
