"""Masks that hide the keys after each query become causality; others stay masks."""

from typing import Any

import numpy as np
import pytest
from tests.unit.passes.stages import FIRST

import anyshape as ash
from anyshape.execute import compile_graph
from anyshape.ir import evaluate
from anyshape.passes import PASSES, run_passes

Q = ash.f32["b", 2, "s", 8]
K = ash.f32["b", 2, "past + s", 8]


def positions(q: Any, k: Any) -> tuple[Any, Any]:
    seq, keys = q.shape[2], k.shape[2]
    query = ash.arange(seq) + (keys - seq)
    return query.reshape(1, 1, seq, 1), ash.arange(keys).reshape(1, 1, 1, keys)


@ash.jit
def after_a_past(q: Q, k: K):
    query, key = positions(q, k)
    return ash.attention(q, k, k, mask=key <= query)


@ash.jit
def other_way_round(q: Q, k: K):
    query, key = positions(q, k)
    mask = ash.broadcast_to(query >= key, (q.shape[0], 1, q.shape[2], k.shape[2]))
    return ash.attention(q, k, k, mask=mask)


@ash.jit
def from_the_first(q: Q, k: Q):
    seq = q.shape[2]
    mask = ash.arange(seq) <= ash.arange(seq).reshape(seq, 1)
    return ash.attention(q, k, k, mask=mask)


@ash.jit
def padded(q: Q, k: K, valid: ash.bool["b", "past + s"]):
    query, key = positions(q, k)
    both = (key <= query) & valid.reshape(q.shape[0], 1, 1, k.shape[2])
    return ash.attention(q, k, k, mask=both)


@ash.jit
def strictly_before(q: Q, k: K):
    query, key = positions(q, k)
    return ash.attention(q, k, k, mask=key < query)


@ash.jit
def too_far(q: Q, k: K):
    query, key = positions(q, k)
    return ash.attention(q, k, k, mask=key <= query + 1)


@ash.jit
def same_for_all_keys(q: Q, k: K):
    seq = q.shape[2]
    mask = ash.arange(1).reshape(1, 1, 1, 1) <= ash.arange(seq).reshape(1, 1, seq, 1)
    return ash.attention(q, k, k, mask=mask)


@ash.jit
def either(q: Q, k: K, valid: ash.bool["b", "past + s"]):
    query, key = positions(q, k)
    mask = (key <= query) | valid.reshape(q.shape[0], 1, 1, k.shape[2])
    return ash.attention(q, k, k, mask=mask)


def attention_of(function: Any) -> Any:
    graph = run_passes(function.graph, FIRST).graph
    (found,) = (node for node in graph.nodes() if node.op.name == "attention")
    return found


@pytest.mark.parametrize(
    ("function", "causal", "operands"),
    [
        (after_a_past, "bottom_right", 3),
        (other_way_round, "bottom_right", 3),
        (from_the_first, "top_left", 3),
        (padded, "bottom_right", 4),
        (strictly_before, "none", 3),
        (too_far, "none", 3),
        (same_for_all_keys, "none", 4),
        (either, "none", 4),
    ],
)
def test_what_is_recognised(function: Any, causal: str, operands: int) -> None:
    found = attention_of(function)
    assert (found.attrs.causal, len(found.operands)) == (causal, operands)


@pytest.mark.parametrize(("function", "high"), [(strictly_before, -1), (too_far, 1)])
def test_other_bounds_than_causality(function: Any, high: int) -> None:
    node = attention_of(function)
    queries, keys = (value.tensor.shape[2] for value in node.operands[:2])
    assert node.attrs.high == keys - queries + high


def test_padding_stays_as_small_as_it_is() -> None:
    assert str(attention_of(padded).operands[3].type) == "bool[b, 1, 1, past + s]"


@pytest.mark.parametrize("function", [after_a_past, from_the_first, padded, strictly_before])
@pytest.mark.parametrize("sizes", [(2, 3, 4), (1, 1, 0), (1, 1, 9), (2, 70, 0), (1, 0, 3)])
def test_values(function: Any, sizes: tuple[int, int, int]) -> None:
    batch, seq, past = sizes
    rng = np.random.default_rng(0)
    keys = seq if function is from_the_first else past + seq
    arrays: list[Any] = [
        rng.normal(size=(batch, 2, length, 8)).astype(np.float32) for length in (seq, keys)
    ]
    if function is padded:
        arrays.append(rng.random((batch, keys)) > 0.4)
    (found,), (wanted,) = compile_graph(function.graph)(*arrays), evaluate(function.graph, *arrays)
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


def test_a_condition_that_is_shared_is_looked_at_once() -> None:
    """A mask of 60 conjunctions of itself has 2**60 paths, and one condition."""

    @ash.jit
    def doubled(q: Q, k: Q):
        seq = q.shape[2]
        mask = ash.arange(seq) <= ash.arange(seq).reshape(seq, 1)
        for _ in range(60):
            mask = ash.broadcast_to(mask & mask, (seq, seq))
        return ash.attention(q, k, k, mask=mask)

    (step,) = [step for step in PASSES if step.name == "causal-masks"]
    (report,) = run_passes(doubled.graph, [step]).reports
    assert [str(decision) for decision in report.decisions] != []


def test_a_mask_of_many_conditions_is_no_deeper_than_the_stack() -> None:
    @ash.jit
    def deep(q: Q, k: Q, valid: ash.bool["s"]):
        seq = q.shape[2]
        mask = ash.arange(seq) <= ash.arange(seq).reshape(seq, 1)
        for number in range(3000):
            mask = mask & (valid & (ash.arange(seq) != number))
        return ash.attention(q, k, k, mask=mask)

    (step,) = [step for step in PASSES if step.name == "causal-masks"]
    (report,) = run_passes(deep.graph, [step]).reports
    assert report.changed
