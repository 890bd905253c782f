"""What products mean: every one is an einsum of two operands, with a bound of its rounding."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from string import ascii_letters

import numpy as np
from tests.fuzz.against_numpy.dtypes import EPS, LARGEST, Array, NoMeaning, is_float, wide
from tests.fuzz.against_numpy.meaning.elementwise import FUNCTIONS
from tests.fuzz.against_numpy.meaning.operands import Operand, floating, strong, together
from tests.fuzz.against_numpy.meaning.reductions import sum_
from tests.fuzz.against_numpy.noise import Noisy, cast, coarse, rounded, settled, sum_noise

AxisPairs = tuple[Sequence[int], Sequence[int]]


def contracted(equation: str, left: Noisy, right: Noisy) -> Noisy:
    """`np.einsum` of two operands of one type; floats come in the type they are computed in."""
    if left.dtype == "bool":
        raise NoMeaning("products of bools")
    if not is_float(left.dtype):
        return _of_integers(equation, left, right)
    with np.errstate(all="ignore"):
        value = _multiplied_and_summed(equation, left.value, right.value)
        error = _error(equation, left, right, value)
    return rounded(wide(left.dtype), value, error)


def _einsum(equation: str, a: Array, b: Array) -> Array:
    """NumPy's, but for sums of nothing: of long doubles these are what was in memory before."""
    result = np.asarray(np.einsum(equation, a, b))
    return result if a.size and b.size else np.zeros(result.shape, result.dtype)


def _multiplied_and_summed(equation: str, a: Array, b: Array) -> Array:
    """By the definition, in this order: `np.einsum` may sum a letter that one operand has alone
    before it multiplies, which is another result where there are infinities."""
    terms, result = equation.split("->")
    letters = list(dict.fromkeys(terms.replace(",", "")))
    lone = [x for x in letters if terms.count(x) == 1 and x not in result]
    if "." in equation or not lone or (np.isfinite(a).all() and np.isfinite(b).all()):
        return _einsum(equation, a, b)
    gone = [x for x in letters if x not in result]
    product = np.einsum(f"{terms}->{result}{''.join(gone)}", a, b)
    return np.asarray(product.sum(axis=tuple(range(len(result), product.ndim))))


def _of_integers(equation: str, left: Noisy, right: Noisy) -> Noisy:
    value = _einsum(equation, left.value, right.value)
    unknown = [np.isinf(x.error).astype(float) for x in (left, right)]
    ones = [np.ones(x.shape) for x in (left, right)]
    hit = np.einsum(equation, unknown[0], ones[1]) + np.einsum(equation, ones[0], unknown[1])
    return Noisy(left.dtype, value.astype(left.value.dtype), np.where(hit > 0, np.inf, 0.0))


def _error(equation: str, left: Noisy, right: Noisy, value: Array) -> Array:
    """The errors of the operands, and that of a sum made in blocks or in pairs."""
    a, b = np.abs(left.value), np.abs(right.value)
    magnitude = _einsum(equation, a, b)
    terms = max(1, round(max(a.size, 1) * max(b.size, 1) / max(magnitude.size, 1)))
    spread = np.zeros(value.shape)
    for x, y in ((left.error, b), (a, right.error), (left.error, right.error)):
        if x.any() and y.any():
            spread = spread + np.einsum(equation, x, y)
    eps = EPS[wide(left.dtype)]
    known = not left.error.any() and not right.error.any()
    whole = known and coarse(a, 1 / 8) and coarse(b, 1 / 8)
    noise = 0 if whole and bool(np.all(magnitude * 64 < 1 / eps)) else None
    error = spread + (sum_noise(magnitude, terms, left.dtype) if noise is None else noise)
    error = settled(value, error, known)
    late = np.isfinite(value) & (magnitude > LARGEST[wide(left.dtype)] / 4)
    return np.where(np.isnan(error) | late, np.inf, error).astype(np.float64)


def dot_general(
    lhs: Operand, rhs: Operand, contract: AxisPairs, batch: AxisPairs = ((), ())
) -> Noisy:
    left, right = together(lhs, rhs)
    first = list(ascii_letters[: left.ndim])
    second = list(ascii_letters[left.ndim : left.ndim + right.ndim])
    for pairs in (contract, batch):
        for i, j in zip(*pairs, strict=True):
            second[j % right.ndim] = first[i % left.ndim]
    together_ = [first[i % left.ndim] for i in batch[0]]
    gone = [first[i % left.ndim] for i in contract[0]]
    free = [x for x in first + second if x not in gone and x not in together_]
    equation = f"{''.join(first)},{''.join(second)}->{''.join(together_ + free)}"
    return cast(contracted(equation, left, right), left.dtype)


def matmul(lhs: Operand, rhs: Operand) -> Noisy:
    left, right = together(lhs, rhs)
    if not left.ndim or not right.ndim:
        raise NoMeaning("matmul of a scalar")
    first = "..." + "Zk" if left.ndim > 1 else "k"
    second = "..." + "kY" if right.ndim > 1 else "k"
    result = f"...{'Z' * (left.ndim > 1)}{'Y' * (right.ndim > 1)}"
    return cast(contracted(f"{first},{second}->{result}", left, right), left.dtype)


def vecdot(lhs: Operand, rhs: Operand) -> Noisy:
    return sum_(FUNCTIONS["multiply"](*together(lhs, rhs)), -1)


def outer(lhs: Operand, rhs: Operand) -> Noisy:
    return dot_general(lhs, rhs, ((), ()))


def einsum(*operands: Operand, equation: str) -> Noisy:
    """Two operands at a time, from the left; the type is that of the operands, as in NumPy."""
    tensors = together(*operands)
    inputs, result = equation.split("->")
    terms = inputs.split(",")
    current, letters = tensors[0], terms[0]
    for place, tensor in enumerate(tensors[1:], 1):
        later = "".join(terms[place + 1 :]) + result
        kept = "".join(x for x in dict.fromkeys(letters + terms[place]) if x in later)
        product = contracted(f"{letters},{terms[place]}->{kept}", current, tensor)
        current, letters = cast(product, tensor.dtype), kept
    axes = tuple(i for i, letter in enumerate(letters) if letter not in result)
    summed = cast(sum_(current, axes), tensors[0].dtype) if axes else current
    left = [letter for letter in letters if letter in result]
    return summed.moved(lambda a: a.transpose([left.index(letter) for letter in result]))


def grouped_dot(x: Operand, weights: Operand, offsets: Operand) -> Noisy:
    """Rows of each group times the matrix of the group; rows after the last are zero."""
    left, right = together(x, weights)
    ends = strong(offsets).value.astype(int)
    shape = (left.shape[0], right.shape[2])
    value, error = np.zeros(shape, left.value.dtype), np.zeros(shape)
    start = 0
    for group, end in enumerate(ends):
        rows = left.moved(lambda a, s=slice(start, end): a[s])
        part = contracted("ij,jk->ik", rows, right.moved(lambda a, g=group: a[g]))
        value[start:end], error[start:end] = part.value, part.error
        start = max(start, int(end))
    return cast(Noisy(wide(left.dtype), value, error), left.dtype)


def dense(x: Operand, weight: Operand, bias: Operand | None = None, activation: str = "none"):
    given = (x, weight) if bias is None else (x, weight, bias)
    left, right, *terms = floating(*given)
    result = contracted("...k,kj->...j", left, right)
    for term in terms:
        result = FUNCTIONS["add"](result, cast(term, result.dtype))
    return cast(ACTIVATIONS[activation](result), left.dtype)


ACTIVATIONS: dict[str, Callable[[Noisy], Noisy]] = {
    "none": lambda x: x,
    "relu": FUNCTIONS["relu"],
    "gelu": FUNCTIONS["gelu"],
    "gelu_tanh": lambda x: FUNCTIONS["gelu"](x, approximate="tanh"),
    "silu": FUNCTIONS["silu"],
    "tanh": FUNCTIONS["tanh"],
    "sigmoid": FUNCTIONS["sigmoid"],
}

PRODUCTS: dict[str, Callable[..., Noisy]] = {
    "dot_general": dot_general,
    "matmul": matmul,
    "vecdot": vecdot,
    "outer": outer,
    "einsum": einsum,
    "grouped_dot": grouped_dot,
    "dense": dense,
}
