"""Errors about a named axis of which the model allows one size only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from anyshape.base.errors import AxisDeclarationError
from anyshape.base.location import Location
from anyshape.frontend.imported.axes import InputAxes, NamedAxes
from anyshape.frontend.torch_export.export_errors import code_at
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
    def without(self) -> str:
        """The user's axes of that input, without this one."""
        others = {i: str(dim) for i, dim in self.input.dims.items() if i != self.position}
        path, rank = self.input.path, self.input.rank
        if not path.isidentifier():
            return f"give None instead of '{self.axis}' in axes"
        return f"pass axes={{'{path}': {tuple(others.get(i) for i in range(rank))}, ...}}"


def fixed_size(fixed: FixedSize, location: Location | None) -> AxisDeclarationError:
    """The model allows one certain size."""
    axis, size = fixed.axis, fixed.size
    line = f" at {location}{code_at(location)}" if location else ""
    problem = f"{fixed.where} is dynamic, but the model fixes it to {size}{line}"
    fix = f"{fixed.without} and size {size}, or change that line"
    return AxisDeclarationError(axis, problem, fix)


def taken_as_number(
    taken: SizeTakenError, named: NamedAxes, sizes: Mapping[Symbol, int]
) -> AxisDeclarationError:
    """The model's code takes any size that it is captured with as a number."""
    fixed = _position(named, sizes, taken.size)
    line = f" at {taken.location}{code_at(taken.location)}"
    problem = f"{fixed.where} is dynamic, but the model's code takes its size as a number{line}"
    fix = f"use tensor ops or torch's scan instead of a Python loop over '{fixed.axis}'; or, for"
    return AxisDeclarationError(fixed.axis, problem, f"{fix} one size only, {fixed.without}")


def _position(named: NamedAxes, sizes: Mapping[Symbol, int], size: int) -> FixedSize:
    """The first input with that size, which the example gives to one axis only."""
    positions = (
        (axes, i, dim.evaluate(sizes)) for axes in named.inputs for i, dim in axes.dims.items()
    )
    return next(FixedSize(axes, i, found) for axes, i, found in positions if found == size)
