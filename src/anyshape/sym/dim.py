"""`Dim`: the size of one position of a tensor, an integer expression over symbols.

Canonical by construction: an integer-coefficient sum of monomials, sorted; products of sums are
expanded; `//`, `%`, `min`, `max` and `bcast` are simplified by rules that hold for all integers
(`division.py`, `choice.py`). What holds only under facts is for the prover (`decide/`).

Invariants:
  - interned: two dims are the same expression exactly when they are the same object;
  - `==` asks for the same expression and never guesses; `<` and its kin make predicates;
  - there is no truth value: whoever wants a decision asks a prover.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import reduce, wraps
from math import prod
from numbers import Integral
from typing import ClassVar, Final, TypeVar, cast
from weakref import WeakValueDictionary

from anyshape.base.errors import DimError, DimTooLargeError, DimTypeError
from anyshape.base.errors.common import shortened
from anyshape.base.fork_lock import fork_lock
from anyshape.base.lexer import Cursor
from anyshape.sym.choice import broadcast_of, maximum_of, minimum_of
from anyshape.sym.dim_print import dim_text, operand_text
from anyshape.sym.division import floor_div, modulo
from anyshape.sym.factor import Factor, SortKey
from anyshape.sym.monomial import ONE, Monomial
from anyshape.sym.predicate import Divisible, Equal, Less, LessEqual, NotEqual, Predicate
from anyshape.sym.rebuild import Substitution, evaluated, substituted
from anyshape.sym.symbol import Symbol
from anyshape.sym.syntax import Binary, Call, Name, Number, Tree, read_tree
from anyshape.sym.terms import (
    Terms,
    constant_of,
    extent_of,
    factor_of,
    plus,
    scaled,
    sorted_terms,
    terms_key,
    times,
)

MAX_TERMS: Final = 1 << 12
"""How many terms a product may have before equal ones are put together. Each factor `(a + b)` of a
product doubles them: without an end, a short text would fill all memory. A multiple of a sum has as
many as the sum, however long that is."""

MOST_RECENT: Final = 1 << 12
"""How many dims outlive their last use. Compilers make most dims again and again, and drop them."""

_LOCK = fork_lock()
_R = TypeVar("_R")


def _between_sizes(method: Callable[[Dim, Dim], _R]) -> Callable[[Dim, Dim | int], _R]:
    """Integers become dims; what is no size (a traced tensor, say) is left to the other side."""

    @wraps(method)
    def operator(left: Dim, right: Dim | int) -> _R:
        if right.__class__ is not Dim:  # most are: compilers do little else than this
            if not isinstance(right, Integral):
                return NotImplemented
            right = Dim.of(right)
        if left is HOLE or right is HOLE:
            raise _hole_used()
        return method(left, cast(Dim, right))

    return operator


class Dim:
    """An integer expression over symbols; see the module's invariants."""

    __slots__ = (
        "__weakref__",
        "_sort_key",
        "_text",
        "constant",
        "depth",
        "factor",
        "length",
        "symbols",
        "terms",
    )

    terms: Terms
    constant: int | None
    factor: Factor | None  # when the dim is one bare factor
    symbols: frozenset[Symbol]
    length: int  # terms and factors, those inside factors included
    depth: int  # how many factors are inside each other
    _sort_key: SortKey | None  # computed when first asked for, like the text
    _text: str | None

    _interned: ClassVar[WeakValueDictionary[Terms, Dim]] = WeakValueDictionary()
    _recent: ClassVar[dict[Terms, Dim]] = {}  # some of them, which do not go in between

    # --- making ---------------------------------------------------------------------------------

    @classmethod
    def _intern(cls, terms: Terms) -> Dim:
        known = cls._recent.get(terms)
        if known is None:
            if len(cls._recent) >= MOST_RECENT:
                cls._recent.clear()
            known = cls._interned.get(terms)
            known = cls._recent[terms] = cls._made(terms) if known is None else known
        return known

    @classmethod
    def _made(cls, terms: Terms) -> Dim:
        made = object.__new__(cls)
        put = object.__setattr__
        put(made, "terms", terms)
        put(made, "constant", constant_of(terms))
        put(made, "factor", factor_of(terms))
        symbols, length, depth = extent_of(terms)
        put(made, "symbols", symbols)
        put(made, "length", length)
        put(made, "depth", depth)
        put(made, "_sort_key", None)
        put(made, "_text", None)
        with _LOCK:
            return cls._interned.setdefault(terms, made)

    @classmethod
    def of_terms(cls, coefficients: Mapping[Monomial, int]) -> Dim:
        """The sum of coefficient * monomial."""
        return cls._intern(sorted_terms(coefficients))

    @classmethod
    def of_factor(cls, factor: Factor) -> Dim:
        return cls._intern(((((factor, 1),), 1),))

    @classmethod
    def of(cls, value: DimLike) -> Dim:
        """The dim for an integer, the text of an expression, a symbol or a dim."""
        if value.__class__ is int:  # most are
            return cls._intern(((ONE, cast(int, value)),) if value else ())
        if isinstance(value, Dim):
            return value
        if isinstance(value, Symbol):
            return cls.of_factor(value)
        if isinstance(value, str):
            return _read(value)
        if isinstance(value, bool) or not hasattr(value, "__index__"):
            fix = "use an integer, the name of an axis, or an expression over names"
            raise DimTypeError(repr(value), "is no size", fix)
        constant = value.__index__()
        return cls._intern(((ONE, constant),) if constant else ())

    def __new__(cls) -> Dim:
        raise TypeError("use Dim.of(...)")

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"Dim is immutable, cannot set {name}")

    def __reduce__(self) -> tuple[Callable[[DimLike], Dim], tuple[str]]:
        return Dim.of, (str(self),)

    # --- looking --------------------------------------------------------------------------------

    @property
    def is_constant(self) -> bool:
        return self.constant is not None

    @property
    def symbol(self) -> Symbol | None:
        """The symbol, when the dim is one bare symbol."""
        return self.factor if isinstance(self.factor, Symbol) else None

    @property
    def sort_key(self) -> SortKey:
        """A total order that depends on neither hash seeds nor the order of creation."""
        if self._sort_key is None:
            object.__setattr__(self, "_sort_key", terms_key(self.terms))
        return self._sort_key or ()

    def coefficient(self, monomial: Monomial) -> int:
        return next((c for known, c in self.terms if known == monomial), 0)

    def __index__(self) -> int:
        if self.constant is None:
            raise TypeError(
                f"dim '{self}' is symbolic and has no integer value; "
                f"use .evaluate({{symbol: size}}) or keep it symbolic"
            )
        return self.constant

    __int__ = __index__

    def __bool__(self) -> bool:
        raise TypeError(f"dim '{self}' has no truth value; ask a prover: proves(dim.equals(0))")

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if isinstance(other, int):
            return self.constant == other
        # Dims are interned; whatever else it is (a tensor) has an answer of its own. Tables of dims
        # may still ask when the interpreter ends and `Dim` is no class any more.
        return False if other.__class__ is Dim else NotImplemented

    def __hash__(self) -> int:
        return object.__hash__(self) if self.constant is None else hash(self.constant)

    def __str__(self) -> str:
        if self._text is None:
            object.__setattr__(self, "_text", dim_text(self))
        return self._text or ""

    def __repr__(self) -> str:
        return f"Dim({str(self)!r})"

    @property
    def text_as_operand(self) -> str:
        """The text, parenthesised unless atomic."""
        return operand_text(self)

    # --- arithmetic -----------------------------------------------------------------------------

    @_between_sizes
    def __add__(self, other: Dim) -> Dim:
        return Dim._intern(plus(self.terms, other.terms, 1))

    @_between_sizes
    def __sub__(self, other: Dim) -> Dim:
        return Dim._intern(plus(self.terms, other.terms, -1))

    @_between_sizes
    def __rsub__(self, other: Dim) -> Dim:
        return Dim._intern(plus(other.terms, self.terms, -1))

    def __neg__(self) -> Dim:
        _operand(self, self)
        return self._intern(tuple((monomial, -c) for monomial, c in self.terms))

    @_between_sizes
    def __mul__(self, other: Dim) -> Dim:
        for dim, number in ((self, other.constant), (other, self.constant)):
            if number is not None:
                return dim if number == 1 else Dim._intern(scaled(dim.terms, number))
        sizes = len(self.terms), len(other.terms)
        if min(sizes) > 1 and prod(sizes) > MAX_TERMS:
            raise _too_large(self, other)
        return Dim._intern(times(self.terms, other.terms))

    __radd__ = __add__
    __rmul__ = __mul__

    @_between_sizes
    def __floordiv__(self, other: Dim) -> Dim:
        return floor_div(self, other)

    @_between_sizes
    def __rfloordiv__(self, other: Dim) -> Dim:
        return floor_div(other, self)

    @_between_sizes
    def __mod__(self, other: Dim) -> Dim:
        return modulo(self, other)

    @_between_sizes
    def __rmod__(self, other: Dim) -> Dim:
        return modulo(other, self)

    # --- predicates -----------------------------------------------------------------------------

    @_between_sizes
    def __lt__(self, other: Dim) -> Predicate:
        return Less(self, other)

    @_between_sizes
    def __le__(self, other: Dim) -> Predicate:
        return LessEqual(self, other)

    @_between_sizes
    def __gt__(self, other: Dim) -> Predicate:
        return Less(other, self)

    @_between_sizes
    def __ge__(self, other: Dim) -> Predicate:
        return LessEqual(other, self)

    def equals(self, other: DimLike) -> Predicate:
        return Equal(self, _operand(Dim.of(other), self))

    def not_equals(self, other: DimLike) -> Predicate:
        return NotEqual(self, _operand(Dim.of(other), self))

    def divisible_by(self, other: DimLike) -> Predicate:
        return Divisible(self, _operand(Dim.of(other), self))

    # --- values ---------------------------------------------------------------------------------

    def substitute(self, replacements: Mapping[Symbol, Dim | int]) -> Dim:
        """The dim with symbols replaced, all at once. Many dims share a `Substitution`."""
        if self.symbols.isdisjoint(replacements):
            return self
        if self.symbol is not None:
            return Dim.of(replacements[self.symbol])
        if not isinstance(replacements, Substitution):
            replacements = Substitution({s: Dim.of(size) for s, size in replacements.items()})
        return substituted(self, replacements)

    def evaluate(self, binding: Mapping[Symbol, int]) -> int:
        """The integer that the dim has under `binding`; DimError where it has none."""
        total = 0
        for monomial, term in self.terms:  # no generators: provers evaluate dims by the thousand
            for factor, power in monomial:
                size = binding.get(factor) if isinstance(factor, Symbol) else None
                value = evaluated(factor, binding) if size is None else size
                term *= value if power == 1 else value**power  # noqa: PLW2901
            total += term
        return total


DimLike = int | str | Symbol | Dim

# --- constructors -------------------------------------------------------------------------------


def minimum(*dims: DimLike) -> Dim:
    return minimum_of(map(_checked, dims))


def maximum(*dims: DimLike) -> Dim:
    return maximum_of(map(_checked, dims))


def bcast(*dims: DimLike) -> Dim:
    """The common size of dims that are all equal or 1, which the caller has required."""
    return broadcast_of(map(_checked, dims))


def ceildiv(num: DimLike, den: DimLike) -> Dim:
    """`num / den` rounded up, as (num + den - 1)//den. Hence `den` has to be positive."""
    step = _checked(den)
    return (_checked(num) + step - 1) // step


def product(dims: Iterable[DimLike]) -> Dim:
    """The product; 1 when there are no dims."""
    return reduce(Dim.__mul__, map(_checked, dims), Dim.of(1))


def total(dims: Iterable[DimLike]) -> Dim:
    """The sum; 0 when there are no dims. Many dims are added at once: one after the other, each
    step would make a sum as long as all before it."""
    coefficients: dict[Monomial, int] = {}
    for dim in map(_checked, dims):
        for monomial, coefficient in dim.terms:
            coefficients[monomial] = coefficients.get(monomial, 0) + coefficient
    return Dim.of_terms(coefficients)


def dim_of_tree(tree: Tree) -> Dim:
    """The dim that a syntax tree means."""
    match tree:
        case Number(value):
            return Dim.of(value)
        case Name(name):
            return Dim.of(Symbol(name))
        case Binary(operator, left, right):
            return _OPERATORS[operator](dim_of_tree(left), dim_of_tree(right))
        case Call(function, arguments):
            return _FUNCTIONS[function](*map(dim_of_tree, arguments))


_OPERATORS: dict[str, Callable[[Dim, Dim], Dim]] = {
    "+": Dim.__add__,
    "-": Dim.__sub__,
    "*": Dim.__mul__,
    "//": Dim.__floordiv__,
    "%": Dim.__mod__,
}
_FUNCTIONS: dict[str, Callable[..., Dim]] = {
    "min": minimum,
    "max": maximum,
    "ceildiv": ceildiv,
    "bcast": bcast,
}


# --- helpers ------------------------------------------------------------------------------------


def _read(text: str) -> Dim:
    cursor = Cursor(text)
    try:
        tree = read_tree(cursor)
        cursor.expect_end()
        return dim_of_tree(tree)
    except RecursionError:
        cursor.fail("the dim is nested too deeply", "name its parts as axes", cursor.last)


def _too_large(left: Dim, right: Dim) -> DimTooLargeError:
    terms = len(left.terms) * len(right.terms)
    problem = f"this product has {terms:,} terms as a sum, more than {MAX_TERMS:,}"
    shown = " * ".join(shortened(dim.text_as_operand, 80) for dim in (left, right))
    return DimTooLargeError(shown, problem, "name one of its factors as an axis of its own")


def _operand(value: Dim | int, other: Dim) -> Dim:
    """`value` as a dim, checked that neither side of an operation is the hole."""
    dim = value if isinstance(value, Dim) else Dim.of(value)
    if dim is HOLE or other is HOLE:
        raise _hole_used()
    return dim


def _hole_used() -> DimError:
    problem = "an unnamed dim must be made fresh before it is used in an expression"
    return DimError("?", problem, "give the axis a name")


def _checked(value: DimLike) -> Dim:
    dim = Dim.of(value)
    return _operand(dim, dim)


HOLE: Final = Dim.of_factor(Symbol("?"))  # unnamed, dynamic, and not yet made fresh
