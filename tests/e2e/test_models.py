"""Whole functions against torch and NumPy, each traced once and run at many shapes."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from jaxtyping import Float32, Int64

import anyshape as ash
from anyshape.ir import parse, verify

Array = np.ndarray[Any, Any]


def floats(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def check_round_trip(function: Any) -> None:
    graph = verify(function.graph)
    assert parse(graph.as_text(), graph.weights) == graph


# --- attention ------------------------------------------------------------------------------------


@ash.jit
def attention(
    q: ash.f32["batch", "seq", 64], k: ash.f32["batch", "kv", 64], v: ash.f32["batch", "kv", 64]
):
    return ash.softmax(q @ k.mT / 8, axis=-1) @ v


@pytest.mark.parametrize(("batch", "seq", "kv"), [(1, 1, 1), (2, 5, 7), (0, 3, 2), (3, 0, 4)])
def test_attention(batch: int, seq: int, kv: int) -> None:
    q, k, v = (floats(batch, n, 64, seed=i) for i, n in enumerate((seq, kv, kv)))
    expected = F.scaled_dot_product_attention(*map(torch.from_numpy, (q, k, v)))
    np.testing.assert_allclose(attention(q, k, v), expected.numpy(), rtol=1e-4, atol=1e-5)


def test_attention_is_one_graph_with_named_axes() -> None:
    graph = attention.graph
    assert graph is attention.graph
    assert [axis.name for axis in graph.axes] == ["batch", "seq", "kv"]
    assert graph.inputs == ("q", "k", "v")
    assert str(graph.results[0].type) == "f32[batch, seq, 64]"
    check_round_trip(attention)


def test_conflicting_sizes_are_named() -> None:
    with pytest.raises(ash.errors.AxisConflictError) as caught:
        attention(floats(2, 3, 64), floats(4, 3, 64), floats(2, 3, 64))
    assert caught.value.axis == "batch"
    assert "input 'q' has 2 (axis 0), input 'k' has 4 (axis 0)" in str(caught.value)


# --- MLP with weights as constants ----------------------------------------------------------------


def test_mlp_with_torch_weights_as_constants() -> None:
    torch.manual_seed(0)
    first, second = torch.nn.Linear(16, 32), torch.nn.Linear(32, 4)

    @ash.jit
    def mlp(x: ash.f32["batch", 16]):
        hidden = ash.gelu(x @ first.weight.T.detach() + first.bias)
        return hidden @ second.weight.T.detach() + second.bias

    check_round_trip(mlp)
    assert len(mlp.graph.weights) == 2  # biases of a few elements are literals
    for batch in (1, 5, 0):
        x = floats(batch, 16)
        with torch.no_grad():
            expected = second(F.gelu(first(torch.from_numpy(x)))).numpy()
        np.testing.assert_allclose(mlp(x), expected, rtol=1e-4, atol=1e-5)


# --- transformer block with parameters in containers ----------------------------------------------


class Norm(NamedTuple):
    scale: ash.f32["width"]
    bias: ash.f32["width"]


@dataclass
class Block:
    attention_norm: Norm
    qkv: ash.f32["width", "3*width"]
    out: ash.f32["width", "width"]
    mlp_norm: Norm
    up: ash.f32["width", "hidden"]
    down: ash.f32["hidden", "width"]
    heads: int


@ash.jit(where="width % 4 == 0")
def block(x: ash.f32["batch", "seq", "width"], p: Block):
    def split_heads(t: Any) -> Any:
        return t.reshape("batch", "seq", p.heads, -1).swapaxes(1, 2)

    normal = ash.layer_norm(x, *p.attention_norm)
    q, k, v = (split_heads(part) for part in ash.split(normal @ p.qkv, 3, axis=-1))
    mixed = ash.attention(q, k, v, causal=True).swapaxes(1, 2).reshape(x.shape)
    x = x + mixed @ p.out
    return x + ash.gelu(ash.layer_norm(x, *p.mlp_norm) @ p.up) @ p.down


def block_parameters(width: int, hidden: int, heads: int) -> Block:
    norms = [Norm(floats(width, seed=i), floats(width, seed=i + 1)) for i in (10, 12)]
    shapes = [(width, 3 * width), (width, width), (width, hidden), (hidden, width)]
    qkv, out, up, down = (floats(*s, seed=i) / s[0] ** 0.5 for i, s in enumerate(shapes))
    return Block(norms[0], qkv, out, norms[1], up, down, heads)


def torch_block(x: Array, p: Block) -> Array:
    x_, qkv, out, up, down = map(torch.from_numpy, (x, p.qkv, p.out, p.up, p.down))
    norms = [tuple(map(torch.from_numpy, norm)) for norm in (p.attention_norm, p.mlp_norm)]
    width = x_.shape[-1]
    parts = (F.layer_norm(x_, (width,), *norms[0]) @ qkv).chunk(3, dim=-1)
    q, k, v = (t.unflatten(-1, (p.heads, -1)).transpose(1, 2) for t in parts)
    mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2)
    x_ = x_ + mixed @ out
    return (x_ + F.gelu(F.layer_norm(x_, (width,), *norms[1]) @ up) @ down).numpy()


@pytest.mark.parametrize(("batch", "seq", "width"), [(1, 1, 8), (2, 5, 16), (3, 4, 32)])
def test_transformer_block(batch: int, seq: int, width: int) -> None:
    parameters = block_parameters(width, 3 * width, heads=4)
    x = floats(batch, seq, width, seed=9)
    expected = torch_block(x, parameters)
    np.testing.assert_allclose(block(x, parameters), expected, rtol=1e-3, atol=1e-4)


def test_inputs_in_containers_have_paths_for_names() -> None:
    graph = block.trace(**{"p.heads": 4})
    assert graph.inputs[:3] == ("x", "p.attention_norm.scale", "p.attention_norm.bias")
    assert "`p.qkv`: f32[width, 3*width]" in graph.as_text()


# --- control flow ---------------------------------------------------------------------------------


@ash.jit
def early_exit(x: ash.f32["batch", 8], layers: ash.f32["depth", 8, 8]):
    """Applies layers until the state hardly changes, or none is left."""

    def unfinished(i: Any, x: Any, change: Any) -> Any:
        return (i < layers.shape[0]) & (change > 0.05)

    def step(i: Any, x: Any, change: Any) -> Any:
        new = ash.tanh(x @ layers[i])
        return i + 1, new, abs(new - x).max()

    return ash.while_loop(unfinished, step, 0, x, float("inf"))


@pytest.mark.parametrize(("batch", "depth"), [(1, 0), (2, 3), (4, 12)])
def test_early_exit(batch: int, depth: int) -> None:
    x, layers = floats(batch, 8), floats(depth, 8, 8, seed=1) * 0.1
    steps, found, _ = early_exit(x, layers)
    count, change = 0, np.inf
    while count < depth and change > 0.05:
        new = np.tanh(x @ layers[count])
        count, x, change = count + 1, new, np.abs(new - x).max()
    assert int(steps) == count
    np.testing.assert_allclose(found, x, rtol=1e-5, atol=1e-6)


def test_rnn_by_scan() -> None:
    torch.manual_seed(0)
    rnn = torch.nn.RNN(6, 5)
    w_in, w_state, b_in, b_state = (p.detach() for p in rnn.parameters())

    @ash.jit
    def run(xs: ash.f32["seq", "batch", 6], state: ash.f32["batch", 5]):
        def step(h: Any, x: Any) -> Any:
            h = ash.tanh(x @ w_in.T + b_in + h @ w_state.T + b_state)
            return h, h

        return ash.scan(step, state, xs)

    check_round_trip(run)
    for seq, batch in ((1, 1), (7, 3)):
        xs, state = floats(seq, batch, 6), floats(batch, 5, seed=1)
        with torch.no_grad():
            outputs, last = rnn(torch.from_numpy(xs), torch.from_numpy(state)[None])
        found_last, found = run(xs, state)
        np.testing.assert_allclose(found, outputs.numpy(), rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(found_last, last[0].numpy(), rtol=1e-4, atol=1e-5)


@ash.jit
def compact(x: ash.f32["tokens", 4], keep: ash.bool["tokens"], w: ash.f32[4, 4]):
    """Works only on the tokens that are kept: how many is known when it runs."""
    (rows,) = ash.nonzero(keep)
    return rows, ash.relu(x[rows] @ w)


@pytest.mark.parametrize("tokens", [0, 1, 9])
def test_late_axis(tokens: int) -> None:
    x, w, keep = floats(tokens, 4), floats(4, 4, seed=1), floats(tokens, seed=2) > 0
    rows, found = compact(x, keep, w)
    np.testing.assert_array_equal(rows, np.flatnonzero(keep))
    np.testing.assert_allclose(found, np.maximum(x[keep] @ w, 0), rtol=1e-5, atol=1e-6)
    check_round_trip(compact)


# --- annotations ----------------------------------------------------------------------------------


def test_jaxtyping_annotations() -> None:
    @ash.jit
    def embed(
        ids: Int64[np.ndarray, "batch seq"],
        table: Float32[np.ndarray, "_ 8"],
        bias: Float32[np.ndarray, "seq+1 8"],
        scale: Float32[np.ndarray, ""],
    ):
        return table[ids] * scale + bias[1:]

    ids, table, bias = np.array([[0, 2, -1]]), floats(5, 8), floats(4, 8, seed=1)
    np.testing.assert_allclose(embed(ids, table, bias, 2.0), table[ids] * 2 + bias[1:], rtol=1e-5)
    assert [axis.name for axis in embed.graph.axes] == ["batch", "seq"]
    assert str(embed.graph.results[0].type) == "f32[batch, seq, 8]"


def test_pytrees_in_and_out() -> None:
    @ash.jit
    def step(state: {"h": ash.f32["n"], "log": [ash.f32[()], ash.i64[()]]}, rest: (ash.f32["n"],)):
        total, count = state["log"]
        return {"h": state["h"] + rest[0], "log": [total + rest[0].sum(), count + 1], "none": None}

    state = {"h": floats(3), "log": [np.float32(1.0), 4]}
    state["log"][0] = 1.0
    found = step(state, (floats(3, seed=1),))
    assert step.graph.inputs == ("state.h", "state.log.0", "state.log.1", "rest.0")
    assert list(found) == ["h", "log", "none"]
    assert found["none"] is None
    assert int(found["log"][1]) == 5
    np.testing.assert_allclose(found["h"], floats(3) + floats(3, seed=1))


# --- facts ----------------------------------------------------------------------------------------


@ash.jit(
    axes=[ash.Axis("seq", min=3, max=512, multiple_of=1, likely=[128, 256])],
    where=["out_seq == seq - 2"],
)
def convolve(x: ash.f32["batch", "seq"], kernel: ash.f32[3], other: ash.f32["batch", "out_seq"]):
    windows = ash.stack([x[:, i : x.shape[1] - 2 + i] for i in range(3)], axis=-1)
    return windows @ kernel + other


def test_user_facts_join_differently_named_axes() -> None:
    x, kernel, other = floats(2, 10), floats(3, seed=1), floats(2, 8, seed=2)
    expected = np.stack([np.convolve(row, kernel[::-1], "valid") for row in x]) + other
    np.testing.assert_allclose(convolve(x, kernel, other), expected, rtol=1e-5, atol=1e-5)
    text = convolve.graph.as_text()
    assert "seq: 3..512 likely [128, 256]" in text
    assert "out_seq == seq - 2" in text
    assert "test_models.py" in text
    check_round_trip(convolve)


def test_a_broken_user_fact_is_named() -> None:
    with pytest.raises(ash.errors.ShapeError, match="out_seq"):
        convolve(floats(2, 10), floats(3), floats(2, 7))
