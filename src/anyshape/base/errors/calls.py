"""What is wrong with a call, or ends one."""

from __future__ import annotations

from collections.abc import Mapping

from anyshape.base.errors.common import AnyshapeError, at, joined
from anyshape.base.location import Location


class DTypeError(AnyshapeError):
    """An element type that does not fit."""

    def __init__(
        self,
        subject: str,
        expected: str,
        found: str,
        fix: str = "cast explicitly",
        location: Location | None = None,
    ) -> None:
        super().__init__(subject, expected, found)
        self.subject = subject
        self.expected = expected
        self.found = found
        self.fix = fix
        self.location = location

    def message(self) -> str:
        return joined(
            f"{self.subject}{at(self.location)}: expected {self.expected}, got {self.found}",
            f"fix: {self.fix}",
        )


class InputError(AnyshapeError, TypeError):
    """An argument of a call that cannot be read as an array in this machine's memory."""

    def __init__(self, input: str, problem: str, fix: str) -> None:
        super().__init__(input, problem, fix)
        self.input = input
        self.problem = problem
        self.fix = fix

    def message(self) -> str:
        return joined(f"input '{self.input}' {self.problem}", f"fix: {self.fix}")


class OutputError(AnyshapeError, ValueError):
    """An array that a result cannot be written into."""

    def __init__(self, result: str, expected: str, found: str) -> None:
        super().__init__(result, expected, found)
        self.result = result
        self.expected = expected
        self.found = found

    def message(self) -> str:
        return joined(
            f"out for {self.result}: expected {self.expected}, got {self.found}",
            "fix: pass such an array, or None for a new one",
        )


class IndexRangeError(AnyshapeError, IndexError):
    """An index that a call computed or was given, and that is outside of its axis."""

    def __init__(
        self,
        op: str,
        index: int,
        size: int,
        axis: int,
        position: tuple[int, ...],
        from_end: bool = False,
        location: Location | None = None,
    ) -> None:
        super().__init__(op, index, size, axis, position)
        self.op = op
        self.index = index
        self.size = size
        self.axis = axis
        self.position = position  # of the index among all indices
        self.from_end = from_end  # whether indices below 0 are allowed
        self.location = location

    def message(self) -> str:
        least = -self.size if self.from_end else 0
        fix = f"pass indices from {least} to {self.size - 1}"
        return joined(
            f"{self.op}{at(self.location)}: index {self.index} at {list(self.position)} is outside"
            f" axis {self.axis}, which has size {self.size}",
            f"fix: {fix if self.size else 'pass no indices into an axis of size 0'}",
        )


class OffsetsError(AnyshapeError, ValueError):
    """Offsets of a ragged axis that do not say where its sequences are."""

    def __init__(self, name: str, problem: str) -> None:
        super().__init__(name, problem)
        self.name = name
        self.problem = problem

    def message(self) -> str:
        return joined(
            f"input '{self.name}': {self.problem}",
            "fix: pass offsets that ascend from 0 to the number of rows, as ash.pack makes them",
        )


class ZeroDivisorError(AnyshapeError, ZeroDivisionError):
    """An integer that a call divides by zero."""

    def __init__(
        self, op: str, position: tuple[int, ...], location: Location | None = None
    ) -> None:
        super().__init__(op, position)
        self.op = op
        self.position = position  # of the zero among the elements of the divisor
        self.location = location

    def message(self) -> str:
        return joined(
            f"{self.op}{at(self.location)}: the divisor is 0 at {list(self.position)}, and integers"
            " have no infinity",
            "fix: pass no zeros, or divide floats",
        )


class UnitRangeError(AnyshapeError, ValueError):
    """An element of a call that an op takes from 0 to 1 only."""

    def __init__(
        self, op: str, position: tuple[int, ...], location: Location | None = None
    ) -> None:
        super().__init__(op, position)
        self.op = op
        self.position = position
        self.location = location

    def message(self) -> str:
        return joined(
            f"{self.op}{at(self.location)}: the element at {list(self.position)} is not between 0"
            " and 1",
            "fix: pass probabilities, as torch.sigmoid gives them, or use the loss of logits",
        )


class ModelAssertionError(AnyshapeError, AssertionError):
    """What a model asserts of its data does not hold in a call."""

    def __init__(self, location: Location | None = None) -> None:
        super().__init__(location)
        self.location = location

    def message(self) -> str:
        return joined(
            f"the model{at(self.location)} asserts of its data what does not hold in this call",
            "fix: pass data for which it holds, or change the assertion",
        )


class CapabilityError(AnyshapeError):
    """Something that an executor does not do, whatever the graph."""

    def __init__(self, executor: str, problem: str, fix: str) -> None:
        super().__init__(executor, problem, fix)
        self.executor = executor
        self.problem = problem
        self.fix = fix

    def message(self) -> str:
        return joined(f"the {self.executor} executor {self.problem}", f"fix: {self.fix}")


class ResultCacheError(AnyshapeError):
    """Results that depend on more than the inputs of a call, so they cannot be kept for others."""

    def __init__(self, graph: str, causes: Mapping[str, int]) -> None:
        super().__init__(graph, dict(causes))
        self.graph = graph
        self.causes = dict(causes)  # what it is in words, and how often it occurs

    def message(self) -> str:
        causes = ", ".join(f"{cause} ({count})" for cause, count in self.causes.items())
        return joined(
            f"results of graph '{self.graph}' depend on more than its inputs: {causes}",
            "fix: leave out result_cache, or pass as inputs what they depend on",
        )


class HotError(AnyshapeError, ValueError):
    """A model whose hot bindings cannot have code of their own."""

    def __init__(self, graph: str, problem: str, fix: str) -> None:
        super().__init__(graph, problem, fix)
        self.graph = graph
        self.problem = problem
        self.fix = fix

    def message(self) -> str:
        return joined(
            f"'{self.graph}' cannot have code for its hot bindings: {self.problem}",
            f"fix: {self.fix}",
        )


class CancelledError(AnyshapeError):
    """A call that its `Cancellation` ended before it was complete."""

    def __init__(self, elapsed: float) -> None:
        super().__init__(elapsed)
        self.elapsed = elapsed

    def message(self) -> str:
        return joined(
            f"the call was cancelled after {self.elapsed:.3f} s",
            "fix: call again, with another Cancellation",
        )


class DeadlineError(AnyshapeError, TimeoutError):
    """A call that was not complete when its deadline came."""

    def __init__(self, elapsed: float, limit: float) -> None:
        super().__init__(elapsed, limit)
        self.elapsed = elapsed
        self.limit = limit

    def message(self) -> str:
        return joined(
            f"the call was not complete after {self.elapsed:.3f} s; its deadline: {self.limit:g} s",
            "fix: allow more time, or call with smaller shapes",
        )


class ForkedCallError(AnyshapeError):
    """A call during which a handler of a signal forked, in the child."""

    def message(self) -> str:
        return joined(
            "this process was forked in the middle of the call, by a handler of a signal, and has "
            "none of the threads that worked on it",
            "fix: call again",
        )


class OptionError(AnyshapeError, ValueError):
    """An option or environment variable whose value cannot be understood."""

    def __init__(self, option: str, value: str, expected: str) -> None:
        super().__init__(option, value, expected)
        self.option = option
        self.value = value
        self.expected = expected

    def message(self) -> str:
        return joined(
            f"{self.option}={self.value!r} is not {self.expected}",
            f"fix: set {self.option} to {self.expected}, or unset it",
        )


class OptionKindError(OptionError):
    """An argument of another kind than it must be, with the line that was meant."""

    def __init__(self, option: str, kind: str, expected: str, fix: str) -> None:
        super().__init__(option, kind, expected)
        self.args = (option, kind, expected, fix)
        self.fix = fix

    def message(self) -> str:
        found = f"{self.option} must be {self.expected}, and is a {self.value}"
        return joined(found, f"fix: {self.fix}")


class NotPicklableError(AnyshapeError, TypeError):
    """Something that holds code and memory of this process, to be written to a file or a pipe."""

    def __init__(self, what: str, fix: str) -> None:
        super().__init__(what, fix)
        self.what = what
        self.fix = fix

    def message(self) -> str:
        why = "they hold machine code and memory of this process"
        return joined(f"{self.what} objects cannot be pickled: {why}", f"fix: {self.fix}")


class OutOfMemoryError(AnyshapeError, MemoryError):
    """The system has no more memory for a call. The Executable stays usable."""

    def message(self) -> str:
        return joined(
            "memory ran out",
            "fix: call trim() on Executables that are idle, pass smaller inputs, or set"
            " memory_limit= to be told in advance",
        )


class _MemoryNeedError(AnyshapeError, MemoryError):
    """A call that needs more memory than `limit`, refused before it touched what it lacks.

    `halved` says for each axis what the call would need if that axis were half as large.
    """

    def __init__(
        self,
        graph: str,
        binding: Mapping[str, int],
        parts: Mapping[str, int],
        limit: int,
        halved: Mapping[str, int],
    ) -> None:
        super().__init__(graph, dict(binding), dict(parts), limit, dict(halved))
        self.graph = graph
        self.binding = dict(binding)
        self.parts = dict(parts)  # bytes of the arena, of results, of copies of inputs
        self.needed = sum(parts.values())
        self.limit = limit
        self.halved = dict(sorted(halved.items(), key=lambda item: item[1]))

    def _text(self, limit: str, fix: str) -> str:
        sizes = ", ".join(f"{axis}={size}" for axis, size in self.binding.items())
        parts = ", ".join(f"{name} {size:,}" for name, size in self.parts.items() if size)
        smaller = f"pass a smaller {next(iter(self.halved))}, or " if self.halved else ""
        return joined(
            f"graph '{self.graph}' at {sizes or 'its one shape'} needs {self.needed:,} bytes"
            f" ({parts}), {limit}",
            *(
                f"  with {axis}={self.binding[axis] // 2} it would need {size:,}"
                for axis, size in self.halved.items()
            ),
            f"fix: {smaller}{fix}",
        )


class MemoryLimitError(_MemoryNeedError):
    """A call that needs more memory than its caller allows."""

    def message(self) -> str:
        return self._text(f"the limit is {self.limit:,}", f"raise memory_limit to {self.needed}")


class InsufficientMemoryError(_MemoryNeedError, OutOfMemoryError):
    """A call that needs more memory than the machine, or the container, has left."""

    def message(self) -> str:
        return self._text(
            f"the system has {self.limit:,}", "call trim() on Executables that are idle"
        )


class WeightMemoryError(InsufficientMemoryError):
    """A constant of a graph that needs a form of its own in memory, for which there is none left.

    `parts` says which constant, and how many bytes.
    """

    def message(self) -> str:
        (weight,) = self.parts
        return joined(
            f"graph '{self.graph}' needs {self.needed:,} bytes for {weight}, the system has"
            f" {self.limit:,}",
            "fix: call trim() on Executables that are idle, or compile with consume=True, so that"
            " a model lets go of each weight when it is stored",
        )
