"""Short rows in blocks: the numbers of several rows, and then their elements."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from tests.unit.codegen.emit.harness import TARGETS, interpreted, run
from tests.unit.codegen.matrix import lowered

import anyshape as ash
from anyshape.codegen.llvm.target import LlvmTarget
from anyshape.families.family import Lowered
from anyshape.families.row.blocks import ROWS, SHORT
from anyshape.ir.types import Array
from anyshape.loop import For, Kernel
from anyshape.loop.accesses import overwritable
from anyshape.loop.verify import verify_kernel
from anyshape.plan.costs import MachineCosts

GROUPS, PER_GROUP = 3, 4


def normal(x: Any, axes: Any) -> Any:
    centred = x - x.mean(axes, keepdims=True)
    return centred * ash.rsqrt((centred * centred).mean(axes, keepdims=True) + 1e-5)


def activated(width: Any) -> Any:
    """Rows with long code for each element."""

    @ash.jit
    def function(x: ash.f32["b", "n", width]):
        return ash.tanh(normal(x, -1))

    return function


@ash.jit
def plain(x: ash.f32["b", "n", 64]):
    return normal(x, -1)


@ash.jit
def softmax(x: ash.f32["b", "n", 64]):
    """Keeps the exponentials of its row."""
    return ash.softmax(x, axis=-1)


@ash.jit
def strips(x: ash.f32["b", "n", 64]):
    """Lanes are rows."""
    return ash.exp(x - x.max(1, keepdims=True))


@ash.jit
def whole(x: ash.f32["b", "n"]):
    """One row."""
    return ash.tanh(x - x.mean())


@ash.jit
def groups(x: ash.f32["b", GROUPS, PER_GROUP, "p"]):
    """Rows along two axes, and a number for each channel."""
    channel = ash.arange(GROUPS)[:, None] * PER_GROUP + ash.arange(PER_GROUP)
    return normal(x, (2, 3)) * channel.astype(ash.f32)[..., None]


def loops(kernel: Kernel) -> list[For]:
    return [each for each in kernel.body if isinstance(each, For)]


def is_in_blocks(kernel: Kernel) -> bool:
    return [str(loop.index) for loop in loops(kernel)] == ["r", "r"]


def variants(found: Lowered) -> dict[str, Kernel]:
    return {found.name: found.kernel} | {each.name: each.kernel for each in found.others}


# --- which rows -----------------------------------------------------------------------------------


def test_known_short_rows_are_in_blocks() -> None:
    (kernel,) = variants(lowered(activated(64))).values()
    assert is_in_blocks(kernel)
    assert [buffer.shape for buffer in kernel.scratch] == [(ROWS,), (ROWS,)]
    assert not verify_kernel(kernel)


def test_a_result_is_still_written_over_its_operand() -> None:
    (kernel,) = variants(lowered(activated(64))).values()
    assert overwritable(kernel) == {(0, 1)}


@pytest.mark.parametrize(
    "function",
    [activated(SHORT + 1), plain, softmax, strips, whole],
    ids=["long", "plain", "softmax", "strips", "whole"],
)
def test_others_are_not(function: Any) -> None:
    assert not any(map(is_in_blocks, variants(lowered(function)).values()))


def test_where_nobody_knows_there_are_both() -> None:
    found = variants(lowered(activated("k")))
    assert {name: is_in_blocks(kernel) for name, kernel in found.items()} == {
        "row by row": False, "rows in blocks": True,
    }  # fmt: skip


def test_runs_of_unknown_length_may_be_lanes() -> None:
    found = variants(lowered(groups))
    assert list(found) == ["row by row", "rows in blocks", "runs in lanes"]
    numbers, (*_, run) = loops(found["runs in lanes"])[0], loops(found["runs in lanes"])
    (lanes,) = run.body
    assert str(numbers.index) == "r"
    assert isinstance(lanes, For)
    assert (run.vector, lanes.vector) == (False, True)
    assert not verify_kernel(found["runs in lanes"])


@pytest.mark.parametrize(("positions", "cheapest"), [
    (1, "runs in lanes"), (2, "runs in lanes"), (3, "rows in blocks"), (64, "rows in blocks"),
    (4096, "row by row"),
])  # fmt: skip
def test_costs_choose_by_the_length_of_rows(positions: int, cheapest: str) -> None:
    found = lowered(groups)
    assert found.effort is not None
    efforts = {found.name: found.effort} | {each.name: each.effort for each in found.others}
    symbols = dict(zip(found.kernel.sizes, (8, positions), strict=True))
    costs = {
        name: MachineCosts().alone(efforts[name], kernel.tasks).evaluate(symbols)
        for name, kernel in variants(found).items()
    }
    assert min(costs, key=costs.__getitem__) == cheapest


# --- values ---------------------------------------------------------------------------------------


def in_numpy(x: Array, axes: tuple[int, ...]) -> Array:
    wide = x.astype(np.float64)
    if not x.size:
        return wide
    centred = wide - wide.mean(axes, keepdims=True)
    return centred / np.sqrt((centred**2).mean(axes, keepdims=True) + 1e-5)


def tanh_of_rows(x: Array) -> Array:
    return np.tanh(in_numpy(x, (-1,)))


def scaled_groups(x: Array) -> Array:
    return in_numpy(x, (2, 3)) * np.arange(12).reshape(GROUPS, PER_GROUP, 1)


CASES: list[tuple[Any, Callable[[Array], Array], tuple[int, ...]]] = [
    *((activated(7), tanh_of_rows, (b, n, 7)) for b, n in ((0, 3), (1, 1), (2, 8), (3, 17))),
    *((activated("k"), tanh_of_rows, (2, 9, k)) for k in (1, 16, 130)),
    *(
        (groups, scaled_groups, (b, GROUPS, PER_GROUP, p))
        for b in (1, 8, 9)
        for p in (0, 1, 2, 5, 64)
    ),
]


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_values_are_those_of_numpy(target: LlvmTarget) -> None:
    for function, expected, x, words in calls():
        for kernel in variants(lowered(function, target=target)).values():
            found = run(kernel, memory(x), words, target)[-1].reshape(x.shape)
            np.testing.assert_allclose(found, expected(x), rtol=1e-4, atol=1e-5)


def test_the_definition_says_the_same() -> None:
    for function, expected, x, words in calls():
        if x.size <= 1000:
            for kernel in variants(lowered(function)).values():
                found = interpreted(kernel, memory(x), words)[-1].reshape(x.shape)
                np.testing.assert_allclose(found, expected(x), rtol=1e-4, atol=1e-5)


def calls() -> Iterator[tuple[Any, Callable[[Array], Array], Array, list[int]]]:
    """Functions, what they compute, an operand, and the sizes of their kernels."""
    for function, expected, shape in CASES:
        x = np.random.default_rng(3).normal(size=shape).astype(np.float32)
        dims = function.graph.body.params[0].shape
        bound = {s: n for dim, n in zip(dims, shape, strict=True) for s in dim.symbols}
        yield function, expected, x, [dim.evaluate(bound) for dim in lowered(function).sizes]


def memory(x: Array) -> list[Array]:
    return [x.reshape(-1), np.full(x.size, np.nan, np.float32)]
