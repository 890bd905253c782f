"""A short run of the fuzzer of ONNX graphs in every test run; `make fuzz-onnx-graphs` is long."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.fuzz.onnx_graphs import check as checks
from tests.fuzz.onnx_graphs.check import Failure, Tally, check
from tests.fuzz.onnx_graphs.compare import difference
from tests.fuzz.onnx_graphs.generator import random_program
from tests.fuzz.onnx_graphs.moves import MOVES
from tests.fuzz.onnx_graphs.oracle import spread
from tests.fuzz.onnx_graphs.program import Constant, Input, Node, Program, Type
from tests.fuzz.onnx_graphs.shrink import shrunk, snippet

SHORT = 6
"""Moves of the longest model here."""

F32 = Type("float32")


@pytest.mark.parametrize("block", range(2))
def test_random_graphs(block: int) -> None:
    tally = Tally()
    for seed in range(block * 20, block * 20 + 20):
        failure = check(random_program(700_000 + seed, SHORT, MOVES), tally)
        assert failure is None, snippet(failure)
    assert tally.models["compiled"] > 14, tally.refusals
    assert tally.calls["compared"] > 60, tally.refusals


def test_a_seed_is_a_model() -> None:
    first, second = (random_program(7, 10, MOVES) for _ in range(2))
    assert first == second
    assert first.model() == second.model()
    assert first != random_program(8, 10, MOVES)


# --- what is a failure ----------------------------------------------------------------------------


def program(*nodes: Node, results: tuple[str, ...] = ("y",)) -> Program:
    """Of one matrix `x` and a number."""
    sizes = ((("n", 4), ("m", 3)), (("n", 1), ("m", 0)))
    return Program(
        0, 17, (Input("x", ("n", "m"), "float32"),), (Constant("c", "float32", (), (0.5,)),),
        nodes, tuple((name, F32) for name in results), sizes,
    )  # fmt: skip


TANH = Node("Tanh", ("x",), ("y",))
LONG = (
    Node("Mul", ("x", "c"), ("a",)),
    Node("Tanh", ("a",), ("b",)),
    Node("Add", ("b", "x"), ("d",)),
    Node("Softmax", ("d",), ("y",), (("axis", -1),)),
)


def test_a_right_model_passes() -> None:
    tally = Tally()
    assert check(program(TANH), tally) is None
    assert tally.calls == {"compared": 2}


def test_a_refusal_passes() -> None:
    tally = Tally()
    draw = Node("RandomUniformLike", ("x",), ("y",))
    assert check(program(draw), tally) is None
    assert tally.models == {"refused": 1}
    wrong = Node("Tanh", ("x", "x"), ("y",))
    assert check(program(wrong), tally) is None
    assert tally.models["refused by onnxruntime"] == 1


class Damaged:
    """A session of which a result is not what it was."""

    def __init__(self, session: Any, damage: Any) -> None:
        self.session, self.damage = session, damage

    def run(self, names: None, feeds: Any) -> Any:
        return self.damage(self.session.run(names, feeds))


def _raise(error: Exception) -> Any:
    raise error


@pytest.mark.parametrize(
    ("damage", "kind", "text"),
    [
        (lambda found: [found[0] + 1e-2], "wrong", "elements of float32 (4, 3)"),
        (lambda found: [found[0].astype("float64")], "wrong", "float64 instead of float32"),
        (lambda found: [found[0][:0]], "wrong", "shape (0, 3) instead of (4, 3)"),
        (lambda found: found * 2, "wrong", "2 results instead of 1"),
        (lambda found: _raise(KeyError("y")), "call raises KeyError", "y"),
    ],
)
def test_what_is_wrong_is_a_failure(
    damage: Any, kind: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = checks.made
    monkeypatch.setattr(checks, "made", lambda program: Damaged(made(program), damage))
    failure = check(program(TANH), Tally())
    assert failure is not None
    assert failure.kind == kind
    assert text in failure.text


def test_noise_says_what_rounding_decides() -> None:
    """The difference of what is nearly the same, a thousand times."""
    nearly = (
        Node("Exp", ("x",), ("a",)),
        Node("Log", ("a",), ("b",)),
        Node("Sub", ("b", "x"), ("d",)),
        Node("Sign", ("d",), ("y",)),
    )
    moved = spread(program(*nearly), 0)
    assert moved is not None
    assert moved[0] is not None
    assert (moved[0] > 0).any()
    still = spread(program(TANH), 0)
    assert still is not None
    assert still[0] is not None
    assert still[0].max() < 1e-5
    apart, zeros = [np.ones(3, "float32")], [np.zeros(3, "float32")]
    assert difference(apart, [zeros], lambda: [np.full(3, 0.1)]) is None
    assert difference(apart, [zeros], lambda: [np.full(3, 0.01)]) is not None
    assert difference(apart, [zeros, apart], lambda: None) is None


def test_a_failure_is_made_small() -> None:
    start = Failure("wrong", "", program(*LONG, results=("y", "d")), 0)
    small = shrunk(start, _like)
    assert [node.op for node in small.program.nodes] == ["Tanh"]
    assert len(small.program.sizes) == 1
    text = snippet(small)
    compile(text, "<snippet>", "exec")
    assert "# wrong, seed 0" in text


def _like(candidate: Program, kind: str) -> Failure | None:
    """A defect of Tanh."""
    if check(candidate, Tally()) is not None or "Tanh" not in {n.op for n in candidate.nodes}:
        return None
    return Failure(kind, "", candidate, 0)
