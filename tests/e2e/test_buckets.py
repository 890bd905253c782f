"""Axes with buckets: calls are padded and cut back, and nothing else tells that they were."""

from typing import Any

import numpy as np
import pytest
import torch
from tests.errors.messages import message_of

import anyshape as ash
from anyshape.base.errors import AxisDeclarationError
from anyshape.execute.padding_executor import PaddingExecutor

SEQ = ash.Axis("seq", min=1, max=512, buckets=[16, 64, 512])


@ash.jit(axes=[SEQ])
def pooled(x: ash.f32["batch", "seq", 8], w: ash.f32[8, 8]) -> Any:
    h = ash.softmax(x @ w, axis=1)
    return h, (h * x).sum(1), x.mean((0, 1)), x[:, -1]


def with_worst_padding(executable: ash.Executable) -> PaddingExecutor:
    """Padding of NaN: one that gets anywhere is seen."""
    executor = executable.executor
    assert isinstance(executor, PaddingExecutor)
    executor.allocate = lambda sizes, dtype: np.full(
        sizes, np.nan if dtype.kind == "f" else np.iinfo(dtype).min, dtype
    )
    return executor


@pytest.mark.parametrize("seq", [1, 5, 15, 16, 17, 100])
@pytest.mark.parametrize("batch", [0, 1, 3])
def test_results_are_those_of_the_call(batch: int, seq: int) -> None:
    with_worst_padding(pooled.executable)
    rng = np.random.default_rng(seq)
    x = rng.standard_normal((batch, 8, seq), np.float32).transpose(0, 2, 1)
    w = rng.standard_normal((8, 8), np.float32)
    if not batch:
        assert [each.shape for each in pooled(x, w)] == [(0, seq, 8), (0, 8), (8,), (0, 8)]
        return
    power = np.exp(x @ w)
    h = power / power.sum(1, keepdims=True)
    wanted = h, (h * x).sum(1), x.mean((0, 1)), x[:, -1]
    for found, want in zip(pooled(x, w), wanted, strict=True):
        assert found.flags.c_contiguous
        np.testing.assert_allclose(found, want, 2e-5, 2e-6)


def test_waste_is_counted() -> None:
    @ash.jit(axes=[ash.Axis("n", buckets=[8, 32], max_padding=10)])
    def total(x: ash.f32["n"]) -> Any:
        return x.sum()

    assert total.executable.metrics().padding_waste == 0
    for size in (6, 8, 20, 32, 0):  # 20 is too far from 32, and stays what it is
        assert total(np.ones(size, np.float32)) == size
    metrics = total.executable.metrics()
    assert (metrics.valid_elements, metrics.padded_elements) == (66, 68)
    assert metrics.padding_waste == 2 / 68
    assert "anyshape_padded_elements_total 68" in metrics.as_prometheus()


def test_the_program_sees_buckets_and_callers_do_not() -> None:
    executable = pooled.executable
    executable.trim()
    pooled(np.ones((2, 9, 8), np.float32), np.eye(8, dtype=np.float32))
    assert executable.observed() == {"batch": (2,), "seq": (9,)}
    assert [axis.name for axis in executable.axes] == ["batch", "seq"]
    found = executable.specialize(batch=2, seq=9)
    assert found.binding == {"batch": 2, "seq": 16, "seq.valid": 9}
    text = str(executable.explain())
    assert "masks" in text
    assert "each element for itself, no mask is needed" in text


def test_sizes_are_refused_in_the_words_of_the_model() -> None:
    w = np.eye(8, dtype=np.float32)
    with pytest.raises(ash.errors.AxisRangeError, match="axis 'seq'"):
        pooled(np.ones((2, 513, 8), np.float32), w)
    with pytest.raises(ash.errors.DTypeError, match="'x'"):
        pooled(np.ones((2, 9, 8), np.float64), w)


@pytest.mark.parametrize("recompile", [False, True])
def test_it_is_saved_and_loaded(tmp_path: Any, recompile: bool) -> None:
    pooled.executable.save(tmp_path / "pooled")
    loaded = ash.load(tmp_path / "pooled", recompile=recompile)
    with_worst_padding(loaded if recompile else loaded.executable)
    rng = np.random.default_rng(0)
    w = rng.standard_normal((8, 8), np.float32)
    for seq in (1, 15, 17, 100, 512):
        x = rng.standard_normal((2, seq, 8), np.float32)
        for result, expected in zip(loaded(x, w), pooled(x, w), strict=True):
            np.testing.assert_array_equal(result, expected)
    assert loaded.metrics().padded_elements > loaded.metrics().valid_elements > 0
    with pytest.raises(ash.errors.AxisRangeError, match="axis 'seq'"):
        loaded(np.ones((2, 513, 8), np.float32), w)


def test_a_padded_graph_that_computes_sizes_is_saved(tmp_path: Any) -> None:
    @ash.jit(axes=[SEQ])
    def positive(x: ash.f32["seq"]) -> Any:
        return ash.nonzero(x > 0), x.sum()

    executable = ash.compile(positive)
    executable.save(tmp_path / "positive")
    loaded = ash.load(tmp_path / "positive")
    for seq in (1, 20, 70):
        x = np.random.default_rng(seq).standard_normal(seq, np.float32)
        found, total = loaded(x)
        np.testing.assert_array_equal(np.sort(found.ravel()), np.flatnonzero(x > 0))
        np.testing.assert_allclose(total, x.sum(), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("n", [0, 1, 7, 8, 9])
def test_sizes_that_the_graph_computes_beside_padded_ones(n: int) -> None:
    """How long these results are, callers cannot tell from the sizes of their arrays."""

    @ash.jit(axes=[ash.Axis("n", buckets=[8, 16])])
    def found(x: ash.f32["n"]) -> Any:
        places = ash.nonzero(x > 0)[0]
        others = ash.arange(places.shape[0], 2 * x.shape[0], 1, ash.i64)
        return ash.concat([places, x.astype(ash.i64)], axis=0), others

    with_worst_padding(found.executable)
    x = np.random.default_rng(n).standard_normal(n).astype(np.float32) * 9
    places = np.flatnonzero(x > 0)
    joined, others = found(x)
    assert np.array_equal(joined, np.concatenate([places, x.astype(np.int64)]))
    assert np.array_equal(others, np.arange(len(places), 2 * n))


def test_results_are_written_where_the_caller_says() -> None:
    x, w = np.ones((2, 9, 8), np.float32), np.eye(8, dtype=np.float32)
    out = [np.empty((2, 9, 8), np.float32), None, None, np.empty((2, 8), np.float32)]
    results = pooled.executable.run((x, w), out=out)
    assert results[0] is out[0]
    np.testing.assert_allclose(out[0], 1 / 9, 1e-5)
    np.testing.assert_array_equal(out[3], 1)


class Encoder(torch.nn.Module):
    """Tokens to one vector: an embedding, attention over all of them, a norm, and a mean."""

    def __init__(self) -> None:
        super().__init__()
        self.table = torch.nn.Embedding(50, 16)
        self.qkv = torch.nn.Linear(16, 48)
        self.norm = torch.nn.LayerNorm(16)
        self.conv = torch.nn.Conv1d(16, 16, 3, padding=1)

    def forward(self, tokens: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        x = self.table(tokens)
        q, k, v = (part.unflatten(2, (2, 8)).transpose(1, 2) for part in self.qkv(x).chunk(3, -1))
        seen = torch.nn.functional.scaled_dot_product_attention(q, k, v)
        x = self.norm(x + seen.transpose(1, 2).flatten(2))
        y = self.conv(x.transpose(1, 2)).relu()
        return x, y.amax(2) + x.mean(1) + x[:, -1]


@pytest.fixture(scope="module")
def encoder() -> tuple[Encoder, Any]:
    torch.manual_seed(0)
    model = Encoder().eval()
    seq = ash.Axis("seq", min=2, max=256, buckets="pow2")
    tokens = torch.randint(0, 50, (2, 11))
    return model, ash.compile(model, (tokens,), axes={"tokens": (ash.Axis("batch", min=2), seq)})


@pytest.mark.parametrize("seq", [2, 3, 16, 33, 100])
def test_an_encoder_is_what_torch_computes(encoder: tuple[Encoder, Any], seq: int) -> None:
    model, compiled = encoder
    tokens = torch.randint(0, 50, (3, seq))
    with torch.no_grad():
        wanted = model(tokens)
    with_worst_padding(compiled.executable)
    found = compiled(tokens)
    for left, right in zip(found, wanted, strict=True):
        assert isinstance(left, torch.Tensor)
        torch.testing.assert_close(left, right, rtol=2e-5, atol=2e-5)


def test_an_index_out_of_range_is_where_the_caller_put_it(encoder: tuple[Encoder, Any]) -> None:
    _, compiled = encoder
    tokens = torch.randint(0, 50, (3, 21))
    tokens[2, 5] = 50
    with pytest.raises(ash.errors.IndexRangeError, match=r"\[2, 5\]"):
        compiled(tokens)


# --- sizes that are derived -----------------------------------------------------------------------


@ash.jit(axes=[ash.Axis("n", min=1, max=64, buckets=[8, 64])])
def derived(x: ash.f32["2*n"], y: ash.f32["n + 3", 4]) -> Any:
    return ash.softmax(x, axis=0), y.max(axis=0), y.mean(axis=0), x.reshape(-1, 2).mean(axis=0)


@pytest.mark.parametrize("n", [1, 2, 7, 8, 9, 33, 63, 64])
def test_an_axis_that_inputs_have_in_expressions_only(n: int) -> None:
    executor = with_worst_padding(derived.executable)
    rng = np.random.default_rng(n)
    x, y = rng.normal(size=2 * n).astype("f4"), rng.normal(size=(n + 3, 4)).astype("f4")
    weights = np.exp(x - x.max())
    expected = weights / weights.sum(), y.max(0), y.mean(0), x.reshape(-1, 2).mean(0)
    before = executor.metrics().padded_elements
    for result, value in zip(derived(x, y), expected, strict=True):
        np.testing.assert_allclose(result, value, rtol=1e-4, atol=1e-5)
    padded = 8 if n <= 8 else 64
    assert executor.metrics().padded_elements - before == 2 * padded + 4 * (padded + 3)


def test_an_axis_that_no_size_grows_with() -> None:
    @ash.jit(axes=[ash.Axis("n", min=1, max=64, buckets=[8, 64])])
    def rest(x: ash.f32["100 - n"]) -> Any:
        return ash.softmax(x, axis=0)

    assert message_of(AxisDeclarationError, lambda: ash.compile(rest)) == (
        "axis 'n' has buckets, but no size of an input of 'rest' grows with it\n"
        "fix: drop the buckets, or give an input the axis 'n'"
    )
