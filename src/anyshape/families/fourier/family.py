"""Fourier transforms: functions of the runtime. A task is a few lines, or one long one."""

from __future__ import annotations

from typing import ClassVar, Final

from anyshape.families.body import Body
from anyshape.families.family import Family, Job, Lowered
from anyshape.ir.node import Node
from anyshape.ir.rewrite import Refusal
from anyshape.ir.types import DType
from anyshape.loop import Buffer, Kernel
from anyshape.loop.native import SCALINGS, fft_name, irfft_name, rfft_name
from anyshape.loop.printer import row_major
from anyshape.lower.effort import Effort
from anyshape.lower.tasks import TASK
from anyshape.ops.fourier import FftAttrs, RealFftAttrs, RealInverseFftAttrs
from anyshape.sym import Dim, Symbol, maximum, minimum, product

OUTER, LENGTH, INNER, INVERSE, SCALING, LINES, VECTOR = SIZES = tuple(
    Symbol(f"n{i}") for i in range(7)
)
REAL_SIZES: Final = (OUTER, LENGTH, SCALING, LINES, VECTOR)

MOST_LINES: Final = 32
"""Of a task: as many as the widest vectors take of real lines at once."""

TASK_NUMBERS: Final = 1 << 15
"""Numbers of a task, if its lines are no longer."""

LONGEST_LANE: Final = 4096
"""As `fft_longest_lane` of the runtime."""

OPERATIONS: Final = 40
"""For each number: about five for each halving of the length."""

Attributes = FftAttrs | RealFftAttrs | RealInverseFftAttrs


class Fourier(Family[Node]):
    """Kernels of `fft`, `rfft` and `irfft`."""

    name: ClassVar[str] = "fourier"

    def anchors(self, node: Node) -> bool:
        return isinstance(node.attrs, Attributes)

    def match(self, body: Body) -> Node | Refusal:
        if len(body.nodes) == 1 and self.anchors(body.nodes[0]):
            return body.nodes[0]
        return Refusal("it is not a single Fourier transform")

    def lower(self, match: Node, job: Job) -> Lowered:
        names = dict(zip(job.sizes, job.dims, strict=True))
        kernel, sizes = _kernel(match, job.tiling.vector_bytes)
        dims = tuple(dim.substitute(names) for dim in sizes)
        return Lowered(kernel, dims, effort=_effort(kernel))


def _effort(kernel: Kernel) -> Effort:
    inner = Dim.of(INNER) if INNER in kernel.sizes else Dim.of(1)
    numbers = Dim.of(OUTER) * Dim.of(LENGTH) * inner * 2
    return Effort(operations=numbers * OPERATIONS, bytes=numbers * 8)


def _kernel(node: Node, vector: int) -> tuple[Kernel, tuple[Dim, ...]]:
    """And the dims that its sizes stand for."""
    attrs, dtype = node.attrs, node.result().tensor.dtype
    assert isinstance(attrs, Attributes), f"{node.op.name} is no Fourier transform"
    scaling = Dim.of(SCALINGS.index(attrs.scaling))
    if isinstance(attrs, FftAttrs):
        shape = node.result().tensor.shape[:-1]
        outer, inner = product(shape[: attrs.axis]), product(shape[attrs.axis + 1 :])
        length, inverse = shape[attrs.axis], Dim.of(int(attrs.inverse))
        sizes = (outer, length, inner, inverse, scaling, _lines(length), Dim.of(vector))
        return _complex_kernel(dtype), sizes
    is_back = isinstance(attrs, RealInverseFftAttrs)
    real = node.result() if is_back else node.operands[0]
    *rest, length = real.tensor.shape
    sizes = (product(rest), length, scaling, _lines(length), Dim.of(vector))
    return _real_kernel(dtype, is_back), sizes


def _lines(length: Dim) -> Dim:
    return maximum(1, minimum(MOST_LINES, TASK_NUMBERS // maximum(1, length)))


def _complex_kernel(dtype: DType) -> Kernel:
    outer, length, inner, lines = map(Dim.of, (OUTER, LENGTH, INNER, LINES))
    count = outer * length * inner * 2
    buffers = _buffer("x", dtype, count), _buffer("y", dtype, count, True)
    return _native(fft_name(dtype), buffers, SIZES, outer * inner, lines, dtype)


def _real_kernel(dtype: DType, is_back: bool) -> Kernel:
    outer, length, lines = map(Dim.of, (OUTER, LENGTH, LINES))
    real, halves = outer * length, outer * (length // 2 + 1) * 2
    x, y = (halves, real) if is_back else (real, halves)
    buffers = _buffer("x", dtype, x), _buffer("y", dtype, y, True)
    name = (irfft_name if is_back else rfft_name)(dtype)
    return _native(name, buffers, REAL_SIZES, outer, lines, dtype)


def _native(
    name: str,
    buffers: tuple[Buffer, ...],
    sizes: tuple[Symbol, ...],
    count: Dim,
    lines: Dim,
    dtype: DType,
) -> Kernel:
    length = Dim.of(LENGTH)
    numbers = 20 * length + 96 * minimum(length, LONGEST_LANE) + 65536
    scratch = _buffer("work", dtype, numbers)  # as `fft_workspace_numbers` of the runtime
    tasks = (count + lines - 1) // lines
    return Kernel(buffers, sizes, TASK, tasks, (), scratch=(scratch,), native=name)


def _buffer(name: str, dtype: DType, size: Dim, written: bool = False) -> Buffer:
    return Buffer(name, dtype, (size,), row_major((size,)), written)
