"""Generated matrix products against NumPy in f64, and against the definition of the loop IR."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from tests.unit.codegen import matrix
from tests.unit.codegen.emit.harness import TARGETS, at, buffer, each, kernel, put, run, values
from tests.unit.codegen.matrix import SIZES, arrays_of, assert_product, computed

from anyshape.codegen.llvm.compile import compile_object
from anyshape.codegen.llvm.emit import emit_kernel
from anyshape.codegen.llvm.target import NAMED_TARGETS, LlvmTarget
from anyshape.ir.types import f32
from anyshape.loop import Matrix, Multiply, Statement
from anyshape.sym import Dim, Symbol

PACKED, IN_PLACE = frozenset({1}), frozenset[int]()


@pytest.mark.parametrize("constants", [PACKED, IN_PLACE], ids=["packed", "in place"])
@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
@pytest.mark.parametrize("function", [matrix.plain, matrix.plain64, matrix.half, matrix.brain])
def test_sizes(function: Any, target: LlvmTarget, constants: frozenset[int]) -> None:
    for seed, (m, n, k) in enumerate(SIZES):
        sizes = {"m": m, "n": n, "k": k}
        x, w = arrays_of(function, sizes, seed)
        found = computed(
            function, (x, w), sizes, constants=constants, target=target, at_end=bool(seed % 2)
        )
        assert_product(found, x, w)


def test_random_sizes() -> None:
    rng = np.random.default_rng(1)
    for seed in range(60):
        m, n, k = (int(2 ** rng.uniform(0, 8.2)) for _ in range(3))
        sizes = {"m": m, "n": n, "k": k}
        x, w = arrays_of(matrix.plain, sizes, seed)
        constants = PACKED if seed % 2 else IN_PLACE
        found = computed(matrix.plain, (x, w), sizes, constants=constants, at_end=seed % 4 < 2)
        assert_product(found, x, w)


@pytest.mark.parametrize("constants", [PACKED, IN_PLACE], ids=["packed", "in place"])
def test_transposed_lhs(constants: frozenset[int]) -> None:
    sizes = {"m": 21, "n": 70, "k": 19}
    x, w = arrays_of(matrix.transposed, sizes)
    assert_product(computed(matrix.transposed, (x, w), sizes, constants=constants), x.T, w)


def test_packing_absorbs_a_transposition() -> None:
    sizes = {"m": 8, "n": 67, "k": 33}
    x, w = arrays_of(matrix.weights_by_row, sizes)
    assert_product(computed(matrix.weights_by_row, (x, w), sizes, constants=PACKED), x, w.T)


@pytest.mark.parametrize("constants", [PACKED, IN_PLACE], ids=["packed", "in place"])
def test_batches(constants: frozenset[int]) -> None:
    sizes = {"b": 3, "m": 14, "n": 66, "k": 9}
    x, w = arrays_of(matrix.batched, sizes)
    assert_product(computed(matrix.batched, (x, w), sizes, constants=constants), x, w)


def test_leading_axes_are_rows() -> None:
    sizes = {"b": 5, "m": 21, "n": 64, "k": 12}
    x, w, bias = arrays_of(matrix.sequence, sizes)
    bias[:] = 0
    assert_product(computed(matrix.sequence, (x, w, bias), sizes, constants=PACKED), x, w)


# --- epilogues ------------------------------------------------------------------------------------


def _gelu(x: Any) -> Any:
    return x * 0.5 * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


@pytest.mark.parametrize("depth", [0, 1, 40])
def test_gelu(depth: int) -> None:
    sizes = {"m": 15, "n": 71, "k": depth}
    x, w, bias = arrays_of(matrix.with_gelu, sizes)
    found = computed(matrix.with_gelu, (x, w, bias), sizes, constants=PACKED)
    expected = _gelu(x.astype(np.float64) @ w + bias)
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("constants", [PACKED, IN_PLACE], ids=["packed", "in place"])
def test_residual(constants: frozenset[int]) -> None:
    sizes = {"m": 100, "n": 65, "k": 30}
    arrays = arrays_of(matrix.with_residual, sizes)
    x, w, bias, rest = (a.astype(np.float64) for a in arrays)
    found = computed(matrix.with_residual, arrays, sizes, constants=constants)
    np.testing.assert_allclose(found, rest + 0.5 * (x @ w + bias), rtol=1e-5, atol=1e-5)


def test_cast() -> None:
    sizes = {"m": 9, "n": 130, "k": 20}
    x, w = arrays_of(matrix.with_cast, sizes)
    assert_product(computed(matrix.with_cast, (x, w), sizes, constants=PACKED), x, w)


# --- meaning --------------------------------------------------------------------------------------


@pytest.mark.parametrize("constants", [PACKED, IN_PLACE], ids=["packed", "in place"])
def test_special_values(constants: frozenset[int]) -> None:
    """A NaN or an infinity spreads as in a plain sum of products: zeros do not stop it."""
    sizes = {"m": 8, "n": 70, "k": 6}
    x, w = arrays_of(matrix.plain, sizes)
    x[1, 2], x[3, 0], w[4, 69], w[5, 3] = np.nan, np.inf, -np.inf, np.inf
    x[2, 4] = w[0, 5] = 0.0
    found = computed(matrix.plain, (x, w), sizes, constants=constants)
    with np.errstate(all="ignore"):
        expected = (x[:, :, None] * w).sum(axis=1)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("size", [(7, 66, 3), (1, 5, 4), (3, 64, 0), (98, 2, 2)])
@pytest.mark.parametrize("constants", [PACKED, IN_PLACE], ids=["packed", "in place"])
def test_code_does_what_the_kernel_says(
    size: tuple[int, int, int], constants: frozenset[int]
) -> None:
    sizes = dict(zip("mnk", size, strict=True))
    arrays = arrays_of(matrix.with_residual, sizes)
    found, defined = (
        computed(matrix.with_residual, arrays, sizes, constants=constants, interpret=interpret)
        for interpret in (False, True)
    )
    np.testing.assert_allclose(found, defined, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", sorted(NAMED_TARGETS))
def test_every_target_compiles(name: str) -> None:
    target = NAMED_TARGETS[name]
    kernel = matrix.lowered(matrix.with_gelu, PACKED, target).kernel
    assert compile_object(emit_kernel(kernel, target), target)


def test_tiles_of_several_widths_in_one_kernel() -> None:
    """Micro-kernels that differ only in how far rows of the tile are apart are not mixed up."""
    shape = [2, 5]
    x, w = buffer("x", f32, [2, 3]), buffer("w", f32, [3, 5])
    lhs, rhs = (Matrix.whole(b) for b in (x, w))
    tiles = [buffer(f"tile{columns}", f32, [2, columns]) for columns in (32, 64)]
    results = [buffer(f"y{columns}", f32, shape, written=True) for columns in (32, 64)]
    body: list[Statement] = []
    for tile, y in zip(tiles, results, strict=True):
        row = each(put(y, ["i", "j"], at(tile, "i", "j")), extent=5)
        body.append(Multiply(tile, lhs, rhs, *map(Dim.of, (2, 5, 3))))
        body.append(each(row, index=Symbol("i"), extent=2, vector=False))
    made = kernel([x, w, *results], *body, sizes=(), tasks=1, scratch=tuple(tiles))
    given = [values(f32, 6, special=False), values(f32, 15, special=False)]
    *_, first, second = run(made, [*given, *(np.zeros(10, np.float32) for _ in results)], [])
    expected = given[0].reshape(2, 3) @ given[1].reshape(3, 5)
    for found in (first, second):
        np.testing.assert_allclose(found.reshape(2, 5), expected, rtol=1e-5, atol=1e-5)
