"""The kernels of attention: their forms against the decomposition, by the loop IR's interpreter."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from tests.unit.lower.attention_functions import (
    FUNCTIONS,
    Binding,
    bias,
    binding,
    bool_mask,
    cache,
    causal,
    computed,
    halves,
    key_bias,
    operands,
    plain,
    views,
)

import anyshape as ash
from anyshape.analysis.expansion import expanded_region
from anyshape.execute import compile_graph
from anyshape.families.attention.family import Attention
from anyshape.families.attention.match import attention_match
from anyshape.families.body import Body
from anyshape.families.family import Lowered
from anyshape.families.lower import lower_region
from anyshape.ir import evaluate
from anyshape.ir.rewrite import Refusal
from anyshape.loop import Copy, Kernel, Statement
from anyshape.loop.interpret import run_kernel
from anyshape.loop.ir import For
from anyshape.loop.verify import verify_kernel
from anyshape.lower.effort import Variant
from anyshape.lower.tiling import NARROW, Tiling
from anyshape.plan.costs import MachineCosts
from anyshape.sym import FactScope

SMALL = Tiling(rows=2, vectors=1, vector_bytes=16)
"""Tiles of 2 by 4: small sizes reach every kind of remainder."""


every_function = pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)


def lowered(function: Any, tiling: Tiling = SMALL) -> Lowered:
    return lower_region(function.graph.body, function.graph.facts, frozenset(), tiling)


def variants(found: Lowered) -> list[Variant]:
    assert found.effort is not None
    return [Variant(found.name, found.kernel, found.effort), *found.others]


def interpreted(found: Lowered, kernel: Kernel, arrays: list[Any], sizes: Binding) -> Any:
    symbols = {s: sizes[s.name] for dim in found.sizes for s in dim.symbols}
    words = [dim.evaluate(symbols) for dim in found.sizes]
    bound = dict(zip(kernel.sizes, words, strict=True))
    (y,) = kernel.results
    out = np.full([dim.evaluate(bound) for dim in y.shape], np.nan, y.dtype.numpy)
    with np.errstate(all="ignore"):
        run_kernel(kernel, [*arrays, out], words)
    return out


# --- values ---------------------------------------------------------------------------------------


@every_function
@pytest.mark.parametrize(
    "sizes", [(1, 1, 1), (2, 5, 7), (1, 9, 3), (0, 3, 3), (1, 0, 2), (1, 3, 0)]
)
def test_all_forms_agree_with_the_decomposition(function: Any, sizes: tuple[int, int, int]) -> None:
    bound = binding(*sizes)
    arrays = operands(function, bound)
    (expected,) = evaluate(function.graph, *arrays)
    found = lowered(function)
    assert {variant.name for variant in variants(found)} == {"tiles", "few queries"}
    tolerance = 2e-3 if expected.dtype == np.float16 else 1e-5
    for variant in variants(found):
        out = interpreted(found, variant.kernel, arrays, bound)
        np.testing.assert_allclose(out, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("function", [plain, cache, bool_mask], ids=lambda f: f.__name__)
def test_several_key_blocks(function: Any) -> None:
    bound = binding(1, 2, 523)
    arrays = operands(function, bound)
    (expected,) = evaluate(function.graph, *arrays)
    found = lowered(function)
    for variant in variants(found):
        out = interpreted(found, variant.kernel, arrays, bound)
        np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-5)


def test_keys_in_the_future_are_not_read() -> None:
    """Their values are: 0 times NaN is NaN (`test_attention_special.py`)."""
    bound = binding(1, 3, 9)
    arrays = operands(causal, bound)
    (expected,) = evaluate(causal.graph, *arrays)
    arrays[1][:, :, 4:] = np.nan
    found = lowered(causal)
    for variant in variants(found):
        out = interpreted(found, variant.kernel, arrays, bound)
        np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-6)


def test_a_query_without_keys_gets_zeros() -> None:
    bound = binding(1, 5, 2)  # aligned at the end: the first three queries see nothing
    arrays = operands(cache, bound)
    found = lowered(cache)
    for variant in variants(found):
        out = interpreted(found, variant.kernel, arrays, bound)
        assert not out[:, :, :3].any()
        assert out[:, :, 3:].all()


# --- accesses and structure -----------------------------------------------------------------------


@every_function
def test_every_access_is_proved(function: Any) -> None:
    for tiling in (SMALL, NARROW):
        for variant in variants(lowered(function, tiling)):
            assert verify_kernel(variant.kernel) == []


def statements(body: tuple[Statement, ...]) -> Iterator[Statement]:
    for statement in body:
        yield statement
        if isinstance(statement, For):
            yield from statements(statement.body)


def copied(function: Any) -> set[str]:
    """Scratch that operands are copied to, and with them what is transposed."""
    kernel = lowered(function).kernel
    turned = {s.target.name for s in statements(kernel.body) if isinstance(s, Copy)}
    return turned | {b.name for b in kernel.scratch} & {"keys", "values"}


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (plain, {"packed"}),
        (views, {"packed"}),
        (bias, {"packed", "mask"}),
        (key_bias, {"packed"}),
        (halves, {"packed", "keys", "values"}),
        (computed, {"keys", "values"}),
    ],
    ids=["plain", "views", "bias", "key bias", "halves", "computed"],
)
def test_views_are_read_where_they_are(function: Any, expected: set[str]) -> None:
    assert copied(function) == expected


@pytest.mark.parametrize(("length", "names"), [(1, ["few queries"]), (64, ["tiles"])])
def test_a_known_number_of_queries_leaves_no_choice(length: int, names: list[str]) -> None:
    @ash.jit
    def attend(q: ash.f32["b", 2, length, 8], k: ash.f32["b", 2, "t", 8]):
        return ash.attention(q, k, k)

    assert [variant.name for variant in variants(lowered(attend, NARROW))] == names


@pytest.mark.parametrize(("queries", "cheapest"), [(1, "few queries"), (64, "tiles")])
def test_costs_choose_by_the_number_of_queries(queries: int, cheapest: str) -> None:
    @ash.jit
    def attend(q: ash.f32[1, 12, "s", 64], k: ash.f32[1, 12, 512, 64]):
        return ash.attention(q, k, k)

    found = lowered(attend, NARROW)
    ((size, _),) = found.names.items()
    costs = {
        v.name: MachineCosts().alone(v.effort, v.kernel.tasks).evaluate({size: queries})
        for v in variants(found)
    }
    assert min(costs, key=costs.__getitem__) == cheapest


# --- fusion ---------------------------------------------------------------------------------------


def test_transposes_around_attention_are_part_of_its_kernel() -> None:
    graph = compile_graph(views.graph).graph
    first, last = (node for node in graph.nodes() if node.op.name == "kernel")
    assert [node.op.name for node in first.regions[0].nodes()][-1] == "part_attention"
    assert last.result() in graph.results
    arrays = operands(views, binding(2, 7, 70))
    (expected,) = evaluate(views.graph, *arrays)
    (found,) = compile_graph(views.graph)(*arrays)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


@ash.jit
def summed(q: ash.f32["b", 2, "s", 3], k: ash.f32["b", 2, "t", 3]):
    return ash.sum(ash.attention(q, k, k), axis=-1)


@ash.jit
def reversed_rows(q: ash.f32["b", 2, "s", 3], k: ash.f32["b", 2, "t", 3]):
    return ash.flip(ash.attention(q, k, k), 2)


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (summed, "it is not a single attention"),
        (reversed_rows, "reverse follows, which is not elementwise of the same shape"),
    ],
)
def test_refusals_say_why(function: Any, why: str) -> None:
    graph = function.graph
    outer = FactScope.of(graph.facts, distinct_names=False)
    region = expanded_region(graph.body, outer, Attention.keep)
    assert attention_match(Body.of_region(region)) == Refusal(why)


@pytest.mark.parametrize("function", [summed, reversed_rows], ids=lambda f: f.__name__)
def test_what_is_refused_is_still_right(function: Any) -> None:
    """A region that has no kernel of its own is lowered through the decomposition."""
    bound = binding(1, 3, 4)
    arrays = operands(function, bound)
    (expected,) = evaluate(function.graph, *arrays)
    found = lowered(function)
    flat = [array.reshape(-1) for array in arrays]
    out = interpreted(found, found.kernel, flat, bound)
    np.testing.assert_allclose(out, expected.reshape(-1), rtol=1e-5, atol=1e-5)


def test_no_queries_at_all() -> None:
    """A size of 0 that is known when compiling: rows are not divided by it."""

    @ash.jit
    def nothing(q: ash.f32["b", 2, 0, 3], k: ash.f32["b", 2, "t", 3], v: ash.f32["b", 2, "t", 5]):
        return ash.attention(q, k, v)

    q, k, v = (np.ones(shape, np.float32) for shape in ((2, 2, 0, 3), (2, 2, 4, 3), (2, 2, 4, 5)))
    assert compile_graph(nothing.graph)(q, k, v)[0].shape == (2, 2, 0, 5)
