"""Attention of few queries to many keys, in parts of the keys.

A task of attention has one kv head, and walks along its keys. Where all heads of a key lie beside
each other, as in a cache that grows in place, that is the slowest order there is; and one head is
one task, whatever its length. Such kernels get a second form:

    attention(q, k, v)   found = part_attention(q, k, v)     a task for each part and batch
                         staged(attention(q, k, v), …)       parts by their best scores

Where keys are few or queries many there are no parts, as in `long_tasks.py`. As far as keys decide
it, their number is even: of five parts one of two threads would have three.
"""

from __future__ import annotations

from typing import Final

from anyshape.families.attention.match import heads_lie_together
from anyshape.ir.node import Node, Region
from anyshape.ir.opdef import Trait
from anyshape.ir.rewrite import Refusal
from anyshape.ops.attention import AttentionAttrs, with_all_axes
from anyshape.ops.known import ATTENTION, STAGED
from anyshape.passes.part_kernels import KernelOfLoop, Parts
from anyshape.sym import Answer, Dim, FactScope, LessEqual, ceildiv, maximum, minimum

KEYS: Final = 256
"""Of a part, at least: about a megabyte of twelve heads, 20 microseconds."""

QUERIES: Final = 8
"""At most: each is multiplied with keys by itself."""

HEADS: Final = 16
"""That one task has, as in `Caches.heads`."""

TASKS: Final = 32


def attention_of(region: Region) -> Node | None:
    """The attention of a kernel that has no other loop, and no form in parts yet."""
    loops = [n for n in region.nodes() if n.op.has(Trait.CONTRACTION) or n.op is STAGED]
    return loops[0] if len(loops) == 1 and loops[0].op is ATTENTION else None


def parts_of_keys(kernel: KernelOfLoop, scope: FactScope) -> Parts | Refusal:
    attention, attrs = kernel.loop, kernel.loop.attrs_as(AttentionAttrs)
    q, k, _ = (with_all_axes(value.tensor.shape) for value in attention.operands[:3])
    few = LessEqual(k[2], Dim.of(2 * KEYS - 1)), LessEqual(Dim.of(QUERIES + 1), q[2])
    as_many = LessEqual(k[2], q[2])  # no size is below the one bound and above the other
    if any(scope.proves(known) is Answer.TRUE for known in (*few, as_many)):
        return Refusal("keys are few or queries many")
    if attrs.sink:
        return Refusal("a sink belongs to no part")
    if attrs.low is not None or attrs.causal == "top_left" or attrs.high is not None:
        return Refusal("some keys are out of sight of all queries")
    if not heads_lie_together(kernel.region, attention, scope):
        return Refusal("its heads do not lie beside each other")
    wanted = 1 + (TASKS - 1) // maximum(1, q[0] * ceildiv(k[1], HEADS))
    is_few = minimum(1, maximum(0, QUERIES + 1 - q[2]))
    number = minimum(wanted, k[2] // (2 * KEYS) * 2) * is_few
    return Parts(number, ceildiv(k[2], maximum(1, number)))
