"""Symbolic integers: sizes of tensors, arithmetic with them, and what is asserted of them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from anyshape.frontend.aten.calls import TABLE, Call, entry
from anyshape.frontend.aten.host_calls import integer_in
from anyshape.frontend.builder import elementwise as ew
from anyshape.frontend.builder.convert import asarray, cast_to
from anyshape.frontend.builder.tensor import Tensor
from anyshape.frontend.builder.tracer import active
from anyshape.frontend.imported.conditions import AllOf, Condition, OneOf, negated, require
from anyshape.frontend.imported.held_sizes import sizes_in
from anyshape.ir.types import f64, i64
from anyshape.sym import Dim, Equal, NotEqual, Origin, maximum, minimum, product

Integer = int | Dim
Number = Integer | float | Tensor


@entry("aten.sym_size.int")
def sym_size(call: Call, x: Tensor, dim: int) -> Dim:
    return x.shape[dim]


@entry("aten.sym_numel.default")
def sym_numel(call: Call, x: Tensor) -> Dim:
    return x.size


@entry("aten.sym_storage_offset.default")
def sym_storage_offset(call: Call, x: Tensor) -> int:
    """Tensors are values here, and begin where their memory does."""
    return 0


@entry("aten._local_scalar_dense.default", "aten.item.default")
def item(call: Call, x: Tensor) -> Dim | Tensor:
    """A float may stay a tensor of rank 0, since only elements depend on it. An integer that data
    decide is a size that the graph computes."""
    if x.dtype.is_float:
        return x.reshape(())
    sizes = sizes_in(active().value(x))
    if sizes is None and x.dtype.is_integer:
        return integer_in(x)
    if sizes is None:
        problem = f"the model's code takes a number out of a tensor of {x.dtype}"
        fix = "keep it a tensor instead of calling .item() or int(), or compute it from sizes"
        raise active().refuse(problem, fix)
    (size,) = sizes
    return size


@entry("getitem")
def getitem(call: Call, values: Sequence[Any], index: int) -> Any:
    return values[index]


# --- arithmetic -----------------------------------------------------------------------------------


def _function(name: str) -> Callable[..., Any]:
    """One of Python's own operators on integers and dims."""
    function: Callable[..., Any] = getattr(operator, name)

    def apply(call: Call, *operands: Integer) -> Any:
        return function(*operands)

    return apply


for _name in ("add", "sub", "mul", "neg", "floordiv", "mod", "le", "lt", "ge", "gt"):
    TABLE[_name] = _function(_name)


@entry("eq")
def equal(call: Call, x: Integer, y: Integer) -> Condition:
    return Equal(Dim.of(x), Dim.of(y))


@entry("ne")
def not_equal(call: Call, x: Integer, y: Integer) -> Condition:
    return NotEqual(Dim.of(x), Dim.of(y))


@entry("sym_not")
def sym_not(call: Call, condition: Condition) -> Condition:
    return negated(condition)


@entry("and_")
def both(call: Call, x: Condition, y: Condition) -> Condition:
    return AllOf((x, y))


@entry("or_")
def either(call: Call, x: Condition, y: Condition) -> Condition:
    return OneOf((x, y))


@entry("sym_float")
def sym_float(call: Call, x: Integer) -> Tensor:
    """A float that depends on sizes is a tensor of rank 0."""
    return asarray(x, f64)


@entry("floor")
def floor(call: Call, x: Number) -> Dim:
    """An integer of a float that depends on sizes is computed by the graph."""
    return integer_in(cast_to(ew.floor(asarray(x, f64)), i64))


@entry("ceil")
def ceil(call: Call, x: Number) -> Dim:
    return integer_in(cast_to(ew.ceil(asarray(x, f64)), i64))


@entry("trunc")
def trunc(call: Call, x: Number) -> Dim:
    return integer_in(cast_to(asarray(x, f64), i64))  # casts cut fractions off


@entry("sym_sum")
def sym_sum(call: Call, sizes: Sequence[Integer]) -> Dim:
    return sum(map(Dim.of, sizes), Dim.of(0))


@entry("sym_max")
def sym_max(call: Call, x: Integer, y: Integer) -> Dim:
    """One of the two where the facts decide."""
    left, right = Dim.of(x), Dim.of(y)
    if active().proves(left >= right):
        return left
    return right if active().proves(left <= right) else maximum(left, right)


@entry("sym_min")
def sym_min(call: Call, x: Integer, y: Integer) -> Dim:
    return smaller(Dim.of(x), Dim.of(y))


def smaller(left: Dim, right: Dim) -> Dim:
    """The one that is never the larger, if the facts tell."""
    if active().proves(left <= right):
        return left
    return right if active().proves(left >= right) else minimum(left, right)


@entry("truediv")
def truediv(call: Call, x: Number, y: Number) -> Tensor:
    return ew.divide(asarray(x, f64), asarray(y, f64))


@entry("pow")
def power(call: Call, x: Number, y: Number) -> Number:
    if isinstance(x, (int, Dim)) and isinstance(y, int):
        return product([Dim.of(x)] * y)
    return ew.power(asarray(x, f64), asarray(y, f64))


# --- assertions -----------------------------------------------------------------------------------


@entry("aten._assert_scalar.default")
def assert_scalar(call: Call, condition: Condition, message: str = "") -> None:
    """A requirement: proven now, or checked when it runs."""
    require(active(), condition, "the model asserts it")


@entry("aten._assert_tensor_metadata.default")
def assert_metadata(call: Call, *_: Any, **__: Any) -> None:
    """Types are inferred anew here."""


@entry("aten.sym_constrain_range_for_size.default", "aten.sym_constrain_range.default")
def constrain_range(
    call: Call, size: Integer, *, min: int | None = None, max: int | None = None
) -> None:
    dim = Dim.of(size)
    active().require(dim >= (min or 0), "exported program: least value of a size", Origin.FRONTEND)
    if max is not None:
        active().require(dim <= max, "exported program: greatest value of a size", Origin.FRONTEND)
