"""Models and functions that cannot be captured, compiled or used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from anyshape.base.errors.common import AnyshapeError, at, joined
from anyshape.base.errors.sizes import ShapeError
from anyshape.base.location import Location


class UnsupportedError(AnyshapeError):
    """Ops that have no native form: all of them, with how often and where they occur."""

    def __init__(self, ops: Mapping[str, Sequence[str]]) -> None:
        super().__init__(tuple((op, tuple(places)) for op, places in ops.items()))
        self.ops = {op: len(places) for op, places in ops.items()}
        self.places = {op: tuple(filter(None, places)) for op, places in ops.items()}

    def message(self) -> str:
        counted = ", ".join(f"{op} ({count})" for op, count in sorted(self.ops.items()))
        located = (f"{op}: {', '.join(at)}" for op, at in sorted(self.places.items()) if at)
        return joined(
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
        lines = (counted(part, places) for part, places in sorted(self.parts.items()))
        known = f"{self.source} uses what anyshape does not know:"
        return joined(known, *lines, f"fix: {self.fix}")


def counted(part: str, places: Sequence[str]) -> str:
    """A part with its count and the first few of its places."""
    known = list(dict.fromkeys(place for place in places if place))
    shown = ", ".join(known[:3]) + (", …" if len(known) > 3 else "")
    return f"  {part} ({len(places)})" + (f" at {shown}" if shown else "")


class MissingPackageError(AnyshapeError, ImportError):
    """A package that something needs, and that is not installed."""

    def __init__(self, package: str, purpose: str, requirement: str) -> None:
        super().__init__(package, purpose, requirement)
        self.package = package
        self.purpose = purpose
        self.requirement = requirement

    def message(self) -> str:
        return joined(
            f"{self.purpose} need the package '{self.package}', which is not installed",
            f"fix: pip install '{self.requirement}'",
        )


class RaggedModelError(AnyshapeError):
    """A padded model that cannot be shown to compute the same without padding."""

    def __init__(self, model: str, problem: str, fix: str, location: Location | None = None):
        super().__init__(model, problem, fix)
        self.model = model
        self.problem = problem
        self.fix = fix
        self.location = location

    def message(self) -> str:
        where = f"{self.model} cannot be ragged{at(self.location)}"
        return joined(f"{where}: {self.problem}", f"fix: {self.fix}")


class TraceError(AnyshapeError):
    """A Python function that cannot be traced into a graph."""

    def __init__(self, function: str, problem: str, fix: str, location: Location | None = None):
        super().__init__(function, problem, fix)
        self.function = function
        self.problem = problem
        self.fix = fix
        self.location = location

    def message(self) -> str:
        return joined(f"{self.function}{at(self.location)}: {self.problem}", f"fix: {self.fix}")


class BranchLimitError(AnyshapeError):
    """A model whose code tells more cases of sizes apart than there may be programs."""

    def __init__(
        self, model: str, limit: int, conditions: Sequence[str], ranges: Mapping[str, str]
    ) -> None:
        super().__init__(model, limit, conditions, ranges)
        self.model = model
        self.limit = limit
        self.conditions = tuple(conditions)
        self.ranges = dict(ranges)

    def message(self) -> str:
        settled = " and ".join(self.ranges.values())
        return joined(
            f"{self.model}: its code branches on sizes, and {self.limit} programs are not enough"
            " for all that its axes allow; it asks whether",
            *(f"  {condition}" for condition in self.conditions),
            f"fix: declare {settled}, for which these programs are enough; or pass a larger"
            " branches=, or branches=1 for the case of the example alone",
        )


class RefusedCaseError(AnyshapeError):
    """A call with sizes for which a model raises, or for which it could not be captured."""

    def __init__(
        self, model: str, sizes: str, case: str, problem: str, location: Location | None
    ) -> None:
        super().__init__(model, sizes, case, problem, location)
        self.model = model
        self.sizes = sizes
        self.case = case
        self.problem = problem
        self.location = location

    def message(self) -> str:
        return joined(
            f"{self.model}{at(self.location)}: {self.problem}",
            f"  the call has {self.sizes}; the model does this where {self.case}",
            "fix: pass other sizes, or change that line of the model",
        )


class UncapturedCaseError(AnyshapeError):
    """A call with sizes that are of none of the cases that a model was captured for."""

    def __init__(self, model: str, sizes: str, cases: Sequence[str]) -> None:
        super().__init__(model, sizes, cases)
        self.model = model
        self.sizes = sizes
        self.cases = tuple(cases)

    def message(self) -> str:
        return joined(
            f"{self.model}: the call has {self.sizes}; the model's code was captured for",
            *(f"  {case}" for case in self.cases),
            "fix: pass sizes of one of these cases, or compile with an example of such sizes",
        )


class ConsumedError(AnyshapeError):
    """A model that was compiled with `consume=True` and is used again: its weights are gone."""

    def __init__(self, model: str) -> None:
        super().__init__(model)
        self.model = model

    def message(self) -> str:
        return joined(
            f"{self.model} has given its weights to the model that was compiled from it",
            "fix: call the compiled model, or compile without consume=True",
        )


class ForkedCaptureError(AnyshapeError):
    """A torch model to be captured in a process that was forked in the middle of a capture."""

    def message(self) -> str:
        return joined(
            "this process was forked while another thread captured a torch model, and here torch "
            "is in the middle of that for ever",
            "fix: compile models before forking, or start the process with 'spawn'",
        )


class SizeNameError(ShapeError):
    """A model gives one name to two sizes, and says so of two tensors."""

    def __init__(self, name: str, first: str, second: str, contradiction: str) -> None:
        super().__init__(name, first, second, contradiction)
        self.name = name
        self.first = first
        self.second = second
        self.contradiction = contradiction

    def message(self) -> str:
        return joined(
            f"the size '{self.name}' is declared of {self.first} and of {self.second}, "
            "and cannot be the same for both:",
            *(f"  {line}" for line in self.contradiction.split("\n") if line[:4] != "fix:"),
            "fix: give one of them another name in the model, or use a session without "
            "'anyshape.strict_names', which takes them apart",
        )


class ModelFileError(AnyshapeError):
    """A model's file that cannot be read."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(path, problem)
        self.path = path
        self.problem = problem

    def message(self) -> str:
        return joined(f"cannot read {self.path}: {self.problem}", "fix: pass the path of a model")


class InvalidModelError(AnyshapeError):
    """A model that breaks the rules of its format; `parsed` is False where its bytes do."""

    def __init__(self, model: str, problem: str, fix: str, *, parsed: bool = True) -> None:
        super().__init__(model, problem, fix)
        self.model = model
        self.problem = problem
        self.fix = fix
        self.parsed = parsed

    def message(self) -> str:
        return joined(f"{self.model}: {self.problem}", f"fix: {self.fix}")
