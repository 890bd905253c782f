"""The interpreter: the definition of what a graph means.

Plain and slow on purpose. It evaluates node after node with the ops' NumPy references, expands
compounds by their decompositions, binds late axes where they are born, and compares every result
with the type that was inferred for it: a disagreement is a defect, reported as such.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from anyshape.base.errors import (
    DTypeError,
    EvaluationError,
    FactViolationError,
    OperandError,
    VerifyError,
)
from anyshape.ir.attrs import Attrs, map_dims
from anyshape.ir.build import decomposition
from anyshape.ir.graph import Graph
from anyshape.ir.inputs import entry_plan, tensor_inputs
from anyshape.ir.literal import WeightStore
from anyshape.ir.node import LateAxis, Locations, Node, Region, Value
from anyshape.ir.opdef import PARAM, Call, param_index
from anyshape.ir.types import Array, TensorType, Type, dtype_of
from anyshape.sym import Dim, Fact, Symbol, axis_rule

Observer = Callable[[Node, tuple[Array, ...], dict[Symbol, int]], None]
"""Called with each node, its results and the sizes known by then."""

RunRegion = Callable[[int, Sequence[Array], dict[Symbol, int]], tuple[Array, ...]]
"""Runs region i of a node on arguments, at the sizes known around it."""

TOKEN_VALUE = np.zeros((), np.bool_)
"""What stands for a token while evaluating; nobody reads it."""


def evaluate(graph: Graph, *arrays: Array, observe: Observer | None = None) -> tuple[Array, ...]:
    """Runs `graph`; tokens are left out of `arrays` and of the results."""
    check_inputs(graph, arrays)
    binding = entry_plan(graph).solve([array.shape for array in arrays])
    machine = Interpreter(graph.weights, graph.locations, observe, postpones=bool(graph.checks))
    given = iter(arrays)
    args = [
        next(given) if isinstance(type_, TensorType) else TOKEN_VALUE for type_ in graph.body.params
    ]
    results = machine.run(graph.body, args, dict(binding))
    if machine.postponed is not None and results[-1][0] < 0:
        raise machine.postponed
    return tuple(
        array
        for array, value in zip(results, graph.results, strict=True)
        if isinstance(value.type, TensorType)
    )


def check_inputs(graph: Graph, arrays: Sequence[Array]) -> None:
    """As many arrays as inputs, of their dtypes."""
    inputs = tensor_inputs(graph)
    if len(arrays) != len(inputs):
        signature = f"{graph.name}({', '.join(name for name, _ in inputs)})"
        problem = f"got {len(arrays)} arrays, expected {len(inputs)}"
        raise OperandError(f"graph '{graph.name}'", problem, signature)
    for (name, type_), array in zip(inputs, arrays, strict=True):
        found = dtype_of(array, f"input '{name}'")
        if found != type_.dtype:
            fix = f"pass {name}.astype('{type_.dtype.numpy}')"
            raise DTypeError(f"input '{name}'", str(type_.dtype), str(found), fix)


class Interpreter:
    """Evaluates regions; holds what is common to all of them.

    One that `postpones` takes zeros for what an op cannot compute, as the checks of the graph say
    better what is wrong: with the model's own index, for one.
    """

    def __init__(
        self,
        weights: WeightStore,
        locations: Locations,
        observe: Observer | None = None,
        *,
        postpones: bool = False,
    ) -> None:
        self._weights = weights
        self._locations = locations
        self._observe = observe
        self._postpones = postpones
        self.postponed: EvaluationError | None = None

    def run(
        self, region: Region, args: Sequence[Array], sizes: dict[Symbol, int]
    ) -> tuple[Array, ...]:
        """Results of `region`; `sizes` gains the symbols bound on the way."""
        for type_, array in zip(region.params, args, strict=True):
            _bind(type_, array, sizes, "a region's parameter")
        waiting = check_facts(region.facts.facts, sizes)
        values: dict[Value, Array] = {}
        for node in region.nodes():
            results = self._evaluate(node, values, args, sizes)
            values.update(zip(node.results, results, strict=True))
            if node.late:
                waiting = check_facts(waiting, sizes)
            if self._observe is not None:
                self._observe(node, results, sizes)
        return tuple(values[value] for value in region.results)

    def _evaluate(
        self,
        node: Node,
        values: dict[Value, Array],
        args: Sequence[Array],
        sizes: dict[Symbol, int],
    ) -> tuple[Array, ...]:
        if node.op is PARAM:
            return (args[param_index(node)],)

        def run(index: int, inner: Sequence[Array], at: dict[Symbol, int]) -> tuple[Array, ...]:
            return self.run(node.regions[index], inner, at)

        return self.apply(node, tuple(values[value] for value in node.operands), sizes, run)

    def apply(
        self, node: Node, operands: tuple[Array, ...], sizes: dict[Symbol, int], run: RunRegion
    ) -> tuple[Array, ...]:
        """Results of one node, compared with their types; `sizes` gains those it computes."""
        results = self._call(node, operands, sizes, run)
        for type_, array in zip(node.types, results, strict=True):
            _bind(type_, array, sizes, f"{node.op.name}{self._place(node)}")
        for late in node.late:
            _check_late(late, sizes)
        return results

    def _place(self, node: Node) -> str:
        place = self._locations.of(node)
        return f" ({place})" if place else ""

    def _call(
        self, node: Node, operands: tuple[Array, ...], sizes: dict[Symbol, int], run: RunRegion
    ) -> tuple[Array, ...]:
        known = {symbol: Dim.of(size) for symbol, size in sizes.items()}
        attrs = map_dims(node.attrs, lambda dim: dim.substitute(known))
        if node.op.reference is None:
            return self._expand(node, operands, attrs)
        call = Call(
            attrs,
            operands,
            tuple(type_.substitute(known) for type_ in node.types),
            self._weights,
            lambda index, inner: run(index, inner, dict(sizes)),
        )
        try:
            results = node.op.reference(call)
        except EvaluationError as error:
            error.location = error.location or self._locations.of(node)
            if not self._postpones:
                raise
            self.postponed = self.postponed or error
            results = tuple(map(_zeros, call.types))
        # NumPy gives scalars where a result has rank 0; results are arrays.
        return tuple(map(np.asarray, results if isinstance(results, tuple) else (results,)))

    def _expand(self, node: Node, operands: tuple[Array, ...], attrs: Attrs) -> tuple[Array, ...]:
        """A compound op means its decomposition."""
        types = [concrete_type(array) for array in operands]
        region = decomposition(node.op, types, attrs, self._weights)
        return Interpreter(self._weights, self._locations).run(region, operands, {})


def _zeros(type_: Type) -> Array:
    """A size that the op itself decides is 0 then."""
    if not isinstance(type_, TensorType):
        return TOKEN_VALUE
    return np.zeros(tuple(dim.constant or 0 for dim in type_.shape), type_.dtype.numpy)


def concrete_type(array: Array) -> TensorType:
    return dtype_of(array)[array.shape]


def _bind(type_: Type, array: Array, sizes: dict[Symbol, int], subject: str) -> None:
    """Compares an array with its inferred type; symbols not known yet get their sizes from it."""
    if not isinstance(type_, TensorType):
        return
    if len(array.shape) != type_.rank or array.dtype != type_.dtype.numpy:
        raise VerifyError(subject, f"inferred {type_}, evaluated to {concrete_type(array)}")
    for dim, size in zip(type_.shape, array.shape, strict=True):
        if dim.symbol is not None:
            sizes.setdefault(dim.symbol, size)
        if dim.evaluate(sizes) != size:
            found = f"inferred {type_}, evaluated to {concrete_type(array)} at {_sizes(sizes)}"
            raise VerifyError(subject, found)


def _check_late(late: LateAxis, sizes: dict[Symbol, int]) -> None:
    subject = f"late axis '{late.symbol}'"
    if late.symbol not in sizes:
        raise VerifyError(subject, "is in no result type of the node that bears it")
    if late.upper is not None and sizes[late.symbol] > late.upper.evaluate(sizes):
        raise VerifyError(subject, f"is {sizes[late.symbol]}, above its bound {late.upper}")


def check_facts(facts: Sequence[Fact], sizes: dict[Symbol, int]) -> list[Fact]:
    """Checks the facts whose symbols are all known; returns the others."""
    waiting: list[Fact] = []
    for fact in facts:
        if not fact.predicate.symbols <= sizes.keys():
            waiting.append(fact)
        elif not fact.predicate.holds(sizes):
            used = {symbol: sizes[symbol] for symbol in fact.predicate.symbols}
            rule = axis_rule(fact.predicate, used)
            raise FactViolationError(str(fact.predicate), fact.source, _sizes(used), rule=rule)
    return waiting


def _sizes(sizes: dict[Symbol, int]) -> str:
    return ", ".join(f"{symbol}={size}" for symbol, size in sorted(sizes.items(), key=str))
