"""Ops as they were before opset 7, when broadcasting was an attribute of each node.

broadcast=0     operands have one shape
broadcast=1     the second one has some axes of the first, which are its last, or begin at `axis`
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from anyshape.frontend.builder.axes import normal_axis
from anyshape.frontend.builder.tensor import Tensor
from anyshape.frontend.builder.tracer import active
from anyshape.frontend.onnx.calls import Call, OpEntry, entry, entry_for
from anyshape.frontend.onnx.entries.activations import prelu
from anyshape.frontend.onnx.entries.layers import batch_normalization, gemm, scaled
from anyshape.sym import Dim, Equal

BEFORE = ("Add", "Sub", "Mul", "Div", "Pow", "And", "Or", "Xor", "Equal", "Less", "Greater")


def _aligned(call: Call, x: Tensor, y: Tensor, axis: int | None, broadcast: int) -> Tensor:
    """The second operand with an axis for each of the first."""
    if not broadcast and (axis is not None or y.ndim != x.ndim):
        raise call.invalid(f"has inputs {x.type} and {y.type}, and does not broadcast")
    first = x.ndim - y.ndim if axis is None else normal_axis(axis, x.ndim)
    behind = x.ndim - first - y.ndim
    if first < 0 or behind < 0:
        raise call.invalid(f"broadcasts {y.type} from axis {first} of {x.type}")
    for own, other in zip(x.shape[first:], y.shape, strict=False):
        if not (broadcast and other == 1):
            active().require(Equal(own, other), f"{call.op} of opset {call.version}")
    return y.reshape((*y.shape, *(Dim.of(1),) * behind))


def _early(later: OpEntry) -> Callable[..., Any]:
    def apply(
        call: Call, x: Tensor, y: Tensor, *, axis: int | None = None, broadcast: int = 0
    ) -> Any:
        return later.function(call, x, _aligned(call, x, y, axis, broadcast))

    return apply


for _name in BEFORE:
    _later = entry_for("", _name, 7)
    assert _later is not None, "the table has what came after"
    entry(_name)(_early(_later))


@entry("Gemm")
def early_gemm(
    call: Call,
    a: Tensor,
    b: Tensor,
    c: Tensor,
    *,
    alpha: float = 1.0,
    beta: float = 1.0,
    broadcast: int = 0,
    transA: int = 0,  # noqa: N803 - the op's own names
    transB: int = 0,  # noqa: N803
) -> Tensor:
    product = gemm(call, a, b, alpha=alpha, transA=transA, transB=transB)
    return product + scaled(call, _aligned(call, product, c, None, broadcast), beta)


@entry("PRelu")
def early_prelu(call: Call, x: Tensor, slope: Tensor) -> Tensor:
    """One slope, or one for each channel."""
    if slope.ndim != 1:
        raise call.invalid(f"has slopes {slope.type}")
    behind = (Dim.of(1),) * max(0, x.ndim - 2)
    return prelu(call, x, slope if slope.shape[0] == 1 else slope.reshape((-1, *behind)))


@entry("BatchNormalization", since=6)
def early_batch_normalization(
    call: Call,
    x: Tensor,
    scale: Tensor,
    bias: Tensor,
    mean: Tensor,
    variance: Tensor,
    *,
    epsilon: float = 1e-5,
    is_test: int = 0,
    momentum: float = 0.9,
    spatial: int = 1,
) -> tuple[Any, ...]:
    if not is_test:
        raise active().refuse("batch norm that trains", "export with is_test=1")
    return batch_normalization(
        call, x, scale, bias, mean, variance, epsilon=epsilon, spatial=spatial
    )
