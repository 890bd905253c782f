"""Control flow as regions: branches, loops, scans. Bodies see the values around them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from anyshape.frontend.builder import control
from anyshape.frontend.builder import elementwise as ew
from anyshape.frontend.builder.assemble import concat, stack
from anyshape.frontend.builder.convert import asarray
from anyshape.frontend.builder.movement import expand_dims, flip, moveaxis
from anyshape.frontend.builder.source import zeros
from anyshape.frontend.builder.tensor import Tensor
from anyshape.frontend.builder.tracer import active
from anyshape.frontend.onnx.calls import Body, Call, entry
from anyshape.frontend.onnx.numbers import integers_of, known_sizes, not_negative
from anyshape.ir.types import bool_, i64


def _only_tensors(values: Sequence[Any]) -> tuple[Tensor, ...]:
    for value in values:
        if not isinstance(value, Tensor):
            raise active().refuse("a body that gives a sequence", "let bodies give tensors")
    return tuple(values)


@entry("If")
def if_(call: Call, condition: Tensor, *, then_branch: Body, else_branch: Body) -> tuple[Any, ...]:
    """A condition that sizes decide leaves one branch, and so does one of which ranks, lengths of
    sequences or whether an optional holds something depend."""
    flag = condition.reshape(())
    known = _truth(flag)
    if known is not None:
        return (then_branch if known else else_branch)()
    forms: list[list[int]] = []

    def given(branch: Body) -> tuple[Any, ...]:
        results = branch()
        tensors = all(isinstance(each, Tensor) for each in results)
        forms.append([each.ndim for each in results] if tensors else [-1])
        if not tensors or forms[0] != forms[-1]:
            raise _AnotherFormError
        return results

    try:
        return tuple(control.cond(flag, lambda: given(then_branch), lambda: given(else_branch)))
    except _AnotherFormError:
        integers_of(flag, "condition of an If whose branches give values of other forms")
        raise


class _AnotherFormError(Exception):
    """The branches of an If are not both tensors of the same ranks."""


@entry("Loop")
def loop(
    call: Call,
    most: Tensor | None = None,
    condition: Tensor | None = None,
    *carried: Any,
    body: Body,
) -> tuple[Any, ...]:
    """Until the body's condition fails, or so many times. What iterations give beside the state is
    stacked."""
    if any(not isinstance(each, Tensor) for each in carried):
        return _unrolled(call, most, condition, carried, body)
    given = len(body.outputs) - 1 - len(carried)
    if given < 0:
        raise call.invalid(f"has a body with {len(body.outputs)} results")
    if given and most is not None:
        found = _counted(most, condition, carried, body)
        if found is not None:
            return found
    return _growing(most, condition, carried, body, given)


def _growing(
    most: Tensor | None,
    condition: Tensor | None,
    carried: Sequence[Tensor],
    body: Body,
    given: int,
) -> tuple[Any, ...]:
    """Data end the loop. What iterations give is put behind what earlier ones gave."""

    def goes_on(number: Tensor, flag: Tensor, *_: Tensor) -> Tensor:
        return flag if most is None else ew.logical_and(flag, number < most.reshape(()))

    def step(number: Tensor, flag: Tensor, *state: Tensor) -> tuple[Any, ...]:
        values, stacks = state[: len(carried)], state[len(carried) :]
        again, *after = _only_tensors(body(number, flag, *values))
        rows = (expand_dims(each, 0) for each in after[len(carried) :])
        grown = (
            _grown(number, *pair, sure=all(size != 0 for size in before.shape[1:]))
            for *pair, before in zip(stacks, rows, none, strict=True)
        )
        return (number + 1, again.reshape(()), *after[: len(carried)], *grown)

    start = asarray(True, bool_) if condition is None else condition.reshape(())
    none = _no_rows(carried, body) if given else ()
    _, _, *last = control.while_loop(goes_on, step, asarray(0, i64), start, *carried, *none)
    return tuple(last)


def _grown(number: Tensor, rows: Tensor, row: Tensor, *, sure: bool) -> Tensor:
    """With a row more. Of a size that only iterations know, the first one says it."""
    if sure:
        return concat([rows, row], 0)
    return control.cond(number == 0, lambda: row, lambda: concat([rows, row], 0))


def _no_rows(carried: Sequence[Tensor], body: Body) -> tuple[Tensor, ...]:
    """What no iteration has given: the types are found by tracing the body for nothing."""

    def results(*state: Tensor) -> tuple[Tensor, ...]:
        return _only_tensors(body(*state))

    types = control.result_types(results, asarray(0, i64), asarray(True, bool_), *carried)
    return tuple(zeros((0, *row.shape), row.dtype) for row in types[1 + len(carried) :])


def _counted(
    most: Tensor, condition: Tensor | None, carried: Sequence[Tensor], body: Body
) -> tuple[Any, ...] | None:
    """A loop that never ends early is a scan; None if this is none."""
    flag = True if condition is None else _truth(condition)
    (count,) = known_sizes(most) or (None,)
    if count is None or flag is not True:
        return None

    def step(state: tuple[Tensor, ...], _: None) -> tuple[Any, Any]:
        number, *values = state
        again, *after = _only_tensors(body(number, asarray(True, bool_), *values))
        if _truth(again) is not True:
            raise _EndsEarlyError
        return (number + 1, *after[: len(values)]), tuple(after[len(values) :])

    start = (asarray(0, i64), *carried)
    try:
        (_, *last), stacked = control.scan(step, start, None, not_negative(count))
    except _EndsEarlyError:
        return None
    return (*last, *stacked)


class _EndsEarlyError(Exception):
    """A Loop that its body may end."""


MOST_UNROLLED = 1024


def _unrolled(
    call: Call, most: Tensor | None, condition: Tensor | None, carried: Sequence[Any], body: Body
) -> tuple[Any, ...]:
    """A state that is a sequence or an optional has another form after each iteration."""
    count = None if most is None else integers_of(most, "number of iterations of a Loop")[0]
    going = True if condition is None else bool(integers_of(condition, "condition of a Loop")[0])
    state, rows, number = list(carried), list[list[Any]](), 0
    while going and (count is None or number < count):
        if number == MOST_UNROLLED:
            problem = f"a Loop over sequences with more than {number} iterations"
            raise active().refuse(problem, "let the state be tensors")
        again, *after = body(asarray(number, i64), asarray(True, bool_), *state)
        state, given = after[: len(carried)], after[len(carried) :]
        rows.append(given)
        going = bool(integers_of(again, "condition of a Loop")[0])
        number += 1
    columns = [stack(each, 0) for each in zip(*rows, strict=True)]
    if not rows and len(body.outputs) > 1 + len(carried):
        raise active().refuse("a Loop without iterations that gives rows", "leave it out")
    return (*state, *columns)


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


@entry("Scan", since=8)
def scan_of_batches(
    call: Call,
    *given: Tensor,
    body: Body,
    num_scan_inputs: int,
    directions: tuple[int, ...] | None = None,
) -> tuple[Any, ...]:
    """All inputs have a batch axis in front, whose rows are scanned each by itself."""
    lengths, *inputs = given
    if cast(Tensor | None, lengths) is not None:
        raise active().refuse("Scan of sequences of different lengths", "use opset 9")
    count = inputs[0].shape[0].constant
    if count is None:
        problem = f"Scan of opset 8, of a batch of {inputs[0].shape[0]} rows"
        raise active().refuse(problem, "use opset 9, or give the batch a fixed size")
    rows = [
        scan(
            call, *(x[n] for x in inputs),
            body=body, num_scan_inputs=num_scan_inputs, scan_input_directions=directions,
        )
        for n in range(count)
    ]  # fmt: skip
    return tuple(stack(column, 0) for column in zip(*rows, strict=True))
