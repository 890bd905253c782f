"""Lowering one region: which scalar stands at which index of which value.

`Lowering.at(value, index)` is the heart: it inlines producers, so index-mapped ops (transpose,
slice, broadcast, …) cost nothing and elementwise chains become straight-line code. Every computed
scalar is named by a `Let` in the outermost loop whose indices it needs: what does not depend on the
inner loop is computed outside of it, and what is used twice is computed once.

Chains of elementwise ops are walked with a stack of their own: they may be longer than Python's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import assert_never

from anyshape.base.errors import MissingRuleError
from anyshape.ir.node import Node, Region, Value
from anyshape.ir.opdef import PARAM, Trait, param_index
from anyshape.ir.types import DType, Shape
from anyshape.loop import (
    Accumulator,
    Apply,
    Bind,
    Buffer,
    For,
    Guard,
    Let,
    Literal,
    Load,
    Local,
    Number,
    Scalar,
    Statement,
    Update,
)
from anyshape.loop.ir import Index
from anyshape.sym import (
    Answer,
    Dim,
    Equal,
    FactScope,
    LessEqual,
    Predicate,
    Symbol,
    is_at_most,
    minimum,
)
from anyshape.sym.factor import Bcast, Min

Conditions = tuple[Predicate, ...]
Read = tuple[Value, Index, Conditions]
"""An element of a value: `Lowering.at` names its scalar."""


@dataclass
class Level:
    """A loop under construction: the indices it brings, and its statements so far."""

    indices: set[Symbol]
    body: list[Statement] = field(default_factory=list[Statement])


class Lowering:
    """The scalars of one region."""

    def __init__(
        self,
        region: Region,
        buffers: Sequence[Buffer],
        scope: FactScope,
        given: Mapping[Value, Buffer] | None = None,
    ) -> None:
        self.region = region
        self.buffers = buffers
        self.given = given or {}  # values that are computed elsewhere, perhaps in a wider dtype
        self.scope = scope
        self.levels = [Level(set())]
        self._numbers = count()
        self._made: dict[Read, Scalar] = {}
        self._needs: dict[str, frozenset[Symbol]] = {}  # indices a local depends on
        self._behind: dict[Symbol, frozenset[Symbol]] = {}  # those that an index from data does
        self.totals: list[Accumulator] = []  # of the loop that cumulative ops walk
        self.reduced: list[frozenset[Symbol]] = []  # for each reduction, those it depends on
        self._of_rows = _made_of_reductions(region)

    # --- scalars ------------------------------------------------------------------------------

    def at(self, value: Value, index: Index, conditions: Conditions = ()) -> Scalar:
        """The element of `value` at `index`; loads happen only where `conditions` hold."""
        read = self._read(value, index, conditions)
        if read not in self._made:
            self._make_with_operands(read)
        return self._made[read]

    def _read(self, value: Value, index: Index, conditions: Conditions) -> Read:
        """Of what is made of reductions, under those of the conditions that its index is under:
        what a row is reduced to is the same wherever in the row it is needed, and so computed once.
        """
        if not conditions or value.node not in self._of_rows:
            return value, index, conditions
        sizes = zip(index, value.tensor.shape, strict=True)
        if any(not i.symbols and size != 1 for i, size in sizes):
            return value, index, conditions  # perhaps of no elements: nothing may be read there
        inside = self._plain(frozenset[Symbol]().union(*(i.symbols for i in index)))
        about = (test for test in conditions if not test.symbols.isdisjoint(inside))
        return value, index, tuple(about)

    def _make_with_operands(self, read: Read) -> None:
        """What elementwise ops read comes before them, from left to right."""
        stack = [(read, iter(self._reads(read)))]
        while stack:
            current, operands = stack[-1]
            missing = next((other for other in operands if other not in self._made), None)
            if missing is None:
                self._made[current] = self._make(*current)
                stack.pop()
            else:
                stack.append((missing, iter(self._reads(missing))))

    def _reads(self, read: Read) -> list[Read]:
        value, index, conditions = read
        is_elementwise = value.node.op.has(Trait.ELEMENTWISE) and value not in self.given
        return self.operand_reads(value.node, index, conditions) if is_elementwise else []

    def operand_reads(self, node: Node, index: Index, conditions: Conditions) -> list[Read]:
        """What an elementwise op reads for one element of its result."""
        shape = node.result().tensor.shape
        indices = (self.operand_index(x.tensor.shape, shape, index) for x in node.operands)
        return [self._read(x, i, conditions) for x, i in zip(node.operands, indices, strict=True)]

    def _make(self, value: Value, index: Index, conditions: Conditions) -> Scalar:
        node = value.node
        if value in self.given:
            return self.cast(self.let(Load(self.given[value], index)), value.tensor.dtype)
        if node.op is not PARAM:
            return rule_of(node)(self, node, index, conditions)
        load = self.load(value, index)
        return self.let(Guard(conditions, load, Literal.of(0, load.dtype)) if conditions else load)

    def is_loaded(self, value: Value) -> bool:
        """Whether it is a parameter, whose elements are in memory as they are."""
        return value.node.op is PARAM and value not in self.given

    def load(self, param: Value, index: Index) -> Load:
        """An element of a parameter, without a name and without a test."""
        return Load(self.buffers[param_index(param.node)], index)

    def apply(self, op: str, args: Sequence[Scalar], dtype: DType) -> Scalar:
        return self.let(Apply(op, tuple(args), dtype))

    def cast(self, value: Scalar, dtype: DType) -> Scalar:
        """The value in this dtype, if it is not already."""
        return value if value.dtype == dtype else self.apply("cast", (value,), dtype)

    def let(self, value: Scalar) -> Local:
        """Names a scalar, in the outermost loop where everything it needs is known."""
        local = Local(f"v{next(self._numbers)}", value.dtype)
        self._needs[local.name] = self.needs(value)
        self._level_for(self._needs[local.name]).body.append(Let(local, value))
        return local

    def bind(self, value: Scalar, extent: Dim) -> Dim:
        """An index that data decides."""
        symbol = Symbol(f"g{next(self._numbers)}")
        needed = self.needs(value)
        self._behind[symbol] = self._plain(needed)
        level = self._level_for(needed)
        level.body.append(Bind(symbol, value, extent))
        level.indices.add(symbol)
        return Dim.of(symbol)

    def needs(self, value: Scalar) -> frozenset[Symbol]:
        """The loop indices that a scalar depends on."""
        match value:
            case Load(_, index):
                return self._indices(index)
            case Number(dim):
                return self._indices((dim,))
            case Local(name, _):
                return self._needs[name]
            case Apply(_, args, _):
                return frozenset[Symbol]().union(*map(self.needs, args))
            case Guard(conditions, inside, outside):
                sides = [dim for test in conditions for dim in test.sides]
                return self._indices(sides) | self.needs(inside) | self.needs(outside)
            case Literal():
                return frozenset()
            case _:
                assert_never(value)

    def _indices(self, dims: Sequence[Dim]) -> frozenset[Symbol]:
        loops = frozenset[Symbol]().union(*(level.indices for level in self.levels))
        return frozenset[Symbol]().union(*(dim.symbols for dim in dims)) & loops

    def _plain(self, needed: frozenset[Symbol]) -> frozenset[Symbol]:
        """Indices of loops only: for those that data decide, what the data depend on."""
        nothing = frozenset[Symbol]()
        return nothing.union(*(self._behind.get(symbol, {symbol}) for symbol in needed))

    def _level_for(self, needed: frozenset[Symbol]) -> Level:
        return self.levels[self._depth_for(needed)]

    def _depth_for(self, needed: frozenset[Symbol]) -> int:
        depths = [d for d, level in enumerate(self.levels) if level.indices & needed]
        return max(depths, default=0)

    # --- loops --------------------------------------------------------------------------------

    def accumulate(
        self,
        op: str,
        dtype: DType,
        extents: Sequence[Dim],
        index: Index,
        element: Callable[[list[Dim]], Scalar],
    ) -> Scalar:
        """Combines `element` over new loops, in the outermost place where `index` is known."""
        result = self.accumulate_if(lambda _: True, op, dtype, extents, index, element)
        assert result is not None
        return result

    def accumulate_if(
        self,
        suits: Callable[[Statement], bool],
        op: str,
        dtype: DType,
        extents: Sequence[Dim],
        index: Index,
        element: Callable[[list[Dim]], Scalar],
    ) -> Scalar | None:
        """The same, unless the outermost of the loops does not suit: then there is none."""
        around, needed = self.levels, self._indices(index)
        self.reduced.append(self._plain(needed))
        self.levels = around[: self._depth_for(needed) + 1]
        result = self._nest(op, dtype, extents, [], element)
        body = self.levels[-1].body
        self.levels = around
        if extents and not suits(body[-1]):
            body.pop()
            return None
        if isinstance(result, Local):
            self._needs[result.name] = needed
        return result

    def _nest(
        self,
        op: str,
        dtype: DType,
        extents: Sequence[Dim],
        chosen: list[Dim],
        element: Callable[[list[Dim]], Scalar],
    ) -> Scalar:
        if not extents:
            return element(chosen)
        symbol, total = self.symbol("k"), Local(f"v{next(self._numbers)}", dtype)
        self._needs[total.name] = frozenset()
        level = Level({symbol})
        self.levels.append(level)
        value = self._nest(op, dtype, extents[1:], [*chosen, Dim.of(symbol)], element)
        level.body.append(Update(total, value))
        self.levels.pop()
        innermost = len(extents) == 1
        loop = For(
            symbol, extents[0], tuple(level.body), (Accumulator(total, op),), vector=innermost
        )
        self.levels[-1].body.append(loop)
        return total

    def running(self, op: str, value: Scalar, *, exclusive: bool) -> Local:
        """What the iterations of the innermost loop have combined before this value, or with it."""
        level, total = self.levels[-1], Local(f"v{next(self._numbers)}", value.dtype)
        self.totals.append(Accumulator(total, op))
        self._needs[total.name] = frozenset(level.indices)
        if exclusive:
            before = self.let(total)
            level.body.append(Update(total, value))
            return before
        level.body.append(Update(total, value))
        return self.let(total)

    def symbol(self, prefix: str) -> Symbol:
        """A new loop index."""
        return Symbol(f"{prefix}{next(self._numbers)}")

    # --- sizes --------------------------------------------------------------------------------

    def operand_index(self, operand: Shape, result: Shape, index: Index) -> Index:
        """Where an operand that broadcasts to `result` is read: axes align right."""
        offset = len(result) - len(operand)
        axes = zip(operand, result[offset:], index[offset:], strict=True)
        return tuple(self._broadcast_index(*axis) for axis in axes)

    def _broadcast_index(self, operand: Dim, result: Dim, index: Dim) -> Dim:
        if operand == 1:
            return Dim.of(0)
        if is_at_most(result, operand):  # it is the result's size, or 1 and there is one index
            return index
        for enough in (Equal(operand, result), LessEqual(result, operand)):
            if self.scope.proves(enough) is Answer.TRUE:
                return index
        return clamped_index(index, operand)  # a size of 1 or of the result: only the run knows


def clamped_index(index: Dim, operand: Dim) -> Dim:
    """`index`, which is below the size that `operand` broadcasts to, or 0 where that repeats it.

    Where the index is brought below `bcast(operand, …)` first, that says nothing more: the last
    index of an operand is 0, or the same.
    """
    factor = index.factor
    if not isinstance(factor, Min):
        return minimum(index, operand - 1)
    parts = set(_broadcast_parts(operand))
    rest = (arg for arg in factor.args if not parts < set(_broadcast_parts(arg + 1)))
    return minimum(*rest, operand - 1)


def _broadcast_parts(size: Dim) -> tuple[Dim, ...]:
    return size.factor.args if isinstance(size.factor, Bcast) else (size,)


def _made_of_reductions(region: Region) -> frozenset[Node]:
    """Reductions, and what is computed from them."""
    found = set[Node]()
    for node in region.nodes():
        if node.op.has(Trait.REDUCTION) or any(value.node in found for value in node.operands):
            found.add(node)
    return frozenset(found)


IndexRule = Callable[[Lowering, Node, Index, Conditions], Scalar]

RULES: dict[str, IndexRule] = {}


def rule_of(node: Node) -> IndexRule:
    found = RULES.get(node.op.name)
    if found is None:
        raise MissingRuleError(node.op.name, "lowering rule")
    return found


def rule(name: str) -> Callable[[IndexRule], IndexRule]:
    """Registers the index rule of an op."""

    def add(function: IndexRule) -> IndexRule:
        RULES[name] = function
        return function

    return add
