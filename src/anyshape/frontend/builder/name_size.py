"""Names and bounds for sizes that data decide.

While a function is traced such a size is a symbol without a name; it gets its name when the graph
is finished.
"""

from __future__ import annotations

from dataclasses import replace

from anyshape.frontend.builder.tracer import Tracer, active
from anyshape.ir.graph import Graph
from anyshape.ir.substitute import substitute_region
from anyshape.sym import Axis, Dim, Divisible, LessEqual, Symbol


class _Names(dict[Symbol, str]):
    """The names that sizes of a graph get, in its outermost region."""


def name_size(size: Dim, axis: str | Axis) -> Dim:
    """Gives a size that data decide a name, or an `Axis`, whose bounds are checked when the size is
    known.

        rows = ash.argwhere(x)[:, 0]
        ash.name_size(rows.shape[0], ash.Axis("routed", max=4096))

    `specialize`, `reserve` and `explain` then take `routed=37`, a size that it might have.
    """
    tracer = active()
    symbol = tracer.dim(size).symbol
    axis = Axis(axis) if isinstance(axis, str) else axis
    if symbol is None or not symbol.is_fresh:
        raise tracer.refuse(
            f"'{size}' is no size that data decide, and cannot be named",
            "name the size of what nonzero, unique or item() gives",
        )
    names = _outermost(tracer).analysis(_Names)
    if axis.name in names.values() or axis.name in _outermost(tracer).axes:
        raise tracer.refuse(f"there is a size '{axis.name}' already", "choose another name")
    names[symbol] = axis.name
    _bound(Dim.of(symbol), axis)
    return size


def _outermost(tracer: Tracer) -> Tracer:
    return tracer if tracer.parent is None else _outermost(tracer.parent)


def _bound(size: Dim, axis: Axis) -> None:
    """What the axis allows, as facts that are checked when the size is known."""
    tracer, why = active(), f"axis '{axis.name}'"
    if axis.min > 0:
        tracer.require(LessEqual(Dim.of(axis.min), size), f"{why} has min={axis.min}")
    if axis.max is not None:
        tracer.require(LessEqual(size, Dim.of(axis.max)), f"{why} has max={axis.max}")
    if axis.multiple_of > 1:
        step = Dim.of(axis.multiple_of)
        tracer.require(Divisible(size, step), f"{why} has multiple_of={axis.multiple_of}")


def with_names(graph: Graph, tracer: Tracer) -> Graph:
    """The finished graph of an outermost region, with the names that its sizes were given."""
    names = {symbol: Dim.of(name) for symbol, name in tracer.analysis(_Names).items()}
    return replace(graph, body=substitute_region(graph.body, names, graph.locations))
