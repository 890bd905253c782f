"""Matrix products and layers made of one."""

from __future__ import annotations

from typing import Any

from anyshape.frontend.aten.calls import Call, NoEntryError, as_dtype, entry
from anyshape.frontend.aten.entries.movement import captured_for
from anyshape.frontend.aten.value_checks import op_name
from anyshape.frontend.builder import compound
from anyshape.frontend.builder.dot import grouped_dot, matmul
from anyshape.frontend.builder.movement import matrix_transpose
from anyshape.frontend.builder.tensor import Tensor
from anyshape.ir.types import DType
from anyshape.sym import Dim, NotEqual


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


@entry("aten.addmm.default", "aten.baddbmm.default", "aten.addmv.default")
def addmm(
    call: Call, bias: Tensor, x: Tensor, y: Tensor, *, beta: float = 1, alpha: float = 1
) -> Tensor:
    if (beta, alpha) == (1, 1) and bias.ndim == 1 and y.ndim == 2 and bias.shape[0] == y.shape[1]:
        return compound.dense(x, y, bias)
    multiplied = matmul(x, y)
    scaled = multiplied if alpha == 1 else multiplied * as_dtype(alpha, call.dtype)
    return scaled + (bias if beta == 1 else bias * as_dtype(beta, call.dtype))


@entry("transformers.grouped_mm_fallback.default")
def grouped_mm_fallback(call: Call, x: Tensor, weight: Tensor, offsets: Tensor) -> Tensor:
    return grouped_dot(x, weight, offsets)


@entry("aten._grouped_mm.default")
def grouped_mm(
    call: Call,
    x: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    bias: Tensor | None = None,
    out_dtype: DType | None = None,
) -> Tensor:
    """Rows of `x` in groups; torch's other forms (both of rank 2, or 3) are not taken."""
    if offsets is None or bias is not None or (x.ndim, weight.ndim) != (2, 3):
        raise NoEntryError
    return call.operand(grouped_dot(x, weight, offsets))


@entry("aten.cov.default", "aten.corrcoef.default")
def covariance(call: Call, x: Tensor, **_: Any) -> Tensor:
    """A number instead of a matrix where there is one row; called on the host."""
    if x.ndim == 2 and x.shape[0].constant is None:
        why = f"{op_name(call)} gives a matrix, and a number for one row"
        captured_for(NotEqual(x.shape[0], Dim.of(1)), why)
    raise NoEntryError
