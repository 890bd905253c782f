"""Laws of slice."""

from __future__ import annotations

import numpy as np

from anyshape.ir.build import Builder
from anyshape.ir.node import Value
from anyshape.ir.rewrite import Match, Refusal, Rule, Var, constant_array, op
from anyshape.ops.movement import AxisAttrs, SliceAttrs
from anyshape.passes.rules.common import keeps_type
from anyshape.sym import Dim, Equal, LessEqual

x = Var("x")

Bound = tuple[Dim, Dim, int]


def steps_are_one(found: Match) -> Refusal | None:
    """With step 1, a slice within x of the size of x is all of x."""
    steps = _attrs(found.root).steps
    return None if all(step == 1 for step in steps) else Refusal(f"steps are {list(steps)}")


def slice_once(found: Match, builder: Builder) -> Value | Refusal:
    inner, outer = _bounds(found["inner"]), _bounds(found.root)
    bounds: list[Bound] = []
    for axis, (first, second) in enumerate(zip(inner, outer, strict=True)):
        both = _compose(found, found["inner"].tensor.shape[axis], first, second)
        if both is None:
            return Refusal(f"the inner step at axis {axis} is {first[2]}")
        bounds.append(both)
    starts, stops, steps = zip(*bounds, strict=True) if bounds else ((), (), ())
    return builder.emit("slice", found["x"], starts=starts, stops=stops, steps=steps)


def broadcast_less(found: Match, builder: Builder) -> Value | Refusal:
    """A slice of repeated elements repeats them less often."""
    sizes, whole = found["x"].tensor.shape, found["whole"].tensor.shape
    own = (*(Dim.of(1),) * (len(whole) - len(sizes)), *sizes)
    bounds = zip(own, whole, _bounds(found.root), strict=True)
    for axis, (size, repeated, bound) in enumerate(bounds):
        if size != 1 and bound != (Dim.of(0), repeated, 1):
            return Refusal(f"elements differ along axis {axis}")
    return builder.emit("broadcast", found["x"], shape=found.root.tensor.shape)


def slice_of_gather(found: Match, builder: Builder) -> Value | Refusal:
    """Constant indices an equal distance apart are the places of a slice."""
    x, axis = found["x"], found.root.node.attrs_as(AxisAttrs).axis
    indices = constant_array(found["indices"], builder.weights)
    if indices is None or indices.ndim != 1 or not indices.size:
        return Refusal("its indices are no constants along one axis")
    first, last = int(indices[0]), int(indices[-1])
    step = int(indices[1]) - first if indices.size > 1 else 1
    if first < 0 or step < 1 or not np.array_equal(indices, range(first, last + 1, step)):
        return Refusal("its indices are no places of a slice")
    if not found.proves(LessEqual(Dim.of(last + 1), x.tensor.shape[axis])):
        return Refusal(f"index {last} may be outside")
    starts, stops, steps = [Dim.of(0)] * x.tensor.rank, list(x.tensor.shape), [1] * x.tensor.rank
    starts[axis], stops[axis], steps[axis] = Dim.of(first), Dim.of(last + 1), step
    return builder.emit("slice", x, starts=starts, stops=stops, steps=steps)


def _compose(found: Match, size: Dim, first: Bound, second: Bound) -> Bound | None:
    """One slice for two along an axis; `size` is what the first leaves.

    With an inner step above 1 the last stop has no simple expression (it depends on whether
    anything is left), so such an axis is composed only where the outer slice takes all of it.
    """
    if first[2] == 1:
        return first[0] + second[0], first[0] + second[1], second[2]
    takes_all = found.proves(Equal(second[0], Dim.of(0))) and found.proves(Equal(second[1], size))
    return first if takes_all and second[2] == 1 else None


def _attrs(value: Value) -> SliceAttrs:
    return value.node.attrs_as(SliceAttrs)


def _bounds(value: Value) -> list[Bound]:
    attrs = _attrs(value)
    return list(zip(attrs.starts, attrs.stops, attrs.steps, strict=True))


RULES: tuple[Rule, ...] = (
    Rule("slice-all", "x[0:size] -> x", op("slice", x), x, (steps_are_one, keeps_type)),
    Rule(
        "slice-slice",
        "x[a:b][c:d:s] -> x[a + c:a + d:s]",
        op("slice", op("slice", x).bind("inner")),
        slice_once,
    ),
    Rule(
        "gather-slice",
        "gather(x, [a, a + s, …]) -> x[a::s]",
        op("gather", x, Var("indices")),
        slice_of_gather,
    ),
    Rule(
        "slice-broadcast",
        "broadcast(x, s)[a:b] -> broadcast(x, t) along repeated axes",
        op("slice", op("broadcast", x).bind("whole")),
        broadcast_less,
    ),
)
