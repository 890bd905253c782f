"""Einsum: `ash.einsum("bqd,bkd->bqk", q, k)`.

Every letter is an axis: one that both operands and the result have is a batch axis of a dot, one
that only the operands have is summed by it. A letter of one operand alone that the result lacks is
summed by the dot too, with the other operand repeated along it: a sum made before would be another
result wherever numbers are infinite, overflow, or there are none of them (0 terms are 0, but a sum
of 0 terms times infinity is NaN).

Several operands are taken from left to right, each pair as an einsum of its own. The result has the
common dtype of the operands, as NumPy's.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from anyshape.base.errors import TraceError
from anyshape.frontend.builder.axes import describe
from anyshape.frontend.builder.convert import ArrayLike, promoted
from anyshape.frontend.builder.dot import dot_general
from anyshape.frontend.builder.movement import broadcast_to, permuted
from anyshape.frontend.builder.tracer import active

if TYPE_CHECKING:
    from anyshape.frontend.builder.tensor import Tensor


def einsum(equation: str, *operands: ArrayLike) -> Tensor:
    """Products of the operands, summed over the letters that the result does not have."""
    tensors = promoted(*operands) if operands else []
    terms, result = _parse(equation, tensors)
    term, product = terms[0], tensors[0]
    for index, (right, tensor) in enumerate(zip(terms[1:], tensors[1:], strict=True), 2):
        wanted = result + "".join(terms[index:])
        term, product = _multiplied(term, product, right, tensor, wanted)
    term, product = _summed(term, product, result)
    return permuted(product, [term.index(letter) for letter in result])


def _multiplied(left: str, lhs: Tensor, right: str, rhs: Tensor, wanted: str) -> tuple[str, Tensor]:
    """The product of two, with the letters that are wanted later."""
    before = left, lhs
    left, lhs = _repeated(left, lhs, right, rhs, wanted)
    right, rhs = _repeated(right, rhs, *before, wanted)
    shared = [letter for letter in left if letter in right]
    batch = [letter for letter in shared if letter in wanted]
    contract = [letter for letter in shared if letter not in wanted]
    product = dot_general(lhs, rhs, _axes(contract, left, right), _axes(batch, left, right))
    free = [letter for letter in left + right if letter not in shared]
    return "".join(batch + free), product


def _axes(letters: list[str], left: str, right: str) -> tuple[list[int], list[int]]:
    return [left.index(letter) for letter in letters], [right.index(letter) for letter in letters]


def _repeated(
    term: str, tensor: Tensor, other: str, beside: Tensor, wanted: str
) -> tuple[str, Tensor]:
    """With the letters that only the other operand has and nobody wants, as axes in front."""
    alone = [axis for axis, letter in enumerate(other) if letter not in term + wanted]
    shape = (*(beside.shape[axis] for axis in alone), *tensor.shape)
    return "".join(other[axis] for axis in alone) + term, broadcast_to(tensor, shape)


def _summed(term: str, tensor: Tensor, wanted: str) -> tuple[str, Tensor]:
    """Without the letters that nobody wants."""
    axes = tuple(axis for axis, letter in enumerate(term) if letter not in wanted)
    kept = "".join(letter for letter in term if letter in wanted)
    return kept, active().emit("sum", tensor, axes=axes) if axes else tensor


# --- reading --------------------------------------------------------------------------------------


def _parse(equation: str, tensors: list[Tensor]) -> tuple[list[str], str]:
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    result = right if arrow else _implied(left)
    if not all(letter.isalpha() for letter in left.replace(",", "") + result):
        raise _refuse(equation, "has more than letters, ',' and '->'", "write out every axis")
    if len(terms) != len(tensors):
        problem = f"names {len(terms)} operands, got {len(tensors)}"
        raise _refuse(equation, problem, "give one term per operand")
    for term, tensor in zip(terms, tensors, strict=True):
        _check_term(equation, term, tensor)
    if not set(result) <= set(left) or len(set(result)) != len(result):
        problem = "gives a letter that no operand has, or one twice"
        raise _refuse(equation, problem, "use letters of the operands once each")
    return terms, result


def _implied(left: str) -> str:
    """Without an arrow: the letters that occur once, sorted."""
    counts = Counter(left.replace(",", ""))
    return "".join(sorted(letter for letter, count in counts.items() if count == 1))


def _check_term(equation: str, term: str, tensor: Tensor) -> None:
    if len(term) != tensor.ndim:
        problem = f"has {len(term)} letters in '{term}' for {describe(tensor)}"
        raise _refuse(equation, problem, "use one letter per axis")
    if len(set(term)) != len(term):
        problem = f"repeats a letter in '{term}'"
        raise _refuse(equation, problem, "multiply with ash.eye(n) to take a diagonal")


def _refuse(equation: str, problem: str, fix: str) -> TraceError:
    return active().refuse(f"einsum '{equation}' {problem}", fix)
