"""Between which dims the elements of a traced tensor are known to lie: what captures are, too."""

from __future__ import annotations

from anyshape.analysis.integer_ranges import Range, RangeTable
from anyshape.frontend.builder.tracer import Tracer
from anyshape.ir.node import Value


def range_of(tracer: Tracer, value: Value) -> Range:
    """What is known of the elements of an integer or bool tensor of this region."""
    return tracer.analysis(_Table).of(tracer).find(tracer.builder, value)


class _Table:
    """The table of one region, made when it is first asked."""

    def __init__(self) -> None:
        self._table: RangeTable | None = None

    def of(self, tracer: Tracer) -> RangeTable:
        if self._table is None:
            self._table = RangeTable(lambda value: _of_param(tracer, value))
        return self._table


def _of_param(tracer: Tracer, value: Value) -> Range | None:
    """That of the value outside, if the region captures it."""
    outer = next((outer for outer, inner in tracer.captures.items() if inner == value), None)
    if tracer.parent is None or outer is None:
        return None
    return range_of(tracer.parent, outer)
