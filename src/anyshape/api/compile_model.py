"""Level 1 of an imported model: one program, or one for each case of its branches on sizes."""

from __future__ import annotations

from collections.abc import Iterator

from anyshape.base.errors import UnsupportedModelError
from anyshape.base.options import Options
from anyshape.execute import (
    BranchedGraphs,
    Case,
    CompileKeywords,
    Executable,
    compile_branches,
    compile_graph,
)
from anyshape.frontend.imported.axes import NamedAxes
from anyshape.frontend.imported.cases import case_of
from anyshape.frontend.imported.program import ComplexInput, ImportedModel, UserInput
from anyshape.ir.inputs import tensor_inputs
from anyshape.ir.types import TensorType
from anyshape.observe.progress import ProgressLine


def compile_model(
    model: ImportedModel,
    options: Options | None,
    chosen: CompileKeywords,
    progress: ProgressLine | None = None,
) -> Executable:
    """What runs the model's graph, or its graphs."""
    if not model.others and not model.refused:
        return compile_graph(model.program.graph, options, progress=progress, **chosen)
    assert model.named is not None, "cases are told apart by the axes that are named"
    _check_same_inputs(model)
    graphs = tuple(program.graph for program in model.programs)
    computed = (Case(case_of(graph.facts)) for graph in graphs)
    refused = (Case(each.conditions, each.problem, each.location) for each in model.refused)
    inputs = tuple(_inputs(model, model.named))
    source = BranchedGraphs(graphs, (*computed, *refused), inputs, model.named.facts)
    return compile_branches(source, options, progress=progress, **chosen)


def _inputs(model: ImportedModel, named: NamedAxes) -> Iterator[tuple[str, TensorType]]:
    """The inputs of all graphs, as the user named their axes."""
    program = model.program
    typed = tensor_inputs(program.graph)
    for (name, type_), source in zip(typed, program.sources, strict=True):
        is_users = isinstance(source, (UserInput, ComplexInput))
        yield name, _general(type_, named, source.leaf) if is_users else type_


def _general(type_: TensorType, named: NamedAxes, leaf: int) -> TensorType:
    dims = named.inputs[leaf].dims
    shape = (dims.get(position, dim) for position, dim in enumerate(type_.shape))
    return type_.with_shape(tuple(shape))


def _check_same_inputs(model: ImportedModel) -> None:
    """A call has the same arrays in each case."""
    first = model.program
    for other in model.others:
        if other.sources != first.sources:
            what = "branches on sizes that use different tensors of the model"
            fix = "pass branches=1, or let all branches use the same parameters and buffers"
            raise UnsupportedModelError(first.graph.name, {what: [""]}, fix)
