"""Builds, compiles and runs kernels of the loop IR, and compares them with their definition."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tests.unit.codegen.emit.memory import guarded

import anyshape.ops  # registers the ops
from anyshape.base.options import Options
from anyshape.codegen.llvm.compile import Tuning, compile_object
from anyshape.codegen.llvm.emit import emit_kernel
from anyshape.codegen.llvm.target import LlvmTarget
from anyshape.execute.target import executable_isas, target_for
from anyshape.ir.types import DType
from anyshape.loop import Apply, Buffer, For, Kernel, Load, Scalar, Statement, Store
from anyshape.loop.interpret import run_kernel
from anyshape.loop.ir import workspace_bytes
from anyshape.loop.printer import row_major
from anyshape.runtime.code import Code, load_code
from anyshape.sym import Dim, DimLike, Symbol

assert anyshape.ops

HOST = target_for().llvm
TARGETS = {isa: target_for(Options(isa=isa)).llvm for isa in executable_isas()}
"""All that this machine executes."""
EXPLICIT = Tuning(loop_vectorize=False, slp_vectorize=False)
T, J = Symbol("t"), Symbol("j")
WORKERS = 3  # the last of them runs the kernels
SIZES = (0, 1, 7, 15, 16, 17, 67, 1000)


def buffer(
    name: str,
    dtype: DType,
    shape: Sequence[DimLike],
    *,
    strides: Sequence[DimLike] | None = None,
    written: bool = False,
) -> Buffer:
    dims = tuple(map(Dim.of, shape))
    steps = row_major(dims) if strides is None else tuple(map(Dim.of, strides))
    return Buffer(name, dtype, dims, steps, written)


def at(source: Buffer, *index: DimLike) -> Load:
    return Load(source, tuple(map(Dim.of, index)))


def put(target: Buffer, index: Sequence[DimLike], value: Scalar) -> Store:
    return Store(target, tuple(map(Dim.of, index)), value)


def op(name: str, *args: Scalar, dtype: DType | None = None) -> Apply:
    return Apply(name, args, dtype or args[-1].dtype)


def each(*body: Statement, index: Symbol = J, extent: DimLike = "n1", vector: bool = True) -> For:
    return For(index, Dim.of(extent), body, vector=vector)


def kernel(
    buffers: Sequence[Buffer],
    *body: Statement,
    sizes: Sequence[str] = ("n0", "n1"),
    tasks: DimLike = "n0",
    **more: Any,
) -> Kernel:
    return Kernel(tuple(buffers), tuple(map(Symbol, sizes)), T, Dim.of(tasks), tuple(body), **more)


@dataclass(frozen=True)
class Compiled:
    """A kernel that can be called with arrays and sizes."""

    kernel: Kernel
    code: Code
    function: Callable[..., None]

    def __call__(self, arrays: Sequence[NDArray[Any]], sizes: Sequence[int]) -> None:
        bound = dict(zip(self.kernel.sizes, sizes, strict=True))
        parts = [workspace_bytes(buffer).evaluate(bound) for buffer in self.kernel.workspaces]
        spaces = [guarded(np.zeros(WORKERS * part, np.uint8)) for part in parts]
        words = [*(array.ctypes.data for array in (*arrays, *spaces)), *sizes]
        block = (ctypes.c_int64 * len(words))(*words)
        tasks = self.kernel.tasks.evaluate(bound)
        self.function(block, 0, max(tasks, 0), WORKERS - 1)


_SIGNATURE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)


@cache
def compiled(kernel: Kernel, target: LlvmTarget = HOST) -> Compiled:
    code = load_code(compile_object(emit_kernel(kernel, target), target, EXPLICIT))
    return Compiled(kernel, code, _SIGNATURE(code.address("kernel")))


def run(
    kernel: Kernel,
    arrays: Sequence[NDArray[Any]],
    sizes: Sequence[int],
    target: LlvmTarget = HOST,
    *,
    at_end: bool = True,
) -> list[NDArray[Any]]:
    """All buffers after the kernel; each lies against a protected page."""
    copies = [guarded(array, at_end=at_end) for array in arrays]
    compiled(kernel, target)(copies, sizes)
    return copies


def interpreted(
    kernel: Kernel, arrays: Sequence[NDArray[Any]], sizes: Sequence[int]
) -> list[NDArray[Any]]:
    copies = [array.copy() for array in arrays]
    with np.errstate(all="ignore"):
        run_kernel(kernel, copies, sizes)
    return copies


def same_bits(found: NDArray[Any], expected: NDArray[Any]) -> bool:
    """Equal to the last bit, zeros with their signs; any NaN is like any other."""
    if found.dtype.kind not in "fV" and found.dtype.name != "bfloat16":
        return np.array_equal(found, expected)
    nan = np.isnan(expected)
    bits = f"u{found.dtype.itemsize}"
    return np.array_equal(np.isnan(found), nan) and np.array_equal(
        found.view(bits)[~nan], expected.view(bits)[~nan]
    )


def values(dtype: DType, count: int, seed: int = 0, *, special: bool = True) -> NDArray[Any]:
    """Numbers of moderate size, with a sprinkling of those that break things."""
    rng = np.random.default_rng(seed)
    if dtype.kind == "bool":
        return rng.integers(0, 2, count).astype(bool)
    if dtype.is_float:
        made = rng.normal(0, 3, count).astype(dtype.numpy)
        odd = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 1e-40, 3e38, 7.0, -7.0]
    else:
        low, high = (-100, 100) if dtype.kind == "int" else (0, 200)
        made = rng.integers(low, high, count).astype(dtype.numpy)
        limits = np.iinfo(dtype.numpy)
        odd = [limits.min, limits.max, 0, 1, 3, limits.min + 1 if low else 2]
        odd += [-1, -3] if low else []
    if special and count:
        places = rng.choice(count, max(1, count // 4))
        with np.errstate(all="ignore"):
            made[places] = rng.choice(np.array(odd, made.dtype), len(places))
    return made
