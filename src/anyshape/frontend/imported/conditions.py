"""What a model asks of its sizes: predicates, joined by `and` and `or`.

The code of a model, or an assertion in it, chose what was imported (`if seq > 1:`). Such a
condition is required: proven, or checked by every call.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

from anyshape.base.location import Location
from anyshape.frontend.builder.checks import check_values
from anyshape.frontend.builder.convert import asarray, size_value
from anyshape.frontend.builder.elementwise import logical_and, logical_or
from anyshape.frontend.builder.tensor import Tensor
from anyshape.frontend.builder.tracer import Tracer
from anyshape.ir.checks import ValueCheck
from anyshape.ir.types import bool_
from anyshape.level2.cases import violation
from anyshape.sym import Dim, Origin, Predicate, Symbol


@dataclass(frozen=True, slots=True)
class AllOf:
    """Conditions that hold together."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class OneOf:
    """Conditions of which at least one holds."""

    parts: tuple[Condition, ...]


Condition = Predicate | bool | AllOf | OneOf


def negated(condition: Condition) -> Condition:
    match condition:
        case bool():
            return not condition
        case AllOf(parts):
            return OneOf(tuple(map(negated, parts)))
        case OneOf(parts):
            return AllOf(tuple(map(negated, parts)))
        case _:
            opposite = condition.negation
            assert opposite is not None, f"torch makes no {type(condition).__name__}"
            return opposite


def symbols_of(condition: Condition) -> frozenset[Symbol]:
    match condition:
        case bool():
            return frozenset()
        case AllOf(parts) | OneOf(parts):
            return frozenset[Symbol]().union(*map(symbols_of, parts))
        case _:
            return frozenset(condition.symbols)


def require(
    tracer: Tracer, condition: Condition, why: str, origin: Origin = Origin.FRONTEND
) -> None:
    """Proven now, or checked by every call. Facts hold no alternatives: they must be decided."""
    match condition:
        case True:
            pass
        case AllOf(parts):
            for part in parts:
                require(tracer, part, why, origin)
        case OneOf(parts):
            _require_one(tracer, parts, why, origin)
        case False:
            raise tracer.refuse(f"{why}, which never holds", "change the condition in the model")
        case _:
            tracer.require(condition, why, origin)


def require_of_data(
    tracer: Tracer, condition: Condition, why: str, location: Location | None = None
) -> None:
    """As `require`, of sizes that data may decide. Facts of late sizes go with these where nothing
    else needs them: a check of values keeps both. It takes alternatives, too."""
    late = tracer.builder.scope.late_among(symbols_of(condition))
    if late and decided(tracer, condition) is None:
        check = ValueCheck("assertion", "assert", location or tracer.locate(), ())
        live = sum(map(Dim.of, late), Dim.of(1))
        check_values(~truth_value(condition), Dim.of(1), check, live)
    if not late or is_decidable(tracer, condition):
        require(tracer, condition, why)


def is_decidable(tracer: Tracer, condition: Condition) -> bool:
    """Whether `require` can make facts of it: of alternatives, all but one must be decided."""
    match condition:
        case AllOf(parts):
            return all(is_decidable(tracer, part) for part in parts)
        case OneOf(parts):
            open_ = [part for part in parts if not _refuted(tracer, part)]
            return len(open_) == 1 or any(_proven(tracer, part) for part in open_)
        case _:
            return True


def decided(tracer: Tracer, condition: Condition) -> bool | None:
    """Whether a condition holds, if facts tell."""
    if _proven(tracer, condition):
        return True
    return False if _refuted(tracer, condition) else None


def truth_value(condition: Condition) -> Tensor:
    """A condition as a tensor of rank 0."""
    match condition:
        case bool():
            return asarray(condition)
        case AllOf(parts):
            return reduce(logical_and, map(truth_value, parts))
        case OneOf(parts):
            return reduce(logical_or, map(truth_value, parts))
        case _:
            return size_value(1 - violation(condition), bool_)


def _require_one(tracer: Tracer, parts: tuple[Condition, ...], why: str, origin: Origin) -> None:
    open_ = [part for part in parts if not _refuted(tracer, part)]
    if any(_proven(tracer, part) for part in open_):
        return
    if len(open_) != 1:
        fix = "declare the axes so that one of the alternatives is known, or write two ifs"
        raise tracer.refuse(f"{why}: either may hold, and that cannot be checked", fix)
    require(tracer, open_[0], why, origin)


def _proven(tracer: Tracer, condition: Condition) -> bool:
    match condition:
        case bool():
            return condition
        case AllOf(parts):
            return all(_proven(tracer, part) for part in parts)
        case OneOf(parts):
            return any(_proven(tracer, part) for part in parts)
        case _:
            return tracer.proves(condition)


def _refuted(tracer: Tracer, condition: Condition) -> bool:
    return _proven(tracer, negated(condition))
