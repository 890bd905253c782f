"""From a region to a kernel: which loops there are, which of them are tasks, which are vectors.

A region without reductions is a *map*: its loops merge where memory allows. A region with
reductions is a *row* kernel: one task per row, the reductions and the final pass inside. A matrix
product and what follows it is a kernel of register tiles (`matrix.py`). Sizes of the graph become
the kernel's own `n0, n1, …`, so that equal kernels have equal text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field

from anyshape.ir.node import Region
from anyshape.ir.opdef import Trait
from anyshape.ir.substitute import substitute_region
from anyshape.ir.types import Shape, TensorType, Type
from anyshape.loop import Buffer, For, Kernel, Statement, Store
from anyshape.loop.merge import Space, flat_buffer, flattened, merged
from anyshape.loop.printer import row_major
from anyshape.loop.rewrite import substitute
from anyshape.lower.context import Level, Lowering
from anyshape.lower.matrix import MatrixPlan, matrix_kernel
from anyshape.lower.matrix_form import matrix_form
from anyshape.lower.movement import delinear
from anyshape.lower.packing import Packing
from anyshape.lower.tiling import WIDE, Tiling
from anyshape.passes.expand import expanded_region
from anyshape.sym import Axis, Dim, Facts, FactScope, Symbol, ceildiv, minimum, product

BLOCK = 4096
"""Elements per task of a map that has become one loop: about a third of a typical L1 cache."""

TASK = Symbol("t")

LOOPS = frozenset({Trait.REDUCTION, Trait.CONTRACTION})
"""Ops that bring a loop of their own."""


@dataclass(frozen=True, slots=True)
class Lowered:
    """A kernel, and the dims of the graph that its sizes stand for.

    `packed` are operands that the kernel reads in panels: constants, stored so beforehand.
    """

    kernel: Kernel
    sizes: tuple[Dim, ...]
    packed: Mapping[int, Packing] = field(default_factory=dict[int, Packing])

    def of_graph(self, dim: Dim) -> Dim:
        """A dim of the kernel in terms of the graph's."""
        return dim.substitute(dict(zip(self.kernel.sizes, self.sizes, strict=True)))


def lower_region(
    region: Region, facts: Facts, constants: Set[int] = frozenset(), tiling: Tiling = WIDE
) -> Lowered:
    """The kernel of a region whose results all have one shape. `facts` hold around the region.

    `constants` are the parameters that may be stored in whatever layout suits the kernel.
    """
    symbols = size_symbols(region)
    sizes = tuple(Symbol(f"n{number}") for number in range(len(symbols)))
    names = {symbol: Dim.of(size) for symbol, size in zip(symbols, sizes, strict=True)}
    known = _renamed(facts, names)
    outer = FactScope.of(known, distinct_names=False)
    local = expanded_region(substitute_region(region, names), outer)
    dims = tuple(Dim.of(symbol) for symbol in symbols)
    form = matrix_form(local, constants)
    if isinstance(form, str):
        return Lowered(_kernel(local, known, sizes), dims)
    plan = MatrixPlan(form, tiling)
    kernel = matrix_kernel(local, plan, *_buffers(local), known, sizes)
    return Lowered(kernel, dims, {form.rhs.operand.param: plan.packing()} if form.packed else {})


def size_symbols(region: Region) -> list[Symbol]:
    """The symbols of a region in the order they are met, parameters first."""
    found: dict[Symbol, None] = {}
    for type_ in region.params:
        if isinstance(type_, TensorType):
            found.update((s, None) for dim in type_.shape for s in sorted(dim.symbols, key=str))
    for node in region.nodes():
        found.update((s, None) for s in sorted(node.symbols, key=str))
    return list(found)


def _renamed(facts: Facts, names: dict[Symbol, Dim]) -> Facts:
    """Facts that concern only the region's symbols, under their new names."""
    axes = tuple(_rename_axis(a, names[a.symbol]) for a in facts.axes if a.symbol in names)
    inside = (fact for fact in facts.facts if fact.predicate.symbols <= names.keys())
    return Facts(axes, tuple(fact.substitute(names) for fact in inside))


def _rename_axis(axis: Axis, name: Dim) -> Axis:
    return Axis(str(name), ranges=axis.ranges, multiple_of=axis.multiple_of)


# --- loops ----------------------------------------------------------------------------------------


def _kernel(region: Region, facts: Facts, sizes: tuple[Symbol, ...]) -> Kernel:
    inputs, outputs = _buffers(region)
    shape = region.results[0].tensor.shape
    indices = tuple(Symbol(f"i{axis}") for axis in range(len(shape)))
    reduces = any(node.op.traits & LOOPS for node in region.nodes())
    make = _row_work if reduces else _map_work
    low = Lowering(region, inputs, FactScope.of(facts))
    tasks, body = make(low, outputs, tuple(zip(indices, shape, strict=True)))
    return Kernel(tuple(map(flat_buffer, (*inputs, *outputs))), sizes, TASK, tasks, body, facts)


def _buffers(region: Region) -> tuple[tuple[Buffer, ...], tuple[Buffer, ...]]:
    """Those that are read and those that are written."""
    inputs = tuple(_buffer(f"x{i}", type_) for i, type_ in enumerate(region.params))
    outputs = tuple(_buffer(f"y{i}", type_, True) for i, type_ in enumerate(region.result_types))
    return inputs, outputs


def _buffer(name: str, type_: Type, written: bool = False) -> Buffer:
    assert isinstance(type_, TensorType)
    return Buffer(name, type_.dtype, type_.shape, row_major(type_.shape), written)


Indices = tuple[tuple[Symbol, Dim], ...]
Work = tuple[Dim, tuple[Statement, ...]]
"""The number of tasks, and what one of them does."""


def _stores(low: Lowering, outputs: Sequence[Buffer], indices: Indices) -> list[Statement]:
    place = tuple(Dim.of(index) for index, _ in indices)
    values = [low.at(result, place) for result in low.region.results]
    return [Store(buffer, place, value) for buffer, value in zip(outputs, values, strict=True)]


def _map_work(low: Lowering, outputs: Sequence[Buffer], indices: Indices) -> Work:
    """Straight-line code for one element; the loops around it are merged, then divided."""
    level = Level({index for index, _ in indices})
    low.levels.append(level)
    level.body += _stores(low, outputs, indices)
    space = merged(Space(indices, (*low.levels[0].body, *level.body)))
    if len(space.indices) == 1:
        return _blocks(space)
    return _rows(space.indices[:-1], _vector_loop(space.indices[-1:], space.body))


def _row_work(low: Lowering, outputs: Sequence[Buffer], indices: Indices) -> Work:
    """One task per row: everything that needs only the outer indices comes before the last loop."""
    rows, columns = Level({index for index, _ in indices[:-1]}), Level({i for i, _ in indices[-1:]})
    low.levels += [rows, columns]
    columns.body += _stores(low, outputs, indices)
    start = (*low.levels[0].body, *rows.body)
    if any(isinstance(statement, For) for statement in columns.body):
        # A reduction for each element of the result: every element is a task.
        return _rows(indices, flattened((*start, *columns.body)))
    return _rows(indices[:-1], flattened((*start, *_vector_loop(indices[-1:], columns.body))))


def _vector_loop(last: Indices, body: Sequence[Statement]) -> tuple[Statement, ...]:
    return (For(*last[0], tuple(body), vector=True),) if last else tuple(body)


def _blocks(space: Space) -> Work:
    """One long loop, cut into tasks of equal length."""
    ((index, extent),) = space.indices
    start = Dim.of(TASK) * BLOCK
    inner = Symbol("j")
    body = substitute(space.body, {index: start + Dim.of(inner)})
    loop = For(inner, minimum(BLOCK, extent - start), body, vector=True)
    return ceildiv(extent, BLOCK), (loop,)


def _rows(outer: Indices, body: Sequence[Statement]) -> Work:
    """A task for each combination of the outer indices."""
    extents: Shape = tuple(extent for _, extent in outer)
    places = delinear(extents, Dim.of(TASK))
    names = {index: place for (index, _), place in zip(outer, places, strict=True)}
    return product(extents), substitute(body, names)
