"""Control flow: branches and loops as regions, with captures found by the tracer."""

# ruff: noqa: UP037 - names of axes are no forward references

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.unit.frontend.tracing import floats, run

import anyshape as ash


def node_of(function: Any, op: str) -> Any:
    return next(node for node in function.graph.nodes() if node.op.name == op)


# --- cond -----------------------------------------------------------------------------------------


def test_cond_runs_one_branch() -> None:
    pick = lambda p, x: ash.cond(p, lambda x: x + 1, lambda x: x * 2, x)  # noqa: E731
    x = floats(3)
    np.testing.assert_array_equal(run(pick, np.array(True), x), x + 1)
    np.testing.assert_array_equal(run(pick, np.array(False), x), x * 2)


def test_branches_capture_what_they_use() -> None:
    def pick(p: Any, x: Any, y: Any, z: Any) -> Any:
        doubled = y * 2
        return ash.cond(p, lambda: x + doubled, lambda: doubled - z)

    x, y, z = (floats(3, seed=seed) for seed in range(3))
    np.testing.assert_array_equal(run(pick, np.array(True), x, y, z), x + y * 2)
    np.testing.assert_array_equal(run(pick, np.array(False), x, y, z), y * 2 - z)


def test_constants_are_no_captures() -> None:
    """They are constants of each region, also of one inside of another."""

    @ash.jit
    def f(p: ash.bool[()], x: ash.f32["n", 2]):
        w = ash.asarray(np.array([[1, 2], [3, 4]], np.float32))
        again = lambda x: ash.scan(lambda s, _: (s @ w, None), x, length=2)[0]  # noqa: E731
        return ash.cond(p, again, lambda x: x - w.sum(), x)

    cond = node_of(f, "cond")
    assert len(cond.operands) == 2, "the condition and x"
    (scan,) = (node for node in cond.regions[0].nodes() if node.op.name == "scan")
    assert len(scan.operands) == 1
    x, w = floats(3, 2), np.array([[1, 2], [3, 4]], np.float32)
    np.testing.assert_allclose(f(np.array(True), x), x @ w @ w, rtol=1e-5)
    np.testing.assert_allclose(f(np.array(False), x), x - 10, rtol=1e-5)


def test_a_result_may_be_something_from_outside() -> None:
    @ash.jit
    def f(p: ash.bool[()], x: ash.f32["n"], y: ash.f32["n"]):
        picked = ash.cond(p, lambda: x, lambda: y + 1)
        last, steps = ash.scan(lambda state, item: (state, y), x, ash.arange(2))
        return picked, last, steps, ash.while_loop(lambda s: s.sum() > 9, lambda s: y, x)

    x, y = np.full(3, 4, np.float32), np.full(3, 2, np.float32)
    for taken in (True, False):
        picked, last, steps, final = f(np.array(taken), x, y)
        np.testing.assert_array_equal(picked, x if taken else y + 1)
        np.testing.assert_array_equal(last, x)
        np.testing.assert_array_equal(steps, [y, y])
        np.testing.assert_array_equal(final, y)


def test_captures_are_exactly_the_operands() -> None:
    @ash.jit
    def pick(p: ash.bool[()], x: ash.f32["n"], y: ash.f32["n"], unused: ash.f32["n"]):
        return ash.cond(p, lambda: x, lambda: y + x) + unused

    node = node_of(pick, "cond")
    assert len(node.operands) == 3  # p, x, y
    assert [len(region.params) for region in node.regions] == [2, 2]


def test_nested_regions_pass_captures_through() -> None:
    def nested(p: Any, x: Any, y: Any) -> Any:
        return ash.cond(p, lambda: ash.cond(x[0] > 0, lambda: x + y, lambda: x - y), lambda: x)

    x, y = np.array([1.0, 2.0], np.float32), floats(2)
    np.testing.assert_array_equal(run(nested, np.array(True), x, y), x + y)
    np.testing.assert_array_equal(run(nested, np.array(True), -x, y), -x - y)
    np.testing.assert_array_equal(run(nested, np.array(False), x, y), x)


def test_branches_meet_in_one_element_type() -> None:
    pick = lambda p, x: ash.cond(p, lambda: x * 2.0, lambda: 0)  # noqa: E731
    assert run(pick, np.array(False), np.ones((), np.float32)).dtype == np.float32


def test_branches_of_different_sizes_give_a_late_axis() -> None:
    pick = lambda p, x: ash.cond(p, lambda: x[1:], lambda: ash.concat([x, x])) * 2  # noqa: E731
    x = floats(4)
    np.testing.assert_array_equal(run(pick, np.array(True), x), x[1:] * 2)
    np.testing.assert_array_equal(run(pick, np.array(False), x), np.concatenate([x, x]) * 2)


def test_branches_give_containers() -> None:
    split = lambda p, x: ash.cond(p, lambda: {"a": x, "b": (x,)}, lambda: {"a": -x, "b": (x,)})  # noqa: E731
    found = run(split, np.array(False), floats(2))
    np.testing.assert_array_equal(found["a"], -floats(2))
    assert isinstance(found["b"], tuple)


# --- while ----------------------------------------------------------------------------------------


def test_while_with_one_and_with_several_values() -> None:
    one = lambda x: ash.while_loop(lambda v: v.sum() < 100, lambda v: v * 2, x)  # noqa: E731
    assert run(one, np.ones(3, np.float32)).tolist() == [64, 64, 64]

    def count(x: Any) -> Any:
        return ash.while_loop(lambda i, v: v.sum() < 100, lambda i, v: (i + 1, v * 2), 0, x)

    steps, value = run(count, np.ones(3, np.float32))
    assert (int(steps), value.tolist()) == (6, [64, 64, 64])


def test_a_loop_that_never_runs() -> None:
    assert (
        run(
            lambda x: ash.while_loop(lambda v: v > 0, lambda v: v - 1, x),
            np.float32(-1)[()] * np.ones((), np.float32),
        )
        == -1
    )


def test_loops_capture_in_condition_and_body() -> None:
    def loop(x: Any, step: Any, limit: Any) -> Any:
        return ash.while_loop(lambda v: v < limit, lambda v: v + step, x)

    zero, step, limit = (np.array(v, np.float32) for v in (0, 3, 10))
    assert run(loop, zero, step, limit) == 12


def test_a_size_that_grows_becomes_a_symbol_of_the_loop() -> None:
    def grow(x: Any) -> Any:
        return ash.while_loop(lambda v: v.sum() < 10, lambda v: ash.concat([v, v]), x) + 1

    assert run(grow, np.ones(3, np.float32)).tolist() == [2.0] * 12


# --- scan -----------------------------------------------------------------------------------------


def test_scan_gives_the_last_state_and_all_outputs() -> None:
    def running(x: Any) -> Any:
        return ash.scan(lambda total, v: (total + v, total + v), 0.0, x)

    last, sums = run(running, floats(5))
    np.testing.assert_allclose(sums, np.cumsum(floats(5)), rtol=1e-5)
    np.testing.assert_allclose(last, sums[-1])
    last, sums = run(running, floats(0))
    assert (last, sums.shape) == (0, (0,))


def test_scan_in_reverse_with_captures_and_containers() -> None:
    @ash.jit
    def loop(xs: ash.f32["seq", "width"], w: ash.f32["width", "state"]):
        def body(state: Any, item: Any) -> Any:
            return ash.tanh(item["x"] @ w + state), None

        return ash.scan(body, ash.zeros(w.shape[1]), {"x": xs}, reverse=True)

    xs, w = floats(4, 3), floats(3, 2, seed=1)
    state = np.zeros(2, np.float32)
    for x in xs[::-1]:
        state = np.tanh(x @ w + state)
    last, nothing = loop(xs, w)
    np.testing.assert_allclose(last, state, rtol=1e-5)
    assert nothing is None


def test_a_region_may_require_something_of_unnamed_sizes_outside() -> None:
    def loop(xs: Any, w: Any) -> Any:
        return ash.scan(lambda state, x: (x @ w + state, None), ash.zeros(w.shape[1]), xs)[0]

    xs, w = floats(4, 3), floats(3, 2, seed=1)
    np.testing.assert_allclose(run(loop, xs, w), (xs @ w).sum(0), rtol=1e-5)


def test_scan_by_length() -> None:
    def powers(x: Any) -> Any:
        return ash.scan(lambda v, _: (v * 2, v), x, length=4)[1]

    assert run(powers, np.ones((), np.float32)).tolist() == [1, 2, 4, 8]


# --- random ---------------------------------------------------------------------------------------


def test_a_key_gives_the_same_numbers_every_time() -> None:
    draw = lambda k: ash.random.uniform(k, (1000,))  # noqa: E731
    key = np.array([1, 2], np.uint32)
    first, second = run(draw, key), run(draw, key)
    np.testing.assert_array_equal(first, second)
    assert 0 <= first.min() < 0.1
    assert 0.9 < first.max() < 1


def test_distributions() -> None:
    @ash.jit
    def draw(x: ash.f32["n", 3], seed: int = 7):
        one, two = ash.random.split(ash.random.key(seed))
        return ash.random.normal(one, ("n", 3)), ash.random.uniform(two, x.shape, -1.0, 3.0)

    normal, uniform = draw(floats(4000, 3))
    assert abs(normal.mean()) < 0.03
    assert abs(normal.std() - 1) < 0.03
    assert -1 <= uniform.min() < uniform.max() < 3
    assert abs(uniform.mean() - 1) < 0.05


def test_new_keys_differ_from_run_to_run() -> None:
    @ash.jit
    def draw(x: ash.f32["n"]):
        return ash.random.new_key(), ash.random.new_key(), x

    one, two, _ = draw(floats(2))
    assert len({tuple(one), tuple(two), tuple(draw(floats(2))[0])}) == 3
    assert len(draw.graph.results) == 4  # the token of the last draw keeps the order


# --- late axes ------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [0, 1, 6])
def test_nonzero(size: int) -> None:
    x = floats(size, 3)
    (found, other), expected = run(lambda x: ash.nonzero(x > 0), x), np.nonzero(x > 0)
    np.testing.assert_array_equal(found, expected[0])
    np.testing.assert_array_equal(other, expected[1])
    np.testing.assert_array_equal(run(lambda x: ash.argwhere(x > 0), x), np.argwhere(x > 0))
