"""Dynamic models as people print them: typed as they stand, compiled once, run at several sizes."""

from typing import Any

import numpy as np
import pytest

import anyshape as ash

Array = Any
RNG = np.random.default_rng(0)
WIDTH, EXPERTS = 6, 12


def floats(*shape: int) -> Array:
    return RNG.standard_normal(shape).astype(np.float32)


# --- attention of three axes ----------------------------------------------------------------------


@ash.jit
def attention(
    q: ash.f16["batch", "seq", 64],
    k: ash.f16["batch", "seq", 64],
    v: ash.f16["batch", "seq", 64],
):
    return ash.attention(q, k, v)


@pytest.mark.parametrize("shape", [(0, 3), (2, 0), (1, 1), (3, 37)])
def test_attention_of_three_axes(shape: tuple[int, int]) -> None:
    q, k, v = (floats(*shape, 64).astype(np.float16) for _ in range(3))
    scores = q.astype(np.float64) @ k.astype(np.float64).swapaxes(1, 2) / 8
    weights = np.exp(scores - scores.max(axis=2, keepdims=True, initial=-np.inf))
    wanted = weights / weights.sum(axis=2, keepdims=True) @ v.astype(np.float64)
    np.testing.assert_allclose(attention(q, k, v), wanted, atol=2e-3)


# --- a mixture of experts, dispatched by a worklist -----------------------------------------------

ROUTER, WEIGHTS = floats(WIDTH, EXPERTS), floats(EXPERTS, WIDTH, WIDTH)


def router(tokens: Any) -> Any:
    return ash.softmax(tokens @ ROUTER)


experts = [lambda rows, weight=weight: ash.tanh(rows @ weight) for weight in WEIGHTS]


def build_worklist(top_k_experts: Any) -> Any:
    return [
        (expert_id, ash.nonzero(ash.any(top_k_experts.indices == expert_id, axis=1)))
        for expert_id in range(EXPERTS)
    ]


def gather_and_combine(results: Any, scores: Any) -> Any:
    out = ash.zeros((scores.shape[0], WIDTH))
    for expert_id, (token_indices, expert_output) in enumerate(results):
        out[token_indices] += expert_output * scores[token_indices][:, expert_id, None]
    return out


def moe_forward(tokens: Any, router: Any, experts: Any) -> Any:
    # Static: All expert kernels pre-compiled
    # Dynamic: Which experts to call per token

    scores = router(tokens)  # [batch, num_experts]
    top_k_experts = scores.topk(k=8, dim=-1)  # Dynamic selection

    # Build worklist: which tokens go to which experts
    worklist = build_worklist(top_k_experts)  # Runtime construction

    # Dispatch (can be parallel across experts)
    results = []
    for expert_id, token_indices in worklist:
        expert_tokens = tokens[token_indices]
        expert_output = experts[expert_id](expert_tokens)  # Static kernel
        results.append((token_indices, expert_output))

    return gather_and_combine(results, scores)


@ash.jit
def mixture(tokens: ash.f32["batch", 6]):
    return moe_forward(tokens, router, experts)


def expected_mixture(tokens: Array) -> Array:
    scores = np.exp(tokens @ ROUTER)
    scores /= scores.sum(axis=1, keepdims=True)
    least = np.sort(scores, axis=1)[:, EXPERTS - 8, None]
    weights = np.where(scores >= least, scores, 0)
    return np.einsum("te,etd->td", weights, np.tanh(tokens @ WEIGHTS))


@pytest.mark.parametrize("batch", [0, 1, 7, 40])
def test_a_mixture_of_experts_by_a_worklist(batch: int) -> None:
    tokens = floats(batch, WIDTH)
    np.testing.assert_allclose(mixture(tokens), expected_mixture(tokens), atol=1e-5)


# --- shapes that belong together ------------------------------------------------------------------


@ash.jit
def parts(x: ash.f32["rows", "2*half"], y: ash.f32["rows", 10]):
    left, right = ash.split(x, 2, axis=1)  # both of one shape
    return left + right, ash.concat([y, y], axis=1), x[:, 1:], x[:, : x.shape[1] - 1] * 2


@pytest.mark.parametrize(("rows", "half"), [(0, 1), (1, 1), (3, 5)])
def test_parts_of_one_shape(rows: int, half: int) -> None:
    x, y = floats(rows, 2 * half), floats(rows, 10)
    wanted = x[:, :half] + x[:, half:], np.concatenate([y, y], 1), x[:, 1:], x[:, :-1] * 2
    for ours, theirs in zip(parts(x, y), wanted, strict=True):
        np.testing.assert_allclose(ours, theirs)


# --- an early exit --------------------------------------------------------------------------------

LAYERS = floats(5, WIDTH, WIDTH)


@ash.jit
def early_exit(x: ash.f32["batch", 6], confident: ash.f32[()]):
    """Layers one after the other, until an element is large enough."""

    def goes_on(layer: Any, x: Any) -> Any:
        return ash.logical_and(layer < 5, ash.max(ash.abs(x)) < confident)

    def step(layer: Any, x: Any) -> Any:
        return layer + 1, ash.tanh(x @ ash.take(LAYERS, layer, axis=0)) * 2

    return ash.while_loop(goes_on, step, ash.asarray(0), x)


@pytest.mark.parametrize("batch", [1, 5])
@pytest.mark.parametrize("confident", [0.0, 1.9, 9.0])
def test_an_early_exit(batch: int, confident: float) -> None:
    x = wanted = floats(batch, WIDTH) / 8
    layer = 0
    while layer < 5 and np.abs(wanted).max() < confident:
        wanted, layer = np.tanh(wanted @ LAYERS[layer]) * 2, layer + 1
    stopped, found = early_exit(x, np.array(confident, np.float32))
    assert stopped == layer
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
