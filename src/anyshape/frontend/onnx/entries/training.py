"""What models contain for training that is arithmetic like any other: one step of an optimizer.

Inputs are the rate, the number of steps, then all tensors, all gradients, and all of what each
optimizer keeps; results are the tensors after the step and what it keeps then.
"""

from __future__ import annotations

from anyshape.frontend.builder import elementwise as ew
from anyshape.frontend.builder.convert import cast_to
from anyshape.frontend.builder.functions import sqrt
from anyshape.frontend.builder.tensor import Tensor
from anyshape.frontend.onnx.calls import Call, entry

DOMAIN = "ai.onnx.preview.training"


def _columns(call: Call, tensors: tuple[Tensor, ...], kinds: int) -> list[tuple[Tensor, ...]]:
    count, rest = divmod(len(tensors), kinds)
    if rest:
        raise call.invalid(f"has {len(tensors)} tensors, which are no multiple of {kinds}")
    return [tensors[kind * count : (kind + 1) * count] for kind in range(kinds)]


def _by_kind(rows: list[tuple[Tensor, ...]]) -> tuple[Tensor, ...]:
    return tuple(each for column in zip(*rows, strict=True) for each in column)


@entry("Adagrad", domain=DOMAIN)
def adagrad(
    call: Call,
    rate: Tensor,
    steps: Tensor,
    *tensors: Tensor,
    decay_factor: float = 0.0,
    epsilon: float = 1e-6,
    norm_coefficient: float = 0.0,
) -> tuple[Tensor, ...]:
    slower = rate / (1 + cast_to(steps, rate.dtype) * decay_factor)

    def step(x: Tensor, gradient: Tensor, squares: Tensor) -> tuple[Tensor, ...]:
        g = gradient + norm_coefficient * x
        total = squares + g * g
        return x - slower * g / (sqrt(total) + epsilon), total

    return _by_kind([step(*row) for row in zip(*_columns(call, tensors, 3), strict=True)])


@entry("Momentum", domain=DOMAIN)
def momentum(
    call: Call,
    rate: Tensor,
    steps: Tensor,
    *tensors: Tensor,
    alpha: float,
    beta: float,
    mode: str,
    norm_coefficient: float,
) -> tuple[Tensor, ...]:
    if mode not in ("standard", "nesterov"):
        raise call.invalid(f"has the mode {mode!r}")

    def step(x: Tensor, gradient: Tensor, kept: Tensor) -> tuple[Tensor, ...]:
        g = gradient + norm_coefficient * x
        share = ew.where(steps.reshape(()) > 0, beta, 1.0)
        after = alpha * kept + cast_to(share, x.dtype) * g
        return x - rate * (g + alpha * after if mode == "nesterov" else after), after

    return _by_kind([step(*row) for row in zip(*_columns(call, tensors, 3), strict=True)])


@entry("Adam", domain=DOMAIN)
def adam(
    call: Call,
    rate: Tensor,
    steps: Tensor,
    *tensors: Tensor,
    alpha: float = 0.9,
    beta: float = 0.999,
    epsilon: float = 1e-6,
    norm_coefficient: float = 0.0,
    norm_coefficient_post: float = 0.0,
) -> tuple[Tensor, ...]:
    number = cast_to(steps.reshape(()), rate.dtype)
    first = steps.reshape(()) > 0
    corrected = rate * sqrt(1 - ew.power(beta, number)) / (1 - ew.power(alpha, number))
    adjusted = ew.where(first, corrected, rate)

    def step(x: Tensor, gradient: Tensor, mean: Tensor, square: Tensor) -> tuple[Tensor, ...]:
        g = gradient + norm_coefficient * x
        v = alpha * mean + (1 - alpha) * g
        h = beta * square + (1 - beta) * g * g
        moved = x - adjusted * v / (sqrt(h) + epsilon)
        return (1 - norm_coefficient_post) * moved, v, h

    return _by_kind([step(*row) for row in zip(*_columns(call, tensors, 4), strict=True)])
