"""Quantised ONNX models against onnxruntime, within one quantum of their results, at sizes that the
compile has not seen. Products of bytes with constant weights are integer products."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import (
    CalibrationDataReader,
    QuantFormat,
    QuantType,
    quantize_dynamic,
    quantize_static,
)
from tests.e2e.test_onnx_contrib import model_of, normal, rng_of, sessions

import anyshape as ash

MICROSOFT = "com.microsoft"


def within_a_quantum(ours: Any, theirs: Any, feeds: Any, quantum: float = 1.0) -> None:
    """Results may differ by one quantum, where a sum is next to the middle of two, and rarely."""
    found, expected = ours.run(None, feeds), theirs.run(None, feeds)
    for y, r in zip(found, expected, strict=True):
        assert (y.dtype, y.shape) == (r.dtype, r.shape)
        differs = np.abs(y.astype(np.float64) - r.astype(np.float64))
        assert differs.max(initial=0) <= quantum * 1.001
        assert (differs > quantum / 2).mean() < 0.02 if differs.size else True


def some_bytes(rng: np.random.Generator, dtype: Any, *shape: int) -> Any:
    ends = np.iinfo(dtype)
    return rng.integers(ends.min, ends.max, shape, dtype, endpoint=True)


# --- single ops -----------------------------------------------------------------------------------

PAIRS = [(np.uint8, np.int8), (np.int8, np.int8), (np.uint8, np.uint8)]
K, N = 20, 33


def numbers(rng: np.random.Generator, x: Any, w: Any, per_column: bool) -> dict[str, Any]:
    count = (N,) if per_column else ()
    zero = 0 if w is np.int8 else 120  # onnxruntime has no zero points for i8 weights by column
    return {
        "w": some_bytes(rng, w, K, N),
        "sx": np.float32(0.03),
        "zx": np.array(118 if x is np.uint8 else -9, x),
        "sw": rng.uniform(0.01, 0.03, count).astype(np.float32),
        "zw": np.full(count, zero, w),
        "sy": np.float32(0.7),
        "zy": np.array(101 if x is np.uint8 else 3, x),
        "bias": normal(rng, N),
    }


PRODUCTS = {
    "MatMulInteger": (["x", "w", "zx", "zw"], ""),
    "QLinearMatMul": (["x", "sx", "zx", "w", "sw", "zw", "sy", "zy"], ""),
    "MatMulIntegerToFloat": (["x", "w", "sx", "sw", "zx", "zw", "bias"], MICROSOFT),
    "DynamicQuantizeMatMul": (["x", "w", "sw", "zw", "bias"], MICROSOFT),
}


@pytest.mark.parametrize(("x_dtype", "w_dtype"), PAIRS)
@pytest.mark.parametrize("op", PRODUCTS)
def test_products(op: str, x_dtype: Any, w_dtype: Any) -> None:
    inputs, domain = PRODUCTS[op]
    rng = rng_of(1)
    constants = numbers(rng, x_dtype, w_dtype, per_column=op != "MatMulInteger")
    constants = {n: v for n, v in constants.items() if n in inputs}

    def feeds(*shape: int) -> dict[str, Any]:
        is_float = op == "DynamicQuantizeMatMul"
        return {"x": normal(rng, *shape, K) if is_float else some_bytes(rng, x_dtype, *shape, K)}

    model = model_of(op, inputs, feeds(2, 3), {"x": ["b", "m", K]}, constants, domain=domain)
    ours, theirs = sessions(model)
    for shape in ((1, 1), (2, 7)):
        within_a_quantum(ours, theirs, feeds(*shape), 1e-3 if "Float" in op else 1.0)


def test_gemm_of_bytes() -> None:
    rng = rng_of(2)
    constants = numbers(rng, np.uint8, np.int8, per_column=False)
    constants["w"], constants["c"] = constants["w"].T.copy(), np.arange(N, dtype=np.int32) * 50
    del constants["bias"]
    inputs = ["x", "sx", "zx", "w", "sw", "zw", "c", "sy", "zy"]
    feeds = {"x": some_bytes(rng, np.uint8, 3, K)}
    shapes = {"x": ["m", K]}
    model = model_of("QGemm", inputs, feeds, shapes, constants, domain=MICROSOFT, transB=1)
    ours, theirs = sessions(model)
    within_a_quantum(ours, theirs, {"x": some_bytes(rng, np.uint8, 8, K)})


@pytest.mark.parametrize(("x_dtype", "w_dtype"), PAIRS)
@pytest.mark.parametrize("op", ["ConvInteger", "QLinearConv"])
def test_convolutions(op: str, x_dtype: Any, w_dtype: Any) -> None:
    rng = rng_of(3)
    constants = numbers(rng, x_dtype, w_dtype, per_column=False)
    constants["w"] = some_bytes(rng, w_dtype, 6, 2, 3, 3)
    constants["c"] = np.arange(6, dtype=np.int32) * 50
    inputs = ["x", "sx", "zx", "w", "sw", "zw", "sy", "zy", "c"]
    if op == "ConvInteger":
        inputs = ["x", "w", "zx", "zw"]
        if x_dtype is np.int8:
            return  # onnxruntime has u8 only
    constants = {n: v for n, v in constants.items() if n in inputs}
    words = {"pads": [1, 0, 1, 2], "strides": [2, 1], "group": 2}

    def feeds(b: int, h: int, w: int) -> dict[str, Any]:
        return {"x": some_bytes(rng, x_dtype, b, 4, h, w)}

    shapes = {"x": ["b", 4, "h", "w"]}
    model = model_of(op, inputs, feeds(1, 5, 5), shapes, constants, domain="", **words)
    ours, theirs = sessions(model)
    for sizes in ((1, 3, 3), (2, 7, 6)):
        within_a_quantum(ours, theirs, feeds(*sizes))


ELEMENTWISE: list[tuple[str, list[str], dict[str, Any]]] = [
    ("QLinearAdd", ["x", "sx", "zx", "x2", "s2", "z2", "sy", "zy"], {}),
    ("QLinearMul", ["x", "sx", "zx", "x2", "s2", "z2", "sy", "zy"], {}),
    ("QLinearSigmoid", ["x", "sx", "zx", "s01", "zy"], {}),
    ("QLinearLeakyRelu", ["x", "sx", "zx", "sy", "zy"], {"alpha": 0.2}),
    ("QLinearGlobalAveragePool", ["x", "sx", "zx", "sy", "zy"], {}),
    ("QLinearSoftmax", ["x", "sx", "zx", "s01", "zy"], {"axis": -1, "opset": 13}),
    ("QLinearConcat", ["sy", "zy", "x", "sx", "zx", "x2", "s2", "z2"], {"axis": 1}),
]


@pytest.mark.parametrize(("op", "inputs", "words"), ELEMENTWISE)
def test_elementwise(op: str, inputs: list[str], words: dict[str, Any]) -> None:
    rng = rng_of(4)
    points = {"zx": 100, "z2": 30, "zy": 0 if "s01" in inputs else 60}
    constants: dict[str, Any] = {n: np.uint8(v) for n, v in points.items() if n in inputs}
    scales = {"sx": 0.0513, "s2": 0.1037, "sy": 0.2071, "s01": 1 / 256}
    constants |= {n: np.float32(v) for n, v in scales.items() if n in inputs}

    def feeds(b: int, h: int) -> dict[str, Any]:
        return {n: some_bytes(rng, np.uint8, b, 3, h, 4) for n in ("x", "x2") if n in inputs}

    shapes = {n: ["b", 3, "h", 4] for n in ("x", "x2")}
    model = model_of(op, inputs, feeds(1, 2), shapes, constants, **words)
    ours, theirs = sessions(model)
    for sizes in ((1, 1), (3, 5)):
        within_a_quantum(ours, theirs, feeds(*sizes))


@pytest.mark.parametrize(
    ("bits", "depth", "block", "zeros"),
    [(4, 64, 32, "none"), (4, 40, 16, "bytes"), (4, 32, 16, "floats"), (8, 48, 16, "bytes")],
)
def test_weights_of_few_bits(bits: int, depth: int, block: int, zeros: str) -> None:
    rng = rng_of(5)
    blocks = -(-depth // block)
    constants: dict[str, Any] = {
        "w": some_bytes(rng, np.uint8, N, blocks, block * bits // 8),
        "s": rng.uniform(0.01, 0.1, (N, blocks)).astype(np.float32),
    }
    if zeros == "bytes":
        constants["z"] = some_bytes(rng, np.uint8, N, -(-blocks * bits // 8))
    if zeros == "floats":
        constants["z"] = rng.uniform(0, 1 << bits, (N, blocks)).astype(np.float32)
    inputs = ["x", "w", "s", "z" if zeros != "none" else "", "", "b"]
    constants["b"] = normal(rng, N)
    words = {"K": depth, "N": N, "bits": bits, "block_size": block}
    feeds = {"x": normal(rng, 2, 3, depth)}
    model = model_of("MatMulNBits", inputs, feeds, {"x": ["b", "m", depth]}, constants, **words)
    ours, theirs = sessions(model)
    x = normal(rng, 3, 5, depth)
    found, expected = ours.run(None, {"x": x})[0], theirs.run(None, {"x": x})[0]
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3 * (1 << bits))


def test_attention_of_bytes() -> None:
    rng = rng_of(6)
    heads, width = 2, 8
    columns = 3 * heads * width
    constants: dict[str, Any] = {
        "w": some_bytes(rng, np.int8, 16, columns),
        "b": normal(rng, columns),
        "sx": np.float32(0.02),
        "sw": np.float32(0.01),
        "zx": np.uint8(128),
        "zw": np.int8(0),
    }
    inputs = ["x", "w", "b", "sx", "sw", "mask", "zx", "zw", "past"]

    def feeds(b: int, s: int, p: int) -> dict[str, Any]:
        mask = rng.integers(0, 2, (b, s + p)).astype(np.int32)
        mask[:, 0] = 1
        past = normal(rng, 2, b, heads, p, width)
        return {"x": some_bytes(rng, np.uint8, b, s, 16), "mask": mask, "past": past}

    shapes = {"x": ["b", "s", 16], "mask": ["b", "t"], "past": [2, "b", heads, "p", width]}
    given = inputs, feeds(1, 2, 3), shapes, constants, 2
    ours, theirs = sessions(model_of("QAttention", *given, num_heads=heads, unidirectional=1))
    for sizes in ((1, 1, 5), (2, 4, 1)):
        made = feeds(*sizes)
        for y, r in zip(ours.run(None, made), theirs.run(None, made), strict=True):
            np.testing.assert_allclose(y, r, rtol=1e-3, atol=1e-4)


# --- models ---------------------------------------------------------------------------------------


def graph_of(nodes: Sequence[Any], x: Sequence[Any], weights: dict[str, Any]) -> Any:
    given = helper.make_tensor_value_info("x", TensorProto.FLOAT, x)
    made = onnx.helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    tensors = [numpy_helper.from_array(array, name) for name, array in weights.items()]
    graph = helper.make_graph(nodes, "g", [given], [made], tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def block_of_a_transformer() -> Any:
    """A norm, attention of one head, and two layers."""
    rng, d = rng_of(7), 32
    weights = {n: normal(rng, d, d) / d**0.5 for n in ("wq", "wk", "wv", "wo")}
    weights |= {"w1": normal(rng, d, 2 * d) / d**0.5, "w2": normal(rng, 2 * d, d) / d**0.5}
    weights |= {"one": np.ones(d, np.float32), "b1": normal(rng, 2 * d)}
    weights["root"] = np.array(d**-0.5, np.float32)
    node = helper.make_node
    nodes = [
        node("LayerNormalization", ["x", "one"], ["n"]),
        *(node("MatMul", ["n", f"w{c}"], [c]) for c in "qkv"),
        node("Transpose", ["k"], ["kt"], perm=[0, 2, 1]),
        node("MatMul", ["q", "kt"], ["s0"]),
        node("Mul", ["s0", "root"], ["s1"]),
        node("Softmax", ["s1"], ["p"]),
        node("MatMul", ["p", "v"], ["a"]),
        node("MatMul", ["a", "wo"], ["o"]),
        node("Add", ["x", "o"], ["r"]),
        node("MatMul", ["r", "w1"], ["h0"]),
        node("Add", ["h0", "b1"], ["h1"]),
        node("Relu", ["h1"], ["h"]),
        node("MatMul", ["h", "w2"], ["y"]),
    ]
    return graph_of(nodes, ["b", "s", d], weights)


def convolutions() -> Any:
    rng = rng_of(8)
    weights = {"w1": normal(rng, 8, 3, 3, 3) / 5, "w2": normal(rng, 12, 8, 3, 3) / 8}
    weights |= {"b1": normal(rng, 8), "w3": normal(rng, 12, 10), "b3": normal(rng, 10)}
    node = helper.make_node
    nodes = [
        node("Conv", ["x", "w1", "b1"], ["c1"], pads=[1, 1, 1, 1]),
        node("Relu", ["c1"], ["r1"]),
        node("Conv", ["r1", "w2"], ["c2"], strides=[2, 2]),
        node("Relu", ["c2"], ["r2"]),
        node("GlobalAveragePool", ["r2"], ["g"]),
        node("Flatten", ["g"], ["f"]),
        node("Gemm", ["f", "w3", "b3"], ["y"]),
    ]
    return graph_of(nodes, ["b", 3, "h", "w"], weights)


class Samples(CalibrationDataReader):
    def __init__(self, shape: tuple[int, ...]) -> None:
        rng = rng_of(9)
        self.left = [{"x": normal(rng, *shape)} for _ in range(3)]

    def get_next(self) -> dict[str, Any] | None:
        return self.left.pop() if self.left else None


MODELS = {
    # onnxruntime's QLinearSoftmax gives 0 for a row of one key, which is 1.
    "transformer": (block_of_a_transformer, (2, 6, 32), [(1, 2, 32), (3, 9, 32)]),
    "convolutions": (convolutions, (2, 3, 9, 8), [(1, 3, 5, 5), (2, 3, 12, 7)]),
}
FORMS = ["qdq i8", "qdq u8", "operators", "dynamic"]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", MODELS)
def test_models(name: str, form: str, tmp_path: Path) -> None:
    make, shape, others = MODELS[name]
    plain, path = str(tmp_path / "plain.onnx"), str(tmp_path / "quantised.onnx")
    onnx.save(make(), plain)
    if form == "dynamic":
        quantize_dynamic(plain, path, weight_type=QuantType.QUInt8)
    else:
        kind = QuantFormat.QOperator if form == "operators" else QuantFormat.QDQ
        activations = QuantType.QInt8 if form.endswith("i8") else QuantType.QUInt8
        quantize_static(
            plain, path, Samples(shape), kind, per_channel=form == "qdq i8",
            activation_type=activations, weight_type=QuantType.QInt8,
        )  # fmt: skip
    ours, theirs = ash.InferenceSession(path), onnxruntime.InferenceSession(path)
    rng = rng_of(10)
    for other in others:
        x = normal(rng, *other)
        found, expected = ours.run(None, {"x": x})[0], theirs.run(None, {"x": x})[0]
        assert found.shape == expected.shape
        # A quantum inside of a model is some of its result; most results are the same.
        spread = np.abs(expected).max()
        assert np.abs(found - expected).max() <= 0.06 * spread
        assert np.median(np.abs(found - expected)) <= 0.01 * spread
