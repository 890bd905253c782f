"""The traced tensor: what a function under `@ash.jit` sees in the place of an array.

It has no data, only a type with symbolic sizes. Operators and methods call the functions of the
families; `x[index] = values` gives it another value (`assign`). What would need data (truth,
iteration, conversion to numbers or arrays) is refused with a way out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn

from anyshape.frontend.builder import (
    assign,
    dot,
    elementwise,
    index,
    late,
    movement,
    order,
    reduce,
    scatter,
)
from anyshape.frontend.builder.axes import Axes, Size
from anyshape.frontend.builder.convert import ArrayLike, cast_to
from anyshape.frontend.builder.functions import FUNCTIONS, Methods
from anyshape.frontend.builder.item import item as size_of
from anyshape.frontend.builder.tracer import Traced
from anyshape.ir.types import DType, Shape, TensorType
from anyshape.sym import Dim, product

# What NumPy calls on `array + tensor` and `np.exp(tensor)`.
_UFUNCS: dict[str, Callable[..., Tensor]] = {
    name: getattr(elementwise, name)
    for name in (
        "add", "subtract", "multiply", "divide", "floor_divide", "power", "maximum", "minimum",
        "equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "bitwise_and",
        "bitwise_or", "bitwise_xor", "logical_and", "logical_or", "logical_not", "negative",
        "floor", "ceil", "sign", "square", "isnan", "isinf", "isfinite",
    )
} | FUNCTIONS | {
    "remainder": elementwise.mod, "absolute": elementwise.abs, "rint": elementwise.round,
    "matmul": dot.matmul, "invert": elementwise.bitwise_not,
} | {
    f"arc{name[1:]}": FUNCTIONS[name]  # as NumPy calls them
    for name in ("acos", "acosh", "asin", "asinh", "atan", "atanh")
}  # fmt: skip


class Tensor(Traced, Methods):
    """A tensor without data; see the module."""

    __slots__ = ()

    # --- type ---------------------------------------------------------------------------------

    @property
    def _tensor_type(self) -> TensorType:
        type_ = self.type
        assert isinstance(type_, TensorType)
        return type_

    @property
    def shape(self) -> Shape:
        """The sizes, as dims: they may be used in shapes, and in arithmetic with tensors."""
        return self._tensor_type.shape

    @property
    def dtype(self) -> DType:
        return self._tensor_type.dtype

    @property
    def ndim(self) -> int:
        return self._tensor_type.rank

    @property
    def size(self) -> Dim:
        """The number of elements."""
        return product(self.shape)

    def __repr__(self) -> str:
        return f"Tensor({self.type})"

    # --- arithmetic ---------------------------------------------------------------------------

    def __add__(self, other: ArrayLike) -> Tensor:
        return elementwise.add(self, other)

    def __radd__(self, other: ArrayLike) -> Tensor:
        return elementwise.add(other, self)

    def __sub__(self, other: ArrayLike) -> Tensor:
        return elementwise.subtract(self, other)

    def __rsub__(self, other: ArrayLike) -> Tensor:
        return elementwise.subtract(other, self)

    def __mul__(self, other: ArrayLike) -> Tensor:
        return elementwise.multiply(self, other)

    def __rmul__(self, other: ArrayLike) -> Tensor:
        return elementwise.multiply(other, self)

    def __truediv__(self, other: ArrayLike) -> Tensor:
        return elementwise.divide(self, other)

    def __rtruediv__(self, other: ArrayLike) -> Tensor:
        return elementwise.divide(other, self)

    def __floordiv__(self, other: ArrayLike) -> Tensor:
        return elementwise.floor_divide(self, other)

    def __rfloordiv__(self, other: ArrayLike) -> Tensor:
        return elementwise.floor_divide(other, self)

    def __mod__(self, other: ArrayLike) -> Tensor:
        return elementwise.mod(self, other)

    def __rmod__(self, other: ArrayLike) -> Tensor:
        return elementwise.mod(other, self)

    def __pow__(self, other: ArrayLike) -> Tensor:
        return elementwise.power(self, other)

    def __rpow__(self, other: ArrayLike) -> Tensor:
        return elementwise.power(other, self)

    def __matmul__(self, other: ArrayLike) -> Tensor:
        return dot.matmul(self, other)

    def __rmatmul__(self, other: ArrayLike) -> Tensor:
        return dot.matmul(other, self)

    def __neg__(self) -> Tensor:
        return elementwise.negative(self)

    def __pos__(self) -> Tensor:
        return self.tracer.tensor(self.value)

    def __abs__(self) -> Tensor:
        return elementwise.abs(self)

    # --- logic and comparison -----------------------------------------------------------------

    def __and__(self, other: ArrayLike) -> Tensor:
        return elementwise.bitwise_and(self, other)

    def __or__(self, other: ArrayLike) -> Tensor:
        return elementwise.bitwise_or(self, other)

    def __xor__(self, other: ArrayLike) -> Tensor:
        return elementwise.bitwise_xor(self, other)

    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__

    def __lshift__(self, other: ArrayLike) -> Tensor:
        return elementwise.left_shift(self, other)

    def __rlshift__(self, other: ArrayLike) -> Tensor:
        return elementwise.left_shift(other, self)

    def __rshift__(self, other: ArrayLike) -> Tensor:
        return elementwise.right_shift(self, other)

    def __rrshift__(self, other: ArrayLike) -> Tensor:
        return elementwise.right_shift(other, self)

    def __invert__(self) -> Tensor:
        return elementwise.bitwise_not(self)

    def __eq__(self, other: ArrayLike) -> Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
        return elementwise.equal(self, other)

    def __ne__(self, other: ArrayLike) -> Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
        return elementwise.not_equal(self, other)

    def __lt__(self, other: ArrayLike) -> Tensor:
        return elementwise.less(self, other)

    def __le__(self, other: ArrayLike) -> Tensor:
        return elementwise.less_equal(self, other)

    def __gt__(self, other: ArrayLike) -> Tensor:
        return elementwise.greater(self, other)

    def __ge__(self, other: ArrayLike) -> Tensor:
        return elementwise.greater_equal(self, other)

    # `==` gives a tensor, so tensors are no keys.
    __hash__ = None  # pyright: ignore[reportAssignmentType]

    # --- parts and places ---------------------------------------------------------------------

    def __getitem__(self, item: Any) -> Tensor:
        return index.getitem(self, item)

    @property
    def T(self) -> Tensor:  # noqa: N802
        """Axes in reverse order."""
        return movement.transpose(self)

    @property
    def mT(self) -> Tensor:  # noqa: N802
        """The last two axes swapped."""
        return movement.matrix_transpose(self)

    def reshape(self, *sizes: Size | Sequence[Size]) -> Tensor:
        return movement.reshape(self, *sizes)

    def ravel(self) -> Tensor:
        return movement.ravel(self)

    def transpose(self, *axes: int | Sequence[int]) -> Tensor:
        return movement.transpose(self, *axes)

    def swapaxes(self, axis1: int, axis2: int) -> Tensor:
        return movement.swapaxes(self, axis1, axis2)

    def squeeze(self, axis: Axes) -> Tensor:
        return movement.squeeze(self, axis)

    def take(self, indices: ArrayLike, axis: int | None = None) -> Tensor:
        return movement.take(self, indices, axis)

    def astype(self, dtype: DType) -> Tensor:
        """Another tensor, even of the same dtype: what is assigned to one is not to the other."""
        return +self if dtype == self.dtype else cast_to(self, dtype)

    def item(self) -> Dim:
        """The value of an integer as a size, known when it runs: for shapes and slices."""
        return size_of(self)

    # --- order and places that data decide ----------------------------------------------------

    def sort(self, axis: int = -1, descending: bool = False, *, dim: int | None = None) -> Tensor:
        return order.sort(self, axis, descending, dim=dim)

    def argsort(
        self, axis: int = -1, descending: bool = False, *, dim: int | None = None
    ) -> Tensor:
        return order.argsort(self, axis, descending, dim=dim)

    def topk(
        self, k: Size, axis: int = -1, largest: bool = True, *, dim: int | None = None
    ) -> order.TopK:
        return order.topk(self, k, axis, largest, dim=dim)

    def take_along(self, indices: ArrayLike, axis: int = -1) -> Tensor:
        return scatter.take_along(self, indices, axis)

    def scatter(
        self,
        dim: int,
        index: ArrayLike,
        src: ArrayLike,
        reduce: scatter.Reduce | None = None,
    ) -> Tensor:
        return scatter.scatter(self, dim, index, src, reduce)

    def scatter_add(self, dim: int, index: ArrayLike, src: ArrayLike) -> Tensor:
        return scatter.scatter_add(self, dim, index, src)

    def nonzero(self) -> tuple[Tensor, ...]:
        return late.nonzero(self)

    def compress(self, condition: ArrayLike, axis: int | None = None) -> Tensor:
        return late.compress(condition, self, axis)

    def where(self, condition: ArrayLike, other: ArrayLike) -> Tensor:
        """These elements where the condition is true, as in torch."""
        return elementwise.where(condition, self, other)

    def masked_select(self, mask: ArrayLike) -> Tensor:
        return late.masked_select(self, mask)

    def unique(
        self,
        return_index: bool = False,
        return_inverse: bool = False,
        return_counts: bool = False,
    ) -> Tensor | tuple[Tensor, ...]:
        return late.unique(self, return_index, return_inverse, return_counts)

    def bincount(self, weights: ArrayLike | None = None, minlength: Size = 0) -> Tensor:
        return late.bincount(self, weights, minlength)

    def repeat_interleave(self, repeats: ArrayLike, axis: int | None = None) -> Tensor:
        return late.repeat_interleave(self, repeats, axis)

    # --- reductions ---------------------------------------------------------------------------

    def sum(self, axis: Axes | None = None, keepdims: bool = False) -> Tensor:
        return reduce.sum(self, axis, keepdims)

    def prod(self, axis: Axes | None = None, keepdims: bool = False) -> Tensor:
        return reduce.prod(self, axis, keepdims)

    def mean(self, axis: Axes | None = None, keepdims: bool = False) -> Tensor:
        return reduce.mean(self, axis, keepdims)

    def max(self, axis: Axes | None = None, keepdims: bool = False) -> Tensor:
        return reduce.max(self, axis, keepdims)

    def min(self, axis: Axes | None = None, keepdims: bool = False) -> Tensor:
        return reduce.min(self, axis, keepdims)

    def any(self, axis: Axes | None = None, keepdims: bool = False) -> Tensor:
        return reduce.any(self, axis, keepdims)

    def all(self, axis: Axes | None = None, keepdims: bool = False) -> Tensor:
        return reduce.all(self, axis, keepdims)

    def var(
        self, axis: Axes | None = None, keepdims: bool = False, correction: float = 0
    ) -> Tensor:
        return reduce.var(self, axis, keepdims, correction)

    def std(
        self, axis: Axes | None = None, keepdims: bool = False, correction: float = 0
    ) -> Tensor:
        return reduce.std(self, axis, keepdims, correction)

    def argmax(self, axis: int | None = None, keepdims: bool = False) -> Tensor:
        return reduce.argmax(self, axis, keepdims)

    def argmin(self, axis: int | None = None, keepdims: bool = False) -> Tensor:
        return reduce.argmin(self, axis, keepdims)

    # --- NumPy --------------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Tensor:
        ours = _UFUNCS.get(ufunc.__name__)
        if ours is None or method != "__call__" or options:
            raise self.tracer.refuse(
                f"np.{ufunc.__name__} cannot work on a traced tensor",
                "use the function of that name from anyshape, or compose it from those there are",
            )
        return ours(*inputs)

    # --- what needs data ----------------------------------------------------------------------

    def _no_data(self, what: str, fix: str) -> NoReturn:
        raise self.tracer.refuse(f"{what} needs the data of a {self.type} while tracing", fix)

    def __bool__(self) -> bool:  # noqa: PLE0304 - it never returns
        self._no_data(
            "the truth value", "use ash.cond(p, f, g) for branches, ash.where(p, x, y) for elements"
        )

    def __float__(self) -> float:
        self._no_data("float()", "keep it a tensor; ash functions take scalar tensors")

    def __int__(self) -> int:
        self._no_data("int()", "keep it a tensor; ash functions take scalar tensors")

    def __index__(self) -> int:  # noqa: PLE0305 - it never returns
        self._no_data(
            "using it as an integer",
            "for sizes use dims of .shape, or .item() for one that depends on data; "
            "to index use x[tensor]",
        )

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NoReturn:
        self._no_data("conversion to a NumPy array", "use the functions of anyshape instead")

    def __iter__(self) -> Iterator[Tensor]:
        self._no_data("iteration", "use ash.scan over an axis, or ash.split and indexing")

    def __len__(self) -> int:
        size = self.shape[0].constant if self.ndim else None
        if size is None:
            self._no_data("len()", "use x.shape[0], which is a dim")
        return size

    def __setitem__(self, item: Any, value: ArrayLike) -> None:
        assign.assign(self, item, value)
