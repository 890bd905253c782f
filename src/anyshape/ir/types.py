"""Element types and the types of values.

`f32["batch", 512]` makes a tensor type: a shape is made from integers, axis names, expressions
(`"seq//2 + 1"`) and `None` for a dynamic dim without a name. Inside the IR every size is a `Dim`;
there are no -1s and no strings.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast, overload

import ml_dtypes
import numpy as np
import numpy.typing as npt

from anyshape.base.errors import DimError, DTypeError
from anyshape.sym import HOLE, Dim, DimLike, Prover, RaggedAxis, Symbol, product

Array = npt.NDArray[Any]
Shape = tuple[Dim, ...]
ShapeItem = DimLike | None
RaggedItems = tuple[ShapeItem, ...]


@dataclass(frozen=True, slots=True)
class DType:
    """An element type. `kind` is 'float', 'int', 'uint' or 'bool'."""

    name: str
    kind: str
    bits: int
    numpy: np.dtype[Any]

    @property
    def is_float(self) -> bool:
        return self.kind == "float"

    @property
    def is_integer(self) -> bool:
        return self.kind in ("int", "uint")

    @property
    def itemsize(self) -> int:
        return self.numpy.itemsize

    @property
    def lowest(self) -> float | int | bool:
        """No element is less; the neutral element of a maximum."""
        if self.is_float:
            return -math.inf
        return int(np.iinfo(self.numpy).min) if self.is_integer else False

    @property
    def highest(self) -> float | int | bool:
        """No element is greater; the neutral element of a minimum."""
        if self.is_float:
            return math.inf
        return int(np.iinfo(self.numpy).max) if self.is_integer else True

    @overload
    def __getitem__(self, shape: ShapeItem | tuple[ShapeItem, ...]) -> TensorType: ...

    @overload
    def __getitem__(self, shape: RaggedAxis | tuple[RaggedAxis, *RaggedItems]) -> RaggedType: ...

    def __getitem__(
        self, shape: ShapeItem | RaggedAxis | tuple[ShapeItem | RaggedAxis, ...]
    ) -> TensorType | RaggedType:
        first, *others = shape if isinstance(shape, tuple) and shape else (shape,)
        if not isinstance(first, RaggedAxis):
            return TensorType(self, make_shape(_plain(shape)))
        packed = make_shape((first.total, *_plain(tuple(others))))
        return RaggedType(TensorType(self, packed), first)

    def __reduce__(self) -> tuple[Callable[[str], DType], tuple[str]]:
        return dtype_named, (self.name,)  # a copy from another process is the same object

    def __str__(self) -> str:
        return self.name

    __repr__ = __str__


def dtype_named(name: str) -> DType:
    """The element type that text calls so."""
    return DTYPES[name]


def _dtype(name: str, kind: str, numpy: npt.DTypeLike) -> DType:
    dtype = np.dtype(numpy)
    return DType(name, kind, 1 if kind == "bool" else dtype.itemsize * 8, dtype)


f64 = _dtype("f64", "float", np.float64)
f32 = _dtype("f32", "float", np.float32)
f16 = _dtype("f16", "float", np.float16)
bf16 = _dtype("bf16", "float", ml_dtypes.bfloat16)
i64 = _dtype("i64", "int", np.int64)
i32 = _dtype("i32", "int", np.int32)
i16 = _dtype("i16", "int", np.int16)
i8 = _dtype("i8", "int", np.int8)
u64 = _dtype("u64", "uint", np.uint64)
u32 = _dtype("u32", "uint", np.uint32)
u16 = _dtype("u16", "uint", np.uint16)
u8 = _dtype("u8", "uint", np.uint8)
bool_ = _dtype("bool", "bool", np.bool_)

FLOATS = (f64, f32, f16, bf16)
SIGNED = (i64, i32, i16, i8)
UNSIGNED = (u64, u32, u16, u8)
INTEGERS = SIGNED + UNSIGNED
NUMERIC = FLOATS + INTEGERS
ALL_DTYPES = (*NUMERIC, bool_)

DTYPES: Mapping[str, DType] = {dtype.name: dtype for dtype in ALL_DTYPES}
_BY_NUMPY: Mapping[np.dtype[Any], DType] = {dtype.numpy: dtype for dtype in ALL_DTYPES}


def wide_of(dtype: DType) -> DType:
    """What numbers of this type are combined in: 16-bit floats in f32, rounded once at the end."""
    return f32 if dtype in (f16, bf16) else dtype


def dtype_of(array: Array, subject: str = "array") -> DType:
    """The element type of a NumPy array; a type we do not have is an error that names it."""
    found = _BY_NUMPY.get(array.dtype)
    if found is None:
        raise DTypeError(subject, f"one of {', '.join(DTYPES)}", str(array.dtype))
    return found


LARGEST_SIZE = 2**63 - 1

_NO_FACTS = Prover()


def _plain(shape: object) -> tuple[ShapeItem, ...]:
    """Sizes among which there is no ragged axis: only the first one may be."""
    items = cast(tuple[ShapeItem, ...], shape if isinstance(shape, tuple) else (shape,))
    for item in items:
        if isinstance(item, RaggedAxis):
            raise DimError(item.name, "a ragged axis must be the first", "put it first")
    return items


def make_shape(items: tuple[ShapeItem, ...]) -> Shape:
    """Dims from integers, names, expressions and None."""
    return tuple(HOLE if item is None else _declared(Dim.of(item)) for item in items)


def _declared(dim: Dim) -> Dim:
    if problem := no_size(dim):
        raise DimError(str(dim), problem, "use a name or None for a size that varies")
    return dim


def no_size(dim: Dim) -> str:
    """Why a dim can be the size of nothing, whatever its symbols are; empty if it can."""
    if dim.symbol is not None:
        return ""
    least, most = (dim.constant,) * 2 if dim.constant is not None else _NO_FACTS.bounds(dim)
    if most is not None and most < 0:
        return "a size is not negative"
    beyond = least is not None and least > LARGEST_SIZE
    return f"a size is at most {LARGEST_SIZE}" if beyond else ""


def shape_text(shape: Shape) -> str:
    return "[" + ", ".join(str(dim) for dim in shape) + "]"


@dataclass(frozen=True, slots=True)
class TensorType:
    """Element type and shape of a tensor value."""

    dtype: DType
    shape: Shape

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> Dim:
        """The number of elements, as a dim."""
        return product(self.shape)

    @property
    def is_concrete(self) -> bool:
        return all(dim.is_constant for dim in self.shape)

    @property
    def is_dynamic(self) -> bool:
        return not self.is_concrete

    @property
    def has_named_axes(self) -> bool:
        return any(not symbol.is_fresh for symbol in self.symbols)

    @property
    def symbols(self) -> frozenset[Symbol]:
        return frozenset(symbol for dim in self.shape for symbol in dim.symbols)

    def resolve(self, bindings: Mapping[str, int]) -> TensorType:
        """The type at a binding; axes that it does not name stay symbolic."""
        sizes = {Symbol(name): Dim.of(size) for name, size in bindings.items()}
        return self.substitute(sizes)

    def substitute(self, dims: Mapping[Symbol, Dim]) -> TensorType:
        return TensorType(self.dtype, tuple(dim.substitute(dims) for dim in self.shape))

    def with_dtype(self, dtype: DType) -> TensorType:
        return TensorType(dtype, self.shape)

    def with_shape(self, shape: Shape) -> TensorType:
        return TensorType(self.dtype, shape)

    def __str__(self) -> str:
        return f"{self.dtype}{shape_text(self.shape)}"

    __repr__ = __str__


@dataclass(frozen=True, slots=True)
class RaggedType:
    """What a ragged parameter is declared as: packed values, and the offsets of its sequences."""

    values: TensorType
    axis: RaggedAxis

    @property
    def offsets(self) -> TensorType:
        return TensorType(i64, (self.axis.places,))


@dataclass(frozen=True, slots=True)
class TokenType:
    """Order between effects: whoever has an effect takes a token and gives a new one."""

    @property
    def symbols(self) -> frozenset[Symbol]:
        return frozenset()

    def substitute(self, dims: Mapping[Symbol, Dim]) -> TokenType:
        return self

    def __str__(self) -> str:
        return "token"

    __repr__ = __str__


TOKEN = TokenType()
Type = TensorType | TokenType
