"""Values of a padded graph that are known without tokens: counts of positions, and masks.

Models make masks by arithmetic with numbers (`(1 - mask) * -1e38`), or by reading the given mask at
computed places, `mask.ravel()[batch * seq + position]`. Neither is computed in a ragged graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from anyshape.dynamic.ragged_places import Count, FlatMask, Free, Mask, Place, Size
from anyshape.dynamic.ragged_world import World, only
from anyshape.frontend.builder.convert import asarray
from anyshape.frontend.builder.tensor import Tensor
from anyshape.ir.literal import TensorLiteral, WeightStore
from anyshape.ir.node import Node
from anyshape.ir.opdef import Call
from anyshape.ir.types import Array, TensorType
from anyshape.ops import elementwise
from anyshape.ops.known import GATHER, RESHAPE
from anyshape.ops.movement import ShapeAttrs
from anyshape.ops.source import ConstantAttrs, IotaAttrs
from anyshape.sym import Dim

HIDES: Final = -1e30
"""A number that is added to a score, or put in its place, and leaves it no weight."""


class MaskRules(World):
    """What becomes of counts and masks."""

    def _iota(self, node: Node) -> Count:
        attrs = node.attrs_as(IotaAttrs)
        size, others = attrs.shape[attrs.axis], [*attrs.shape]
        others.pop(attrs.axis)
        if any(dim != 1 for dim in others) or size.symbol not in (self.seq, self.over):
            raise self._unknown(node)
        is_seq, rank = size.symbol == self.seq, len(attrs.shape)
        zero, one = Dim.of(0), Dim.of(1)
        if is_seq:
            return Count(zero, one, attrs.dtype, rank, None, attrs.axis)
        return Count(one, zero, attrs.dtype, rank, attrs.axis, None)

    def _counted(self, node: Node, given: Sequence[Place]) -> Place | None:
        """What becomes of counts, of sizes, and of a mask that they lead to."""
        match node.op, given:
            case op, [Count() as x] if op is RESHAPE:
                return self._moved_count(x, node)
            case op, [Count() as x, Size(dim)] | [Size(dim), Count() as x] if op is elementwise.mul:
                return replace(x, of_batch=x.of_batch * dim, of_seq=x.of_seq * dim)
            case op, [Count() as x, Count() as y] if op is elementwise.add:
                return _sum_of_counts(x, y)
            case op, [Count() as x, Free(tensor)] if op is elementwise.ge and (
                _is_zero(tensor) and _is_natural(x.of_batch) and _is_natural(x.of_seq)
            ):
                yes = np.ones((), np.bool_)
                return Mask(yes, yes, node.result().tensor.rank, None, None)
            case op, [Mask() as mask] if op is RESHAPE:
                return self._reshaped_mask(mask, node)
            case op, [FlatMask(mask), Count() as index] if op is GATHER:
                if index.of_batch == Dim.of(self.seq) and index.of_seq == 1 and mask.seq == 1:
                    return replace(mask, rank=index.rank, batch=index.batch, seq=index.seq)
                return None
            case _:
                return None

    def _moved_count(self, x: Count, node: Node) -> Count | None:
        shape = node.attrs_as(ShapeAttrs).shape
        batch, seq = self._axes_of(shape)
        known = [x.batch is not None, x.seq is not None]
        if [len(batch), len(seq)] != known or any(
            dim != 1 for i, dim in enumerate(shape) if i not in (*batch, *seq)
        ):
            return None
        where = replace(x, rank=len(shape), batch=only(batch), seq=only(seq))
        return where if not all(known) or batch < seq else None

    def _reshaped_mask(self, mask: Mask, node: Node) -> Mask | FlatMask:
        shape = node.attrs_as(ShapeAttrs).shape
        both = Dim.of(self.over) * Dim.of(self.seq)
        if mask.rank == 2 and (mask.batch, mask.seq) == (0, 1) and shape == (both,):
            return FlatMask(mask)
        batch, seq = self._axes_of(shape)
        ones = all(dim == 1 for i, dim in enumerate(shape) if i not in (*batch, *seq))
        known = [mask.batch is not None, mask.seq is not None]
        if not ones or [len(batch), len(seq)] != known or batch > seq != []:
            raise self._unknown(node)
        return replace(mask, rank=len(shape), batch=only(batch), seq=only(seq))

    def _of_masks(self, node: Node, given: Sequence[Place], rank: int) -> Mask:
        """Arithmetic of two numbers."""
        batch, seq = set[int](), set[int]()
        for place, value in zip(given, node.operands, strict=True):
            if isinstance(place, Mask) and not place.is_constant:
                moved = rank - value.tensor.rank
                batch |= {place.batch + moved} if place.batch is not None else set()
                seq |= {place.seq + moved} if place.seq is not None else set()
        numbers = [self._numbers(place, node) for place in given]
        if len(seq) > 1 or len(batch) > 1:
            raise self._unknown(node)
        valid, padded = (_computed(node, [pair[i] for pair in numbers]) for i in (0, 1))
        return Mask(valid, padded, rank, only(sorted(batch)), only(sorted(seq)))

    def _numbers(self, place: Place, node: Node) -> tuple[Array, Array]:
        if isinstance(place, Mask):
            return place.valid, place.padded
        array = constant_of(place.tensor) if isinstance(place, Free) else None
        if array is None or array.size != 1:
            raise self.refusal(f"{node.op.name} of the mask and of what is no number")
        return array.reshape(()), array.reshape(())

    def _valid(self, mask: Mask) -> Free:
        """Its number at tokens, of its rank: what it meets may have fewer axes."""
        return Free(asarray(mask.valid).reshape(*(1,) * mask.rank))

    def _hides(self, mask: Place, hidden: float) -> bool:
        """Whether keys that are padding have no weight by it; others must keep their scores."""
        if not isinstance(mask, Mask):
            raise self.refusal("attention with a mask that is not of padding alone")
        is_bool = mask.valid.dtype == np.bool_
        if not (bool(mask.valid) if is_bool else float(mask.valid) == 0):
            raise self.refusal("a mask that changes scores of tokens")
        if mask.is_constant:
            return False
        if mask.seq != mask.rank - 1 or mask.batch != mask.rank - 4:
            raise self.refusal("a mask that hides queries, not keys")
        number = hidden if is_bool else float(mask.padded)
        if not number <= HIDES:
            raise self.refusal(f"a mask that hides padding by {number}", "hide it by -inf")
        return True


def _sum_of_counts(x: Count, y: Count) -> Count | None:
    rank = max(x.rank, y.rank)

    def axis(of: str) -> tuple[bool, int | None]:
        known = {
            place + rank - each.rank for each in (x, y) if (place := getattr(each, of)) is not None
        }
        return len(known) <= 1, only(sorted(known))

    (one_batch, batch), (one_seq, seq) = axis("batch"), axis("seq")
    if not one_batch or not one_seq or x.dtype != y.dtype:
        return None
    return Count(x.of_batch + y.of_batch, x.of_seq + y.of_seq, x.dtype, rank, batch, seq)


def _is_zero(tensor: Tensor) -> bool:
    array = constant_of(tensor)
    return array is not None and not array.any()


def _is_natural(dim: Dim) -> bool:
    """Whether it is never below 0: a size, or a number."""
    return dim.symbol is not None or ((dim.constant or 0) >= 0 and dim.is_constant)


def padding_of(node: Node, given: Sequence[Place]) -> float | None:
    """The number that the result has where there is no token, if the mask decides it."""
    masks = [place for place in given if isinstance(place, Mask)]
    if node.op is elementwise.mul and any(mask.padded == 0 for mask in masks):
        return 0.0
    if node.op is elementwise.select and isinstance(given[0], Mask) and not given[0].is_constant:
        chosen = given[1] if given[0].padded else given[2]
        array = constant_of(chosen.tensor) if isinstance(chosen, Free) else None
        return float(array.ravel()[0]) if array is not None and array.size == 1 else None
    return None


def _computed(node: Node, numbers: Sequence[Array]) -> Array:
    """What an elementwise op makes of numbers, by its definition."""
    assert node.op.reference is not None, f"{node.op.name} was expanded"
    type_ = TensorType(node.result().tensor.dtype, ())
    call = Call(node.attrs, tuple(numbers), (type_,), WeightStore(), _no_region)
    with np.errstate(all="ignore"):
        return np.asarray(node.op.reference(call), type_.dtype.numpy)


def _no_region(number: int, arrays: Sequence[Array]) -> tuple[Array, ...]:
    raise AssertionError("an elementwise op has no regions")


def constant_of(tensor: Tensor) -> Array | None:
    """The array that a tensor is written as."""
    attrs = tensor.value.node.attrs
    if isinstance(attrs, ConstantAttrs) and isinstance(attrs.value, TensorLiteral):
        return attrs.value.array
    return None
