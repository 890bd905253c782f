"""Runs every kernel of a family with each buffer against a protected page: first behind the buffer,
then in front of it. An access outside faults at once and ends this process, hence it is one of its
own: `ANYSHAPE_ISA=avx2 python -m tests.guard.run dot`. Kernels are printed before they run. Tests
fork such processes from one that has imported this (tests/fork_server.py).
"""

from __future__ import annotations

import ctypes
import faulthandler
import functools
import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from tests.guard.dtypes import exact
from tests.guard.models import FAMILIES
from tests.unit.codegen.emit.memory import guarded
from tests.unit.plan.planning import scheduled

from anyshape.codegen.llvm.emit import safety
from anyshape.codegen.target import KERNEL, Setup
from anyshape.execute.target import target_for
from anyshape.ir.graph import Graph
from anyshape.ir.types import DType
from anyshape.loop import Buffer, Kernel
from anyshape.loop.ir import workspace_bytes
from anyshape.loop.printer import kernel_text
from anyshape.loop.verify import verify_kernel
from anyshape.lower.tiling import Tiling
from anyshape.passes import PASSES, run_passes
from anyshape.runtime.code import load_code, native_kernel
from anyshape.sym import Axis, Dim, Symbol

SIZES = (1, 7, 67, 131)
"""One; odd; beyond a register tile and a vector; beyond a block of rows."""

ROWS = (1, 5, 6, 7, 15, 16, 17, 23, 24, 25, 31, 95, 96, 97, 191, 192, 193, 383, 384, 385)
"""Around register tiles, squares, and blocks of all kinds; keys are held in blocks of 192."""

COLUMNS = (1, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 0)
"""Around vectors and panels of every instruction set."""

DEPTHS = (17, 16, 15, 33, 1, 0, 3)
DEEP = (1023, 1024, 1025, 2049)
"""Longer sums than of 1024 terms are made in blocks of 192."""

KEPT = 256
"""Arrays that are kept: buffers of many kernels are as long, and each gets a copy."""

_SIGNATURE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)

Binding = dict[Symbol, int]
Array = np.ndarray[Any, Any]


def bindings(axes: Sequence[Axis]) -> Iterator[Binding]:
    """Those that the axes allow."""
    for binding in _bindings([axis.symbol for axis in axes]):
        if all(axis.contains(binding[axis.symbol]) for axis in axes):
            yield binding


def _bindings(symbols: Sequence[Symbol]) -> Iterator[Binding]:
    """All alike, each one empty, and neighbours unlike each other; then sizes around tiles."""
    for size in SIZES:
        yield {symbol: min(size, 3) if str(symbol) == "z" else size for symbol in symbols}
    for empty in symbols:
        yield {symbol: 0 if symbol is empty else 7 for symbol in symbols}
    for turn in range(2):
        yield {symbol: (1, 37, 98, 5)[(turn + i) % 4] for i, symbol in enumerate(symbols)}
    names = {str(symbol) for symbol in symbols}
    if "m" in names or "s" in names:
        for turn, rows in enumerate(ROWS):
            sizes = {"m": rows, "n": COLUMNS[turn % len(COLUMNS)], "k": DEPTHS[turn % len(DEPTHS)]}
            sizes |= {"s": COLUMNS[turn % len(COLUMNS)], "t": rows}
            yield {symbol: sizes.get(str(symbol), 2) for symbol in symbols}
    if "k" in names:
        for depth in DEEP:
            yield {symbol: {"k": depth, "n": 17}.get(str(symbol), 7) for symbol in symbols}


def kernels_of(graph: Graph, tiling: Tiling) -> Iterator[tuple[Kernel, tuple[Dim, ...]]]:
    """Every variant of every step, with its sizes in terms of the graph's."""
    plan = scheduled(run_passes(graph, PASSES).graph, tiling)
    for step in plan.steps:
        for choice in step.variants:
            yield choice.variant.kernel, step.lowered.sizes


@functools.lru_cache(KEPT)
def content(dtype: DType, count: int) -> Array:
    """Any bits at all: as indices they are wild, as floats they include NaN and infinities."""
    rng = np.random.default_rng(count)
    if dtype.kind == "bool":
        return rng.integers(0, 2, count).astype(bool)
    return np.frombuffer(rng.bytes(count * dtype.itemsize), dtype.numpy)


@functools.lru_cache(KEPT)
def tame(dtype: DType, count: int) -> Array:
    """Numbers whose sums of products are exact in every dtype, or wrap as those of NumPy do."""
    return np.random.default_rng(count).integers(0, 2, count).astype(dtype.numpy)


def shape(buffer: Buffer, sizes: Binding) -> list[int]:
    return [dim.evaluate(sizes) for dim in buffer.shape]


def run(
    kernel: Kernel, function: Any, sizes: Sequence[int], *, at_end: bool, make: Any = content
) -> list[Array]:
    """The buffers after it. Scratch belongs to a second worker, or before it to the first."""
    bound, worker = dict(zip(kernel.sizes, sizes, strict=True)), int(at_end)
    arrays = [make(b.dtype, math.prod(shape(b, bound))) for b in kernel.buffers]
    for scratch in kernel.workspaces:
        before, own = workspace_bytes(scratch).evaluate(bound), scratch.bytes.evaluate(bound)
        arrays.append(np.zeros(before * worker + own, np.uint8))
    placed = [guarded(array, at_end=at_end) for array in arrays]
    words = [*(array.ctypes.data for array in placed), *sizes]
    block = (ctypes.c_int64 * len(words))(*words)
    function(block, 0, max(0, kernel.tasks.evaluate(bound)), worker)
    return placed


def entries_of(kernels: Sequence[Kernel]) -> list[Any]:
    """The kernels' functions: compiled, and then they keep their code, or the runtime's own."""
    made = [kernel for kernel in kernels if not kernel.native]
    codes = iter(target_for().generator(Setup(load_code)).code(made).codes)
    entries: list[Any] = []
    for kernel in kernels:
        code = None if kernel.native else next(codes)
        address = native_kernel(kernel.native) if code is None else code.address(KERNEL)
        entries.append(_SIGNATURE(address))
        entries[-1].code = code
    return entries


def compare(kernel: Kernel, entry: Any, sizes: Sequence[int], binding: Binding, order: str) -> None:
    """A product of tame numbers is that of NumPy."""
    x, y, found = run(kernel, entry, sizes, at_end=True, make=tame)[: len(kernel.buffers)]
    lhs, rhs, _ = order.replace("->", ",").split(",")
    sides = ((x, lhs), (y, rhs))
    x, y = (a.reshape([binding[Symbol(axis)] for axis in axes]) for a, axes in sides)
    np.testing.assert_array_equal(found, exact(order, x, y).ravel())


verified = functools.cache(verify_kernel)
"""Proofs are long, and the emitter asks for those of each kernel too: `main` lets it have these."""


def check(graphs: Sequence[Graph], order: str = "") -> int:
    """Proves all kernels of graphs, and runs them at all bindings; returns how many runs that were.

    No scratch is on the stack, where nothing protects what is next to it.
    """
    tiling = target_for().tiling
    cases = [(g, k, dims) for g in graphs for k, dims in kernels_of(g, tiling)]
    kernels = [replace(kernel, stack_bytes=-1) for _, kernel, _ in cases]
    runs = 0
    for (graph, _, dims), kernel, entry in zip(cases, kernels, entries_of(kernels), strict=True):
        print(f"# {graph.name}\n{kernel_text(kernel)}", flush=True)
        assert not verified(kernel), "an access is not proved to be in bounds"
        for binding in bindings(graph.facts.axes):
            sizes = [dim.evaluate(binding) for dim in dims]
            print(f"# sizes {sizes}", flush=True)
            for at_end in (True, False):
                run(kernel, entry, sizes, at_end=at_end)
                runs += 1
            if order:
                compare(kernel, entry, sizes, binding, order)
    return runs


def main() -> None:
    """Of a family, or of its graphs from the second argument on in steps of the third."""
    faulthandler.enable()
    safety.verify_kernel = verified
    family, (start, step) = sys.argv[1], map(int, sys.argv[2:] or (0, 1))
    graphs = FAMILIES[family]()
    runs = check(graphs[start::step], family.removeprefix("dot ") if "->" in family else "")
    print(f"{runs} runs")


if __name__ == "__main__":
    main()
