"""A program as a record: its description without addresses, its code and constants as blobs, and
what is said of it in the words of the model."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from anyshape.base.errors import NotSavableError
from anyshape.base.location import Location
from anyshape.codegen.target import BIND, SHAPE, SavableCode
from anyshape.codegen.target import Code as TargetCode
from anyshape.execute.link import LinkedConstant, LinkedFunction, LinkedProgram
from anyshape.execute.notes import ProgramNotes, StepNotes
from anyshape.ir.types import Array
from anyshape.lower.packing import Packing
from anyshape.program import ProgramDescription
from anyshape.saved.container import Blobs
from anyshape.saved.records import (
    OWN,
    ArrayRecord,
    Function,
    KernelRecord,
    PackingRecord,
    PlaceRecord,
    ProgramRecord,
    SizesRecord,
    StepRecord,
)
from anyshape.sym import BindingPlan, Fact, Facts, Symbol

BETWEEN = "\0"  # no text of a kernel has one


def program_record(notes: ProgramNotes, linked: LinkedProgram, blobs: Blobs) -> ProgramRecord:
    """Refuses what is no machine code."""
    views = notes.kernels(linked.target)
    texts = tuple(view.as_text() for view in views)
    numbers = {text: number for number, text in enumerate(dict.fromkeys(texts))}
    kernels = tuple(
        KernelRecord(view.name, view.variant, view.ops, numbers[text])
        for view, text in zip(views, texts, strict=True)
    )
    functions = tuple(_function(each, notes.name, blobs) for each in linked.functions)
    bind, shape = (
        _function(LinkedFunction(linked.level_2, name), notes.name, blobs) for name in (BIND, SHAPE)
    )
    options = linked.options
    return ProgramRecord(
        notes.name,
        without_addresses(linked.program.description),
        bind,
        shape,
        functions,
        tuple(_constant(each, blobs) for each in linked.constants),
        linked.program.threads,
        options.wait_for_team,
        options.memory_limit,
        sizes_record(notes.bindings, notes.facts, notes.late),
        tuple(symbol.name for symbol in notes.symbols),
        notes.output_numbers,
        tuple(map(_step, notes.steps)),
        kernels,
        blobs.add(BETWEEN.join(numbers).encode()),
        *notes.text_sizes(),
    )


def selector_record(
    description: ProgramDescription,
    code: TargetCode,
    bindings: BindingPlan,
    name: str,
    blobs: Blobs,
) -> ProgramRecord:
    """A program without steps, which gives the number of a case."""
    bind, shape = (_function(LinkedFunction(code, each), name, blobs) for each in (BIND, SHAPE))
    symbols = tuple(step.affine.symbol.name for step in bindings.steps)
    return ProgramRecord(
        name,
        without_addresses(description),
        bind,
        shape,
        kernels=(),
        constants=(),
        threads=1,
        wait_for_team=False,
        memory_limit=None,
        sizes=SizesRecord("", (), ()),
        symbols=symbols,
        output_numbers=(),
        steps=(),
        views=(),
        texts=blobs.add(b""),
        distinct=0,
        text_bytes=0,
    )


def without_addresses(description: ProgramDescription) -> ProgramDescription:
    return replace(description, bind=0, shape=0, kernels=(), constants=())


def _function(function: LinkedFunction, name: str, blobs: Blobs) -> Function:
    if function.code is None:
        return Function(OWN, function.name)
    if not isinstance(function.code, SavableCode):
        causes = {"kernels that are no machine code": 1}
        raise NotSavableError(name, causes, "compile it for the native target")
    return Function(blobs.add(function.code.elf_object), function.name)


def _constant(constant: LinkedConstant, blobs: Blobs) -> ArrayRecord:
    return array_record(constant.array, constant.value.shape, constant.packing, blobs)


def array_record(
    array: Array, shape: tuple[int, ...], packing: Packing | None, blobs: Blobs
) -> ArrayRecord:
    """An array in panels if there is a packing; `shape` is what it has without."""
    return ArrayRecord(blobs.add_array(array), array.dtype, shape, _packing(packing))


def _packing(packing: Packing | None) -> PackingRecord | None:
    if packing is None:
        return None
    axes = packing.batch, packing.depth, packing.free
    return PackingRecord(*axes, packing.columns, packing.parts, packing.group)


def _step(step: StepNotes) -> StepRecord:
    return StepRecord(tuple(map(str, step.results)), step.reads, step.writes, step.in_chain)


def sizes_record(bindings: BindingPlan, facts: Facts, late: frozenset[Symbol]) -> SizesRecord:
    inputs = tuple((name, tuple(map(str, shape))) for name, shape in bindings.inputs)
    return SizesRecord(facts.as_text(), inputs, tuple(sorted(symbol.name for symbol in late)))


def facts_text(facts: Iterable[Fact]) -> str:
    return Facts((), tuple(facts)).as_text()


def place_record(location: Location | None) -> PlaceRecord | None:
    return PlaceRecord(location.file, location.line) if location else None
