"""Error and speed of the generated vector math, beside NumPy and torch on one thread.

    python -m benchmarks.vector_math                     # the table
    python -m benchmarks.vector_math exp --exhaustive    # exp of every f32 there is, in minutes

ULP is the largest error found; the times are nanoseconds an element, the best of many runs over
32768 elements (in the second-level cache), for vectors of 4, 8 and 16 lanes.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from tests.unit.codegen.math.harness import compiled
from tests.unit.codegen.math.reference import F32, F64, worst
from tests.unit.codegen.math.samples import arguments, power_arguments

from anyshape.codegen.llvm.math import FUNCTIONS, arity

ELEMENTS = 1 << 15
LANES = (4, 8, 16)
# Where arguments are drawn from when time is taken: as they occur in models.
RANGES = {
    "cos": (-10, 10),
    "erf": (-3, 3),
    "exp": (-10, 10),
    "expm1": (-3, 3),
    "log": (0.01, 100),
    "log1p": (-0.9, 10),
    "pow": (0.1, 10),
    "rsqrt": (0.1, 10),
    "sigmoid": (-8, 8),
    "sin": (-10, 10),
    "sqrt": (0.1, 10),
    "tanh": (-4, 4),
}


def largest_error(name: str, dtype: np.dtype) -> float:
    count = 4_000 if (name, dtype) == ("erf", F64) else 100_000  # mpmath is slow
    binary = arity(name) == 2
    inputs = power_arguments(dtype, count) if binary else (arguments(name, dtype, count),)
    return worst(name, compiled(name, dtype, 8), *inputs)[0]


def exhaustive_error(name: str) -> float:
    """The largest error over all 2**32 values of f32, for a function of one argument."""
    run, chunk = compiled(name, F32, 16), 1 << 21
    largest = 0.0
    for start in range(0, 1 << 32, chunk):
        bits = np.arange(start, start + chunk, dtype=np.uint64).astype(np.uint32)
        largest = max(largest, worst(name, run, bits.view(F32))[0])
        progress(f"{name} {100 * start >> 32}% ")
    return largest


def progress(text: str) -> None:
    print(text, end="\r", file=sys.stderr, flush=True)


def nanoseconds(run: Callable[[], object]) -> float:
    """Per element, the best of 25 batches: other processes only ever add time."""
    batches: list[float] = []
    for _ in range(25):
        start = time.perf_counter()
        for _ in range(8):
            run()
        batches.append(time.perf_counter() - start)
    return min(batches) / 8 / ELEMENTS * 1e9


def inputs_of(name: str, dtype: np.dtype) -> list[NDArray]:
    random = np.random.default_rng(0)
    first = random.uniform(*RANGES[name], ELEMENTS).astype(dtype)
    return [first, random.uniform(-3, 3, ELEMENTS).astype(dtype)][: arity(name)]


def times(name: str, dtype: np.dtype) -> Iterator[float | None]:
    """Ours for each number of lanes, then NumPy's, then torch's."""
    inputs = inputs_of(name, dtype)
    out = np.empty_like(inputs[0])
    for lanes in LANES:
        kernel = compiled(name, dtype, lanes).kernel
        addresses = [out.ctypes.data, *(a.ctypes.data for a in inputs)]
        yield nanoseconds(lambda k=kernel, a=addresses: k(ELEMENTS, *a))
    theirs = getattr(np, name, None)
    yield nanoseconds(lambda: theirs(*inputs, out=out)) if theirs else None
    tensors, result = [torch.from_numpy(a) for a in inputs], torch.from_numpy(out)
    yield nanoseconds(lambda: getattr(torch, name)(*tensors, out=result))


def row(name: str, dtype: np.dtype) -> str:
    cells = [f"{largest_error(name, dtype):6.2f}"]
    cells += ["       " if t is None else f"{t:7.3f}" for t in times(name, dtype)]
    return f"{name:8} {dtype.name:8}" + " ".join(cells)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=sorted(FUNCTIONS), metavar="function")
    parser.add_argument("--exhaustive", action="store_true", help="only the error, of every f32")
    options = parser.parse_args()
    if options.exhaustive:
        for name in (n for n in options.names if arity(n) == 1):
            print(f"{name:8} {exhaustive_error(name):.3f} ULP", flush=True)
    else:
        print_table(options.names)


def print_table(names: list[str]) -> None:
    torch.set_num_threads(1)
    print("function type       ULP      x4      x8     x16   numpy   torch   (ns/element)")
    for dtype in (F32, F64):
        for i, name in enumerate(names):
            progress(f"{i + 1}/{len(names)} {name} ")
            print(row(name, dtype), flush=True)


if __name__ == "__main__":
    main()
