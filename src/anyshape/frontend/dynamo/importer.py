"""Imports an fx graph of torch.compile.

The fx graph is functional. Sizes that dynamo leaves symbolic are inputs of their own; here they
follow from the shapes of tensors. One that no tensor has becomes the size of an array without
content, or the sizes of two (see `integers`). Parameters and buffers are constants, whose values
the caller passes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from anyshape.frontend.aten.complex_tensors import PARTS, ComplexTensor, is_complex
from anyshape.frontend.aten.dtypes import from_torch
from anyshape.frontend.aten.symbols import dim_of_size, hints_of, is_symbolic
from anyshape.frontend.aten.walk import Walker, check_known, is_token
from anyshape.frontend.aten.walk import constant as constant_value
from anyshape.frontend.builder.checks import graph_with_checks
from anyshape.frontend.builder.convert import asarray
from anyshape.frontend.builder.movement import transpose
from anyshape.frontend.builder.pytree import flatten
from anyshape.frontend.builder.tensor import Tensor
from anyshape.frontend.builder.tracer import Tracer
from anyshape.frontend.dynamo.integers import counts_below, signed_symbols
from anyshape.frontend.imported.program import (
    ComplexInput,
    ComplexResult,
    FixedResult,
    ImportedProgram,
    Returned,
    SizeInput,
    SizeResult,
    Source,
    StridedResult,
    TensorResult,
    TruthResult,
    UserInput,
)
from anyshape.frontend.imported.where import check_known as check_axes
from anyshape.ir.build import Builder
from anyshape.ir.types import TensorType, bool_, i64
from anyshape.sym import Dim, Fact, FactScope


def import_fx_graph(
    module: Any, name: str, constants: Mapping[int, Any], where: Sequence[Fact] = ()
) -> ImportedProgram:
    """The graph of an fx module; `constants` are the values of some of its inputs, by number, and
    `where` holds between its axes, which have the names of torch's symbols."""
    check_known(module)
    return _Importer(module, name, where).imported(constants)


class _Importer:
    def __init__(self, module: Any, name: str, where: Sequence[Fact]) -> None:
        self.name = name
        self.nodes = [node for node in module.graph.nodes if node.op == "placeholder"]
        self.values = [node.meta["val"] for node in self.nodes]
        symbols = signed_symbols(self.values)
        self.dims = {name: symbol.dim for name, symbol in symbols.items()}
        self.walker = Walker(module, self.dims)
        scope = FactScope(distinct_names=False)  # torch's names say nothing about equality
        axes = [axis for symbol in symbols.values() for axis in symbol.axes]
        check_axes(where, [axis.symbol for axis in axes])
        for axis in axes:
            scope.declare(axis)
        for fact in where:
            scope.assume_fact(fact)
        self.builder = Builder(scope)
        self.tracer = Tracer(name, self.builder, Tensor, locate=lambda: self.walker.location)
        self.inputs: list[str] = []
        self.sources: list[Source] = []
        self.results: list[Tensor] = []

    def imported(self, constants: Mapping[int, Any]) -> ImportedProgram:
        with self.tracer.active():
            for number, node in enumerate(self.nodes):
                self.walker.values[node] = self._input(number, constants.get(number))
            self.walker.run()
            results = zip(self.walker.results(), self._expected(), strict=True)
            returned = tuple(self._returned(*pair) for pair in results)
        graph = graph_with_checks(self.tracer, self.name, self.inputs, self.results)
        _, structure = flatten(tuple(range(len(returned))))
        return ImportedProgram(graph, tuple(self.sources), returned, {}, {}, {}, structure, {})

    # --- inputs -------------------------------------------------------------------------------

    def _input(self, number: int, constant: Any) -> Any:
        value = self.values[number]
        if is_token(self.nodes[number]):
            return None
        if constant is not None:
            return constant_value(constant)
        if isinstance(value, torch.Tensor):
            shape = tuple(dim_of_size(size, self.dims) for size in value.shape)
            if is_complex(value):
                type_ = TensorType(PARTS[value.dtype], (*shape, Dim.of(2)))
                return ComplexTensor(self._param(number, ComplexInput(number), type_))
            return self._param(
                number, UserInput(number), TensorType(from_torch(value.dtype), shape)
            )
        if not is_symbolic(value):
            return value
        dim = dim_of_size(value, self.dims)
        if not self._has_size(dim):
            self._integer(number, dim)
        return dim

    def _integer(self, number: int, dim: Dim) -> None:
        """Inputs whose sizes tell what the integer is."""
        if not any(map(counts_below, dim.symbols)):
            self._param(number, SizeInput(number), TensorType(bool_, (dim,)))
            return
        for symbol in sorted(dim.symbols, key=str):
            source = SizeInput(number, counts_below(symbol))
            self._param(number, source, TensorType(bool_, (Dim.of(symbol),)))

    def _has_size(self, dim: Dim) -> bool:
        """Whether a tensor among the inputs has this very size."""
        tensors = (value for value in self.values if isinstance(value, torch.Tensor))
        sizes: list[Any] = [size for tensor in tensors for size in tensor.shape]
        return any(dim_of_size(size, self.dims) == dim for size in sizes)

    def _param(self, number: int, source: Source, type_: TensorType) -> Tensor:
        self.inputs.append(self.nodes[number].name)
        self.sources.append(source)
        return self.tracer.param(type_)

    # --- results ------------------------------------------------------------------------------

    def _expected(self) -> list[Any]:
        """What torch expects each result to be like."""
        (output,) = (node for node in self.walker.module.graph.nodes if node.op == "output")
        given: Sequence[Any] = output.args[0]
        return [getattr(node, "meta", {}).get("val") for node in given]

    def _returned(self, value: Any, expected: Any) -> Returned:
        if isinstance(value, Tensor) and isinstance(expected, (bool, torch.SymBool)):
            return TruthResult(self._result(value))
        if isinstance(value, Tensor):
            return self._tensor(value, expected)
        if isinstance(value, ComplexTensor):
            return ComplexResult(self._result(value.parts))
        if isinstance(value, Dim) and value.constant is None:
            return SizeResult(self._result(asarray(value)))
        return FixedResult(value.constant if isinstance(value, Dim) else value)

    def _tensor(self, value: Tensor, expected: Any) -> Returned:
        """torch makes views of results anew from the layout that it expects of them."""
        order = _memory_order(expected)
        if order is None:
            strides = [dim_of_size(stride, self.dims) for stride in expected.stride()]
            offset = dim_of_size(expected.storage_offset(), self.dims)
            numbers = [self._result(asarray(dim, i64)) for dim in (*strides, offset)]
            return StridedResult(self._result(value), tuple(numbers[:-1]), numbers[-1])
        if order == tuple(range(value.ndim)):
            return TensorResult(self._result(value))
        back = tuple(order.index(axis) for axis in range(len(order)))
        return TensorResult(self._result(transpose(value, order)), back)

    def _result(self, value: Tensor) -> int:
        self.results.append(value)
        return len(self.results) - 1


def _memory_order(value: Any) -> tuple[int, ...] | None:
    """The order in which the axes of a dense tensor lie in memory; None if there are gaps."""
    if any(is_symbolic(size) and size.node.hint is None for size in value.shape):
        return tuple(range(value.dim()))  # a size that the graph computes: nobody made views yet
    sizes, strides = hints_of(value.shape), hints_of(value.stride())
    order = tuple(sorted(range(len(sizes)), key=lambda axis: -strides[axis]))
    ends = [math.prod(sizes[axis] for axis in order[i + 1 :]) for i in range(len(order))]
    dense = all(strides[axis] == ends[i] for i, axis in enumerate(order))
    return order if dense and hints_of([value.storage_offset()]) == [0] else None
