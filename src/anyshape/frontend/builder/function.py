"""A whole function traced into a graph."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from anyshape.frontend.builder.annotation import Parameters, StaticValue
from anyshape.frontend.builder.checks import graph_with_checks
from anyshape.frontend.builder.convert import ArrayLike, asarray
from anyshape.frontend.builder.declare import Declarations, entry
from anyshape.frontend.builder.name_size import with_names
from anyshape.frontend.builder.pytree import Structure, flatten, unflatten
from anyshape.frontend.builder.ragged import check_ragged
from anyshape.frontend.builder.tensor import Tensor
from anyshape.frontend.builder.tracer import Tracer
from anyshape.ir.build import Builder
from anyshape.ir.graph import Graph
from anyshape.ir.types import TensorType


@dataclass(frozen=True, slots=True)
class TracedFunction:
    """The graph of a function at its static values, and the container of its results."""

    graph: Graph
    result: Structure


def trace(
    function: Callable[..., Any],
    parameters: Parameters,
    statics: Sequence[StaticValue],
    declarations: Declarations,
) -> TracedFunction:
    """Runs `function` once on traced tensors; `statics` are the values of its static leaves."""
    name = getattr(function, "__name__", type(function).__name__)
    start = entry(name, parameters, declarations)
    builder = Builder(start.scope)
    tracer = Tracer(name, builder, Tensor, axes=start.names)
    arguments = _arguments(tracer, parameters, statics)
    with tracer.active():
        check_ragged(parameters.structure, arguments)
        leaves, structure = flatten(_call(function, arguments))
        results = [asarray(cast(ArrayLike, leaf)) for leaf in leaves]
    inputs = [path for path, _ in parameters.tensors]
    graph = graph_with_checks(tracer, name, inputs, results)
    return TracedFunction(with_names(graph, tracer), structure)


def _arguments(
    tracer: Tracer, parameters: Parameters, statics: Sequence[StaticValue]
) -> dict[str, object]:
    values = iter(statics)
    leaves = [
        tracer.param(type_) if isinstance(type_, TensorType) else next(values)
        for _, type_ in parameters.leaves
    ]
    return cast(dict[str, object], unflatten(parameters.structure, leaves))


def _call(function: Callable[..., Any], arguments: Mapping[str, object]) -> object:
    bound = inspect.signature(function).bind_partial()
    bound.arguments.update(arguments)
    return function(*bound.args, **bound.kwargs)
