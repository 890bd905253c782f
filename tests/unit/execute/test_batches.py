"""Requests of different lengths in batches: by the executable's own estimate."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from tests.errors.messages import message_of

import anyshape as ash
from anyshape.base.errors import InputError, OptionError


@ash.jit
def encoder(x: ash.f32["batch", "seq", 16], mask: ash.f32["batch", "seq"]) -> Any:
    scores = x @ x.transpose(0, 2, 1) + (1 - mask[:, None, :]) * -1e30
    values = ash.softmax(scores, axis=-1) @ x
    return (values * mask[:, :, None]).sum(axis=1)


@ash.jit
def ragged_encoder(x: ash.f32[ash.ragged("seq", over="batch"), 16]) -> Any:
    return ash.segment_sum(x.values * 2, x.offsets)


EXACT = ash.compile(encoder)
LENGTHS = [int(n) for n in np.random.default_rng(0).zipf(1.3, 200).clip(0, 90)]


def requests(lengths: list[int]) -> list[Any]:
    rng = np.random.default_rng(1)
    return [rng.normal(size=(n, 16)).astype(np.float32) for n in lengths]


def first_come(lengths: list[int], count: int) -> float:
    parts = (lengths[at : at + count] for at in range(0, len(lengths), count))
    return sum(EXACT.estimate(batch=len(p), seq=max(p)).seconds or 0.0 for p in parts)


def test_each_request_is_in_one_batch() -> None:
    given = requests(LENGTHS)
    found = ash.batches(given, EXACT, most=16)
    assert sorted(index for batch in found for index in batch.indices) == list(range(len(given)))
    for batch in found:
        assert len(batch.requests) <= 16
        assert batch.lengths == tuple(LENGTHS[index] for index in batch.indices)
        assert all(batch.requests[k] is given[index] for k, index in enumerate(batch.indices))
    assert all(max(a.lengths) <= min(b.lengths) for a, b in pairwise(found))


def test_batches_take_less_by_the_executables_estimate() -> None:
    found = ash.batches(requests(LENGTHS), EXACT)
    taken = sum(
        EXACT.estimate(batch=len(each.requests), seq=max(each.lengths)).seconds or 0.0
        for each in found
    )
    assert taken < 0.7 * first_come(LENGTHS, 8)


def test_the_best_cut_is_found() -> None:
    """Against all ways to cut six sorted requests."""
    lengths = [3, 4, 5, 60, 61, 90]
    found = ash.batches(requests(lengths), EXACT, most=6)
    cost = lambda a, b: (EXACT.estimate(batch=b - a, seq=lengths[b - 1]).seconds or 0) + 50e-6  # noqa: E731
    ways = []
    for bits in range(2**5):
        ends = [k + 1 for k in range(5) if bits >> k & 1] + [6]
        ways.append(sum(cost(a, b) for a, b in pairwise([0, *ends])))
    assert found.seconds <= 1.02 * min(ways)


def test_results_come_back_in_order() -> None:
    given = requests([5, 1, 9, 5, 0, 30, 2])
    found = ash.batches(given, EXACT, most=3)
    results = []
    for batch in found:
        x, mask = batch.padded()
        results.append(EXACT(x, mask.astype(np.float32))[0])
    for request, result in zip(given, found.in_order(results), strict=True):
        weights = np.exp(request @ request.T)
        expected = ((weights / weights.sum(-1, keepdims=True)) @ request).sum(0)
        np.testing.assert_allclose(result, expected, rtol=1e-3, atol=1e-4)


def test_a_budget_of_seconds_bounds_each_batch() -> None:
    budget = 3 * (EXACT.estimate(batch=1, seq=90).seconds or 0.0) + 50e-6
    found = ash.batches(requests([90] * 12), EXACT, budget=budget)
    assert len(found) > 2
    assert all(batch.seconds <= budget for batch in found)
    alone = ash.batches(requests([90] * 3), EXACT, budget=1e-9)
    assert [batch.indices for batch in alone] == [(0,), (1,), (2,)]


def test_ragged_batches_keep_the_order() -> None:
    executable = ash.compile(ragged_encoder)
    given = requests([5, 1, 9, 5, 0, 30, 2])
    found = ash.batches(given, executable, most=3)
    assert [batch.indices for batch in found] == [(0, 1, 2), (3, 4, 5), (6,)]
    assert all(batch.ragged for batch in found)
    results = [executable(each.packed().values, each.packed().offsets)[0] for each in found]
    for request, result in zip(given, found.in_order(results), strict=True):
        np.testing.assert_allclose(result, 2 * request.sum(0), rtol=1e-4, atol=1e-5)


def test_a_bucketed_axis_is_asked_at_its_buckets() -> None:
    axis = ash.Axis("seq", min=1, max=96, buckets=[32, 96])
    executable = ash.compile(ash.jit(axes=[axis])(encoder.__wrapped__))
    found = ash.batches(requests([3, 30, 31, 33, 90, 96] * 4), executable, most=12)
    cuts = {(min(b.lengths), max(b.lengths)) for b in found}
    assert not any(low <= 32 < high for low, high in cuts)


def test_no_requests() -> None:
    assert ash.batches([], EXACT) == ()


# --- refused --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("chosen", "start"),
    [
        ({"budget": 0}, "budget='0' is not seconds that a batch may take"),
        ({"budget": "1 ms"}, "budget='1 ms' is not seconds that a batch may take"),
        ({"most": 0}, "most='0' is not a number of requests"),
        ({"batch": "rows"}, "batch='rows' is not the axis that counts requests, of batch, seq"),
        ({"axis": "rows"}, "axis='rows' is not the axis that requests vary along, of batch, seq"),
    ],
)
def test_options(chosen: dict[str, Any], start: str) -> None:
    text = message_of(OptionError, lambda: ash.batches(requests([1]), EXACT, **chosen))
    assert text.startswith(start)


def test_a_request_that_is_too_long() -> None:
    axis = ash.Axis("seq", max=8)
    executable = ash.compile(ash.jit(axes=[axis])(encoder.__wrapped__))
    message = message_of(InputError, lambda: ash.batches(requests([3, 9]), executable))
    assert "have one of 9, and axis 'seq' is 0..8" in message


def test_results_of_other_batches() -> None:
    found = ash.batches(requests([3, 9]), EXACT)
    message = message_of(InputError, lambda: found.in_order([[1]]))
    assert "are not those of the batches" in message
