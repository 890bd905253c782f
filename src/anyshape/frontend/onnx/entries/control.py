"""Control flow as regions: branches, loops, scans. Bodies see the values around them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from anyshape.frontend.builder import control
from anyshape.frontend.builder import elementwise as ew
from anyshape.frontend.builder.convert import asarray
from anyshape.frontend.builder.movement import flip, moveaxis
from anyshape.frontend.builder.tensor import Tensor
from anyshape.frontend.builder.tracer import active
from anyshape.frontend.onnx.calls import Body, Call, entry
from anyshape.frontend.onnx.numbers import known_sizes, not_negative
from anyshape.ir.types import bool_, i64


def _only_tensors(values: Sequence[Any]) -> tuple[Tensor, ...]:
    for value in values:
        if not isinstance(value, Tensor):
            raise active().refuse("a body that gives a sequence", "let bodies give tensors")
    return tuple(values)


@entry("If")
def if_(call: Call, condition: Tensor, *, then_branch: Body, else_branch: Body) -> tuple[Any, ...]:
    """A condition that sizes decide leaves one branch."""
    flag = condition.reshape(())
    known = known_sizes(flag)
    if known is not None and known[0].constant is not None:
        return (then_branch if known[0].constant else else_branch)()
    return tuple(
        control.cond(
            flag, lambda: _only_tensors(then_branch()), lambda: _only_tensors(else_branch())
        )
    )


@entry("Loop")
def loop(
    call: Call,
    most: Tensor | None = None,
    condition: Tensor | None = None,
    *carried: Tensor,
    body: Body,
) -> tuple[Any, ...]:
    """Until the body's condition fails, or so many times. What iterations give beside the state is
    stacked where their number is known."""
    given = len(body.outputs) - 1 - len(carried)
    _only_tensors(carried)
    if given:
        return _counted(call, most, condition, carried, body)

    def goes_on(number: Tensor, flag: Tensor, *_: Tensor) -> Tensor:
        return flag if most is None else ew.logical_and(flag, number < most.reshape(()))

    def step(number: Tensor, flag: Tensor, *state: Tensor) -> tuple[Any, ...]:
        again, *after = _only_tensors(body(number, flag, *state))
        return (number + 1, again.reshape(()), *after)

    start = asarray(True, bool_) if condition is None else condition.reshape(())
    _, _, *last = control.while_loop(goes_on, step, asarray(0, i64), start, *carried)
    return tuple(last)


def _counted(
    call: Call,
    most: Tensor | None,
    condition: Tensor | None,
    carried: Sequence[Tensor],
    body: Body,
) -> tuple[Any, ...]:
    """A loop that never ends early is a scan."""
    fix = "let the loop run a fixed number of times, or give no results per iteration"
    if most is None:
        raise active().refuse("a Loop with results per iteration and no count", fix)
    flag = True if condition is None else _truth(condition)
    (count,) = known_sizes(most) or (None,)
    if count is None or flag is not True:
        raise active().refuse("a Loop with results per iteration that data end", fix)

    def step(state: tuple[Tensor, ...], _: None) -> tuple[Any, Any]:
        number, *values = state
        again, *after = _only_tensors(body(number, asarray(True, bool_), *values))
        if _truth(again) is not True:
            raise active().refuse("a Loop with results per iteration that data end", fix)
        return (number + 1, *after[: len(values)]), tuple(after[len(values) :])

    start = (asarray(0, i64), *carried)
    (_, *last), stacked = control.scan(step, start, None, not_negative(count))
    return (*last, *stacked)


def _truth(flag: Tensor) -> bool | None:
    known = known_sizes(flag)
    number = None if known is None else known[0].constant
    return None if number is None else bool(number)


@entry("Scan", since=9)
def scan(
    call: Call,
    *inputs: Tensor,
    body: Body,
    num_scan_inputs: int,
    scan_input_axes: tuple[int, ...] | None = None,
    scan_input_directions: tuple[int, ...] | None = None,
    scan_output_axes: tuple[int, ...] | None = None,
    scan_output_directions: tuple[int, ...] | None = None,
) -> tuple[Any, ...]:
    states, items = inputs[: len(inputs) - num_scan_inputs], inputs[len(inputs) - num_scan_inputs :]
    axes, turned = scan_input_axes or (0,) * len(items), scan_input_directions or (0,) * len(items)
    ordered = [
        flip(moved, 0) if turn else moved
        for moved, turn in zip(
            (moveaxis(x, axis, 0) for x, axis in zip(items, axes, strict=True)), turned, strict=True
        )
    ]

    def step(state: tuple[Tensor, ...], each: tuple[Tensor, ...]) -> tuple[Any, Any]:
        results = _only_tensors(body(*state, *each))
        return tuple(results[: len(states)]), tuple(results[len(states) :])

    last, stacked = control.scan(step, tuple(states), tuple(ordered))
    out_axes = scan_output_axes or (0,) * len(stacked)
    back = scan_output_directions or (0,) * len(stacked)
    placed = (
        moveaxis(flip(y, 0) if turn else y, 0, axis)
        for y, axis, turn in zip(stacked, out_axes, back, strict=True)
    )
    return (*last, *placed)
