"""What the suite lacks. An op without full coverage is named, with what is missing."""

from __future__ import annotations

import typing
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields

from tests.compliance.case import Case

from anyshape.ir import Node, OpDef
from anyshape.ir.attrs import schema
from anyshape.ir.types import DType
from anyshape.ops.rules import FixedDType, SameDType

Op = OpDef[typing.Any]


def gaps(ops: Iterable[Op], cases: Sequence[Case]) -> list[str]:
    """One line per shortcoming; an empty list is full coverage."""
    return [f"{op.name}: {gap}" for op in ops for gap in _gaps_of(op, cases)]


def _gaps_of(op: Op, cases: Sequence[Case]) -> Iterator[str]:
    own = [case for case in cases if case.op == op.name]
    if not own:
        yield f"has no case in tests/compliance/cases/{op_file(op)}.py"
        return
    for case in own:
        if not case.types:
            yield f"case '{case.label}' states no result types"
        if case.expect is None and case.check is None:
            yield f"case '{case.label}' has no independent reference"
    graphs = [case.graph() for case in own]
    nodes = [node for graph in graphs for node in graph.nodes() if node.op is op]
    if not nodes:
        yield "no case makes a node of it"
    yield from _dtype_gaps(op, nodes)
    yield from _attribute_gaps(op, nodes)
    if not any(type_.symbols for graph in graphs for type_ in graph.body.params):
        yield "no case has a symbolic size"


def op_file(op: Op) -> str:
    """The file of the op's entry, whose name the file of its cases shares."""
    rules = (op.reference, op.decompose, op.type_rule)
    return next(rule.__module__ for rule in rules if rule is not None).rpartition(".")[2]


def _dtype_gaps(op: Op, nodes: Sequence[Node]) -> Iterator[str]:
    """Every dtype that the op allows is used."""
    if not isinstance(op.dtype_rule, SameDType | FixedDType):
        return
    used = {value.tensor.dtype for node in nodes for value in node.operands}
    missing: list[DType] = [dtype for dtype in op.dtype_rule.allowed if dtype not in used]
    if missing:
        yield f"no case for {', '.join(map(str, missing))}"


def _attribute_gaps(op: Op, nodes: Sequence[Node]) -> Iterator[str]:
    """Every attribute takes two values at least, and every word that it may be."""
    for field in fields(op.attrs):
        used = {getattr(node.attrs, field.name) for node in nodes}
        hint = schema(op.attrs)[field.name]
        words = typing.get_args(hint) if typing.get_origin(hint) is typing.Literal else ()
        if missing := [word for word in words if word not in used]:
            yield f"no case with {field.name}={' or '.join(missing)}"
        elif len(used) < 2:
            yield f"attribute '{field.name}' is the same in all cases"
