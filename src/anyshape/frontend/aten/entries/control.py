"""Control flow: branches and loops whose bodies are graphs of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from anyshape.frontend.aten.calls import Call, entry
from anyshape.frontend.aten.walk import Body
from anyshape.frontend.builder import control
from anyshape.frontend.builder.tensor import Tensor
from anyshape.frontend.builder.tracer import active
from anyshape.frontend.imported.conditions import decided, truth_value


@entry("cond")
def cond(
    call: Call, pred: Any, then: Body, otherwise: Body, operands: Sequence[Any] = ()
) -> tuple[Any, ...]:
    """On data, or on sizes. A condition that facts decide leaves one branch."""
    if not isinstance(pred, Tensor):
        if (known := decided(active(), pred)) is not None:
            return (then if known else otherwise)(*operands)
        pred = truth_value(pred)
    return control.cond(pred, lambda: then(*operands), lambda: otherwise(*operands))


@entry("wrap_with_set_grad_enabled", "wrap_with_autocast")
def setting(call: Call, *arguments: Any) -> tuple[Any, ...]:
    """A part of the program under a setting: what it changes has been recorded inside, as casts."""
    place = next(i for i, argument in enumerate(arguments) if isinstance(argument, Body))
    return arguments[place](*arguments[place + 1 :])


@entry("while_loop")
def while_loop(
    call: Call,
    condition: Body,
    body: Body,
    carried: Sequence[Any],
    additional: Sequence[Any] = (),
) -> tuple[Any, ...]:
    def goes_on(state: list[Any]) -> Any:
        return condition(*state, *additional)[0]

    def step(state: list[Any]) -> list[Any]:
        return list(body(*state, *additional))

    return tuple(control.while_loop(goes_on, step, list(carried)))


@entry("scan")
def scan(
    call: Call,
    combine: Body,
    init: Sequence[Any],
    xs: Sequence[Any],
    additional: Sequence[Any] = (),
) -> list[Any]:
    """The last state, then what the steps gave, one flat list."""

    def step(state: list[Any], items: list[Any]) -> tuple[list[Any], list[Any]]:
        results = combine(*state, *items, *additional)
        return list(results[: len(init)]), list(results[len(init) :])

    last, stacked = control.scan(step, list(init), list(xs))
    return [*last, *stacked]


@entry("map_impl")
def map_(call: Call, body: Body, xs: Sequence[Any], additional: Sequence[Any] = ()) -> list[Any]:
    """A scan that carries nothing."""

    def step(state: list[Any], items: list[Any]) -> tuple[list[Any], list[Any]]:
        return state, list(body(*items, *additional))

    return control.scan(step, [], list(xs))[1]
