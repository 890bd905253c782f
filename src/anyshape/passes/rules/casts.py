"""Laws of cast."""

from __future__ import annotations

from typing import cast

from anyshape.ir.rewrite import Match, Refusal, Rule, Var, attr, op
from anyshape.ir.types import DType, bf16, f16, f32, f64
from anyshape.passes.rules.common import keeps_type

x = Var("x")

_PRECISION = {f16: 11, bf16: 8, f32: 24, f64: 53}
"""Bits of the significand, the leading one included."""

_WIDER = {f16: (f32, f64), bf16: (f32, f64), f32: (f64,)}
"""Floats that hold every value of another."""


def represents(wide: DType, narrow: DType) -> bool:
    """Whether every value of `narrow` is a value of `wide`."""
    if wide == narrow or narrow.kind == "bool":
        return True
    if narrow.is_float:
        return wide in _WIDER.get(narrow, ())
    magnitude = narrow.bits - (narrow.kind == "int")
    if wide.is_float:
        return magnitude <= _PRECISION[wide]
    signs = wide.kind == "int" or narrow.kind == "uint"
    return signs and magnitude <= wide.bits - (wide.kind == "int")


def middle_is_exact(found: Match) -> Refusal | None:
    """The first cast loses nothing, and the direct cast rounds as the second does."""
    start, middle = found["x"].tensor.dtype, cast(DType, found.attrs["middle"])
    if not represents(middle, start):
        return Refusal(f"{middle} cannot hold every {start}")
    if start.is_integer and middle.is_float and found.root.tensor.dtype.is_float:
        return Refusal(f"{start} may be rounded twice on the direct way to a float")
    return None


RULES: tuple[Rule, ...] = (
    Rule("cast-same", "cast(x, dtype of x) -> x", op("cast", x), x, (keeps_type,)),
    Rule(
        "cast-cast",
        "cast(cast(x, m), t) -> cast(x, t) where m holds every value of x",
        op("cast", op("cast", x, to=attr("middle")), to=attr("to")),
        op("cast", x, to=attr("to")),
        (middle_is_exact,),
    ),
)
