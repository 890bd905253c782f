"""Activations. What is computed of 16-bit floats in several steps is rounded once."""

from __future__ import annotations

from collections.abc import Callable

from anyshape.frontend.builder import compound
from anyshape.frontend.builder import elementwise as ew
from anyshape.frontend.builder.convert import cast_to, widened
from anyshape.frontend.builder.functions import exp, expm1, log1p, sigmoid, tanh
from anyshape.frontend.builder.tensor import Tensor
from anyshape.frontend.onnx.calls import Call, entry
from anyshape.frontend.onnx.entries.elementwise import same_dtype


def _in_wide(x: Tensor, function: Callable[[Tensor], Tensor]) -> Tensor:
    return cast_to(function(widened(x)), x.dtype)


@entry("Relu")
def relu(call: Call, x: Tensor) -> Tensor:
    return compound.relu(x)


@entry("LeakyRelu")
def leaky_relu(call: Call, x: Tensor, *, alpha: float = 0.01) -> Tensor:
    return _in_wide(x, lambda wide: ew.where(wide < 0, wide * alpha, wide))


@entry("PRelu", since=7)
def prelu(call: Call, x: Tensor, slope: Tensor) -> Tensor:
    same_dtype(call, x, slope)
    return ew.where(x < 0, x * slope, x)


@entry("ThresholdedRelu")
def thresholded_relu(call: Call, x: Tensor, *, alpha: float = 1.0) -> Tensor:
    return _in_wide(x, lambda wide: ew.where(wide > alpha, wide, 0.0))


def _elu(x: Tensor, alpha: float) -> Tensor:
    return ew.where(x < 0, expm1(x) * alpha, x)


@entry("Elu")
def elu(call: Call, x: Tensor, *, alpha: float = 1.0) -> Tensor:
    return _in_wide(x, lambda wide: _elu(wide, alpha))


@entry("Selu")
def selu(
    call: Call, x: Tensor, *, alpha: float = 1.6732631921768188, gamma: float = 1.0507010221481323
) -> Tensor:
    return _in_wide(x, lambda wide: _elu(wide, alpha) * gamma)


@entry("Celu")
def celu(call: Call, x: Tensor, *, alpha: float = 1.0) -> Tensor:
    return _in_wide(x, lambda wide: ew.where(wide < 0, expm1(wide / alpha) * alpha, wide))


@entry("HardSigmoid")
def hard_sigmoid(call: Call, x: Tensor, *, alpha: float = 0.2, beta: float = 0.5) -> Tensor:
    return _in_wide(x, lambda wide: ew.clip(wide * alpha + beta, 0.0, 1.0))


@entry("HardSwish")
def hard_swish(call: Call, x: Tensor) -> Tensor:
    return _in_wide(x, lambda wide: wide * ew.clip(wide / 6.0 + 0.5, 0.0, 1.0))


@entry("Softplus")
def softplus(call: Call, x: Tensor) -> Tensor:
    """log(1 + exp(x)), written so that nothing overflows."""
    return _in_wide(x, stable_softplus)


def stable_softplus(x: Tensor) -> Tensor:
    return log1p(exp(-ew.abs(x))) + ew.maximum(x, 0.0)


@entry("Softsign")
def softsign(call: Call, x: Tensor) -> Tensor:
    return _in_wide(x, lambda wide: wide / (ew.abs(wide) + 1.0))


@entry("Mish")
def mish(call: Call, x: Tensor) -> Tensor:
    return _in_wide(x, lambda wide: wide * tanh(stable_softplus(wide)))


@entry("Gelu")
def gelu(call: Call, x: Tensor, *, approximate: str = "none") -> Tensor:
    if approximate not in ("none", "tanh"):
        raise call.invalid(f"has approximate={approximate!r}")
    return compound.gelu(x, "tanh" if approximate == "tanh" else "none")


@entry("Swish")
def swish(call: Call, x: Tensor, *, alpha: float = 1.0) -> Tensor:
    if alpha == 1.0:
        return compound.silu(x)
    return _in_wide(x, lambda wide: wide * sigmoid(wide * alpha))


@entry("Shrink", since=9)
def shrink(call: Call, x: Tensor, *, lambd: float = 0.5, bias: float = 0.0) -> Tensor:
    def shrunk(wide: Tensor) -> Tensor:
        above = ew.where(wide > lambd, wide - bias, 0.0)
        return ew.where(wide < -lambd, wide + bias, above)

    return _in_wide(x, shrunk)
