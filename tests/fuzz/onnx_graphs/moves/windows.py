"""Convolutions, pools and samples of images, lines and volumes."""

from __future__ import annotations

from typing import Any

import numpy as np
from tests.fuzz.onnx_graphs.generator import Generator, Unfit
from tests.fuzz.onnx_graphs.moves.reductions import flag

AXES = ("m", "k", 5)


def image(
    g: Generator, channels: int | None = None, ranks: tuple[int, ...] = (1, 2, 2, 2, 3)
) -> str:
    """[batch, channels, …] of floats: one that there is, or an input."""
    found = [
        name
        for name in g.names(("float32", "float16", "float64"), (3, 4, 5))
        if g.rank(name) - 2 in ranks and len(set(g.size(name, 1))) == 1 and all(g.size(name, 1))
    ]
    found = [name for name in found if channels in (None, g.size(name, 1)[0])]
    if found and g.rng.random() < 0.7:
        return g.rng.choice(found)
    rank = g.rng.choice(ranks)
    places = [g.rng.choice((*AXES, "m", "k")) for _ in range(rank)]
    dtype = g.rng.choice(("float32",) * 5 + ("float64", "float16"))
    return g.input(
        dtype, g.rng.choice(("n", "n", 1, 2)), channels or g.rng.choice((1, 2, 3, 4)), *places
    )


def window(g: Generator, x: str, padded: bool = True) -> tuple[tuple[int, ...], dict[str, Any]]:
    """A kernel, with strides and dilations and pads that fit each other."""
    rank = g.rank(x) - 2
    kernel = tuple(g.rng.choice((1, 2, 3, 3)) for _ in range(rank))
    made: dict[str, Any] = {}
    if g.rng.random() < 0.5:
        made["strides"] = tuple(g.rng.choice((1, 2, 2, 3)) for _ in range(rank))
    if g.rng.random() < 0.3:
        made["dilations"] = tuple(g.rng.choice((1, 2)) for _ in range(rank))
    if not padded:
        return kernel, made
    mode = g.rng.choice((None, None, "pads", "pads", "SAME_UPPER", "SAME_LOWER", "VALID"))
    if mode == "pads":
        made["pads"] = tuple(g.rng.randrange(n) for n in (*kernel, *kernel))
    elif mode is not None:
        made["auto_pad"] = mode
    return kernel, made


def conv(g: Generator) -> None:
    x = image(g)
    channels = g.fixed(x, 1)
    group = g.rng.choice([n for n in (1, 1, 2, channels) if channels % n == 0])
    kernel, made = window(g, x)
    out = group * g.rng.choice((1, 2, 3))
    weight = g.random_constant(g.dtype(x), out, channels // group, *kernel)
    bias = (g.random_constant(g.dtype(x), out),) if g.rng.random() < 0.5 else ()
    made |= {"group": group} if group > 1 else {}
    found = g.node("Conv", x, weight, *bias, **made)
    if g.rng.random() < 0.3:
        g.node("Relu", found)


def transposed(g: Generator) -> None:
    x = image(g, ranks=(1, 2, 2))
    channels = g.fixed(x, 1)
    group = g.rng.choice([n for n in (1, 1, 2, channels) if channels % n == 0])
    kernel, made = window(g, x)
    if "strides" in made and g.rng.random() < 0.4:
        made["output_padding"] = tuple(g.rng.randrange(n) for n in made["strides"])
    weight = g.random_constant(g.dtype(x), channels, g.rng.choice((1, 2)), *kernel)
    g.node("ConvTranspose", x, weight, **made, group=group if group > 1 else None)


def ordered_image(g: Generator) -> str:
    x = image(g)
    if any(np.isnan(value).any() for value in g.each(x)):
        raise Unfit  # onnxruntime skips a NaN
    return x


def pool(g: Generator) -> None:
    x = ordered_image(g)
    kernel, made = window(g, x)
    op = g.rng.choice(("MaxPool", "MaxPool", "AveragePool", "AveragePool", "LpPool"))
    since = {"MaxPool": 10, "AveragePool": 19, "LpPool": 18}[op]
    if g.opset < since:
        made.pop("dilations", None)
    if g.opset >= {"MaxPool": 10, "AveragePool": 10, "LpPool": 18}[op]:
        made["ceil_mode"] = flag(g)
    if op == "AveragePool":
        made["count_include_pad"] = flag(g)
    if op == "LpPool":
        made["p"] = g.rng.choice((None, 1, 2, 3))
    outputs = g.rng.choice((1, 1, 2)) if op == "MaxPool" else 1
    if outputs == 2 and g.rng.random() < 0.3:
        made["storage_order"] = 1
    g.several(op, outputs, x, kernel_shape=kernel, **made)


def whole(g: Generator) -> None:
    x = ordered_image(g)
    op = g.rng.choice(("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"))
    g.node(op, x, **({"p": g.rng.choice((1, 2, 3))} if op == "GlobalLpPool" else {}))


def resize(g: Generator) -> None:
    """Factors that make no size empty."""
    x = image(g, ranks=(1, 2, 2, 2))
    rank = g.rank(x) - 2
    mode = g.rng.choice(("nearest", "nearest", "linear", "linear", "cubic"))
    factors = [g.rng.choice((1.0, 2.0, 3.0, 0.5, 1.5, 0.7)) for _ in range(rank)]
    if g.opset < 11:
        mode = g.rng.choice(("nearest", "linear"))
        op = "Resize" if g.opset == 10 else "Upsample"
        factors = [max(1.0, factor) for factor in factors] if op == "Upsample" else factors
        scales = [1.0, 1.0, *factors]
        if g.opset < 9:
            g.node(op, x, mode=mode, scales=tuple(scales))
        else:
            g.node(op, x, g.constant(scales, "float32"), mode=mode)
        return
    coordinates = g.rng.choice(
        (None, "half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel",
         *(("half_pixel_symmetric",) if g.opset >= 19 else ()))
    )  # fmt: skip
    made: dict[str, Any] = {"mode": mode, "coordinate_transformation_mode": coordinates}
    if mode == "nearest":
        made["nearest_mode"] = g.rng.choice(
            (None, "round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
        )
    if mode == "cubic":
        made |= {"cubic_coeff_a": g.rng.choice((None, -0.5)), "exclude_outside": flag(g)}
    if mode == "linear" and g.opset >= 18:
        made["antialias"] = g.rng.choice((None, None, None, 1))
    axes: tuple[int, ...] | None = None
    if g.opset >= 18 and g.rng.random() < 0.3:
        axes = tuple(range(2, rank + 2))
        made["axes"] = axes
    ones = [] if axes else [1.0, 1.0]
    empty = "" if g.opset >= 13 else g.constant([], "float32")
    if g.rng.random() < 0.7:
        if coordinates == "align_corners":  # docs/onnx.md has the difference
            factors = [g.rng.choice((1.0, 2.0, 3.0)) for _ in factors]
        g.node("Resize", x, empty, g.constant([*ones, *factors], "float32"), **made)
        return
    sizes = g.constant([g.rng.choice((1, 3, 4, 7)) for _ in range(rank)])
    if not axes:
        kept = g.node("Slice", g.node("Shape", x), *(g.constant([n]) for n in (0, 2)))
        sizes = g.node("Concat", kept, sizes, axis=0)
    g.node("Resize", x, empty, "" if g.opset >= 13 else empty, sizes, **made)


def sampled(g: Generator) -> None:
    x = image(g, ranks=(2,))
    dims = next((one.dims for one in g.inputs if one.name == x), None)
    if dims is None:
        x, dims = g.input("float32", "n", 2, "m", "k"), ("n", 2, "m", "k")
    grid = g.node("Tanh", g.input(g.dtype(x), dims[0], g.rng.choice(("k", 2)), 3, 2))
    bilinear = "linear" if g.opset >= 20 else "bilinear"
    g.node("GridSample", x, grid, mode=g.rng.choice((None, bilinear, "nearest")),
           padding_mode=g.rng.choice((None, "zeros", "border", "reflection")),
           align_corners=flag(g))  # fmt: skip


WINDOWS = (conv, conv, conv, transposed, pool, pool, pool, whole, resize, resize, resize, sampled)
