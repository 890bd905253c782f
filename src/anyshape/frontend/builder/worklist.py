"""Rows sorted by the group that each of them goes to: how tokens meet their experts."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from anyshape.frontend.builder.axes import Size
from anyshape.frontend.builder.convert import ArrayLike, asarray
from anyshape.frontend.builder.tracer import active
from anyshape.ir.attrs import make_attrs
from anyshape.ir.opdef import lookup

if TYPE_CHECKING:
    from anyshape.frontend.builder.tensor import Tensor


class Worklist(NamedTuple):
    """Rows in the order of their groups, where each group ends, and where each row went."""

    order: Tensor
    ends: Tensor
    position: Tensor


def worklist(keys: ArrayLike, groups: Size, capacity: Size | None = None) -> Worklist:
    """The rows of each group, one group after the other; `keys[r]` is the group of row r.

    `grouped_dot(x[order], weights, ends)` multiplies every row with its group's matrix, and
    `y[position]` has the rows where they were. Rows of one group keep their order. With `capacity`
    a group takes no more rows than that, the first ones. Rows that are left out, and those whose
    key is none of 0..groups-1, come behind the last group, where `grouped_dot` gives zeros.
    """
    operand = asarray(keys)
    limit = operand.size if capacity is None else capacity
    attrs = make_attrs("worklist", lookup("worklist").attrs, {"groups": groups, "capacity": limit})
    tracer = active()
    return Worklist(*tracer.node("worklist", [tracer.value(operand)], attrs))
