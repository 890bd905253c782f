"""Declarations of axes: which sizes are allowed, and which are likely.

    seq: 1..512 multiple_of 8 likely [128, 256]
    n: 0..
    tile: 1..1 | 8..64
    row: 0.. no_broadcast
    past: 0.. observed [17, 511]
    seq: 1..512 buckets [64, 512] max_padding 25%
    image: 1..640 static

Invariants after construction: `ranges` is sorted, non-empty, without overlaps or neighbours;
`min` and `max` are its ends (`max` is None where sizes are unbounded); at least one size is allowed
and every likely size is. 0 and 1 are sizes like any other; where an axis does not broadcast, 1 is
not repeated either: what it meets in an op has the same size. Likely sizes are somebody's word, or
those that calls were observed to have. Buckets are sizes that calls are padded to
(`sym/buckets.py`), each of them allowed; a static axis has memory for its greatest size from the
beginning.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Sized
from dataclasses import dataclass, replace
from numbers import Integral
from typing import NoReturn, cast

from anyshape.base.errors import AxisDeclarationError
from anyshape.base.lexer import Cursor, TokenKind, quoted
from anyshape.sym.buckets import POW2, Buckets, Cap
from anyshape.sym.origin import Origin
from anyshape.sym.symbol import RESERVED, Symbol

Range = tuple[int, int | None]

_WORDS = frozenset(
    {"multiple_of", "likely", "observed", "no_broadcast", "buckets", "max_padding", "static"}
)
"""Words of declarations: an axis of that name is quoted where declarations stand side by side."""


@dataclass(frozen=True, slots=True)
class Axis:
    """A named axis. Give either `min` and `max`, or `ranges`: inclusive, None for no upper end.

    Without `broadcasts`, a size that the axis meets in an op is equal to it, and no 1 is repeated.
    With `buckets`, a list of sizes or "pow2", calls are padded to the next of them, unless that
    would add more than `max_padding`: elements, or a share of the bucket such as "25%". A `static`
    axis, which needs a `max`, has all memory for that size before the first call.
    """

    name: str
    min: int = 0
    max: int | None = None
    multiple_of: int = 1
    likely: Sequence[int] = ()
    ranges: Sequence[Range] = ()
    broadcasts: bool = True
    likely_from: Origin = Origin.USER
    buckets: Sequence[int] | str = ()
    max_padding: int | str | None = None
    static: bool = False

    def __post_init__(self) -> None:
        self._check_types()
        put = object.__setattr__
        given = (self.min, self.max)
        ranges = tuple(self.ranges) or (given,)
        for lo, hi in ranges:
            self._check_range(lo, hi)
        merged = _merged(ranges)
        ends = (merged[0][0], merged[-1][1])
        if self.ranges and given not in ((0, None), ends):
            self._refuse("has both min/max and ranges", "give either min and max, or ranges")
        put(self, "ranges", merged)
        put(self, "min", ends[0])
        put(self, "max", ends[1])
        put(self, "likely", tuple(dict.fromkeys(self.likely)))
        put(self, "likely_from", self.likely_from if self.likely else Origin.USER)
        if not isinstance(self.buckets, str):
            put(self, "buckets", tuple(self.buckets))
        self._check_values()
        self._check_buckets()

    def _refuse(self, problem: str, fix: str) -> NoReturn:
        raise AxisDeclarationError(self.name, problem, fix)

    def _check_types(self) -> None:
        name = cast(object, self.name)
        if not isinstance(name, str) or not name:
            raise AxisDeclarationError(str(name), "has no name", "give it a name that is a str")
        for pair in self._listed("ranges", "pairs (low, high)"):
            if not isinstance(pair, tuple) or len(cast(Sized, pair)) != 2:
                self._refuse(f"has the range {pair!r}", "give ranges as pairs (low, high)")
        for name in ("broadcasts", "static"):
            if not isinstance(cast(object, getattr(self, name)), bool):
                self._refuse(f"has {name}={getattr(self, name)!r}", "give True or False")
        if self.likely_from not in (Origin.USER, Origin.OBSERVED):
            self._refuse(f"has likely_from={self.likely_from!r}", "give Origin.USER or .OBSERVED")
        ends = [end for pair in self.ranges for end in pair]
        bounds = [end for end in (self.max, *ends) if end is not None]
        likely = self._listed("likely", "sizes")
        named = isinstance(self.buckets, str)
        buckets = () if named else self._listed("buckets", f"sizes, or '{POW2}'")
        for size in (self.min, self.multiple_of, *bounds, *likely, *buckets):
            if isinstance(size, bool) or not isinstance(size, Integral):
                self._refuse(f"has {size!r} where a size stands", "use integers")

    def _listed(self, field: str, what: str) -> Sequence[object]:
        value: object = getattr(self, field)
        if not isinstance(value, (tuple, list)):
            self._refuse(f"has {field}={value!r}", f"give a list of {what}")
        return cast(Sequence[object], value)

    def _check_range(self, lo: int, hi: int | None) -> None:
        if lo < 0 or (hi is not None and hi < 0):
            self._refuse(f"has the negative size {lo if lo < 0 else hi}", "sizes start at 0")
        if hi is not None and hi < lo:
            self._refuse(f"has the empty range {lo}..{hi}", "give min <= max")

    def _check_values(self) -> None:
        if self.multiple_of < 1:
            self._refuse(f"has multiple_of {self.multiple_of}", "a divisor is at least 1")
        if not any(self._has_multiple(lo, hi) for lo, hi in self.ranges):
            self._refuse(
                f"allows no size: {self.ranges_text} has no multiple of {self.multiple_of}",
                "widen the range or drop multiple_of",
            )
        for size in self.likely:
            if not self.contains(size):
                self._refuse(f"has the likely size {size}, which {self} forbids", "drop it")

    def _check_buckets(self) -> None:
        buckets = self.buckets
        if isinstance(buckets, str):
            if buckets != POW2:
                self._refuse(f"has buckets={buckets!r}", f"give a list of sizes, or '{POW2}'")
        else:
            self._check_listed_buckets(tuple(buckets))
        if Cap.of(self.max_padding) is None:
            self._refuse(
                f"has max_padding={self.max_padding!r}",
                "give a number of elements, or a share of the bucket such as '25%'",
            )
        if self.max_padding is not None and not buckets:
            self._refuse("has max_padding and no buckets", "give buckets, or drop max_padding")
        if self.static and self.max is None:
            self._refuse("is static without a max", "give max: memory is taken for that size")

    def _check_listed_buckets(self, buckets: tuple[int, ...]) -> None:
        if list(buckets) != sorted(set(buckets)):
            ascending = sorted(set(buckets))
            self._refuse(f"has the buckets {list(buckets)}", f"give them in order: {ascending}")
        for size in buckets:
            if size < 1 or not self.contains(size):
                bare = replace(self, buckets=(), max_padding=None, static=False)
                fix = "drop it, or allow that size" if size > 0 else "drop it: buckets start at 1"
                self._refuse(f"has the bucket {size}, which {bare} forbids", fix)

    def _has_multiple(self, lo: int, hi: int | None) -> bool:
        return hi is None or hi // self.multiple_of * self.multiple_of >= lo

    @property
    def symbol(self) -> Symbol:
        return Symbol(self.name)

    def contains(self, size: int) -> bool:
        """Whether the declaration allows `size`."""
        return size % self.multiple_of == 0 and self.in_range(size)

    def in_range(self, size: int) -> bool:
        return any(lo <= size and (hi is None or size <= hi) for lo, hi in self.ranges)

    @property
    def padding(self) -> Buckets | None:
        """The sizes that calls are padded to, if any."""
        if not self.buckets:
            return None
        sizes = self.buckets if isinstance(self.buckets, str) else tuple(self.buckets)
        cap = Cap.of(self.max_padding)
        assert cap is not None, "a cap that is none is refused"
        return Buckets(sizes, cap, self.max, self.contains)

    @property
    def ranges_text(self) -> str:
        return " | ".join(f"{lo}..{'' if hi is None else hi}" for lo, hi in self.ranges)

    def __str__(self) -> str:
        multiple = f" multiple_of {self.multiple_of}" if self.multiple_of != 1 else ""
        word = "observed" if self.likely_from is Origin.OBSERVED else "likely"
        likely = f" {word} [{', '.join(map(str, self.likely))}]" if self.likely else ""
        fixed = "" if self.broadcasts else " no_broadcast"
        name = quoted(self.name, "`") if self.name in _WORDS else str(self.symbol)
        return f"{name}: {self.ranges_text}{multiple}{likely}{fixed}{self._memory_text}"

    @property
    def _memory_text(self) -> str:
        """How calls are padded, and whether memory is taken ahead."""
        listed = self.buckets if isinstance(self.buckets, str) else list(self.buckets)
        buckets = f" buckets {listed}" if self.buckets else ""
        cap = "" if self.max_padding is None else f" max_padding {self.max_padding}"
        return f"{buckets}{cap}{' static' if self.static else ''}"


def _merged(ranges: Iterable[Range]) -> tuple[Range, ...]:
    """Sorted; ranges that overlap or touch become one."""
    merged: list[Range] = []
    for lo, hi in sorted(ranges, key=lambda item: item[0]):
        if merged:
            last_lo, last_hi = merged[-1]
            if last_hi is None:
                break
            if lo <= last_hi + 1:
                merged[-1] = (last_lo, None if hi is None else max(hi, last_hi))
                continue
        merged.append((lo, hi))
    return tuple(merged)


# --- text ---------------------------------------------------------------------------------------

_HINT = "an axis is declared as 'seq: 1..512 multiple_of 8 likely [128, 256]'"


def read_axis(cursor: Cursor) -> Axis:
    """Reads one declaration."""
    token = cursor.peek()
    if not token.is_symbol or (token.kind is TokenKind.NAME and token.text in RESERVED):
        cursor.fail(f"expected the name of an axis, found {token.describe()}", _HINT)
    name = cursor.next().value
    cursor.expect(":", _HINT)
    ranges = [_read_range(cursor)]
    while cursor.accept("|"):
        ranges.append(_read_range(cursor))
    multiple = cursor.expect_integer(hint=_HINT) if cursor.accept("multiple_of") else 1
    observed = cursor.accept("observed")
    likely = _read_sizes(cursor) if observed or cursor.accept("likely") else ()
    fixed = cursor.accept("no_broadcast")
    buckets = _read_buckets(cursor) if cursor.accept("buckets") else ()
    cap = _read_cap(cursor) if cursor.accept("max_padding") else None
    return Axis(
        name,
        multiple_of=multiple,
        likely=likely,
        ranges=ranges,
        broadcasts=not fixed,
        likely_from=Origin.OBSERVED if observed else Origin.USER,
        buckets=buckets,
        max_padding=cap,
        static=bool(cursor.accept("static")),
    )


def parse_axis(text: str) -> Axis:
    cursor = Cursor(text)
    axis = read_axis(cursor)
    cursor.expect_end(_HINT)
    return axis


def _read_range(cursor: Cursor) -> Range:
    lo = cursor.expect_integer(hint=_HINT)
    cursor.expect("..", _HINT)
    bounded = cursor.peek().kind is TokenKind.INTEGER
    return lo, cursor.expect_integer() if bounded else None


def _read_sizes(cursor: Cursor) -> tuple[int, ...]:
    cursor.expect("[", _HINT)
    sizes = [cursor.expect_integer(hint=_HINT)]
    while cursor.accept(","):
        sizes.append(cursor.expect_integer(hint=_HINT))
    cursor.expect("]", _HINT)
    return tuple(sizes)


def _read_buckets(cursor: Cursor) -> tuple[int, ...] | str:
    return POW2 if cursor.accept(POW2) else _read_sizes(cursor)


def _read_cap(cursor: Cursor) -> int | str:
    most = cursor.expect_integer(hint=_HINT)
    return f"{most}%" if cursor.accept("%") else most
