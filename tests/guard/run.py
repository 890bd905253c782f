"""Runs every kernel of a family with each buffer against a protected page: first behind the buffer,
then in front of it. An access outside faults at once and ends this process, hence it is one of its
own: `ANYSHAPE_ISA=avx2 python -m tests.guard.run dot`. Kernels are printed before they run.
"""

from __future__ import annotations

import ctypes
import faulthandler
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from tests.guard.models import FAMILIES
from tests.unit.codegen.emit.memory import guarded

from anyshape.codegen.compiler import Compiler
from anyshape.codegen.llvm.emitting import KERNEL
from anyshape.execute import PASSES
from anyshape.execute.library import loaded_code
from anyshape.execute.target import target_for
from anyshape.ir.graph import Graph
from anyshape.ir.types import DType
from anyshape.loop import Buffer, Kernel
from anyshape.loop.ir import workspace_bytes
from anyshape.loop.printer import kernel_text
from anyshape.lower.tiling import Tiling
from anyshape.passes import run_passes
from anyshape.plan.schedule import schedule
from anyshape.runtime.code import native_kernel
from anyshape.sym import Dim, Symbol

SIZES = (1, 7, 67, 131)
"""One; odd; beyond a register tile and a vector; beyond a block of rows."""

WORKERS = 2
TARGET = target_for()
_SIGNATURE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)

Binding = dict[Symbol, int]


def bindings(symbols: Sequence[Symbol]) -> Iterator[Binding]:
    """All alike, each one empty, and neighbours unlike each other."""
    for size in SIZES:
        yield dict.fromkeys(symbols, size)
    for empty in symbols:
        yield {symbol: 0 if symbol is empty else 7 for symbol in symbols}
    for turn in range(2):
        yield {symbol: (1, 37, 98, 5)[(turn + i) % 4] for i, symbol in enumerate(symbols)}


def kernels_of(graph: Graph, tiling: Tiling) -> Iterator[tuple[Kernel, tuple[Dim, ...]]]:
    """Every variant of every step, with its sizes in terms of the graph's."""
    plan = schedule(run_passes(graph, PASSES).graph, tiling)
    for step in plan.steps:
        for choice in step.choices:
            yield choice.variant.kernel, step.lowered.sizes


def content(dtype: DType, count: int) -> np.ndarray[Any, Any]:
    """Any bits at all: as indices they are wild, as floats they include NaN and infinities."""
    rng = np.random.default_rng(count)
    if dtype.kind == "bool":
        return rng.integers(0, 2, count).astype(bool)
    return np.frombuffer(rng.bytes(count * dtype.itemsize), dtype.numpy)


def elements(buffer: Buffer, sizes: Binding) -> int:
    return int(np.prod([dim.evaluate(sizes) for dim in buffer.shape], dtype=np.int64))


def run(kernel: Kernel, function: Any, sizes: Sequence[int], *, at_end: bool) -> None:
    bound = dict(zip(kernel.sizes, sizes, strict=True))
    arrays = [content(buffer.dtype, elements(buffer, bound)) for buffer in kernel.buffers]
    parts = [workspace_bytes(buffer).evaluate(bound) for buffer in kernel.workspaces]
    arrays += [np.zeros(WORKERS * part, np.uint8) for part in parts]
    placed = [guarded(array, at_end=at_end) for array in arrays]
    words = [*(array.ctypes.data for array in placed), *sizes]
    block = (ctypes.c_int64 * len(words))(*words)
    function(block, 0, max(0, kernel.tasks.evaluate(bound)), WORKERS - 1)


def entry_of(kernel: Kernel) -> Any:
    """A kernel's function: compiled, and then it keeps its code, or the runtime's own."""
    if kernel.native:
        return _SIGNATURE(native_kernel(kernel.native))
    (code,) = loaded_code(Compiler(TARGET), [kernel]).codes
    entry = _SIGNATURE(code.address(KERNEL))
    entry.code = code
    return entry


def check(graph: Graph) -> int:
    """Runs all kernels of a graph at all bindings; returns how many runs that were."""
    runs = 0
    symbols = [axis.symbol for axis in graph.facts.axes]
    for kernel, dims in kernels_of(graph, TARGET.tiling):
        print(f"# {graph.name}\n{kernel_text(kernel)}", flush=True)
        entry = entry_of(kernel)
        for binding in bindings(symbols):
            sizes = [dim.evaluate(binding) for dim in dims]
            print(f"# sizes {sizes}", flush=True)
            for at_end in (True, False):
                run(kernel, entry, sizes, at_end=at_end)
                runs += 1
    return runs


def main() -> None:
    faulthandler.enable()
    runs = sum(check(graph) for graph in FAMILIES[sys.argv[1]]())
    print(f"{runs} runs")


if __name__ == "__main__":
    main()
