"""Checks of values in traced programs: a chain of `first_outside` through each region.

A check continues the chain of its region. A region inside another one continues the chain around
it: what stands there is captured, and control flow hands the end of the inner chain out as one more
result (`control`). The end of the outermost chain is a result of the graph.

A loop that has met an offence ends, since what it computes from then on means nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from anyshape.frontend.builder.convert import asarray
from anyshape.frontend.builder.tracer import Tracer, active
from anyshape.ir.checks import ValueCheck
from anyshape.ir.graph import Graph
from anyshape.ir.node import Value
from anyshape.sym import Dim

if TYPE_CHECKING:
    from anyshape.frontend.builder.tensor import Tensor

NO_OFFENCE = np.array([-1, 0, 0, 0], np.int64)


class RegionChecks:
    """The chain of one region; `all` are the checks of the graph, in its outermost region."""

    def __init__(self) -> None:
        self.last: Tensor | None = None
        self.seen: set[tuple[Value, Dim, bool, Dim]] = set()
        self.all: list[ValueCheck] = []


def check_values(x: Tensor, size: Dim, check: ValueCheck, live: Dim) -> None:
    """Elements of `x` outside 0..size-1 (`from_end`: -size..size-1) end a call, unless `live` is 0.

    The same elements are checked once.
    """
    tracer = active()
    chain = tracer.analysis(RegionChecks)
    key = (tracer.value(x), size, check.from_end, live)
    if key in chain.seen:
        return
    chain.seen.add(key)
    known = _outermost(tracer).analysis(RegionChecks).all
    known.append(check)
    attrs = {"size": size, "number": len(known) - 1, "from_end": check.from_end, "live": live}
    chain.last = tracer.emit("first_outside", x, offence_so_far(), **attrs)


def offence_so_far() -> Tensor:
    """The end of the active region's chain, as it is now."""
    tracer: Tracer | None = active()
    while tracer is not None:
        last = tracer.analysis(RegionChecks).last
        if last is not None:
            return last
        tracer = tracer.parent
    return asarray(NO_OFFENCE)


def continue_from(offence: Tensor) -> None:
    """The active region's chain goes on from what a region inside it, or a loop's state, says."""
    active().analysis(RegionChecks).last = offence


def has_checks(tracer: Tracer) -> bool:
    """Whether the region, or one inside it, has checked anything."""
    return tracer.analysis(RegionChecks).last is not None


def graph_with_checks(
    tracer: Tracer, name: str, inputs: Sequence[str], results: Sequence[Tensor]
) -> Graph:
    """The finished graph of an outermost region, with the end of its chain as a last result."""
    values = tracer.results(results)
    chain = tracer.analysis(RegionChecks)
    if chain.last is None:
        return tracer.builder.graph(name, inputs, values)
    graph = tracer.builder.graph(name, inputs, [*values, tracer.value(chain.last)])
    return replace(graph, checks=tuple(_settled(check, tracer) for check in chain.all))


def _settled(check: ValueCheck, tracer: Tracer) -> ValueCheck:
    """With the names that sizes have in the finished graph."""
    return replace(check, shape=tuple(map(tracer.builder.scope.resolve, check.shape)))


def _outermost(tracer: Tracer) -> Tracer:
    while tracer.parent is not None:
        tracer = tracer.parent
    return tracer
