"""Matrix products that read and write views: other orders, slices, broadcasts and dtypes."""

from typing import Any

import numpy as np
import pytest
from tests.unit.codegen import matrix
from tests.unit.codegen.emit.harness import TARGETS
from tests.unit.codegen.matrix import (
    arrays_of,
    computed,
    is_matrix_kernel,
    lowered,
    weights_by_row,
)

import anyshape as ash
from anyshape.codegen.llvm.compile import compile_object
from anyshape.codegen.llvm.emit import emit_kernel
from anyshape.codegen.llvm.target import NAMED_TARGETS, LlvmTarget
from anyshape.execute import compile_graph
from anyshape.ir import evaluate

PACKED, IN_PLACE = frozenset({1}), frozenset[int]()


@ash.jit
def scores(q: ash.f32["b", "s", "h", "d"], k: ash.f32["b", "t", "h", "d"]):
    return ash.transpose(q, (0, 2, 1, 3)) @ ash.transpose(k, (0, 2, 3, 1)) * 0.125


@ash.jit
def heads_merged(p: ash.f32["b", "h", "s", "t"], v: ash.f32["b", "t", "h", "d"]):
    return ash.transpose(p @ ash.transpose(v, (0, 2, 1, 3)), (0, 2, 1, 3))


@ash.jit
def turned_result(x: ash.f32["s", "d"], w: ash.f32["d", "t"]):
    return (x @ w).mT


@ash.jit
def turned_batches(x: ash.f32["b", "s", "d"], w: ash.f32["t", "d"]):
    return ash.transpose(x @ w.mT, (2, 0, 1))


@ash.jit
def last_rows(x: ash.f32["s + 3", "d"], w: ash.f32["t", "d + 2"]):
    return x[3:] @ w[:, 2:].mT


@ash.jit
def every_other_row(x: ash.f32["2 * s", "d"], w: ash.f32["d", "t"]):
    return x[::2] @ w


@ash.jit
def same_weights(x: ash.f32["b", "h", "s", "d"], w: ash.f32["h", "d", "t"]):
    return x @ w


@ash.jit
def with_turned_residual(
    x: ash.f32["b", "s", "d"], w: ash.f32["d", "t"], r: ash.f32["s", "b", "t"]
):
    return x @ w + ash.transpose(r, (1, 0, 2))


@ash.jit
def own_residual(x: ash.f32["s", "d"], w: ash.f32["d", "d"]):
    return x @ w + x + x[0]


@ash.jit
def stored_in_half(x: ash.f16["s", "d"], w: ash.f16["t", "d"]):
    return x.astype(ash.f32) @ w.mT.astype(ash.f32)


@ash.jit
def half_rows(x: ash.bf16["s", "d"], w: ash.f32["d", "t"]):
    return x.astype(ash.f32) @ w


@ash.jit
def bytes_as_integers(x: ash.u8["s", "d"], w: ash.i8["d", "t"]):
    return x.astype(ash.i32) @ w.astype(ash.i32)


@ash.jit
def integers(x: ash.i32["s", "d"], w: ash.i32["t", "d"]):
    return x @ w.mT


@ash.jit
def long_integers(x: ash.i64["s", "d"], w: ash.i64["d", "t"]):
    return x @ w


@ash.jit
def short_integers(x: ash.i8["s", "d"], w: ash.i8["d", "t"]):
    return x @ w


@ash.jit
def by_a_vector(x: ash.f32["b", "s", "d"], v: ash.f32["d"]):
    return x @ v + 1


@ash.jit
def one_row(x: ash.f32["d"], w: ash.f32["t", "d"]):
    return w @ x


@ash.jit
def halves_by_a_vector(x: ash.bf16["s", "d"], v: ash.bf16["d"]):
    return x @ v


FLOATS = [
    by_a_vector, one_row, halves_by_a_vector, scores, heads_merged, turned_result, turned_batches,
    last_rows, every_other_row, same_weights, with_turned_residual, own_residual, stored_in_half,
    half_rows,
]  # fmt: skip
INTEGERS = [bytes_as_integers, integers, long_integers, short_integers]
SIZES = [
    {"b": 2, "s": 7, "h": 3, "d": 5, "t": 9},
    {"b": 1, "s": 98, "h": 1, "d": 33, "t": 66},
    {"b": 3, "s": 1, "h": 2, "d": 16, "t": 64},
    {"b": 2, "s": 13, "h": 2, "d": 1, "t": 17},
    {"b": 2, "s": 5, "h": 2, "d": 0, "t": 3},
    {"b": 0, "s": 5, "h": 2, "d": 4, "t": 3},
    {"b": 2, "s": 6, "h": 2, "d": 40, "t": 0},
]


def operands(function: Any, sizes: dict[str, int], seed: int) -> list[Any]:
    arrays = arrays_of(function, sizes, seed)
    for number, type_ in enumerate(function.graph.body.params):
        if type_.dtype.is_integer:
            low = 0 if type_.dtype.kind == "uint" else -100
            made = np.random.default_rng(seed + number).integers(low, 100, arrays[number].shape)
            arrays[number] = made.astype(type_.dtype.numpy)
    return arrays


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
@pytest.mark.parametrize("function", [*FLOATS, *INTEGERS], ids=lambda f: f.graph.name)
def test_values(function: Any, target: LlvmTarget) -> None:
    for seed, sizes in enumerate(SIZES):
        arrays = operands(function, sizes, seed)
        (expected,) = evaluate(function.graph, *arrays)
        constants = PACKED if seed % 2 else IN_PLACE
        found = computed(
            function, arrays, sizes, constants=constants, target=target, at_end=seed % 4 < 2
        )
        if function in INTEGERS:
            np.testing.assert_array_equal(found, expected)
        else:
            near = 2.0**-8 if found.dtype.itemsize == 2 else 1e-4
            np.testing.assert_allclose(
                found.astype(np.float64), expected.astype(np.float64), rtol=near, atol=near
            )


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
@pytest.mark.parametrize(
    "function", [scores, last_rows, integers, stored_in_half], ids=lambda f: f.graph.name
)
def test_the_variant_for_few_rows(function: Any, target: LlvmTarget) -> None:
    for seed, sizes in enumerate(SIZES):
        arrays = operands(function, sizes, seed)
        (expected,) = evaluate(function.graph, *arrays)
        found = computed(
            function, arrays, sizes, target=target, at_end=bool(seed % 2), few_rows=True
        )
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_level_2_takes_the_variant_that_suits_the_rows() -> None:
    executable = compile_graph(weights_by_row.graph)
    steps = [executable.specialize(m=rows, n=512, k=768).cost().steps[-1] for rows in (1, 64)]
    chosen = [next(v.name for v in step.variants if v.chosen) for step in steps]
    assert chosen == ["sums", "panels"]


@pytest.mark.parametrize("function", [*FLOATS, *INTEGERS], ids=lambda f: f.graph.name)
def test_they_are_matrix_products(function: Any) -> None:
    assert is_matrix_kernel(lowered(function, IN_PLACE).kernel)


@pytest.mark.parametrize(
    "function", [scores, heads_merged, turned_batches, stored_in_half, bytes_as_integers],
    ids=lambda f: f.graph.name,
)  # fmt: skip
def test_code_does_what_the_kernel_says(function: Any) -> None:
    sizes = {"b": 2, "s": 8, "h": 2, "d": 6, "t": 5}
    arrays = operands(function, sizes, 0)
    found, defined = (
        computed(function, arrays, sizes, interpret=interpret) for interpret in (False, True)
    )
    np.testing.assert_allclose(found, defined, rtol=1e-5, atol=1e-5)


def test_numbers_beyond_the_columns_do_not_matter() -> None:
    """A copied panel has room for more columns than there are: they are multiplied, not stored."""
    sizes = {"b": 1, "s": 3, "h": 1, "d": 2, "t": 5}
    q, k = arrays_of(scores, sizes)
    q[0, 1, 0, 0], k[0, 2, 0, 1] = np.inf, np.nan
    with np.errstate(all="ignore"):
        (expected,) = evaluate(scores.graph, q, k)
    np.testing.assert_allclose(computed(scores, (q, k), sizes), expected, rtol=1e-5, atol=1e-6)


def test_weights_by_row_in_other_dtypes() -> None:
    sizes = {"m": 9, "n": 70, "k": 37}
    x, w = arrays_of(matrix.weights_by_row, sizes)
    matrix.assert_product(computed(matrix.weights_by_row, (x, w), sizes), x, w.T)


@pytest.mark.parametrize("name", sorted(NAMED_TARGETS))
def test_every_target_compiles(name: str) -> None:
    target = NAMED_TARGETS[name]
    found = lowered(stored_in_half, IN_PLACE, target)
    for kernel in (found.kernel, found.others[0].kernel):
        assert compile_object(emit_kernel(kernel, target), target)
