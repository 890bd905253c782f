"""How much the prover is asked while kernels are emitted: about as much as there is to emit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.unit.plan.planning import scheduled

import anyshape as ash
from anyshape.codegen.llvm.emitting import llvm_text
from anyshape.codegen.llvm.target import NAMED_TARGETS
from anyshape.passes import PASSES, run_passes
from anyshape.sym import Answer, Predicate
from anyshape.sym.decide.decider import Decider
from anyshape.sym.decide.effort import Effort

MOST_STEPS = 25_000
"""Of one question; see `decide/decider.py`."""


def of_one_axis(function: Callable[[Any], Any]) -> Any:
    function.__annotations__ = {"x": ash.f32["n"]}
    return function


def concat_of_slices(parts: int) -> Any:
    def function(x: Any) -> Any:
        return ash.concat([x[i::2] for i in range(parts)])

    return of_one_axis(function)


def sum_of_slices(parts: int) -> Any:
    def function(x: Any) -> Any:
        total = x[:1]
        for i in range(1, parts):
            total = total + x[i : i + 1]
        return total

    return of_one_axis(function)


def concat_of_chunks(parts: int) -> Any:
    def function(x: Any) -> Any:
        n = x.shape[0]
        return ash.concat([x[i * n // parts : (i + 1) * n // parts] for i in range(parts)])

    return of_one_axis(function)


def asked(monkeypatch: pytest.MonkeyPatch, function: Any) -> list[int]:
    """The steps of each question that had to be decided, from tracing to the text of kernels."""
    steps: list[int] = []
    decide: Callable[[Decider, Predicate, Effort], Answer] = vars(Decider)["_decide"]

    def counted(self: Decider, predicate: Predicate, effort: Effort) -> Answer:
        answer = decide(self, predicate, effort)
        steps.append(effort.used)
        return answer

    with monkeypatch.context() as patched:
        patched.setattr(Decider, "_decide", counted)
        _emit(function)
    return steps


def _emit(function: Any) -> None:
    target = NAMED_TARGETS["x86-64-avx2"]
    graph = run_passes(ash.jit(function).graph, PASSES).graph
    plan = scheduled(graph, target.tiling)
    for kernel in set(plan.kernels):
        llvm_text(kernel, target)


@pytest.mark.parametrize("program", [concat_of_slices, sum_of_slices, concat_of_chunks])
def test_questions_grow_with_the_parts(
    program: Callable[[int], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    few, many = (asked(monkeypatch, program(parts)) for parts in (10, 20))
    assert len(many) <= 3 * len(few)
    assert max(many) <= MOST_STEPS
