"""A course as a record: its programs, what is between them, and the nodes that Python computes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from anyshape.base.errors import NotSavableError
from anyshape.execute.course import CoursePlan
from anyshape.execute.record_program import array_record, facts_text, place_record, program_record
from anyshape.execute.regions import HostStep, SegmentStep
from anyshape.ir.node import Node, Region
from anyshape.ir.opdef import PARAM, ParamAttrs
from anyshape.ir.text.printer import graph_text
from anyshape.ops.torch_call import op_name
from anyshape.program import CourseDescription, with_addresses
from anyshape.saved.container import Blobs
from anyshape.saved.records import (
    BearerRecord,
    CheckRecord,
    CourseRecord,
    HostRecord,
    SegmentRecord,
    ToldRecord,
)
from anyshape.sym import Facts

OF_TORCH = frozenset({"torch_call", "torch_effect"})


def course_record(
    name: str, plan: CoursePlan, segments: Sequence[SegmentStep], blobs: Blobs
) -> CourseRecord:
    """Refuses nodes that torch computes, and those with regions of their own."""
    _refuse(name, plan.hosts)
    numbers = {id(program): number for number, program in enumerate(plan.programs)}
    return CourseRecord(
        _without_addresses(plan),
        tuple(array_record(array, array.shape, None, blobs) for array in plan.constants),
        tuple(program_record(each.notes, each.linked, blobs) for each in plan.programs),
        tuple(SegmentRecord(numbers[id(s.executor)], tuple(sorted(s.axes))) for s in segments),
        tuple(CheckRecord(number, facts_text(facts)) for number, facts in plan.facts.items()),
        tuple(
            ToldRecord(number, tuple(symbol.name for symbol in symbols))
            for number, symbols in plan.symbols.items()
        ),
        tuple(HostRecord(_host_text(host.node), facts_text(host.facts)) for host in plan.hosts),
        tuple(BearerRecord(op, place_record(place)) for op, place in plan.bearers),
    )


def _refuse(name: str, hosts: Iterable[HostStep]) -> None:
    causes = Counter(
        f"op '{op_name(host.node)}', which torch computes"
        if host.node.op.name in OF_TORCH
        else f"op '{host.node.op.name}', which Python computes with programs of its own"
        for host in hosts
        if host.node.op.name in OF_TORCH or host.regions
    )
    if causes:
        fix = "replace these ops, or compile the model where it runs"
        raise NotSavableError(name, causes, fix)


def _host_text(node: Node) -> str:
    """A graph that is this node and nothing else."""
    types = [value.type for value in node.operands]
    params = [
        Node.make(PARAM, (), ParamAttrs(number), (type_,)).result()
        for number, type_ in enumerate(types)
    ]
    alone = Node.make(node.op, params, node.attrs, node.types, late=node.late)
    names = [f"x{number}" for number in range(len(params))]
    return graph_text("host", names, Region(tuple(types), alone.results, Facts()))


def _without_addresses(plan: CoursePlan) -> CourseDescription:
    """Constants are numbered as the plan has them."""
    numbers = {array.ctypes.data: number for number, array in enumerate(plan.constants)}
    return with_addresses(plan.description, numbers.__getitem__)
