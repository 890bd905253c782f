"""Sorting: a function of the runtime."""

from __future__ import annotations

from typing import ClassVar

from anyshape.families.body import Body
from anyshape.families.family import Family, Job, Lowered
from anyshape.families.sort.kernels import Sorting, is_sorting, sorting
from anyshape.ir.node import Node
from anyshape.ir.rewrite import Refusal


class Sort(Family[Sorting]):
    """Kernels of `sort` and `topk`, whole or in parts."""

    name: ClassVar[str] = "sort"

    def anchors(self, node: Node) -> bool:
        return is_sorting(node)

    def match(self, body: Body) -> Sorting | Refusal:
        if len(body.nodes) == 1 and is_sorting(body.nodes[0]):
            return sorting(body.nodes[0])
        return Refusal("it is not a single sort")

    def lower(self, match: Sorting, job: Job) -> Lowered:
        names = dict(zip(job.sizes, job.dims, strict=True))
        return Lowered(match.kernel, tuple(dim.substitute(names) for dim in match.sizes))
