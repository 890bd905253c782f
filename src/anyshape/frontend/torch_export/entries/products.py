"""Matrix products and layers made of one."""

from __future__ import annotations

from anyshape.frontend.builder import compound
from anyshape.frontend.builder.dot import matmul
from anyshape.frontend.builder.movement import matrix_transpose
from anyshape.frontend.builder.tensor import Tensor
from anyshape.frontend.torch_export.calls import Call, entry


@entry(
    "aten.mm.default",
    "aten.bmm.default",
    "aten.matmul.default",
    "aten.mv.default",
    "aten.dot.default",
)
def product(call: Call, x: Tensor, y: Tensor) -> Tensor:
    return matmul(x, y)


@entry("aten.linear.default")
def linear(call: Call, x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """torch's weights are [out, in]."""
    return compound.dense(x, matrix_transpose(weight), bias)


@entry("aten.addmm.default", "aten.baddbmm.default")
def addmm(
    call: Call, bias: Tensor, x: Tensor, y: Tensor, *, beta: float = 1, alpha: float = 1
) -> Tensor:
    if (beta, alpha) == (1, 1) and bias.ndim == 1 and y.ndim == 2:
        return compound.dense(x, y, bias)
    found = matmul(x, y)
    found = found if alpha == 1 else found * alpha
    return found + (bias if beta == 1 else bias * beta)
