"""Matrix products and layers made of one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence, Set
from string import ascii_letters
from typing import Any

from anyshape.frontend.aten.calls import Call, NoEntryError, as_dtype, entry
from anyshape.frontend.aten.entries.movement import captured_for
from anyshape.frontend.aten.value_checks import op_name
from anyshape.frontend.builder import compound
from anyshape.frontend.builder.dot import grouped_dot, matmul
from anyshape.frontend.builder.einsum import einsum as builder_einsum
from anyshape.frontend.builder.movement import matrix_transpose, reshape
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
    """torch's weights are [out, in]. Layers are of floats; integers are multiplied and added."""
    columns = matrix_transpose(weight)
    if call.dtype.is_float:
        return compound.dense(x, columns, bias)
    multiplied = matmul(x, columns)
    return multiplied if bias is None else multiplied + bias


@entry("aten.addmm.default", "aten.baddbmm.default", "aten.addmv.default")
def addmm(
    call: Call, bias: Tensor, x: Tensor, y: Tensor, *, beta: float = 1, alpha: float = 1
) -> Tensor:
    is_layer = (beta, alpha) == (1, 1) and call.dtype.is_float and bias.ndim == 1 and y.ndim == 2
    if is_layer and bias.shape[0] == y.shape[1]:
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


@entry("aten.einsum.default")
def einsum(call: Call, equation: str, operands: Sequence[Tensor], *, path: Any = None) -> Tensor:
    """A size of 1 is repeated where another operand has more. Diagonals are torch's, and so are
    sums of narrow integers over what only one of several has, which it takes before products."""
    terms, result = _letters(equation, [x.ndim for x in operands])
    repeats = any(len(set(term)) != len(term) for term in terms)
    if repeats or (len(operands) > 1 and any(x.dtype != call.dtype for x in operands)):
        raise NoEntryError
    operands = [call.operand(x) for x in operands]
    sizes = zip(terms, operands, strict=True)
    many = {c for term, x in sizes for c, n in zip(term, x.shape, strict=True) if n != 1}
    pairs = [_without_ones(*each, many) for each in zip(terms, operands, strict=True)]
    left = ",".join(term for term, _ in pairs)
    return builder_einsum(f"{left}->{result}", *(x for _, x in pairs))


def _without_ones(term: str, x: Tensor, many: Set[str]) -> tuple[str, Tensor]:
    """Without axes of size 1 that another operand has more of."""
    kept = [axis for axis, c in enumerate(term) if x.shape[axis] != 1 or c not in many]
    shape = tuple(x.shape[axis] for axis in kept)
    return "".join(term[axis] for axis in kept), x if len(kept) == x.ndim else reshape(x, shape)


def _letters(equation: str, ranks: Sequence[int]) -> tuple[list[str], str]:
    """The letters of each operand and of the result, with letters in the place of dots."""
    left, arrow, result = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    unused = [c for c in ascii_letters if c not in equation]
    counts = [n - len(t.replace("...", "")) for t, n in zip(terms, ranks, strict=True)]
    dots = "".join(unused[: max(counts, default=0)])
    written = [
        term.replace("...", dots[len(dots) - count :])
        for term, count in zip(terms, counts, strict=True)
    ]
    if not arrow:
        counted = Counter(left.replace(",", "").replace(".", ""))
        result = "..." + "".join(sorted(c for c, n in counted.items() if n == 1))
    return written, result.replace("...", dots)
