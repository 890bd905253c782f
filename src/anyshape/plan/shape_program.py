"""Level 2 as code: `bind` solves and checks the symbols, `shape` computes every word.

`bind` follows the graph's `BindingPlan` step by step, so the Python plan is its reference, and
explains any check that fails.
"""

from __future__ import annotations

from typing import assert_never

from anyshape.plan.integer_code import DECLARATIONS, IntegerCode
from anyshape.plan.words import Cheapest, Estimate, Number, OfCheapest, Words
from anyshape.sym import Axis, BindingPlan, Dim, Symbol
from anyshape.sym.bindings import FromInput


def shape_text(symbols: list[Symbol], words: Words) -> str:
    code = IntegerCode()
    for index, symbol in enumerate(symbols):
        code.define(symbol, code.load("%symbols", index))
    for number, index in words.numbers.items():
        code.store(_number(code, number), "%words", index)
    return code.function("shape", "ptr %symbols, ptr %words", [])


def _number(code: IntegerCode, number: Number) -> str:
    match number:
        case Dim():
            return code.dim(number)
        case Estimate(dim):
            return code.estimate(dim)
        case Cheapest(costs):
            return code.least([code.estimate(cost) for cost in costs])
        case OfCheapest(costs, values):
            return code.element([_number(code, v) for v in values], _number(code, Cheapest(costs)))
        case _:
            assert_never(number)


def bind_text(plan: BindingPlan) -> str:
    """Solves the symbols in the order of the plan, then makes all of its checks."""
    code = IntegerCode()
    places = _places(plan)
    checks: list[str] = []
    for index, step in enumerate(plan.steps):
        start = (
            code.load("%dims", places[step.input, step.position])
            if isinstance(step, FromInput)
            else "0"
        )
        rest = code.subtract(start, code.dim(step.affine.rest))
        size, remainder = code.divide(rest, str(step.affine.coefficient))
        checks += [code.compare("eq", remainder, "0"), code.compare("sge", size, "0")]
        code.define(step.affine.symbol, size)
        code.store(size, "%symbols", index)
    for number, (_, dims) in enumerate(plan.inputs):
        for position, dim in enumerate(dims):
            given = code.load("%dims", places[number, position])
            checks.append(code.compare("eq", given, code.dim(dim)))
    checks += [_axis_check(code, axis) for axis in plan.axes]
    checks += [code.holds(fact.predicate) for fact in plan.facts]
    return code.function("bind", "ptr %dims, ptr %symbols", checks)


def _places(plan: BindingPlan) -> dict[tuple[int, int], int]:
    """Where the size of an input's axis is among the sizes of all inputs."""
    order = [(i, axis) for i, (_, dims) in enumerate(plan.inputs) for axis in range(len(dims))]
    return {place: index for index, place in enumerate(order)}


def _axis_check(code: IntegerCode, axis: Axis) -> str:
    size = code.dim(Dim.of(axis.symbol))
    inside = code.any(*(_in_range(code, size, low, high) for low, high in axis.ranges))
    exact = code.compare("eq", code.divide(size, str(axis.multiple_of))[1], "0")
    return code.emit(f"and i1 {inside}, {exact}")


def _in_range(code: IntegerCode, size: str, low: int, high: int | None) -> str:
    above = code.compare("sge", size, str(low))
    if high is None:
        return above
    return code.emit(f"and i1 {above}, {code.compare('sle', size, str(high))}")


def program_text(plan: BindingPlan, words: Words) -> str:
    """Both functions in one module."""
    symbols = [step.affine.symbol for step in plan.steps]
    return "\n".join((DECLARATIONS, bind_text(plan), shape_text(symbols, words)))
