"""A shape program as LLVM IR: `level2/program.py` says what it computes.

LLVM's time for a function grows faster than the function. So a long one is several of at most about
`MOST_LINES` lines, called one after the other: symbols and words are in memory between them, and
what else a dim of one has in common with those of another is computed again. Formulas that many
uses share are functions too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final, assert_never

from anyshape.codegen.llvm.integers.code import DECLARATIONS, IntegerCode
from anyshape.level2 import ShapeProgram, WordProgram
from anyshape.level2.formulas import SharedFormulas
from anyshape.level2.long_sums import HeldSums
from anyshape.level2.words import Cheapest, Estimate, Formula, OfCheapest
from anyshape.sym import Axis, BindingPlan, Dim, Fact, Symbol
from anyshape.sym.bindings import FromInput, Step

MOST_LINES: Final = 1000

Part = Callable[[IntegerCode], Iterable[str]]
"""Writes code, and gives the checks that it makes."""


def module_text(program: ShapeProgram) -> str:
    """Both functions in one module."""
    return "\n".join((DECLARATIONS, bind_text(program.bindings), shape_text(program.words)))


def shape_text(words: WordProgram) -> str:
    """Computes all words."""
    held = HeldSums(words.meaning)
    names = [f"@shape.formulas.{number}" for number in range(len(words.shared))]
    functions = map(_formula_function, names, words.shared)
    parts = (*_stores(words.alone, held), *_calls_of(words.shared, names))
    whole = _function("shape", "ptr %symbols, ptr %words", parts, words.indices, held)
    return "\n".join((*functions, whole))


def _stores(numbers: Iterable[tuple[Formula, int]], held: HeldSums) -> Iterator[Part]:
    """Computes each number and puts it where it belongs; those that follow may use it."""

    def store(number: Formula, index: int, code: IntegerCode) -> Iterable[str]:
        code.store(_number(code, number), "%words", index)
        held.add(number, index)
        return ()

    return (partial(store, number, index) for number, index in numbers)


def _calls_of(shared: Sequence[SharedFormulas], names: Sequence[str]) -> Iterator[Part]:
    for name, form in zip(names, shared, strict=True):
        yield partial(_apply, f"call i1 {name}(ptr %{form.source}, ptr %words)")


def _apply(call: str, code: IntegerCode) -> Iterable[str]:
    code.refuse_if(code.perform(call))
    return ()


def _formula_function(name: str, form: SharedFormulas) -> str:
    """Computes all uses of formulas, in a loop over a table of indices: where sizes are, then where
    results belong. True if a number does not fit."""
    code = IntegerCode()
    for column, symbol in enumerate(form.sizes):
        code.define(symbol, code.load("%given", _cell(code, column)))
    for column, formula in enumerate(form.formulas, len(form.sizes)):
        code.store(_number(code, formula), "%words", _cell(code, column))
    rows = [(*use.given, *use.words) for use in form.uses]
    kind = f"[{len(rows[0])} x i32]"
    overflow = code.any("%before", code.overflow)
    body = "\n".join(code.lines)
    return f"""\
{name}.uses = internal constant [{len(rows)} x {kind}] [{_table(rows, kind)}]
define internal i1 {name}(ptr %given, ptr %words) noinline {{
  br label %use
use:
  %row = phi i64 [0, %0], [%next, %use]
  %before = phi i1 [false, %0], [{overflow}, %use]
  %cells = getelementptr {kind}, ptr {name}.uses, i64 %row
{body}
  %next = add i64 %row, 1
  %last = icmp eq i64 %next, {len(rows)}
  br i1 %last, label %end, label %use
end:
  ret i1 {overflow}
}}
"""


def _cell(code: IntegerCode, column: int) -> str:
    """The index in a column of the table."""
    place = code.emit(f"getelementptr i32, ptr %cells, i64 {column}")
    return code.emit(f"zext i32 {code.perform(f'load i32, ptr {place}, align 4')} to i64")


def _table(rows: Iterable[Sequence[int]], kind: str) -> str:
    texts = (", ".join(f"i32 {index}" for index in row) for row in rows)
    return ", ".join(f"{kind} [{text}]" for text in texts)


def _number(code: IntegerCode, number: Formula) -> str:
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
    symbols = {step.affine.symbol: index for index, step in enumerate(plan.steps)}
    return _function("bind", "ptr %dims, ptr %symbols", _checks(plan), symbols)


def _checks(plan: BindingPlan) -> Iterator[Part]:
    places = _places(plan)
    for index, step in enumerate(plan.steps):
        yield partial(_solve, step, index, places)
    for number, (_, dims) in enumerate(plan.inputs):
        for position, dim in enumerate(dims):
            yield partial(_input_check, dim, places[number, position])
    for axis in plan.axes:
        yield partial(_axis_check, axis)
    for fact in plan.facts:
        yield partial(_fact_check, fact)


Places = Mapping[tuple[int, int], int]


def _places(plan: BindingPlan) -> Places:
    """Where the size of an input's axis is among the sizes of all inputs."""
    order = [(i, axis) for i, (_, dims) in enumerate(plan.inputs) for axis in range(len(dims))]
    return {place: index for index, place in enumerate(order)}


def _solve(step: Step, index: int, places: Places, code: IntegerCode) -> Iterable[str]:
    given = isinstance(step, FromInput)
    start = code.load("%dims", places[step.input, step.position]) if given else "0"
    rest = code.subtract(start, code.dim(step.affine.rest))
    coefficient = str(step.affine.coefficient)
    size, remainder = code.quotient(rest, coefficient), code.remainder(rest, coefficient)
    code.define(step.affine.symbol, size)
    code.store(size, "%symbols", index)
    return code.compare("eq", remainder, "0"), code.compare("sge", size, "0")


def _input_check(dim: Dim, place: int, code: IntegerCode) -> Iterable[str]:
    return (code.compare("eq", code.load("%dims", place), code.dim(dim)),)


def _axis_check(axis: Axis, code: IntegerCode) -> Iterable[str]:
    size = code.dim(Dim.of(axis.symbol))
    inside = code.any(*(_in_range(code, size, low, high) for low, high in axis.ranges))
    exact = code.compare("eq", code.remainder(size, str(axis.multiple_of)), "0")
    return (code.emit(f"and i1 {inside}, {exact}"),)


def _fact_check(fact: Fact, code: IntegerCode) -> Iterable[str]:
    return (code.holds(fact.predicate),)


def _in_range(code: IntegerCode, size: str, low: int, high: int | None) -> str:
    above = code.compare("sge", size, str(low))
    if high is None:
        return above
    return code.emit(f"and i1 {above}, {code.compare('sle', size, str(high))}")


# --- functions ------------------------------------------------------------------------------------


def _function(
    name: str,
    arguments: str,
    parts: Iterable[Part],
    stored: Mapping[Symbol, int],
    held: HeldSums | None = None,
) -> str:
    """A function that returns -1, or the number of the first check that fails; or, if a number does
    not fit 64 bits, how many checks there are."""
    codes = [IntegerCode(stored, held)]
    checks: list[dict[int, str]] = [{}]
    count = 0
    for part in parts:
        if len(codes[-1].lines) + len(checks[-1]) >= MOST_LINES:  # each check selects a result
            codes.append(IntegerCode(stored, held))
            checks.append({})
        made = tuple(part(codes[-1]))
        checks[-1].update(enumerate(made, count))
        count += len(made)
    results = [code.first_failure(own, count) for code, own in zip(codes, checks, strict=True)]
    if len(codes) == 1:
        return _definition(f"@{name}", arguments, codes[0], results[0])
    inner = [f"@{name}.{number}" for number in range(len(codes))]
    texts = [
        _definition(callee, arguments, code, result, "internal ", "noinline ")
        for callee, code, result in zip(inner, codes, results, strict=True)
    ]
    return "\n".join((*texts, _calls(f"@{name}", arguments, inner, count)))


def _calls(name: str, arguments: str, inner: list[str], overflow: int) -> str:
    """All of them: sizes that do not fit are reported before any check that fails."""
    code = IntegerCode()
    results = [code.perform(f"call i64 {callee}({arguments})") for callee in inner]
    first = "-1"
    for result in reversed(results):
        first = code.select(code.compare("eq", result, "-1"), first, result)
    too_large = code.any(*(code.compare("eq", result, str(overflow)) for result in results))
    return _definition(name, arguments, code, code.select(too_large, str(overflow), first))


def _definition(
    name: str,
    arguments: str,
    code: IntegerCode,
    result: str,
    linkage: str = "",
    attributes: str = "",
) -> str:
    body = "\n".join(code.lines)
    header = f"define {linkage}i64 {name}({arguments}) {attributes}"
    return f"{header}{{\n{body}\n  ret i64 {result}\n}}\n"
