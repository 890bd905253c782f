"""Control flow on traced values: `cond`, `while_loop`, `scan`.

The functions given are traced into closed regions. They may use tensors of the functions around
them; those become captures (see `tracer`). Arguments and results may be nested containers.

Where a body checks values (`checks`), the branch or the loop has one result more, which says what
was found. That is known when the body has been traced; a loop is then traced again, with it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

from anyshape.frontend.builder.axes import Size
from anyshape.frontend.builder.checks import continue_from, has_checks, offence_so_far
from anyshape.frontend.builder.convert import ArrayLike, asarray, cast_to
from anyshape.frontend.builder.elementwise import as_bool, logical_and
from anyshape.frontend.builder.pytree import Branch, Structure, flatten, paths, unflatten
from anyshape.frontend.builder.tracer import Tracer, active
from anyshape.ir.attrs import NO_ATTRS
from anyshape.ir.node import Region, Value
from anyshape.ir.promote import promote
from anyshape.ir.types import TensorType
from anyshape.ops.control import ScanAttrs, WhileAttrs
from anyshape.sym import HOLE, Dim, Equal

if TYPE_CHECKING:
    from anyshape.frontend.builder.tensor import Tensor

Function = Callable[..., Any]


class Body:
    """A function being traced into a region: parameters, then captures."""

    def __init__(self, outer: Tracer, types: Sequence[TensorType] = ()) -> None:
        self.tracer = outer.nested()
        self.params = [self.tracer.param(type_) for type_ in types]
        self.results: list[Tensor] = []
        self.structure: Structure

    @property
    def captures(self) -> tuple[Value, ...]:
        """The values outside that the last parameters stand for."""
        return tuple(self.tracer.captures)

    def share_captures(self, other: Body) -> None:
        """Takes whatever the other takes: regions of one op have the same parameters."""
        for value in other.captures:
            self.tracer.capture(value)

    def trace(self, function: Function, arguments: Sequence[Any]) -> None:
        with self.tracer.active():
            self.results, self.structure = _tensors(function(*arguments))
        for result in self.results:
            self.tracer.value(result)  # one from outside is a capture, which the op must know of

    def give_offence(self) -> None:
        """One more result: what the checks have found."""
        with self.tracer.active():
            self.results.append(offence_so_far())
        self.tracer.value(self.results[-1])

    def region(self) -> Region:
        values = [self.tracer.value(result) for result in self.results]
        return self.tracer.builder.region(values)


# --- cond -----------------------------------------------------------------------------------------


def cond(pred: Tensor, then_fn: Function, else_fn: Function, *operands: Any) -> Any:
    """`then_fn(*operands)` if `pred` holds, else `else_fn(*operands)`; only one of them runs.

    Both give the same containers of the same element types. Sizes may differ: the size of the
    result is then known only when it has run.
    """
    tracer = active()
    then, other = Body(tracer), Body(tracer)
    then.trace(then_fn, operands)
    other.share_captures(then)
    other.trace(else_fn, operands)
    then.share_captures(other)
    if then.structure != other.structure:
        raise tracer.refuse(
            "the branches of cond give different structures", "return the same containers in both"
        )
    _promote_results(then, other)
    checked = _give_offences(then, other)
    captures = (tracer.value(as_bool(pred)), *then.captures)
    results = tracer.node("cond", captures, NO_ATTRS, (then.region(), other.region()))
    if checked:
        *results, offence = results
        continue_from(offence)
    return unflatten(then.structure, results)


def _give_offences(then: Body, other: Body) -> bool:
    """Whether a branch checks values; both then give their offence as a last result."""
    if not has_checks(then.tracer) and not has_checks(other.tracer):
        return False
    for body, sibling in ((then, other), (other, then)):
        body.give_offence()
        sibling.share_captures(body)
    return True


def _promote_results(then: Body, other: Body) -> None:
    """Both branches give the common element types."""
    pairs = list(zip(then.results, other.results, strict=True))
    for index, (left, right) in enumerate(pairs):
        dtype = promote(left.dtype, right.dtype)
        for body, result in ((then, left), (other, right)):
            with body.tracer.active():
                body.results[index] = cast_to(result, dtype)


# --- while ----------------------------------------------------------------------------------------


def while_loop(cond_fn: Function, body_fn: Function, *init: Any) -> Any:
    """Replaces the state by `body_fn(*state)` as long as `cond_fn(*state)` holds.

    One initial value gives one result, several give a tuple, and so does `body_fn`. Element types
    stay. A size that changes from one iteration to the next becomes a symbol of the loop, which is
    found out by tracing: the functions may be called more than once.
    """
    tracer = active()
    tree = init[0] if len(init) == 1 else init
    states, structure = _tensors(tree)
    condition, body = _trace_loop(tracer, cond_fn, body_fn, _types(states), structure)
    if has_checks(condition.tracer):
        raise tracer.refuse(
            "the condition of a while_loop has an index or a divisor that may be out of range",
            "compute it in the body and carry it, or bring it into range with clamp",
        )
    if has_checks(body.tracer):
        return _checked_while(tracer, cond_fn, body_fn, tree)
    return _while(tracer, states, structure, condition, body)


def _while(
    tracer: Tracer, states: Sequence[Tensor], structure: Structure, condition: Body, body: Body
) -> Any:
    operands = [*(tracer.value(state) for state in states), *body.captures]
    regions = (condition.region(), body.region())
    results = tracer.node("while", operands, WhileAttrs(len(states)), regions)
    return unflatten(structure, results)


def _checked_while(tracer: Tracer, cond_fn: Function, body_fn: Function, tree: Any) -> Any:
    """The loop with one more state, the offence: it goes on as long as there is none."""

    def goes_on(state: Any, offence: Tensor) -> Tensor:
        return logical_and(offence[0] < 0, as_bool(cond_fn(*_as_arguments(state))))

    def step(state: Any, offence: Tensor) -> tuple[Any, Tensor]:
        continue_from(offence)
        return body_fn(*_as_arguments(state)), offence_so_far()

    states, structure = _tensors((tree, offence_so_far()))
    condition, body = _trace_loop(tracer, goes_on, step, _types(states), structure)
    result, offence = _while(tracer, states, structure, condition, body)
    continue_from(offence)
    return result


def _trace_loop(
    tracer: Tracer,
    cond_fn: Function,
    body_fn: Function,
    types: Sequence[TensorType],
    structure: Structure,
) -> tuple[Body, Body]:
    """Both regions at the types of the state; a hole in them is a size that varies."""
    condition = Body(tracer, types)
    condition.trace(cond_fn, _state_arguments(condition, structure))
    with condition.tracer.active():
        condition.results = [as_bool(result) for result in condition.results]
    body = Body(tracer, _types(condition.params))  # the same symbols for sizes that vary
    body.share_captures(condition)
    body.trace(body_fn, _state_arguments(body, structure))
    condition.share_captures(body)
    _check_state(tracer, "while_loop", structure, body.structure, body)
    varying = [_with_holes(body, *pair) for pair in enumerate(types)]
    if varying != types:
        return _trace_loop(tracer, cond_fn, body_fn, varying, structure)
    return condition, body


def _state_arguments(body: Body, structure: Structure) -> tuple[Any, ...]:
    return _as_arguments(unflatten(structure, body.params))


def _as_arguments(state: Any) -> tuple[Any, ...]:
    """The state as arguments: a plain tuple is several of them."""
    return (state,) if type(state) is not tuple else cast(tuple[Any, ...], state)


def _with_holes(body: Body, index: int, type_: TensorType) -> TensorType:
    """The type of a state, with a hole for each size that an iteration changes."""
    before, after = body.params[index].shape, body.results[index].shape
    stays = (body.tracer.proves(Equal(*dims)) for dims in zip(before, after, strict=True))
    dims = zip(type_.shape, stays, strict=True)
    return type_.with_shape(tuple(dim if known else HOLE for dim, known in dims))


def _check_state(
    tracer: Tracer, what: str, wanted: Structure, found: Structure, body: Body
) -> None:
    """The body continues the state with the same containers, element types and ranks."""
    if found != wanted:
        raise tracer.refuse(
            f"the body of {what} gives another structure than the initial state",
            "return the state in the containers it came in",
        )
    count = len(list(paths(wanted)))
    for index, (before, after) in enumerate(zip(body.params[:count], body.results, strict=False)):
        if (before.dtype, before.ndim) != (after.dtype, after.ndim):
            raise tracer.refuse(
                f"state {index} of {what} is {before.type} but continues as {after.type}",
                f"start with the type it continues as, or end with .astype(ash.{before.dtype})",
            )


# --- scan -----------------------------------------------------------------------------------------


def scan(
    body_fn: Function,
    init: Any,
    xs: Any = None,
    length: Size | None = None,
    reverse: bool = False,
) -> tuple[Any, Any]:
    """A loop over the first axis of `xs`: `state, y = body_fn(state, x)`.

    Gives the last state and the `y`s along a new first axis. Without `xs`, `length` says how often.
    """
    body, results = _scan(body_fn, init, xs, length, reverse)
    if not has_checks(body.tracer):
        return results

    def step(state: tuple[Any, Tensor], x: Any) -> tuple[tuple[Any, Tensor], Any]:
        continue_from(state[1])
        after, y = body_fn(state[0], x)
        return (after, offence_so_far()), y

    _, ((last, offence), stacked) = _scan(step, (init, offence_so_far()), xs, length, reverse)
    continue_from(offence)
    return last, stacked


def _scan(
    body_fn: Function, init: Any, xs: Any, length: Size | None, reverse: bool
) -> tuple[Body, tuple[Any, Any]]:
    tracer = active()
    states, structure = _tensors(init)
    items, items_structure = _tensors(xs)
    steps = _scan_length(tracer, items, length)
    elements = [type_.with_shape(type_.shape[1:]) for type_ in _types(items)]
    body = Body(tracer, [*_types(states), *elements])
    carried, element = body.params[: len(states)], body.params[len(states) :]
    body.trace(body_fn, (unflatten(structure, carried), unflatten(items_structure, element)))
    outputs = _outputs(tracer, structure, body)
    operands = [*(tracer.value(tensor) for tensor in (*states, *items)), *body.captures]
    attrs = ScanAttrs(len(states), len(items), steps, reverse)
    results = tracer.node("scan", operands, attrs, (body.region(),))
    last, stacked = results[: len(states)], results[len(states) :]
    return body, (unflatten(structure, last), unflatten(outputs, stacked))


def _scan_length(tracer: Tracer, items: list[Tensor], length: Size | None) -> Dim:
    if length is not None:
        return tracer.dim(length)
    if not items or not items[0].ndim:
        raise tracer.refuse("scan over nothing", "pass xs with a first axis, or a length")
    return items[0].shape[0]


def _outputs(tracer: Tracer, state: Structure, body: Body) -> Structure:
    """The structure of what an iteration gives beside the next state."""
    pair = body.structure
    if not isinstance(pair, Branch) or pair.kind is not tuple or len(pair.children) != 2:
        raise tracer.refuse(
            "the body of scan must give two things", "return (state, y), with y=None for nothing"
        )
    _check_state(tracer, "scan", state, pair.children[0], body)
    return pair.children[1]


def result_types(function: Function, *arguments: Tensor) -> list[TensorType]:
    """The types that a body would give for these arguments; 0 for sizes that are born inside.
    What is traced for this is thrown away."""
    body = Body(active(), _types(arguments))
    body.trace(function, body.params)
    around = (*(each.tensor for each in body.captures), *_types(arguments))
    known = {symbol for type_ in around for dim in type_.shape for symbol in dim.symbols}
    return [
        type_.with_shape(tuple(d if d.symbols <= known else Dim.of(0) for d in type_.shape))
        for type_ in _types(body.results)
    ]


# --- shared ---------------------------------------------------------------------------------------


def _tensors(tree: Any) -> tuple[list[Tensor], Structure]:
    leaves, structure = flatten(tree)
    return [asarray(cast(ArrayLike, leaf)) for leaf in leaves], structure


def _types(tensors: Sequence[Tensor]) -> list[TensorType]:
    return [TensorType(tensor.dtype, tensor.shape) for tensor in tensors]
