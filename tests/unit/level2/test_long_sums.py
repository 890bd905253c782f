"""Long sums in level 2: made of other sums, written once, and right."""

import re
from typing import Any

import numpy as np
import pytest
from tests.unit.plan.planning import scheduled

import anyshape as ash
from anyshape.base.errors import AnyshapeError
from anyshape.codegen.llvm.integers.module import MOST_LINES, shape_text
from anyshape.execute.link import unlinked_program
from anyshape.ir.inputs import entry_plan
from anyshape.level2 import word_program
from anyshape.level2.long_sums import HeldSums, SumNames, Sums, numbers_in_order, taken_apart
from anyshape.level2.words import Estimate, Words
from anyshape.passes import PASSES, run_passes
from anyshape.sym import Dim, Symbol, total

PARTS = [Dim.of(f"a{n:03} // 2") for n in range(300)]
SYMBOLS = [Symbol(f"a{n:03}") for n in range(300)]


def test_a_sum_is_taken_apart() -> None:
    whole = total(PARTS)
    assert taken_apart(whole) == (whole, 1, 0)
    assert taken_apart(12 * whole + 5) == (whole, 12, 5)


def test_known_sums_are_found_in_longer_ones() -> None:
    sums = Sums()
    for first in range(0, 300, 10):
        sums.add(total(PARTS[first : first + 10]), first)
    assert len(sums.parts(total(PARTS))) == 30
    mixed = 2 * total(PARTS[:10]) + total(PARTS[10:15])
    assert sorted(times for _, times in sums.parts(mixed)) == [1, 1, 1, 1, 1, 2]


@pytest.mark.parametrize("count", [20, 65, 300])
def test_parts_add_up(count: int) -> None:
    sums = Sums()
    for first in range(0, 300, 7):
        sums.add(total(PARTS[first : first + 7]), first)
    dim = total((n % 3 + 1) * part for n, part in enumerate(PARTS[:count]))
    assert total(part * times for part, times in sums.parts(dim)) is dim


def test_costs_have_names_for_long_sums() -> None:
    names, whole = SumNames(), total(PARTS)
    first, second = names.short(8 * whole + 1), names.short(3 * whole)
    assert (str(first), str(second)) == ("8*`?sum0` + 1", "3*`?sum0`")
    assert names.meaning == {Symbol("?sum0"): whole}
    assert names.short(total(PARTS[:3])) is total(PARTS[:3])


def test_estimates_are_not_exact() -> None:
    held, dim = HeldSums(), total(PARTS[:9])
    held.add(Estimate(dim), 3)
    assert dim not in held.exact.words
    assert held.estimates.words == {dim: 3}


def test_what_a_sum_contains_comes_before_it() -> None:
    words = Words()
    words.word(4 * total(PARTS))
    words.word(total(PARTS[:5]))
    order = [number for number, _ in numbers_in_order(words.numbers.items(), words)]
    assert order.index(total(PARTS[:5])) < order.index(total(PARTS))
    assert order.index(total(PARTS)) < order.index(4 * total(PARTS))


def test_multiples_of_one_sum_add_it_up_once() -> None:
    once, often = Words(), Words()
    once.word(total(PARTS))
    for factor in range(1, 21):
        often.word(factor * total(PARTS) + factor)
        often.word(Estimate((factor * total(PARTS)) // 1000))
    lines = [shape_text(word_program(SYMBOLS, words)).count("sadd.with") for words in (once, often)]
    assert lines[1] <= lines[0] + 60


def test_no_function_of_a_long_sum_is_long() -> None:
    words = Words()
    words.word(total(PARTS) * 4)
    text = shape_text(word_program(SYMBOLS, words))
    bodies = re.findall(r"^define .*?^}", text, re.DOTALL | re.M)
    assert max(body.count("\n") for body in bodies) < MOST_LINES + 400


def lines_of_level_2(count: int) -> int:
    def function(x: Any) -> Any:
        return ash.concat([x[n::2] for n in range(count)])

    function.__annotations__ = {"x": ash.f32["n"]}
    plan = scheduled(run_passes(ash.jit(function).graph, PASSES).graph)
    program = unlinked_program(plan, entry_plan(plan.graph)).level_2
    return shape_text(program.words).count("\n")


def test_level_2_grows_with_the_parts_of_a_concatenation() -> None:
    assert lines_of_level_2(512) <= 8 * 1.5 * lines_of_level_2(64)


def test_a_sum_of_many_axes_is_checked_for_overflow() -> None:
    count = 30

    def function(inputs: Any) -> Any:
        return ash.concat([x[::2] for x in inputs.values()])

    types = {f"x{n:02}": ash.f32[f"a{n:02}"] for n in range(count)}
    function.__annotations__ = {"inputs": types}
    executable = ash.compile(ash.jit(function).graph)
    with pytest.raises(AnyshapeError):
        executable.specialize(**{f"a{n:02}": 1 << 62 for n in range(count)})
    parts = [np.arange(n % 4, dtype=np.float32) for n in range(count)]
    assert np.array_equal(executable(*parts)[0], np.concatenate([x[::2] for x in parts]))
