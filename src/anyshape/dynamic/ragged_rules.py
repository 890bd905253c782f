"""Ops that leave each token to itself: the same ops, on all tokens as one sequence."""

from __future__ import annotations

from collections.abc import Sequence

from anyshape.dynamic.ragged_masks import MaskRules, padding_of
from anyshape.dynamic.ragged_places import (
    FlatMask,
    Free,
    Mask,
    Place,
    Rows,
    Shared,
    Size,
    Tokens,
)
from anyshape.dynamic.ragged_world import only
from anyshape.frontend.builder.movement import gather
from anyshape.ir.node import Node
from anyshape.ir.types import Shape
from anyshape.ops.dot import DotAttrs
from anyshape.ops.movement import AxisAttrs, ShapeAttrs, TransposeAttrs
from anyshape.sym import product


class TokenRules(MaskRules):
    """Rules by op; each says where tokens are in the result."""

    def _elementwise(self, node: Node, given: list[Place]) -> Place:
        rank = node.result().tensor.rank
        masks = [place for place in given if isinstance(place, Mask)]
        if masks and all(isinstance(place, Mask | Free) for place in given):
            return self._of_masks(node, given, rank)
        if any(isinstance(place, Size) for place in given):
            raise self.refusal(f"{node.op.name} takes a size of the padded batch as a number")
        if any(isinstance(place, FlatMask) for place in given):
            raise self._unknown(node)
        if any(isinstance(place, Rows) for place in given):
            return self._rows(node, given, rank)
        axes = self._common_axes(node, given, rank)
        numbers = [self._valid(place) if isinstance(place, Mask) else place for place in given]
        return Tokens(self._same(node, numbers), *axes, padding_of(node, given))

    def _common_axes(self, node: Node, given: Sequence[Place], rank: int) -> tuple[int | None, int]:
        """Where operands, which are aligned at their last axes, have batch and tokens."""
        batch, seq = set[int](), set[int]()
        for place, value in zip(given, node.operands, strict=True):
            moved = rank - value.tensor.rank
            if isinstance(place, Tokens | Mask):
                batch |= {place.batch + moved} if place.batch is not None else set()
                seq |= {place.seq + moved} if place.seq is not None else set()
        if len(seq) != 1 or len(batch) > 1:
            raise self.refusal(f"{node.op.name} meets tokens along two axes")
        for place, value in zip(given, node.operands, strict=True):
            self._check_others(node, place, value.tensor.shape, (*batch, *seq), rank)
        return only(sorted(batch)), seq.pop()

    def _check_others(
        self, node: Node, place: Place, shape: Shape, axes: Sequence[int], rank: int
    ) -> None:
        """Nothing but tokens goes along their axes: what differs by place there is refused."""
        own = (place.batch, place.seq) if isinstance(place, Tokens | Mask) else ()
        for axis in (axis - rank + len(shape) for axis in axes):
            if axis >= 0 and axis not in own and shape[axis] != 1:
                raise self.refusal(f"{node.op.name} gives tokens numbers by their place")

    def _rows(self, node: Node, given: Sequence[Place], rank: int) -> Rows:
        axes = {
            place.batch + rank - value.tensor.rank
            for place, value in zip(given, node.operands, strict=True)
            if isinstance(place, Rows)
        }
        if len(axes) != 1 or any(isinstance(place, Tokens | Mask) for place in given):
            raise self.refusal(f"{node.op.name} meets a value of each sequence and one of tokens")
        made = self._kept(node, given)
        return Rows(made, axes.pop())

    def _rowwise(self, node: Node, given: list[Place]) -> Place:
        x, axis = given[0], getattr(node.attrs, "axis", -1)
        if not all(isinstance(place, Free) for place in given[1:]):
            raise self._unknown(node)
        if isinstance(x, Rows) and x.batch < axis:
            return Rows(self._kept(node, given), x.batch)
        if not isinstance(x, Tokens) or max(x.seq, x.batch or 0) >= axis:
            raise self.refusal(f"{node.op.name} goes along the axis '{self.seq}'")
        return Tokens(self._same(node, given), x.batch, x.seq)

    def _reshape(self, node: Node, given: list[Place]) -> Place:
        (x,), new = given, node.attrs_as(ShapeAttrs).shape
        old = node.operands[0].tensor.shape
        if isinstance(x, Rows):
            batch, seq = self._axes_of(new)
            if seq or len(batch) != 1 or not _same_before(old, x.batch, new, batch[0]):
                raise self._unknown(node)
            return Rows(self._kept(node, given), batch[0])
        if not isinstance(x, Tokens):
            raise self._unknown(node)
        batch, seq = self._axes_of(new)
        fits = len(seq) == 1 and len(batch) == (x.batch is not None)
        fits = fits and _same_before(old, x.seq, new, seq[0])
        fits = fits and (x.batch is None or _same_before(old, x.batch, new, batch[0]))
        if not fits:
            raise self.refusal(f"reshape to {list(map(str, new))} mixes tokens with other axes")
        return Tokens(self._same(node, given), only(batch), seq[0], x.padding)

    def _transpose(self, node: Node, given: list[Place]) -> Place:
        (x,), perm = given, node.attrs_as(TransposeAttrs).perm
        if isinstance(x, Tokens):
            batch = None if x.batch is None else perm.index(x.batch)
            return Tokens(self._same(node, given), batch, perm.index(x.seq), x.padding)
        if isinstance(x, Mask):
            places = (None if a is None else perm.index(a) for a in (x.batch, x.seq))
            return Mask(x.valid, x.padded, x.rank, *places)
        if isinstance(x, Rows):
            return Rows(self._kept(node, given), perm.index(x.batch))
        raise self._unknown(node)

    def _broadcast(self, node: Node, given: Sequence[Place]) -> Place:
        (x,), new = given, node.attrs_as(ShapeAttrs).shape
        batch, seq = self._axes_of(new)
        moved = len(new) - node.operands[0].tensor.rank
        if isinstance(x, Mask):
            axes = (None if axis is None else axis + moved for axis in (x.batch, x.seq))
            return Mask(x.valid, x.padded, len(new), *axes)
        if isinstance(x, Rows):
            if seq or batch != [x.batch + moved]:
                raise self._unknown(node)
            return Rows(self._kept(node, given), x.batch + moved)
        if isinstance(x, Free) and not seq and len(batch) == 1:
            self._check_others(node, x, node.operands[0].tensor.shape, batch, len(new))
            return Shared(self._same(node, given))
        own = [x.seq + moved] if isinstance(x, Tokens) else seq
        if not isinstance(x, Free | Tokens) or len(seq) != 1 or own != seq or len(batch) > 1:
            raise self._unknown(node)
        if isinstance(x, Tokens) and x.batch is not None and [x.batch + moved] != batch:
            raise self._unknown(node)
        old = node.operands[0].tensor.shape
        self._check_others(node, x, old, (*batch, *seq), len(new))
        return Tokens(self._same(node, given), only(batch), seq[0])

    def _dot(self, node: Node, given: list[Place]) -> Place:
        attrs = node.attrs_as(DotAttrs)
        x, weights = given
        taken = {*attrs.contract[0], *attrs.batch[0]}
        if not isinstance(weights, Free) or attrs.batch != ((), ()):
            raise self.refusal("a product of tokens with what is no weight")

        def left(axis: int) -> int:
            return axis - sum(1 for each in taken if each < axis)

        if isinstance(x, Rows) and x.batch not in taken:
            return Rows(self._kept(node, given), left(x.batch))
        if not isinstance(x, Tokens) or {x.seq, x.batch} & taken:
            raise self.refusal(f"a product along the axis '{self.seq}'")
        batch = None if x.batch is None else left(x.batch)
        return Tokens(self._same(node, given), batch, left(x.seq))

    def _gather(self, node: Node, given: list[Place]) -> Place:
        table, index = given
        axis = node.attrs_as(AxisAttrs).axis
        if not isinstance(table, Free) or not isinstance(index, Tokens):
            raise self._unknown(node)
        batch = None if index.batch is None else index.batch + axis
        return Tokens(self._same(node, given), batch, index.seq + axis)

    def _take_along(self, node: Node, given: list[Place]) -> Place:
        """Rows of a table, where there is one row only, or each sequence has the same one."""
        table, index = given
        axis = node.attrs_as(AxisAttrs).axis
        if not isinstance(table, Free | Shared) or not isinstance(index, Tokens):
            raise self._unknown(node)
        shape = table.tensor.shape
        if any(dim != 1 for place, dim in enumerate(shape) if place != axis):
            raise self._unknown(node)
        flat = table.tensor.reshape(shape[axis])
        return Tokens(gather(flat, index.tensor), index.batch, index.seq)

    def _concat(self, node: Node, given: list[Place]) -> Place:
        """Along an axis of its own: parts of what each token, or each sequence, has."""
        x, axis = given[0], node.attrs_as(AxisAttrs).axis
        if isinstance(x, Rows) and x.batch != axis:
            if all(isinstance(place, Rows) and place.batch == x.batch for place in given):
                return Rows(self._kept(node, given), x.batch)
        elif isinstance(x, Tokens) and axis not in (x.batch, x.seq):
            own = x.batch, x.seq
            if all(
                isinstance(place, Tokens) and (place.batch, place.seq) == own for place in given
            ):
                return Tokens(self._same(node, given), *own)
        raise self._unknown(node)


def _same_before(old: Shape, axis: int, new: Shape, place: int) -> bool:
    """Whether an axis is itself after a reshape: as much before it, and so behind it."""
    return product(old[:axis]) == product(new[:place]) and product(old[axis + 1 :]) == product(
        new[place + 1 :]
    )
