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
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar

from anyshape.base.fork_lock import fork_lock
from anyshape.base.location import Location
from anyshape.ir.attrs import A, Attrs, attr_dims
from anyshape.ir.types import TensorType, Type
from anyshape.sym import Dim, Facts, Symbol

if TYPE_CHECKING:
    from anyshape.ir.opdef import AnyOp

_LOCK = fork_lock()


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

    __slots__ = ("__weakref__", "_symbols", "attrs", "late", "op", "operands", "regions", "types")

    op: AnyOp
    operands: tuple[Value, ...]
    attrs: Attrs
    regions: tuple[Region, ...]
    late: tuple[LateAxis, ...]
    types: tuple[Type, ...]
    _symbols: frozenset[Symbol] | None  # found when asked for: every pass asks for all of them

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
        key = (op, *parts)
        found = Node._interned.get(key)
        if found is not None:
            return found
        node = object.__new__(Node)
        node.op = op
        node._symbols = None
        node.operands, node.attrs, node.types, node.regions, node.late = parts
        with _LOCK:
            return Node._interned.setdefault(key, node)

    def attrs_as(self, record: type[A]) -> A:
        """The attributes, where only a record of this type makes sense."""
        assert isinstance(self.attrs, record), f"{self!r} has no {record.__name__}"
        return self.attrs

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

    @property
    def all_symbols(self) -> frozenset[Symbol]:
        """Symbols that it mentions anywhere, inside its regions too."""
        if self._symbols is None:
            uppers = (late.upper.symbols for late in self.late if late.upper is not None)
            inner = (region.symbols for region in self.regions)
            self._symbols = self.symbols.union(*uppers, *inner)
        return self._symbols

    def __copy__(self) -> Node:
        return self  # there is one of each

    def __deepcopy__(self, memo: object) -> Node:
        return self

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
    """A closed body: parameter types, results, and the facts that hold inside.

    `size_bearers` are nodes that no result reads but whose late sizes something here uses.

    What is found by a walk over the nodes is found once: every pass asks for it, for each kernel.
    """

    params: tuple[Type, ...]
    results: tuple[Value, ...]
    facts: Facts
    size_bearers: tuple[Node, ...] = ()
    _order: tuple[Node, ...] | None = field(default=None, init=False, repr=False, compare=False)
    _symbols: frozenset[Symbol] | None = field(default=None, init=False, repr=False, compare=False)

    @property
    def result_types(self) -> tuple[Type, ...]:
        return tuple(value.type for value in self.results)

    @property
    def symbols(self) -> frozenset[Symbol]:
        """Symbols mentioned by its parameters and nodes, at any depth."""
        if self._symbols is None:
            params = (type_.symbols for type_ in self.params)
            nodes = (node.all_symbols for node in self._order or self._walk())
            object.__setattr__(self, "_symbols", frozenset[Symbol]().union(*params, *nodes))
        assert self._symbols is not None
        return self._symbols

    def with_facts(self, facts: Facts) -> Region:
        """The same nodes under other facts: what was found out about the nodes still holds."""
        new = replace(self, facts=facts)
        object.__setattr__(new, "_order", self._order)
        object.__setattr__(new, "_symbols", self._symbols)
        return new

    @property
    def born(self) -> frozenset[Symbol]:
        """Symbols whose sizes nodes of this region compute."""
        return frozenset(late.symbol for node in self.nodes() for late in node.late)

    def nodes(self) -> list[Node]:
        """All nodes, parameters included: operands first, and sizes before their uses."""
        if self._order is None:
            object.__setattr__(self, "_order", tuple(self._ordered()))
        assert self._order is not None
        return list(self._order)

    def _walk(self, needed: Callable[[Node], Iterator[Node]] | None = None) -> list[Node]:
        roots = [*(value.node for value in self.results), *self.size_bearers]
        return topological(roots, needed or operand_nodes)

    def _ordered(self) -> list[Node]:
        order = self._walk()
        bearers = {late.symbol: node for node in order for late in node.late}
        if not bearers:
            return order

        def needed(node: Node) -> Iterator[Node]:
            sizes = (bearers[symbol] for symbol in bearers if symbol in node.all_symbols)
            yield from (bearer for bearer in sizes if bearer is not node)
            yield from operand_nodes(node)

        return self._walk(needed)


def keeping_sizes(region: Region, bearers: Mapping[Symbol, Node]) -> Region:
    """The region with those bearers that are needed, if only for the sizes they compute."""
    bare = replace(region, size_bearers=())
    while bearers:
        missing = bare.symbols & bearers.keys() - bare.born
        if not missing:
            break
        more = dict.fromkeys(bearers[symbol] for symbol in sorted(missing, key=str))
        bare = replace(bare, size_bearers=(*bare.size_bearers, *more))
    return bare


def operand_nodes(node: Node) -> Iterator[Node]:
    return iter([value.node for value in node.operands])


class Locations:
    """Side table: where in the user's program a node was first written."""

    def __init__(self) -> None:
        self._locations: weakref.WeakKeyDictionary[Node, Location] = weakref.WeakKeyDictionary()

    def record(self, node: Node, location: Location | None) -> None:
        if location is not None:
            self._locations.setdefault(node, location)

    def of(self, node: Node) -> Location | None:
        return self._locations.get(node)


def topological(
    roots: Iterable[Node], needed: Callable[[Node], Iterator[Node]] = operand_nodes
) -> list[Node]:
    """Depth-first, needed nodes before users, in the order roots name them (no recursion)."""
    order: list[Node] = []
    seen: set[Node] = set()
    stack: list[tuple[Node, Iterator[Node]]] = []
    for root in roots:
        if root in seen:
            continue
        seen.add(root)
        stack.append((root, needed(root)))
        while stack:
            node, rest = stack[-1]
            for other in rest:
                if other not in seen:
                    seen.add(other)
                    stack.append((other, needed(other)))
                    break
            else:
                order.append(node)
                stack.pop()
    return order
