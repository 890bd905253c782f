"""Symbolic integers: sizes of tensors, arithmetic with them, and what is asserted of them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, cast

from anyshape.frontend.builder.tensor import Tensor
from anyshape.frontend.builder.tracer import active
from anyshape.frontend.torch_export.calls import TABLE, Call, entry
from anyshape.sym import Dim, Equal, Predicate, maximum, minimum

Integer = int | Dim
Condition = Predicate | bool | None
"""What is asserted: None is a condition that facts cannot hold (`!=`, `or`)."""


@entry("aten.sym_size.int")
def sym_size(call: Call, x: Tensor, dim: int) -> Dim:
    return x.shape[dim]


@entry("aten.sym_numel.default")
def sym_numel(call: Call, x: Tensor) -> Dim:
    return x.size


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


@entry("ne", "or_", "sym_not")
def undecided(call: Call, *_: Any) -> Condition:
    return None


@entry("and_")
def both(call: Call, x: Any, y: Any) -> tuple[Any, ...]:
    return (x, y)


@entry("sym_max")
def sym_max(call: Call, x: Integer, y: Integer) -> Dim:
    return maximum(x, y)


@entry("sym_min")
def sym_min(call: Call, x: Integer, y: Integer) -> Dim:
    return minimum(x, y)


@entry("truediv")
def truediv(call: Call, x: Integer, y: Integer) -> float:
    if isinstance(x, Dim) or isinstance(y, Dim):
        raise active().refuse("a quotient of sizes as a float", "divide sizes with //")
    return x / y


@entry("pow")
def power(call: Call, x: Integer, y: int) -> Integer:
    result: Integer = 1
    for _ in range(y):
        result = x * result
    return result


# --- assertions -----------------------------------------------------------------------------------


@entry("aten._assert_scalar.default")
def assert_scalar(call: Call, condition: Any, message: str = "") -> None:
    """A requirement: proven now, or checked when it runs."""
    if isinstance(condition, tuple):
        for part in cast(tuple[Any, ...], condition):
            assert_scalar(call, part, message)
    elif isinstance(condition, Predicate):
        active().require(condition, f"exported program: {message}")


@entry("aten._assert_tensor_metadata.default")
def assert_metadata(call: Call, *_: Any, **__: Any) -> None:
    """Types are inferred anew here."""


@entry("aten.sym_constrain_range_for_size.default", "aten.sym_constrain_range.default")
def constrain_range(
    call: Call, size: Integer, *, min: int | None = None, max: int | None = None
) -> None:
    dim = Dim.of(size)
    active().require(dim >= (min or 0), "exported program: least value of a size")
    if max is not None:
        active().require(dim <= max, "exported program: greatest value of a size")
