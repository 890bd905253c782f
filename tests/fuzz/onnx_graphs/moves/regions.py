"""Branches, loops and scans. Bodies see what is around them."""

from __future__ import annotations

from typing import Any

import numpy as np
from tests.fuzz.onnx_graphs.generator import DTYPES, FLOATS, Generator, Move, Unfit, extend
from tests.fuzz.onnx_graphs.moves.elementwise import ELEMENTWISE, arithmetic, function, of_numbers
from tests.fuzz.onnx_graphs.moves.movement import MOVEMENT, from_opset
from tests.fuzz.onnx_graphs.moves.reductions import REDUCTIONS
from tests.fuzz.onnx_graphs.moves.sizes import any_size
from tests.fuzz.onnx_graphs.program import Body, Type

INNER: tuple[tuple[Move, int], ...] = tuple(
    (move, 1) for move in (*ELEMENTWISE, *MOVEMENT, *REDUCTIONS)
)
IN_PLACE: tuple[tuple[Move, int], ...] = ((arithmetic, 2), (function, 1), (of_numbers, 1))


def condition(g: Generator) -> str:
    """Of a size, of data, or known."""
    match g.rng.randrange(4):
        case 0:
            size = any_size(g)
            found = g.node("Greater", size, g.constant([g.rng.choice((1, 3, 6))]))
            return g.node("Gather", found, g.constant(0)) if g.rng.random() < 0.5 else found
        case 1:
            x = g.pick(FLOATS)
            total = g.node("ReduceSum", x, keepdims=0)
            return g.node("Greater", total, g.constant(0.0, g.dtype(x)))
        case 2:
            return g.input("bool")
        case _:
            return g.constant(g.rng.random() < 0.5, "bool")


def _branch(g: Generator, kind: Type | None = None) -> tuple[Body, Type, str]:
    """A body without parameters; of a result type, where that is given."""
    inner = g.body({}, {})
    extend(inner, g.rng.randint(1, 3), INNER)
    last = inner.nodes[-1].outputs[0]
    if kind is not None and inner.types[last] != kind:
        if kind.dtype != "float32":
            raise Unfit
        last = inner.node("Cast", last, to=kind.code)
    g.adopt(inner)
    return inner.as_body((), (last,)), inner.types[last], last


def if_(g: Generator) -> None:
    flag = condition(g)
    yes, kind, _ = _branch(g)
    no, _, _ = _branch(g, kind)
    g.node("If", flag, then_branch=yes, else_branch=no)


def _step(
    g: Generator, state: str, extra: dict[str, tuple[Any, ...]], types: dict[str, Type]
) -> tuple[Generator, str, str]:
    """A body that changes a state to one of the same type: the body, its parameter, its result."""
    name = g.fresh("s")
    inner = g.body({name: g.values[state], **extra}, {name: g.types[state], **types})
    extend(inner, g.rng.randint(1, 3), IN_PLACE)
    kind = g.types[state]
    alike = [
        made
        for node in inner.nodes
        for made in node.outputs
        if inner.types[made] == kind and _same_shapes(inner, made, name)
    ]
    last = alike[-1] if alike else inner.node("Identity", name)
    # What a loop does again and again stays small.
    if kind.dtype in FLOATS:
        last = inner.node("Tanh", last)
    return inner, name, last


def _same_shapes(g: Generator, a: str, b: str) -> bool:
    return all(x.shape == y.shape for x, y in zip(g.each(a), g.each(b), strict=True))


def loop(g: Generator) -> None:
    """So many times, or until data end it; some give rows."""
    state = g.pick(DTYPES, range(4))
    number, going = g.fresh("s"), g.fresh("s")
    count = len(g.sizes)
    extra: dict[str, tuple[Any, ...]] = {
        number: (np.array(1),) * count,
        going: (np.array(True),) * count,
    }
    types = {number: Type("int64"), going: Type("bool")}
    inner, name, last = _step(g, state, extra, types)
    if g.rng.random() < 0.6:
        again = inner.node("Identity", going)
    else:
        again = inner.node("Less", number, inner.constant(g.rng.choice((0, 1, 2))))
    rows = (inner.node("Identity", last),) if g.rng.random() < 0.5 else ()
    g.adopt(inner)
    body = inner.as_body((number, going, name), (again, last, *rows))
    most = g.constant(g.rng.choice((0, 1, 3))) if g.rng.random() < 0.5 else _count(g)
    start = g.rng.choice(("", g.constant(True, "bool")))
    if rows and not all((value > 0).all() for value in g.each(most)):
        raise Unfit  # without iterations, rows of onnxruntime have sizes of 0
    g.several("Loop", 1 + len(rows), most, start, state, body=body)


def _count(g: Generator) -> str:
    size = g.node("Gather", any_size(g), g.constant(0))
    return g.node("Min", size, g.constant(5)) if g.opset >= 12 else size


def scan(g: Generator) -> None:
    """Rows one after the other, from either end, with a state or without."""
    if g.opset < 9:
        raise Unfit
    rows = g.pick(("float32", "float64", "int64"), range(1, 4))
    axis = g.rng.randrange(g.rank(rows))
    if not all(g.alive) or not all(value.size for value in g.each(rows)):
        raise Unfit  # onnxruntime ends the process
    sample = tuple(
        None
        if v is None
        else np.take(v, 0, axis)
        if v.shape[axis]
        else np.zeros(np.delete(v.shape, axis), v.dtype)
        for v in g.values[rows]
    )
    row = g.fresh("s")
    kind = g.types[rows]
    inputs, attributes = from_opset(g, 13, "axes", (axis,))
    zero = g.node("ReduceSum", rows, *inputs, keepdims=0, **attributes)
    inner, name, last = _step(g, zero, {row: sample}, {row: kind})
    last = inner.node("Add", last, row)
    given = inner.node("Identity", last)
    g.adopt(inner)
    body = inner.as_body((name, row), (last, given))
    g.several("Scan", 2, zero, rows, body=body, num_scan_inputs=1,
              scan_input_axes=(axis,), scan_input_directions=(g.rng.choice((0, 1)),),
              scan_output_directions=(g.rng.choice((0, 1)),))  # fmt: skip


REGIONS = (if_, if_, loop, loop, scan)
