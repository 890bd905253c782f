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
    """Rows by group, where each group ends, where each row went, and which token
    it is of.
    """

    order: Tensor
    ends: Tensor
    position: Tensor
    source: Tensor


def worklist(keys: ArrayLike, groups: Size, capacity: Size | None = None) -> Worklist:
    """The rows of each group, one group after the other: how tokens meet their experts.

    `keys[tokens]` or `keys[tokens, choices]` are groups; every key is a row of work. With
    `order, ends, position, source = worklist(keys, groups)`, y = `grouped_dot(x[source], weights,
    ends)` multiplies the token of each row with its group's matrix, and `y[position]` has the rows
    where their keys are. Rows of one group keep their order, tokens first. With `capacity` a group
    takes no more rows than that, the first ones. Rows that are left out, and those whose key is
    none of 0..groups-1, come behind the last group, where `grouped_dot` gives zeros.
    """
    operand = asarray(keys)
    limit = operand.size if capacity is None else capacity
    attrs = make_attrs("worklist", lookup("worklist").attrs, {"groups": groups, "capacity": limit})
    tracer = active()
    return Worklist(*tracer.node("worklist", [tracer.value(operand)], attrs))
