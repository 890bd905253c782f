"""Edges of ops that `make fuzz-onnx-graphs` came to: values, dtypes and shapes of onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper
from tests.unit.frontend.onnx.models import model, node, tensor, value

import anyshape as ash
from anyshape.session.errors import InvalidGraph, NotImplemented


def same(made: Any, *feeds: dict[str, Any]) -> None:
    """One program, by the interpreter, for all of these inputs."""
    options, quiet = ash.SessionOptions(), onnxruntime.SessionOptions()
    options.add_session_config_entry("anyshape.executor", "reference")
    quiet.log_severity_level = 4
    ours = ash.InferenceSession(made, options)
    theirs = onnxruntime.InferenceSession(made.SerializeToString(), quiet)
    for each in feeds:
        for found, wanted in zip(ours.run(None, each), theirs.run(None, each), strict=True):
            assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
            np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


def test_zeros_are_quantised_with_a_scale_of_one() -> None:
    outputs = [value("y", None, 2), value("scale", None), value("zero", None, 2)]
    made = model(
        [node("DynamicQuantizeLinear", ["x"], ["y", "scale", "zero"])], [value("x", ["n"])], outputs
    )
    ones, none = np.ones(3, np.float32), np.zeros(0, np.float32)
    same(made, {"x": ones * 0}, {"x": none}, {"x": ones}, {"x": ones * -2})


@pytest.mark.parametrize(("opset", "code"), [(7, 1), (10, 9), (12, 9)])
def test_masks_of_dropout_have_the_type_of_their_opset(opset: int, code: int) -> None:
    """What opsets before 12 have in the mask of an inference, they do not say."""
    outputs = [value("y", None), value("mask", None, code)]
    made = model([node("Dropout", ["x"], ["y", "mask"])], [value("x", ["n"])], outputs, opset=opset)
    same(made, {"x": np.arange(4, dtype=np.float32)}, {"x": np.zeros(0, np.float32)})


def test_a_mean_of_nothing_but_padding_is_0() -> None:
    """A window of two elements, two apart, over one: between them."""
    attributes = {"kernel_shape": [2], "dilations": [2], "pads": [1, 1], "count_include_pad": 0}
    pool = node("AveragePool", ["x"], ["y"], **attributes)
    made = model([pool], [value("x", ["n", 1, "m"])], [value("y", None)], opset=19)
    rows = (np.arange(1, size + 1, dtype=np.float32).reshape(1, 1, -1) for size in (1, 2, 5))
    same(made, *({"x": row} for row in rows))


@pytest.mark.parametrize("op", ["LeakyRelu", "Elu", "Selu", "HardSigmoid", "LpNormalization"])
def test_numbers_that_a_node_leaves_out_have_32_bits_in_64(op: str) -> None:
    made = model([node(op, ["x"], ["y"])], [value("x", ["n"], 11)], [value("y", None, 11)])
    x = np.linspace(-3, 3, 11)
    (found,) = ash.InferenceSession(made).run(None, {"x": x})
    theirs = onnxruntime.InferenceSession(made.SerializeToString())
    np.testing.assert_allclose(found, theirs.run(None, {"x": x})[0], rtol=1e-12)


def test_nearest_elements_of_opset_10_lie_above_where_an_axis_shrinks() -> None:
    factors = tensor("factors", np.array([1, 1, 3, 0.7], np.float32))
    image = value("x", ["n", 1, "h", "w"])
    resize = node("Resize", ["x", "factors"], ["y"], mode="nearest")
    made = model([resize], [image], [value("y", None)], [factors], opset=10)
    images = (np.arange(2.0 * h * w).reshape(2, 1, h, w) for h, w in ((2, 3), (1, 10), (3, 7)))
    same(made, *({"x": each.astype(np.float32)} for each in images))


@pytest.mark.parametrize("mode", ["round_prefer_floor", "round_prefer_ceil"])
@pytest.mark.parametrize("coordinates", ["asymmetric", "half_pixel"])
def test_coordinates_that_rounding_moved_off_the_middle_lie_there(
    mode: str, coordinates: str
) -> None:
    """2 / (4/7) is 3.5, and in 32 bits it is a little less."""
    attributes = {"nearest_mode": mode, "coordinate_transformation_mode": coordinates}
    resize = node("Resize", ["x", "", "", "sizes"], ["y"], **attributes)
    for count in (2, 4, 38, 39):
        sizes = tensor("sizes", np.array([1, 1, count]))
        made = model([resize], [value("x", [1, 1, "n"])], [value("y", None)], [sizes])
        rows = (np.arange(n, dtype=np.float32).reshape(1, 1, n) for n in (7, 9, 14, 18, 1))
        same(made, *({"x": row} for row in rows))


def test_the_state_of_an_lstm_is_not_clipped() -> None:
    """It grows beyond the bound, which is for the inputs of gates."""
    weights = [tensor("w", np.full((1, 8, 1), 3, np.float32)),
               tensor("r", np.full((1, 8, 2), 0.5, np.float32))]  # fmt: skip
    lstm = node("LSTM", ["x", "w", "r"], ["y", "h", "c"], hidden_size=2, clip=0.5)
    outputs = [value(name, None) for name in "yhc"]
    made = model([lstm], [value("x", ["n", 1, 1])], outputs, weights, opset=14)
    same(made, *({"x": np.full((steps, 1, 1), 2, np.float32)} for steps in (1, 7)))


@pytest.mark.parametrize(("wide", "bytes_", "block"), [(0, 0, 16), (16, 7, 16), (16, 8, 0)])
def test_weights_of_a_few_bits_have_the_bytes_that_they_say(
    wide: int, bytes_: int, block: int
) -> None:
    weights = [tensor("w", np.zeros((1, 1, bytes_), np.uint8)), tensor("s", np.ones(1, np.float32))]
    sizes = {"K": wide, "N": 1, "bits": 4, "block_size": block}
    product = node("MatMulNBits", ["x", "w", "s"], ["y"], domain="com.microsoft", **sizes)
    opsets = [helper.make_opsetid("com.microsoft", 1)]
    inputs, outputs = [value("x", ["n", wide])], [value("y", None)]
    made = model([product], inputs, outputs, weights, opsets=opsets)
    with pytest.raises(InvalidGraph, match="in blocks of"):
        ash.InferenceSession(made)


def test_a_centre_of_any_size_is_cut_or_padded() -> None:
    """Which of both is not known before the call."""
    wanted = tensor("wanted", np.array([5, 4]))
    centre = node("CenterCropPad", ["x", "wanted"], ["y"], axes=[1, 2])
    image = value("x", ["n", "h", "w"])
    made = model([centre], [image], [value("y", ["n", 5, 4])], [wanted], opset=18)
    sizes = ((1, 8, 3), (2, 5, 4), (1, 2, 9), (0, 6, 4), (1, 1, 1), (1, 0, 6))
    same(made, *({"x": np.arange(np.prod(s), dtype=np.float32).reshape(s)} for s in sizes))


@pytest.mark.parametrize("code", [TensorProto.INT4, TensorProto.UINT4])
@pytest.mark.parametrize("attributes", [{"axis": 1}, {"axis": 1, "block_size": 2}, {"axis": 0}])
def test_weights_of_four_bits(attributes: dict[str, int], code: int) -> None:
    rng, low = np.random.default_rng(code), -8 if code == TensorProto.INT4 else 0
    sizes = {"block_size": (5, 3), 1: (6,), 0: (5,)}
    count = sizes["block_size" if "block_size" in attributes else attributes["axis"]]
    weights, zeros = (
        helper.make_tensor(name, code, shape, rng.integers(low, low + 16, shape).reshape(-1))
        for name, shape in (("w", (5, 6)), ("z", count))
    )
    scales = tensor("s", rng.uniform(0.1, 1, count).astype(np.float32))
    nodes = [
        node("DequantizeLinear", ["w", "s", "z"], ["d"], **attributes),
        node("Add", ["x", "d"], ["y"]),
    ]
    given, image, result = [zeros, scales], value("x", ["n", 5, 6]), value("y", None)
    bytes_ = bytes(rng.integers(0, 256, 15).tolist())
    for each in (weights, helper.make_tensor("w", code, (5, 6), bytes_, raw=True)):
        made = model(nodes, [image], [result], [each, *given], opset=21)
        same(made, *({"x": rng.normal(size=(n, 5, 6)).astype(np.float32)} for n in (0, 1, 3)))


def test_four_bits_are_refused_where_a_type_shows() -> None:
    zero = helper.make_tensor("z", TensorProto.INT4, (), [1])
    scale = tensor("s", np.array(0.5, np.float32))
    quantize = node("QuantizeLinear", ["x", "s", "z"], ["y"])
    made = model([quantize], [value("x", ["n"])], [value("y", None, 22)], [zero, scale], opset=21)
    with pytest.raises(NotImplemented, match="elements of type INT4"):
        ash.InferenceSession(made)
