"""Facts: what is known of the symbols of one scope, as an immutable value with a text form.

    axes  { batch: 1..64   seq: 1..512 multiple_of 8 likely [128, 256] }
    facts {
      out_seq == seq - 2    # user: out_seq == seq - 2 @ examples/conv.py:12
      seq % heads == 0      # op: split
    }

The comment behind a fact is its provenance and is read back: who said so, in which words, where.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field

from anyshape.base.errors import DimError
from anyshape.base.lexer import Cursor, quoted, unquoted
from anyshape.sym.axis import Axis, read_axis
from anyshape.sym.dim import Dim
from anyshape.sym.origin import Origin
from anyshape.sym.predicate import Divisible, LessEqual, Predicate
from anyshape.sym.symbol import Symbol
from anyshape.sym.text import read_predicate


@dataclass(frozen=True, slots=True)
class Fact:
    """A predicate with its provenance: origin, the words it was given in, and the place."""

    predicate: Predicate
    origin: Origin = Origin.USER
    words: str = ""
    where: str = field(default="", compare=False)

    @property
    def source(self) -> str:
        """The provenance on one line."""
        words = f": {_one_line(self.words)}" if self.words else ""
        where = f" @ {self.where}" if self.where else ""
        return f"{self.origin.value}{words}{where}"

    def substitute(self, dims: Mapping[Symbol, Dim]) -> Fact:
        return Fact(self.predicate.substitute(dims), self.origin, self.words, self.where)

    def holds(self, sizes: Mapping[Symbol, int]) -> bool:
        """Whether it is so at these sizes; where it divides by zero, nothing that it says is."""
        try:
            return self.predicate.holds(sizes)
        except DimError:
            return False

    def __str__(self) -> str:
        return str(self.predicate)


@dataclass(frozen=True, slots=True)
class _Index:
    """Where symbols are mentioned; the first of several declarations counts."""

    axes: Mapping[Symbol, Axis]
    order: Mapping[Symbol, int]
    mentions: Mapping[Symbol, Sequence[int]]  # facts without symbols are about nothing

    @staticmethod
    def of(axes: Sequence[Axis], facts: Sequence[Fact]) -> _Index:
        by_symbol = {axis.symbol: axis for axis in reversed(axes)}
        order = {axis.symbol: number for number, axis in enumerate(axes)}
        mentions: dict[Symbol, list[int]] = {}
        for number, fact in enumerate(facts):
            for symbol in fact.predicate.symbols:
                mentions.setdefault(symbol, []).append(number)
        return _Index(by_symbol, order, mentions)


@dataclass(frozen=True, slots=True)
class Facts:
    """Declared axes and facts of one scope, in the order they were stated."""

    axes: tuple[Axis, ...] = ()
    facts: tuple[Fact, ...] = ()
    _index: _Index | None = field(default=None, init=False, compare=False, repr=False)

    def axis(self, symbol: Symbol) -> Axis:
        """The declaration of a symbol; by default any size is allowed."""
        return self._by_symbol.axes.get(symbol) or Axis(symbol.name)

    def within(self, symbols: Set[Symbol]) -> Facts:
        """What concerns these symbols and no others. It looks at no more than what mentions them:
        thousands of kernels ask, each about a few of thousands of facts."""
        index = self._by_symbol
        axes = (index.axes[symbol] for symbol in symbols if symbol in index.axes)
        numbers = {n for symbol in symbols for n in index.mentions.get(symbol, ())}
        inside = (self.facts[n] for n in sorted(numbers))
        return Facts(
            tuple(sorted(axes, key=lambda axis: index.order[axis.symbol])),
            tuple(fact for fact in inside if fact.predicate.symbols <= symbols),
        )

    @property
    def _by_symbol(self) -> _Index:
        index = self._index
        if index is None:
            index = _Index.of(self.axes, self.facts)
            object.__setattr__(self, "_index", index)
        return index

    def substitute(self, dims: Mapping[Symbol, Dim]) -> Facts:
        """Symbols replaced; what became trivially true or a repetition is left out."""
        renamed = {axis: dims[axis.symbol] for axis in self.axes if axis.symbol in dims}
        bounds = (fact for axis, dim in renamed.items() for fact in _bounds(axis, dim))
        replaced = (*bounds, *(fact.substitute(dims) for fact in self.facts))
        kept = {fact.predicate: fact for fact in replaced if not _is_trivial(fact.predicate)}
        return Facts(tuple(a for a in self.axes if a not in renamed), tuple(kept.values()))

    def as_text(self) -> str:
        """Both blocks, each only if it has something to say; ends without a newline."""
        blocks: list[str] = []
        if self.axes:
            blocks.append("axes { " + "   ".join(map(str, self.axes)) + " }")
        if self.facts:
            width = max(len(str(fact)) for fact in self.facts)
            lines = (f"  {fact!s:<{width}}  # {fact.source}" for fact in self.facts)
            blocks.append("\n".join(("facts {", *lines, "}")))
        return "\n".join(blocks)


def _bounds(axis: Axis, dim: Dim) -> Iterator[Fact]:
    """What the declaration of an axis says about the dim that takes its place."""
    words = f"axis {axis}"
    if axis.min > 0:
        yield Fact(LessEqual(Dim.of(axis.min), dim), Origin.USER, words)
    if axis.max is not None:
        yield Fact(LessEqual(dim, Dim.of(axis.max)), Origin.USER, words)
    if axis.multiple_of > 1:
        yield Fact(Divisible(dim, Dim.of(axis.multiple_of)), Origin.USER, words)


def _is_trivial(predicate: Predicate) -> bool:
    return not predicate.symbols and predicate.holds({})


def read_facts(cursor: Cursor) -> Facts:
    """Reads the blocks that are there."""
    axes: list[Axis] = []
    facts: list[Fact] = []
    if cursor.accept("axes"):
        cursor.expect("{")
        while not cursor.accept("}"):
            axes.append(read_axis(cursor))
    if cursor.accept("facts"):
        cursor.expect("{")
        while not cursor.accept("}"):
            facts.append(_read_fact(cursor))
    return Facts(tuple(axes), tuple(facts))


def _read_fact(cursor: Cursor) -> Fact:
    predicate = read_predicate(cursor)
    comment = cursor.comment()
    if cursor.peek().line == cursor.last.line:
        comment = ""  # the comment belongs to the last fact of the line
    found = _PROVENANCE.fullmatch(comment)
    if found is None:
        return Fact(predicate, Origin.USER, comment)
    words = found["words"] or ""
    return Fact(
        predicate,
        Origin(found["origin"]),
        unquoted(words) if words.startswith('"') else words,
        found["where"] or "",
    )


_PROVENANCE = re.compile(
    rf"(?P<origin>{'|'.join(origin.value for origin in Origin)})"
    r'(?:: (?P<words>"(?:[^"\\]|\\.)*"|.*?))?(?: @ (?P<where>.*))?'
)


def _one_line(words: str) -> str:
    """Words that could be misread are quoted: line ends, a quote in front, the mark of a place."""
    plain = "\n" not in words and " @ " not in words and not words.startswith(('"', " "))
    return words if plain and words == words.strip() else quoted(words)
