"""What is wrong with a graph, its text or its constants."""

from __future__ import annotations

from collections.abc import Sequence

from anyshape.base.errors.common import AnyshapeError, at, joined, shortened
from anyshape.base.location import Location


class UnknownOpError(AnyshapeError):
    """An op that is not in the registry."""

    def __init__(self, op: str, similar: Sequence[str] = ()) -> None:
        super().__init__(op)
        self.op = op
        self.similar = tuple(similar)

    def message(self) -> str:
        near = f"did you mean {' or '.join(self.similar)}?" if self.similar else "check the name"
        return joined(f"unknown op '{self.op}'", f"fix: {near}")


class AttributeValueError(AnyshapeError):
    """An attribute that the op does not have, lacks, or that has a wrong value."""

    def __init__(self, op: str, attribute: str, problem: str, known: Sequence[str] = ()) -> None:
        super().__init__(op, attribute, problem)
        self.op = op
        self.attribute = attribute
        self.problem = problem
        self.known = tuple(known)

    def message(self) -> str:
        return joined(
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
        return joined(
            f"{self.op}{at(self.location)}: {self.problem}",
            f"fix: call it as {self.signature}",
        )


_SHOWN = 120
"""Characters of a line of text that an error shows."""


class TextError(AnyshapeError):
    """Malformed text: line, column and a caret under the offending place.

    `source` is the line, or what is around the place if the line is long.
    """

    def __init__(self, problem: str, line: int, column: int, source: str, hint: str = "") -> None:
        start = max(0, column - 1 - _SHOWN // 2) if len(source) > _SHOWN else 0
        excerpt = source[start : start + _SHOWN]
        super().__init__(problem, line, column, excerpt)
        self.problem = problem
        self.line = line
        self.column = column
        self.source = excerpt
        self.hint = hint
        self._caret = column - 1 - start
        self._before = "… " if start else ""
        self._after = " …" if start + _SHOWN < len(source) else ""

    def message(self) -> str:
        return joined(
            f"line {self.line}, column {self.column}: {shortened(self.problem, 300)}",
            f"  {self._before}{self.source}{self._after}",
            "  " + " " * (len(self._before) + self._caret) + "^",
            f"fix: {shortened(self.hint, 500)}" if self.hint else None,
        )


class VerifyError(AnyshapeError):
    """A graph that breaks an invariant of the IR: always a defect of whoever built it."""

    def __init__(self, subject: str, problem: str) -> None:
        super().__init__(subject, problem)
        self.subject = subject
        self.problem = problem

    def message(self) -> str:
        return joined(
            f"invalid graph: {self.subject}: {self.problem}",
            "fix: correct what built it; if that was anyshape, report this message",
        )


class EvaluationError(AnyshapeError):
    """A value that an op cannot take, found while a graph runs (an index out of range, say)."""

    def __init__(self, op: str, problem: str, location: Location | None = None) -> None:
        super().__init__(op, problem)
        self.op = op
        self.problem = problem
        self.location = location

    def message(self) -> str:
        return joined(
            f"{self.op}{at(self.location)}: {self.problem}",
            f"fix: pass values that '{self.op}' takes",
        )


class LateSizeError(EvaluationError):
    """A size that the graph computed for a late axis, and that the axis cannot have."""

    def __init__(
        self, op: str, size: int, upper: int | None, location: Location | None = None
    ) -> None:
        bound = "0 or more" if upper is None else f"0 to {upper}"
        super().__init__(op, f"the computed size is {size}, expected {bound}", location)
        self.args = (op, size, upper)
        self.size = size
        self.upper = upper  # the greatest size there is, if any

    def message(self) -> str:
        return joined(
            f"{self.op}{at(self.location)}: {self.problem}",
            "fix: pass values for which the computed size is one, or clip it in the model",
        )


class HostResultError(EvaluationError):
    """An op of torch whose results are others at these sizes than its meta kernel says."""

    def __init__(
        self, op: str, declared: str, found: str, location: Location | None = None
    ) -> None:
        super().__init__(op, f"gives {found}, and was captured as giving {declared}", location)
        self.args = (op, declared, found)
        self.declared = declared
        self.found = found

    def message(self) -> str:
        return joined(
            f"{self.op}{at(self.location)}: {self.problem}",
            "torch's meta kernel of this op says what it gives for the example's case alone",
            "fix: compile with an example of these sizes, or declare ranges of axes that exclude "
            "them",
        )


class MissingTorchOpError(EvaluationError):
    """A graph calls an op of torch that this process does not have."""

    def __init__(self, op: str, problem: str, fix: str) -> None:
        super().__init__(op, problem)
        self.args = (op, problem, fix)
        self.fix = fix

    def message(self) -> str:
        return joined(
            f"the graph calls {self.op}{at(self.location)}: {self.problem}", f"fix: {self.fix}"
        )


class WeightError(AnyshapeError):
    """A constant whose weight buffer is missing or does not have the promised content."""

    def __init__(self, weight: str, problem: str) -> None:
        super().__init__(weight, problem)
        self.weight = weight
        self.problem = problem

    def message(self) -> str:
        return joined(
            f"weight {self.weight}: {self.problem}",
            "fix: pass the weight store that the graph was printed with",
        )


class UnmaskedOpError(AnyshapeError):
    """Ops that need to see an axis whole, where `strict` allows padded ones only."""

    fix = "compile it without strict: such ops are computed at exact sizes; or drop the buckets"

    def __init__(self, graph: str, ops: Sequence[tuple[str, str]]) -> None:
        super().__init__(graph, tuple(ops))
        self.graph = graph
        self.ops = tuple(ops)

    def message(self) -> str:
        named = (f"op '{op}' along axis '{axis}'" for op, axis in self.ops)
        problem = f"'{self.graph}' has buckets, and ops that cannot be masked: {', '.join(named)}"
        return joined(problem, f"fix: {self.fix}")
