"""Names of contents: what tells weights apart, and no more of it than somebody asks for.

A digest has two parts, each of type, shape and elements: 16 digits of a few hundred elements, the
*sample*, and 48 digits of all of them. Contents that differ nearly always differ in the sample, so
that the rest is made only for contents that agree there, and for text. Half a gigabyte takes a
third of a second to hash, and models of many gigabytes are common.

A digest does not keep a content alive. One whose content is gone before anybody asked for the rest
equals itself alone, and prints its sample.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence

import numpy as np

from anyshape.ir.types import Array, dtype_of

SAMPLE_DIGITS = 16
REST_DIGITS = 48
SAMPLED = 256
"""Elements of a sample, spread over the content."""


Reader = Callable[[], "Array | None"]
"""Gives a content, or None when it is gone."""


class _Rest:
    """The digits of a whole content, as soon as somebody asks for them; shared by digests that are
    known to be equal, any of whose contents has them."""

    __slots__ = ("digits", "readers")

    def __init__(self, readers: Sequence[Reader], digits: str | None = None) -> None:
        self.readers = tuple(readers)
        self.digits = digits

    def content(self) -> Array | None:
        contents = (read() for read in self.readers)
        return next((content for content in contents if content is not None), None)

    def made(self) -> str | None:
        if self.digits is None:
            content = self.content()
            self.digits = None if content is None else _all_digits(content)
        return self.digits

    def merged(self, other: _Rest) -> _Rest:
        each = dict.fromkeys((*self.readers, *other.readers))  # both may have one already
        alive = [read for read in each if read() is not None]
        return _Rest(alive, self.digits or other.digits)


class Digest:
    """The name of a content: equal if the contents are, bit by bit."""

    __slots__ = ("_rest", "sample")

    def __init__(self, sample: str, rest: _Rest) -> None:
        self.sample = sample
        self._rest = rest

    @staticmethod
    def of(array: Array, read: Reader) -> Digest:
        """Of the elements of `array`, which `read` gives as long as somebody has them."""
        return Digest(_sample_digits(array), _Rest([read]))

    @staticmethod
    def of_text(text: str) -> Digest:
        return Digest(text[:SAMPLE_DIGITS], _Rest((), text[SAMPLE_DIGITS:] or None))

    def __str__(self) -> str:
        return self.sample + (self._rest.made() or "")

    __repr__ = __str__

    def __hash__(self) -> int:
        return hash(self.sample)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Digest):
            return NotImplemented
        if self._rest is other._rest:
            return True
        return self.sample == other.sample and self._agrees_with(other)

    def _agrees_with(self, other: Digest) -> bool:
        """Found out once: equal digests share their rest afterwards, others have one each."""
        mine, theirs = self._rest, other._rest
        if _is_same_memory(mine.content(), theirs.content()) or _is_known(mine, theirs):
            self._rest = other._rest = mine.merged(theirs)
            return True
        return False


def _is_known(one: _Rest, other: _Rest) -> bool:
    return (digits := one.made()) is not None and digits == other.made()


def _is_same_memory(one: Array | None, other: Array | None) -> bool:
    if one is None or other is None:
        return False
    return _memory(one) == _memory(other)


def _memory(array: Array) -> tuple[int, tuple[int, ...], tuple[int, ...], np.dtype[np.generic]]:
    return array.ctypes.data, array.shape, array.strides, array.dtype


def _sample_digits(array: Array) -> str:
    flat = array.reshape(-1)
    step = max(1, flat.size // SAMPLED)
    sample = np.concatenate((flat[::step], flat[-1:]))
    return _hashed(array, sample)[:SAMPLE_DIGITS]


def _all_digits(array: Array) -> str:
    return _hashed(array, np.ascontiguousarray(array))[:REST_DIGITS]


def _hashed(array: Array, elements: Array) -> str:
    """Digits over the type and shape of `array`, and over these elements."""
    hasher = hashlib.sha256(f"{dtype_of(array)}{list(array.shape)}".encode())
    hasher.update(elements.reshape(-1).view(np.uint8).data)
    return hasher.hexdigest()
