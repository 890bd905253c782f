"""Imports an ONNX model: its inputs with named axes, its initializers as weights, then its nodes.

The sizes of inputs are what the model declares: numbers, names (`dim_param`), expressions over
names, or nothing, which is a size unrelated to every other. Sizes that the model declares for
anything else are hints, and inference is what counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np

from anyshape.base.errors import InputError, InvalidModelError, UnsupportedModelError
from anyshape.frontend.builder.checks import graph_with_checks
from anyshape.frontend.builder.convert import asarray
from anyshape.frontend.builder.pytree import Branch, Structure, flatten
from anyshape.frontend.builder.tensor import Tensor
from anyshape.frontend.builder.tracer import Tracer
from anyshape.frontend.imported.call_signature import CallSignature, Parameters
from anyshape.frontend.imported.example import Example, PathStep
from anyshape.frontend.imported.program import (
    ImportedModel,
    ImportedProgram,
    TensorResult,
    UserInput,
)
from anyshape.frontend.onnx.calls import EMPTY
from anyshape.frontend.onnx.input_shapes import Form, InputInfo, input_infos, named_shapes
from anyshape.frontend.onnx.model_file import ModelFile
from anyshape.frontend.onnx.numbers import StaticInputsError
from anyshape.frontend.onnx.size_names import require_declared
from anyshape.frontend.onnx.walk import Progress, Walker, check_known, functions_of
from anyshape.ir.build import Builder
from anyshape.ir.literal import WeightStore
from anyshape.ir.types import Array, TensorType
from anyshape.sym import Axis, Fact, FactScope


@dataclass(frozen=True)
class Naming:
    """What whoever imports says of a model's inputs."""

    axes: Mapping[str, Any] = field(default_factory=dict[str, Any])  # as `compile` takes them
    where: tuple[Fact, ...] = ()
    sizes: Mapping[str, int] = field(default_factory=dict[str, int])  # numbers for names
    values: Mapping[str, Array] = field(
        default_factory=dict[str, Array]
    )  # inputs that are constants
    forms: Mapping[str, Form] = field(default_factory=dict[str, Form])  # of sequences, optionals
    apart: frozenset[str] = frozenset()  # names of the model that mean nothing
    overridden: frozenset[str] = frozenset()  # initializers that a call gives
    strict: bool = False  # sizes that the model declares of other tensors hold too


@dataclass(frozen=True)
class OnnxModel:
    """An imported model, and the names of what it takes and gives."""

    model: ImportedModel
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    lengths: tuple[int | None, ...]  # of outputs that are sequences; -1 is an empty optional


class StaticInputNamesError(Exception):
    """Inputs, by name, whose values the structure of the graph depends on."""

    def __init__(self, names: tuple[str, ...]) -> None:
        super().__init__(names)
        self.names = names


def import_model(
    file: ModelFile, naming: Naming | None = None, weights: WeightStore | None = None
) -> OnnxModel:
    """The graph of a model."""
    functions = functions_of(file)
    check_known(file, functions)
    return _Importer(file, naming or Naming(), weights, Progress(file, functions)).imported()


class _Importer:
    def __init__(
        self, file: ModelFile, naming: Naming, weights: WeightStore | None, progress: Progress
    ) -> None:
        self.file = file
        self.graph = file.proto.graph
        self.naming = naming
        self.progress = progress
        infos = input_infos(file, naming.overridden)
        self.given = [each for each in infos if each.name not in naming.values]
        _check_names(naming, infos)
        self.infos = list(_flat(self.given, naming.forms))
        self.shapes, axes = named_shapes(self.infos, naming.axes, naming.sizes, naming.apart)
        self.builder = Builder(
            _scope(axes, naming.where), WeightStore() if weights is None else weights
        )
        self.name = re.sub(r"\W", "_", self.graph.name) or "model"
        self.tracer = Tracer(self.name, self.builder, Tensor, locate=lambda: progress.location)
        self.walker = Walker(self.graph.node, file.opsets, progress)

    def imported(self) -> OnnxModel:
        try:
            with self.tracer.active():
                self._inputs()
                self.walker.graph_constants(self.graph)
                self.walker.run()
                if self.naming.strict:
                    require_declared(self.file, self.infos, self.shapes, self.walker.values)
                results = self._outputs()
        except StaticInputsError as error:
            raise StaticInputNamesError(
                tuple(self.infos[n].name for n in sorted(error.inputs))
            ) from None
        names = [each.name for each in self.infos]
        outputs = tuple(each.name for each in self.graph.output)
        lengths = tuple(map(_length, results))
        results = [each for result in results for each in _parts(result)]
        graph = graph_with_checks(self.tracer, self.name, names, results)
        program = ImportedProgram(
            graph,
            tuple(UserInput(leaf) for leaf in range(len(names))),
            tuple(TensorResult(number) for number in range(len(results))),
            {},
            {},
            {},
            _tuple_of(len(results)),
            {},
        )
        model = ImportedModel(program, _signature(self.infos))
        return OnnxModel(model, tuple(names), outputs, lengths)

    def _inputs(self) -> None:
        names = [each.name for each in input_infos(self.file, self.naming.overridden)]
        if len(set(names)) < len(names):
            raise InvalidModelError(self.file.name, "has two inputs of one name", "rename one")
        for name, array in self.naming.values.items():
            self.walker.define([name], [asarray(array)])
        params = {
            info.name: self.tracer.param(TensorType(info.dtype, shape))
            for info, shape in zip(self.infos, self.shapes, strict=True)
        }
        for info in self.given:
            self.walker.define([info.name], [self._input(info, params)])

    def _input(self, info: InputInfo, params: Mapping[str, Tensor]) -> Any:
        if info.is_tensor:
            return params[info.name]
        form = self.naming.forms[info.name]
        elements = [params[each.name] for each in info.elements(form)]
        if form is None:
            return EMPTY
        return elements[0] if isinstance(form, int) else elements

    def _outputs(self) -> list[Any]:
        """Tensors, lists of them, or `EMPTY`."""
        results: list[Any] = []
        for output in self.graph.output:
            value = self.walker.value(output.name)
            if value is not EMPTY and not all(isinstance(each, Tensor) for each in _parts(value)):
                what = "an output that is no tensor"
                fix = "let the model give tensors"
                raise UnsupportedModelError(self.file.name, {what: [output.name]}, fix)
            results.append(value)
        return results


def _flat(infos: Sequence[InputInfo], forms: Mapping[str, Form]) -> Iterator[InputInfo]:
    """The tensors that a call gives. Forms that nobody has said are asked for."""
    unknown = tuple(each.name for each in infos if not each.is_tensor and each.name not in forms)
    if unknown:
        raise StaticInputNamesError(unknown)
    for info in infos:
        yield from [info] if info.is_tensor else info.elements(forms[info.name])


def _parts(value: Any) -> list[Any]:
    if value is EMPTY:
        return []
    return cast(list[Any], value) if isinstance(value, list) else [value]


def _length(value: Any) -> int | None:
    if value is EMPTY:
        return -1
    return len(cast(list[Any], value)) if isinstance(value, list) else None


def _scope(axes: Sequence[Axis], where: tuple[Fact, ...]) -> FactScope:
    scope = FactScope()
    for axis in axes:
        scope.declare(axis)
    for fact in where:
        scope.assume_fact(fact)
    return scope


def _check_names(naming: Naming, infos: Sequence[InputInfo]) -> None:
    known = [each.name for each in infos]
    for name in sorted({*naming.axes, *naming.values, *naming.forms} - set(known)):
        raise InputError(name, "is no input of the model", f"use one of {', '.join(known)}")


def _signature(infos: Sequence[InputInfo]) -> CallSignature:
    names = tuple(each.name for each in infos)
    leaves = tuple(np.empty(0) for _ in names)
    _, structure = flatten(dict(zip(names, leaves, strict=True)))
    assert isinstance(structure, Branch)
    by_name = dict(zip(names, leaves, strict=True))
    ordered = tuple(str(key) for key in structure.keys)
    paths = tuple((PathStep(name, name),) for name in ordered)
    example = Example(tuple(by_name[name] for name in ordered), paths, structure)
    return CallSignature(Parameters(names), example)


def _tuple_of(count: int) -> Structure:
    return flatten((0,) * count)[1]
