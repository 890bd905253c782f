"""What people write: ops, and the spellings of rows, masks, attention and gates in primitives."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from tests.fuzz import moves as simple
from tests.fuzz.generate import Generator, Move, NotApplicableError
from tests.fuzz.optimizer import model_moves as models
from tests.fuzz.optimizer.building import (
    heads_of,
    keep,
    picked,
    projected,
    split,
    weights,
    width_of,
)

from anyshape.ir.types import FLOATS, bool_, i64
from anyshape.ops.compose import Expr, iota
from anyshape.sym import Dim


@dataclass(frozen=True)
class Weighted:
    """A move, and how often it comes up."""

    apply: Move
    weight: int = 1


# --- elementwise ----------------------------------------------------------------------------------

UNARY = ("tanh", "sigmoid", "abs", "neg", "silu", "gelu", "relu", "exp")
BINARY = ("add", "sub", "mul", "maximum", "minimum")


def unary(g: Generator) -> None:
    keep(g, picked(g, 0).apply(g.rng.choice(UNARY)))


def binary(g: Generator) -> None:
    x = picked(g, 0)
    keep(g, x.apply(g.rng.choice(BINARY), Expr(g.builder, simple.partner(g, x.value))))


def residual(g: Generator) -> None:
    x = picked(g)
    other = g.tensor(lambda t: t.dtype == x.dtype and t.shape == x.shape)
    keep(g, x + Expr(g.builder, other))


def masked(g: Generator) -> None:
    x = picked(g)
    mask = Expr(g.builder, g.tensor(lambda t: t.dtype is bool_))
    fill = g.rng.choice((0.0, -math.inf, -1e9 if x.dtype.bits > 16 else -1e4))
    keep(g, mask.apply("select", x, x.lift(fill)))


# --- rows -----------------------------------------------------------------------------------------


def reduced(g: Generator, x: Expr, op: str, axis: int) -> Expr:
    """With the reduced axis as 1, by one of two spellings."""
    if g.rng.random() < 0.5:
        return x.reduce(op, axis)
    shape = (*x.shape[:axis], Dim.of(1), *x.shape[axis + 1 :])
    return x.apply(op, axes=(axis,)).reshape(*shape)


def axis_of(g: Generator, x: Expr) -> int:
    return x.rank - 1 if g.rng.random() < 0.7 else g.rng.randrange(x.rank)


def softmax(g: Generator) -> None:
    x = picked(g)
    axis = axis_of(g, x)
    shifted = x - reduced(g, x, "max", axis) if g.rng.random() < 0.8 else x
    power = shifted.apply("exp")
    total = reduced(g, power, "sum", axis)
    forms = (
        lambda: power / total,
        lambda: power * (total.lift(1.0) / total),
        lambda: shifted - total.apply("log"),
        lambda: total.apply("log") + reduced(g, x, "max", axis),
    )
    keep(g, g.rng.choice(forms)())


def norm(g: Generator) -> None:
    x = picked(g)
    axis = axis_of(g, x)
    centred = x - reduced(g, x, "mean", axis) if g.rng.random() < 0.6 else x
    square = reduced(g, centred * centred, g.rng.choice(("mean", "sum")), axis) + 0.1
    forms = (
        lambda: centred * square.apply("rsqrt"),
        lambda: centred / square.apply("sqrt"),
        lambda: centred / (square.apply("sqrt") + 0.5) * 2.0 + 1.0,
    )
    keep(g, g.rng.choice(forms)())
    if g.rng.random() < 0.2:
        keep(g, square)


def pooled(g: Generator) -> None:
    x = picked(g, 2)
    mask = Expr(g.builder, g.tensor(lambda t: t.dtype is bool_ and t.rank == 2))
    chosen = mask.cast(x.dtype).reshape(*mask.shape, Dim.of(1))
    total, count = ((y).apply("sum", axes=(y.rank - 2,)) for y in (x * chosen, chosen))
    keep(g, total / count.apply("maximum", count.lift(1.0)))


def row_statistics(g: Generator) -> None:
    x = picked(g)
    axis = axis_of(g, x)
    ops = g.rng.sample(("sum", "mean", "max", "min"), 2)
    keep(g, reduced(g, x, ops[0], axis) + reduced(g, x * x, ops[1], axis) * 0.5)


# --- products -------------------------------------------------------------------------------------


def siblings(g: Generator) -> None:
    """Projections of one value, with weights that may be computed from constants."""
    x = picked(g)
    for _ in range(g.rng.randint(1, 3)):
        w = weights(g, width_of(x), g.rng.choice((1, 8, 16)), dtype=x.dtype)
        if g.rng.random() < 0.4:
            w = w * 2.0 if g.rng.random() < 0.5 else w / (w * w).reduce("sum", 0).apply("sqrt")
        keep(g, projected(x, w))


def gated(g: Generator) -> None:
    """Two halves of one product, or two products."""
    x = picked(g)
    act = g.rng.choice(("silu", "gelu", "sigmoid"))
    if g.rng.random() < 0.5:
        both = projected(x, weights(g, width_of(x), 16, dtype=x.dtype))
        left, right = split(both, 2)
    else:
        left, right = (projected(x, weights(g, width_of(x), 8, dtype=x.dtype)) for _ in range(2))
    keep(g, left.apply(act) * right)


def attention(g: Generator) -> None:
    """In primitives: rotations or none, scale on one side, a mask or none, softmax by hand or the
    compound, a sink or none."""
    x = picked(g, 2)
    heads = g.rng.choice((1, 2))
    if g.rng.random() < 0.5:
        q, k, v = split(projected(x, weights(g, width_of(x), 24, dtype=x.dtype)), 3)
    else:
        q, k, v = (projected(x, weights(g, width_of(x), 8, dtype=x.dtype)) for _ in range(3))
    if heads > 1 or g.rng.random() < 0.3:
        q, k, v = (heads_of(part, heads) for part in (q, k, v))
    if g.rng.random() < 0.4:
        turns = [weights(g, width_of(q), dtype=q.dtype) for _ in range(2)]
        q, k = (_rotated(part, *turns) for part in (q, k))
    scale = g.rng.choice(("before", "after", "none"))
    q = q * 0.3 if scale == "before" else q
    scores = _by_batch(q, k, 1)
    scores = _masked(g, scores * 0.3 if scale == "after" else scores)
    keys, last = scores.shape[-1], scores.rank - 1
    has_sink = g.rng.random() < 0.3
    scores = _with_sink(g, scores) if has_sink else scores
    power = (scores - scores.reduce("max", last)).apply("exp")
    by_hand = power / power.reduce("sum", last)
    share = by_hand if g.rng.random() < 0.6 else scores.apply("softmax", axis=last)
    if has_sink:
        bounds = {"starts": [Dim.of(0)] * share.rank, "stops": (*share.shape[:-1], keys)}
        share = share.apply("slice", **bounds, steps=[1] * share.rank)
    mixed = _by_batch(share, v, 0)
    keep(g, mixed)


def _rotated(x: Expr, cos: Expr, sin: Expr) -> Expr:
    left, right = split(x, 2)
    return x * cos + right.apply("neg").apply("concat", left, axis=x.rank - 1) * sin


def _with_sink(g: Generator, scores: Expr) -> Expr:
    """One more column: a number, or one for each query."""
    shape = (*scores.shape[:-1], Dim.of(1))
    sink = scores.lift(g.rng.uniform(-1, 1)).apply("broadcast", shape=shape)
    if g.rng.random() < 0.5:
        sink = sink * scores.reduce("max", scores.rank - 1)
    return scores.apply("concat", sink, axis=scores.rank - 1)


def _by_batch(x: Expr, y: Expr, contracted: int) -> Expr:
    """The product of the last axis of `x` with one of the last two of `y`."""
    batch = tuple(range(x.rank - 2))
    axis = y.rank - 2 + contracted
    return x.apply("dot", y, contract=((x.rank - 1,), (axis,)), batch=(batch, batch))


def _masked(g: Generator, scores: Expr) -> Expr:
    kind = g.rng.choice(("none", "causal", "additive", "window", "capped"))
    if kind == "none":
        return scores
    if kind == "capped":
        return (scores * 0.5).apply("tanh") * 2.0
    shape = scores.shape[-2:]
    row, column = (iota(g.builder, shape, axis, i64) for axis in (0, 1))
    seen = column.apply("le", row)
    if kind == "window":
        seen = seen.apply("logical_and", (row - column).apply("lt", row.lift(3)))
    lowest = scores.lift(-math.inf)
    if kind == "additive":
        return scores + seen.apply("select", scores.lift(0.0), lowest)
    return seen.apply("select", scores, lowest)


# --- views ----------------------------------------------------------------------------------------


def halves(g: Generator) -> None:
    x = picked(g)
    left, right = split(x, 2)
    turned = right.apply("neg").apply("concat", left, axis=x.rank - 1)
    keep(g, turned if g.rng.random() < 0.5 else left * right)


def grouped(g: Generator) -> None:
    """Norms of groups: between two reshapes."""
    x = picked(g, 2)
    width = width_of(x)
    if width % 4:
        raise NotApplicableError
    given = x * weights(g, width, dtype=x.dtype) + x if g.rng.random() < 0.5 else x
    parts = given.reshape(*x.shape[:-1], Dim.of(4), Dim.of(width // 4))
    last = parts.rank - 1
    centred = parts - parts.reduce("mean", last)
    square = (centred * centred).reduce("mean", last) + 0.1
    keep(g, (centred * square.apply("rsqrt")).reshape(*x.shape) * weights(g, width, dtype=x.dtype))


def channel_groups(g: Generator) -> None:
    """Norms of groups of channels with all positions, and numbers for each channel behind them."""
    x = picked(g, 2)
    width = width_of(x)
    if width % 4:
        raise NotApplicableError
    by_channel = x.apply("transpose", perm=(*range(x.rank - 2), x.rank - 1, x.rank - 2))
    *lead, _, positions = by_channel.shape
    groups = (Dim.of(4), positions * (width // 4))
    if lead and g.rng.random() < 0.3:
        groups, lead = (lead[-1] * 4, groups[1]), lead[:-1]
    given = by_channel + 1.0 if g.rng.random() < 0.5 else by_channel
    parts = given.reshape(*lead, *groups)
    last = parts.rank - 1
    centred = parts - reduced(g, parts, "mean", last)
    square = reduced(g, centred * centred, "mean", last) + 0.1
    y = (centred * square.apply("rsqrt")).reshape(*by_channel.shape)
    scale = weights(g, width, dtype=x.dtype)
    y = y * scale.reshape(Dim.of(width), Dim.of(1))
    forms = (lambda: y, lambda: y * y.apply("sigmoid"), lambda: y.apply("tanh") * by_channel + y)
    keep(g, g.rng.choice(forms)())
    if g.rng.random() < 0.2:
        keep(g, square)


def normal_heads(g: Generator) -> None:
    """Rows by head, perhaps before positions, and parts of them: rotated, cut, put together."""
    x = picked(g, 2)
    width = width_of(x)
    if width % 4:
        raise NotApplicableError
    parts = x.reshape(*x.shape[:-1], Dim.of(2), Dim.of(width // 2))
    last = parts.rank - 1
    mean = parts.reduce("mean", last)
    y = parts * ((parts * parts).reduce("mean", last) + 0.1).apply("rsqrt")
    y = y if g.rng.random() < 0.5 else (parts - mean) * weights(g, width // 2, dtype=x.dtype)
    if g.rng.random() < 0.7:
        order = [*range(last)]
        g.rng.shuffle(order)
        y = y.apply("transpose", perm=(*order, last))
    left, right = split(y, 2)
    turns = [weights(g, width // 2, dtype=x.dtype) for _ in range(2)]
    forms = (
        lambda: _rotated(y, *turns),
        lambda: left * right,
        lambda: y,
        lambda: (left + 1.0).apply("concat", right, axis=last) + y,
        lambda: (left * 0.5).apply("tanh").apply("concat", y, axis=last),
        lambda: right * right.reduce("max", last),
    )
    keep(g, g.rng.choice(forms)())


def trailing(g: Generator) -> None:
    x = picked(g)
    keep(g, (x * 2.0).reshape(x.value.tensor.size))


def repeated(g: Generator) -> None:
    """Each row several times, as shared heads are."""
    x = picked(g, 2)
    shape = (*x.shape[:-1], Dim.of(2), x.shape[-1])
    wide = x.reshape(*x.shape[:-1], Dim.of(1), x.shape[-1]).apply("broadcast", shape=shape)
    keep(g, wide.reshape(*x.shape[:-2], x.shape[-2] * 2, x.shape[-1]))


def _only_floats(move: Move) -> Move:
    """Of the moves that others use too: what is no float has other tests."""

    def apply(g: Generator) -> None:
        whole = g.pool
        g.pool = [v for v in whole if v.tensor.dtype in FLOATS]
        before = len(g.pool)
        try:
            move(g)
        finally:
            whole.extend(g.pool[before:])
            g.pool = whole

    return apply


VIEWS: dict[str, Callable[[Generator], None]] = {
    move.__name__: _only_floats(move)
    for move in (
        simple.reshape, simple.transpose, simple.broadcast, simple.slice_, simple.concat,
        simple.pad, simple.gather, simple.dot, simple.computed_product, simple.row_compound,
    )
}  # fmt: skip

MOVES: dict[str, Weighted] = {
    "unary": Weighted(unary, 4),
    "binary": Weighted(binary, 6),
    "residual": Weighted(residual, 3),
    "masked": Weighted(masked, 2),
    "softmax": Weighted(softmax, 4),
    "norm": Weighted(norm, 4),
    "pooled": Weighted(pooled, 2),
    "row_statistics": Weighted(row_statistics, 2),
    "siblings": Weighted(siblings, 2),
    "gated": Weighted(gated, 2),
    "attention": Weighted(attention, 3),
    "halves": Weighted(halves, 1),
    "grouped": Weighted(grouped, 1),
    "channel_groups": Weighted(channel_groups, 2),
    "normal_heads": Weighted(normal_heads, 2),
    "trailing": Weighted(trailing, 1),
    "repeated": Weighted(repeated, 1),
    **{name: Weighted(move) for name, move in VIEWS.items()},
}

MODELS: dict[str, Weighted] = {
    "function": Weighted(models.function, 4),
    "cast": Weighted(models.cast, 1),
    "parts": Weighted(models.parts, 1),
    "layers": Weighted(models.layers, 1),
    "shared_heads": Weighted(models.shared_heads, 2),
    "bytes": Weighted(models.bytes_, 2),
    "convolution": Weighted(models.convolution, 3),
    "recurrent": Weighted(models.recurrent, 1),
    "invariant": Weighted(models.invariant, 1),
    "chosen": Weighted(models.chosen, 1),
    "followed": Weighted(models.followed, 1),
}
"""What programs have beside these (`program.py`)."""
