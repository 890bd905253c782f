"""Ops with many attributes against onnxruntime, at sizes that the model leaves open."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator
from tests.unit.frontend.onnx.models import model, node, tensor, value

import anyshape as ash

RNG = np.random.default_rng(2)


def random(*shape: int) -> Any:
    return RNG.standard_normal(shape).astype(np.float32)


def compare(made: Any, *feeds: dict[str, Any]) -> None:
    """One program, by the interpreter, for all of these inputs."""
    options, quiet = ash.SessionOptions(), onnxruntime.SessionOptions()
    options.add_session_config_entry("anyshape.executor", "reference")
    quiet.log_severity_level = 4
    ours = ash.InferenceSession(made, options)
    theirs = onnxruntime.InferenceSession(made.SerializeToString(), quiet)
    for each in feeds:
        for found, wanted in zip(ours.run(None, each), theirs.run(None, each), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


LSTM = {"activations": ["HardSigmoid", "Softsign", "Tanh"] * 2, "clip": 1.5}
GRU = {"linear_before_reset": 1, "activations": ["Sigmoid", "LeakyRelu"] * 2,
       "activation_alpha": [0.3, 0.2]}  # fmt: skip


@pytest.mark.parametrize(
    ("op", "gates", "attributes"),
    [("LSTM", 4, LSTM), ("LSTM", 4, {"input_forget": 1}), ("GRU", 3, GRU), ("GRU", 3, {}),
     ("RNN", 1, {})],
)  # fmt: skip
def test_recurrences_both_ways_with_lengths(op: str, gates: int, attributes: Any) -> None:
    width, depth = 3, 2
    weights = [
        tensor("w", random(2, gates * width, depth)),
        tensor("r", random(2, gates * width, width)),
        tensor("b", random(2, 2 * gates * width)),
    ]
    inputs = ["x", "w", "r", "b", "lengths"]
    if op == "LSTM":
        weights.append(tensor("p", random(2, 3 * width)))
        inputs += ["", "", "p"]
    outputs = ["y", "h", "c"][: 3 if op == "LSTM" else 2]
    made = model(
        [node(op, inputs, outputs, hidden_size=width, direction="bidirectional", **attributes)],
        [value("x", ["steps", "batch", depth]), value("lengths", ["batch"], 6)],
        [value(name, None) for name in outputs],
        weights,
    )
    lengths = [np.array(each, np.int32) for each in ([5, 2, 4], [1], [7, 7])]
    feeds = [{"x": random(int(n.max()), len(n), depth), "lengths": n} for n in lengths]
    compare(made, *feeds)


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("factor", [0.6, 1.7, 2.0, 0.33])
@pytest.mark.parametrize("coordinates", ["half_pixel", "pytorch_half_pixel", "asymmetric"])
def test_resizes_by_any_factor(mode: str, factor: float, coordinates: str) -> None:
    scales = tensor("scales", np.array([1, 1, factor, factor], np.float32))
    attributes = {"mode": mode, "coordinate_transformation_mode": coordinates}
    if mode == "nearest":
        attributes["nearest_mode"] = "floor"
    made = model(
        [node("Resize", ["x", "", "scales"], ["y"], **attributes)],
        [value("x", ["n", 1, "h", "w"])],
        [value("y", None)],
        [scales],
    )
    compare(made, *({"x": random(*shape)} for shape in ((1, 1, 10, 5), (2, 1, 7, 20))))


INTEGERS = [np.uint8, np.int8, np.int32]


def integers(dtype: Any, *shape: int) -> Any:
    least = 0 if dtype is np.uint8 else -100
    return RNG.integers(least, 100, shape).astype(dtype)


def resize_of_integers(dtype: Any, factor: float, **attributes: Any) -> Any:
    number = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    return model(
        [node("Resize", ["x", "", "scales"], ["y"], **attributes)],
        [value("x", ["n", 1, "h", "w"], number)],
        [value("y", None, number)],
        [tensor("scales", np.array([1, 1, factor, factor], np.float32))],
    )


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("factor", [0.25, 2.0])
def test_integers_between_others_are_means_without_their_fractions(
    dtype: Any, factor: float
) -> None:
    made = resize_of_integers(dtype, factor, mode="linear")
    compare(made, *({"x": integers(dtype, *shape)} for shape in ((1, 1, 10, 5), (2, 1, 7, 20))))


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("factor", [0.5, 2.0])
@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_integers_that_are_resized_without_aliasing_are_rounded(
    dtype: Any, factor: float, mode: str
) -> None:
    """onnxruntime overflows in 8 bits; the standard's reference does not."""
    made = resize_of_integers(dtype, factor, mode=mode, antialias=1)
    session = ash.InferenceSession(made)
    for shape in ((1, 1, 8, 9), (2, 1, 6, 10)):
        x = integers(dtype, *shape)
        (wanted,) = ReferenceEvaluator(made).run(None, {"x": x})
        (found,) = session.run(None, {"x": x})
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(
    "attributes",
    [{"strides": [2, 3], "pads": [1, 0, 0, 2], "output_padding": [1, 2]},
     {"strides": [3, 3], "auto_pad": "SAME_LOWER"}, {"strides": [4, 4], "auto_pad": "SAME_UPPER"},
     {"dilations": [2, 1], "group": 2}],
)  # fmt: skip
def test_transposed_convolutions(attributes: dict[str, Any]) -> None:
    weight = tensor("w", random(4, 2, 3, 2))
    made = model(
        [node("ConvTranspose", ["x", "w"], ["y"], **attributes)],
        [value("x", ["n", 4, "h", "w"])],
        [value("y", None)],
        [weight],
    )
    compare(made, *({"x": random(*shape)} for shape in ((1, 4, 3, 5), (2, 4, 1, 4))))


def test_sizes_without_names_are_their_own() -> None:
    """`?` is what exporters write where they know no name; `?0` is a name like any other."""
    made = model(
        [node("Transpose", ["x"], ["y"], perm=[1, 0]), node("Relu", ["z"], ["u"])],
        [value("x", ["?", "?"]), value("z", ["?0"])],
        [value("y", None), value("u", None)],
    )
    compare(made, {"x": random(2, 3), "z": random(4)}, {"x": random(5, 5), "z": random(1)})


def test_a_loop_that_data_end_stacks_what_it_gave() -> None:
    body = model(
        [node("Mul", ["s", "two"], ["t"]), node("Less", ["t", "limit"], ["again"]),
         node("Identity", ["t"], ["row"])],
        [value("i", [], 7), value("go", [], 9), value("s", ["k"])],
        [value("again", None, 9), value("t", None), value("row", None)],
        [tensor("two", np.float32(2))],
    ).graph  # fmt: skip
    made = model(
        [node("ReduceMax", ["x"], ["top"], keepdims=0),
         node("Loop", ["", "yes", "top"], ["last", "rows"], body=body)],
        [value("x", ["n"]), value("limit", [])],
        [value("last", None), value("rows", None)],
        [tensor("yes", np.array(True))],
    )  # fmt: skip
    for limit in (3.0, 100.0, 0.5):
        compare(made, {"x": np.array([1, 1.5], np.float32), "limit": np.array(limit, "f4")})
