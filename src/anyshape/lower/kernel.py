"""From a region to a kernel: which loops there are, which of them are tasks, which are vectors.

A region without reductions is a *map*: its loops merge where memory allows. A region with
reductions is a *row* kernel: one task per row, the reductions and the final pass inside. A matrix
product and what follows it is a kernel of register tiles (`matrix.py`, `grouped.py`), and so is
attention (`attention.py`). Cumulative ops, scatters and sorting have loops of their own kind. Sizes
of the graph become the kernel's own `n0, n1, …`, so that equal kernels have equal text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace

from anyshape.ir.node import Node, Region
from anyshape.ir.opdef import Trait
from anyshape.ir.types import TensorType, Type
from anyshape.loop import Buffer, Kernel
from anyshape.loop.merge import flat_buffer
from anyshape.loop.printer import row_major
from anyshape.lower.attention_form import attention_form
from anyshape.lower.attention_variants import attention_variants
from anyshape.lower.context import Lowering
from anyshape.lower.cumulative import cumulative_node, cumulative_work
from anyshape.lower.effort import Effort, Variant, region_effort
from anyshape.lower.grouped import GroupedPlan, grouped_form, grouped_kernel
from anyshape.lower.map import map_work
from anyshape.lower.matrix import matrix_kernel
from anyshape.lower.matrix_effort import effort_of_panels, effort_of_sums
from anyshape.lower.matrix_form import Panels, matrix_form, param_of, with_columns_apart
from anyshape.lower.matrix_plan import MatrixPlan
from anyshape.lower.matrix_run import RUNS
from anyshape.lower.order import sorting
from anyshape.lower.own_sizes import in_own_sizes
from anyshape.lower.packing import Packing
from anyshape.lower.parts import (
    is_divided,
    staged_node,
    without_stages,
)
from anyshape.lower.row import kept_indices, row_work
from anyshape.lower.scatter import scatter_node, scatter_work
from anyshape.lower.tasks import TASK, Indices, Work
from anyshape.lower.tiling import WIDE, Tiling
from anyshape.passes.expand import CONTRACTIONS, expanded_region
from anyshape.sym import Axis, Dim, Facts, FactScope, Symbol

STREAMED_BYTES = 24 << 20
"""Results from this size on are stored past the caches: more than a share of most of them."""

LOOPS = frozenset({Trait.REDUCTION, Trait.CONTRACTION})
"""Ops that bring a loop of their own."""


Dims = tuple[Dim, ...]
Sizes = tuple[Symbol, ...]


@dataclass(frozen=True, slots=True)
class Lowered:
    """A kernel, and the dims of the graph that its sizes stand for.

    `packed` are operands that the kernel reads in panels: constants, stored so beforehand.
    """

    kernel: Kernel
    sizes: tuple[Dim, ...]
    packed: Mapping[int, Packing] = field(default_factory=dict[int, Packing])
    name: str = "plain"
    effort: Effort | None = None  # None: what the region's ops say
    others: tuple[Variant, ...] = ()  # level 2 takes the cheapest of the kernel and these
    divided: Dim | None = None  # but the last where this, in its own sizes, is 1, and only there

    @property
    def names(self) -> dict[Symbol, Dim]:
        """The kernel's sizes in terms of the graph's."""
        return dict(zip(self.kernel.sizes, self.sizes, strict=True))

    def of_graph(self, dim: Dim) -> Dim:
        """A dim of the kernel in terms of the graph's."""
        return dim.substitute(self.names)

    def in_terms_of(self, dims: Mapping[Symbol, Dim]) -> Lowered:
        """With other dims for the symbols that the sizes are made of."""
        return replace(self, sizes=tuple(dim.substitute(dims) for dim in self.sizes))


Known = dict[tuple[Region, Facts, Set[int], Tiling], Lowered]
"""What regions in sizes of their own were lowered to."""


def lower_region(
    region: Region,
    facts: Facts,
    constants: Set[int] = frozenset(),
    tiling: Tiling = WIDE,
    known: Known | None = None,
) -> Lowered:
    """The kernel of a region whose results all have one shape. `facts` hold around the region.

    `constants` are the parameters that may be stored in whatever layout suits the kernel. Regions
    that differ in the names of sizes only are lowered once, if `known` remembers them.
    """
    in_order = sorting(region)
    if in_order is not None:
        return Lowered(in_order.kernel, in_order.sizes)
    own = in_own_sizes(region, facts)
    known = {} if known is None else known
    key = own.region, own.facts, constants, tiling
    if key not in known:
        known[key] = _lowered(own.region, own.facts, constants, tiling, own.sizes)
    names = dict(zip(own.sizes, own.dims, strict=True))
    return known[key].in_terms_of(names)


def _lowered(
    region: Region, facts: Facts, constants: Set[int], tiling: Tiling, sizes: Sizes
) -> Lowered:
    """The kernel of a region in sizes of its own, which stand for themselves."""
    outer = FactScope.of(facts, distinct_names=False)
    local = expanded_region(region, outer, CONTRACTIONS)
    dims = tuple(map(Dim.of, sizes))
    attention = attention_form(local)
    if not isinstance(attention, str):
        buffers = _buffers(local)
        own, *others = attention_variants(attention, tiling, *buffers, facts, sizes)
        return Lowered(own.kernel, dims, {}, own.name, own.effort, tuple(others))
    local = expanded_region(local, outer)
    staged = staged_node(local)
    if staged is not None:
        whole = _loops(without_stages(local, staged, 0), constants, tiling, facts, sizes, dims)
        return _staged(local, staged, whole)
    return _loops(local, constants, tiling, facts, sizes, dims)


def _loops(
    region: Region, constants: Set[int], tiling: Tiling, facts: Facts, sizes: Sizes, dims: Dims
) -> Lowered:
    """The kernel of a region without compounds and stages."""
    return (
        _grouped_product(region, constants, tiling, facts, sizes, dims)
        or _matrix_product(region, constants, tiling, facts, sizes, dims)
        or Lowered(_kernel(region, facts, sizes), dims)
    )


def _staged(region: Region, staged: Node, whole: Lowered) -> Lowered:
    """Both ways to compute what is staged, of which sizes allow one."""
    as_a_whole, from_parts = (without_stages(region, staged, way) for way in range(2))
    kernel = _kernel(from_parts, whole.kernel.facts, whole.kernel.sizes)
    return replace(
        whole,
        name="whole" if whole.name == "plain" else whole.name,
        effort=whole.effort or region_effort(as_a_whole, whole.packed),
        others=(*whole.others, Variant("parts", kernel, region_effort(from_parts))),
        divided=is_divided(staged),
    )


def _grouped_product(
    region: Region, constants: Set[int], tiling: Tiling, facts: Facts, sizes: Sizes, dims: Dims
) -> Lowered | None:
    found = grouped_form(region, constants)
    if isinstance(found, str):
        return None
    form, offsets = found
    plan = MatrixPlan(form, tiling)
    buffers = _buffers(region)
    kernel = grouped_kernel(region, GroupedPlan(plan, offsets), *buffers, facts, sizes)
    return Lowered(kernel, dims, _packed(plan))


def _matrix_product(
    region: Region, constants: Set[int], tiling: Tiling, facts: Facts, sizes: Sizes, dims: Dims
) -> Lowered | None:
    """Where each task copies its panels, there is a variant for few rows that does not."""
    form = matrix_form(region, constants)
    if isinstance(form, str):
        return None
    plan, buffers = MatrixPlan(form, tiling), _buffers(region)
    if plan.run is not None:
        runs = plan.run.count(tiling.threads)
        facts = replace(facts, axes=(*facts.axes, Axis(RUNS.name)))
        sizes, dims = (*sizes, RUNS), (*dims, runs)
    kernel = matrix_kernel(region, plan, *buffers, facts, sizes)
    apart = with_columns_apart(form)
    if apart is None:
        return Lowered(kernel, dims, _packed(plan))
    few = matrix_kernel(region, MatrixPlan(apart, tiling), *buffers, facts, sizes)
    others = (Variant("sums", few, effort_of_sums(region)),)
    return Lowered(kernel, dims, {}, "panels", effort_of_panels(region, plan), others)


def _packed(plan: MatrixPlan) -> Mapping[int, Packing]:
    """The constant that a product reads in panels, if it does."""
    stored = plan.form.panels is Panels.STORED
    return {param_of(plan.form.columns): plan.packing()} if stored else {}


# --- loops ----------------------------------------------------------------------------------------


def _kernel(region: Region, facts: Facts, sizes: tuple[Symbol, ...]) -> Kernel:
    inputs, outputs = _buffers(region)
    shape = region.results[0].tensor.shape
    indices = tuple(Symbol(f"i{axis}") for axis in range(len(shape)))
    space = tuple(zip(indices, shape, strict=True))
    low = Lowering(region, inputs, FactScope.of(facts))
    work = _work(low, outputs, space)
    buffers = tuple(map(flat_buffer, (*inputs, *outputs)))
    streams = sum((buffer.bytes for buffer in outputs), Dim.of(0)) // STREAMED_BYTES
    return Kernel(buffers, sizes, TASK, work.tasks, work.body, facts, work.scratch, streams)


def _work(low: Lowering, outputs: Sequence[Buffer], indices: Indices) -> Work:
    put = scatter_node(low.region.nodes())
    if put is not None:
        return scatter_work(low, outputs, indices, put)
    walked = cumulative_node(low.region.nodes())
    if walked is not None:
        return cumulative_work(low, outputs, indices, walked)
    if not any(node.op.traits & LOOPS for node in low.region.nodes()):
        return map_work(low, outputs, indices)
    probe = Lowering(low.region, low.buffers, low.scope)
    return row_work(low, outputs, indices, kept_indices(probe, indices))


def _buffers(region: Region) -> tuple[tuple[Buffer, ...], tuple[Buffer, ...]]:
    """Those that are read and those that are written."""
    inputs = tuple(_buffer(f"x{i}", type_) for i, type_ in enumerate(region.params))
    outputs = tuple(_buffer(f"y{i}", type_, True) for i, type_ in enumerate(region.result_types))
    return inputs, outputs


def _buffer(name: str, type_: Type, written: bool = False) -> Buffer:
    assert isinstance(type_, TensorType)
    return Buffer(name, type_.dtype, type_.shape, row_major(type_.shape), written)
