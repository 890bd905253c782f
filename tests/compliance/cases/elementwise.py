"""Elementwise ops: torch in f64 for floats, Python integers for integers."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import mpmath
import numpy as np
import torch
from tests.compliance.case import Collection, Rng, emit
from tests.compliance.expect import as_torch, by_integers, by_torch
from tests.compliance.inputs import values
from tests.compliance.tolerance import ANY_ZERO, ELEMENTWISE, EXACT, Tolerance

from anyshape.ir import DType
from anyshape.ir.types import ALL_DTYPES, FLOATS, INTEGERS, NUMERIC, SIGNED, bool_, i32

CASES = Collection()

Expect = Callable[..., Any]


# --- unary ----------------------------------------------------------------------------------------


def unary(
    op: str,
    dtypes: Sequence[DType],
    of_floats: Expect,
    of_integers: Expect | None = None,
    result: str = "",
    tolerance: Tolerance = ELEMENTWISE,
) -> None:
    for dtype in dtypes:
        expect = of_floats if dtype.is_float or of_integers is None else of_integers
        CASES.add(
            op, str(dtype), (f"{dtype}[batch, seq]",), emit(op),
            (f"{result or dtype}[batch, seq]",), expect, tolerance=tolerance,
        )  # fmt: skip
    first, final = dtypes[0], result or dtypes[0]
    for shape, inferred in [
        ("[]", "[]"),
        ("[seq//2 + 1, seq, 3]", "[seq//2 + 1, seq, 3]"),
        ("[?, 4, ?]", "[?0, 4, ?1]"),
    ]:
        CASES.add(
            op, f"shape {shape}", (f"{first}{shape}",), emit(op), (f"{final}{inferred}",),
            of_floats, tolerance=tolerance,
        )  # fmt: skip


def _sign(x: Any) -> Any:
    """NaN stays NaN, as in NumPy and ONNX; torch makes it 0."""
    return np.where(np.isnan(x), x, by_torch(torch.sign)(x))


def _sign_of_integer(x: Any) -> Any:
    return (x > 0).astype(object) - (x < 0).astype(object)


SIGNED_NUMBERS = FLOATS + SIGNED
NEAR_ZEROS = Tolerance(ulps=16, absolute=32)  # of functions that have some

unary("neg", SIGNED_NUMBERS, by_torch(torch.neg), by_integers(operator.neg))
unary("abs", SIGNED_NUMBERS, by_torch(torch.abs), by_integers(abs))
unary("sign", SIGNED_NUMBERS, _sign, by_integers(_sign_of_integer), tolerance=ANY_ZERO)
unary("floor", FLOATS, by_torch(torch.floor))
unary("ceil", FLOATS, by_torch(torch.ceil))
unary("round", FLOATS, by_torch(torch.round))
unary("exp", FLOATS, by_torch(torch.exp))
unary("expm1", FLOATS, by_torch(torch.expm1))
unary("log", FLOATS, by_torch(torch.log))
unary("log1p", FLOATS, by_torch(torch.log1p))
unary("sqrt", FLOATS, by_torch(torch.sqrt))
unary("rsqrt", FLOATS, by_torch(torch.rsqrt))
unary("sin", FLOATS, by_torch(torch.sin))
unary("cos", FLOATS, by_torch(torch.cos))
unary("tan", FLOATS, by_torch(torch.tan))
unary("sinh", FLOATS, by_torch(torch.sinh))
unary("cosh", FLOATS, by_torch(torch.cosh))
unary("tanh", FLOATS, by_torch(torch.tanh))
for inverse in ("atan", "asin", "acos", "asinh", "acosh", "atanh"):
    unary(inverse, FLOATS, by_torch(getattr(torch, inverse)))
unary("erf", FLOATS, by_torch(torch.erf))
for special in ("erfc", "erfinv", "lgamma"):
    unary(special, FLOATS, by_torch(getattr(torch, special)), tolerance=NEAR_ZEROS)


def _digamma(x: Any) -> Any:
    """torch's loses a few digits near poles."""

    def each(number: float) -> float:
        if number == 0 or math.isinf(number) or math.isnan(number):
            return float(torch.digamma(torch.tensor(number, dtype=torch.float64)))
        is_pole = number < 0 and number == math.floor(number)
        return math.nan if is_pole else float(mpmath.digamma(mpmath.mpf(number)))

    return np.vectorize(each, otypes=[np.float64])(x)


unary("digamma", FLOATS, _digamma, tolerance=NEAR_ZEROS)
unary("sigmoid", FLOATS, by_torch(torch.sigmoid))
unary("logical_not", (bool_,), by_torch(torch.logical_not))
unary("is_nan", FLOATS, by_torch(torch.isnan), result="bool")
unary("is_inf", FLOATS, by_torch(torch.isinf), result="bool")


# --- binary ---------------------------------------------------------------------------------------

BROADCASTS: list[tuple[str, str, str, str, tuple[dict[str, int], ...]]] = [
    # left, right, result, implied fact, sizes
    ("[batch, seq]", "[batch, seq]", "[batch, seq]", "", ()),
    ("[batch, 1]", "[1, seq]", "[batch, seq]", "", ()),
    ("[]", "[batch, 3, seq]", "[batch, 3, seq]", "", ()),
    (
        "[2*((n + 31)//32), n]", "[(n + 15)//16, 1]",
        "[bcast((n + 15)//16, 2*((n + 31)//32)), n]",
        "broadcastable(2*((n + 31)//32), (n + 15)//16)",
        ({"n": 5}, {"n": 20}, {"n": 40}),
    ),
    (
        "[batch, n - 1]", "[m + 1]", "[batch, bcast(m + 1, n - 1)]",
        "broadcastable(n - 1, m + 1)",
        ({"batch": 2, "n": 5, "m": 3}, {"batch": 2, "n": 2, "m": 3}, {"batch": 2, "n": 5, "m": 0}),
    ),
    (
        "[?, 4]", "[batch, 1]", "[bcast(?0, batch), 4]", "broadcastable(?0, batch)",
        ({"?0": 3, "batch": 3}, {"?0": 1, "batch": 5}, {"?0": 5, "batch": 1}),
    ),
    ("[?]", "[4]", "[4]", "broadcastable(?0, 4)", ({"?0": 4}, {"?0": 1})),
    (
        "[?, seq]", "[?, seq]", "[bcast(?0, ?1), seq]", "broadcastable(?0, ?1)",
        ({"?0": 3, "?1": 3, "seq": 2}, {"?0": 1, "?1": 0, "seq": 3}),
    ),
]  # fmt: skip


def binary(
    op: str,
    dtypes: Sequence[DType],
    of_floats: Expect,
    of_integers: Expect | None = None,
    result: str = "",
    tolerance: Tolerance = ELEMENTWISE,
    fill: Any = None,
) -> None:
    for dtype in dtypes:
        expect = of_floats if dtype.is_float or of_integers is None else of_integers
        CASES.add(
            op, str(dtype), (f"{dtype}[batch, seq]", f"{dtype}[seq]"), emit(op),
            (f"{result or dtype}[batch, seq]",), expect, tolerance=tolerance, fill=fill,
        )  # fmt: skip
    dtype, final = dtypes[0], result or dtypes[0]
    expect = of_floats if dtype.is_float or of_integers is None else of_integers
    for left, right, inferred, fact, sizes in BROADCASTS:
        CASES.add(
            op, f"{left} with {right}", (f"{dtype}{left}", f"{dtype}{right}"), emit(op),
            (f"{final}{inferred}",), expect, (fact,) if fact else (), sizes=sizes,
            tolerance=tolerance, fill=fill,
        )  # fmt: skip


def _float_mod(x: Any, y: Any) -> Any:
    """Python's own %; torch gives NaN for a remainder of infinity in its vectorised kernels."""

    def remainder(left: float, right: float) -> float:
        return left % right if right else math.nan

    return np.vectorize(remainder, otypes=[np.float64])(x, y)


def _nonzero_divisor(rng: Rng, shapes: list[tuple[int, ...]], dtypes: list[DType]) -> list[Any]:
    """Integer division by zero means nothing; floats follow IEEE."""
    left, right = (values(rng, s, d, special=True) for s, d in zip(shapes, dtypes, strict=True))
    if dtypes[1].is_integer:
        right = np.where(right == 0, np.array(3, right.dtype), right)
    return [left, right]


binary("add", NUMERIC, by_torch(torch.add), by_integers(operator.add))
binary("sub", NUMERIC, by_torch(torch.sub), by_integers(operator.sub))
binary("mul", NUMERIC, by_torch(torch.mul), by_integers(operator.mul))
binary("div", FLOATS, by_torch(torch.div))
binary(
    "floordiv", NUMERIC, by_torch(torch.floor_divide), by_integers(operator.floordiv),
    tolerance=ANY_ZERO, fill=_nonzero_divisor,
)  # fmt: skip
binary(
    "mod", NUMERIC, _float_mod, by_integers(operator.mod),
    tolerance=ANY_ZERO, fill=_nonzero_divisor,
)  # fmt: skip
binary("pow", FLOATS, by_torch(torch.pow))
binary("maximum", NUMERIC, by_torch(torch.maximum), by_integers(np.maximum), tolerance=ANY_ZERO)
binary("minimum", NUMERIC, by_torch(torch.minimum), by_integers(np.minimum), tolerance=ANY_ZERO)
binary("copysign", FLOATS, by_torch(torch.copysign))
binary("logical_and", (bool_,), by_torch(torch.logical_and))
binary("logical_or", (bool_,), by_torch(torch.logical_or))
binary("bitwise_and", INTEGERS, by_integers(operator.and_))
binary("bitwise_or", INTEGERS, by_integers(operator.or_))
binary("bitwise_xor", INTEGERS, by_integers(operator.xor))


def _shifted(left: bool) -> Callable[..., Any]:
    """Of Python's integers, which have as many bits as it takes."""

    def shift(x: int, y: int) -> int:
        count = min(y, 64) if y >= 0 else 64
        return (0 if y < 0 else x << count) if left else x >> count

    return np.frompyfunc(shift, 2, 1)


def _shift_counts(rng: Rng, shapes: list[tuple[int, ...]], dtypes: list[DType]) -> list[Any]:
    """Mostly within the bits of a number, and some outside."""
    numbers = values(rng, shapes[0], dtypes[0], special=True)
    low = 0 if dtypes[1].kind == "uint" else -2
    return [numbers, rng.integers(low, dtypes[1].bits + 3, shapes[1]).astype(dtypes[1].numpy)]


binary("left_shift", INTEGERS, by_integers(_shifted(True)), fill=_shift_counts)
binary("right_shift", INTEGERS, by_integers(_shifted(False)), fill=_shift_counts)


def _pair_dot(x: int, y: int) -> int:
    """By the bytes of both numbers."""
    pairs = (
        [
            int.from_bytes(n.to_bytes(4, "little", signed=True)[at : at + 2], "little", signed=True)
            for at in (0, 2)
        ]
        for n in (x, y)
    )
    return sum(a * b for a, b in zip(*pairs, strict=True))


binary("pair_dot", (i32,), by_integers(np.frompyfunc(_pair_dot, 2, 1)))


def _compared(function: Expect) -> Expect:
    return lambda x, y: function(x.astype(object), y.astype(object)).astype(np.bool_)


for _op, _torch, _python in [
    ("eq", torch.eq, operator.eq),
    ("ne", torch.ne, operator.ne),
    ("lt", torch.lt, operator.lt),
    ("le", torch.le, operator.le),
    ("gt", torch.gt, operator.gt),
    ("ge", torch.ge, operator.ge),
]:
    _dtypes = ALL_DTYPES if _op in ("eq", "ne") else NUMERIC
    binary(_op, _dtypes, by_torch(_torch), _compared(_python), result="bool")


# --- select, cast ---------------------------------------------------------------------------------

for _dtype in ALL_DTYPES:
    CASES.add(
        "select", str(_dtype), ("bool[batch, 1]", f"{_dtype}[seq]", f"{_dtype}[batch, seq]"),
        emit("select"), (f"{_dtype}[batch, seq]",), np.where, tolerance=EXACT,
    )  # fmt: skip
CASES.add(
    "select", "scalars", ("bool[seq//2 + 1, seq]", "f32[]", "f32[]"), emit("select"),
    ("f32[seq//2 + 1, seq]",), np.where,
)  # fmt: skip
CASES.add(
    "select", "fresh", ("bool[?]", "i64[4]", "i64[1]"), emit("select"), ("i64[4]",), np.where,
    ("broadcastable(?0, 4)",), sizes=({"?0": 4},),
)  # fmt: skip


def _in_range(rng: Rng, shapes: list[tuple[int, ...]], dtypes: list[DType]) -> list[Any]:
    """Numbers that every dtype has room for, with fractions where there are any."""
    array = rng.uniform(0, 100, shapes[0])
    return [array.astype(dtypes[0].numpy)]


def _cast_between_numbers(target: DType) -> Expect:
    def convert(number: Any) -> Any:
        return bool(number) if target is bool_ else math.trunc(float(number))

    def expect(x: Any) -> Any:
        if target.is_float:
            return x.astype(np.float64).astype(target.numpy)
        flat = [convert(number) for number in x.reshape(-1)]
        return np.array(flat, target.numpy).reshape(x.shape)

    return expect


for _from in ALL_DTYPES:
    for _to in ALL_DTYPES:
        CASES.add(
            "cast", f"{_from} to {_to}", (f"{_from}[seq//2 + 1, batch]",), emit("cast", to=_to),
            (f"{_to}[seq//2 + 1, batch]",), _cast_between_numbers(_to), fill=_in_range,
        )  # fmt: skip

_TORCH_FLOATS = {
    "f64": torch.float64, "f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16,
}  # fmt: skip


def _rounded_by_torch(to: DType) -> Expect:
    return lambda x: as_torch(x).to(_TORCH_FLOATS[to.name]).to(torch.float64).numpy()


for _to in FLOATS:
    CASES.add(
        "cast", f"f32 with special values to {_to}", ("f32[n]",), emit("cast", to=_to),
        (f"{_to}[n]",), _rounded_by_torch(_to), sizes=({"n": 200},),
    )  # fmt: skip
