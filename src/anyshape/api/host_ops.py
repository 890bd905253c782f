"""What a model calls of torch's own kernels: refused where that was asked for, told otherwise."""

from __future__ import annotations

import warnings

from anyshape.base.errors import UnsupportedModelError
from anyshape.base.warnings import HostOpsWarning
from anyshape.execute.capabilities import all_nodes
from anyshape.ir.graph import Graph
from anyshape.ops.torch_call import TorchCallAttrs


def report_host_ops(*graphs: Graph, strict: bool, stacklevel: int) -> None:
    """One warning for all ops of a model that torch computes, or with `strict` an error."""
    places: dict[str, list[str]] = {}
    for graph in graphs:
        for node in all_nodes(graph.body):
            if isinstance(node.attrs, TorchCallAttrs):
                place = str(graph.locations.of(node) or "")
                places.setdefault(node.attrs.target, []).append(place)
    if not places:
        return
    if strict:
        fix = "compile without strict=True, and torch's own kernels compute these on the host"
        raise UnsupportedModelError("the model", places, fix)
    warnings.warn(HostOpsWarning(places), stacklevel=stacklevel + 1)
