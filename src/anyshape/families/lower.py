"""From a region to a kernel: the first family that matches lowers it.

Sizes of the graph become the kernel's own `n0, n1, …`, so that equal kernels have equal text, and
regions that differ in the names of sizes only are lowered once.
"""

from __future__ import annotations

import math
from collections.abc import Set
from dataclasses import replace
from functools import cache

from anyshape.families import FAMILIES
from anyshape.families.family import Job, Lowered, Passed
from anyshape.ir.node import Node, Region
from anyshape.ir.opdef import Trait
from anyshape.ir.rewrite import Refusal
from anyshape.ir.types import Shape, TensorType, Type
from anyshape.lower.effort import Variant, region_effort
from anyshape.lower.named_results import without_names
from anyshape.lower.own_sizes import in_own_sizes
from anyshape.lower.parts import is_divided, staged_node, without_stages
from anyshape.lower.tiling import WIDE, Tiling
from anyshape.sym import Dim, Facts, product

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
    own = in_own_sizes(without_names(region), facts)
    known = {} if known is None else known
    key = own.region, own.facts, constants, tiling
    if key not in known:
        dims = tuple(map(Dim.of, own.sizes))
        known[key] = _lowered(Job(own.region, own.facts, own.sizes, dims, constants, tiling))
    names = dict(zip(own.sizes, own.dims, strict=True))
    return known[key].in_terms_of(names)


def _lowered(job: Job) -> Lowered:
    if staged_node(job.region) is None:
        return _by_family(job)
    whole = job.expanded(frozenset({Trait.CONTRACTION}))
    staged = staged_node(whole.region)
    assert staged is not None, "it is no compound"
    return _staged(whole, staged)


def _by_family(job: Job) -> Lowered:
    """By the first family that matches; why others did not stays with the kernel."""
    passed_over: list[Passed] = []
    expanded = cache(job.expanded)  # most families keep the same
    for family in FAMILIES:
        own = expanded(family.keep)
        body = own.body
        match = family.match(body)
        if not isinstance(match, Refusal):
            lowered = family.lower(match, own)
            assert panels_are_whole(lowered, own.region), "panels are not what the kernel reads"
            return replace(lowered, passed_over=tuple(passed_over))
        anchor = next(filter(family.anchors, body.nodes), None)
        if anchor is not None:
            passed_over.append(Passed(family.name, anchor, match))
    raise AssertionError("the last family takes what no other does")


def panels_are_whole(lowered: Lowered, region: Region) -> bool:
    """Whether constants in panels have the elements that bounds are proven for, in all variants. A
    region may be lowered by itself, with sizes of constants that are not known."""
    kernels = lowered.kernel, *(variant.kernel for variant in lowered.others)
    for index, packing in lowered.packed.items():
        sizes = [dim.constant for dim in _shape(region.params[index])]
        known = tuple(size for size in sizes if size is not None)
        if len(known) < len(sizes):
            continue
        stored = math.prod(packing.shape(known))
        if any(int(product(kernel.buffers[index].shape)) > stored for kernel in kernels):
            return False
    return True


def _shape(type_: Type) -> Shape:
    assert isinstance(type_, TensorType)
    return type_.shape


def _staged(job: Job, staged: Node) -> Lowered:
    """Both ways to compute what is staged, of which sizes allow one."""
    as_a_whole, from_parts = (without_stages(job.region, way) for way in range(2))
    whole = _by_family(replace(job, region=as_a_whole))
    own = replace(job, facts=whole.kernel.facts, sizes=whole.kernel.sizes, dims=whole.sizes)
    parts = _by_family(replace(own, region=from_parts)).kernel
    return replace(
        whole,
        name="whole" if whole.name == "plain" else whole.name,
        effort=whole.effort or region_effort(as_a_whole, whole.packed),
        others=(*whole.others, Variant("parts", parts, region_effort(from_parts))),
        divided=is_divided(staged),
    )
