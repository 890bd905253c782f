"""Recognising attention: one `attention` in a region, what it reads, and where its result goes.

Whatever follows it must be elementwise without broadcasting it, or a transpose. Operands are read
by index, so anything that lowers by index may stand before it; keys and values that are *views*, a
parameter seen with two strides, are read where they are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from anyshape.analysis.epilogue import Order
from anyshape.families.body import Body
from anyshape.families.family import buffer_of
from anyshape.families.followers import only_loop
from anyshape.ir.node import Node, Region, Value
from anyshape.ir.rewrite import Refusal
from anyshape.ir.types import DType, Shape, wide_of
from anyshape.loop import Buffer, Let, Load, Matrix, Scalar, Span, Statement
from anyshape.loop.ir import Index
from anyshape.lower.context import Lowering
from anyshape.ops.attention import ScoreAttrs, masks_and_sink, own_axes, with_all_axes
from anyshape.ops.known import ATTENTION, PART_ATTENTION, RAGGED_ATTENTION
from anyshape.ops.ragged import RaggedAttentionAttrs
from anyshape.sym import Answer, Dim, FactScope, Less, LessEqual, Symbol, product


@dataclass(frozen=True, slots=True)
class AttentionMatch:
    """An attention and the orders of what leaves its kernel, one for each result."""

    node: Node
    orders: tuple[Order, ...]

    @property
    def attrs(self) -> ScoreAttrs:
        """How scores are made."""
        attrs = self.node.attrs
        if isinstance(attrs, RaggedAttentionAttrs):
            return attrs.score
        return self.node.attrs_as(ScoreAttrs)

    @property
    def total(self) -> DType:
        """What scores and sums are computed in."""
        return wide_of(self.node.result().tensor.dtype)

    @property
    def query(self) -> Value:
        return self.node.operands[0]

    @property
    def key(self) -> Value:
        return self.node.operands[1]

    @property
    def value(self) -> Value:
        return self.node.operands[2]

    @property
    def masks(self) -> tuple[Value, ...]:
        """In the order in which they are applied."""
        if self.node.op is RAGGED_ATTENTION:
            return ()
        return masks_and_sink(self.node.operands, self.attrs)[0]

    @property
    def sink(self) -> Value | None:
        """A score for each query that has no key."""
        return masks_and_sink(self.node.operands, self.attrs)[1]

    @property
    def asks_for_scores(self) -> bool:
        """Whether scores decide if a key out of sight may be skipped."""
        return self.attrs.adds or self.attrs.outside != -math.inf

    @property
    def shapes(self) -> tuple[Shape, Shape, Shape]:
        """Of queries, keys and values, with batch and heads."""
        q, k, v = (with_all_axes(value.tensor.shape) for value in self.node.operands[:3])
        return q, k, v

    @property
    def scores_shape(self) -> Shape:
        return (*self.query.tensor.shape[:-1], self.key.tensor.shape[-2])


def attention_match(body: Body) -> AttentionMatch | Refusal:
    """The attention that a body computes, or why it does not."""
    found = only_loop(body, {ATTENTION, PART_ATTENTION, RAGGED_ATTENTION}, "attention")
    return found if isinstance(found, Refusal) else AttentionMatch(*found)


# --- reading values by index ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Reader:
    """Makes the code that computes elements of a region's values."""

    region: Region
    inputs: Sequence[Buffer]
    scope: FactScope

    def element(self, value: Value, index: Index) -> tuple[list[Statement], Scalar]:
        """The statements of one loop body that compute the element, and what they name it.

        The index has all axes, whether the value has them or not.
        """
        low = Lowering(self.region, self.inputs, self.scope)
        found = low.at(value, own_axes(index, value.tensor.rank))
        return low.levels[0].body, found

    def broadcast(
        self, values: Sequence[Value], shape: Shape, index: Index
    ) -> tuple[list[Statement], list[Scalar]]:
        """The same for values that broadcast to `shape`; what they share is computed once."""
        low, own = Lowering(self.region, self.inputs, self.scope), own_axes(index, len(shape))
        elements = [
            low.at(value, low.operand_index(value.tensor.shape, shape, own)) for value in values
        ]
        return low.levels[0].body, elements

    def matrix(self, value: Value, outer: Index, shape: Shape | None = None) -> Matrix | None:
        """The last two axes at the `outer` indices, if they are a view of memory.

        With `shape`, of the value broadcast to it.
        """
        row, column = Symbol("i"), Symbol("j")
        place = (*outer, Dim.of(row), Dim.of(column))
        body, _ = self.broadcast([value], shape or value.tensor.shape, place)
        match body:
            case [Let(_, Load(buffer, index))]:
                return _as_matrix(buffer, index, row, column)
            case _:
                return None


def _as_matrix(buffer: Buffer, index: Index, row: Symbol, column: Symbol) -> Matrix | None:
    """By the axes of the buffer; or all of it as one axis, where reshapes meet again."""
    axes = zip(index, buffer.shape, buffer.strides, strict=True)
    spans = [_span(dim, size, stride, row, column) for dim, size, stride in axes]
    if None in spans:
        size, one = product(buffer.shape), Dim.of(1)
        spans = [_span(buffer.offset(index), size, one, row, column)]
    found = tuple(span for span in spans if span is not None)
    return Matrix(buffer, found) if len(found) == len(spans) else None


def _span(dim: Dim, size: Dim, stride: Dim, row: Symbol, column: Symbol) -> Span | None:
    """How `dim`, the index along an axis, depends on row and column: None if not linearly."""
    zero, one = Dim.of(0), Dim.of(1)
    first, below, beside = (
        dim.substitute({row: i, column: j}) for i, j in ((zero, zero), (one, zero), (zero, one))
    )
    span = Span(size, stride, first, below - first, beside - first)
    return span if dim == span.index(Dim.of(row), Dim.of(column)) else None


def heads_lie_together(region: Region, attention: Node, scope: FactScope) -> bool:
    """Whether keys and values of one head are further apart in memory than those of one key."""
    inside = scope.trial()
    for dim in attention.operands[1].tensor.shape:
        some = LessEqual(Dim.of(1), dim)  # or else there is no memory to speak of
        if inside.proves(some) is Answer.UNKNOWN:
            inside.assume(some)
    buffers = [buffer_of(f"x{i}", type_) for i, type_ in enumerate(region.params)]
    reader = Reader(region, buffers, inside)
    return all(_steps_over_heads(value, reader, inside) for value in attention.operands[1:3])


def _steps_over_heads(value: Value, reader: Reader, scope: FactScope) -> bool:
    if value.tensor.rank < 4 or value.tensor.shape[1] == 1:
        return False  # a head alone has no others beside it
    batch, head = Symbol("b"), Symbol("h")
    found = reader.matrix(value, (Dim.of(batch), Dim.of(head)))
    if found is None:
        return False
    first, second = (found.start.substitute({head: Dim.of(i)}) for i in (0, 1))
    return scope.proves(Less(second - first, found.strides[0])) is Answer.TRUE
