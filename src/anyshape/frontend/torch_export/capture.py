"""A module as an ExportedProgram in the form that the importer takes.

Sizes 0 and 1 are sizes like any other: torch is told not to treat them apart. What the export
cannot decide about sizes stays in the program as assertions, which become facts or checks.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any

import torch
from torch.export.graph_signature import InputKind
from torch.fx.experimental import _config as symbolic_config

from anyshape.frontend.torch_export.axes import NamedAxes, leaves_of
from anyshape.sym import Axis

KEPT = frozenset(
    {"aten.scaled_dot_product_attention.default", "aten.layer_norm.default"}
    | {"aten.rms_norm.default", "aten.gelu.default", "aten.silu.default", "aten.softmax.int"}
    | {"aten.log_softmax.int", "aten.embedding.default", "aten.linear.default"}
    | {"aten.matmul.default", "aten.addmm.default", "aten.stack.default", "aten.unbind.int"}
    | {"aten.square.default", "aten.logsumexp.default"}
)
"""Ops that the importer takes whole although torch could take them apart."""


def bound_arguments(
    module: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> dict[str, Any]:
    """The arguments of a call by the names of the module's parameters."""
    return dict(inspect.signature(module.forward).bind(*args, **kwargs).arguments)


def export(module: Any, inputs: Mapping[str, Any], axes: NamedAxes) -> Any:
    """The module with its named axes dynamic, as a functional program of few kinds of ops."""
    dims = {axis.name: _dim(axis) for axis in axes.axes}
    shapes: Any = torch.export.ShapesCollection()
    for (_, leaf), places in zip(leaves_of(inputs), axes.leaves, strict=True):
        if places:
            shapes[leaf] = {position: dims[name] for position, name in places.items()}
    with torch.no_grad(), _any_size():
        program = torch.export.export(
            module,
            (),
            dict(inputs),
            dynamic_shapes=shapes.dynamic_shapes(module, (), dict(inputs)),
            strict=False,
            prefer_deferred_runtime_asserts_over_guards=True,
        )
        return simplified(program)


def _any_size() -> AbstractContextManager[None]:
    """Within, an example of size 0 or 1 says nothing about other sizes."""
    config: Any = symbolic_config
    return config.patch(backed_size_oblivious=True)


def _dim(axis: Axis) -> Any:
    """torch's form of an axis; a multiple is a fact of ours alone."""
    low, high = axis.ranges[0][0], axis.ranges[-1][1]
    return torch.export.Dim(axis.name, min=low, max=high)


def simplified(program: Any) -> Any:
    """Taken apart into the ops of the importer's table."""
    table: dict[Any, Callable[..., Any]] = torch.export.default_decompositions()
    for op in [op for op in table if str(op) in KEPT]:
        del table[op]
    return program.run_decompositions(table)


def symbol_names(program: Any, axes: NamedAxes) -> dict[str, str]:
    """The axis names of the program's symbols, found where the inputs have them."""
    specs = program.graph_signature.input_specs
    nodes = [node for node in program.graph.nodes if node.op == "placeholder"]
    user = [n for n, s in zip(nodes, specs, strict=True) if s.kind is InputKind.USER_INPUT]
    names: dict[str, str] = {}
    for node, places in zip(user, axes.leaves, strict=True):
        for position, name in places.items():
            size = node.meta["val"].shape[position]
            expression = size.node.expr if hasattr(size, "node") else None
            if expression is not None and expression.is_Symbol:
                names.setdefault(expression.name, name)
    return names
