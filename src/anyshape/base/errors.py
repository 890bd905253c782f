"""Every error anyshape raises on purpose.

A small hierarchy; each class carries the facts of the matter as fields, so that a program can act
on them, and composes its own message: what was found, what was expected, how that was derived, and
last a line `fix:` with something to paste or do. Values that belong to higher layers (dims,
predicates, ops) arrive here as text, so this module depends on nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from anyshape.base.location import Location


class AnyshapeError(Exception):
    """Base of all errors below."""

    def __str__(self) -> str:
        return self.message()

    def message(self) -> str:
        """The whole text; subclasses compose it from their fields."""
        return "anyshape error"


def _lines(*parts: str | None) -> str:
    return "\n".join(part for part in parts if part)


def _at(location: Location | None) -> str:
    return f" ({location})" if location is not None else ""


# --- symbolic sizes -----------------------------------------------------------------------------


class DimError(AnyshapeError):
    """A size expression that has no value: division by zero, sizes that cannot broadcast."""

    def __init__(self, expression: str, problem: str) -> None:
        super().__init__(expression, problem)
        self.expression = expression
        self.problem = problem

    def message(self) -> str:
        return f"dim '{self.expression}': {self.problem}"


class AxisDeclarationError(AnyshapeError, ValueError):
    """An axis declared in a way that allows no size or contradicts itself."""

    def __init__(self, axis: str, problem: str, fix: str) -> None:
        super().__init__(axis, problem, fix)
        self.axis = axis
        self.problem = problem
        self.fix = fix

    def message(self) -> str:
        return _lines(f"axis '{self.axis}' {self.problem}", f"fix: {self.fix}")


class ShapeError(AnyshapeError):
    """Base of everything that is wrong with a shape."""


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
        return _lines(
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

    def message(self) -> str:
        declared = f" (dim '{self.declared}')" if self.declared != str(self.expected) else ""
        return _lines(
            f"{self.subject} has size {self.found} at axis {self.position}, "
            f"expected {self.expected}{declared}",
            f"  {self.derivation}" if self.derivation else None,
            f"fix: pass size {self.expected} there, or declare the axis dynamic",
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
        return _lines(
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
        return _lines(
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
        return _lines(
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
        return _lines(
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

    def message(self) -> str:
        one = f" (or where='broadcastable({self.left}, {self.right})' if one of them may be 1)"
        return _lines(
            f"axes '{self.left}' and '{self.right}' have different names but must be equal: "
            f"{self.why}{_at(self.location)}",
            f"fix: use one name for both, or declare where='{self.left} == {self.right}'"
            + (one if self.broadcast else ""),
        )


class RequirementError(ShapeError):
    """An op needs something of its sizes that the facts show to be false."""

    def __init__(
        self, requirement: str, why: str, derivation: str = "", location: Location | None = None
    ) -> None:
        super().__init__(requirement, why, derivation)
        self.requirement = requirement
        self.why = why
        self.derivation = derivation
        self.location = location

    def message(self) -> str:
        return _lines(
            f"{self.why}{_at(self.location)}: requires {self.requirement}, which never holds",
            f"  {self.derivation}" if self.derivation else None,
            "fix: change the shapes so that the requirement can hold",
        )


class UnprovableError(ShapeError):
    """Under `strict`, a requirement that the facts neither prove nor refute."""

    def __init__(self, requirement: str, why: str, location: Location | None = None) -> None:
        super().__init__(requirement, why)
        self.requirement = requirement
        self.why = why
        self.location = location

    def message(self) -> str:
        return _lines(
            f"{self.why}{_at(self.location)}: cannot prove {self.requirement} (strict)",
            f"fix: declare where='{self.requirement}', or compile without strict to check it "
            "at run time",
        )


class FactConflictError(ShapeError):
    """Two facts cannot both hold."""

    def __init__(self, new: str, new_source: str, old: str, old_source: str) -> None:
        super().__init__(new, new_source, old, old_source)
        self.new = new
        self.new_source = new_source
        self.old = old
        self.old_source = old_source

    def message(self) -> str:
        return _lines(
            f"contradictory facts: '{self.new}' cannot hold together with '{self.old}'",
            f"  '{self.new}' comes from {self.new_source}",
            f"  '{self.old}' comes from {self.old_source}",
            "fix: drop or correct one of them",
        )


class FactViolationError(ShapeError):
    """At run time, the sizes of one call break a fact."""

    def __init__(self, fact: str, source: str, values: str, sources: Sequence[str] = ()) -> None:
        super().__init__(fact, source, values)
        self.fact = fact
        self.source = source
        self.values = values
        self.sources = tuple(sources)

    def message(self) -> str:
        return _lines(
            f"'{self.fact}' does not hold for {self.values}",
            f"  it comes from {self.source}",
            *(f"  {source}" for source in self.sources),
            "fix: pass inputs whose sizes satisfy it",
        )


class UnboundAxisError(ShapeError):
    """An axis whose size cannot be computed from the inputs."""

    def __init__(self, axis: str, where: str, known: Sequence[str]) -> None:
        super().__init__(axis, where, tuple(known))
        self.axis = axis
        self.where = where
        self.known = tuple(known)

    def message(self) -> str:
        known = ", ".join(self.known) or "none"
        return _lines(
            f"axis '{self.axis}' cannot be solved from the input shapes: {self.where}",
            f"  axes that can: {known}",
            f"fix: give an input an axis '{self.axis}', or declare where='{self.axis} == ...'",
        )


class BindingNamesError(ShapeError):
    """A binding that leaves axes of the graph out, or names others."""

    def __init__(self, missing: Sequence[str], unknown: Sequence[str], axes: Sequence[str]) -> None:
        super().__init__(tuple(missing), tuple(unknown), tuple(axes))
        self.missing = tuple(missing)
        self.unknown = tuple(unknown)
        self.axes = tuple(axes)

    def message(self) -> str:
        problems = [f"axis '{name}' has no size" for name in self.missing]
        problems += [f"the graph has no axis '{name}'" for name in self.unknown]
        sizes = ", ".join(f"{name}=..." for name in self.axes)
        return _lines(
            f"the binding does not fit the graph: {'; '.join(problems)}",
            f"fix: specialize({sizes})",
        )


# --- types, ops, graphs -------------------------------------------------------------------------


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
        return _lines(
            f"{self.subject}{_at(self.location)}: expected {self.expected}, got {self.found}",
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
        return _lines(f"input '{self.input}' {self.problem}", f"fix: {self.fix}")


class CapabilityError(AnyshapeError):
    """Something that an executor does not do, whatever the graph."""

    def __init__(self, executor: str, problem: str, fix: str) -> None:
        super().__init__(executor, problem, fix)
        self.executor = executor
        self.problem = problem
        self.fix = fix

    def message(self) -> str:
        return _lines(f"the {self.executor} executor {self.problem}", f"fix: {self.fix}")


class UnknownOpError(AnyshapeError):
    """An op that is not in the registry."""

    def __init__(self, op: str, similar: Sequence[str] = ()) -> None:
        super().__init__(op)
        self.op = op
        self.similar = tuple(similar)

    def message(self) -> str:
        near = f"did you mean {' or '.join(self.similar)}?" if self.similar else "check the name"
        return _lines(f"unknown op '{self.op}'", f"fix: {near}")


class UnsupportedError(AnyshapeError):
    """Ops that have no native form: all of them, with how often and where they occur."""

    def __init__(self, ops: Mapping[str, Sequence[str]]) -> None:
        super().__init__(tuple((op, tuple(places)) for op, places in ops.items()))
        self.ops = {op: len(places) for op, places in ops.items()}
        self.places = {op: tuple(filter(None, places)) for op, places in ops.items()}

    def message(self) -> str:
        counted = ", ".join(f"{op} ({count})" for op, count in sorted(self.ops.items()))
        located = (f"{op}: {', '.join(at)}" for op, at in sorted(self.places.items()) if at)
        return _lines(
            f"no native form of {counted}",
            *located,
            "fix: compile without strict=True, and they run on the host",
        )


class UnsupportedModelError(AnyshapeError):
    """What an importer does not know of a model: all of it, with how often and where."""

    def __init__(self, source: str, parts: Mapping[str, Sequence[str]], fix: str) -> None:
        super().__init__(source, tuple((part, tuple(at)) for part, at in parts.items()), fix)
        self.source = source
        self.parts = {part: tuple(places) for part, places in parts.items()}
        self.fix = fix

    def message(self) -> str:
        lines = (_counted(part, places) for part, places in sorted(self.parts.items()))
        known = f"{self.source} uses what anyshape does not know:"
        return _lines(known, *lines, f"fix: {self.fix}")


def _counted(part: str, places: Sequence[str]) -> str:
    """A part with its count and the first few of its places."""
    known = list(dict.fromkeys(place for place in places if place))
    shown = ", ".join(known[:3]) + (", …" if len(known) > 3 else "")
    return f"  {part} ({len(places)})" + (f" at {shown}" if shown else "")


class AttributeValueError(AnyshapeError):
    """An attribute that the op does not have, lacks, or that has a wrong value."""

    def __init__(self, op: str, attribute: str, problem: str, known: Sequence[str] = ()) -> None:
        super().__init__(op, attribute, problem)
        self.op = op
        self.attribute = attribute
        self.problem = problem
        self.known = tuple(known)

    def message(self) -> str:
        return _lines(
            f"{self.op}: attribute '{self.attribute}' {self.problem}",
            f"fix: attributes of {self.op} are {', '.join(self.known) or '(none)'}",
        )


class OperandError(AnyshapeError):
    """A wrong number or kind of operands."""

    def __init__(
        self, op: str, problem: str, signature: str, location: Location | None = None
    ) -> None:
        super().__init__(op, problem, signature)
        self.op = op
        self.problem = problem
        self.signature = signature
        self.location = location

    def message(self) -> str:
        return _lines(
            f"{self.op}{_at(self.location)}: {self.problem}",
            f"fix: call it as {self.signature}",
        )


class TextError(AnyshapeError):
    """Malformed text: line, column and a caret under the offending place."""

    def __init__(self, problem: str, line: int, column: int, source: str, hint: str = "") -> None:
        super().__init__(problem, line, column, source)
        self.problem = problem
        self.line = line
        self.column = column
        self.source = source
        self.hint = hint

    def message(self) -> str:
        return _lines(
            f"line {self.line}, column {self.column}: {self.problem}",
            f"  {self.source}",
            "  " + " " * (self.column - 1) + "^",
            f"fix: {self.hint}" if self.hint else None,
        )


class VerifyError(AnyshapeError):
    """A graph that breaks an invariant of the IR: always a defect of whoever built it."""

    def __init__(self, subject: str, problem: str) -> None:
        super().__init__(subject, problem)
        self.subject = subject
        self.problem = problem

    def message(self) -> str:
        return f"invalid graph: {self.subject}: {self.problem}"


class EvaluationError(AnyshapeError):
    """A value that an op cannot take, found while a graph runs (an index out of range, say)."""

    def __init__(self, op: str, problem: str, location: Location | None = None) -> None:
        super().__init__(op, problem)
        self.op = op
        self.problem = problem
        self.location = location

    def message(self) -> str:
        return f"{self.op}{_at(self.location)}: {self.problem}"


class TraceError(AnyshapeError):
    """A Python function that cannot be traced into a graph."""

    def __init__(self, function: str, problem: str, fix: str, location: Location | None = None):
        super().__init__(function, problem, fix)
        self.function = function
        self.problem = problem
        self.fix = fix
        self.location = location

    def message(self) -> str:
        return _lines(f"{self.function}{_at(self.location)}: {self.problem}", f"fix: {self.fix}")


class WeightError(AnyshapeError):
    """A constant whose weight buffer is missing or does not have the promised content."""

    def __init__(self, weight: str, problem: str) -> None:
        super().__init__(weight, problem)
        self.weight = weight
        self.problem = problem

    def message(self) -> str:
        return _lines(
            f"weight {self.weight}: {self.problem}",
            "fix: pass the weight store that the graph was printed with",
        )


# --- calls that are ended -----------------------------------------------------------------------


class CancelledError(AnyshapeError):
    """A call that its `Cancellation` ended before it was complete."""

    def __init__(self, elapsed: float) -> None:
        super().__init__(elapsed)
        self.elapsed = elapsed

    def message(self) -> str:
        return _lines(
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
        return _lines(
            f"the call was not complete after {self.elapsed:.3f} s; its deadline: {self.limit:g} s",
            "fix: allow more time, or call with smaller shapes",
        )


# --- native code --------------------------------------------------------------------------------


class OptionError(AnyshapeError, ValueError):
    """An option or environment variable whose value cannot be understood."""

    def __init__(self, option: str, value: str, expected: str) -> None:
        super().__init__(option, value, expected)
        self.option = option
        self.value = value
        self.expected = expected

    def message(self) -> str:
        return _lines(
            f"{self.option}={self.value!r} is not {self.expected}",
            f"fix: set {self.option} to {self.expected}, or unset it",
        )


class OutOfMemoryError(AnyshapeError, MemoryError):
    """The system has no more memory for a call. The Executable stays usable."""

    def message(self) -> str:
        return _lines(
            "memory ran out",
            "fix: call trim() on Executables that are idle, pass smaller inputs, or set"
            " memory_limit= to be told in advance",
        )


class MemoryLimitError(AnyshapeError, MemoryError):
    """A call that needs more memory than it may have, refused before it took any.

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

    def message(self) -> str:
        sizes = ", ".join(f"{axis}={size}" for axis, size in self.binding.items())
        parts = ", ".join(f"{name} {size:,}" for name, size in self.parts.items() if size)
        smaller = f"pass a smaller {next(iter(self.halved))}, or " if self.halved else ""
        return _lines(
            f"graph '{self.graph}' at {sizes or 'its one shape'} needs {self.needed:,} bytes"
            f" ({parts}), the limit is {self.limit:,}",
            *(
                f"  with {axis}={self.binding[axis] // 2} it would need {size:,}"
                for axis, size in self.halved.items()
            ),
            f"fix: {smaller}raise memory_limit to {self.needed}",
        )


class CompileError(AnyshapeError):
    """Generated LLVM IR that does not compile: always a defect of the code generator."""

    def __init__(self, kernel: str, problem: str) -> None:
        super().__init__(kernel, problem)
        self.kernel = kernel
        self.problem = problem

    def message(self) -> str:
        return f"kernel '{self.kernel}' does not compile: {self.problem}"


class UndefinedSymbolError(CompileError):
    """Generated code that calls what it does not define; kernels must be self-contained."""

    def __init__(self, kernel: str, symbols: Sequence[str]) -> None:
        super().__init__(kernel, f"undefined symbols {', '.join(symbols)}")
        self.args = (kernel, tuple(symbols))
        self.symbols = tuple(symbols)

    def message(self) -> str:
        return _lines(
            super().message(),
            "fix: emit the operation from instructions that the target has, not as a library call",
        )


class CodeError(AnyshapeError):
    """Object code that cannot be loaded, or that lacks a function."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem

    def message(self) -> str:
        return f"cannot use object code: {self.problem}"
