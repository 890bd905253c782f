"""What the native runtime reports, as fields: `execute/` turns it into the words of the model.

The runtime knows inputs by number and sizes as integers. Axes, checks and their origins are known
one layer up, so these messages are for those who build programs by hand.
"""

from __future__ import annotations

from typing import Literal

from anyshape.base.errors import AnyshapeError, ForkedCallError, OutOfMemoryError

__all__ = [
    "CheckFailedError",
    "ForkedCallError",
    "ImpossibleSizeError",
    "InputCountError",
    "InputDtypeError",
    "InputKindError",
    "InputRankError",
    "MalformedProgramError",
    "MemoryLimitExceededError",
    "MemoryRefusedError",
    "MemoryUnavailableError",
    "OutOfMemoryError",
    "OutputCountError",
    "OutputKindError",
    "OutputUnfitError",
    "RuntimeFailure",
    "StoppedError",
    "UnfitSizeError",
]


class RuntimeFailure(AnyshapeError):  # noqa: N818 - the base of errors, never raised itself
    """Base of everything below."""

    segment: tuple[int, tuple[int, ...]] | None = None
    """In a course: which program it was, and the sizes of all its inputs; None for the entry."""


class MalformedProgramError(RuntimeFailure, ValueError):
    """The parts of a program do not fit together; found when it is made."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem

    def message(self) -> str:
        return f"malformed program: {self.problem}"


class CheckFailedError(RuntimeFailure):
    """A check of the generated shape program failed.

    `values` are what that code was given: the sizes of all inputs, one after the other, for stage
    "bind", and the symbols for stage "shape".
    """

    def __init__(
        self, stage: Literal["bind", "shape"], check: int, values: tuple[int, ...]
    ) -> None:
        super().__init__(stage, check, values)
        self.stage: Literal["bind", "shape"] = stage
        self.check = check
        self.values = values

    def message(self) -> str:
        return f"check {self.check} of '{self.stage}' failed for {self.values}"


class ImpossibleSizeError(RuntimeFailure):
    """The shape program computed a number that cannot be: too large, negative, out of range."""

    def __init__(self, subject: str, value: int) -> None:
        super().__init__(subject, value)
        self.subject = subject
        self.value = value

    def message(self) -> str:
        return f"impossible {self.subject}: {self.value}"


class UnfitSizeError(RuntimeFailure):
    """In a course: a number that was to become a size is below 0, or more than there are rows."""

    def __init__(self, number: int, size: int, rows: int | None) -> None:
        super().__init__(number, size, rows)
        self.number = number  # of the step
        self.size = size
        self.rows = rows

    def message(self) -> str:
        bound = "0 or more" if self.rows is None else f"0 to {self.rows}"
        return f"step {self.number} computed the size {self.size}, expected {bound}"


class StoppedError(RuntimeFailure):
    """A run that was ended before it was complete, by what its caller allowed to end it."""

    def __init__(self, reason: Literal["cancelled", "deadline"]) -> None:
        super().__init__(reason)
        self.reason: Literal["cancelled", "deadline"] = reason

    def message(self) -> str:
        return f"the run was ended: {self.reason}"


class MemoryRefusedError(RuntimeFailure, MemoryError):
    """Base of the two below: a binding whose run needs more bytes than `limit`."""

    def __init__(
        self, arena: int, outputs: int, copies: int, limit: int, symbols: tuple[int, ...]
    ) -> None:
        super().__init__(arena, outputs, copies, limit, symbols)
        self.arena = arena
        self.outputs = outputs
        self.copies = copies  # of inputs that are not contiguous
        self.limit = limit
        self.symbols = symbols

    def message(self) -> str:
        needed = self.arena + self.outputs + self.copies
        return f"a run for {self.symbols} needs {needed} bytes, the limit is {self.limit}"


class MemoryLimitExceededError(MemoryRefusedError):
    """More than the caller allows; nothing was allocated for it."""


class MemoryUnavailableError(MemoryRefusedError, OutOfMemoryError):
    """More than the system has; none of the memory that it lacks was touched."""


class InputCountError(RuntimeFailure, TypeError):
    """Another number of inputs than the program has."""

    def __init__(self, expected: int, found: int) -> None:
        super().__init__(expected, found)
        self.expected = expected
        self.found = found

    def message(self) -> str:
        return f"expected {self.expected} inputs, got {self.found}"


class InputKindError(RuntimeFailure, TypeError):
    """An input that is no array: neither NumPy's nor readable through DLPack on the CPU."""

    def __init__(self, input: int, name: str, found: str) -> None:
        super().__init__(input, name, found)
        self.input = input
        self.name = name
        self.found = found  # its Python type

    def message(self) -> str:
        return f"input '{self.name}' is a {self.found}, not an array in this machine's memory"


class InputDtypeError(RuntimeFailure, TypeError):
    """An input of another element type than declared."""

    def __init__(self, input: int, name: str, expected: str, found: str) -> None:
        super().__init__(input, name, expected, found)
        self.input = input
        self.name = name
        self.expected = expected
        self.found = found

    def message(self) -> str:
        return f"input '{self.name}' has dtype {self.found}, expected {self.expected}"


class InputRankError(RuntimeFailure, ValueError):
    """An input with another number of axes than declared."""

    def __init__(self, input: int, name: str, expected: int, shape: tuple[int, ...]) -> None:
        super().__init__(input, name, expected, shape)
        self.input = input
        self.name = name
        self.expected = expected
        self.shape = shape

    def message(self) -> str:
        return f"input '{self.name}' has shape {self.shape}, expected {self.expected} axes"


class OutputCountError(RuntimeFailure, TypeError):
    """Another number of arrays to write into than the program has outputs."""

    def __init__(self, expected: int, found: int) -> None:
        super().__init__(expected, found)
        self.expected = expected
        self.found = found

    def message(self) -> str:
        return f"expected {self.expected} arrays to write into, got {self.found}"


class OutputKindError(RuntimeFailure, TypeError):
    """Something to write into that is no NumPy array."""

    def __init__(self, output: int, found: str) -> None:
        super().__init__(output, found)
        self.output = output
        self.found = found  # its Python type

    def message(self) -> str:
        return f"output {self.output} cannot be written into a {self.found}"


class OutputUnfitError(RuntimeFailure, ValueError):
    """An array to write into that is read-only, or of another dtype or shape than the output."""

    def __init__(
        self,
        output: int,
        dtype: str,
        shape: tuple[int, ...],
        found_dtype: str,
        found_shape: tuple[int, ...],
        writeable: bool,
    ) -> None:
        super().__init__(output, dtype, shape, found_dtype, found_shape, writeable)
        self.output = output
        self.dtype = dtype
        self.shape = shape
        self.found_dtype = found_dtype
        self.found_shape = found_shape
        self.writeable = writeable

    def message(self) -> str:
        kind = "" if self.writeable else "read-only "
        found = f"{kind}{self.found_dtype}{list(self.found_shape)}"
        expected = f"{self.dtype}{list(self.shape)}"
        return f"output {self.output} is {expected}, and cannot be written into {found}"
