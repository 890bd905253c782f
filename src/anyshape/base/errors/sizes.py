"""Sizes that are wrong by themselves or by the facts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from anyshape.base.errors.common import AnyshapeError, at, joined, shortened
from anyshape.base.location import Location


class DimError(AnyshapeError):
    """A size expression that has no value: division by zero, sizes that cannot broadcast."""

    def __init__(self, expression: str, problem: str, fix: str) -> None:
        super().__init__(expression, problem, fix)
        self.expression = expression
        self.problem = problem
        self.fix = fix

    def message(self) -> str:
        subject = shortened(self.expression, 200)
        return joined(f"dim '{subject}': {self.problem}", f"fix: {self.fix}")


class DimTypeError(DimError, TypeError):
    """Something that stands where a size should, and is none."""

    def message(self) -> str:
        return joined(
            f"a dim is an integer, a name or an expression, not {self.expression}",
            f"fix: {self.fix}",
        )


class DimTooLargeError(DimError):
    """A size expression with too many terms when written as a sum, too many parts, or too deep."""


class AxisDeclarationError(AnyshapeError, ValueError):
    """An axis declared in a way that allows no size or contradicts itself."""

    def __init__(self, axis: str, problem: str, fix: str) -> None:
        super().__init__(axis, problem, fix)
        self.axis = axis
        self.problem = problem
        self.fix = fix

    def message(self) -> str:
        return joined(f"axis '{self.axis}' {self.problem}", f"fix: {self.fix}")


class StaticAxisError(AnyshapeError, ValueError):
    """A static axis of a model whose memory cannot be taken ahead of calls."""

    def __init__(self, graph: str, axis: str, problem: str, fix: str) -> None:
        super().__init__(graph, axis, problem, fix)
        self.graph = graph
        self.axis = axis
        self.problem = problem
        self.fix = fix

    def message(self) -> str:
        return joined(
            f"axis '{self.axis}' of '{self.graph}' is static, but {self.problem}",
            f"fix: {self.fix}",
        )


class ShapeError(AnyshapeError):
    """Base of everything that is wrong with a shape."""


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
        return joined(
            f"{self.why}{at(self.location)}: requires {self.requirement}, which never holds",
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
        return joined(
            f"{self.why}{at(self.location)}: cannot prove {self.requirement} (strict)",
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
        if not self.old:
            return joined(
                f"'{self.new}' holds for no sizes",
                f"  it comes from {self.new_source}",
                "fix: drop or correct it",
            )
        return joined(
            f"contradictory facts: '{self.new}' cannot hold together with '{self.old}'",
            f"  '{self.new}' comes from {self.new_source}",
            f"  '{self.old}' comes from {self.old_source}",
            "fix: drop or correct one of them",
        )


@dataclass(frozen=True, slots=True)
class AxisRule:
    """What a fact asks of one axis: 's' must be a multiple of 8, and 20 is not."""

    axis: str
    allowed: str  # a multiple of 8
    size: int
    remedy: str  # pad to 24 or cut to 16
    declaration: str  # multiple_of=8


class FactViolationError(ShapeError):
    """At run time, the sizes of one call break a fact."""

    def __init__(
        self,
        fact: str,
        source: str,
        values: str,
        sources: Sequence[str] = (),
        rule: AxisRule | None = None,
    ) -> None:
        super().__init__(fact, source, values)
        self.fact = fact
        self.source = source
        self.values = values
        self.sources = tuple(sources)
        self.rule = rule

    def message(self) -> str:
        broken = f"'{self.fact}' does not hold for {self.values}"
        fix = "pass inputs whose sizes satisfy it"
        if (rule := self.rule) is not None:
            asked = f"axis '{rule.axis}' must be {rule.allowed}, which {rule.size} is not"
            broken = f"{asked}: {broken}"
            declared = f"Axis('{rule.axis}', {rule.declaration})"
            fix = f"{rule.remedy}, and declare {declared} to say so in advance"
        return joined(
            broken,
            f"  it comes from {self.source}",
            *(f"  {source}" for source in self.sources),
            f"fix: {fix}",
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
        return joined(
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
        return joined(
            f"the binding does not fit the graph: {'; '.join(problems)}",
            f"fix: specialize({sizes})",
        )
