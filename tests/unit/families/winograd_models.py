"""Convolutions whose weights are there in Winograd's form too."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from anyshape.ir import parse
from anyshape.lower.winograd import scheme, weights_at_points

Pads = tuple[tuple[int, int], tuple[int, int]]
CONSTANTS = frozenset({1, 2})
"""Parameters that are stored in panels."""


def model(tile: int, inside: int, outside: int, pads: Pads = ((1, 1), (1, 1))) -> Any:
    """relu(conv + bias + residual), as what `ash.jit` gives has a graph. An image has a place at
    least, if padding leaves it one."""
    (top, bottom), (left, right) = pads
    sizes = f"z, h + {top + bottom - 2}, w + {left + right - 2}"
    points = scheme(tile).points
    return SimpleNamespace(
        graph=parse(f"""
facts {{
  2 < h + {top + bottom}
  2 < w + {left + right}
}}
graph winograd(x: f32[z, h, w, {inside}], w: f32[1, 3, 3, {inside}, {outside}],
    points: f32[{points}, {inside}, {outside}], bias: f32[{outside}],
    rest: f32[{sizes}, {outside}]) -> f32[{sizes}, {outside}] {{
  %0 = winograd(x, w, points) {{low={[top, left]}, high={[bottom, right]}, tile={tile}}}
  %1 = add(%0, bias)
  %2 = add(%1, rest)
  %3 = relu(%2)
  return %3
}}
""")
    )


def operands(
    tile: int, inside: int, outside: int, size: Sequence[int], pads: Pads, seed: int = 0
) -> list[NDArray[np.float32]]:
    rng = np.random.default_rng(seed)
    n, h, w = size
    (top, bottom), (left, right) = pads
    result = n, h + top + bottom - 2, w + left + right - 2, outside
    x = rng.standard_normal((n, h, w, inside)).astype(np.float32)
    weights = rng.standard_normal((1, 3, 3, inside, outside)) * np.sqrt(2 / 9 / inside)
    weights = weights.astype(np.float32)
    bias, rest = (rng.standard_normal(shape).astype(np.float32) for shape in (outside, result))
    return [x, weights, weights_at_points(weights, tile), bias, rest]


def expected(arrays: Sequence[NDArray[Any]], pads: Pads) -> NDArray[np.float64]:
    """By torch, in f64."""
    x, weights, _, bias, rest = (torch.from_numpy(array).double() for array in arrays)
    (top, bottom), (left, right) = pads
    image = torch.nn.functional.pad(x.permute(0, 3, 1, 2), (left, right, top, bottom))
    sums = torch.nn.functional.conv2d(image, weights[0].permute(3, 2, 0, 1))
    return torch.relu(sums.permute(0, 2, 3, 1) + bias + rest).numpy()
