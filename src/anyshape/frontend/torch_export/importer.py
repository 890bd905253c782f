"""From an ExportedProgram to a graph.

Nodes are taken in order; each is looked up in the table and applied to what its arguments became.
What the table lacks is collected first and reported at once, with counts and places.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

import torch
from torch.export.graph_signature import InputKind, OutputKind

from anyshape.base.errors import UnsupportedModelError
from anyshape.base.location import Location
from anyshape.frontend.builder.arrays import as_array
from anyshape.frontend.builder.convert import asarray
from anyshape.frontend.builder.tensor import Tensor
from anyshape.frontend.builder.tracer import Tracer
from anyshape.frontend.torch_export.calls import TABLE, Call
from anyshape.frontend.torch_export.dtypes import from_torch
from anyshape.frontend.torch_export.symbols import dim_of_size
from anyshape.ir.build import Builder
from anyshape.ir.graph import Graph
from anyshape.ir.types import TensorType
from anyshape.sym import Axis, Dim, FactScope

Names = Mapping[str, str]
"""Axis names by the symbols of the exported program: `s43 -> batch`."""


def import_exported(program: Any, name: str, axes: Sequence[Axis], names: Names) -> Graph:
    """The graph of a functional ExportedProgram. `axes` are declared; `names` name its symbols."""
    nodes = list(program.graph.nodes)
    _check_known(nodes)
    return _Importer(program, name, axes, names).graph(nodes)


def target_name(node: Any) -> str:
    """How the table calls what a node does."""
    target = node.target
    return str(target) if hasattr(target, "overloadpacket") else target.__name__


def _check_known(nodes: Sequence[Any]) -> None:
    missing: dict[str, list[str]] = {}
    for node in nodes:
        if node.op == "call_function" and target_name(node) not in TABLE:
            missing.setdefault(target_name(node), []).append(str(_place(node) or ""))
    if missing:
        fix = "write these parts of the model with other ops, or ask for them to be added"
        raise UnsupportedModelError("the exported program", missing, fix)


class _Importer:
    def __init__(self, program: Any, name: str, axes: Sequence[Axis], names: Names) -> None:
        self.program = program
        self.name = name
        self.dims = {symbol: Dim.of(axis) for symbol, axis in names.items()}
        scope = FactScope()
        for axis in axes:
            scope.declare(axis)
        self.builder = Builder(scope)
        self.place: Location | None = None
        self.tracer = Tracer(name, self.builder, Tensor, locate=lambda: self.place)
        self.values: dict[Any, Any] = {}
        self.inputs: list[str] = []

    def graph(self, nodes: Sequence[Any]) -> Graph:
        placeholders = [node for node in nodes if node.op == "placeholder"]
        with self.tracer.active():
            for node, spec in zip(
                placeholders, self.program.graph_signature.input_specs, strict=True
            ):
                self.values[node] = self._placeholder(node, spec)
            for node in nodes:
                if node.op == "call_function":
                    self._call(node)
            results = self._results(nodes[-1])
        values = [self.tracer.value(result) for result in results]
        return self.builder.graph(self.name, self.inputs, values)

    # --- inputs -------------------------------------------------------------------------------

    def _placeholder(self, node: Any, spec: Any) -> Any:
        if spec.kind is not InputKind.USER_INPUT:
            return asarray(as_array(self._state(spec)))
        if not isinstance(node.meta.get("val"), torch.Tensor):
            return getattr(spec.arg, "value", None)
        self.inputs.append(node.name)
        return self.tracer.param(self._type(node.meta["val"]))

    def _state(self, spec: Any) -> Any:
        """A parameter, a buffer, or a tensor that the model's code made."""
        state = self.program.state_dict
        return state[spec.target] if spec.target in state else self.program.constants[spec.target]

    def _type(self, tensor: Any) -> TensorType:
        shape = (dim_of_size(size, self.dims) for size in tensor.shape)
        return TensorType(from_torch(tensor.dtype), tuple(shape))

    # --- nodes --------------------------------------------------------------------------------

    def _call(self, node: Any) -> None:
        self.place = _place(node)
        args, kwargs = self._argument(node.args), self._argument(node.kwargs)
        self.values[node] = TABLE[target_name(node)](Call(node), *args, **kwargs)

    def _argument(self, argument: Any) -> Any:
        if isinstance(argument, torch.fx.Node):
            return self.values[argument]
        if isinstance(argument, (list, tuple)):
            return [self._argument(item) for item in cast(Sequence[Any], argument)]
        if isinstance(argument, dict):
            items = cast(dict[str, Any], argument).items()
            return {name: self._argument(item) for name, item in items}
        return from_torch(argument) if isinstance(argument, torch.dtype) else argument

    def _results(self, output: Any) -> list[Tensor]:
        specs = self.program.graph_signature.output_specs
        (given,) = output.args
        return [
            self._argument(node)
            for node, spec in zip(given, specs, strict=True)
            if spec.kind is OutputKind.USER_OUTPUT and isinstance(node, torch.fx.Node)
        ]


_FRAME = re.compile(r'File "(.+?)", line (\d+)')


def _place(node: Any) -> Location | None:
    """The line of the model that made a node: the innermost that torch recorded."""
    found = _FRAME.findall(node.meta.get("stack_trace") or "")
    return Location(found[-1][0], int(found[-1][1])) if found else None
