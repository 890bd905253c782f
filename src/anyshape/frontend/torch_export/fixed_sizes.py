"""A named axis of which the model allows one size only: what to tell the user."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from anyshape.base.errors import AxisDeclarationError
from anyshape.base.location import Location
from anyshape.frontend.torch_export.axes import NamedAxes
from anyshape.frontend.torch_export.conditions import model_guards
from anyshape.frontend.torch_export.export_errors import code_at


@dataclass(frozen=True)
class FixedSize:
    """A position of an input that has a name, and the number that it turned out to be."""

    named: NamedAxes
    leaf: int
    position: int
    size: int

    @property
    def axis(self) -> str:
        return str(self.named.leaves[self.leaf][self.position])

    @property
    def where(self) -> str:
        return f"(input '{self.named.paths[self.leaf]}', axis {self.position})"

    @property
    def without(self) -> str:
        """The user's axes of that input, without this one."""
        places = {i: str(d) for i, d in self.named.leaves[self.leaf].items() if i != self.position}
        path, rank = self.named.paths[self.leaf], self.named.ranks[self.leaf]
        if not path.isidentifier():
            return f"give None instead of '{self.axis}' in axes"
        return f"pass axes={{'{path}': {tuple(places.get(i) for i in range(rank))}, ...}}"


def fixed_size(
    program: Any, fixed: FixedSize, refused_at: Location | None, *, chosen: bool
) -> AxisDeclarationError:
    """The model allows a certain size, or any single one that it is captured with: it then was
    captured with the one that we have `chosen`, and no line has refused that."""
    axis, size = fixed.axis, fixed.size
    met = [guard.place for guard in model_guards(program) if f", {size})" in guard.met_as]
    place = next((place for place in (*met, refused_at) if place is not None), None)
    line = f" at {place}{code_at(place)}" if place else ""
    if chosen and refused_at is None:
        problem = f"{fixed.where} is dynamic, but the model's code takes its size as a number{line}"
        fix = f"use tensor ops or torch's scan instead of a Python loop over '{axis}'; or, for one"
        return AxisDeclarationError(axis, problem, f"{fix} size only, {fixed.without}")
    problem = f"{fixed.where} is dynamic, but the model fixes it to {size}{line}"
    fix = f"{fixed.without} and size {size}, or change that line"
    return AxisDeclarationError(axis, problem, fix)
