"""Attributes computed when they are first asked for.

As `functools.cached_property`, without the lock that Python 3.11 holds while it computes one: all
objects of a class share it, and a child of a fork might find it locked for ever. Threads that ask
at the same time may both compute; so use it for what is equal however often it is computed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, Self, TypeVar, overload

Owner = TypeVar("Owner")
T = TypeVar("T")


class lazy_property(Generic[Owner, T]):  # noqa: N801 - reads like `property`
    """Computes the attribute once and keeps it in the object's `__dict__`."""

    def __init__(self, compute: Callable[[Owner], T]) -> None:
        self._compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type[Owner], name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type[Owner]) -> Self: ...

    @overload
    def __get__(self, instance: Owner, owner: type[Owner]) -> T: ...

    def __get__(self, instance: Owner | None, owner: type[Owner]) -> Self | T:
        if instance is None:
            return self
        value = self._compute(instance)
        vars(instance)[self._name] = value  # found there from now on, before this descriptor
        return value

    if TYPE_CHECKING:  # assigned like any attribute, since nothing here catches it

        def __set__(self, instance: Owner, value: T) -> None: ...


if TYPE_CHECKING:
    lazy_read_only = property
else:
    lazy_read_only = lazy_property
"""The same where an interface asks for a property: nobody assigns it."""
