"""Whether what a graph computes at one index of an axis depends on nothing at another.

A call may then be run in parts along that axis: the same steps on fewer elements, part after part.
Each value either has no part in the axis, or has it in one place:

    f32[batch, seq, 384]        axis 0
    f32[seq, 12*batch, 64]      axis 1, before 12 others: element 12*i + h belongs to index i
    f32[seq*batch, 384]         axis 0, behind seq others

Each op says what it does along the axes of its operands (`ir/mixing.py`); those that move elements
are looked at here. What is not known to keep elements apart is refused.

A kernel that sees the whole axis of inputs alone, and whose results no other kernel reads, can be
run *once*, on all of it: a check of indices.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from anyshape.ir.attrs import attr_dims
from anyshape.ir.graph import Graph
from anyshape.ir.mixing import Link, Sees
from anyshape.ir.node import Node, Region, Value
from anyshape.ir.opdef import PARAM, AnyOp, Trait, param_index
from anyshape.ir.rewrite import Refusal
from anyshape.ir.types import Shape, TensorType, Type
from anyshape.ops.known import (
    ATTENTION,
    BROADCAST,
    CONCAT,
    GATHER,
    IOTA,
    KERNEL,
    RESHAPE,
    SLICE,
    WINDOWS,
)
from anyshape.ops.movement import AxisAttrs, PadAttrs, SliceAttrs, pad
from anyshape.ops.source import ConstantAttrs, IotaAttrs
from anyshape.ops.windows import WindowsAttrs
from anyshape.sym import Dim, Symbol, product

ONE: Final = Dim.of(1)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value has the axis: which of its axes, with how many elements of that before and
    behind each index."""

    axis: int
    outer: Dim = ONE
    inner: Dim = ONE

    def moved(self, axis: int) -> Place:
        return Place(axis, self.outer, self.inner)


Known = Mapping[Value, Place | None]
"""Of each value where it has the axis; None: nowhere."""


def kernels_of_the_whole(graph: Graph, symbol: Symbol) -> frozenset[Node] | Refusal:
    """The kernels that are run once, if all others can be run in parts along the axis of a symbol;
    or why they cannot.

    Inputs and results that have the axis then have it first, so that a part is one stretch of
    memory.
    """
    params = [_first(type_, symbol) for type_ in graph.body.params]
    for name, found in zip(graph.inputs, params, strict=True):
        if isinstance(found, Refusal):
            return Refusal(f"input '{name}': {found}")
    places = [found for found in params if not isinstance(found, Refusal)]
    whole = _Whole(symbol)
    found = _results(graph.body, places, symbol, whole)
    if isinstance(found, Refusal):
        return found
    for number, (place, value) in enumerate(zip(found, graph.results, strict=True)):
        if _mentions(value.type, symbol) and (place is None or place.axis or place.outer != ONE):
            return Refusal(f"result {number} does not have it first")
    return frozenset(whole.kernels)


def has_axis(type_: Type, symbol: Symbol) -> bool:
    """Whether a value has the axis, if the graph can be run in parts along it."""
    return isinstance(type_, TensorType) and _mentions(type_, symbol)


def _first(type_: Type, symbol: Symbol) -> Place | Refusal | None:
    if not isinstance(type_, TensorType):
        return Refusal("it is no tensor")
    if not _mentions(type_, symbol):
        return None
    if type_.shape[0] != Dim.of(symbol) or _count(type_.shape, symbol) > 1:
        return Refusal("does not have it as its first axis alone")
    return Place(0)


def _mentions(type_: Type, symbol: Symbol) -> bool:
    return isinstance(type_, TensorType) and symbol in type_.symbols


def _count(shape: Shape, symbol: Symbol) -> int:
    return sum(symbol in dim.symbols for dim in shape)


# --- regions --------------------------------------------------------------------------------------


class _Whole:
    """What is there for the whole axis at once: inputs, constants, names of them, and what kernels
    compute from these, if no other kernel needs it."""

    def __init__(self, symbol: Symbol) -> None:
        self.symbol = symbol
        self.kernels: dict[Node, None] = {}
        self._values: set[Value] = set()
        self._computed: set[Value] = set()

    def note(self, node: Node) -> None:
        """Names of what is there, and constants, are there, too."""
        source = node.op is PARAM or isinstance(node.attrs, ConstantAttrs)
        named = node.op.has(Trait.ALIAS) and self._values.issuperset(node.operands)
        if source or named:
            self._values.update(node.results)
        if named and not self._computed.isdisjoint(node.operands):
            self._computed.update(node.results)

    def reads(self, node: Node) -> bool:
        """Whether a node reads what a kernel of the whole computes."""
        return not self._computed.isdisjoint(node.operands)

    def takes(self, node: Node) -> bool:
        """Whether a kernel can be run once, on the whole; it then is."""
        there = node.op is KERNEL and self._values.issuperset(node.operands)
        if not there or any(_mentions(value.type, self.symbol) for value in node.results):
            return False
        self.kernels[node] = None
        self._values.update(node.results)
        self._computed.update(node.results)
        return True


def _results(
    region: Region,
    params: Sequence[Place | None],
    symbol: Symbol,
    whole: _Whole | None = None,
) -> list[Place | None] | Refusal:
    """Where each result has the axis. With `whole`, of a graph, which may have kernels of it."""
    known: dict[Value, Place | None] = {}
    for node in region.nodes():
        if whole is not None:
            whole.note(node)
        if node.op is PARAM:
            known[node.result()] = params[param_index(node)]
            continue
        found = _node(node, known, symbol)
        if whole is not None and (whole.reads(node) or isinstance(found, Refusal)):
            named = node.op.has(Trait.ALIAS) and whole.reads(node)
            if named or whole.takes(node):
                known.update(dict.fromkeys(node.results))
                continue
            if whole.reads(node):
                return Refusal(f"{node.op.name}: it needs what sees the whole axis")
        if isinstance(found, Refusal):
            return found
        for value, place in zip(node.results, found, strict=True):
            if not _is_there(value.type, place, symbol):
                return Refusal(f"{node.op.name}: a size of its result depends on it")
            known[value] = place
    return [known[value] for value in region.results]


def _is_there(type_: Type, place: Place | None, symbol: Symbol) -> bool:
    """Whether a value has the axis where it should, and nowhere else."""
    if place is None or not isinstance(type_, TensorType):
        return place is None and not _mentions(type_, symbol)
    size = place.outer * place.inner * Dim.of(symbol)
    return type_.shape[place.axis] == size and _count(type_.shape, symbol) == 1


def _node(node: Node, known: Known, symbol: Symbol) -> Sequence[Place | None] | Refusal:
    """Where each result has the axis."""
    if not all(isinstance(value.type, TensorType) for value in (*node.operands, *node.results)):
        return Refusal(f"{node.op.name}: it has values that are no tensors")
    if node.op is KERNEL:
        return _results(node.regions[0], [known[value] for value in node.operands], symbol)
    if node.regions or node.late or node.op.has(Trait.EFFECT):
        return Refusal(f"{node.op.name}: nothing is known of its elements")
    rule = _RULES.get(node.op)
    if rule is not None:
        place = rule(node, known, symbol)
        return place if isinstance(place, Refusal) else [place]
    if any(symbol in dim.symbols for dim in attr_dims(node.attrs)):
        return Refusal(f"{node.op.name}: it computes with the size")
    if all(known[value] is None for value in node.operands):
        return [None] * len(node.results)
    links = node.op.links([value.tensor.shape for value in node.operands], node.attrs)
    place = _linked(node, known, links or ())
    return place if isinstance(place, Refusal) else [place] * len(node.results)


def _mixes(node: Node) -> Refusal:
    return Refusal(f"{node.op.name}: elements along it meet, as far as is known")


# --- ops that say what they do --------------------------------------------------------------------


def _linked(node: Node, known: Known, links: Sequence[Link]) -> Place | Refusal:
    """All operands that have the axis go along it together, each element for itself."""
    having = {n: place for n, value in enumerate(node.operands) if (place := known[value])}
    for link in links:
        if {n for n, place in having.items() if link.axes[n] == place.axis} != having.keys():
            continue
        others = [n for n, axis in enumerate(link.axes) if axis is not None and n not in having]
        parts = {(place.outer, place.inner) for place in having.values()}
        alone = len(parts) == 1 and not others
        if _keeps_apart(node, link) and link.result is not None and alone:
            return next(iter(having.values())).moved(link.result)
    return _mixes(node)


def _keeps_apart(node: Node, link: Link) -> bool:
    """Indices of a gather are each for themselves: only what they are filled with matters."""
    chosen = node.op is GATHER and link.axes[0] is None
    return link.sees is Sees.ITSELF or chosen


def _attention(node: Node, known: Known, symbol: Symbol) -> Place | Refusal | None:
    """Batches are each for themselves."""
    having = [(value, place) for value in node.operands if (place := known[value])]
    rank = node.operands[0].tensor.rank
    if any(symbol in dim.symbols for dim in attr_dims(node.attrs)):
        return Refusal(f"{node.op.name}: it computes with the size")
    if not having:
        return None
    first = having[0][1].moved(0)
    aligned = all(place.moved(place.axis + rank - v.tensor.rank) == first for v, place in having)
    batched = rank > 2 and all(map(known.get, node.operands[:3]))
    return first if aligned and batched else _mixes(node)


# --- ops that move elements -----------------------------------------------------------------------


def _reshape(node: Node, known: Known, symbol: Symbol) -> Place | Refusal | None:
    """Elements keep their order, so that as many follow each index as before."""
    (operand,), shape = node.operands, node.result().tensor.shape
    place = known[operand]
    if place is None:
        return None
    behind = place.inner * product(operand.tensor.shape[place.axis + 1 :])
    return _with_behind(shape, behind, symbol) or _mixes(node)


def _with_behind(shape: Shape, behind: Dim, symbol: Symbol) -> Place | None:
    """Where a shape has the axis, if so many elements follow each index."""
    if _count(shape, symbol) != 1:
        return None
    (axis,) = (axis for axis, dim in enumerate(shape) if symbol in dim.symbols)
    after = product(shape[axis + 1 :])
    rest = shape[axis].substitute({symbol: ONE})
    if shape[axis] != rest * Dim.of(symbol):
        return None
    if behind == after * rest:
        return Place(axis, ONE, rest)
    return Place(axis, rest, ONE) if behind == after else None


def _broadcast(node: Node, known: Known, symbol: Symbol) -> Place | Refusal | None:
    """An axis that it adds has the same everywhere."""
    (operand,), shape = node.operands, node.result().tensor.shape
    place, rank = known[operand], operand.tensor.rank
    if place is not None:
        moved = place.moved(place.axis + len(shape) - rank)
        same = shape[moved.axis] == operand.tensor.shape[place.axis]
        return moved if same and _count(shape, symbol) == 1 else _mixes(node)
    return _anywhere(node, shape, symbol)


def _anywhere(node: Node, shape: Shape, symbol: Symbol) -> Place | Refusal | None:
    """Of a value that is the same at each index."""
    if not _count(shape, symbol):
        return None
    for axis, dim in enumerate(shape):
        if dim == Dim.of(symbol) and _count(shape, symbol) == 1:
            return Place(axis)
    return _mixes(node)


def _iota(node: Node, known: Known, symbol: Symbol) -> Place | Refusal | None:
    attrs = node.attrs_as(IotaAttrs)
    if symbol in attrs.shape[attrs.axis].symbols:
        return Refusal("iota: it counts along it")
    return _anywhere(node, attrs.shape, symbol)


def _slice(node: Node, known: Known, symbol: Symbol) -> Place | Refusal | None:
    attrs, place = node.attrs_as(SliceAttrs), known[node.operands[0]]
    if place is None:
        dims = attr_dims(attrs)
        return _mixes(node) if any(symbol in dim.symbols for dim in dims) else None
    axis, shape = place.axis, node.operands[0].tensor.shape
    whole = attrs.starts[axis] == 0 and attrs.stops[axis] == shape[axis] and attrs.steps[axis] == 1
    others = [
        dim
        for number, bounds in enumerate(zip(attrs.starts, attrs.stops, strict=True))
        for dim in bounds
        if number != axis
    ]
    return place if whole and not any(symbol in dim.symbols for dim in others) else _mixes(node)


def _pad(node: Node, known: Known, symbol: Symbol) -> Place | Refusal | None:
    attrs, place = node.attrs_as(PadAttrs), known[node.operands[0]]
    sized = any(symbol in dim.symbols for dim in attr_dims(attrs))
    if sized or known[node.operands[1]] is not None:
        return _mixes(node)
    if place is not None and (attrs.low[place.axis] != 0 or attrs.high[place.axis] != 0):
        return _mixes(node)
    return place


def _windows(node: Node, known: Known, symbol: Symbol) -> Place | Refusal | None:
    attrs, place = node.attrs_as(WindowsAttrs), known[node.operands[0]]
    if any(symbol in dim.symbols for dim in attr_dims(attrs)):
        return _mixes(node)
    first = node.operands[0].tensor.rank - len(attrs.counts)
    return _mixes(node) if place is not None and place.axis >= first else place


def _concat(node: Node, known: Known, symbol: Symbol) -> Place | Refusal | None:
    places = {known[value] for value in node.operands}
    if len(places) > 1:
        return _mixes(node)
    (place,) = places
    along = node.attrs_as(AxisAttrs).axis
    return _mixes(node) if place is not None and place.axis == along else place


Rule = Callable[[Node, Known, Symbol], Place | Refusal | None]

_RULES: Final[Mapping[AnyOp, Rule]] = {
    ATTENTION: _attention,
    BROADCAST: _broadcast,
    CONCAT: _concat,
    IOTA: _iota,
    RESHAPE: _reshape,
    pad: _pad,
    SLICE: _slice,
    WINDOWS: _windows,
}
