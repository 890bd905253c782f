"""How far rounding may move each element of a graph's results.

`Rounding` runs a graph again and again in the interpreter, and moves every intermediate value by
what rounding its op may do to it (`against_numpy/noise.py` has these bounds), each element by a
random share. How far results come apart is what rounding does in this graph, with these numbers:
much where large numbers cancel, nothing where elements are only moved. Compounds are expanded, so
that what cancels inside them does so here too (a gelu far below 0).

An optimised graph rounds in other places, but not in more of them than a few for each op.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from tests.fuzz.against_numpy.dtypes import EPS, NAMES, NARROW, SMALLEST
from tests.fuzz.against_numpy.noise import FUNCTION_ULPS, sum_noise

from anyshape.ir import Graph
from anyshape.ir.attrs import map_dims
from anyshape.ir.build import decomposition
from anyshape.ir.inputs import entry_plan
from anyshape.ir.interpret import Interpreter, RunRegion, concrete_type
from anyshape.ir.node import Node, Region
from anyshape.ir.opdef import PARAM, AnyOp, Trait
from anyshape.ir.types import Array, TensorType
from anyshape.ops.dot import DotAttrs
from anyshape.ops.elementwise import select
from anyshape.ops.known import CAST, DOT, SUM
from anyshape.ops.reduce import ReduceAttrs
from anyshape.sym import Dim, Symbol

ROOM = 4.0
"""How many times as far as in any of the runs an element may be from its place."""

MOVING = frozenset({Trait.INDEXED, Trait.ALIAS, Trait.IDEMPOTENT, Trait.INVOLUTION})
"""Results are operands' elements, perhaps with another sign."""

ONE_ROUNDING = frozenset({"add", "sub", "mul", "div", "sqrt", "cast"})


Bodies = dict[object, Region]
"""What compounds are made of, by op, types and attributes."""


class Perturbed(Interpreter):
    """Evaluates with an error in each result that was rounded."""

    def __init__(self, graph: Graph, seed: int, bodies: Bodies) -> None:
        super().__init__(graph.weights, graph.locations)
        self._rng = np.random.default_rng(seed)
        self._bodies = bodies

    def apply(
        self, node: Node, operands: tuple[Array, ...], sizes: dict[Symbol, int], run: RunRegion
    ) -> tuple[Array, ...]:
        if node.op.decompose is not None:
            return self.run(self._body(node, operands, sizes), operands, {})
        results = super().apply(node, operands, sizes, run)
        if is_exact(node, operands):
            return results
        terms = _terms(node, operands)
        if terms is not None:
            magnitudes = tuple(np.abs(operand) for operand in operands)
            (total,) = super().apply(node, magnitudes, sizes, run)
            return (self._moved(results[0], _noise_of_sum(total, terms)),)
        return tuple(self._moved(result, _noise(node.op, result)) for result in results)

    def _body(self, node: Node, operands: tuple[Array, ...], sizes: dict[Symbol, int]) -> Region:
        """What a compound is made of."""
        known = {symbol: Dim.of(size) for symbol, size in sizes.items()}
        attrs = map_dims(node.attrs, lambda dim: dim.substitute(known))
        types = tuple(map(concrete_type, operands))
        key = (node.op.name, types, attrs)
        if key not in self._bodies:
            self._bodies[key] = decomposition(node.op, types, attrs, self._weights)
        return self._bodies[key]

    def _moved(self, result: Array, noise: Array) -> Array:
        """Each element by a share of its noise. Zeros, infinities and NaN are exact."""
        share = self._rng.uniform(0.5, 1, result.shape) * self._rng.choice((-1, 1), result.shape)
        with np.errstate(all="ignore"):
            some = (result != 0) & np.isfinite(result) & np.isfinite(noise)
            moved = result.astype(np.float64) + np.where(some, noise, 0) * share
            return np.where(some, moved, result).astype(result.dtype)


def is_exact(node: Node, operands: Sequence[Array]) -> bool:
    """Whether results are what exact arithmetic gives of these operands."""
    (type_, *_) = node.types
    if not isinstance(type_, TensorType) or not type_.dtype.is_float:
        return True
    if node.op is CAST:
        return operands[0].dtype.kind == "b" or type_.dtype.bits >= 8 * operands[0].itemsize
    traits = node.op.traits if node.op.combine is None else node.op.combine.traits
    return node.op in (PARAM, select) or bool(traits & MOVING)


def _terms(node: Node, operands: Sequence[Array]) -> int | None:
    """How many terms an op adds up, if it does."""
    if node.op is DOT and isinstance(node.attrs, DotAttrs):
        axes: Sequence[int] = node.attrs.contract[0]
    elif node.op is SUM and isinstance(node.attrs, ReduceAttrs):
        axes = node.attrs.axes
    else:
        return None
    return math.prod(operands[0].shape[axis] for axis in axes)


def _noise_of_sum(total: Array, terms: int) -> Array:
    """Of a sum of terms with these magnitudes: where it is narrow, it is rounded at last."""
    name = NAMES[total.dtype]
    last = ulps(total) if name in NARROW else 0
    return sum_noise(total.astype(np.float64), terms, name) + last


def _noise(op: AnyOp, result: Array) -> Array:
    """Functions of narrow floats are computed in f32, and rounded once."""
    once = op.name in ONE_ROUNDING or NAMES[result.dtype] in NARROW
    return ulps(result) * (1 if once else FUNCTION_ULPS)


def ulps(result: Array) -> Array:
    name = NAMES[result.dtype]
    return EPS[name] * np.abs(result).astype(np.float64) + SMALLEST[name]


@dataclass
class Rounding:
    """What a graph gives for some inputs, and how far rounding may move it."""

    graph: Graph
    inputs: Sequence[Array]
    wanted: Sequence[Array]
    bodies: Bodies = field(default_factory=Bodies)
    runs: list[tuple[Array, ...]] = field(default_factory=list[tuple[Array, ...]])

    def room(self, result: int, runs: int) -> Array:
        """How far each element may be off; infinitely if rounding makes it another kind of number.

        More runs give no less room: few are enough to see that most results are right.
        """
        while len(self.runs) < runs:
            self.runs.append(self._run(len(self.runs)))
        wanted = self.wanted[result].astype(np.float64)
        finite, room = np.isfinite(wanted), np.zeros(wanted.shape)
        for moved in self.runs[:runs]:
            other = moved[result].astype(np.float64)
            with np.errstate(all="ignore"):
                change = np.where(finite, np.abs(other - wanted), 0)
            same = (np.isfinite(other) == finite) & ~np.isnan(change)
            room = np.maximum(room, np.where(same, ROOM * change, np.inf))
        return room

    def _run(self, number: int) -> tuple[Array, ...]:
        binding = entry_plan(self.graph).solve([array.shape for array in self.inputs])
        machine = Perturbed(self.graph, number, self.bodies)
        results = machine.run(self.graph.body, self.inputs, dict(binding))
        return tuple(results)
