"""torch's symbolic sizes as dims.

Only the shapes of inputs are read this way; all other sizes follow from the graph. An input's size
is a symbol (`s0`) or an expression over symbols (`2*s0 + 1`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any

import torch

from anyshape.base.errors import UnsupportedModelError
from anyshape.sym import Dim, ceildiv, maximum, minimum, product


def is_symbolic(size: Any) -> bool:
    """Whether a size is an expression of torch's that has not turned out to be a number."""
    own: Any = size
    return isinstance(size, torch.SymInt) and not own.node.expr.is_Integer


def dim_of_size(size: Any, names: Mapping[str, Dim]) -> Dim:
    """A size of an exported tensor: an integer, or torch's symbolic one."""
    return dim_of(size.node.expr, names) if hasattr(size, "node") else Dim.of(int(size))


def hints_of(sizes: Any) -> list[int]:
    """The sizes of the example that torch traced with."""
    return [int(size.node.hint) if is_symbolic(size) else int(size) for size in sizes]


def limits_of(value_range: Any) -> tuple[int, int | None]:
    """The ends of torch's range of a symbol; its infinity is no integer."""
    low, high = value_range.lower, value_range.upper
    return max(int(low), 0) if low.is_Integer else 0, int(high) if high.is_Integer else None


def dim_of(expression: Any, names: Mapping[str, Dim]) -> Dim:
    """The dim of a sympy expression whose symbols have these names."""
    if expression.is_Integer:
        return Dim.of(int(expression))
    if expression.is_Symbol:
        return names[expression.name]
    kind = type(expression).__name__
    if kind in _ROUNDED and _is_quotient(expression.args[0]):
        num, den = (dim_of(part, names) for part in expression.args[0].args)
        if kind != "TruncToInt" or num.symbol is not None:  # a size is not negative
            return _ROUNDED[kind](num, den)
    if kind not in _KINDS or (kind == "Pow" and not _is_natural(expression.args[1])):
        fix = "declare the axes of this input so that its sizes are sums and products of them"
        raise UnsupportedModelError("an input", {f"the size {expression}": [""]}, fix)
    return _KINDS[kind]([dim_of(part, names) for part in expression.args])


def _is_quotient(expression: Any) -> bool:
    """A size divided by a number of which floats below 2**52 have the integer part right."""
    if type(expression).__name__ != "IntTrueDiv":
        return False
    den = expression.args[1]
    return bool(den.is_Integer) and int(den) > 0


def _is_natural(exponent: Any) -> bool:
    return bool(exponent.is_Integer) and int(exponent) >= 0


_ROUNDED: dict[str, Callable[[Dim, Dim], Dim]] = {
    "FloorToInt": lambda num, den: num // den,
    "TruncToInt": lambda num, den: num // den,
    "CeilToInt": ceildiv,
}
"""Integers that Python makes of a quotient: `math.ceil(n / 2)`."""

_KINDS: dict[str, Callable[[list[Dim]], Dim]] = {
    "Add": lambda parts: sum(parts, Dim.of(0)),
    "Mul": product,
    "Pow": lambda parts: product([parts[0]] * (parts[1].constant or 0)),
    "FloorDiv": lambda parts: parts[0] // parts[1],
    "CleanDiv": lambda parts: parts[0] // parts[1],
    "Mod": lambda parts: parts[0] % parts[1],
    "PythonMod": lambda parts: parts[0] % parts[1],
    "Max": lambda parts: reduce(maximum, parts),
    "Min": lambda parts: reduce(minimum, parts),
}
