"""The loop IR: buffers, scalar expressions, statements. `kernel.py` puts them together.

Sizes are the kernel's own symbols `n0, n1, …`; loop indices are symbols too, so an index expression
is a `Dim`, and whether an access is in bounds is a question for the same prover that decides
shapes. Values are scalars: how many of them are computed at once is the emitter's business, and
`For.vector` says only where that is allowed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from anyshape.ir.opdef import lookup
from anyshape.ir.types import DType, Shape, bool_, i8, i16, i64, u8
from anyshape.sym import Dim, Predicate, Symbol, ceildiv, product

Index = tuple[Dim, ...]
NEVER = Dim.of(0)

STACK_BYTES = 8192
"""Scratch of constant size is on the stack, up to so many bytes each."""

CACHE_LINE = 64

ROW, COLUMN = Symbol("row"), Symbol("column")
"""What text calls the indices of a matrix. Where it lies depends on no others of these names."""


@dataclass(frozen=True, slots=True)
class Buffer:
    """Memory a kernel is given. Strides count elements; a dense buffer has 1 as its last."""

    name: str
    dtype: DType
    shape: Shape
    strides: Shape
    written: bool = False

    def offset(self, index: Index) -> Dim:
        """Elements from the start of the buffer."""
        return sum((i * stride for i, stride in zip(index, self.strides, strict=True)), Dim.of(0))

    @property
    def bytes(self) -> Dim:
        """Of a dense buffer."""
        return product(self.shape) * self.dtype.itemsize


# --- scalar expressions ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Load:
    """One element."""

    buffer: Buffer
    index: Index

    @property
    def dtype(self) -> DType:
        return self.buffer.dtype


@dataclass(frozen=True, slots=True)
class Literal:
    """A number. Compared by its text, so that NaN equals itself and -0.0 is not 0.0."""

    text: str
    dtype: DType

    @staticmethod
    def of(value: float | int | bool, dtype: DType) -> Literal:
        number = bool(value) if dtype is bool_ else value
        return Literal(str(float(number) if dtype.is_float else int(number)), dtype)

    @property
    def value(self) -> float | int | bool:
        if self.dtype.is_float:
            return float(self.text)
        return bool(int(self.text)) if self.dtype is bool_ else int(self.text)


@dataclass(frozen=True, slots=True)
class Number:
    """An index or a size as a value."""

    dim: Dim

    @property
    def dtype(self) -> DType:
        return i64


@dataclass(frozen=True, slots=True)
class Local:
    """What a `Let` or an accumulator holds."""

    name: str
    dtype: DType


@dataclass(frozen=True, slots=True)
class Apply:
    """An elementwise op of the registry, by name; `cast` converts to `dtype`."""

    op: str
    args: tuple[Scalar, ...]
    dtype: DType


@dataclass(frozen=True, slots=True)
class Guard:
    """`inside` where all conditions on indices hold, and only there is it evaluated."""

    conditions: tuple[Predicate, ...]
    inside: Scalar
    outside: Scalar

    @property
    def dtype(self) -> DType:
        return self.inside.dtype


Scalar = Load | Literal | Number | Local | Apply | Guard


# --- statements -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Let:
    """Names a value within the rest of the body."""

    local: Local
    value: Scalar


@dataclass(frozen=True, slots=True)
class Bind:
    """An index that data decides: `symbol` is `value`, brought into 0..extent-1 if outside."""

    symbol: Symbol
    value: Scalar
    extent: Dim


@dataclass(frozen=True, slots=True)
class Store:
    """Writes one element."""

    buffer: Buffer
    index: Index
    value: Scalar


@dataclass(frozen=True, slots=True)
class Update:
    """Combines a value into an accumulator of the innermost loop that has it."""

    local: Local
    value: Scalar


@dataclass(frozen=True, slots=True)
class Accumulator:
    """Starts at the neutral element of `op` when its loop starts; holds the result afterwards."""

    local: Local
    op: str


@dataclass(frozen=True, slots=True)
class For:
    """Runs the body for index = 0 .. extent-1. `vector`: iterations may be computed together."""

    index: Symbol
    extent: Dim
    body: tuple[Statement, ...]
    accumulators: tuple[Accumulator, ...] = ()
    vector: bool = False


@dataclass(frozen=True, slots=True)
class Span:
    """One axis of memory, and how a matrix lies along it.

    The axis has `extent` places, `stride` elements apart. Element (i, j) of the matrix is at the
    place `first + i * down + j * right` of it, which has to exist.
    """

    extent: Dim
    stride: Dim
    first: Dim
    down: Dim = NEVER
    right: Dim = NEVER

    @property
    def dims(self) -> tuple[Dim, Dim, Dim, Dim, Dim]:
        return self.extent, self.stride, self.first, self.down, self.right

    def moved(self, rows: Dim, columns: Dim) -> Span:
        return replace(self, first=self.index(rows, columns))

    def index(self, i: Dim, j: Dim) -> Dim:
        """Where element (i, j) is along this axis."""
        return self.first + i * self.down + j * self.right


@dataclass(frozen=True, slots=True)
class Matrix:
    """A matrix in a dense buffer: element (i, j) is at start + i * strides[0] + j * strides[1].

    Start and strides are those of its spans. They say in which axes of the buffer the matrix lies,
    so that the verifier can prove each of them on its own, without products of sizes.
    """

    buffer: Buffer
    spans: tuple[Span, ...]
    origin: Dim = NEVER  # where in the buffer the first places of all axes are

    @staticmethod
    def whole(buffer: Buffer, first: Dim = NEVER) -> Matrix:
        """A buffer of two axes, from row `first` on."""
        rows, columns = zip(buffer.shape, buffer.strides, strict=True)
        one = Dim.of(1)
        return Matrix(buffer, (Span(*rows, first, down=one), Span(*columns, NEVER, right=one)))

    @property
    def start(self) -> Dim:
        return sum((span.first * span.stride for span in self.spans), self.origin)

    @property
    def strides(self) -> tuple[Dim, Dim]:
        down = sum((span.down * span.stride for span in self.spans), NEVER)
        return down, sum((span.right * span.stride for span in self.spans), NEVER)

    @property
    def turned(self) -> Matrix:
        """Its rows as columns."""
        spans = tuple(replace(span, down=span.right, right=span.down) for span in self.spans)
        return replace(self, spans=spans)

    def moved(self, rows: Dim, columns: Dim = NEVER) -> Matrix:
        """From another row and column on."""
        return replace(self, spans=tuple(span.moved(rows, columns) for span in self.spans))

    @property
    def dims(self) -> tuple[Dim, ...]:
        """All that it depends on."""
        return (self.origin, *(dim for span in self.spans for dim in span.dims))

    def substitute(self, dims: Mapping[Symbol, Dim]) -> Matrix:
        spans = tuple(Span(*(dim.substitute(dims) for dim in s.dims)) for s in self.spans)
        return Matrix(self.buffer, spans, self.origin.substitute(dims))


@dataclass(frozen=True, slots=True)
class Copy:
    """target[i, j] = source[i, j] for i < rows and j < columns, converted to the target's dtype.

    The target is scratch of two axes. Nothing outside the source's rows and columns is read, and
    nothing outside those of the target is written.
    """

    target: Buffer
    source: Matrix
    rows: Dim
    columns: Dim

    @property
    def dims(self) -> tuple[Dim, ...]:
        return (*self.source.dims, self.rows, self.columns)


@dataclass(frozen=True, slots=True)
class Ahead:
    """One of several equal parts of a matrix like rhs, `distance` elements behind it. Tiles of less
    than `least` rows fetch nothing."""

    distance: Dim
    part: Dim
    parts: Dim
    least: int = 1

    @property
    def dims(self) -> tuple[Dim, Dim, Dim]:
        return self.distance, self.part, self.parts

    def substitute(self, dims: Mapping[Symbol, Dim]) -> Ahead:
        distance, part, parts = (dim.substitute(dims) for dim in self.dims)
        return Ahead(distance, part, parts, self.least)


@dataclass(frozen=True, slots=True)
class Multiply:
    """tile[i, j] = sum over k < depth of lhs[i, k] * rhs[k, j], for i < rows and j < columns.

    The tile is scratch; what it holds beyond `rows` and `columns` is arbitrary afterwards. Sums are
    made in its dtype, in any order. The columns of rhs are next to each other in memory, or else
    both matrices are runs along k. Nothing outside the two is read; a *padded* rhs has as many
    columns as the tile, wanted or not. A product that is *added* is added to what the tile holds,
    for which the columns of rhs have to be next to each other. What is `ahead` is likely to be
    multiplied soon, and may be fetched into a cache; nothing needs to be there.

    Scratch may be several tiles: `at` then says which of them, by an index for each further axis.

    A product of small integers may have `group` steps of k lie together in rhs, which is padded
    then: rhs[k, j] is the element `j * group + k % group` of row `k // group` of the matrix, and
    lhs is a run along k. What groups have beyond the depth is multiplied by any number, so it is 0.
    """

    tile: Buffer
    lhs: Matrix
    rhs: Matrix
    rows: Dim
    columns: Dim
    depth: Dim
    padded: bool = False
    added: bool = False
    ahead: Ahead | None = None
    group: int = 1
    at: Index = ()

    @property
    def dims(self) -> tuple[Dim, ...]:
        fetched = () if self.ahead is None else self.ahead.dims
        sizes = self.rows, self.columns, self.depth
        return (*self.lhs.dims, *self.rhs.dims, *sizes, *fetched, *self.at)

    @property
    def room(self) -> Index:
        """Rows and columns of the tile."""
        return self.tile.shape[len(self.at) :]

    @property
    def start(self) -> Dim:
        """Elements before the tile."""
        return self.tile.offset((*self.at, NEVER, NEVER))


GROUPED = frozenset({(u8, i8, 4), (i16, i8, 2), (i16, u8, 2)})
"""Dtypes of lhs and rhs, and the group, of products whose sums of a group are exact in 32 bits."""


@dataclass(frozen=True, slots=True)
class Prepare:
    """Fills scratch with what all tasks that have the same `keys` need.

    Whoever runs tasks one after the other may leave it out where the keys are those of the task
    before: nothing else writes that scratch, and what it holds depends on keys and sizes alone.
    """

    keys: tuple[Symbol, ...]
    body: tuple[Statement, ...]


Statement = Let | Bind | Store | Update | For | Copy | Multiply | Prepare


def workspace_bytes(scratch: Buffer) -> Dim:
    """What each worker needs for it: whole cache lines, so that no two workers share one."""
    return ceildiv(scratch.bytes, CACHE_LINE) * CACHE_LINE


COMBINE = ("add", "mul", "maximum", "minimum")
COMBINE_BOOL = ("logical_and", "logical_or", *COMBINE)
"""What accumulators of numbers and of booleans combine with."""


def neutral(op: str, dtype: DType) -> Literal:
    """What an accumulator of `op` starts from."""
    return Literal.of(lookup(op).neutral_in(dtype), dtype)
