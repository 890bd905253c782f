"""A model as a captured program: exported by torch, in the form that the importer takes.

Sizes 0 and 1 are sizes like any other: torch is told not to treat them apart, and examples have
others (see `examples`). Every named position is exported as one whose range and relations torch
finds out; what the model's code asks of it is in the program's guards (see `conditions`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch.export import Dim as TorchDim
from torch.fx.experimental import _config as symbolic_config
from torch.utils import _pytree as pytree

from anyshape.base.errors import TraceError
from anyshape.base.location import Location
from anyshape.frontend.torch_export.axes import NamedAxes, leaves_of, named_axes
from anyshape.frontend.torch_export.call_form import CallForm, Parameters
from anyshape.frontend.torch_export.conditions import Guard, model_guards, was_traced_here
from anyshape.frontend.torch_export.examples import (
    check_one_size_each,
    example_sizes,
    own_sizes,
    with_sizes,
)
from anyshape.frontend.torch_export.export_errors import in_words_of_model, place_of_error
from anyshape.frontend.torch_export.importer import import_exported
from anyshape.frontend.torch_export.naming import Naming, naming_of, user_inputs
from anyshape.frontend.torch_export.other_side import (
    answered_otherwise,
    leaving_out_one,
    without,
)
from anyshape.frontend.torch_export.program import ImportedProgram
from anyshape.frontend.torch_export.saved_guards import saved_guards
from anyshape.sym import Axis, Symbol

KEPT = frozenset(
    {"aten.scaled_dot_product_attention.default", "aten.layer_norm.default"}
    | {"aten.rms_norm.default", "aten.gelu.default", "aten.silu.default", "aten.softmax.int"}
    | {"aten.log_softmax.int", "aten.embedding.default", "aten.linear.default"}
    | {"aten.matmul.default", "aten.addmm.default", "aten.stack.default", "aten.unbind.int"}
    | {"aten.square.default", "aten.logsumexp.default"}
)
"""Ops that the importer takes whole although torch could take them apart."""

Axes = Mapping[str, Any]
Names = Mapping[str, str]
ExampleCall = tuple[tuple[Any, ...], dict[str, Any]]


@dataclass(frozen=True)
class CapturedModel:
    """A model's graph, and how it is called."""

    imported: ImportedProgram
    form: CallForm


def capture_module(
    module: Any,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    axes: Axes | None,
    dynamic_shapes: Any,
    names: Names,
) -> CapturedModel:
    """Exports a module at an example call and imports what torch recorded."""
    parameters = Parameters.of(module.forward)
    inputs = pytree.tree_map(_as_tensor, parameters.bind(args, kwargs))
    named = named_axes(inputs, axes or {})
    form, name = CallForm(parameters, inputs), type(module).__name__
    if dynamic_shapes is None:
        return CapturedModel(_Exporter(module, parameters, inputs, named).imported(), form)
    program = _export(module, parameters.split(inputs), dynamic_shapes)
    naming = naming_of(program, named, names, torch_ranges=True)
    return CapturedModel(import_exported(program, name, naming, model_guards(program)), form)


def capture_program(program: Any, axes: Axes | None, names: Names) -> CapturedModel:
    """Imports a program that the user exported."""
    order = program.module_call_graph[0].signature.forward_arg_names
    values = [node.meta.get("val") for node in user_inputs(program)]
    args, kwargs = program.call_spec.in_spec.unflatten(values)
    parameters = Parameters(tuple(order or (f"args_{i}" for i in range(len(args)))))
    inputs = parameters.bind(args, kwargs)
    named = named_axes(inputs, axes or {})
    sizes = {path: getattr(leaf, "shape", ()) for path, leaf in leaves_of(inputs)}
    guards = model_guards(program) if was_traced_here(program) else saved_guards(program, sizes)
    naming = naming_of(program, named, names, torch_ranges=True)
    imported = import_exported(simplified(program), "model", naming, guards)
    return CapturedModel(imported, CallForm(parameters, inputs))


def _as_tensor(leaf: Any) -> Any:
    """Examples may be NumPy arrays."""
    own: Any = torch
    return own.from_numpy(leaf) if hasattr(leaf, "__array_interface__") else leaf


# --- export ---------------------------------------------------------------------------------------


class _Exporter:
    """Exports one module at examples of different sizes."""

    def __init__(
        self, module: Any, parameters: Parameters, inputs: Mapping[str, Any], named: NamedAxes
    ) -> None:
        check_one_size_each(inputs, named)
        self.module = module
        self.parameters = parameters
        self.inputs = inputs
        self.named = named
        self.refused_at: Location | None = None

    def imported(self) -> ImportedProgram:
        """The program for any size, with the conditions that its model's code sets."""
        program, sizes = self._program()
        naming, guards = self._naming(program), model_guards(program)
        for guard in self._leaving_out_one(naming, guards):
            with answered_otherwise(guard):
                other = self._at(sizes)
            if self._import(program, naming).graph == self._import(other, naming).graph:
                guards = without(guards, guard, model_guards(other))
        return self._import(program, naming, guards)

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

    def _naming(self, program: Any) -> Naming:
        at = self.refused_at
        return naming_of(program, self.named, {}, torch_ranges=False, refused_at=at)

    def _import(
        self, program: Any, naming: Naming, guards: Sequence[Guard] = ()
    ) -> ImportedProgram:
        return import_exported(program, type(self.module).__name__, naming, guards)

    def _leaving_out_one(self, naming: Naming, guards: Sequence[Guard]) -> list[Guard]:
        """What the model's code says against size 1 of axes that may be 1."""
        allowed = {axis.symbol for axis in self.named.axes if axis.contains(1)}
        found = ((naming.dims.get(name), g) for name, g in leaving_out_one(guards).items())
        return [guard for dim, guard in found if dim is not None and dim.symbol in allowed]


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
    with torch.no_grad(), _any_size():
        return program.run_decompositions(table)
