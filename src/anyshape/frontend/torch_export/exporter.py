"""Exports a module by torch, in the form that the importer takes.

Sizes 0 and 1 are sizes like any other: torch is told not to treat them apart, and examples have
others (see `examples`). Every named position is exported as one whose range and relations torch
finds out; what the model's code asks of it is in the program's guards (see `conditions`).

Functions of torch are replaced meanwhile, and its settings are others: one export at a time.
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
from anyshape.frontend.torch_export.axes import NamedAxes, leaves_of
from anyshape.frontend.torch_export.call_form import Parameters
from anyshape.frontend.torch_export.conditions import Guard, model_guards
from anyshape.frontend.torch_export.examples import (
    check_one_size_each,
    example_sizes,
    own_sizes,
    with_sizes,
)
from anyshape.frontend.torch_export.export_errors import in_words_of_model, place_of_error
from anyshape.frontend.torch_export.importer import import_exported
from anyshape.frontend.torch_export.naming import Naming, naming_of
from anyshape.frontend.torch_export.other_side import (
    adds_none,
    answered_otherwise,
    leaving_out_one,
    without,
)
from anyshape.frontend.torch_export.program import ImportedProgram
from anyshape.frontend.torch_export.shapes_argument import check_dynamic_shapes
from anyshape.sym import Axis, Symbol

KEPT = frozenset(
    {"aten.scaled_dot_product_attention.default", "aten.layer_norm.default"}
    | {"aten.rms_norm.default", "aten.gelu.default", "aten.silu.default", "aten.softmax.int"}
    | {"aten.log_softmax.int", "aten.embedding.default", "aten.linear.default"}
    | {"aten.matmul.default", "aten.addmm.default", "aten.stack.default", "aten.unbind.int"}
    | {"aten.square.default", "aten.logsumexp.default"}
)
"""Ops that the importer takes whole although torch could take them apart."""

ExampleCall = tuple[tuple[Any, ...], dict[str, Any]]


class Exporter:
    """Exports one module at examples of different sizes."""

    def __init__(
        self, module: Any, parameters: Parameters, inputs: Mapping[str, Any], named: NamedAxes
    ) -> None:
        check_one_size_each(inputs, named)
        self.module = module
        self.name = type(module).__name__
        self.parameters = parameters
        self.inputs = inputs
        self.named = named
        self.refused_at: Location | None = None

    def imported(self, *, share: bool) -> ImportedProgram:
        """The program for any size, with the conditions that its model's code sets."""
        program, sizes = self._program()
        at = self.refused_at
        naming = naming_of(program, self.named, {}, torch_ranges=False, refused_at=at)
        found = model_guards(program)
        guards = found
        for symbol, guard in self._leaving_out_one(naming, found):
            with answered_otherwise(guard):
                other = self._at(sizes)
            same = self._same_at_one(program, other, naming.at_size(symbol, 1))
            if same and adds_none(found, model_guards(other)):
                guards = without(guards, guard)
        return import_exported(program, self.name, naming, guards, share=share)

    def imported_as(self, shapes: Any, names: Mapping[str, str], *, share: bool) -> ImportedProgram:
        """The program for the sizes that the user describes in torch's own form."""
        check_dynamic_shapes(shapes, self.inputs)
        program = _export(self.module, self.parameters.split(self.inputs), shapes)
        naming = naming_of(program, self.named, names, torch_ranges=True)
        return import_exported(program, self.name, naming, model_guards(program), share=share)

    def _same_at_one(self, program: Any, other: Any, naming: Naming) -> bool:
        """Whether two programs do the same, with these names, in which an axis has size 1."""
        pair = (program, other)
        try:
            one, two = (import_exported(each, "both", naming, (), share=True) for each in pair)
        except AnyshapeError:  # one of them cannot be done at that size
            return False
        return one.graph == two.graph

    def _program(self) -> tuple[Any, Mapping[Symbol, int]]:
        """At sizes of our choice; a model that refuses them is captured as in the user's example,
        which shows the sizes that it insists on."""
        sizes = example_sizes(self.named.axes)
        try:
            return self._at(sizes), sizes
        except Exception as error:
            own = own_sizes(self.inputs, self.named)
            if own == sizes or isinstance(error, TraceError):
                raise
            self.refused_at = place_of_error(error)
            return self._at(own), own

    def _at(self, sizes: Mapping[Symbol, int]) -> Any:
        inputs = with_sizes(self.inputs, self.named, sizes)
        call = self.parameters.split(inputs)
        return _export(self.module, call, _dynamic_shapes(self.module, call, inputs, self.named))

    def _leaving_out_one(
        self, naming: Naming, guards: Sequence[Guard]
    ) -> list[tuple[Symbol, Guard]]:
        """What the model's code says against size 1 of axes that may be 1."""
        allowed = {axis.symbol for axis in self.named.axes if axis.contains(1)}
        found = ((naming.dims.get(name), g) for name, g in leaving_out_one(guards).items())
        named = ((dim.symbol, guard) for dim, guard in found if dim is not None)
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
    """Within, attention takes `is_causal` as the truth of sizes, which torch's own parser refuses:
    the truth is then a condition like any other."""
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
    """Within, an example of size 0 or 1 says nothing about other sizes."""
    config: Any = symbolic_config
    return config.patch(backed_size_oblivious=True)


def _dynamic_shapes(
    module: Any, call: ExampleCall, inputs: Mapping[str, Any], named: NamedAxes
) -> Any:
    """torch's form of what is dynamic, built like the inputs."""
    axes = {axis.name: axis for axis in named.axes}
    shapes: Any = torch.export.ShapesCollection()
    for (_, leaf), places in zip(leaves_of(inputs), named.leaves, strict=True):
        if places:
            names = {i: dim.symbol.name if dim.symbol else "" for i, dim in places.items()}
            shapes[leaf] = {i: _hint(name, axes) for i, name in names.items()}
    return shapes.dynamic_shapes(module, *call)


def _hint(name: str, axes: Mapping[str, Axis]) -> Any:
    axis = axes.get(name, Axis("any"))
    auto: Any = TorchDim.AUTO
    return auto(min=axis.min, max=axis.max)


def simplified(program: Any) -> Any:
    """Taken apart into the ops of the importer's table."""
    table: dict[Any, Callable[..., Any]] = torch.export.default_decompositions()
    for op in [op for op in table if str(op) in KEPT]:
        del table[op]
    quiet = catch_warnings(action="ignore", category=FutureWarning)  # of torch, about itself
    with torch.no_grad(), _any_size(), quiet:
        return program.run_decompositions(table)
