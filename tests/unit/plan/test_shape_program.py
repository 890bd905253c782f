"""Level 2's code: long functions are divided, and say the same as undivided ones."""

import re
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import anyshape as ash
from anyshape.base.errors import AnyshapeError
from anyshape.ir.graph import Graph
from anyshape.ir.interpret import entry_plan
from anyshape.plan import shape_program
from anyshape.plan.shape_program import MOST_LINES, bind_text, shape_text
from anyshape.plan.words import Words
from anyshape.sym import Dim, Symbol

LONGEST_PART = 400
"""Lines that the last word of a function and the selection of its first failure may add."""


def chained_axes(count: int) -> Graph:
    """Inputs of as many axes, each at most the next one; the total of their sums."""
    names = [f"a{n}" for n in range(count)]

    def function(inputs: Any) -> Any:
        return sum((x.sum() for x in inputs.values()), start=inputs["a0"].sum())

    function.__annotations__ = {"inputs": {name: ash.f32[name] for name in names}}
    where = [f"{a} <= {b}" for a, b in pairwise(names)]
    return ash.jit(axes=[ash.Axis(name, min=1) for name in names], where=where)(function).graph


def function_lengths(text: str) -> list[int]:
    return [body.count("\n") for body in re.findall(r"^define .*?^}", text, re.DOTALL | re.M)]


def test_no_function_of_many_checks_is_long() -> None:
    lengths = function_lengths(bind_text(entry_plan(chained_axes(300))))
    assert len(lengths) > 3
    assert max(lengths) < MOST_LINES + LONGEST_PART


def test_no_function_of_many_words_is_long() -> None:
    words, symbols = Words(), [Symbol(f"n{number}") for number in range(400)]
    for symbol in symbols:
        words.word(Dim.of(symbol) * 3 // 7)
    lengths = function_lengths(shape_text(symbols, words))
    assert len(lengths) > 3
    assert max(lengths) < MOST_LINES + LONGEST_PART


def test_equal_operations_are_computed_once() -> None:
    words, n = Words(), Dim.of("n")
    words.word((n + 1) * 5 // 3)
    words.word((n + 1) * 5 % 3)
    text = shape_text([Symbol("n")], words)
    assert text.count("srem") == 1


@pytest.mark.parametrize("lines", [1, 40, MOST_LINES])
def test_divided_functions_compute_and_refuse_the_same(
    monkeypatch: pytest.MonkeyPatch, lines: int
) -> None:
    monkeypatch.setattr(shape_program, "MOST_LINES", lines)
    compiled = ash.compile(chained_axes(6))
    arrays = [np.full(2 + n, n, np.float32) for n in range(6)]
    assert compiled(*arrays) == pytest.approx(sum(a.sum() for a in arrays) + arrays[0].sum())
    with pytest.raises(AnyshapeError, match="a3 <= a4"):
        compiled(*arrays[:4], np.ones(1, np.float32), arrays[5])
    with pytest.raises(AnyshapeError, match="a0"):
        compiled(np.ones(0, np.float32), *arrays[1:])
