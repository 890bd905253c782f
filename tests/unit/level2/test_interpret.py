"""Level 2's definition and its code give the same words, and refuse the same sizes."""

from __future__ import annotations

import ctypes
import random
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anyshape.codegen.interpreter.functions import InterpretedCode, code_of
from anyshape.codegen.target import BIND, SHAPE, Code, Setup
from anyshape.execute.target import target_for
from anyshape.level2 import ShapeProgram, shape_program
from anyshape.level2 import formulas as formulas_module
from anyshape.level2.interpret import LARGEST
from anyshape.level2.words import Cheapest, Estimate, Formula, OfCheapest, Words, in_own_sizes
from anyshape.runtime.code import load_code
from anyshape.sym import (
    Axis,
    BindingPlan,
    Dim,
    Fact,
    Facts,
    Symbol,
    maximum,
    minimum,
    parse_predicate,
)
from anyshape.sym.choice import broadcast_of

A, B, C = (Dim.of(name) for name in "abc")
EDGES = (0, 1, 2, 3, 7, 64, 1000, 1 << 20, 1 << 31, (1 << 31) + 7, 1 << 40, 1 << 62, LARGEST)
UNTOUCHED = -77
_WORDS = ctypes.POINTER(ctypes.c_int64)
_FUNCTION = ctypes.CFUNCTYPE(ctypes.c_int64, _WORDS, _WORDS)


def native(program: ShapeProgram) -> Code:
    (code,) = target_for().generator(Setup(load_code)).code([program]).codes
    return code


def called(code: Code, name: str, given: Sequence[int], count: int) -> tuple[int, list[int]]:
    """What a function answers, and what it wrote."""
    numbers = (ctypes.c_int64 * max(1, len(given)))(*given)
    out = (ctypes.c_int64 * max(1, count))(*[UNTOUCHED] * count)
    answer = _FUNCTION(code.address(name))(numbers, out)
    return answer, list(out)[:count]


def assert_same(program: ShapeProgram, codes: tuple[Code, Code], sizes: Sequence[int]) -> None:
    """As the runtime calls it: `shape` on what `bind` solved; its words count if it holds."""
    symbols = len(program.bindings.steps)
    (answer, solved), (defined, expected) = (called(code, BIND, sizes, symbols) for code in codes)
    assert answer == defined, f"bind at {sizes}"
    if answer != -1:
        return
    assert solved == expected
    (answer, words), (defined, expected) = (
        called(code, SHAPE, solved, program.words.count) for code in codes
    )
    assert answer == defined, f"shape at {sizes}"
    if answer == -1:
        assert words == expected


def plan_of(
    shapes: Sequence[tuple[Dim, ...]], facts: Sequence[str] = (), axes: Sequence[Axis] = ()
) -> BindingPlan:
    inputs = [(f"x{number}", dims) for number, dims in enumerate(shapes)]
    given = Facts(tuple(axes), tuple(Fact(parse_predicate(text)) for text in facts))
    return BindingPlan.make(inputs, given, frozenset())


# --- random programs ------------------------------------------------------------------------------

SIZES = st.one_of(st.sampled_from(EDGES), st.integers(0, 300), st.integers(0, 1 << 34))


def dims(depth: int = 3) -> st.SearchStrategy[Dim]:
    """Expressions of a, b and c."""
    leaves = st.one_of(st.sampled_from((A, B, C)), st.integers(-9, 9).map(Dim.of))
    if depth == 0:
        return leaves
    inner = dims(depth - 1)
    pairs = st.tuples(inner, inner)
    some = (A, B + 1, C * 2, A * B, C - 3, 2 - A * B, maximum(1, C), maximum(0, A - 2), -A)
    divisors = st.one_of(st.sampled_from((-2, -1, 2, 3, 9)).map(Dim.of), st.sampled_from(some))
    return st.one_of(
        leaves,
        pairs.map(lambda p: p[0] + p[1]),
        pairs.map(lambda p: p[0] - p[1]),
        pairs.map(lambda p: p[0] * p[1]),
        pairs.map(lambda p: minimum(*p)),
        pairs.map(lambda p: maximum(*p)),
        st.tuples(inner, divisors).map(lambda p: p[0] // p[1]),
        st.tuples(inner, divisors).map(lambda p: p[0] % p[1]),
    )


COSTS = st.lists(dims(2), min_size=1, max_size=3).map(tuple)


@st.composite
def chosen(draw: st.DrawFn) -> Formula:
    costs = draw(COSTS)
    values = [draw(st.one_of(dims(2), dims(2).map(Estimate))) for _ in costs]
    return OfCheapest(costs, tuple(values))


NUMBERS = st.one_of(dims(), dims().map(Estimate), COSTS.map(Cheapest), chosen())


@settings(max_examples=40, deadline=None)
@given(
    st.lists(NUMBERS, min_size=1, max_size=6), st.lists(st.tuples(SIZES, SIZES, SIZES), min_size=6)
)
def test_random_numbers(numbers: list[Formula], bindings: list[tuple[int, int, int]]) -> None:
    words = Words()
    for number in numbers:
        words.word(number)
    program = shape_program(plan_of([(A, B, C)]), words)
    codes = native(program), code_of(program)
    for sizes in bindings:
        assert_same(program, codes, sizes)


FACTS = ("a <= b", "b < c + 9", "a != 7", "c % 4 == 0", "b % a == 0", "broadcastable(a, b)")


@pytest.mark.parametrize("fact", [*FACTS, None])
def test_checks(fact: str | None) -> None:
    """Every fact by itself, then all; sizes that solve nothing, or contradict each other."""
    shapes = [(2 * A + 1, B), (B, 3 * C - A), (A * B, A // 3)]
    axes = Axis("a", min=1, max=1 << 40), Axis("b"), Axis("c", multiple_of=2)
    plan = plan_of(shapes, FACTS if fact is None else (fact,), axes)
    program = shape_program(plan, Words())
    codes, rng = (native(program), code_of(program)), random.Random(str(fact))
    for _ in range(300):
        a, b, c = (rng.choice((*EDGES[:9], rng.randrange(40))) for _ in range(3))
        sizes = [2 * a + 1, b, b, 3 * c - a, a * b, a // 3]
        if rng.random() < 0.5:
            sizes[rng.randrange(6)] = rng.choice(EDGES)
        assert_same(program, codes, [min(max(0, size), LARGEST) for size in sizes])


def test_broadcast_sizes() -> None:
    words = Words()
    words.word(broadcast_of((A, B)) * C)
    words.word(Estimate(broadcast_of((A, B)) * broadcast_of((A, B))))
    program = shape_program(plan_of([(A, B, C)], ["broadcastable(a, b)"]), words)
    codes = native(program), code_of(program)
    for sizes in ((1, 5, 3), (5, 1, 3), (0, 1, 9), (1 << 40, 1, 1 << 30), (4, 5, 6)):
        assert_same(program, codes, sizes)


@pytest.mark.parametrize("few", [0, 100])
def test_a_quotient_that_does_not_fit_is_refused(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """CPUs end the process that divides the least number by -1."""
    monkeypatch.setattr(formulas_module, "FEW", few)
    for number in ((A * B) // (C - 5), (A * B) % (C - 5), (A * B - C) // (A - B)):
        words = Words()
        for formula in (number, Estimate(number)):
            words.word(formula)
        program = shape_program(plan_of([(A, B, C)]), words)
        codes = native(program), code_of(program)
        for sizes in ((1 << 62, 2, 4), (1 << 32, 1 << 31, 4), (3, 4, 4), (1 << 31, 1 << 32, 0)):
            assert_same(program, codes, sizes)


def test_so_it_is_in_checks() -> None:
    plan = plan_of([(A, B, C), ((A * B) // (C - 5),)], ["(a*b) // (c - 5) <= a"])
    program = shape_program(plan, Words())
    codes = native(program), code_of(program)
    assert called(codes[0], BIND, (1 << 62, 2, 4, 0), 3)[0] == len(plan.steps) * 2 + 4 + 3 + 1
    for sizes in ((1 << 62, 2, 4, 0), (3, 4, 4, 0), (1 << 32, 1 << 31, 4, 9), (2, 2, 6, 4)):
        assert_same(program, codes, sizes)


# --- what is decided before code is made ----------------------------------------------------------


def test_long_sums_are_made_of_the_same_words() -> None:
    """Where a part of a sum does not fit, the sizes are refused, although all of it would."""
    names = [f"s{number:02}" for number in range(40)]
    parts = [Dim.of(f"{name} // 2") for name in names]
    words = Words()
    for count in (7, 20, 40):
        words.word(3 * sum(parts[:count], Dim.of(5)))
    words.word(sum(parts[:20], Dim.of(0)) - sum(parts[20:], Dim.of(0)))
    words.word(Estimate(sum(parts, Dim.of(0)) * 12 // 7))
    program = shape_program(plan_of([tuple(Dim.of(name) for name in names)]), words)
    assert program.words.count > len(words.numbers)
    codes, rng = (native(program), code_of(program)), random.Random(0)
    for _ in range(60):
        assert_same(program, codes, [rng.choice(EDGES) for _ in names])


@pytest.mark.parametrize("few", [1, 100])
def test_formulas_of_many_uses(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formulas_module, "FEW", few)
    names = [Symbol(f"s{number:02}") for number in range(12)]
    own, words = Symbol("n0"), Words()
    size_of_own = Dim.of(own)
    for name in names:
        size = Dim.of(name) + 3
        words.word(size)
        words.word(Dim.of(name) * 12 // 7)
        for formula in (
            Estimate(size_of_own * size_of_own * 5),
            Cheapest((size_of_own, Dim.of(900))),
        ):
            words.word(in_own_sizes(formula, ((own, size),)))
    program = shape_program(plan_of([tuple(map(Dim.of, names))]), words)
    assert bool(program.words.shared) == (few == 1)
    codes, rng = (native(program), code_of(program)), random.Random(0)
    for _ in range(40):
        assert_same(program, codes, [rng.choice(EDGES[:-2]) for _ in names])


def test_a_program_shows_itself() -> None:
    words = Words()
    words.word(A * B * 4)
    words.word(OfCheapest((A, B), (C, Estimate(A * A))))
    words.word(Cheapest((A, B)))
    text = shape_program(plan_of([(A, 2 * B + 1), (C,)], ["a <= b"]), words).as_text()
    assert text == (
        "bind (x0: [a, 2*b + 1], x1: [c]) {\n"
        "  a = (size 0 of input 0 - (0)) / 1\n"
        "  c = (size 0 of input 1 - (0)) / 1\n"
        "  b = (size 1 of input 0 - (1)) / 2\n"
        "  require a: 0..\n"
        "  require c: 0..\n"
        "  require b: 0..\n"
        "  require a <= b\n"
        "}\n"
        "shape (a, c, b) -> 3 words {\n"
        "  w0 = 4*a*b\n"
        "  w1 = of_cheapest(a, b; c, estimate(a*a))\n"
        "  w2 = cheapest(a, b)\n"
        "}"
    )


def test_programs_with_other_words_have_other_texts() -> None:
    def text(number: Formula, *facts: str) -> str:
        words = Words()
        words.word(number)
        return shape_program(plan_of([(A, B)], facts), words).as_text()

    numbers = (A, A + 1, Estimate(A), Cheapest((A, B)), OfCheapest((A, B), (A, B)))
    texts = [*map(text, numbers), text(A, "a <= b"), text(A, "a < b")]
    assert len(set(texts)) == len(texts)


def test_code_that_is_not_there_is_refused() -> None:
    code = code_of(shape_program(plan_of([(A,)]), Words()))
    assert isinstance(code, InterpretedCode)
    with pytest.raises(Exception, match="no function 'kernel'; it has bind, shape"):
        code.address("kernel")
