"""Sizes that do not fit each other, or the axes they are given to."""

from __future__ import annotations

from dataclasses import dataclass

from anyshape.base.errors.common import at, joined
from anyshape.base.errors.sizes import ShapeError
from anyshape.base.location import Location


class RankMismatchError(ShapeError):
    """A tensor has another number of axes than declared."""

    def __init__(self, subject: str, expected: int, found: int, declared: str, actual: str) -> None:
        super().__init__(subject, expected, found, declared, actual)
        self.subject = subject
        self.expected = expected
        self.found = found
        self.declared = declared
        self.actual = actual

    def message(self) -> str:
        return joined(
            f"{self.subject} has rank {self.found}, expected rank {self.expected}",
            f"  declared {self.declared}, got shape {self.actual}",
            f"fix: pass an array with {self.expected} axes",
        )


class DimMismatchError(ShapeError):
    """A size differs from the number that the declared dim has."""

    def __init__(
        self,
        subject: str,
        position: int,
        declared: str,
        expected: int,
        found: int,
        derivation: str = "",
    ) -> None:
        super().__init__(subject, position, declared, expected, found)
        self.subject = subject
        self.position = position
        self.declared = declared
        self.expected = expected
        self.found = found
        self.derivation = derivation
        self.fix = f"pass size {expected} there, or declare the axis dynamic"

    def message(self) -> str:
        declared = f" (dim '{self.declared}')" if self.declared != str(self.expected) else ""
        return joined(
            f"{self.subject} has size {self.found} at axis {self.position}, "
            f"expected {self.expected}{declared}",
            f"  {self.derivation}" if self.derivation else None,
            f"fix: {self.fix}",
        )


class UnsolvableSizeError(ShapeError):
    """No size of an axis gives its dim the size that was passed."""

    def __init__(self, subject: str, position: int, dim: str, size: int) -> None:
        super().__init__(subject, position, dim, size)
        self.subject = subject
        self.position = position
        self.dim = dim
        self.size = size

    def message(self) -> str:
        return joined(
            f"{self.subject} has size {self.size} at axis {self.position}, "
            f"but dim '{self.dim}' is never {self.size}",
            f"fix: pass a size of the form {self.dim}",
        )


@dataclass(frozen=True, slots=True)
class SizeSource:
    """One place that gives an axis its size: input 'a' has 32 at axis 0 through dim 'batch'."""

    subject: str
    position: int
    size: int
    dim: str

    def describe(self, axis: str) -> str:
        through = f" as '{self.dim}'" if self.dim != axis else ""
        return f"{self.subject} has {self.size} (axis {self.position}{through})"


class AxisConflictError(ShapeError):
    """One axis was given two sizes."""

    def __init__(self, axis: str, first: SizeSource, second: SizeSource) -> None:
        super().__init__(axis, first, second)
        self.axis = axis
        self.first = first
        self.second = second

    def message(self) -> str:
        return joined(
            f"axis '{self.axis}' has conflicting sizes: {self.first.describe(self.axis)}, "
            f"{self.second.describe(self.axis)}",
            f"fix: make both sizes agree, or give one of them another axis name than '{self.axis}'",
        )


class AxisRangeError(ShapeError):
    """An axis has a size outside its declared ranges."""

    def __init__(self, axis: str, size: int, allowed: str, source: str) -> None:
        super().__init__(axis, size, allowed, source)
        self.axis = axis
        self.size = size
        self.allowed = allowed
        self.source = source

    def message(self) -> str:
        return joined(
            f"axis '{self.axis}' is {self.size}, outside its range {self.allowed}",
            f"  {self.source}" if self.source else None,
            f"fix: pass a size within {self.allowed}, or widen Axis('{self.axis}', ...)",
        )


class AxisMultipleError(ShapeError):
    """An axis has a size that is not a multiple of its declared divisor."""

    def __init__(self, axis: str, size: int, multiple_of: int, source: str) -> None:
        super().__init__(axis, size, multiple_of, source)
        self.axis = axis
        self.size = size
        self.multiple_of = multiple_of
        self.source = source

    def message(self) -> str:
        below = self.size - self.size % self.multiple_of
        return joined(
            f"axis '{self.axis}' is {self.size}, not a multiple of {self.multiple_of}",
            f"  {self.source}" if self.source else None,
            f"fix: use {below} or {below + self.multiple_of}, or drop multiple_of from "
            f"Axis('{self.axis}', ...)",
        )


class AxisNameConflictError(ShapeError):
    """Two differently named axes would have to be one size, and nothing says that they are."""

    def __init__(
        self, left: str, right: str, why: str, broadcast: bool, location: Location | None = None
    ) -> None:
        super().__init__(left, right, why)
        self.left = left
        self.right = right
        self.why = why
        self.broadcast = broadcast
        self.location = location
        self.in_axes = False  # whether names are given as `axes=`, and not in annotations

    def message(self) -> str:
        declare = f", or declare where='{self.left} == {self.right}'"
        one = f" (or where='broadcastable({self.left}, {self.right})' if one of them may be 1)"
        also = declare + (one if self.broadcast else "")
        meant = f": write '{self.left}' instead of '{self.right}' in axes=" if self.in_axes else ""
        return joined(
            f"axes '{self.left}' and '{self.right}' have different names but must be equal: "
            f"{self.why}{at(self.location)}",
            f"fix: use one name for both{meant}{also}",
        )
