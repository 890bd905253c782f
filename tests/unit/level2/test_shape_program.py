"""Level 2's code: long functions are divided, and say the same as undivided ones."""

import re
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import anyshape as ash
from anyshape.base.errors import AnyshapeError
from anyshape.codegen.llvm.elf import undefined_symbols
from anyshape.codegen.llvm.emitting import IntegerModule, compile_source
from anyshape.codegen.llvm.integers import module
from anyshape.codegen.llvm.integers.code import DECLARATIONS
from anyshape.codegen.llvm.integers.module import MOST_LINES, bind_text, shape_text
from anyshape.codegen.llvm.target import NAMED_TARGETS
from anyshape.execute.native import NativeExecutor
from anyshape.ir.graph import Graph
from anyshape.ir.inputs import entry_plan
from anyshape.level2 import formulas, word_program
from anyshape.level2.words import Words
from anyshape.runtime import _native
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
    for number, symbol in enumerate(symbols):
        words.word(Dim.of(symbol) * 3 // (2 * number + 7))
    lengths = function_lengths(shape_text(word_program(symbols, words)))
    assert len(lengths) > 3
    assert max(lengths) < MOST_LINES + LONGEST_PART


def test_equal_operations_are_computed_once() -> None:
    words, n = Words(), Dim.of("n")
    words.word((n + 1) * 5 // 3)
    words.word((n + 1) * 5 % 3)
    text = shape_text(word_program([Symbol("n")], words))
    assert text.count("srem") == 1


@pytest.mark.parametrize("lines", [1, 40, MOST_LINES])
def test_divided_functions_compute_and_refuse_the_same(
    monkeypatch: pytest.MonkeyPatch, lines: int
) -> None:
    monkeypatch.setattr(module, "MOST_LINES", lines)
    compiled = ash.compile(chained_axes(6))
    arrays = [np.full(2 + n, n, np.float32) for n in range(6)]
    assert compiled(*arrays) == pytest.approx(sum(a.sum() for a in arrays) + arrays[0].sum())
    with pytest.raises(AnyshapeError, match="a3 <= a4"):
        compiled(*arrays[:4], np.ones(1, np.float32), arrays[5])
    with pytest.raises(AnyshapeError, match="a0"):
        compiled(np.ones(0, np.float32), *arrays[1:])


# --- formulas that are shared ---------------------------------------------------------------------


def words_text(graph: Graph) -> str:
    """Of the function that computes words."""
    executor = ash.compile(graph).executor
    assert isinstance(executor, NativeExecutor)
    return shape_text(word_program(executor.symbols, executor.linked.words))


def shrinking(layers: int) -> Graph:
    @ash.jit(axes=[ash.Axis("n", min=2 * layers)])
    def function(x: ash.f32["n"]):
        for _ in range(layers):
            x = ash.tanh(x[1:-1])
        return x

    return function.graph


def test_formulas_of_many_axes_are_written_once() -> None:
    few, many = (words_text(chained_axes(count)).count(" = ") for count in (100, 300))
    assert many - few < 5 * 200


def test_formulas_of_many_steps_are_written_once() -> None:
    """But for their bytes and sizes, which are dims."""
    texts = [words_text(shrinking(count)) for count in (100, 300)]
    few, many = (text.count("sdiv") for text in texts)
    assert many <= few


@pytest.mark.parametrize("graph", [chained_axes(12), shrinking(12)], ids=["axes", "steps"])
def test_shared_formulas_have_the_same_values(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [axis.name for axis in graph.facts.axes]
    bindings = [dict.fromkeys(names, size) for size in (24, 4096, 70_000, 3 << 25, 1 << 45)]
    seen: list[list[str]] = []
    for few in (1, 10**9):
        monkeypatch.setattr(formulas, "FEW", few)
        compiled = ash.compile(graph)
        seen.append([compiled.specialize(**binding).as_text() for binding in bindings])
    assert seen[0] == seen[1]


def test_shared_formulas_refuse_what_does_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = chained_axes(12)
    for few in (1, 10**9):
        monkeypatch.setattr(formulas, "FEW", few)
        compiled = ash.compile(graph)
        with pytest.raises(AnyshapeError, match="64 bits"):
            compiled.specialize(**{axis.name: 1 << 62 for axis in graph.facts.axes})


@pytest.mark.parametrize("target", NAMED_TARGETS)
def test_tables_link_on_every_target(target: str) -> None:
    words, symbols = Words(), [Symbol(f"n{number}") for number in range(20)]
    for symbol in symbols:
        words.word(Dim.of(symbol) * 3 // 7)
    text = f"{DECLARATIONS}\n{shape_text(word_program(symbols, words))}"
    assert "constant" in text
    elf_object = compile_source(IntegerModule(text), NAMED_TARGETS[target])
    assert undefined_symbols(elf_object) == ()
    assert _native._link(elf_object, 0x7F00_0000_0000)
