"""Exports a module with torch.export, as the importer expects it.

Sizes 0 and 1 are sizes like any other: torch must not specialize on them, and examples have other
sizes (see `examples`). torch infers the range of every named position and its relations to others;
the program's guards say what the model's code asks of it (see `guards`).

An export replaces functions of torch and changes its settings: one export at a time.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any
from warnings import catch_warnings

import torch
from torch.export import Dim as TorchDim
from torch.fx.experimental import _config as symbolic_config

from anyshape.base.errors import AnyshapeError, TraceError
from anyshape.base.location import Location
from anyshape.frontend.aten.not_decomposed import NOT_DECOMPOSED
from anyshape.frontend.imported.axes import NamedAxes
from anyshape.frontend.imported.call_signature import Parameters
from anyshape.frontend.imported.example import Example
from anyshape.frontend.imported.program import ImportedProgram
from anyshape.frontend.torch_export.examples import (
    check_one_size_each,
    example_sizes,
    own_sizes,
    with_sizes,
)
from anyshape.frontend.torch_export.export_errors import in_words_of_model, location_of_error
from anyshape.frontend.torch_export.guard_probe import (
    adds_no_guard,
    guards_against_one,
    opposite_answer,
    without_guard,
)
from anyshape.frontend.torch_export.guards import Guard, model_guards
from anyshape.frontend.torch_export.importer import import_exported
from anyshape.frontend.torch_export.naming import Naming, naming_of
from anyshape.frontend.torch_export.shapes_argument import check_dynamic_shapes
from anyshape.sym import Axis, Symbol

ExampleCall = tuple[tuple[Any, ...], dict[str, Any]]


class Exporter:
    """Exports one module at examples of different sizes."""

    def __init__(
        self, module: Any, parameters: Parameters, example: Example, named: NamedAxes
    ) -> None:
        check_one_size_each(example, named)
        self.module = module
        self.name = type(module).__name__
        self.parameters = parameters
        self.example = example
        self.named = named
        self.refused_at: Location | None = None

    def imported(self, *, share: bool) -> ImportedProgram:
        """The program for any size, with the guards of its model's code."""
        program, sizes = self._program()
        at = self.refused_at
        naming = naming_of(program, self.named, {}, torch_ranges=False, refused_at=at)
        recorded = model_guards(program)
        guards = recorded
        for symbol, guard in self._guards_against_one(naming, recorded):
            with opposite_answer(guard):
                other = self._at(sizes)
            same = self._same_at_one(program, other, naming.at_size(symbol, 1))
            if same and adds_no_guard(recorded, model_guards(other)):
                guards = without_guard(guards, guard)
        return import_exported(program, self.name, naming, guards, share=share)

    def imported_as(self, shapes: Any, names: Mapping[str, str], *, share: bool) -> ImportedProgram:
        """The program for the shapes that the user describes as torch.export does."""
        check_dynamic_shapes(shapes, self.example.arguments)
        program = _export(self.module, self.parameters.split(self.example.arguments), shapes)
        naming = naming_of(program, self.named, names, torch_ranges=True)
        return import_exported(program, self.name, naming, model_guards(program), share=share)

    def _same_at_one(self, program: Any, other: Any, naming: Naming) -> bool:
        """Whether two programs are one graph with these names, where an axis has size 1."""
        pair = (program, other)
        try:
            one, two = (import_exported(each, "both", naming, (), share=True) for each in pair)
        except AnyshapeError:  # one of them does not allow that size
            return False
        return one.graph == two.graph

    def _program(self) -> tuple[Any, Mapping[Symbol, int]]:
        """The program at sizes of our choice. A model that refuses them is captured at those of
        the user's example, which shows the sizes that it insists on."""
        sizes = example_sizes(self.named.axes)
        try:
            return self._at(sizes), sizes
        except Exception as error:
            own = own_sizes(self.example, self.named)
            if own == sizes or isinstance(error, TraceError):
                raise
            self.refused_at = location_of_error(error)
            return self._at(own), own

    def _at(self, sizes: Mapping[Symbol, int]) -> Any:
        example = with_sizes(self.example, self.named, sizes)
        call = self.parameters.split(example.arguments)
        return _export(self.module, call, _dynamic_shapes(self.module, call, example, self.named))

    def _guards_against_one(
        self, naming: Naming, guards: Sequence[Guard]
    ) -> list[tuple[Symbol, Guard]]:
        """The guards that exclude size 1 of axes that may be 1."""
        allowed = {axis.symbol for axis in self.named.axes if axis.contains(1)}
        by_dim = ((naming.dims.get(name), g) for name, g in guards_against_one(guards).items())
        named = ((dim.symbol, guard) for dim, guard in by_dim if dim is not None)
        return [(symbol, guard) for symbol, guard in named if symbol in allowed]


def _export(module: Any, call: ExampleCall, shapes: Any) -> Any:
    args, kwargs = call
    try:
        with torch.no_grad(), _any_size(), _symbolic_flags():
            exported = torch.export.export(
                module, args, kwargs, dynamic_shapes=shapes, strict=False
            )
        return simplified(exported)
    except Exception as error:
        raise in_words_of_model(error, module) from error


@contextmanager
def _symbolic_flags() -> Generator[None]:
    """Within, attention takes a symbolic `is_causal`, which torch's own parser refuses: its truth
    becomes a guard like any other."""
    functions: Any = torch.nn.functional
    own = functions.scaled_dot_product_attention

    @functools.wraps(own)
    def attention(*args: Any, **kwargs: Any) -> Any:
        flags = {n: bool(v) for n, v in kwargs.items() if isinstance(v, torch.SymBool)}
        return own(*args, **{**kwargs, **flags})

    functions.scaled_dot_product_attention = attention
    try:
        yield
    finally:
        functions.scaled_dot_product_attention = own


def _any_size() -> AbstractContextManager[None]:
    """Within, torch does not specialize on sizes 0 and 1."""
    config: Any = symbolic_config
    return config.patch(backed_size_oblivious=True)


def _dynamic_shapes(module: Any, call: ExampleCall, example: Example, named: NamedAxes) -> Any:
    """torch's description of what is dynamic, built like the inputs."""
    axes = {axis.name: axis for axis in named.axes}
    shapes: Any = torch.export.ShapesCollection()
    for leaf, input_axes in zip(example.leaves, named.inputs, strict=True):
        if input_axes.dims:
            dims = input_axes.dims.items()
            names = {i: dim.symbol.name if dim.symbol else "" for i, dim in dims}
            shapes[leaf] = {i: _hint(name, axes) for i, name in names.items()}
    return shapes.dynamic_shapes(module, *call)


def _hint(name: str, axes: Mapping[str, Axis]) -> Any:
    axis = axes.get(name, Axis("any"))
    auto: Any = TorchDim.AUTO
    return auto(min=axis.min, max=axis.max)


def simplified(program: Any) -> Any:
    """The program decomposed into the ops of the importer's table."""
    table: dict[Any, Callable[..., Any]] = torch.export.default_decompositions()
    for op in [op for op in table if str(op) in NOT_DECOMPOSED]:
        del table[op]
    quiet = catch_warnings(action="ignore", category=FutureWarning)  # of torch, about itself
    with torch.no_grad(), _any_size(), quiet:
        return program.run_decompositions(table)
