"""Imported models from records: how they are called, and what their results become."""

from __future__ import annotations

import numpy as np

from anyshape.api.compiled_module import CompiledModule
from anyshape.execute import Executable
from anyshape.frontend.builder.pytree import LEAF, Branch, Structure
from anyshape.frontend.imported.call_signature import CallSignature, Parameters
from anyshape.frontend.imported.example import Example, PathStep
from anyshape.frontend.imported.program import (
    ComplexInput,
    ComplexResult,
    FixedResult,
    FloatResult,
    ImportedModel,
    ImportedProgram,
    Returned,
    SizeInput,
    SizeResult,
    Source,
    StateInput,
    StridedResult,
    TensorResult,
    TruthResult,
    UserInput,
)
from anyshape.ir.graph import Graph
from anyshape.loaded.notes import SavedGraphNotes
from anyshape.loaded.programs import FileCode
from anyshape.saved.records import (
    CasesRecord,
    ContainerRecord,
    ExecutableRecord,
    ModelProgramRecord,
    ModelRecord,
    ReturnedRecord,
    SignatureRecord,
    SourceRecord,
)

KINDS = {"dict": dict, "list": list, "tuple": tuple, "none": type(None)}
TENSOR = np.empty(0, np.bool_)
"""Stands for the tensors of the example call."""


def compiled_module(record: ModelRecord, executable: Executable, code: FileCode) -> CompiledModule:
    return CompiledModule(executable, imported_model(record, code))


def imported_model(record: ModelRecord, code: FileCode) -> ImportedModel:
    """With graphs as they were imported."""
    executable = record.executable
    saved = executable.executor
    executables = saved.executables if isinstance(saved, CasesRecord) else (executable,)
    programs = [
        _program(program, _graph(each, code), code)
        for program, each in zip(record.programs, executables, strict=True)
    ]
    return ImportedModel(programs[0], _signature(record.signature), tuple(programs[1:]))


def _graph(record: ExecutableRecord, code: FileCode) -> Graph:
    return SavedGraphNotes(record, code).source


def _signature(record: SignatureRecord) -> CallSignature:
    only = frozenset(record.positional_only)
    parameters = Parameters(record.positional, record.rest, only, record.required)
    pairs = zip(record.tensors, record.constants, strict=True)
    leaves = tuple(TENSOR if tensor else constant for tensor, constant in pairs)
    paths = tuple((PathStep(path, ""),) for path in record.paths)
    structure = _structure(record.arguments)
    assert isinstance(structure, Branch)
    return CallSignature(parameters, Example(leaves, paths, structure))


def _structure(record: ContainerRecord) -> Structure:
    if not record.kind:
        return LEAF
    return Branch(KINDS[record.kind], record.keys, tuple(map(_structure, record.children)))


def _program(record: ModelProgramRecord, graph: Graph, code: FileCode) -> ImportedProgram:
    return ImportedProgram(
        graph,
        tuple(map(_source, record.sources)),
        tuple(map(_returned, record.returned)),
        {name: np.array(code.array(array)) for name, array in record.state},
        dict(record.state_updates),
        dict(record.input_updates),
        _structure(record.results),
        {},
        record.memory_reader,
    )


def _source(record: SourceRecord) -> Source:
    match record.kind:
        case "UserInput":
            return UserInput(record.leaf)
        case "ComplexInput":
            return ComplexInput(record.leaf)
        case "SizeInput":
            return SizeInput(record.leaf, record.below)
        case _:
            return StateInput(record.name)


_NUMBERS = {
    "ComplexResult": ComplexResult,
    "SizeResult": SizeResult,
    "FloatResult": FloatResult,
    "TruthResult": TruthResult,
}


def _returned(record: ReturnedRecord) -> Returned:
    match record.kind:
        case "TensorResult":
            return TensorResult(record.numbers[0], record.order)
        case "StridedResult":
            result, *strides, offset = record.numbers
            return StridedResult(result, tuple(strides), offset)
        case "FixedResult":
            return FixedResult(record.value)
        case kind:
            return _NUMBERS[kind](record.numbers[0])
