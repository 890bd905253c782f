"""Reading dims and predicates from text, and the predicate forms that have a name.

`read_*` take a cursor and stop at the first token that does not belong; `parse_*` take a whole
text. What `str()` prints, these read back to the identical value.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from anyshape.base.lexer import Cursor
from anyshape.sym.dim import Dim, DimLike, dim_of_tree, product
from anyshape.sym.predicate import (
    Broadcastable,
    Divisible,
    Equal,
    Less,
    LessEqual,
    NotEqual,
    Predicate,
)
from anyshape.sym.symbol import Symbol
from anyshape.sym.syntax import Binary, Comparison, Number, read_comparison, read_tree


def read_dim(cursor: Cursor) -> Dim:
    return dim_of_tree(read_tree(cursor))


def parse_dim(text: str) -> Dim:
    return Dim.of(text)


def read_predicate(cursor: Cursor) -> Predicate:
    return _predicate_of(read_comparison(cursor))


def parse_predicate(text: str) -> Predicate:
    cursor = Cursor(text)
    try:
        predicate = read_predicate(cursor)
    except RecursionError:
        cursor.fail("the predicate is nested too deeply", "name its parts as axes", cursor.last)
    cursor.expect_end()
    return predicate


def _predicate_of(comparison: Comparison) -> Predicate:
    match comparison:
        case Comparison("==", Binary("%", dim, divisor), Number(0)):
            return Divisible(dim_of_tree(dim), dim_of_tree(divisor))
        case Comparison(operator, left, right):
            lhs, rhs = dim_of_tree(left), dim_of_tree(right)
    match operator:
        case "==":
            return Equal(lhs, rhs)
        case "!=":
            return NotEqual(lhs, rhs)
        case "<=":
            return LessEqual(lhs, rhs)
        case "<":
            return Less(lhs, rhs)
        case ">=":
            return LessEqual(rhs, lhs)
        case ">":
            return Less(rhs, lhs)
        case _:
            return Broadcastable(lhs, rhs)


# --- named forms (seed 003) ---------------------------------------------------------------------


def product_equal(whole: DimLike, factors: Iterable[DimLike]) -> Equal:
    """whole == f0 * f1 * ...: what collapsing axes into one means."""
    return Equal(Dim.of(whole), product(factors))


def group_product_equal(lefts: Iterable[DimLike], rights: Iterable[DimLike]) -> Equal:
    """l0 * l1 * ... == r0 * r1 * ...: what a reshape keeps."""
    return Equal(product(lefts), product(rights))


def affine_equal(dim: DimLike, coefficients: Mapping[Symbol, int], offset: int = 0) -> Equal:
    """dim == c0 * s0 + c1 * s1 + ... + offset: what slices, pads and convolutions do."""
    terms = (Dim.of(symbol) * coefficient for symbol, coefficient in coefficients.items())
    return Equal(Dim.of(dim), sum(terms, Dim.of(offset)))
