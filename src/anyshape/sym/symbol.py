"""Symbols: axes as they appear inside expressions.

Invariant: interned by name, so two symbols are equal exactly when they are the same object.
A *fresh* symbol (`?3`) is an unnamed dynamic size, equal to nothing else until unified.
"""

from __future__ import annotations

import re
from typing import ClassVar, Final
from weakref import WeakValueDictionary

from anyshape.base.fork_lock import fork_lock
from anyshape.base.lexer import is_name, quoted

# Words with a meaning of their own inside dims and predicates; an axis of that name is quoted.
RESERVED: Final = frozenset({"min", "max", "ceildiv", "bcast", "broadcastable"})

_LOCK = fork_lock()
_FRESH = re.compile(r"\?[0-9]*")

SymbolKey = tuple[int, str]


class Symbol:
    """A named unknown size."""

    __slots__ = ("__weakref__", "name", "sort_key")

    name: str
    sort_key: SymbolKey

    _interned: ClassVar[WeakValueDictionary[str, Symbol]] = WeakValueDictionary()

    def __new__(cls, name: str) -> Symbol:
        known = cls._interned.get(name)
        if known is not None:
            return known
        if not name:
            raise ValueError("an axis needs a name that is not empty")
        made = super().__new__(cls)
        object.__setattr__(made, "name", name)
        object.__setattr__(made, "sort_key", (0, name))
        with _LOCK:
            return cls._interned.setdefault(name, made)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"Symbol is immutable, cannot set {name}")

    def __reduce__(self) -> tuple[type[Symbol], tuple[str]]:
        return Symbol, (self.name,)

    @property
    def is_fresh(self) -> bool:
        return self.name[0] == "?"

    def __str__(self) -> str:
        """The name, in backquotes unless it reads back as a symbol by itself."""
        plain = is_name(self.name) and self.name not in RESERVED
        return self.name if plain or _FRESH.fullmatch(self.name) else quoted(self.name, "`")

    def __repr__(self) -> str:
        return f"Symbol({self.name!r})"
