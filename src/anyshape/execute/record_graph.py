"""What is known of a compiled graph as a record, and the file around it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from anyshape.execute.link import LinkedConstant
from anyshape.execute.notes import GraphNotes
from anyshape.execute.record_program import array_record, place_record, sizes_record
from anyshape.ir.checks import ValueCheck
from anyshape.ir.graph import Graph
from anyshape.ir.literal import WeightRef
from anyshape.observe.explain import Explanation
from anyshape.passes.constant_work import weights_of
from anyshape.saved.container import Blobs
from anyshape.saved.records import (
    ExecutableRecord,
    ExecutorRecord,
    GroupRecord,
    PassRecord,
    SizesRecord,
    ValueCheckRecord,
    WeightRecord,
)
from anyshape.sym import BindingPlan, Facts

if TYPE_CHECKING:
    from anyshape.execute.executor import Executor


def executable_record(
    notes: GraphNotes,
    executor: Executor,
    explanation: Explanation,
    seen: tuple[str, str],
    blobs: Blobs,
) -> ExecutableRecord:
    """The executor first: weights that it has in panels are not saved in another form. `seen` are
    sizes and calls, as text."""
    ran: ExecutorRecord = executor.record(notes.name, blobs)
    source = notes.source
    forms = {
        constant.value: constant
        for constant in executor.constants
        if isinstance(constant.value, WeightRef)
    }
    return ExecutableRecord(
        notes.name,
        blobs.add(source.as_text().encode()),
        blobs.add(notes.text.encode()),
        tuple(_weights(source, forms, blobs)),
        tuple((name, str(type_)) for name, type_ in notes.inputs),
        tuple(map(str, notes.results)),
        notes.outputs,
        tuple(map(_check, notes.checks)),
        _sizes(notes.bindings, notes.graph),
        tuple(
            PassRecord(each.name, each.changed, each.nodes_before, each.nodes_after)
            for each in notes.reports
        ),
        tuple(
            GroupRecord(each.rule, each.taken, each.op, each.why, each.count, each.places)
            for each in (*explanation.applied, *explanation.refused)
        ),
        explanation.host_ops,
        *seen,
        any(axis.static for axis in notes.bindings.axes),
        ran,
    )


def _sizes(plan: BindingPlan, graph: Graph) -> SizesRecord:
    """Of a caller's arrays: facts that only data decide are not asked of them."""
    return sizes_record(plan, Facts(plan.axes, plan.facts), graph.body.born)


def _weights(
    graph: Graph, forms: Mapping[WeightRef, LinkedConstant], blobs: Blobs
) -> Iterator[WeightRecord]:
    """Of the source: as kernels read them, where they do."""
    for ref in dict.fromkeys(weights_of(graph.body)):
        form = forms.get(ref)
        if form is not None:
            array = array_record(form.array, ref.shape, form.packing, blobs)
        else:
            array = array_record(graph.weights.array(ref), ref.shape, None, blobs)
        yield WeightRecord(str(ref.digest), array)


def _check(check: ValueCheck) -> ValueCheckRecord:
    shape, place = tuple(map(str, check.shape)), place_record(check.location)
    return ValueCheckRecord(check.kind, check.op, place, shape, check.axis, check.from_end)
