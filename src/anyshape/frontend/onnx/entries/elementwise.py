"""Elements one by one: arithmetic, comparisons, logic, rounding, conversion.

Operands have one dtype, which results keep; ONNX promotes nothing. What is computed of 16-bit
floats in several steps is computed in f32 and rounded once.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from anyshape.frontend.builder import elementwise as ew
from anyshape.frontend.builder.convert import asarray, cast_to, widened
from anyshape.frontend.builder.functions import FUNCTIONS
from anyshape.frontend.builder.quotients import fmod, trunc_divide
from anyshape.frontend.builder.source import full
from anyshape.frontend.builder.tensor import Tensor
from anyshape.frontend.builder.tracer import active
from anyshape.frontend.imported.value_checks import check_divisor
from anyshape.frontend.onnx.calls import Call, entry
from anyshape.frontend.onnx.dtypes import dtype_of_code
from anyshape.frontend.onnx.numbers import array_in
from anyshape.ir.types import DType, bool_, f64

Unary = Callable[[Tensor], Tensor]
Binary = Callable[[Tensor, Tensor], Tensor]


def same_dtype(call: Call, *tensors: Tensor) -> None:
    """ONNX has no promotion: operands of several dtypes are a mistake of the model."""
    if len({each.dtype for each in tensors}) > 1:
        raise call.invalid(f"has inputs of types {', '.join(str(t.dtype) for t in tensors)}")


# --- one operand ----------------------------------------------------------------------------------


def _unary(function: Unary) -> Callable[..., Tensor]:
    def apply(call: Call, x: Tensor) -> Tensor:
        return function(x)

    return apply


_UNARY: dict[str, Unary] = {
    **{name.capitalize(): FUNCTIONS[name] for name in (
        "acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "erf", "exp", "log",
        "sigmoid", "sin", "sinh", "sqrt", "tan", "tanh",
    )},
    "Abs": ew.abs, "Ceil": ew.ceil, "Floor": ew.floor, "Neg": ew.negative, "Round": ew.round,
    "Reciprocal": ew.reciprocal, "Sign": ew.sign, "Not": ew.logical_not, "IsNaN": ew.isnan,
    "BitwiseNot": ew.bitwise_not,
}  # fmt: skip

for _name, _function in _UNARY.items():
    entry(_name)(_unary(_function))


@entry("IsInf")
def is_inf(call: Call, x: Tensor, *, detect_negative: int = 1, detect_positive: int = 1) -> Tensor:
    found = ew.isinf(x)
    if not detect_negative:
        found = ew.logical_and(found, x > 0)
    return found if detect_positive else ew.logical_and(found, x < 0)


@entry("Identity")
def identity(call: Call, x: Tensor) -> Tensor:
    return x


# --- two operands ---------------------------------------------------------------------------------


def _binary(function: Binary) -> Callable[..., Tensor]:
    def apply(call: Call, x: Tensor, y: Tensor) -> Tensor:
        same_dtype(call, x, y)
        return function(x, y)

    return apply


_BINARY: dict[str, Binary] = {
    "Add": ew.add, "Sub": ew.subtract, "Mul": ew.multiply, "And": ew.logical_and,
    "Or": ew.logical_or, "Xor": ew.logical_xor, "Equal": ew.equal, "Less": ew.less,
    "Greater": ew.greater, "LessOrEqual": ew.less_equal, "GreaterOrEqual": ew.greater_equal,
    "BitwiseAnd": ew.bitwise_and, "BitwiseOr": ew.bitwise_or, "BitwiseXor": ew.bitwise_xor,
}  # fmt: skip

for _name, _function in _BINARY.items():
    entry(_name, since=7)(_binary(_function))


@entry("Div", since=7)
def div(call: Call, x: Tensor, y: Tensor) -> Tensor:
    """Quotients of integers are rounded toward zero."""
    same_dtype(call, x, y)
    if x.dtype.is_float:
        return ew.divide(x, y)
    result = trunc_divide(x, y)
    check_divisor(call.op, y, result.shape)
    return result


@entry("Mod", since=10)
def mod(call: Call, x: Tensor, y: Tensor, *, fmod: int = 0) -> Tensor:
    """The remainder with the sign of the divisor, or of the dividend."""
    same_dtype(call, x, y)
    result = _fmod(x, y) if fmod else ew.mod(x, y)
    if not x.dtype.is_float:
        check_divisor(call.op, y, result.shape)
    return result


_fmod = fmod


@entry("Pow", since=7)
def power(call: Call, x: Tensor, y: Tensor) -> Tensor:
    """In the dtype of the base. Powers of integers go by way of f64, which has all up to 2**53."""
    if x.dtype.is_float:
        if y.dtype.is_float and y.dtype.bits > x.dtype.bits:
            return cast_to(ew.power(cast_to(x, y.dtype), y), x.dtype)
        return ew.power(x, cast_to(y, x.dtype))
    found = ew.power(cast_to(x, f64), cast_to(y, f64))
    return cast_to(ew.round(found) if y.dtype.is_integer else found, x.dtype)


@entry("BitShift")
def bit_shift(call: Call, x: Tensor, y: Tensor, *, direction: str) -> Tensor:
    """By products with powers of 2, and quotients: 1, 2, 4 … places, as the bits of `y` say. One
    that is shifted by all bits, or by a negative number of them, keeps nothing but its sign."""
    same_dtype(call, x, y)
    bits, shifted = x.dtype.bits, x
    for step in range(bits.bit_length() - 1):
        places = 1 << step
        chosen = ew.not_equal(ew.bitwise_and(y, asarray(places, y.dtype)), 0)
        shifted = ew.where(chosen, _shifted(x.dtype, shifted, places, direction), shifted)
    rest = asarray(0, x.dtype)
    if direction == "RIGHT" and x.dtype.kind == "int":
        rest = ew.where(x < 0, asarray(-1, x.dtype), rest)
    within = y < asarray(bits, y.dtype)
    within = ew.logical_and(within, y >= 0) if y.dtype.kind == "int" else within
    return ew.where(within, shifted, rest)


def _shifted(dtype: DType, x: Tensor, places: int, direction: str) -> Tensor:
    """Quotients are rounded down, as an arithmetic shift does it."""
    factor = asarray(2**places, dtype)
    return x * factor if direction == "LEFT" else x // factor


# --- several --------------------------------------------------------------------------------------


def _several(function: Binary) -> Callable[..., Tensor]:
    def apply(call: Call, *tensors: Tensor) -> Tensor:
        if not tensors:
            raise call.invalid("has no inputs")
        same_dtype(call, *tensors)
        return reduce(function, tensors)

    return apply


for _name, _function in {"Max": ew.maximum, "Min": ew.minimum, "Sum": ew.add}.items():
    entry(_name, since=6)(_several(_function))


@entry("Mean", since=6)
def mean(call: Call, *tensors: Tensor) -> Tensor:
    same_dtype(call, *tensors)
    wide = [widened(each) for each in tensors]
    return cast_to(reduce(ew.add, wide) / float(len(wide)), tensors[0].dtype)


# --- selection and conversion ---------------------------------------------------------------------


@entry("Where", since=9)
def where(call: Call, condition: Tensor, x: Tensor, y: Tensor) -> Tensor:
    same_dtype(call, x, y)
    return ew.where(condition, x, y)


@entry("Clip", since=6)
def clip_by_attributes(
    call: Call, x: Tensor, *, min: float | None = None, max: float | None = None
) -> Tensor:
    bounds = (None if bound is None else asarray(bound, x.dtype) for bound in (min, max))
    return ew.clip(x, *bounds)


@entry("Clip", since=11)
def clip(
    call: Call, x: Tensor, least: Tensor | None = None, greatest: Tensor | None = None
) -> Tensor:
    bounds = (None if bound is None else bound.reshape(()) for bound in (least, greatest))
    return ew.clip(x, *bounds)


@entry("Cast", since=6)
def cast(call: Call, x: Tensor, *, to: int, saturate: int = 1, round_mode: str = "up") -> Tensor:
    """`saturate` and `round_mode` are for types of 8 bits, which are refused."""
    dtype = dtype_of_code(to, str(call))
    return ew.as_bool(x) if dtype == bool_ else cast_to(x, dtype)


@entry("CastLike")
def cast_like(
    call: Call, x: Tensor, like: Tensor, *, saturate: int = 1, round_mode: str = "up"
) -> Tensor:
    return ew.as_bool(x) if like.dtype == bool_ else cast_to(x, like.dtype)


@entry("Dropout", since=7)
def dropout_of_inference(call: Call, x: Tensor, *, ratio: float = 0.5) -> tuple[Tensor, Tensor]:
    """Nothing is dropped. The mask has the type of `x`, and nothing is in it, as in onnxruntime."""
    return x, full(x.shape, 0, x.dtype)


@entry("Dropout", since=10)
def dropout_with_a_mask(call: Call, x: Tensor, *, ratio: float = 0.5) -> tuple[Tensor, Tensor]:
    """The same; the mask is of bools."""
    return x, full(x.shape, False, bool_)


@entry("Dropout", since=12)
def dropout(
    call: Call,
    x: Tensor,
    ratio: Tensor | None = None,
    training_mode: Tensor | None = None,
    *,
    seed: int = 0,
) -> tuple[Tensor, Tensor]:
    if training_mode is not None:
        drops = ratio is None or bool(array_in(ratio, "ratio").item())
        if array_in(training_mode, "training_mode").item() and drops:
            raise active().refuse("dropout in training mode", "export the model for inference")
    return x, _all_true(x)


def _all_true(x: Tensor) -> Tensor:
    return full(x.shape, True, bool_)
