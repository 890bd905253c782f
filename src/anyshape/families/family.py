"""What a family of kernels is: which ops it is for, what it can take, and how it is lowered.

Fusion and lowering ask the same `match`, so that no kernel turns out to be another than the one it
was fused for. A new family is a folder with a class of this kind, and an entry in `FAMILIES`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import ClassVar, Generic, TypeVar

from anyshape.analysis.expansion import NONE, expanded_region
from anyshape.families.body import Body
from anyshape.ir.node import Node, Region
from anyshape.ir.opdef import Trait
from anyshape.ir.rewrite import Refusal
from anyshape.ir.types import TensorType, Type
from anyshape.loop import Buffer, Kernel
from anyshape.loop.merge import flat_buffer
from anyshape.loop.printer import row_major
from anyshape.lower import Lowering
from anyshape.lower.effort import Effort, Variant
from anyshape.lower.packing import Packing
from anyshape.lower.tasks import TASK, Indices, Work
from anyshape.lower.tiling import Tiling
from anyshape.sym import Dim, Facts, FactScope, Symbol

M = TypeVar("M")


@dataclass(frozen=True, slots=True)
class Passed:
    """A family that a kernel might have been of, the op that says so, and why it is not."""

    family: str
    anchor: Node
    refusal: Refusal


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
    passed_over: tuple[Passed, ...] = ()

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


@dataclass(frozen=True, slots=True)
class Job:
    """A region to lower, in sizes of its own; `dims` are what these stand for.

    `constants` are the parameters that may be stored in whatever layout suits the kernel.
    """

    region: Region
    facts: Facts
    sizes: tuple[Symbol, ...]
    dims: tuple[Dim, ...]
    constants: Set[int]
    tiling: Tiling

    @property
    def body(self) -> Body:
        return Body.of_region(self.region, self.constants)

    @property
    def inputs(self) -> tuple[Buffer, ...]:
        """What the kernel reads."""
        return tuple(buffer_of(f"x{i}", type_) for i, type_ in enumerate(self.region.params))

    @property
    def outputs(self) -> tuple[Buffer, ...]:
        """What it writes."""
        types = self.region.result_types
        return tuple(buffer_of(f"y{i}", type_, True) for i, type_ in enumerate(types))

    def expanded(self, keep: frozenset[Trait] = NONE) -> Job:
        """With compounds expanded, but for those with a trait in `keep`."""
        outer = FactScope.of(self.facts, distinct_names=False)
        return replace(self, region=expanded_region(self.region, outer, keep))


def buffer_of(name: str, type_: Type, written: bool = False) -> Buffer:
    """Memory of a kernel for a value of its region."""
    assert isinstance(type_, TensorType)
    return Buffer(name, type_.dtype, type_.shape, row_major(type_.shape), written)


class Family(ABC, Generic[M]):
    """One kind of kernel. `M` is what matching finds out, and lowering needs."""

    name: ClassVar[str]
    keep: ClassVar[frozenset[Trait]] = NONE
    """Traits of compounds that it takes whole; others are expanded before it is asked to lower."""
    takes_the_rest: ClassVar[bool] = False
    """Whether it is for what no other family takes."""

    @abstractmethod
    def anchors(self, node: Node) -> bool:
        """Whether kernels of this family are for this op."""

    @abstractmethod
    def match(self, body: Body) -> M | Refusal:
        """What the family needs to know of a body that it can be the kernel of."""

    def objection(self, body: Body, anchor: Node) -> Refusal | None:
        """Why an op had better not take along what follows it, although it could."""
        del body, anchor
        return None

    def computes(self, body: Body, anchor: Node, node: Node) -> bool:
        """Whether the kernel had better compute a node that it could read from memory."""
        del body, anchor, node
        return False

    @abstractmethod
    def lower(self, match: M, job: Job) -> Lowered:
        """The kernel of a body that matches."""


WorkOf = Callable[[Lowering, Sequence[Buffer], Indices], Work]
"""The loops of a region whose elements are computed by index, from results and their space."""


def kernel_of_loops(job: Job, work_of: WorkOf) -> Kernel:
    """A kernel whose results all have one shape, and are computed element by element."""
    inputs, outputs = job.inputs, job.outputs
    shape = job.region.results[0].tensor.shape
    space = tuple((Symbol(f"i{axis}"), size) for axis, size in enumerate(shape))
    low = Lowering(job.region, inputs, FactScope.of(job.facts))
    work = work_of(low, outputs, space)
    buffers = tuple(map(flat_buffer, (*inputs, *outputs)))
    streams = sum((buffer.bytes for buffer in outputs), Dim.of(0)) // job.tiling.caches.streamed
    parts = work.tasks, work.body, job.facts, work.scratch, streams
    return Kernel(buffers, job.sizes, TASK, *parts)
