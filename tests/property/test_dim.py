"""The canonical form never changes a value, and text is read back to the same dim."""

from collections.abc import Callable
from typing import Any

import sympy
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.property.expressions import (
    ALL,
    NAMES,
    STEADY,
    Apply,
    Leaf,
    Tree,
    Undefined,
    any_integers,
    binding,
    dim_of,
    small_sizes,
    trees,
)

from anyshape.base.lexer import Cursor, quoted
from anyshape.sym import (
    Axis,
    Dim,
    Divisible,
    Equal,
    Less,
    Symbol,
    parse_axis,
    parse_dim,
    parse_predicate,
)


@settings(STEADY, max_examples=1500)
@given(trees(ALL), any_integers)
@example(Apply("//", Apply("//", Leaf("a"), Leaf(-2)), Leaf(3)), {"a": -7, "b": 0, "c": 0})
def test_canonical_form_keeps_the_value(tree: Tree, sizes: dict[str, int]) -> None:
    """Also for negative integers: the rules hold for all of them."""
    try:
        expected = tree.evaluate(sizes)
    except Undefined:
        return
    dim = dim_of(tree)
    assert dim is not None
    assert dim.evaluate(binding(sizes)) == expected


@settings(STEADY, max_examples=1000)
@given(trees(ALL))
def test_text_is_read_back_to_the_identical_dim(tree: Tree) -> None:
    dim = dim_of(tree)
    if dim is not None:
        assert parse_dim(str(dim)) is dim


@settings(STEADY, max_examples=400)
@given(trees(ALL, 5), trees(ALL, 4), small_sizes)
def test_substitution_is_evaluation_of_the_replaced(
    tree: Tree, replacement: Tree, sizes: dict[str, int]
) -> None:
    outer, inner = dim_of(tree), dim_of(replacement)
    try:
        value = replacement.evaluate(sizes)
        expected = tree.evaluate({**sizes, "a": value})
    except Undefined:
        return
    assert outer is not None
    assert inner is not None
    assert outer.substitute({Symbol("a"): inner}).evaluate(binding(sizes)) == expected


# --- sympy as an oracle ---------------------------------------------------------------------------

_SYMPY: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda x, y: x + y,
    "-": lambda x, y: x - y,
    "*": lambda x, y: x * y,
    "//": lambda x, y: sympy.floor(x / y),
}


def as_sympy(tree: Tree) -> Any:
    if isinstance(tree, Leaf):
        is_name = isinstance(tree.value, str)
        return sympy.Symbol(tree.value, integer=True) if is_name else sympy.Integer(tree.value)
    return _SYMPY[tree.operator](as_sympy(tree.left), as_sympy(tree.right))


@settings(STEADY, max_examples=150)
@given(trees(("+", "-", "*")), trees(("+", "-", "*")))
def test_polynomials_are_the_same_exactly_when_sympy_says_so(one: Tree, two: Tree) -> None:
    same = sympy.expand(as_sympy(one) - as_sympy(two)) == 0
    assert (one.dim() is two.dim()) == same


@settings(STEADY, max_examples=120)
@given(
    trees(("+", "-", "*"), 4),
    st.integers(1, 9),
    st.integers(1, 9),
    st.integers(-9, 9),
    any_integers,
)
def test_nested_floors_agree_with_sympy(
    tree: Tree, first: int, second: int, offset: int, sizes: dict[str, int]
) -> None:
    nested = Apply("//", Apply("+", Apply("//", tree, Leaf(first)), Leaf(offset)), Leaf(second))
    values = {sympy.Symbol(name, integer=True): size for name, size in sizes.items()}
    assert nested.dim().evaluate(binding(sizes)) == int(as_sympy(nested).subs(values))


# --- text of everything else ----------------------------------------------------------------------

names = st.text(min_size=1, max_size=8)


@settings(STEADY, max_examples=300)
@given(names)
def test_any_name_is_read_back(name: str) -> None:
    dim = Dim.of(Symbol(name))
    if name != "?":  # the hole is not for arithmetic
        assert parse_dim(str(dim)) is dim
        assert parse_dim(str(2 * dim + 1)) is 2 * dim + 1


@settings(STEADY, max_examples=200)
@given(st.text())
def test_any_string_is_read_back(text: str) -> None:
    assert Cursor(quoted(text)).next().value == text


@settings(STEADY, max_examples=300)
@given(trees(ALL, 4), trees(ALL, 4), st.sampled_from([Equal, Less, Divisible]))
def test_predicates_are_read_back(
    left: Tree, right: Tree, kind: type[Equal] | type[Less] | type[Divisible]
) -> None:
    lhs, rhs = dim_of(left), dim_of(right)
    if lhs is not None and rhs is not None:
        predicate = kind(lhs, rhs)
        assert parse_predicate(str(predicate)) == predicate


@settings(STEADY, max_examples=200)
@given(
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 9)), min_size=1, max_size=4),
    st.booleans(),
    st.integers(1, 4),
)
def test_axes_are_read_back(spans: list[tuple[int, int]], is_open: bool, multiple: int) -> None:
    ranges: list[tuple[int, int | None]] = [(lo, lo + width + 4) for lo, width in spans]
    if is_open:
        ranges.append((50, None))
    axis = Axis(NAMES[0], multiple_of=multiple, ranges=ranges)
    assert parse_axis(str(axis)) == axis
    allowed = {n for n in range(60) for lo, hi in ranges if lo <= n and (hi is None or n <= hi)}
    assert {n for n in range(60) if axis.in_range(n)} == allowed
