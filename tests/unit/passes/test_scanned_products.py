"""Products of a scan's rows are one product, against loops in NumPy."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import anyshape as ash
from anyshape.base.errors import FactViolationError
from anyshape.ir.node import Region
from anyshape.passes import run_passes
from anyshape.passes.dce import EliminateDead
from anyshape.passes.scanned_products import ScannedProducts

STEPS = (ScannedProducts(), EliminateDead())
SQUARE = np.linspace(-1, 1, 16, dtype=np.float32).reshape(4, 4)
WIDE = np.linspace(-1, 1, 4 * 80, dtype=np.float32).reshape(4, 80)

Step = Callable[[Any, Any], Any]


def cell(h: Any, x: Any) -> Any:
    """Something before the product, and something behind."""
    return np.tanh(h @ SQUARE + np.tanh(x * 0.5) @ SQUARE - 1)


def matrix_first(h: Any, x: Any) -> Any:
    """Rows are the second operand, with an axis of their own."""
    return h * 0.5 + (SQUARE @ x.reshape(-1, 4).transpose()).transpose()


def both(h: Any, x: Any) -> Any:
    """One product of another; the rows themselves are used, too."""
    once = x @ SQUARE
    return h * 0.5 + once * x + once @ SQUARE


def changing(h: Any, x: Any) -> Any:
    return np.tanh((h + x) @ SQUARE)


def long(h: Any, x: Any) -> Any:
    return h + (x @ WIDE).sum(1, keepdims=True)


def scanned(step: Step, reverse: bool = False) -> ash.Jitted[..., Any]:
    def run(x: Any, h: Any) -> Any:
        def body(state: Any, row: Any) -> Any:
            following = step(state, row)
            return following, following * 2

        return ash.scan(body, h, x, reverse=reverse)

    run.__annotations__ = {"x": ash.f32["steps", "n", 4], "h": ash.f32["n", 4]}
    return ash.jit(run)


def by_hand(step: Step, x: Any, h: Any, reverse: bool = False) -> tuple[Any, Any]:
    found = np.empty_like(x)
    for row in reversed(range(len(x))) if reverse else range(len(x)):
        h = step(h, x[row])
        found[row] = 2 * h
    return h, found


def products_inside(region: Region, depth: int = 0) -> int:
    count = 0
    for node in region.nodes():
        count += depth > 0 and node.op.name == "dot"
        count += sum(products_inside(inner, depth + 1) for inner in node.regions)
    return count


@pytest.mark.parametrize(
    ("step", "before", "after"),
    [(cell, 2, 1), (matrix_first, 1, 0), (both, 2, 0), (changing, 1, 1), (long, 1, 1)],
)
def test_which_products_move(step: Step, before: int, after: int) -> None:
    graph = scanned(step).graph
    passed = run_passes(graph, STEPS, verify=True)
    assert products_inside(graph.body) == before
    assert products_inside(passed.graph.body) == after
    (report,) = (report for report in passed.reports if report.name == "scanned-products")
    assert bool(report.taken) == (after < before)


@pytest.mark.parametrize(
    ("step", "reverse"), [(cell, False), (cell, True), (matrix_first, False), (both, False)]
)
def test_values(step: Step, reverse: bool) -> None:
    executable = ash.compile(scanned(step, reverse), strict=True)
    rng = np.random.default_rng(0)
    for steps, n in ((0, 2), (1, 1), (3, 0), (7, 5)):
        x = rng.standard_normal((n, steps, 4), np.float32).swapaxes(0, 1)  # not as it is read
        h = rng.standard_normal((n, 4), np.float32)
        for found, wanted in zip(executable(x, h), by_hand(step, x, h, reverse), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


def test_a_loop_that_is_not_entered_asks_nothing() -> None:
    """Rows have to be even only where there are some."""

    @ash.jit
    def pairs(x: ash.f32["steps", "n"], h: ash.f32[2]):
        return ash.scan(lambda s, row: (s + (row.reshape(-1, 2) @ SQUARE[:2, :2]).sum(0), s), h, x)

    executable = ash.compile(pairs)
    h = np.ones(2, np.float32)
    np.testing.assert_array_equal(executable(np.ones((0, 3), np.float32), h)[0], h)
    with pytest.raises(FactViolationError):
        executable(np.ones((1, 3), np.float32), h)
