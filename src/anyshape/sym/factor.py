"""Factors: what a monomial multiplies. A symbol, or one of the five terms that do not expand.

Invariants: frozen, interned by class and arguments (equality is identity), and already simplified:
only `division.py` and `choice.py` make them, after their rules have found nothing more to do.
`Dim` is imported for typing only; it is built on top of this module.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Self
from weakref import WeakValueDictionary

from anyshape.base.fork_lock import fork_lock
from anyshape.sym.symbol import Symbol

if TYPE_CHECKING:
    from anyshape.sym.dim import Dim

SortKey = tuple[object, ...]

_LOCK = fork_lock()


class Compound:
    """Base of the factors that have arguments."""

    __slots__ = ("__weakref__", "args", "length", "sort_key", "symbols")

    args: tuple[Dim, ...]
    symbols: frozenset[Symbol]
    length: int  # of all arguments, as `Dim.length`
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
        made = super().__new__(cls)
        put = object.__setattr__
        put(made, "args", args)
        put(made, "symbols", frozenset[Symbol]().union(*(arg.symbols for arg in args)))
        put(made, "length", 1 + sum(arg.length for arg in args))
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
