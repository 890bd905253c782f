"""What a kernel does, counted: the numbers from which costs are made.

Counts are dims of the kernel's own sizes and say nothing about a machine; how long a flop, an
operation or a byte takes is for `plan.costs`. They are estimates: what one op costs compared with
another matters, a missing term of a few percent does not.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass

from anyshape.ir.node import Node, Region
from anyshape.ir.opdef import Trait, lookup
from anyshape.ir.types import TensorType, Type
from anyshape.loop import Kernel
from anyshape.loop.ir import CACHE_LINE
from anyshape.lower.params import is_param, uses_of
from anyshape.ops.dot import DotAttrs
from anyshape.ops.known import (
    ATTENTION,
    CONV,
    GATHER,
    GROUPED_DOT,
    RAGGED_ATTENTION,
    SLICE,
    TAKE_ALONG,
    WINOGRAD,
)
from anyshape.ops.parts import PartDotAttrs
from anyshape.ops.ragged import OFFSETS
from anyshape.sym import Dim, Symbol, ceildiv, maximum, minimum, product

ZERO = Dim.of(0)


@dataclass(frozen=True, slots=True)
class Effort:
    """`flops` are those of matrix products, a multiplication and an addition being two;
    `operations` are all others, in the time of one addition; `bytes` are read or written. `far`
    are those of them that no cache of the thread has, however few they are."""

    flops: Dim = ZERO
    operations: Dim = ZERO
    bytes: Dim = ZERO
    far: Dim = ZERO

    @property
    def counts(self) -> tuple[Dim, Dim, Dim, Dim]:
        return self.flops, self.operations, self.bytes, self.far

    def __add__(self, other: Effort) -> Effort:
        return Effort(*(one + more for one, more in zip(self.counts, other.counts, strict=True)))

    def substitute(self, dims: Mapping[Symbol, Dim]) -> Effort:
        return Effort(*(count.substitute(dims) for count in self.counts))


@dataclass(frozen=True, slots=True)
class Variant:
    """One way to do what a region says: its name, the kernel, and what it does.

    All variants of a region have the same buffers and sizes; workspaces and tasks are their own.
    """

    name: str
    kernel: Kernel
    effort: Effort


EXP = lookup("exp").cost

SELECTING = frozenset({GATHER, TAKE_ALONG, SLICE})
"""Ops that read of their first operand no more than their result has."""

LINE_ALONE = 4 * CACHE_LINE
"""Bytes in a row that take as long as one element in a cache line of its own, as measured."""


def region_effort(region: Region, packed: Container[int] = ()) -> Effort:
    """The effort of a region whose values are each computed once and kept in registers.

    Each element that is selected from a `packed` parameter is in a cache line of its own.
    """
    nodes = sum((_node_effort(node) for node in region.nodes()), Effort())
    read = sum((_read(region, i, i in packed) for i in range(len(region.params))), ZERO)
    return nodes + Effort(bytes=sum(map(_bytes, region.result_types), read))


def _read(region: Region, param: int, packed: bool) -> Dim:
    """Bytes of a parameter that are read: all, or what is selected if that is less."""
    whole = _bytes(region.params[param])
    uses = uses_of(region, param)
    if any(is_param(value, param) for value in region.results):
        return whole
    if any(use.node.op not in SELECTING or use.operand != 0 for use in uses):
        return whole
    taken = [use.node.result().tensor for use in uses]
    if packed:
        return sum((x.size * LINE_ALONE for x in taken), ZERO)
    return minimum(whole, sum(map(_bytes, taken), ZERO))


def _bytes(type_: Type) -> Dim:
    return type_.size * type_.dtype.itemsize if isinstance(type_, TensorType) else ZERO


def _node_effort(node: Node) -> Effort:
    results = sum((value.tensor.size for value in node.results), ZERO)
    if isinstance(node.attrs, DotAttrs):
        lhs = node.operands[0].tensor.shape
        depth = product(lhs[axis] for axis in node.attrs.contract[0])
        if isinstance(node.attrs, PartDotAttrs):
            depth = node.attrs.length
        return Effort(flops=2 * results * depth)
    if node.op is GROUPED_DOT:
        return Effort(flops=2 * results * node.operands[0].tensor.shape[1])
    if node.op in (CONV, WINOGRAD):
        return Effort(flops=2 * results * product(node.operands[1].tensor.shape[1:-1]))
    if node.op in (ATTENTION, RAGGED_ATTENTION):
        return _attention_effort(node)
    if node.op.has(Trait.REDUCTION):
        return Effort(operations=node.operands[0].tensor.size)
    if not node.operands or node.op.has(Trait.ALIAS):
        return Effort()
    return Effort(operations=results * node.op.cost)


def usual_length(tokens: Dim, places: Dim) -> Dim:
    """Of segments that are as long as each other: where they really end is data."""
    return ceildiv(tokens, maximum(1, places - 1))


def _attention_effort(node: Node) -> Effort:
    """Two products, and a softmax of the scores between them."""
    q, k, v = (value.tensor.shape for value in node.operands[:3])
    keys = k[-2]
    if node.op is RAGGED_ATTENTION:
        keys = usual_length(keys, node.operands[OFFSETS].tensor.shape[0])
    scores = product((*q[:-1], keys))
    return Effort(2 * scores * (q[-1] + v[-1]), scores * (EXP + 4))
