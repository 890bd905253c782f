"""NaN and infinity in attention: what the decomposition says, wherever blocks end.

A hidden key has the weight 0, and 0 times NaN or infinity is NaN in every row; its score does not
matter where a mask replaces it, and stays NaN where a mask is added to it.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from tests.unit.codegen.emit.harness import HOST, TARGETS, run
from tests.unit.lower.attention_functions import binding, bool_mask, cache, causal, operands
from tests.unit.lower.test_attention_native import kernels, lowered, words
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

import anyshape as ash
from anyshape.codegen.llvm.target import LlvmTarget
from anyshape.ir import evaluate


@ash.jit
def narrow(q: ash.f16["b", 2, "s", 3], k: ash.f16["b", 2, "t", 3], v: ash.f16["b", 2, "t", 5]):
    return ash.attention(q, k, v, causal=True)


@ash.jit
def added(
    q: ash.f32["b", 2, "s", 3],
    k: ash.f32["b", 2, "t", 3],
    v: ash.f32["b", 2, "t", 5],
    mask: ash.f32[1, 1, "s", "t"],
):
    return ash.attention(q, k, v, mask, causal=True)


@ash.jit
def apart(q: ash.f32["b", 2, "s", 3], k: ash.f32["b", 2, "t", 3], v: ash.f32["b", 2, 5, "t"]):
    """Values whose columns are apart."""
    return ash.attention(q, k, ash.transpose(v, (0, 1, 3, 2)), causal=True)


FUNCTIONS: list[Any] = [causal, cache, bool_mask, narrow, added, apart]
SIZES = [(3, 70), (65, 64), (130, 197), (70, 3)]
SPECIAL = (np.nan, -np.inf)


def planted(arrays: list[Any], operand: int, axis: int) -> Iterator[list[Any]]:
    """The operands with one special value, in each class of positions along an axis."""
    size = arrays[operand].shape[axis]
    for position in sorted({0, size // 2, min(size - 1, 63), min(size - 1, 64), size - 1}):
        for number in SPECIAL:
            changed = arrays[operand].copy()
            place = [0, 0, 0, 0]
            place[axis], place[5 - axis] = position, changed.shape[5 - axis] - 1
            changed[tuple(place)] = number
            yield [*arrays[:operand], changed, *arrays[operand + 1 :]]


def check(function: Any, target: LlvmTarget, operand: int, axis: int) -> int:
    """Compares both forms with the definition; returns how many results were NaN."""
    compiled, count = lowered(function, target), 0
    for sizes in SIZES:
        bound = binding(1, *sizes)
        for arrays in planted(operands(function, bound), operand, axis):
            with np.errstate(all="ignore"):
                (expected,) = evaluate(function.graph, *arrays)
            count += int(np.isnan(expected).sum())
            for kernel in kernels(compiled):
                unset = np.zeros_like(expected)
                *_, y = run(kernel, [*arrays, unset], words(compiled, bound), target)
                tolerance = 2e-3 if expected.dtype == np.float16 else 2e-5
                np.testing.assert_allclose(y, expected, rtol=tolerance, atol=tolerance)
    return count


BEST, *LESSER = TARGETS.values()
CASES = [(BEST, function) for function in FUNCTIONS]
CASES += [(target, causal) for target in LESSER]


@pytest.mark.parametrize(
    ("target", "function"), CASES, ids=[f"{f.__name__}-{t.isa}" for t, f in CASES]
)
def test_values(target: LlvmTarget, function: Any) -> None:
    assert check(function, target, 2, 3 if function is apart else 2) > 0


@pytest.mark.parametrize("function", [causal, bool_mask, added], ids=lambda f: f.__name__)
def test_keys(function: Any) -> None:
    assert check(function, HOST, 1, 2) > 0


def test_masks() -> None:
    """All keys of a query at -inf, and NaN at keys that causality hides."""
    compiled = lowered(added, HOST)
    for s, t in SIZES:
        bound = binding(1, s, t)
        q, k, v, mask = operands(added, bound)
        mask[0, 0, 0], mask[0, 0, s // 2, t - 1], mask[0, 0, s - 1, 0] = -np.inf, np.nan, np.inf
        with np.errstate(all="ignore"):
            (expected,) = evaluate(added.graph, q, k, v, mask)
        for kernel in kernels(compiled):
            given = [q, k, v, mask, np.zeros_like(expected)]
            *_, y = run(kernel, given, words(compiled, bound))
            np.testing.assert_allclose(y, expected, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("length", [5, 64, 65, 130, 200])
def test_as_in_pytorch(length: int) -> None:
    """Its own definition of attention; not its fused kernels, which skip what is hidden."""
    bound = binding(1, length, length)
    for arrays in planted(operands(causal, bound), 2, 2):
        with sdpa_kernel(SDPBackend.MATH):
            expected = scaled_dot_product_attention(*map(torch.tensor, arrays), is_causal=True)
        np.testing.assert_allclose(causal(*arrays), expected, rtol=2e-5, atol=2e-5)


class Masked(torch.nn.Module):
    """Causality as a mask of positions, which the compiler takes for what it is."""

    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        position = torch.arange(q.shape[2])
        mask = position[None, :] <= position[:, None]
        return scaled_dot_product_attention(q, k, v, mask)


def test_causality_that_a_mask_says() -> None:
    first = [torch.tensor(array) for array in operands(causal, binding(1, 9, 9))]
    axes = dict.fromkeys("qkv", (None, None, "s", None))
    run_any = ash.compile(Masked(), tuple(first), axes=axes)
    for length in (9, 65, 200):
        q, k, v = operands(causal, binding(1, length, length))
        v[0, 1, length - 1, 2] = np.nan
        with sdpa_kernel(SDPBackend.MATH):
            expected = Masked()(*map(torch.tensor, (q, k, v)))
        found = run_any(*map(torch.tensor, (q, k, v)))
        np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-5)
