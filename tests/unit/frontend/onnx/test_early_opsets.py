"""Before opset 7 a node says by itself whether it broadcasts, and from which axis on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.unit.frontend.onnx.models import model, node, value

import anyshape as ash
from anyshape.base.errors import InvalidModelError, ShapeError, TraceError

RNG = np.random.default_rng(0)


def randoms(*shape: int) -> Any:
    return RNG.standard_normal(shape, dtype=np.float32)


def early(op: str, inputs: dict[str, list[Any]], **attributes: Any) -> Any:
    made = model(
        [node(op, list(inputs), ["z"], **attributes)],
        [value(name, shape) for name, shape in inputs.items()],
        [value("z", None)],
        opset=6,
    )
    return ash.compile(made, executor="reference")


@pytest.mark.parametrize("b", [0, 1, 4])
def test_operands_are_aligned_at_an_axis(b: int) -> None:
    x, y = randoms(b, 2, 3, 5), randoms(2, 3)
    whole = ["b", 2, 3, "n"]
    sub = early("Sub", {"x": whole, "y": [2, 3]}, axis=1, broadcast=1)
    np.testing.assert_array_equal(sub(x, y)[0], x - y[:, :, None])
    last = early("Mul", {"x": whole, "y": ["n"]}, broadcast=1)
    np.testing.assert_array_equal(last(x, x[0, 0, 0] if b else randoms(5))[0].shape, x.shape)
    same = early("Add", {"x": whole, "y": whole})
    np.testing.assert_array_equal(same(x, x)[0], x + x)


def test_without_broadcasting_shapes_are_the_same() -> None:
    with pytest.raises(InvalidModelError, match="does not broadcast"):
        early("Add", {"x": ["n", 3], "y": [3]})
    with pytest.raises(ShapeError):
        early("Add", {"x": ["n", 3], "y": ["n", 1]})
    with pytest.raises(InvalidModelError, match="from axis 1"):
        early("Add", {"x": ["n", 3], "y": [3, 2]}, axis=1, broadcast=1)
    compiled = early("Add", {"x": [None, 3], "y": [None, 3]})
    with pytest.raises(ShapeError):  # onnxruntime's later ops would broadcast 1
        compiled(randoms(2, 3), randoms(1, 3))


def test_gemm() -> None:
    shapes = {"a": ["n", 4], "b": [3, 4], "c": [3]}
    a, b, c = randoms(5, 4), randoms(3, 4), randoms(3)
    gemm = early("Gemm", shapes, alpha=2.0, beta=3.0, transB=1, broadcast=1)
    np.testing.assert_allclose(gemm(a, b, c)[0], 2 * a @ b.T + 3 * c, rtol=1e-5, atol=1e-5)
    with pytest.raises(InvalidModelError, match="does not broadcast"):
        early("Gemm", shapes, transB=1)


@pytest.mark.parametrize("slopes", [1, 3])
def test_slopes_of_channels(slopes: int) -> None:
    x, slope = randoms(2, 3, 4), randoms(slopes)
    prelu = early("PRelu", {"x": ["n", 3, "m"], "slope": [slopes]})
    np.testing.assert_array_equal(prelu(x, slope)[0], np.where(x < 0, x * slope[:, None], x))


def test_batch_norm() -> None:
    shapes = {"x": ["n", 3, "m"], "scale": [3], "bias": [3], "mean": [3], "variance": [3]}
    x, scale, bias, mean = randoms(2, 3, 5), randoms(3), randoms(3), randoms(3)
    variance = np.abs(randoms(3))
    wanted = (x - mean[:, None]) / np.sqrt(variance[:, None] + 1e-5) * scale[:, None]
    found = early("BatchNormalization", shapes, is_test=1)(x, scale, bias, mean, variance)[0]
    np.testing.assert_allclose(found, wanted + bias[:, None], rtol=1e-5, atol=1e-5)
    with pytest.raises(TraceError, match="batch norm that trains"):
        early("BatchNormalization", shapes)
