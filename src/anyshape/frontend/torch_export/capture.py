"""Captures a model: exports a module here, or takes a program that the user exported.

One capture at a time: callers are inside `frontend.capturing`.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import is_dataclass
from typing import Any

import torch
from torch.utils import _pytree as pytree

from anyshape.base.errors import InputError
from anyshape.base.garbage import young_garbage
from anyshape.frontend.imported.axes import named_axes
from anyshape.frontend.imported.call_signature import CallSignature, Parameters
from anyshape.frontend.imported.example import Example, path_text
from anyshape.frontend.imported.program import ImportedModel
from anyshape.frontend.torch_export.branches import BranchExplorer
from anyshape.frontend.torch_export.capturer import Capturer
from anyshape.frontend.torch_export.containers import example_of
from anyshape.frontend.torch_export.examples import check_where
from anyshape.frontend.torch_export.export_errors import failing_example
from anyshape.frontend.torch_export.exporter import Exporter
from anyshape.frontend.torch_export.guards import program_guards, was_traced_here
from anyshape.frontend.torch_export.importer import import_exported
from anyshape.frontend.torch_export.naming import naming_of, user_inputs
from anyshape.frontend.torch_export.questions import Questions, recorded_questions
from anyshape.frontend.torch_export.saved_guards import saved_guards
from anyshape.frontend.torch_export.shared_tensors import SharedTensors
from anyshape.frontend.torch_export.simplify import simplified
from anyshape.sym import Fact

Axes = Mapping[str, Any]
Names = Mapping[str, str]


def capture_module(
    module: Any,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    axes: Axes | None,
    dynamic_shapes: Any,
    names: Names,
    *,
    where: tuple[Fact, ...] = (),
    share: bool = False,
    branches: int = 1,
) -> ImportedModel:
    """Exports a module at an example call and imports what torch recorded, for up to so many cases
    of `branches` on sizes. Weights are copied, or `share` the module's memory."""
    parameters = Parameters.of(module.forward)
    inputs = pytree.tree_map(_as_tensor, parameters.bind(args, kwargs))
    parameters.check_example(inputs)
    example = example_of(inputs)
    _refuse_dataclasses(example)
    named = named_axes(example, axes or {}, where)
    if dynamic_shapes is None:
        check_where(example, named)
    several = branches > 1 and dynamic_shapes is None
    signature = CallSignature(parameters, example)
    shared = SharedTensors(share).of_module(module)
    with young_garbage(), _failing_as_example(module), shared as tensors:
        exporter = Exporter(module, parameters, example, named, several=several)
        capturer = Capturer(exporter, tensors, several=several)
        if dynamic_shapes is not None:
            return ImportedModel(capturer.imported_as(dynamic_shapes, names), signature)
        explorer = BranchExplorer(capturer, branches)
        explorer.explore()
        program, *others = explorer.programs()
    return ImportedModel(program, signature, tuple(others), tuple(explorer.refused), named)


def _refuse_dataclasses(example: Example) -> None:
    """torch takes apart what is registered; tensors inside anything else would be constants."""
    for path, leaf in zip(example.paths, example.leaves, strict=True):
        if is_dataclass(leaf) and not isinstance(leaf, type):
            name = type(leaf).__name__
            problem = f"is a {name}, a class that torch does not take apart"
            raise InputError(path_text(path), problem, f"torch.export.register_dataclass({name})")


@contextmanager
def _failing_as_example(module: Any) -> Generator[None]:
    """Within, a failure of torch's ops is one of the user's example."""
    try:
        yield
    except RuntimeError as error:
        if type(error) is not RuntimeError:
            raise
        raise failing_example(error, module) from error


def capture_program(
    program: Any,
    axes: Axes | None,
    names: Names,
    *,
    where: tuple[Fact, ...] = (),
    share: bool = False,
) -> ImportedModel:
    """Imports a program that the user exported."""
    order = program.module_call_graph[0].signature.forward_arg_names
    values = [node.meta.get("val") for node in user_inputs(program)]
    args, kwargs = program.call_spec.in_spec.unflatten(values)
    parameters = Parameters(tuple(order or (f"args_{i}" for i in range(len(args)))))
    example = example_of(parameters.bind(args, kwargs))
    named = named_axes(example, axes or {}, where)
    leaves = zip(example.paths, example.leaves, strict=True)
    sizes = {path_text(path): getattr(leaf, "shape", ()) for path, leaf in leaves}
    guards = program_guards(program) if was_traced_here(program) else saved_guards(program, sizes)
    naming = naming_of(program, named, names, torch_ranges=True)
    with recorded_questions(Questions(), named=False) as asked:
        functional = simplified(program, asked)
    guards += asked.guards
    imported = import_exported(functional, "model", naming, guards, SharedTensors(share))
    return ImportedModel(imported, CallSignature(parameters, example))


def _as_tensor(leaf: Any) -> Any:
    """Examples may be NumPy arrays."""
    own: Any = torch
    return own.from_numpy(leaf) if hasattr(leaf, "__array_interface__") else leaf
