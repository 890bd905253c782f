"""What the model's code asked of sizes, as facts of the graph that was captured.

Each guard is proven, or recorded as a fact that calls check. Arithmetic of integers is translated;
what goes through floats, or is a choice of alternatives, holds for some sizes around the example's
(see `size_intervals`); what is neither is refused with its line.

Where a model is captured for several cases, the truths that its code chooses by are facts of
`Origin.MODEL`: other sizes are another case, and no contradiction to what the user declared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from anyshape.base.errors import AxisDeclarationError
from anyshape.base.location import Location
from anyshape.frontend.builder.tracer import Tracer
from anyshape.frontend.imported.conditions import AllOf, Condition, OneOf, is_decidable, require
from anyshape.frontend.torch_export.guards import Guard, condition_of
from anyshape.frontend.torch_export.size_intervals import interval_around
from anyshape.sym import Axis, Dim, Origin

_WHY = "the model's code was captured for this case"


@dataclass(frozen=True)
class GuardFacts:
    """Guards become facts of the tracer's scope. `dims` and the example's `sizes` are by torch's
    symbols; `declared` are the axes whose ranges the user promised."""

    tracer: Tracer
    dims: Mapping[str, Dim]
    sizes: Mapping[str, int]
    declared: Sequence[Axis]
    one_of_several: bool

    def require(self, guard: Guard) -> None:
        symbols = guard.expression.free_symbols
        if not symbols or any(symbol.name not in self.dims for symbol in symbols):
            return
        condition = self._condition(guard)
        origin = Origin.MODEL if self.one_of_several and guard.chooses else Origin.FRONTEND
        if origin is Origin.FRONTEND:
            self._check_declared(condition, guard.location)
        require(self.tracer, condition, _WHY, origin)

    def _condition(self, guard: Guard) -> Condition:
        """In terms of axes; what is no arithmetic of integers, by sizes around the example's."""
        condition = condition_of(guard.expression, self.dims)
        if condition is not None and is_decidable(self.tracer, condition):
            return condition
        symbols = list(guard.expression.free_symbols)
        interval = None
        if len(symbols) == 1 and symbols[0].name in self.sizes:
            interval = interval_around(guard.expression, symbols[0], self.sizes[symbols[0].name])
        if interval is None:
            if condition is not None:
                return condition
            problem = f"its code was captured for {guard.expression}, which cannot be checked"
            fix = "compute with integers: n // 2 instead of int(n / 2)"
            raise self.tracer.refuse(problem, fix)
        dim, (low, high) = self.dims[symbols[0].name], interval
        ends = (dim >= low, *(() if high is None else (dim <= high,)))
        return AllOf(ends)

    def _check_declared(self, condition: Condition, location: Location | None) -> None:
        """An axis that was declared with a range must satisfy what the model asks of it alone."""
        if isinstance(condition, (bool, AllOf, OneOf)) or len(condition.symbols) != 1:
            return
        (symbol,) = condition.symbols
        axis = next((axis for axis in self.declared if axis.symbol == symbol), None)
        if axis is None or self.tracer.proves(condition):
            return
        line = f" ({location})" if location else ""
        problem = f"is declared {axis.ranges_text}, but the model was captured for {condition}"
        fix = f"declare Axis('{axis.name}', ...) with a range for which {condition} holds"
        raise AxisDeclarationError(axis.name, problem + line, fix)
