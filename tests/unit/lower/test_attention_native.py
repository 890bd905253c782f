"""The kernels of attention as machine code, each buffer against a protected page."""

from typing import Any

import numpy as np
import pytest
from tests.unit.codegen.emit.harness import HOST, TARGETS, run
from tests.unit.lower.attention_functions import (
    FUNCTIONS,
    Binding,
    bias,
    binding,
    bool_mask,
    cache,
    capped,
    doubles,
    halves,
    operands,
    plain,
    two_masks,
    unseen,
    window,
    window_of_the_past,
)

from anyshape.codegen.llvm.target import LlvmTarget
from anyshape.families.family import Lowered
from anyshape.families.lower import lower_region
from anyshape.ir import evaluate
from anyshape.loop import Kernel

SIZES = [(1, 1, 1), (1, 3, 5), (2, 8, 0), (0, 4, 4), (1, 67, 65), (1, 16, 200), (1, 2, 515)]


BEST, *LESSER = TARGETS.values()
SCORED = (capped, unseen, two_masks, window, window_of_the_past)
CASES = [(BEST, function) for function in FUNCTIONS]
CASES += [(t, f) for t in LESSER for f in (plain, bool_mask, cache, doubles, halves, *SCORED)]


def lowered(function: Any, target: LlvmTarget) -> Lowered:
    return lower_region(function.graph.body, function.graph.facts, frozenset(), target.tiling)


def kernels(found: Lowered) -> list[Kernel]:
    both = [found.kernel, *(variant.kernel for variant in found.others)]
    assert len(both) == 2
    return both


def words(found: Lowered, sizes: Binding) -> list[int]:
    symbols = {s: sizes[s.name] for dim in found.sizes for s in dim.symbols}
    return [dim.evaluate(symbols) for dim in found.sizes]


@pytest.mark.parametrize(
    ("target", "function"), CASES, ids=[f"{f.__name__}-{t.isa}" for t, f in CASES]
)
def test_both_forms_agree_with_the_decomposition(target: LlvmTarget, function: Any) -> None:
    found = lowered(function, target)
    for sizes in SIZES:
        bound = binding(*sizes)
        arrays = operands(function, bound)
        (expected,) = evaluate(function.graph, *arrays)
        unset = np.full_like(expected, np.nan)
        tolerance = 2e-3 if expected.dtype == np.float16 else 2e-5
        for kernel in kernels(found):
            for at_end in (True, False):
                given = [*arrays, unset]
                *_, y = run(kernel, given, words(found, bound), target, at_end=at_end)
                np.testing.assert_allclose(y, expected, rtol=tolerance, atol=tolerance)


def test_special_values() -> None:
    """NaN, infinities and -inf in a mask do what they do in the decomposition."""
    bound = binding(1, 21, 201)
    arrays = operands(bias, bound)
    q, k, v, mask = arrays
    q[0, 0, 2, 1], q[0, 1, 5, 0] = np.nan, np.inf
    k[0, 1, 199, 0] = -np.inf
    v[0, 0, 7, 2], v[0, 0, 3, 3] = np.nan, np.inf
    mask[0, 4], mask[1, 9, :200], mask[0, 8, 3] = -np.inf, -np.inf, np.inf
    with np.errstate(all="ignore"):
        (expected,) = evaluate(bias.graph, *arrays)
    assert 0 < np.isnan(expected).sum() < expected.size
    found = lowered(bias, HOST)
    for kernel in kernels(found):
        *_, y = run(kernel, [*arrays, np.zeros_like(expected)], words(found, bound))
        np.testing.assert_allclose(y, expected, rtol=2e-5, atol=2e-5)
