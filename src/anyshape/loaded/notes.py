"""What is said of loaded programs and graphs: read from the file when somebody asks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from anyshape.base.lazy import lazy_read_only
from anyshape.codegen.target import Target
from anyshape.execute.kernel_view import KernelView
from anyshape.execute.notes import StepNotes
from anyshape.execute.record_program import BETWEEN
from anyshape.ir.checks import ValueCheck
from anyshape.ir.graph import Graph
from anyshape.ir.literal import WeightStore
from anyshape.ir.rewrite import Decision
from anyshape.ir.text.parser import parse
from anyshape.ir.types import Array, TensorType
from anyshape.loaded.programs import FileCode
from anyshape.loaded.read_texts import check_of, facts_of, plan_of, symbols_of, type_of
from anyshape.loop.parser import parse_kernel
from anyshape.lower.packing import Packing, unpack
from anyshape.observe.explain import Group
from anyshape.passes import PassReport
from anyshape.program import ConstantStore
from anyshape.saved.records import ArrayRecord, ExecutableRecord, ProgramRecord, StepRecord
from anyshape.sym import BindingPlan, Facts, Symbol


class SavedProgramNotes:
    """See `execute.notes.ProgramNotes`."""

    schedule = None
    decisions: tuple[Decision, ...] = ()  # they are among the groups of the whole graph

    def __init__(self, record: ProgramRecord, code: FileCode) -> None:
        self._record = record
        self._code = code
        self.name = record.name
        self.inputs = tuple(each.name for each in record.description.inputs)
        self.symbols: Sequence[Symbol] = symbols_of(record.symbols)
        self.output_numbers = record.output_numbers
        self.late = frozenset(symbols_of(record.sizes.late))

    @lazy_read_only
    def bindings(self) -> BindingPlan:
        return plan_of(self._record.sizes)

    @lazy_read_only
    def facts(self) -> Facts:
        return facts_of(self._record.sizes.facts)

    @lazy_read_only
    def steps(self) -> Sequence[StepNotes]:
        return tuple(map(_step, self._record.steps))

    @lazy_read_only
    def constant_sizes(self) -> Sequence[tuple[int, int]]:
        stores = (buffer.store for buffer in self._record.description.buffers)
        numbers = [store.index for store in stores if isinstance(store, ConstantStore)]
        constants = self._record.constants
        return [(n, len(self._code.file.blob(constants[n].blob))) for n in numbers]

    def kernels(self, target: Target) -> tuple[KernelView, ...]:
        texts = self._code.file.text(self._record.texts).split(BETWEEN)
        known = [parse_kernel(text) for text in texts if text]
        return tuple(
            KernelView(view.name, view.variant, view.ops, known[view.text], target)
            for view in self._record.views
        )

    def text_sizes(self) -> tuple[int, int]:
        return self._record.distinct, self._record.text_bytes


def _step(record: StepRecord) -> StepNotes:
    results = tuple(map(type_of, record.results))
    return StepNotes(results, record.reads, record.writes, record.in_chain, None)


class SavedGraphNotes:
    """See `execute.notes.GraphNotes`."""

    def __init__(self, record: ExecutableRecord, code: FileCode) -> None:
        self._record = record
        self._code = code
        self.name = record.name
        self.outputs = record.outputs
        self.host_ops: Mapping[str, int] = dict(record.host_ops)
        self.checks: tuple[ValueCheck, ...] = tuple(map(check_of, record.checks))
        self.reports = tuple(
            PassReport(each.name, each.changed, each.before, each.after, ())
            for each in record.passes
        )
        self.groups = tuple(
            Group(each.rule, each.taken, each.op, each.why, each.times, each.places)
            for each in record.groups
        )

    @lazy_read_only
    def inputs(self) -> Sequence[tuple[str, TensorType]]:
        return [(name, type_of(text)) for name, text in self._record.inputs]

    @lazy_read_only
    def results(self) -> tuple[TensorType, ...]:
        return tuple(map(type_of, self._record.results))

    @lazy_read_only
    def bindings(self) -> BindingPlan:
        return plan_of(self._record.sizes)

    @property
    def text(self) -> str:
        return self._code.file.text(self._record.graph)

    @lazy_read_only
    def graph(self) -> Graph:
        return parse(self.text)

    @lazy_read_only
    def source(self) -> Graph:
        """With its weights, which are unpacked for it."""
        text = self._code.file.text(self._record.source)
        return replace(parse(text, self.weights()), checks=self.checks)

    def weights(self) -> WeightStore:
        store = WeightStore()
        for weight in self._record.weights:
            store.add(plain_array(weight.array, self._code))
        return store


def plain_array(record: ArrayRecord, code: FileCode) -> Array:
    """An array as the model has it."""
    array, packed = code.array(record), record.packing
    if packed is None:
        return array
    axes = packed.batch, packed.depth, packed.free
    packing = Packing(*axes, packed.columns, packed.parts, packed.group)
    panels = array.reshape(packing.shape(record.shape))
    return unpack(panels, packing, record.shape)
