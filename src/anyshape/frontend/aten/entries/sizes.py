"""Symbolic integers: sizes of tensors, arithmetic with them, and what is asserted of them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import torch

from anyshape.frontend.aten.calls import TABLE, Call, entry
from anyshape.frontend.aten.value_checks import check_truth, taken_at
from anyshape.frontend.builder.convert import cast_to
from anyshape.frontend.builder.item import integer
from anyshape.frontend.builder.item import item as size_of
from anyshape.frontend.builder.tensor import Tensor
from anyshape.frontend.builder.tracer import active
from anyshape.frontend.imported.conditions import (
    AllOf,
    Condition,
    OneOf,
    decided,
    negated,
    require_of_data,
)
from anyshape.frontend.imported.held_sizes import sizes_in
from anyshape.ir.types import bool_, i64
from anyshape.sym import Dim, Equal, NotEqual, maximum, minimum

Integer = int | Dim


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
    """A float or a truth may stay a tensor of rank 0, since only elements depend on it. An integer
    that data decide is a size that the graph computes."""
    if not x.dtype.is_integer:
        return x.reshape(())
    sizes = sizes_in(active().value(x))
    if sizes is None:
        is_size = _is_size(call) and not _is_only_compared(call)  # else nothing would check that
        return size_of(x) if is_size else integer(x)
    (size,) = sizes
    return size


@entry("sym_ite")
def sym_ite(call: Call, truth: Any, one: Integer, other: Integer) -> Dim | Tensor:
    """One of two numbers. torch compares with 1 and 0 to ask what a truth is that data decide."""
    if isinstance(truth, Tensor):
        is_asked = (one, other) == (1, 0) and _is_only_compared(call)
        return truth if is_asked else Dim.of(other) + (Dim.of(one) - Dim.of(other)) * _number(truth)
    known = decided(active(), truth)
    if known is None:
        fix = "declare the axes so that the condition is known, or choose with torch.cond"
        raise active().refuse(f"either {one} or {other}, by a condition of sizes", fix)
    return Dim.of(one if known else other)


_COMPARISONS = frozenset({"le", "lt", "ge", "gt", "eq", "ne"})


def _is_only_compared(call: Call) -> bool:
    return all(getattr(user.target, "__name__", "") in _COMPARISONS for user in call.node.users)


def _number(truth: Tensor) -> Dim:
    """1 or 0, as a size that the graph computes."""
    return size_of(cast_to(truth, i64))


def _condition(truth: Any) -> Any:
    """A truth that data decide as a condition of a size that the graph computes."""
    return Equal(_number(truth), Dim.of(1)) if isinstance(truth, Tensor) else truth


def _is_size(call: Call) -> bool:
    """Whether torch has been told that an integer is not negative."""
    value = call.node.meta.get("val")
    if not isinstance(value, torch.SymInt):
        return False
    node: Any = getattr(value, "node")  # noqa: B009 - torch has no types for it
    return bool(node.shape_env.bound_sympy(node.expr).lower >= 0)


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


def _comparison(name: str) -> Callable[..., Any]:
    """One of Python's own operators, also on a truth that data decide, which is 1 or 0."""
    function: Callable[..., Any] = getattr(operator, name)

    def apply(call: Call, x: Integer | Tensor, y: Integer) -> Any:
        if not isinstance(x, Tensor) or x.dtype != bool_:
            return function(x, y)
        if_false, if_true = (bool(function(number, y)) for number in (0, 1))
        return if_true if if_false == if_true else (x if if_true else ~x)

    return apply


for _name in ("add", "sub", "mul", "neg"):
    TABLE[_name] = _function(_name)
for _name in ("le", "lt", "ge", "gt"):
    TABLE[_name] = _comparison(_name)


@entry("eq")
def equal(call: Call, x: Integer | Tensor, y: Integer) -> Condition | Tensor:
    if isinstance(x, Tensor):
        return _comparison("eq")(call, x, y)
    return Equal(Dim.of(x), Dim.of(y))


@entry("ne")
def not_equal(call: Call, x: Integer | Tensor, y: Integer) -> Condition | Tensor:
    if isinstance(x, Tensor):
        return _comparison("ne")(call, x, y)
    return NotEqual(Dim.of(x), Dim.of(y))


@entry("sym_not")
def sym_not(call: Call, condition: Any) -> Condition | Tensor:
    return ~condition if isinstance(condition, Tensor) else negated(condition)


@entry("and_")
def both(call: Call, x: Any, y: Any) -> Condition | Dim:
    """Of two truths, or of a size and the mask of its last bits: `n & 7`."""
    if not isinstance(x, Dim) and not isinstance(y, Dim):
        return AllOf((_condition(x), _condition(y)))
    size, mask = (x, y) if isinstance(x, Dim) else (y, x)
    bits = _constant(mask)
    if bits is None or bits < 0 or bits & (bits + 1):
        raise active().refuse(f"{size} & {mask}", "compute with sizes by +, -, *, // and %")
    return size % (bits + 1)


@entry("or_")
def either(call: Call, x: Any, y: Any) -> Condition:
    if isinstance(x, Dim) or isinstance(y, Dim):
        raise active().refuse(f"{x} | {y}", "compute with sizes by +, -, *, // and %")
    return OneOf((_condition(x), _condition(y)))


@entry("lshift")
def lshift(call: Call, x: Integer, bits: Integer) -> Dim:
    return Dim.of(x) * 2 ** _bits(x, bits)


@entry("rshift")
def rshift(call: Call, x: Integer, bits: Integer) -> Dim:
    return Dim.of(x) // 2 ** _bits(x, bits)


def _bits(x: Integer, bits: Integer) -> int:
    """By how many bits a size is shifted."""
    count = _constant(bits)
    if count is None or count < 0:
        fix = "shift sizes by a number that is not negative, or compute with //, * and **"
        raise active().refuse(f"a shift of {x} by {bits} bits", fix)
    return count


def _constant(x: Any) -> int | None:
    return x.constant if isinstance(x, Dim) else x


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


# --- assertions -----------------------------------------------------------------------------------


@entry("aten._assert_scalar.default")
def assert_scalar(call: Call, condition: Any, message: str = "") -> None:
    """A requirement: proven now, or checked when it runs."""
    if isinstance(condition, Tensor):
        check_truth(call, condition)
    else:
        _require(call, condition, "the model asserts it")


def _require(call: Call, condition: Condition, why: str) -> None:
    require_of_data(active(), condition, why, taken_at(call.node.args[0]))


@entry("aten._assert_tensor_metadata.default")
def assert_metadata(call: Call, *_: Any, **__: Any) -> None:
    """Types are inferred anew here."""


@entry("aten.sym_constrain_range_for_size.default", "aten.sym_constrain_range.default")
def constrain_range(
    call: Call, size: Integer, *, min: int | None = None, max: int | None = None
) -> None:
    dim = Dim.of(size)
    _require(call, dim >= (min or 0), "exported program: least value of a size")
    if max is not None:
        _require(call, dim <= max, "exported program: greatest value of a size")
