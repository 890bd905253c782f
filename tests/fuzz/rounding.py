"""How far rounding may move each element of a graph's results.

`Rounding` runs a graph again and again in the interpreter, and moves every intermediate value by
what rounding its op may do to it (`against_numpy/noise.py` has these bounds), each element by a
random share. How far results come apart is what rounding does in this graph, with these numbers:
much where large numbers cancel, nothing where elements are only moved. One more run, in f64, tells
which infinities and NaN are there because something overflowed on the way. Compounds are expanded,
so that what cancels inside them does so here too (a gelu far below 0).

An optimised graph rounds in other places, but not in more of them than a few for each op.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeGuard

import numpy as np
from tests.fuzz.against_numpy.dtypes import EPS, NAMES, NARROW, SMALLEST, wide
from tests.fuzz.against_numpy.noise import FUNCTION_ULPS, sum_noise

from anyshape.ir import Graph
from anyshape.ir.attrs import map_dims
from anyshape.ir.build import decomposition
from anyshape.ir.inputs import entry_plan
from anyshape.ir.interpret import Interpreter, RunRegion, concrete_type
from anyshape.ir.node import Node, Region, Value
from anyshape.ir.opdef import PARAM, AnyOp, Trait, param_index
from anyshape.ir.types import Array, TensorType, Type, f64
from anyshape.ops.conv import ConvAttrs
from anyshape.ops.dot import DotAttrs
from anyshape.ops.elementwise import CastAttrs, select
from anyshape.ops.known import CAST, MEAN, SUM
from anyshape.ops.reduce import ReduceAttrs
from anyshape.sym import Dim, Symbol

ROOM = 4.0
"""How many times as far as in any of the runs an element may be from its place."""

MOVING = frozenset({Trait.INDEXED, Trait.ALIAS, Trait.IDEMPOTENT, Trait.INVOLUTION})
"""Results are operands' elements, perhaps with another sign."""

ONE_ROUNDING = frozenset({"add", "sub", "mul", "div", "sqrt", "cast"})


Bodies = dict[object, Region]
"""What compounds are made of, by op, types and attributes."""


class Expanding(Interpreter):
    """Evaluates compounds as what they are made of, op by op."""

    def __init__(self, graph: Graph, bodies: Bodies) -> None:
        super().__init__(graph.weights, graph.locations)
        self._bodies = bodies

    def body(self, node: Node, operands: Sequence[Array], sizes: dict[Symbol, int]) -> Region:
        """What a compound is made of."""
        known = {symbol: Dim.of(size) for symbol, size in sizes.items()}
        attrs = map_dims(node.attrs, lambda dim: dim.substitute(known))
        types = tuple(map(concrete_type, operands))
        key = (node.op.name, types, attrs)
        if key not in self._bodies:
            self._bodies[key] = decomposition(node.op, types, attrs, self._weights)
        return self._bodies[key]


class Wide(Expanding):
    """Evaluates in f64, whatever the types are: nothing overflows that narrow floats can hold at
    last."""

    def run(
        self, region: Region, args: Sequence[Array], sizes: dict[Symbol, int]
    ) -> tuple[Array, ...]:
        values: dict[Value, Array] = {}
        for node in region.nodes():
            operands = tuple(values[value] for value in node.operands)
            results = self._results(node, operands, args, sizes)
            values.update(zip(node.results, results, strict=True))
        return tuple(values[value] for value in region.results)

    def _results(
        self,
        node: Node,
        operands: tuple[Array, ...],
        args: Sequence[Array],
        sizes: dict[Symbol, int],
    ) -> tuple[Array, ...]:
        if node.op is PARAM:
            return (_widened(args[param_index(node)]),)
        if node.op.decompose is not None:
            return self.run(self.body(node, operands, sizes), operands, {})
        if not operands:
            return tuple(map(_widened, self.apply(node, operands, sizes, _no_regions)))
        if isinstance(node.attrs, CastAttrs) and node.attrs.to.is_float:
            return (operands[0].astype(np.float64),)
        types = [f64[type_.shape] if _is_float(type_) else type_ for type_ in node.types]
        in_f64 = Node.make(node.op, node.operands, node.attrs, types, node.regions, node.late)
        run = lambda index, inner, at: self.run(node.regions[index], inner, at)  # noqa: E731
        return self.apply(in_f64, operands, sizes, run)


def _no_regions(index: int, inner: Sequence[Array], at: dict[Symbol, int]) -> tuple[Array, ...]:
    raise AssertionError("an op without operands has no regions")


def _widened(array: Array) -> Array:
    return array.astype(np.float64) if NAMES[array.dtype] in EPS else array


def _is_float(type_: Type) -> TypeGuard[TensorType]:
    return isinstance(type_, TensorType) and type_.dtype.is_float


class Perturbed(Expanding):
    """Evaluates with an error in each result that was rounded."""

    def __init__(self, graph: Graph, bodies: Bodies, seed: int) -> None:
        super().__init__(graph, bodies)
        self._rng = np.random.default_rng(seed)

    def apply(
        self, node: Node, operands: tuple[Array, ...], sizes: dict[Symbol, int], run: RunRegion
    ) -> tuple[Array, ...]:
        if node.op.decompose is not None:
            return self.run(self.body(node, operands, sizes), operands, {})
        results = super().apply(node, operands, sizes, run)
        if is_exact(node, operands):
            return results
        terms = _terms(node, operands)
        if terms is not None:
            magnitudes = tuple(np.abs(operand) for operand in operands)
            (total,) = super().apply(node, magnitudes, sizes, run)
            return (self._moved(results[0], _noise_of_sum(total, terms)),)
        return tuple(self._moved(result, _noise(node.op, result)) for result in results)

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
    if not _is_float(type_):
        return True
    if node.op is CAST:
        return operands[0].dtype.kind == "b" or type_.dtype.bits >= 8 * operands[0].itemsize
    traits = node.op.traits if node.op.combine is None else node.op.combine.traits
    return node.op in (PARAM, select) or bool(traits & MOVING)


def _terms(node: Node, operands: Sequence[Array]) -> int | None:
    """How many terms an op adds up, if it does."""
    if isinstance(node.attrs, DotAttrs):
        return math.prod(operands[0].shape[axis] for axis in node.attrs.contract[0])
    if isinstance(node.attrs, ConvAttrs):
        return math.prod(operands[1].shape[1:-1])
    if node.op in (SUM, MEAN) and isinstance(node.attrs, ReduceAttrs):
        return math.prod(operands[0].shape[axis] for axis in node.attrs.axes)
    return None


def _noise_of_sum(total: Array, terms: int) -> Array:
    """Of a sum of terms with these magnitudes: where it is narrow, it is rounded at last."""
    name = NAMES[total.dtype]
    last = ulps(total) if name in NARROW else 0
    denormal = terms * SMALLEST[wide(name)]
    return sum_noise(total.astype(np.float64), terms, name) + denormal + last


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
    wide: list[tuple[Array, ...]] = field(default_factory=list[tuple[Array, ...]])

    def room(self, result: int, runs: int) -> Array:
        """How far each element may be off; infinitely if rounding makes it another kind of number,
        or what overflows between ops does.

        More runs give no less room: few are enough to see that most results are right.
        """
        while len(self.runs) < runs:
            self.runs.append(self._run(Perturbed(self.graph, self.bodies, len(self.runs))))
        wanted = self.wanted[result].astype(np.float64)
        room = np.where(_kind(self._exact(result)) == _kind(wanted), 0, np.inf)
        for moved in self.runs[:runs]:
            other = moved[result].astype(np.float64)
            with np.errstate(all="ignore"):
                change = np.where(np.isfinite(wanted), np.abs(other - wanted), 0)
            same = _kind(other) == _kind(wanted)
            room = np.maximum(room, np.where(same, ROOM * change, np.inf))
        return room

    def _exact(self, result: int) -> Array:
        """Rounded once, to the type of the result."""
        if not self.wide:
            self.wide.append(self._run(Wide(self.graph, self.bodies)))
        with np.errstate(all="ignore"):
            rounded = self.wide[0][result].astype(self.wanted[result].dtype)
        return rounded.astype(np.float64)

    def _run(self, machine: Interpreter) -> tuple[Array, ...]:
        binding = entry_plan(self.graph).solve([array.shape for array in self.inputs])
        with np.errstate(all="ignore"):
            return machine.run(self.graph.body, self.inputs, dict(binding))


def _kind(array: Array) -> Array:
    """0 for a finite number, 1 and -1 for infinities, 2 for NaN."""
    signs = np.where(np.isinf(array), np.sign(array), 0)
    return np.where(np.isnan(array), 2, signs)
