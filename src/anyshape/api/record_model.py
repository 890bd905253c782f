"""A compiled model as a record: its executable, how it is called, and what its results become.

Arguments may be in dicts, lists and tuples. So may results; those in a class of their own come back
as dicts with the same names, since a file names no class.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import assert_never, cast

import numpy as np

from anyshape.base.errors import NotSavableError
from anyshape.execute.ragged_calls import RaggedCalls
from anyshape.execute.record_program import array_record
from anyshape.frontend.builder.pytree import Branch, Leaf, Structure
from anyshape.frontend.imported.call_signature import CallSignature
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
from anyshape.ir.types import Array
from anyshape.saved.container import Blobs
from anyshape.saved.records import (
    ContainerRecord,
    ExecutableRecord,
    ModelProgramRecord,
    ModelRecord,
    RaggedRecord,
    ReturnedRecord,
    SignatureRecord,
    SourceRecord,
)

KINDS = {dict: "dict", list: "list", tuple: "tuple", type(None): "none"}
PLAIN = (bool, int, float, str, type(None))
LEAF = ContainerRecord("", (), ())


def model_record(
    model: ImportedModel, executable: ExecutableRecord, state: Mapping[str, Array], blobs: Blobs
) -> ModelRecord:
    """Refuses, all at once, what only classes of this process can hold."""
    name = model.program.graph.name
    causes = Counter((*_unknown_arguments(model.signature), *_unknown_results(model.programs)))
    if causes:
        fix = "pass tensors in dicts, lists and tuples, or save model.executable"
        raise NotSavableError(name, causes, fix)
    programs = tuple(_program(program, state, blobs) for program in model.programs)
    return ModelRecord(executable, _signature(model.signature), programs)


def ragged_record(
    program: ImportedProgram, executable: ExecutableRecord, calls: RaggedCalls
) -> RaggedRecord:
    """Of a ragged model, which takes its inputs by name."""
    causes = Counter(_unknown_results([program]))
    if causes:
        fix = "give tensors in dicts, lists and tuples, or save model.executable"
        raise NotSavableError(program.graph.name, causes, fix)
    return RaggedRecord(
        executable,
        calls.names,
        tuple(sorted(calls.packed)),
        calls.of_tokens,
        tuple(map(_returned, program.returned)),
        _container(program.result_structure),
    )


def _unknown_arguments(signature: CallSignature) -> Iterator[str]:
    for kind in _kinds(signature.structure):
        if kind not in KINDS:
            yield f"arguments in a {kind.__name__}"
    for constant in signature.constants:
        if type(constant) not in PLAIN:
            yield f"a {type(constant).__name__} among its arguments"


def _unknown_results(programs: Sequence[ImportedProgram]) -> Iterator[str]:
    for program in programs:
        for item in program.returned:
            if isinstance(item, FixedResult) and type(item.value) not in PLAIN:
                yield f"a {type(item.value).__name__} among its results"
        for branch in _branches(program.result_structure):
            if branch.kind not in KINDS and _names(branch) is None:
                yield f"results in a {branch.kind.__name__}"


def _kinds(structure: Structure) -> Iterator[type]:
    return (branch.kind for branch in _branches(structure))


def _branches(structure: Structure) -> Iterator[Branch]:
    if isinstance(structure, Branch):
        yield structure
        for child in structure.children:
            yield from _branches(child)


def _names(branch: Branch) -> tuple[str, ...] | None:
    """What the children of a class's own container are called, if they have names."""
    keys: object = branch.registered.context if branch.registered else branch.keys
    named = tuple(cast(Sequence[object], keys)) if isinstance(keys, (list, tuple)) else ()
    if len(named) != len(branch.children) or not all(isinstance(name, str) for name in named):
        return None
    return cast(tuple[str, ...], named)


def _container(structure: Structure) -> ContainerRecord:
    if isinstance(structure, Leaf):
        return LEAF
    children = tuple(map(_container, structure.children))
    if structure.kind in KINDS:
        keys = cast(tuple[str | int, ...], structure.keys)
        return ContainerRecord(KINDS[structure.kind], keys, children)
    return ContainerRecord("dict", _names(structure) or (), children)


def _signature(signature: CallSignature) -> SignatureRecord:
    parameters = signature.parameters
    return SignatureRecord(
        parameters.positional,
        parameters.rest,
        tuple(sorted(parameters.positional_only)),
        parameters.required,
        signature.names,
        signature.paths,
        signature.is_tensor,
        signature.constants,
        _container(signature.structure),
    )


def _program(
    program: ImportedProgram, state: Mapping[str, Array], blobs: Blobs
) -> ModelProgramRecord:
    arrays = {name: np.ascontiguousarray(array) for name, array in state.items()}
    return ModelProgramRecord(
        tuple(map(_source, program.sources)),
        tuple(map(_returned, program.returned)),
        tuple((name, array_record(a, a.shape, None, blobs)) for name, a in arrays.items()),
        tuple(program.state_updates.items()),
        tuple(program.input_updates.items()),
        _container(program.result_structure),
        program.memory_reader,
    )


def _source(source: Source) -> SourceRecord:
    match source:
        case UserInput(leaf) | ComplexInput(leaf):
            return SourceRecord(type(source).__name__, leaf, False, "")
        case SizeInput(leaf, below):
            return SourceRecord("SizeInput", leaf, below, "")
        case StateInput(name):
            return SourceRecord("StateInput", 0, False, name)
        case _:
            assert_never(source)


def _returned(item: Returned) -> ReturnedRecord:
    kind = type(item).__name__
    match item:
        case TensorResult(result, order):
            return ReturnedRecord(kind, (result,), order, None)
        case StridedResult(result, strides, offset):
            return ReturnedRecord(kind, (result, *strides, offset), (), None)
        case ComplexResult(result) | SizeResult(result) | FloatResult(result) | TruthResult(result):
            return ReturnedRecord(kind, (result,), (), None)
        case FixedResult(value):
            return ReturnedRecord(kind, (), (), cast(bool | int | float | str | None, value))
        case _:
            assert_never(item)
