"""Ops that place elements: shapes, orders of axes, parts, joins, pads."""

from __future__ import annotations

import math

from tests.fuzz.onnx_graphs.generator import DTYPES, FLOATS, INTEGERS, Generator, Unfit
from tests.fuzz.onnx_graphs.moves.reductions import flag


def from_opset(
    g: Generator, opset: int, name: str, numbers: tuple[int, ...]
) -> tuple[tuple[str, ...], dict[str, tuple[int, ...]]]:
    """What is an input since an opset, and an attribute before."""
    return ((g.constant(numbers),), {}) if g.opset >= opset else ((), {name: numbers})


def reshape(g: Generator) -> None:
    """Sizes that are kept, one that is left, factors of one that is fixed."""
    x = g.pick(DTYPES)
    rank = g.rank(x)
    kept = g.rng.randint(0, rank)
    tail = g.rng.choice(([-1], [-1, 1], [1, -1], [], _factors(g, x, kept)))
    g.node("Reshape", x, g.constant([0] * kept + tail))


def _factors(g: Generator, x: str, kept: int) -> list[int]:
    rest = {math.prod(value.shape[kept:]) for value in g.each(x)}
    factor = next((n for n in (2, 3, 4) if all(size % n == 0 for size in rest)), 1)
    return g.rng.choice(([factor, -1], [-1, factor]))


def flatten(g: Generator) -> None:
    x = g.pick(DTYPES)
    low = -g.rank(x) if g.opset >= 11 else 0
    g.node("Flatten", x, axis=g.rng.choice((None, g.rng.randint(low, g.rank(x)))))


def squeeze(g: Generator) -> None:
    x = g.pick(DTYPES)
    ones = [axis for axis in range(g.rank(x)) if set(g.size(x, axis)) == {1}]
    if g.rng.random() < 0.3 and ones:
        g.node("Squeeze", x)
        return
    if not ones:
        raise Unfit
    chosen = tuple(g.rng.sample(ones, g.rng.randint(1, len(ones))))
    inputs, attributes = from_opset(g, 13, "axes", chosen)
    g.node("Squeeze", x, *inputs, **attributes)


def unsqueeze(g: Generator) -> None:
    x = g.pick(DTYPES, range(4))
    rank = g.rank(x) + 1
    low = -rank if g.opset >= 11 else 0
    axes = (g.rng.randrange(low, rank),)
    if g.rng.random() < 0.3:
        axes = tuple(g.rng.sample(range(rank + 1), 2))
    inputs, attributes = from_opset(g, 13, "axes", axes)
    g.node("Unsqueeze", x, *inputs, **attributes)


def expand(g: Generator) -> None:
    x = g.pick(DTYPES, range(4))
    sizes = [g.rng.choice((1, 1, 2, 3)) for _ in range(g.rng.randint(0, g.rank(x) + 1))]
    g.node("Expand", x, g.constant(sizes))


def transpose(g: Generator) -> None:
    x = g.pick(DTYPES)
    order = tuple(g.rng.sample(range(g.rank(x)), g.rank(x)))
    g.node("Transpose", x, perm=g.rng.choice((None, order, order)) or None)


def tile(g: Generator) -> None:
    x = g.pick(DTYPES, range(1, 4))
    g.node("Tile", x, g.constant([g.rng.choice((0, 1, 1, 2, 3)) for _ in range(g.rank(x))]))


def concat(g: Generator) -> None:
    x = g.pick(DTYPES, range(1, 5))
    axis = g.axis(x)
    alike = [
        name
        for name in g.names((g.dtype(x),), (g.rank(x),))
        if all(
            a.shape[:place] == b.shape[:place] and a.shape[place + 1 :] == b.shape[place + 1 :]
            for a, b in zip(g.each(x), g.each(name), strict=True)
            for place in [axis % a.ndim]
        )
    ]
    given = [g.rng.choice(alike) for _ in range(g.rng.randint(1, 3))]
    g.node("Concat", *given, axis=axis if g.opset >= 11 else axis % g.rank(x))


def split(g: Generator) -> None:
    x = g.pick(DTYPES, range(1, 5))
    axis, parts = g.axis(x), g.rng.choice((1, 2, 2, 3))
    axis = axis if g.opset >= 11 else axis % g.rank(x)
    sizes = set(g.size(x, axis))
    if len(sizes) == 1 and g.rng.random() < 0.6:
        size = sizes.pop()
        cuts = sorted(g.rng.randint(0, size) for _ in range(parts - 1))
        pairs = zip([0, *cuts], [*cuts, size], strict=True)
        inputs, attributes = from_opset(g, 13, "split", tuple(b - a for a, b in pairs))
        g.several("Split", parts, x, *inputs, axis=axis, **attributes)
        return
    g.several("Split", parts, x, axis=axis, num_outputs=parts if g.opset >= 18 else None)


STARTS = (0, 1, 2, 3, -1, -2, -4, 9, -(2**31), 2**31 - 1)
ENDS = (0, 1, 2, 5, -1, -2, -9, 99, 2**31 - 1, 2**63 - 1, -(2**31), -(2**63))


def slice_(g: Generator) -> None:
    x = g.pick(DTYPES, range(1, 5))
    axes = g.some_axes(x) or (g.axis(x),)
    starts, ends = (tuple(g.rng.choice(n) for _ in axes) for n in (STARTS, ENDS))
    if g.opset < 10:
        places = tuple(axis % g.rank(x) for axis in axes)
        g.node("Slice", x, starts=starts, ends=ends, axes=places)
        return
    steps = tuple(g.rng.choice((1, 1, 2, 3, -1, -2)) for _ in axes)
    if any(step < 0 and end >= 2**31 - 1 for step, end in zip(steps, ends, strict=True)):
        raise Unfit  # docs/onnx.md has the difference
    dtype = "int64" if max(map(abs, ends)) >= 2**31 else g.rng.choice(("int64", "int32"))
    given = [g.constant(each, dtype) for each in (starts, ends, axes, steps)]
    g.node("Slice", x, *given[: g.rng.choice((3, 4)) if len(axes) < g.rank(x) else 4])


def pad(g: Generator) -> None:
    x = g.pick((*FLOATS, *FLOATS, *INTEGERS, "bool"), range(1, 5))
    modes = ("constant", "constant", "edge", "reflect", *(("wrap",) if g.opset >= 19 else ()))
    mode, rank = g.rng.choice(modes), g.rank(x)
    often = (0, 0, 1, 2, -1) if mode == "constant" else (0, 0, 1, 2)
    if g.opset < 11:
        g.node("Pad", x, pads=tuple(g.rng.choice(often) for _ in range(2 * rank)), mode=mode,
               value=g.rng.choice((None, 1.5)))  # fmt: skip
        return
    axes = g.some_axes(x) if g.opset >= 18 and g.rng.random() < 0.4 else None
    widths = [g.rng.choice(often) for _ in range(2 * (rank if axes is None else len(axes)))]
    value = g.constant(1, g.dtype(x)) if g.rng.random() < 0.4 else ""
    last = "" if axes is None else g.constant(axes)
    g.node("Pad", x, g.constant(widths), value, last, mode=g.rng.choice((mode, mode)))


def blocks(g: Generator) -> None:
    n, h, w = ("n", "m", "k")
    if g.rng.random() < 0.5:
        x = g.input(g.rng.choice(FLOATS), n, g.rng.choice((4, 8)), h, w)
        mode = g.rng.choice((None, "DCR", "CRD")) if g.opset >= 11 else None
        g.node("DepthToSpace", x, blocksize=2, mode=mode)
        return
    x = g.node("Tile", g.pick(FLOATS, (4,)), g.constant([1, 1, 2, 2]))
    g.node("SpaceToDepth", x, blocksize=2)


def triangle(g: Generator) -> None:
    x = g.pick(DTYPES, range(2, 5))
    g.node("Trilu", x, g.constant(g.rng.randint(-3, 3)), upper=flag(g))


def cropped(g: Generator) -> None:
    x = g.pick(DTYPES, range(1, 4))
    axis = g.axis(x)
    g.node("CenterCropPad", x, g.constant([g.rng.choice((1, 3, 4, 20))]), axes=(axis,))


def diagonal(g: Generator) -> None:
    x = g.pick(DTYPES, (2,))
    g.node("EyeLike", x, k=g.rng.choice((None, -2, 0, 1)))


MOVEMENT = (
    reshape, reshape, flatten, squeeze, unsqueeze, expand, transpose, transpose, tile, concat,
    concat, split, slice_, slice_, slice_, pad, pad, blocks, triangle, cropped, diagonal,
)  # fmt: skip
