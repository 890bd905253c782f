"""Errors about a named axis of which the model allows one size only."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from anyshape.base.errors import AxisDeclarationError
from anyshape.frontend.imported.axes import InputAxes, NamedAxes
from anyshape.frontend.torch_export.export_errors import code_at
from anyshape.frontend.torch_export.fixing_ops import FixingOp
from anyshape.frontend.torch_export.questions import SizeTakenError
from anyshape.sym import Symbol


@dataclass(frozen=True)
class FixedSize:
    """A named position of an input, and the number that torch found its size to be."""

    input: InputAxes
    position: int
    size: int

    @property
    def axis(self) -> str:
        return str(self.input.dims[self.position])

    @property
    def where(self) -> str:
        return f"(input '{self.input.path}', axis {self.position})"

    @property
    def entry(self) -> str:
        """The user's axes of that input."""
        return _entry(self.input, {})

    @property
    def without(self) -> str:
        """The user's axes of that input, without this one."""
        if not self.input.path.isidentifier():
            return f"give None instead of '{self.axis}' in axes"
        return f"pass axes={{{_entry(self.input, {self.position: None})}, ...}}"


@dataclass(frozen=True)
class UnnamedSize:
    """A position of an input that axes= says nothing of."""

    input: InputAxes
    position: int

    def entry(self, axis: str) -> str:
        """The axes of that input, with this one."""
        return _entry(self.input, {self.position: axis})


def _entry(given: InputAxes, other: Mapping[int, str | None]) -> str:
    """What `axes=` says of an input, with other names at some positions."""
    names = {**{i: str(dim) for i, dim in given.dims.items()}, **other}
    return f"'{given.path}': {tuple(names.get(i) for i in range(given.rank))}"


def fixed_size(
    fixed: FixedSize, op: FixingOp | None, unnamed: Sequence[UnnamedSize]
) -> AxisDeclarationError:
    """The model allows one certain size: a weight has it, or an input without a name for it."""
    weights = _weights(op, fixed.size)
    who = f"weight {weights}" if weights else "the model"
    line = f" at {op.location}{code_at(op.location)}" if op else ""
    problem = f"{fixed.where} is dynamic, but {who} fixes it to {fixed.size}{line}"
    if weights:
        return AxisDeclarationError(fixed.axis, problem, fixed.without)
    fix = f"{fixed.without} and size {fixed.size}, or change that line"
    if unnamed:
        other = unnamed[0]
        problem += f", and input '{other.input.path}' has no name for {fixed.size} at axis "
        problem += str(other.position)
        fix = f"pass axes={{{fixed.entry}, {other.entry(fixed.axis)}}} if they vary together; else "
        fix += f"{fixed.without} and size {fixed.size}"
    return AxisDeclarationError(fixed.axis, problem, fix)


def _weights(op: FixingOp | None, size: int) -> str:
    """`'fc.weight' [8, 4]`: operands that have the size."""
    weights = op.weights.items() if op is not None else ()
    named = (f"'{name}' {list(shape)}" for name, shape in weights if size in shape)
    return next(named, "")


def taken_as_number(
    taken: SizeTakenError, named: NamedAxes, sizes: Mapping[Symbol, int]
) -> AxisDeclarationError:
    """The model's code takes any size that it is captured with as a number."""
    fixed = _position(named, sizes, taken.size)
    code = code_at(taken.location)
    problem = f"{fixed.where} is dynamic, but the model's code takes its size as a number"
    fix = f"{_instead(code).format(axis=fixed.axis)}; or, for one size only, {fixed.without}"
    return AxisDeclarationError(fixed.axis, f"{problem} at {taken.location}{code}", fix)


def _instead(code: str) -> str:
    """What to write where a line makes a number of a size."""
    return next(fix for pattern, fix in _INSTEAD if re.search(pattern, code))


_INSTEAD = (
    (
        r"\bfor\b|\bwhile\b|\brange\(",
        "use tensor ops or torch's scan instead of a Python loop over '{axis}'",
    ),
    (
        r"\.(unbind|split|chunk|tensor_split|tolist)\(|\blist\(|\btuple\(",
        "use ops of the whole tensor instead of its parts along '{axis}'",
    ),
    (r"\blen\(", "take the size of '{axis}' from .shape, which stays open, instead of len"),
    (r"\bf[\"']|\bstr\(|\bprint\(|\.format\(", "leave the size of '{axis}' out of texts"),
    (
        r"",
        "compute with the size of '{axis}' by +, -, *, // and %, and compare it, as it is in"
        " .shape",
    ),
)
"""By what the line contains; the first that fits."""


def _position(named: NamedAxes, sizes: Mapping[Symbol, int], size: int) -> FixedSize:
    """The first input with that size, which the example gives to one axis only."""
    positions = (
        (axes, i, dim.evaluate(sizes)) for axes in named.inputs for i, dim in axes.dims.items()
    )
    return next(FixedSize(axes, i, found) for axes, i, found in positions if found == size)
