"""A short run of the fuzzer of torch modules in every test run; `make fuzz-torch` is long."""

from __future__ import annotations

import pytest
import torch
from tests import thinned
from tests.fuzz.torch_modules.check import Failure, Tally, check
from tests.fuzz.torch_modules.generator import random_program
from tests.fuzz.torch_modules.moves import MOVES
from tests.fuzz.torch_modules.program import Input, Program, Statement
from tests.fuzz.torch_modules.shrink import shrunk, snippet

SHORT = 6
"""Statements of the longest module here."""


MODULES, IN_SHORT = 25, 12
"""Of a block, in `make test-all` and in `make test`: torch takes a second to capture each."""


@pytest.mark.parametrize("block", range(4))
def test_random_modules(block: int) -> None:
    tally, modules = Tally(), IN_SHORT if thinned.leaves_out() else MODULES
    for seed in range(block * MODULES, block * MODULES + modules):
        failure = check(random_program(500_000 + seed, SHORT, MOVES), tally)
        assert failure is None, snippet(failure)
    assert tally.modules["captured"] > modules / 3, tally.refusals
    assert tally.calls["compared"] > 3 * modules


def test_a_seed_is_a_module() -> None:
    first, second = (random_program(7, 10, MOVES) for _ in range(2))
    assert first == second
    assert first.source() == second.source()
    assert first != random_program(8, 10, MOVES)


# --- what is a failure ----------------------------------------------------------------------------

EXAMPLE = {"n": 4, "m": 3, "k": 2}
OTHER = {"n": 5, "m": 3, "k": 2}


def module(*lines: str, result: str = "v") -> Program:
    inputs = (Input("x", ("n", "m")),)
    statements = tuple(map(Statement, lines))
    return Program(0, inputs, (), statements, result, EXAMPLE, (OTHER,))


def failure_of(program: Program) -> Failure | None:
    return check(program, Tally())


def test_a_right_module_passes() -> None:
    tally = Tally()
    assert check(module("v = x.softmax(1)[: x.shape[0] // 2]"), tally) is None
    assert tally.calls == {"compared": 2}


def test_a_condition_and_a_refusal_pass() -> None:
    tally = Tally()
    assert check(module("v = x * int(x.shape[0] ** 0.4 * 9)"), tally) is None
    assert tally.calls == {"compared": 1, "refused": 1}
    assert check(module("v = x * hash(x.shape[0])"), tally) is None
    assert tally.modules == {"captured": 1, "refused": 1}


HIDDEN = "v = x + 1 if torch.compiler.is_exporting() else x"
"""What no capture can see: the module is another one while it is traced."""


def test_a_wrong_result_is_a_failure() -> None:
    failure = failure_of(module(HIDDEN))
    assert failure is not None
    assert failure.kind == "wrong"


def test_an_answer_where_eager_mode_raises_is_a_failure() -> None:
    hidden = "if not torch.compiler.is_exporting() and x.shape[0] == 5:\n    raise ValueError"
    failure = failure_of(module(hidden, "v = x + 1"))
    assert failure is not None
    assert failure.kind == "answers where eager raises"


def test_an_error_of_others_is_a_failure() -> None:
    hidden = "if torch.compiler.is_exporting():\n    raise KeyError('x')"
    failure = failure_of(module(hidden, "v = x + 1"))
    assert failure is not None
    assert failure.kind == "compile raises KeyError"


def test_writes_into_inputs_are_compared() -> None:
    hidden = "if not torch.compiler.is_exporting():\n    x.add_(1)"
    failure = failure_of(module("v = x * 2", hidden))
    assert failure is not None
    assert failure.kind == "wrong"


def test_a_failure_is_made_small() -> None:
    lines = ("n1 = x.shape[0]", "v1 = x.tanh()", "v = v1.softmax(0)", HIDDEN, "v3 = v * 2 + n1")
    failure = failure_of(module(*lines, result="(v3, v1, n1)"))
    assert failure is not None
    small = shrunk(failure, _like)
    assert [each.text for each in small.program.statements] == [HIDDEN]
    text = snippet(small)
    compile(text, "<snippet>", "exec")
    assert "# wrong, seed 0" in text


def _like(program: Program, kind: str) -> Failure | None:
    args, kwargs = program.call(program.example)
    try:
        with torch.no_grad():
            program.module()(*args, **kwargs)
    except Exception:
        return None
    failure = failure_of(program)
    return failure if failure is not None and failure.kind == kind else None
