"""Buckets of an axis: the few sizes that calls are padded to, and how much padding is too much.

    seq: 1..512 buckets [64, 128, 256, 512] max_padding 64
    seq: 1..512 buckets pow2 max_padding 25%

A size that no bucket holds, or for which the smallest bucket that does would add more than
`max_padding`, stays what it is: buckets never refuse a call. A share is one of the bucket, so it is
the part of the work that is wasted at most. A size of 0 is never padded: there is nothing to run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Final

POW2: Final = "pow2"
Sizes = tuple[int, ...] | str
"""Sizes in ascending order, or `POW2`."""


@dataclass(frozen=True, slots=True)
class Cap:
    """The most padding: elements along the axis, or a share of the bucket in hundredths."""

    elements: int | None = None
    percent: int | None = None

    @staticmethod
    def of(given: int | str | None) -> Cap | None:
        """None if it is neither a number of elements nor a share such as '25%'."""
        if given is None:
            return Cap()
        if isinstance(given, str):
            digits = given.removesuffix("%").strip()
            is_share = given.endswith("%") and digits.isdecimal() and int(digits) <= 100
            return Cap(percent=int(digits)) if is_share else None
        return Cap(elements=given) if given >= 0 else None

    def allows(self, size: int, bucket: int) -> bool:
        padding = bucket - size
        if self.elements is not None:
            return padding <= self.elements
        return self.percent is None or 100 * padding <= self.percent * bucket

    def __str__(self) -> str:
        return f"{self.percent}%" if self.percent is not None else str(self.elements)


@dataclass(frozen=True, slots=True)
class Buckets:
    """The buckets of one axis, whose legal sizes `contains` knows."""

    sizes: Sizes
    cap: Cap
    most: int | None
    contains: Callable[[int], bool]

    def bucket(self, size: int) -> int | None:
        """The smallest bucket that holds so many, or None."""
        if isinstance(self.sizes, tuple):
            return next((bucket for bucket in self.sizes if bucket >= size), None)
        first = max(size - 1, 0).bit_length()
        powers = (2**exponent for exponent in count(first))
        for bucket in (min(power, self.most or power) for power in powers):
            if self.contains(bucket):
                return bucket
            if bucket == self.most or bucket > _FAR * size:
                return None
        return None

    def padded(self, size: int) -> tuple[int, str]:
        """What a size is padded to, and why it stays what it is if it does."""
        if size == 0:
            return 0, "there is nothing to pad"
        bucket = self.bucket(size)
        if bucket is None:
            return size, "no bucket holds it"
        if not self.cap.allows(size, bucket):
            return size, f"{bucket - size} to {bucket} are more than max_padding {self.cap}"
        return bucket, ""

    def listed(self) -> Sequence[int] | None:
        """Every bucket, where there are finitely many."""
        if isinstance(self.sizes, tuple):
            return self.sizes
        if self.most is None:
            return None
        powers = {min(2**exponent, self.most) for exponent in range(self.most.bit_length() + 1)}
        return sorted(size for size in powers if self.contains(size))


_FAR: Final = 1 << 16
"""A power of two so many times a size is no bucket for it: its divisor has no power of two."""
