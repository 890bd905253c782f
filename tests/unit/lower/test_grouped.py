"""Grouped dots: groups of any length, in any number of blocks, with epilogues and constants."""

from typing import Any

import numpy as np
import pytest
from tests.unit.codegen.emit.harness import TARGETS
from tests.unit.codegen.matrix import computed, lowered

import anyshape as ash
from anyshape.codegen.llvm.target import LlvmTarget
from anyshape.execute import compile_graph
from anyshape.families.body import Body
from anyshape.families.grouped_dot.match import grouped_match
from anyshape.ir import evaluate
from anyshape.ir.rewrite import Refusal
from anyshape.loop.verify import verify_kernel

CONSTANT, GIVEN = frozenset({1}), frozenset[int]()


@ash.jit
def experts(x: ash.f32["t", "k"], w: ash.f32["g", "k", "n"], ends: ash.i32["g"]):
    return ash.grouped_dot(x, w, ends)


@ash.jit
def with_epilogue(
    x: ash.f32["t", "k"], w: ash.f32["g", "k", "n"], ends: ash.i64["g"], r: ash.f32["t", "n"]
):
    return ash.relu(ash.grouped_dot(x, w, ends) * 0.5) + r


@ash.jit
def halves(x: ash.f16["t", "k"], w: ash.f16["g", "k", "n"], ends: ash.i32["g"]):
    return ash.grouped_dot(x, w, ends)


@ash.jit
def integers(x: ash.i32["t", "k"], w: ash.i32["g", "k", "n"], ends: ash.i32["g"]):
    return ash.grouped_dot(x, w, ends)


# tokens, depth, columns, and where each group ends
GROUPS = [
    (7, 5, 3, [2, 2, 7]),
    (200, 33, 70, [0, 96, 97, 97, 193]),  # across blocks, and rows after the last group
    (100, 16, 64, [100]),
    (13, 4, 130, [0, 0, 0]),  # no group has a row
    (5, 0, 3, [2, 5]),
    (5, 3, 0, [2, 5]),
    (0, 3, 4, [0, 0]),
    (6, 3, 4, []),
    (300, 8, 17, list(range(0, 300, 3))),  # a hundred groups
]


def arrays_of(function: Any, case: tuple[int, int, int, list[int]], seed: int) -> list[Any]:
    tokens, depth, columns, ends = case
    rng = np.random.default_rng(seed)
    shapes = ((tokens, depth), (len(ends), depth, columns), (len(ends),), (tokens, columns))
    made: list[Any] = []
    for number, type_ in enumerate(function.graph.body.params):
        numbers = rng.normal(size=shapes[number]) * 3
        made.append(ends if number == 2 else numbers)
        made[-1] = np.asarray(made[-1]).astype(type_.dtype.numpy)
    return made


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
@pytest.mark.parametrize("constants", [CONSTANT, GIVEN], ids=["packed", "in place"])
@pytest.mark.parametrize("function", [experts, with_epilogue, halves, integers])
def test_values(function: Any, constants: frozenset[int], target: LlvmTarget) -> None:
    for seed, case in enumerate(GROUPS):
        arrays = arrays_of(function, case, seed)
        sizes = dict(zip("tkng", (*case[:3], len(case[3])), strict=True))
        (expected,) = evaluate(function.graph, *arrays)
        found = computed(
            function, arrays, sizes, constants=constants, target=target, at_end=bool(seed % 2)
        )
        near = 2e-3 if found.dtype == np.float16 else 1e-4
        np.testing.assert_allclose(found, expected, rtol=near, atol=near)


def test_code_does_what_the_kernel_says() -> None:
    case = (9, 4, 5, [1, 1, 8])
    arrays = arrays_of(with_epilogue, case, 0)
    sizes = {"t": 9, "k": 4, "n": 5, "g": 3}
    found, defined = (
        computed(with_epilogue, arrays, sizes, interpret=interpret) for interpret in (False, True)
    )
    np.testing.assert_allclose(found, defined, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("function", [experts, with_epilogue, halves])
def test_every_access_is_proved(function: Any) -> None:
    assert verify_kernel(lowered(function, CONSTANT).kernel) == []


@pytest.mark.parametrize("ends", [[5, 2, 9], [-3, 400, 7], [9, 9, -9]])
def test_senseless_offsets_touch_nothing_else(ends: list[int]) -> None:
    """Results are arbitrary, but memory around the buffers is guarded."""
    arrays = arrays_of(experts, (9, 3, 4, ends), 0)
    computed(experts, arrays, {"t": 9, "k": 3, "n": 4, "g": 3})


def test_a_computed_operand_is_refused() -> None:
    @ash.jit
    def scaled(x: ash.f32["t", "k"], w: ash.f32["g", "k", "n"], ends: ash.i32["g"]):
        return ash.grouped_dot(x * 2, w, ends)

    assert grouped_match(Body.of_region(scaled.graph.body, GIVEN)) == Refusal(
        "an operand is computed inside the kernel"
    )


def test_constant_experts() -> None:
    weights = np.random.default_rng(0).normal(size=(4, 24, 40)).astype(np.float32)

    @ash.jit
    def layer(x: ash.f32["t", 24], ends: ash.i64[4]):
        return ash.silu(ash.grouped_dot(x, weights, ends))

    executable = compile_graph(layer.graph)
    assert [node.op.name for node in executable.graph.nodes()].count("kernel") == 1
    x, ends = np.ones((11, 24), np.float32), np.array([3, 3, 10, 11])
    np.testing.assert_allclose(
        executable(x, ends)[0], evaluate(layer.graph, x, ends)[0], rtol=1e-4, atol=1e-4
    )


@pytest.mark.parametrize("order", [(0, 2, 1), (2, 1, 0), (1, 0, 2)])
def test_constant_experts_are_stored_in_any_order(order: tuple[int, int, int]) -> None:
    weights = np.random.default_rng(0).normal(size=(4, 24, 70)).astype(np.float32)
    stored = np.ascontiguousarray(weights.transpose(np.argsort(order)))

    @ash.jit
    def layer(x: ash.f32["t", 24], ends: ash.i64[4]):
        return ash.silu(ash.grouped_dot(x, ash.transpose(stored, order), ends))

    executable = compile_graph(layer.graph)
    assert [node.op.name for node in executable.graph.nodes()].count("kernel") == 1
    for tokens, ends in ((11, [3, 3, 10, 11]), (0, [0, 0, 0, 0]), (130, [1, 100, 100, 128])):
        x = np.random.default_rng(1).normal(size=(tokens, 24)).astype(np.float32)
        found, wanted = executable(x, np.array(ends)), evaluate(layer.graph, x, np.array(ends))
        np.testing.assert_allclose(found[0], wanted[0], rtol=1e-4, atol=1e-4)


def test_given_experts_are_read_as_they_are() -> None:
    @ash.jit
    def turned(x: ash.f32["t", "k"], w: ash.f32["g", "n", "k"], ends: ash.i32["g"]):
        return ash.grouped_dot(x, ash.transpose(w, (0, 2, 1)), ends)

    why = "weights that are not constant are transposed"
    assert grouped_match(Body.of_region(turned.graph.body, GIVEN)) == Refusal(why)
    executable = compile_graph(turned.graph)
    assert [node.op.name for node in executable.graph.nodes()].count("kernel") == 2
