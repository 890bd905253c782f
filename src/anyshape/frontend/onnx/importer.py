"""Imports an ONNX model: its inputs with named axes, its initializers as weights, then its nodes.

The sizes of inputs are what the model declares: numbers, names (`dim_param`), expressions over
names, or nothing, which is a size unrelated to every other. Sizes that the model declares for
anything else are hints, and inference is what counts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

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
from anyshape.frontend.onnx.input_shapes import InputInfo, input_infos, named_shapes
from anyshape.frontend.onnx.model_file import ModelFile
from anyshape.frontend.onnx.numbers import StaticInputsError
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
    apart: bool = False  # names of the model mean nothing


@dataclass(frozen=True)
class OnnxModel:
    """An imported model, and the names of what it takes and gives."""

    model: ImportedModel
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


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
        infos = input_infos(file)
        self.infos = [each for each in infos if each.name not in naming.values]
        _check_names(naming, infos)
        self.shapes, axes = named_shapes(self.infos, naming.axes, naming.sizes, naming.apart)
        self.builder = Builder(_scope(axes, naming.where), weights or WeightStore())
        self.name = re.sub(r"\W", "_", self.graph.name) or "model"
        self.tracer = Tracer(self.name, self.builder, Tensor, locate=lambda: progress.location)
        self.walker = Walker(self.graph.node, file.opsets, progress)

    def imported(self) -> OnnxModel:
        try:
            with self.tracer.active():
                self._inputs()
                self.walker.graph_constants(self.graph)
                self.walker.run()
                results = self._outputs()
        except StaticInputsError as error:
            raise StaticInputNamesError(
                tuple(self.infos[n].name for n in sorted(error.inputs))
            ) from None
        names = [each.name for each in self.infos]
        outputs = tuple(each.name for each in self.graph.output)
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
        return OnnxModel(ImportedModel(program, _signature(self.infos)), tuple(names), outputs)

    def _inputs(self) -> None:
        names = [each.name for each in input_infos(self.file)]
        if len(set(names)) < len(names):
            raise InvalidModelError(self.file.name, "has two inputs of one name", "rename one")
        for name, array in self.naming.values.items():
            self.walker.define([name], [asarray(array)])
        for info, shape in zip(self.infos, self.shapes, strict=True):
            tensor = self.tracer.param(TensorType(info.dtype, shape))
            self.walker.define([info.name], [tensor])

    def _outputs(self) -> list[Tensor]:
        results: list[Tensor] = []
        for output in self.graph.output:
            value = self.walker.value(output.name)
            if not isinstance(value, Tensor):
                what = "an output that is no tensor"
                fix = "let the model give tensors"
                raise UnsupportedModelError(self.file.name, {what: [output.name]}, fix)
            results.append(value)
        return results


def _scope(axes: Sequence[Axis], where: tuple[Fact, ...]) -> FactScope:
    scope = FactScope()
    for axis in axes:
        scope.declare(axis)
    for fact in where:
        scope.assume_fact(fact)
    return scope


def _check_names(naming: Naming, infos: Sequence[InputInfo]) -> None:
    known = [each.name for each in infos]
    for name in sorted({*naming.axes, *naming.values} - set(known)):
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
