"""Convolutions: torch's, in f64, on operands in its order of axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from tests.compliance.case import Collection, emit
from tests.compliance.expect import as_torch, wrapped
from tests.compliance.tolerance import accumulated

from anyshape.ir.types import NUMERIC, f32

CASES = Collection()

TOLERANCE = accumulated(1024)

FUNCTIONS: Any = (torch.conv1d, torch.conv2d, torch.conv3d)


def by_torch(
    strides: Sequence[int], dilations: Sequence[int], low: Sequence[int], high: Sequence[int]
) -> Any:
    def expect(x: Any, weights: Any) -> Any:
        groups, rank, dtype = weights.shape[0], x.ndim - 2, x.dtype
        if dtype.kind in "iu":  # values are small, so f64 holds every sum exactly
            x, weights = (array.astype("float64") for array in (x, weights))
        image = torch.moveaxis(as_torch(x), -1, 1)
        pads = [width for pair in zip(low[::-1], high[::-1], strict=True) for width in pair]
        image = torch.nn.functional.pad(image, pads)
        apart = torch.moveaxis(as_torch(weights), (-1, -2), (1, 2))
        kernel = apart.reshape(-1, *apart.shape[2:])
        found = FUNCTIONS[rank - 1](image, kernel, None, strides, 0, dilations, groups)
        made = torch.moveaxis(found, 1, -1).numpy()
        return wrapped(made.astype(object), dtype) if dtype.kind in "iu" else made

    return expect


def conv(
    label: str, inputs: tuple[str, str], result: str, sizes: tuple[dict[str, int], ...],
    facts: tuple[str, ...], strides: tuple[int, ...], dilations: tuple[int, ...] = (),
    low: tuple[int, ...] = (), high: tuple[int, ...] = (), given: str = "",
) -> None:  # fmt: skip
    rank = len(strides)
    dilations, low, high = dilations or (1,) * rank, low or (0,) * rank, high or (0,) * rank
    numbers = {"strides": strides, "dilations": dilations, "low": low, "high": high}
    for dtype in NUMERIC if label == "rows" else [f32]:
        CASES.add(
            "conv", f"{label} {dtype}", tuple(f"{dtype}{shape}" for shape in inputs),
            emit("conv", **numbers), (f"{dtype}{result}",),
            by_torch(strides, dilations, low, high), facts, given, sizes=sizes, tolerance=TOLERANCE,
        )  # fmt: skip


def images(*sizes: tuple[int, int, int]) -> tuple[dict[str, int], ...]:
    return tuple({"batch": n, "h": h, "w": w} for n, h, w in sizes)


conv(
    "rows", ("[batch, seq, 3]", "[1, 3, 3, 5]"), "[batch, seq, 5]",
    tuple({"batch": n, "seq": size} for n, size in ((0, 3), (1, 1), (2, 17), (1, 131))),
    ("2 < seq + 2",), (1,), low=(1,), high=(1,),
)  # fmt: skip
conv(
    "images", ("[batch, h, w, 4]", "[1, 3, 2, 4, 35]"), "[batch, h//2, w + 1, 35]",
    images((1, 3, 1), (2, 7, 13), (0, 5, 5), (1, 29, 31)), ("2 < h + 1",),
    (2, 1), low=(1, 2), high=(0, 0),
)  # fmt: skip
conv(
    "dilated", ("[batch, h, w, 3]", "[1, 2, 3, 3, 4]"),
    "[batch, h//3, w//2, 4]",
    images((1, 3, 2), (2, 9, 20)), ("2 < h", "4 < w + 3"), (3, 2), (2, 2), (0, 1), (0, 2),
)  # fmt: skip
conv(
    "groups", ("[batch, h, w, 6]", "[2, 3, 3, 3, 4]"), "[batch, h, w, 8]",
    images((1, 1, 1), (2, 7, 19)), ("2 < h + 2", "2 < w + 2"), (1, 1), (1, 1), (1, 1), (1, 1),
)  # fmt: skip
conv(
    "depthwise", ("[batch, h, w, 5]", "[5, 3, 3, 1, 1]"), "[batch, h, w, 5]",
    images((1, 1, 1), (2, 7, 19)), ("2 < h + 2", "2 < w + 2"), (1, 1), (1, 1), (1, 1), (1, 1),
)  # fmt: skip
conv(
    "volumes", ("[batch, d, h, w, 2]", "[1, 2, 3, 2, 2, 3]"), "[batch, d - 1, h, (w + 1)//2, 3]",
    tuple({"batch": 1, "d": d, "h": 5, "w": 7} for d in (2, 5)),
    ("1 < d", "2 < h + 2", "1 < w + 1"), (1, 1, 2), low=(0, 1, 1), high=(0, 1, 0),
)  # fmt: skip
conv(
    "symbolic channels and taps", ("[batch, seq, c]", "[g, k, i, o]"),
    "[batch, seq - k + 3, g*o]",
    tuple(
        {"batch": 2, "seq": 9, "c": g * i, "g": g, "k": 3, "i": i, "o": o}
        for g, i, o in ((1, 3, 2), (2, 2, 5), (3, 1, 1))
    ),
    ("c == g*i", "1 <= k", "k - 1 < seq + 2"), (1,), low=(1,), high=(1,),
)  # fmt: skip


def tiles(tile: int, low: tuple[int, int], high: tuple[int, int], result: str) -> None:
    number = (tile + 2) ** 2
    CASES.add(
        "winograd", f"tiles of {tile}",
        ("f32[batch, h, w, 3]", "f32[1, 3, 3, 3, 5]", f"f32[{number}, 3, 5]"),
        emit("winograd", low=low, high=high, tile=tile), (f"f32{result}",),
        lambda x, weights, _: by_torch((1, 1), (1, 1), low, high)(x, weights),
        ("2 < h + 2", "2 < w + 2"), sizes=images((1, 1, 1), (2, 7, 13), (0, 5, 5)),
        tolerance=TOLERANCE,
    )  # fmt: skip


tiles(2, (1, 0), (1, 2), "[batch, h, w, 5]")
tiles(4, (0, 1), (2, 1), "[batch, h, w, 5]")
