"""Divided regions, ready to run: a tree of plans that say what happens in which order.

A *slot* holds one value while a region runs: first the parameters, then the constants, then what
the steps compute. A step is a segment, which is one native program, or a host node with the plans
of its regions.

Sizes need no slots. A segment solves its symbols from the shapes of its operands, like any other
program; those that are no axis of an operand are told by operands of their own, of shape [n, 0]:
they have a size and no memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Set
from dataclasses import dataclass, replace
from itertools import count

import numpy as np

from anyshape.execute.executor import Executor
from anyshape.ir.attrs import NO_ATTRS
from anyshape.ir.graph import Graph
from anyshape.ir.inputs import entry_plan
from anyshape.ir.interpret import TOKEN_VALUE
from anyshape.ir.literal import TensorLiteral
from anyshape.ir.node import Node, Region, Value
from anyshape.ir.opdef import PARAM, lookup, param_index
from anyshape.ir.types import Array, Shape, TensorType, Type, bool_
from anyshape.ops.control import ScanAttrs
from anyshape.ops.known import CONSTANT, KERNEL, SEGMENT
from anyshape.ops.movement import ShapeAttrs
from anyshape.ops.source import ConstantAttrs
from anyshape.passes.native_forms import is_alias, is_source
from anyshape.passes.segments import facts_inside, tensor_params
from anyshape.sym import Dim, Fact, Facts, Symbol

CompileProgram = Callable[[Graph], Executor]
"""Makes one native program of a graph of kernels."""


@dataclass(frozen=True, slots=True)
class SegmentStep:
    """A native program. `axes` names all its symbols, `sizes` those that no operand shows."""

    executor: Executor
    axes: frozenset[str]
    operands: tuple[int, ...]
    sizes: tuple[Symbol, ...]
    results: tuple[int, ...]
    over: tuple[int, ...] = ()  # slots that nothing needs afterwards


@dataclass(frozen=True, slots=True)
class SizeProgram:
    """A program that takes nothing but sizes, those of `symbols`."""

    executor: Executor
    symbols: tuple[Symbol, ...]


@dataclass(frozen=True, slots=True)
class HostStep:
    """A node between segments. `facts` are decided by the sizes that it bears."""

    node: Node
    regions: tuple[RegionPlan, ...]
    operands: tuple[int, ...]
    results: tuple[int, ...]
    facts: tuple[Fact, ...]
    over: tuple[int, ...] = ()
    check: SizeProgram | None = None  # of the facts
    shapes: SizeProgram | None = None  # of an alias: its own; of a scan: its length, its sequences


Step = SegmentStep | HostStep


@dataclass(frozen=True, slots=True)
class RegionPlan:
    """One region. `sizes` are symbols with a parameter and an axis of it that show their size."""

    sizes: tuple[tuple[Symbol, int, int], ...]
    facts: tuple[Fact, ...]  # decided by the parameters
    constants: tuple[Array, ...]
    steps: tuple[Step, ...]
    computed: int  # how many slots the steps fill
    results: tuple[int, ...]
    types: tuple[Type, ...]  # by slot
    check: SizeProgram | None = None  # of the facts; the entry has those of a graph

    @property
    def segments(self) -> Iterator[SegmentStep]:
        """Every segment, inside regions too."""
        for step in self.steps:
            if isinstance(step, SegmentStep):
                yield step
            else:
                for inner in step.regions:
                    yield from inner.segments


def plan_graph(graph: Graph, compile_program: CompileProgram) -> RegionPlan:
    """The plan of a divided graph, its segments compiled. Its first step is the entry, which checks
    the inputs."""
    return _Planner(graph, graph.body, Facts(), compile_program).plan()


class _Planner:
    """The plan of one region; `outer` are the facts around it."""

    def __init__(
        self, graph: Graph, region: Region, outer: Facts, compile_program: CompileProgram
    ) -> None:
        self.graph = graph
        self.region = region
        self.facts = facts_inside(region, outer)
        self.compile_program = compile_program
        self.numbers = count()
        self.slots: dict[Value, int] = {}
        self.waiting = region.facts.facts
        self.unknown = set(region.born)

    def plan(self) -> RegionPlan:
        nodes = self.region.nodes()
        for _ in self.region.params:
            next(self.numbers)
        self.slots.update((n.result(), _position(n)) for n in nodes if n.op is PARAM)
        sources = (node for node in nodes if is_source(node) and node.op is not PARAM)
        constants = tuple(self._constant(node) for node in sources)
        facts = self._decided()
        steps = self._steps(nodes)
        results = tuple(self.slots[value] for value in self.region.results)
        fixed = len(self.region.params) + len(constants)
        computed = next(self.numbers) - fixed
        ending = tuple(_with_endings(steps, {*results, *range(fixed)}))
        inner = self.region is not self.graph.body
        return RegionPlan(
            tuple(_shown(self.region)),
            facts,
            constants,
            ending,
            computed,
            results,
            self._types(),
            self._check(facts) if inner else None,
        )

    def _types(self) -> tuple[Type, ...]:
        by_slot = dict(enumerate(self.region.params))
        by_slot |= {slot: value.type for value, slot in self.slots.items()}
        return tuple(by_slot[slot] for slot in range(len(by_slot)))

    def _constant(self, node: Node) -> Array:
        """The array of a constant, or what stands for a token."""
        self.slots[node.result()] = next(self.numbers)
        if not isinstance(node.attrs, ConstantAttrs):
            return TOKEN_VALUE
        value = node.attrs.value
        return value.array if isinstance(value, TensorLiteral) else self.graph.weights.array(value)

    def _decided(self) -> tuple[Fact, ...]:
        """Facts that wait for no size any more."""
        known = tuple(f for f in self.waiting if not f.predicate.symbols & self.unknown)
        self.waiting = tuple(f for f in self.waiting if f.predicate.symbols & self.unknown)
        return known

    # --- steps --------------------------------------------------------------------------------

    def _steps(self, nodes: list[Node]) -> list[Step]:
        entry = None
        steps: list[Step] = []
        if self.region is self.graph.body:
            entry = next((node for node in nodes if _is_entry(node, self.region)), None)
            steps.append(self._entry(entry))
        for node in nodes:
            if node is not entry and not is_source(node):
                segment = node.op is SEGMENT
                steps.append(self._segment(node) if segment else self._host(node))
        return steps

    def _entry(self, node: Node | None) -> SegmentStep:
        """The entry segment; a graph whose kernels all wait for host nodes has an empty one."""
        params = tensor_params(self.region)
        body = node.regions[0] if node else Region(tuple(v.type for v in params), (), Facts())
        facts = _decided_by(self.region.facts, self.region.born)
        named = zip(self.graph.inputs, self.region.params, strict=True)
        names = tuple(name for name, type_ in named if isinstance(type_, TensorType))
        graph = replace(self.graph, inputs=names, body=replace(body, facts=facts))
        operands = tuple(_position(value.node) for value in params)
        program = self.compile_program(graph)
        return SegmentStep(program, _axes(graph), operands, (), self._results(node))

    def _segment(self, node: Node) -> SegmentStep:
        body = node.regions[0]
        told = tuple(sorted(body.symbols - {symbol for symbol, _, _ in _shown(body)}, key=str))
        params = (*body.params, *(bool_[Dim.of(symbol), 0] for symbol in told))
        names = tuple(f"operand {number}" for number in range(len(params)))
        known = _about(self.facts, body.symbols)
        body = replace(body, params=params, facts=known)
        graph = replace(self.graph, inputs=names, body=body, declared=None)
        operands, results = self._operands(node), self._results(node)
        return SegmentStep(self.compile_program(graph), _axes(graph), operands, told, results)

    def _host(self, node: Node) -> HostStep:
        inner = tuple(map(self._inner_plan, node.regions))
        operands = self._operands(node)
        self.unknown.difference_update(late.symbol for late in node.late)
        facts = self._decided() if node.late else ()
        results = self._results(node)
        check, shapes = self._check(facts), self._shapes(node)
        return HostStep(node, inner, operands, results, facts, (), check, shapes)

    # --- programs of sizes --------------------------------------------------------------------

    def _check(self, facts: tuple[Fact, ...]) -> SizeProgram | None:
        if not facts:
            return None
        symbols = frozenset[Symbol]().union(*(fact.predicate.symbols for fact in facts))
        return self._of_sizes(symbols, (), Facts(_about(self.facts, symbols).axes, facts))

    def _shapes(self, node: Node) -> SizeProgram | None:
        """Tells shapes, each as that of a value with one axis more, which has no elements."""
        shapes = [value.tensor.shape for value in node.results] if is_alias(node) else []
        if isinstance(node.attrs, ScanAttrs):
            stacked = node.results[node.attrs.carried :]
            shapes = [(node.attrs.length,), *(value.tensor.shape for value in stacked)]
        if not shapes:
            return None
        symbols = frozenset[Symbol]().union(*(dim.symbols for shape in shapes for dim in shape))
        return self._of_sizes(symbols, tuple(map(_empty, shapes)), _about(self.facts, symbols))

    def _of_sizes(
        self, symbols: Set[Symbol], results: tuple[Value, ...], facts: Facts
    ) -> SizeProgram:
        told = tuple(sorted(symbols, key=str))
        params = tuple(bool_[Dim.of(symbol), 0] for symbol in told)
        names = tuple(f"size {symbol}" for symbol in told)
        body = Region(params, results, facts)
        graph = replace(self.graph, inputs=names, body=body, declared=None)
        return SizeProgram(self.compile_program(graph), told)

    def _inner_plan(self, region: Region) -> RegionPlan:
        return _Planner(self.graph, region, self.facts, self.compile_program).plan()

    def _operands(self, node: Node) -> tuple[int, ...]:
        return tuple(self.slots[value] for value in node.operands)

    def _results(self, node: Node | None) -> tuple[int, ...]:
        results = node.results if node else ()
        self.slots.update((value, next(self.numbers)) for value in results)
        return tuple(self.slots[value] for value in results)


def _empty(shape: Shape) -> Value:
    """A kernel without work: its result has this shape and one axis more, of size 0."""
    type_ = bool_[(*shape, 0)]
    literal = TensorLiteral.of(np.zeros((), np.bool_))
    zero = Node.make(CONSTANT, (), ConstantAttrs(literal), (literal.type,)).result()
    filled = Node.make(lookup("broadcast"), (zero,), ShapeAttrs(type_.shape), (type_,))
    body = Region((), (filled.result(),), Facts())
    return Node.make(KERNEL, (), NO_ATTRS, (type_,), (body,)).result()


def _axes(graph: Graph) -> frozenset[str]:
    """The names of the sizes that a call of this graph has."""
    return frozenset(step.affine.symbol.name for step in entry_plan(graph).steps)


def _position(param: Node) -> int:
    return param_index(param)


def _is_entry(node: Node, region: Region) -> bool:
    takes_inputs = node.op is SEGMENT and node.operands == tensor_params(region)
    return takes_inputs and not node.all_symbols & region.born


def _shown(region: Region) -> Iterator[tuple[Symbol, int, int]]:
    """Symbols that are an axis of a parameter."""
    for number, type_ in enumerate(region.params):
        for axis, dim in enumerate(type_.shape if isinstance(type_, TensorType) else ()):
            if dim.symbol is not None:
                yield dim.symbol, number, axis


def _about(facts: Facts, symbols: Set[Symbol]) -> Facts:
    """What is known of nothing but these symbols."""
    axes = tuple(axis for axis in facts.axes if axis.symbol in symbols)
    return Facts(axes, tuple(f for f in facts.facts if f.predicate.symbols <= symbols))


def _decided_by(facts: Facts, late: Set[Symbol]) -> Facts:
    """What is known without these symbols."""
    return replace(facts, facts=tuple(f for f in facts.facts if not f.predicate.symbols & late))


def _with_endings(steps: list[Step], kept: Set[int]) -> Iterator[Step]:
    """Each step with the slots whose last use it is, so that memory is given back early."""
    last = {slot: number for number, s in enumerate(steps) for slot in (*s.results, *s.operands)}
    for number, step in enumerate(steps):
        over = (slot for slot in (*step.results, *step.operands) if last[slot] == number)
        yield replace(step, over=tuple(sorted({*over} - kept)))
