"""Errors about a named axis of which the model allows one size only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from anyshape.base.errors import AxisDeclarationError
from anyshape.base.location import Location
from anyshape.frontend.imported.axes import InputAxes
from anyshape.frontend.torch_export.export_errors import code_at
from anyshape.frontend.torch_export.guards import model_guards


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


def fixed_size(
    program: Any, fixed: FixedSize, refused_at: Location | None, *, chosen: bool
) -> AxisDeclarationError:
    """The model allows one certain size, or takes any size that it is captured with as a number:
    then we have `chosen` that size, and no line refused it."""
    axis, size = fixed.axis, fixed.size
    met = [guard.location for guard in model_guards(program) if f", {size})" in guard.met_as]
    location = next((location for location in (*met, refused_at) if location is not None), None)
    line = f" at {location}{code_at(location)}" if location else ""
    if chosen and refused_at is None:
        problem = f"{fixed.where} is dynamic, but the model's code takes its size as a number{line}"
        fix = f"use tensor ops or torch's scan instead of a Python loop over '{axis}'; or, for one"
        return AxisDeclarationError(axis, problem, f"{fix} size only, {fixed.without}")
    problem = f"{fixed.where} is dynamic, but the model fixes it to {size}{line}"
    fix = f"{fixed.without} and size {size}, or change that line"
    return AxisDeclarationError(axis, problem, fix)
