"""Philox, its distributions, and the order of effects."""

import numpy as np
import pytest

import anyshape.ops  # noqa: F401  fills the registry
from anyshape.base.errors import AttributeValueError
from anyshape.ir import Builder, evaluate, lookup, parse
from anyshape.ir.attrs import NO_ATTRS
from anyshape.ir.types import FLOATS, DType, u32
from anyshape.ops.random import philox

HEX = lambda words: [f"{word:08x}" for word in words]  # noqa: E731


@pytest.mark.parametrize(
    ("counter", "key", "words"),
    [
        # Known answers of the Random123 library (kat_vectors, philox4x32 10).
        (0, 0, ["6627e8d5", "e169c58d", "bc57ac4c", "9b00dbd8"]),
        (0xFFFFFFFF, 0xFFFFFFFF, ["408f276d", "41c83b0e", "a20bc7c6", "6d5451fd"]),
    ],
)
def test_known_answers(counter: int, key: int, words: list[str]) -> None:
    counters, keys = np.full((1, 4), counter, np.uint32), np.full(2, key, np.uint32)
    assert HEX(philox(counters, keys)[0]) == words


def test_the_known_answer_of_pi() -> None:
    counters = np.array([[0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344]], np.uint32)
    keys = np.array([0xA4093822, 0x299F31D0], np.uint32)
    assert HEX(philox(counters, keys)[0]) == ["d16cfe09", "94fdcceb", "5001e420", "24126ea1"]


def draw(op: str, key: int, shape: tuple[int, ...], **attrs: object) -> np.ndarray:
    b = Builder.at_entry()
    graph = b.graph("g", ["key"], [b.emit(op, b.param(u32[2]), shape=shape, **attrs)])
    return evaluate(graph, np.array([key, 7], np.uint32))[0]


def test_a_tile_of_a_draw_is_the_start_of_a_longer_one() -> None:
    long = draw("random_bits", 1, (1000,))
    assert (draw("random_bits", 1, (10, 13)).reshape(-1) == long[:130]).all()


def test_the_same_key_draws_the_same() -> None:
    assert (draw("random_bits", 3, (99,)) == draw("random_bits", 3, (99,))).all()
    assert (draw("random_bits", 3, (99,)) != draw("random_bits", 4, (99,))).any()


@pytest.mark.parametrize("stream", [-1, 1 << 32])
def test_a_stream_is_a_word(stream: int) -> None:
    with pytest.raises(AttributeValueError, match="'stream' must be a word of 32 bits"):
        draw("random_bits", 3, (9,), stream=stream)


def test_streams_are_independent() -> None:
    one, two = draw("random_bits", 3, (999,)), draw("random_bits", 3, (999,), stream=1)
    assert (one == two).sum() < 3


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_uniform_moments(dtype: DType) -> None:
    x = draw("random_uniform", 5, (100_000,), dtype=dtype).astype(np.float64)
    assert x.min() >= 0
    assert x.max() < 1
    assert abs(x.mean() - 0.5) < 0.005
    assert abs(x.var() - 1 / 12) < 0.002
    assert abs(np.corrcoef(x[:-1], x[1:])[0, 1]) < 0.01
    assert np.histogram(x, 8, (0, 1))[0].min() > 100_000 / 8 * 0.95


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_normal_moments(dtype: DType) -> None:
    x = draw("random_normal", 6, (100_000,), dtype=dtype).astype(np.float64)
    assert np.isfinite(x).all()
    assert abs(x.mean()) < 0.015
    assert abs(x.std() - 1) < 0.01
    assert abs((x**3).mean()) < 0.05
    assert abs((x**4).mean() - 3) < 0.15


def test_entropy_differs_from_run_to_run() -> None:
    b = Builder.at_entry()
    node = b.node(lookup("entropy"), [b.emit("token")], NO_ATTRS)
    graph = b.graph("g", [], [node.result(0)])
    keys = {tuple(evaluate(graph)[0]) for _ in range(5)}
    assert len(keys) == 5


def test_a_token_may_be_an_input_and_a_result() -> None:
    graph = parse(
        "graph g(t: token, x: f32[n]) -> (u32[2], token, f32[n]) {\n"
        "  %0, %1 = entropy(t)\n  return %0, %1, x\n}\n"
    )
    key, x = evaluate(graph, np.ones(3, np.float32))
    assert key.shape == (2,)
    assert x.tolist() == [1, 1, 1]
