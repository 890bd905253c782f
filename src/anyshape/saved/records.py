"""What a saved executable consists of.

Descriptions of programs and courses are those of `program/`, but for their addresses, which the
process that loads them fills in. Dims, types, facts and graphs are text in the languages that they
are printed in, and are read only when somebody asks. Numbers of blobs are those of the file.

Records are named tuples, because every process that loads makes these classes, and they are made
faster than dataclasses.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np

from anyshape.program import CourseDescription, ProgramDescription

OWN = -1
"""In place of a blob: a function that the runtime brings along."""


class Function(NamedTuple):
    """A function of the object code in a blob, or of the runtime's own."""

    blob: int
    name: str


class PackingRecord(NamedTuple):
    """How a constant lies in panels; see `lower/packing.py`."""

    batch: tuple[int, ...]
    depth: tuple[int, ...]
    free: tuple[int, ...]
    columns: int
    parts: int
    group: int = 1


class ArrayRecord(NamedTuple):
    """An array in a blob: in panels, if there is a packing, of what has this shape."""

    blob: int
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    packing: PackingRecord | None = None


class WeightRecord(NamedTuple):
    """A constant of the model by the digest of its content."""

    digest: str
    array: ArrayRecord


class PlaceRecord(NamedTuple):
    """A line of a file, or a place in a model."""

    file: str
    line: int


class SizesRecord(NamedTuple):
    """How the sizes of inputs give those of symbols: `axes` and `facts` as text, names and shapes
    of inputs, and the symbols that are born later."""

    facts: str
    inputs: tuple[tuple[str, tuple[str, ...]], ...]
    late: tuple[str, ...]


class StepRecord(NamedTuple):
    """What a step computes, as types, and the buffers that it reads and writes."""

    results: tuple[str, ...]
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    in_chain: bool  # a member that has no tasks where its chain is taken


class KernelRecord(NamedTuple):
    """One way to do one step; its loops are text number `text`."""

    name: str
    variant: str
    ops: tuple[str, ...]
    text: int


class ProgramRecord(NamedTuple):
    """A program, and what is said of it in the words of the model."""

    name: str
    description: ProgramDescription
    bind: Function
    shape: Function
    kernels: tuple[Function, ...]
    constants: tuple[ArrayRecord, ...]
    threads: int
    wait_for_team: bool
    memory_limit: int | None
    sizes: SizesRecord
    symbols: tuple[str, ...]
    output_numbers: tuple[int, ...]
    steps: tuple[StepRecord, ...]
    views: tuple[KernelRecord, ...]
    texts: int  # the blob of the loops of all views, apart by NUL
    distinct: int
    text_bytes: int


class SegmentRecord(NamedTuple):
    """A program of a course that runs kernels, by number, with the names of its sizes."""

    program: int
    axes: tuple[str, ...]


class CheckRecord(NamedTuple):
    """The facts that a program checks, of the sizes that it is told."""

    program: int
    facts: str


class ToldRecord(NamedTuple):
    """The symbols whose sizes a program is told, in order."""

    program: int
    symbols: tuple[str, ...]


class HostRecord(NamedTuple):
    """A node that Python computes by its reference, as the text of a graph of its own."""

    graph: str
    facts: str


class BearerRecord(NamedTuple):
    """The op of a size that is a number in the graph, and its place in the model."""

    op: str
    place: PlaceRecord | None


class CourseRecord(NamedTuple):
    """A course. The addresses of its constants are numbers of `constants`."""

    description: CourseDescription
    constants: tuple[ArrayRecord, ...]
    programs: tuple[ProgramRecord, ...]
    segments: tuple[SegmentRecord, ...]
    checks: tuple[CheckRecord, ...]
    told: tuple[ToldRecord, ...]
    hosts: tuple[HostRecord, ...]
    bearers: tuple[BearerRecord, ...]


class ValueCheckRecord(NamedTuple):
    """See `ir/checks.py`."""

    kind: str
    op: str
    place: PlaceRecord | None
    shape: tuple[str, ...]
    axis: int
    from_end: bool


class PassRecord(NamedTuple):
    """What a pass did, in numbers."""

    name: str
    changed: bool
    before: int
    after: int


class GroupRecord(NamedTuple):
    """Decisions of one pass about one op for one reason; see `observe/explain.py`."""

    rule: str
    taken: bool
    op: str
    why: str
    times: int
    places: tuple[str, ...]


class CaseRecord(NamedTuple):
    """The facts of a case, and why it has no program if it has none."""

    facts: str
    problem: str
    place: PlaceRecord | None


class CasesRecord(NamedTuple):
    """Programs of a model that branches on sizes, and what chooses between them."""

    cases: tuple[CaseRecord, ...]
    sizes: SizesRecord
    selector: ProgramRecord
    executables: tuple[ExecutableRecord, ...]


class PaddedRecord(NamedTuple):
    """A program whose callers' arrays are padded to buckets: its graph with masks, as text, from
    which sizes are worked out, and what runs it."""

    masked: int
    executor: ProgramRecord | CourseRecord


ExecutorRecord: TypeAlias = ProgramRecord | CourseRecord | CasesRecord | PaddedRecord


class ExecutableRecord(NamedTuple):
    """A graph, compiled: texts of it before and after the passes, its weights, and what runs it."""

    name: str
    source: int
    graph: int
    weights: tuple[WeightRecord, ...]
    inputs: tuple[tuple[str, str], ...]
    results: tuple[str, ...]
    outputs: tuple[int, ...]  # of each result, the first that is the same value
    checks: tuple[ValueCheckRecord, ...]
    sizes: SizesRecord
    passes: tuple[PassRecord, ...]
    groups: tuple[GroupRecord, ...]
    host_ops: tuple[tuple[str, int], ...]
    observed: str
    profile: str  # calls by their sizes
    static: bool  # whether memory for all sizes is taken at once
    executor: ExecutorRecord


# --- models ---------------------------------------------------------------------------------------


class ContainerRecord(NamedTuple):
    """A leaf, if `kind` is empty, or a container: dict, list, tuple or None."""

    kind: str
    keys: tuple[str | int, ...]
    children: tuple[ContainerRecord, ...]


class SourceRecord(NamedTuple):
    """Where an input of the graph comes from: a class of `frontend/imported/program.py`."""

    kind: str
    leaf: int
    below: bool
    name: str


class ReturnedRecord(NamedTuple):
    """What a leaf of a result is, likewise; `numbers` are results of the graph."""

    kind: str
    numbers: tuple[int, ...]
    order: tuple[int, ...]
    value: bool | int | float | str | None


class ModelProgramRecord(NamedTuple):
    """One program of a model: how its inputs and results belong to those of the model."""

    sources: tuple[SourceRecord, ...]
    returned: tuple[ReturnedRecord, ...]
    state: tuple[tuple[str, ArrayRecord], ...]
    state_updates: tuple[tuple[str, int], ...]
    input_updates: tuple[tuple[int, int], ...]
    results: ContainerRecord
    memory_reader: str | None


class SignatureRecord(NamedTuple):
    """How a model is called."""

    positional: tuple[str, ...]
    rest: str | None
    positional_only: tuple[str, ...]
    required: tuple[str, ...]
    names: tuple[str, ...]
    paths: tuple[str, ...]
    tensors: tuple[bool, ...]
    constants: tuple[bool | int | float | str | None, ...]
    arguments: ContainerRecord


class ModelRecord(NamedTuple):
    """A compiled model: an executable, and its calls."""

    executable: ExecutableRecord
    signature: SignatureRecord
    programs: tuple[ModelProgramRecord, ...]


class RaggedRecord(NamedTuple):
    """A ragged model: an executable, its inputs by name, those that are packed, which results have
    a row for each token, and what results become."""

    executable: ExecutableRecord
    names: tuple[str, ...]
    packed: tuple[str, ...]
    of_tokens: tuple[bool, ...]
    returned: tuple[ReturnedRecord, ...]
    results: ContainerRecord


Root: TypeAlias = ExecutableRecord | ModelRecord | RaggedRecord
