"""Exports a module with torch.export, as the importer expects it.

Sizes 0 and 1 are sizes like any other: torch must not specialize on them, and examples have other
sizes (see `examples`). torch infers the range of every named position and its relations to others;
what the model's code asked about sizes goes with the program (see `questions`).

An export replaces functions of torch and changes its settings: one export at a time.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Generator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import torch
from torch.export import Dim as TorchDim
from torch.fx import proxy

from anyshape.base.errors import AnyshapeError
from anyshape.frontend.imported.axes import NamedAxes
from anyshape.frontend.imported.call_signature import Parameters
from anyshape.frontend.imported.example import Example
from anyshape.frontend.torch_export.conds import any_strides, sizes_choose
from anyshape.frontend.torch_export.examples import (
    check_one_size_each,
    tells_axes_apart,
    with_sizes,
)
from anyshape.frontend.torch_export.export_errors import in_words_of_model
from anyshape.frontend.torch_export.fake_kernels import recorded_whole
from anyshape.frontend.torch_export.fixed_sizes import taken_as_number
from anyshape.frontend.torch_export.grouped_experts import grouped_experts
from anyshape.frontend.torch_export.identities import identities
from anyshape.frontend.torch_export.naming import FixedAxis, with_fixed
from anyshape.frontend.torch_export.number_functions import number_functions
from anyshape.frontend.torch_export.number_types import number_types
from anyshape.frontend.torch_export.questions import (
    Questions,
    SizeTakenError,
    recorded_questions,
)
from anyshape.frontend.torch_export.shapes_argument import check_dynamic_shapes
from anyshape.frontend.torch_export.simplify import any_size, simplified
from anyshape.frontend.torch_export.size_arguments import size_arguments
from anyshape.frontend.torch_export.torch_settings import quiet, symbolic_flags
from anyshape.sym import Axis, Symbol

_DIFFER = re.compile(r"size of tensor a \(\w+\) must match the size of tensor b \(\w+\)")
"""What torch says of sizes that differ: those of the example do, whatever others may be. Of a
formula it may not know what it is where nothing is empty."""

ExampleCall = tuple[tuple[Any, ...], dict[str, Any]]
Sizes = Mapping[Symbol, int]


@dataclass(frozen=True)
class Export:
    """A program in the ops of the importer's table, and what was asked on the way to it."""

    program: Any
    questions: Questions


class Exporter:
    """Exports one module at examples of different sizes. What its code chooses by is a case of
    `several`, or the only one."""

    def __init__(
        self,
        module: Any,
        parameters: Parameters,
        example: Example,
        named: NamedAxes,
        *,
        several: bool = False,
    ) -> None:
        check_one_size_each(example, named)
        self.several = several
        self.module = module
        self.name = type(module).__name__
        self.parameters = parameters
        self.example = example
        self.named = named
        self.asked = Questions()  # in the last export

    def at(
        self, sizes: Sizes, fixed: tuple[FixedAxis, ...], *, as_at_one: str | None = None
    ) -> Export:
        """The program at these sizes. Some models only go through torch where no size is 0."""
        try:
            return self._exported(sizes, fixed, as_at_one, empty=True)
        except AnyshapeError:
            raise
        except Exception as error:
            if 0 in sizes.values() or _DIFFER.search(str(error)):
                raise
            asked = self.asked
            with suppress(Exception):
                return self._exported(sizes, fixed, as_at_one, empty=False)
            self.asked = asked
            raise

    def _exported(
        self, sizes: Sizes, fixed: tuple[FixedAxis, ...], as_at_one: str | None, *, empty: bool
    ) -> Export:
        named = with_fixed(self.named, fixed)
        example = with_sizes(self.example, self.named, sizes)
        call = self.parameters.split(example.arguments)
        with _named(self.module, call[1]):
            shapes = _dynamic_shapes(self.module, call, example, named)
        shared = tells_axes_apart(self.named, sizes)
        self.asked = Questions()
        record = recorded_questions(
            self.asked, named=True, shared=shared, empty=empty, as_at_one=as_at_one
        )
        try:
            return _export(self.module, call, shapes, record, several=self.several)
        except SizeTakenError as error:
            raise taken_as_number(error, self.named, sizes) from error

    def as_described(self, shapes: Any) -> Export:
        """The program for the shapes that the user describes as torch.export does."""
        check_dynamic_shapes(shapes, self.example.arguments)
        call = self.parameters.split(self.example.arguments)
        return _export(self.module, call, shapes, recorded_questions(self.asked, named=False))


def _export(
    module: Any,
    call: ExampleCall,
    shapes: Any,
    record: AbstractContextManager[Questions],
    *,
    several: bool = False,
) -> Export:
    args, kwargs = call
    conds = sizes_choose() if several else nullcontext()
    try:
        with record as asked, quiet():
            with conds, _tracing(module, kwargs):
                exported = torch.export.export(
                    module, args, kwargs, dynamic_shapes=shapes, strict=False
                )
            return Export(simplified(exported, asked), asked)
    except SizeTakenError:
        raise
    except Exception as error:
        raise in_words_of_model(error, module) from error


@contextmanager
def _tracing(module: Any, kwargs: Mapping[str, Any]) -> Generator[None]:
    """Within, torch follows the model as it is in eager mode."""
    of_torch = (torch.no_grad(), any_size(), symbolic_flags(), recorded_whole(), size_arguments())
    of_torch = (*of_torch, any_strides(), _with_lines(module.forward))
    of_model = (number_functions(module), number_types(module), identities(module))
    of_model = (*of_model, grouped_experts(module))
    with ExitStack() as stack:
        for change in (*of_torch, _named(module, kwargs), *of_model):
            stack.enter_context(change)
        yield


def _with_lines(function: Any) -> AbstractContextManager[Any]:
    """Within, torch notes the lines of a function that is no `forward`, as far as it can."""
    known: set[tuple[str, str]] | None = getattr(proxy, "_STACK_TRACE_ANCHORS", None)
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    if known is None or code is None:
        return nullcontext()
    names = {*known, (code.co_filename, code.co_name)}
    return patch.object(proxy, "_STACK_TRACE_ANCHORS", names)


@contextmanager
def _named(module: Any, kwargs: Mapping[str, Any]) -> Generator[None]:
    """Within, what `**kwargs` of a model collects are parameters of their own: torch.export loses
    count of them otherwise."""
    signature = inspect.signature(module.forward)
    parameters = list(signature.parameters.values())
    if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        yield
        return
    own, kept = module.forward, {p.name: p for p in parameters if p.kind is not p.VAR_KEYWORD}
    new = (n for n in kwargs if n not in kept)
    named = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in new]

    def forward(*args: Any, **others: Any) -> Any:
        return own(*args, **others)

    forward.__signature__ = signature.replace(parameters=[*kept.values(), *named])  # pyright: ignore[reportFunctionMemberAccess]
    with patch.dict(module.__dict__, {"forward": forward}):
        yield


def _dynamic_shapes(module: Any, call: ExampleCall, example: Example, named: NamedAxes) -> Any:
    """torch's description of what is dynamic, built like the inputs."""
    axes = {axis.name: axis for axis in named.axes}
    shapes: Any = torch.export.ShapesCollection()
    for leaf, input_axes in zip(example.leaves, named.inputs, strict=True):
        dims = {i: dim for i, dim in input_axes.dims.items() if dim.constant is None}
        if dims:
            names = {i: dim.symbol.name if dim.symbol else "" for i, dim in dims.items()}
            shapes[leaf] = {i: _hint(name, axes) for i, name in names.items()}
    return shapes.dynamic_shapes(module, *call)


def _hint(name: str, axes: Mapping[str, Axis]) -> Any:
    axis = axes.get(name, Axis("any"))
    auto: Any = TorchDim.AUTO
    return auto(min=axis.min, max=axis.max)
