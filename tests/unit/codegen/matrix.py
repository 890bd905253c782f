"""Matrix products through lowering, packing and machine code, on guarded memory."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tests.unit.codegen.emit.harness import HOST, interpreted, run

import anyshape as ash
from anyshape.codegen.llvm.target import LlvmTarget
from anyshape.families.family import Lowered
from anyshape.families.lower import lower_region
from anyshape.ir import Graph
from anyshape.loop import Kernel, Multiply
from anyshape.loop.rewrite import For
from anyshape.lower.packing import pack
from anyshape.sym import Symbol

Arrays = Sequence[NDArray[Any]]
SIZES = [
    (1, 1, 1), (1, 64, 7), (6, 64, 16), (7, 65, 3), (13, 17, 31), (97, 63, 5), (101, 130, 1),
    (2, 1, 64), (5, 16, 0), (0, 5, 5), (5, 0, 5), (200, 48, 9),
]  # fmt: skip


@ash.jit
def plain(x: ash.f32["m", "k"], w: ash.f32["k", "n"]):
    return x @ w


@ash.jit
def plain64(x: ash.f64["m", "k"], w: ash.f64["k", "n"]):
    return x @ w


@ash.jit
def half(x: ash.f16["m", "k"], w: ash.f16["k", "n"]):
    return x @ w


@ash.jit
def brain(x: ash.bf16["m", "k"], w: ash.bf16["k", "n"]):
    return x @ w


@ash.jit
def transposed(x: ash.f32["k", "m"], w: ash.f32["k", "n"]):
    return x.mT @ w


@ash.jit
def weights_by_row(x: ash.f32["m", "k"], w: ash.f32["n", "k"]):
    return x @ w.mT


@ash.jit
def batched(x: ash.f32["b", "m", "k"], w: ash.f32["b", "k", "n"]):
    return x @ w


@ash.jit
def sequence(x: ash.f32["b", "m", "k"], w: ash.f32["k", "n"], bias: ash.f32["n"]):
    return x @ w + bias


@ash.jit
def with_gelu(x: ash.f32["m", "k"], w: ash.f32["k", "n"], bias: ash.f32["n"]):
    return ash.gelu(x @ w + bias)


@ash.jit
def with_residual(
    x: ash.f32["m", "k"], w: ash.f32["k", "n"], bias: ash.f32["n"], rest: ash.f32["m", "n"]
):
    return rest + 0.5 * (x @ w + bias)


@ash.jit
def with_cast(x: ash.f32["m", "k"], w: ash.f32["k", "n"]):
    return (x @ w).astype(ash.f16)


def lowered(
    function: Any,
    constants: Set[int] = frozenset(),
    target: LlvmTarget = HOST,
    *,
    far_weights: bool = False,
) -> Lowered:
    graph: Graph = function.graph
    tiling = replace(target.tiling, far_weights=far_weights)
    return lower_region(graph.body, graph.facts, constants, tiling)


def is_matrix_kernel(kernel: Kernel) -> bool:
    loops = [s for s in kernel.body if isinstance(s, For)]
    return any(isinstance(s, Multiply) for loop in loops for s in loop.body)


def arrays_of(function: Any, sizes: Mapping[str, int], seed: int = 0) -> list[NDArray[Any]]:
    rng = np.random.default_rng(seed)
    made: list[NDArray[Any]] = []
    for type_ in function.graph.body.params:
        shape = type_.resolve(sizes).shape
        made.append(rng.normal(size=tuple(map(int, shape))).astype(type_.dtype.numpy))
    return made


def computed(
    function: Any, arrays: Arrays, sizes: Mapping[str, int], *, constants: Set[int] = frozenset(),
    target: LlvmTarget = HOST, at_end: bool = True, interpret: bool = False, few_rows: bool = False,
    far_weights: bool = False,
) -> NDArray[Any]:  # fmt: skip
    """The result of the emitted kernel, or of its definition; or of the variant for few rows."""
    made = lowered(function, constants, target, far_weights=far_weights)
    kernel = made.others[0].kernel if few_rows else made.kernel
    binding = {Symbol(name): size for name, size in sizes.items()}
    type_ = function.graph.results[0].tensor
    shape = tuple(dim.evaluate(binding) for dim in type_.shape)
    out = np.full(shape, 77, type_.dtype.numpy)
    operands = [pack(a, made.packed[i]) if i in made.packed else a for i, a in enumerate(arrays)]
    flat = [np.ascontiguousarray(a).reshape(-1) for a in (*operands, out)]
    words = [dim.evaluate(binding) for dim in made.sizes]
    if interpret:
        return interpreted(kernel, flat, words)[-1].reshape(shape)
    return run(kernel, flat, words, target, at_end=at_end)[-1].reshape(shape)


def assert_product(found: NDArray[Any], x: NDArray[Any], w: NDArray[Any], slack: float = 2) -> None:
    """Within the error bound of a sum of products in the result's (or f32's) precision."""
    exact = x.astype(np.float64) @ w.astype(np.float64)
    scale = np.abs(x.astype(np.float64)) @ np.abs(w.astype(np.float64))
    sums = np.float64 if found.dtype == np.float64 else np.float32
    bound = (x.shape[-1] + slack) * np.finfo(sums).eps * scale
    if found.dtype.itemsize == 2:
        bound = bound + np.abs(exact) * (2.0**-8 if found.dtype.name == "bfloat16" else 2.0**-11)
        bound = bound + 2.0**-25
    assert (np.abs(found.astype(np.float64) - exact) <= bound).all()
