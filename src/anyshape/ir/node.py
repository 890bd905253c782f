"""The graph itself: nodes, values and regions.

Nodes are frozen and interned: `Node.make` is the one constructor, and two nodes with the same op,
operands, attributes, regions and types are one object. So equality is identity, common
subexpressions are free, and rewriting builds new nodes beside the old ones.

A region is closed. Its body reaches only its own parameters, so parameters are identified by
position alone and equal regions are equal values. Sizes are not captured: the dims of a region's
types may use the symbols of the scopes around it.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, ClassVar

from anyshape.base.location import Location
from anyshape.ir.attrs import Attrs, attr_dims
from anyshape.ir.types import TensorType, Type
from anyshape.sym import Dim, Facts, Symbol

if TYPE_CHECKING:
    from anyshape.ir.opdef import AnyOp

_LOCK = Lock()


@dataclass(frozen=True, slots=True)
class LateAxis:
    """A symbol born at a node: its size is computed by the graph. `upper` bounds it, if known."""

    symbol: Symbol
    upper: Dim | None = None

    def substitute(self, dims: Mapping[Symbol, Dim]) -> LateAxis:
        symbol = dims[self.symbol].symbol if self.symbol in dims else self.symbol
        assert symbol is not None, "a late axis can be renamed, not replaced by an expression"
        return LateAxis(symbol, None if self.upper is None else self.upper.substitute(dims))

    def __str__(self) -> str:
        return str(self.symbol) if self.upper is None else f"{self.symbol} <= {self.upper}"


class Node:
    """One application of an op. Made by `Node.make` only; compare with `is`."""

    __slots__ = ("__weakref__", "attrs", "late", "op", "operands", "regions", "types")

    op: AnyOp
    operands: tuple[Value, ...]
    attrs: Attrs
    regions: tuple[Region, ...]
    late: tuple[LateAxis, ...]
    types: tuple[Type, ...]

    _interned: ClassVar[weakref.WeakValueDictionary[object, Node]] = weakref.WeakValueDictionary()

    @staticmethod
    def make(
        op: AnyOp,
        operands: Iterable[Value],
        attrs: Attrs,
        types: Iterable[Type],
        regions: Iterable[Region] = (),
        late: Iterable[LateAxis] = (),
    ) -> Node:
        parts = (tuple(operands), attrs, tuple(types), tuple(regions), tuple(late))
        key = (op.name, *parts)
        found = Node._interned.get(key)
        if found is not None:
            return found
        node = object.__new__(Node)
        node.op = op
        node.operands, node.attrs, node.types, node.regions, node.late = parts
        with _LOCK:
            return Node._interned.setdefault(key, node)

    def result(self, index: int = 0) -> Value:
        return Value(self, index)

    @property
    def results(self) -> tuple[Value, ...]:
        return tuple(Value(self, index) for index in range(len(self.types)))

    @property
    def symbols(self) -> frozenset[Symbol]:
        """Symbols in its attributes and result types (not those inside its regions)."""
        dims = (symbol for dim in attr_dims(self.attrs) for symbol in dim.symbols)
        return frozenset(dims).union(*(type_.symbols for type_ in self.types))

    def __repr__(self) -> str:
        return f"{self.op.name} : {', '.join(map(str, self.types))}"


@dataclass(frozen=True, slots=True)
class Value:
    """One result of a node."""

    node: Node
    index: int = 0

    @property
    def type(self) -> Type:
        return self.node.types[self.index]

    @property
    def tensor(self) -> TensorType:
        """The type, where only a tensor makes sense."""
        assert isinstance(self.type, TensorType), f"{self!r} is not a tensor"
        return self.type


@dataclass(frozen=True, slots=True)
class Region:
    """A closed body: parameter types, results, and the facts that hold inside."""

    params: tuple[Type, ...]
    results: tuple[Value, ...]
    facts: Facts

    @property
    def result_types(self) -> tuple[Type, ...]:
        return tuple(value.type for value in self.results)

    @property
    def born(self) -> frozenset[Symbol]:
        """Symbols whose sizes nodes of this region compute."""
        return frozenset(late.symbol for node in self.nodes() for late in node.late)

    def nodes(self) -> list[Node]:
        """All nodes in an order where operands come first; parameters included."""
        return topological(value.node for value in self.results)


class Locations:
    """Side table: where in the user's program a node was first written."""

    def __init__(self) -> None:
        self._places: weakref.WeakKeyDictionary[Node, Location] = weakref.WeakKeyDictionary()

    def record(self, node: Node, place: Location | None) -> None:
        if place is not None:
            self._places.setdefault(node, place)

    def of(self, node: Node) -> Location | None:
        return self._places.get(node)


def topological(roots: Iterable[Node]) -> list[Node]:
    """Depth-first, operands before users, in the order results name them (no recursion)."""
    order: list[Node] = []
    seen: set[Node] = set()
    stack: list[tuple[Node, Iterator[Value]]] = []
    for root in roots:
        _enter(root, seen, stack)
        while stack:
            node, operands = stack[-1]
            operand = next(operands, None)
            if operand is None:
                order.append(node)
                stack.pop()
            else:
                _enter(operand.node, seen, stack)
    return order


def _enter(node: Node, seen: set[Node], stack: list[tuple[Node, Iterator[Value]]]) -> None:
    if node not in seen:
        seen.add(node)
        stack.append((node, iter(node.operands)))
