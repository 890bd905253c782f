"""What layers and control flow mean: compositions of the functions of this folder."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from tests.fuzz.against_numpy.dtypes import NoMeaning
from tests.fuzz.against_numpy.meaning.elementwise import FUNCTIONS, as_bool
from tests.fuzz.against_numpy.meaning.movement import stack
from tests.fuzz.against_numpy.meaning.operands import Operand, floating, strong, together
from tests.fuzz.against_numpy.meaning.products import contracted
from tests.fuzz.against_numpy.meaning.reductions import extremum, sum_, wide_mean
from tests.fuzz.against_numpy.noise import Noisy, cast, widened

add, sub, mul = FUNCTIONS["add"], FUNCTIONS["subtract"], FUNCTIONS["multiply"]
div, exp, where = FUNCTIONS["divide"], FUNCTIONS["exp"], FUNCTIONS["where"]


def softmax(x: Operand, axis: int = -1) -> Noisy:
    operand = floating(x)[0]
    power = exp(sub(widened(operand), extremum("max")(widened(operand), axis, True)))
    return cast(div(power, sum_(power, axis, True)), operand.dtype)


def log_softmax(x: Operand, axis: int = -1) -> Noisy:
    operand = floating(x)[0]
    shifted = sub(widened(operand), extremum("max")(widened(operand), axis, True))
    total = FUNCTIONS["log"](sum_(exp(shifted), axis, True))
    return cast(sub(shifted, total), operand.dtype)


def layer_norm(
    x: Operand,
    scale: Operand | None = None,
    bias: Operand | None = None,
    axis: int = -1,
    eps: float = 1e-5,
) -> Noisy:
    operand, *weights = floating(*(given for given in (x, scale, bias) if given is not None))
    axes = tuple(range(axis % operand.ndim, operand.ndim))
    centred = sub(widened(operand), wide_mean(widened(operand), axes, True))
    variance = wide_mean(mul(centred, centred), axes, True)
    normal = mul(centred, FUNCTIONS["rsqrt"](add(variance, eps)))
    return cast(_scaled(normal, weights), operand.dtype)


def rms_norm(x: Operand, scale: Operand | None = None, axis: int = -1, eps: float = 1e-5) -> Noisy:
    operand, *weights = floating(*(given for given in (x, scale) if given is not None))
    axes = tuple(range(axis % operand.ndim, operand.ndim))
    squares = wide_mean(mul(widened(operand), widened(operand)), axes, True)
    normal = mul(widened(operand), FUNCTIONS["rsqrt"](add(squares, eps)))
    return cast(_scaled(normal, weights), operand.dtype)


def _scaled(normal: Noisy, weights: list[Noisy]) -> Noisy:
    for function, weight in zip((mul, add), weights, strict=False):
        normal = function(normal, widened(weight))
    return normal


def attention(
    q: Operand,
    k: Operand,
    v: Operand,
    mask: Operand | None = None,
    causal: bool | str = False,
    scale: float | None = None,
) -> Noisy:
    """softmax(q @ k.mT * scale + mask) @ v; a query that sees nothing gets zeros."""
    queries, keys, values = floating(q, k, v)
    groups = queries.shape[1] // keys.shape[1]
    keys, values = (x.moved(lambda a: np.repeat(a, groups, 1)) for x in (keys, values))
    factor = 1 / np.sqrt(np.float64(queries.shape[3])) if scale is None else scale
    scaled = mul(widened(queries), float(factor))
    scores = contracted("bhqd,bhkd->bhqk", scaled, widened(keys))
    scores = _masked(scores, mask, causal)
    top = extremum("max")(scores, 3, True)
    top = where(FUNCTIONS["equal"](top, -np.inf), 0.0, top)
    power = exp(sub(scores, top))
    total = sum_(power, 3, True)
    seen = Noisy("bool", np.isfinite(scores.value).any(3, keepdims=True), np.zeros(total.shape))
    weights = div(power, where(seen, total, 1.0))
    return cast(contracted("bhqk,bhkd->bhqd", weights, widened(values)), queries.dtype)


def _masked(scores: Noisy, mask: Operand | None, causal: bool | str) -> Noisy:
    if mask is not None:
        given = strong(mask)
        allowed = given.dtype == "bool"
        scores = where(given, scores, -np.inf) if allowed else add(scores, widened(given))
    if causal:
        rows, columns = scores.shape[2:]
        shift = columns - rows if causal == "bottom_right" else 0
        scores = where(np.tri(rows, columns, shift, dtype=bool), scores, -np.inf)
    return scores


# --- control flow ---------------------------------------------------------------------------------


def known_truth(x: Noisy) -> bool:
    truth = as_bool(x)
    if truth.size != 1 or truth.error.any():
        raise NoMeaning("a branch that rounding decides")
    return bool(truth.value)


def cond(pred: Operand, x: Operand, y: Operand, then: str, other: str) -> Noisy:
    """`then` and `other` name functions of two."""
    left, right = FUNCTIONS[then](x, y), FUNCTIONS[other](x, y)
    results = together(left, right)
    return results[0] if known_truth(strong(pred)) else results[1]


def while_loop(x: Operand, y: Operand, step: str, times: int) -> Noisy:
    state = strong(x)
    for _ in range(times):
        state = cast(FUNCTIONS[step](state, y), state.dtype)
    return state


def scan(
    init: Operand, xs: Operand, step: str, output: str, reverse: bool = False
) -> tuple[Noisy, Noisy]:
    """`state, y = step(state, x), output(state, x)` along the first axis."""
    state, items = strong(init), strong(xs)
    order = range(items.shape[0])
    outputs: dict[int, Noisy] = {}
    for i in reversed(order) if reverse else order:
        item = items.moved(lambda a, i=i: a[i])
        outputs[i] = FUNCTIONS[output](state, item)
        state = cast(FUNCTIONS[step](state, item), state.dtype)
    if outputs:
        return state, stack(*(outputs[i] for i in order))
    empty = items.moved(lambda a: np.zeros(a.shape[1:], a.dtype))
    return state, FUNCTIONS[output](state, empty).moved(lambda a: np.zeros((0, *a.shape), a.dtype))


LAYERS: dict[str, Callable[..., Noisy | tuple[Noisy, ...]]] = {
    "softmax": softmax,
    "log_softmax": log_softmax,
    "layer_norm": layer_norm,
    "rms_norm": rms_norm,
    "attention": attention,
    "cond": cond,
    "while_loop": while_loop,
    "scan": scan,
}
