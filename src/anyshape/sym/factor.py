"""Factors: what a monomial multiplies. A symbol, or one of the five terms that do not expand.

Invariants: frozen, interned by class and arguments (equality is identity), and already simplified:
only `division.py` and `choice.py` make them, after their rules have found nothing more to do.
`Dim` is imported for typing only; it is built on top of this module.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final, Self
from weakref import WeakValueDictionary

from anyshape.base.errors import DimTooLargeError
from anyshape.base.errors.common import shortened
from anyshape.base.fork_lock import fork_lock
from anyshape.sym.symbol import Symbol

if TYPE_CHECKING:
    from anyshape.sym.dim import Dim

SortKey = tuple[object, ...]

MAX_LENGTH: Final = 1 << 16
"""How many parts a factor may have: sizes that clamp each other grow threefold with each slice."""

MAX_DEPTH: Final = 64
"""How deep factors may nest: each level is a few calls inside each other wherever dims are used."""

_LOCK = fork_lock()


class Compound:
    """Base of the factors that have arguments."""

    __slots__ = ("__weakref__", "args", "depth", "length", "sort_key", "symbols")

    args: tuple[Dim, ...]
    symbols: frozenset[Symbol]
    length: int  # of all arguments, as `Dim.length`
    depth: int  # how many factors are inside each other, this one included
    sort_key: SortKey

    _rank: ClassVar[int]
    _interned: ClassVar[WeakValueDictionary[tuple[type[Compound], tuple[Dim, ...]], Compound]] = (
        WeakValueDictionary()
    )

    def __new__(cls, *args: Dim) -> Self:
        known = cls._interned.get((cls, args))
        if known is not None:
            assert isinstance(known, cls)
            return known
        length, depth = sum(arg.length for arg in args) + 1, max(arg.depth for arg in args) + 1
        if length > MAX_LENGTH or depth > MAX_DEPTH:
            raise _too_large(cls, args, length, depth)
        made = super().__new__(cls)
        put = object.__setattr__
        put(made, "args", args)
        put(made, "symbols", frozenset[Symbol]().union(*(arg.symbols for arg in args)))
        put(made, "length", length)
        put(made, "depth", depth)
        put(made, "sort_key", (cls._rank, tuple(arg.sort_key for arg in args)))
        with _LOCK:
            known = cls._interned.setdefault((cls, args), made)
        assert isinstance(known, cls)
        return known

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable, cannot set {name}")

    def __reduce__(self) -> tuple[type[Self], tuple[Dim, ...]]:
        return type(self), self.args

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(str, self.args))})"


def _too_large(
    kind: type[Compound], args: tuple[Dim, ...], length: int, depth: int
) -> DimTooLargeError:
    shown = ", ".join(shortened(str(arg), 80) for arg in args[:2])
    problem = f"is {depth:,} deep" if depth > MAX_DEPTH else f"has {length:,} parts"
    limit = f"at most {MAX_DEPTH} deep and {MAX_LENGTH:,} parts are allowed"
    fix = "declare least sizes (Axis(..., min=...)), or name one of its parts as an axis"
    return DimTooLargeError(f"{kind.__name__.lower()}({shown}, …)", f"{problem}, {limit}", fix)


class FloorDiv(Compound):
    """`num // den`, rounded towards minus infinity."""

    __slots__ = ()
    _rank = 1

    @property
    def num(self) -> Dim:
        return self.args[0]

    @property
    def den(self) -> Dim:
        return self.args[1]


class Mod(Compound):
    """`num % den`, with the sign of `den`."""

    __slots__ = ()
    _rank = 2

    @property
    def num(self) -> Dim:
        return self.args[0]

    @property
    def den(self) -> Dim:
        return self.args[1]


class Min(Compound):
    """The least of two or more dims."""

    __slots__ = ()
    _rank = 3


class Max(Compound):
    """The greatest of two or more dims."""

    __slots__ = ()
    _rank = 4


class Bcast(Compound):
    """The common size of dims that are all equal or 1."""

    __slots__ = ()
    _rank = 5


CompoundFactor = FloorDiv | Mod | Min | Max | Bcast
Factor = Symbol | CompoundFactor
