"""Ragged axes in functions: what sequences compute together equals what each computes alone."""

import numpy as np
import pytest
import torch
from torch.nn import functional

import anyshape as ash
from anyshape.base.errors import DimError, InputError, OffsetsError

HEADS, WIDTH = 3, 32
LENGTHS = [
    [0],
    [5],
    [0, 0, 0],
    [1, 2, 3],
    [33, 0, 64, 1, 0],
    [0, 200, 300, 7, 1, 1, 1, 16, 32, 31],
    [600, 3],
    [1] * 100,
]


@ash.jit(threads=2)
def layer(x: ash.f32[ash.ragged("seq", over="batch"), 96], w: ash.f32[96, 96]):
    rows = x.values.shape[0]
    q, k, v = (
        h.reshape(rows, HEADS, WIDTH).transpose(1, 0, 2)
        for h in (x.values @ w, x.values, x.values * 2)
    )
    mixed = ash.ragged_attention(q, k, v, x.offsets)
    return ash.Ragged(x.values + mixed.transpose(1, 0, 2).reshape(rows, 96), x.offsets)


@ash.jit
def pooled(x: ash.f32[ash.ragged("seq", over="batch"), 4]):
    values, offsets = x.values, x.offsets
    return {
        "sum": ash.segment_sum(values, offsets),
        "mean": ash.segment_mean(values, offsets),
        "max": ash.segment_max(values, offsets),
        "first": ash.segment_first(values, offsets),
        "lengths": ash.segment_lengths(offsets),
        "positions": ash.segment_positions(offsets, values.shape[0]),
    }


@ash.jit
def both(
    x: ash.f32[ash.ragged("seq", over="batch")], pair: (ash.f32[ash.ragged("seq", over="batch")],)
):
    return x.values + pair[0].values


def sequences(lengths: list[int], width: int) -> list[np.ndarray]:
    rng = np.random.default_rng(sum(lengths) + len(lengths))
    return [rng.standard_normal((length, width)).astype(np.float32) for length in lengths]


def alone(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """One sequence, by torch."""
    given = torch.from_numpy(x)
    parts = (given @ torch.from_numpy(w), given, given * 2)
    q, k, v = (h.reshape(len(x), HEADS, WIDTH).transpose(0, 1) for h in parts)
    mixed = functional.scaled_dot_product_attention(q, k, v)
    return (given + mixed.transpose(0, 1).reshape(len(x), 96)).numpy()


@pytest.mark.parametrize("lengths", LENGTHS, ids=str)
def test_a_layer_is_that_of_each_sequence_alone(lengths: list[int]) -> None:
    given = sequences(lengths, 96)
    w = sequences([96], 96)[0] / 10
    found = layer(ash.pack(given), w)
    wanted = [alone(x, w) for x in given]
    np.testing.assert_allclose(found.values, np.concatenate(wanted), rtol=2e-5, atol=2e-5)
    np.testing.assert_array_equal(found.offsets, np.cumsum([0, *lengths]))


def test_what_other_sequences_hold_does_not_show() -> None:
    given = sequences([7, 70, 5], 96)
    w = sequences([96], 96)[0] / 10
    plain = layer(ash.pack(given), w)
    given[1][:] = np.nan
    found = layer(ash.pack(given), w)
    for first, end in ((0, 7), (77, 82)):
        np.testing.assert_array_equal(found.values[first:end], plain.values[first:end])
    assert np.isnan(found.values[7:77]).all()


def test_rows_that_are_apart_in_memory() -> None:
    given = ash.pack(sequences([9, 0, 21], 192))
    w = sequences([96], 96)[0] / 10
    apart = layer(ash.Ragged(given.values[:, ::2], given.offsets), w)
    together = layer(ash.Ragged(given.values[:, ::2].copy(), given.offsets), w)
    np.testing.assert_array_equal(apart.values, together.values)


@pytest.mark.parametrize("lengths", LENGTHS, ids=str)
def test_pooling(lengths: list[int]) -> None:
    given = sequences(lengths, 4)
    found = pooled(ash.pack(given))
    with np.errstate(all="ignore"):
        sums = np.stack([x.sum(0, dtype=np.float64) for x in given])
        means = sums / np.array(lengths)[:, None]
    np.testing.assert_allclose(found["sum"], sums, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(found["mean"], means, rtol=1e-4, atol=1e-4)
    tops = [x.max(0, initial=-np.inf) for x in given]
    np.testing.assert_array_equal(found["max"], np.stack(tops))
    firsts = [x[0] if len(x) else np.zeros(4) for x in given]
    np.testing.assert_array_equal(found["first"], np.stack(firsts))
    np.testing.assert_array_equal(found["lengths"], lengths)
    positions = [np.arange(length) for length in lengths]
    np.testing.assert_array_equal(found["positions"], np.concatenate(positions))


def test_everything_is_native() -> None:
    assert dict(layer.executable.explain().host_ops) == {}
    assert dict(pooled.executable.explain().host_ops) == {}


@pytest.mark.parametrize(
    ("offsets", "problem"),
    [
        ([1, 3, 7], "the first offset is not 0"),
        ([0, 5, 4, 7], "offset 2 is less than the one before it"),
        ([0, 3, 8], "the last offset is not the number of rows"),
        ([0, 3], "the last offset is not the number of rows"),
    ],
)
def test_bad_offsets(offsets: list[int], problem: str) -> None:
    values = np.zeros((7, 4), np.float32)
    with pytest.raises(OffsetsError) as caught:
        pooled(ash.Ragged(values, np.array(offsets)))
    assert str(caught.value) == (
        f"input 'x.offsets': {problem}\n"
        "fix: pass offsets that ascend from 0 to the number of rows, as ash.pack makes them"
    )


def test_inputs_with_one_axis_have_the_same_offsets() -> None:
    x = np.arange(5, dtype=np.float32)
    one, other = ash.Ragged(x, np.array([0, 2, 5])), ash.Ragged(x, np.array([0, 3, 5]))
    np.testing.assert_array_equal(both(one, (one,)), x * 2)
    with pytest.raises(OffsetsError, match=r"pair\.0\.offsets.*offset 1 is not that of the other"):
        both(one, (other,))


def test_an_axis_must_be_named() -> None:
    with pytest.raises(DimError, match="cannot be over itself"):
        ash.ragged("seq", over="seq")
    with pytest.raises(DimError, match="a ragged axis must be the first"):
        ash.f32[4, ash.ragged("seq", over="batch")]
    with pytest.raises(DimError, match="must be the name of an axis"):
        ash.ragged("seq", over="")


def test_packing() -> None:
    packed = ash.pack([np.ones((2, 3)), np.zeros((0, 3))])
    assert packed.values.shape == (2, 3)
    assert packed.offsets.tolist() == [0, 2, 2]
    with pytest.raises(InputError, match="no dtype"):
        ash.pack([])
    with pytest.raises(InputError, match="differ in their first size"):
        ash.pack([np.ones((2, 3)), np.ones((2, 4))])
