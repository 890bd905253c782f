"""Random quantised convolutions, some depthwise, against onnxruntime, on every instruction set, at
sizes that the compile has not seen: they are convolutions of integers, or `explain` says why not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper
from tests.e2e.test_onnx_contrib import CODES

import anyshape as ash
from anyshape.base.options import Options
from anyshape.execute.target import executable_isas

DEPTHWISE = "depthwise "
FORMS = ("ConvInteger", "QLinearConv", "QDQ")
CASES = [(form, seed) for form in FORMS for seed in range(5)]
CASES += [(DEPTHWISE + form, seed) for form in FORMS for seed in range(3)]
TAKEN = "a convolution of integers"


@dataclass(frozen=True)
class Case:
    """A convolution with random numbers, over a line or an image."""

    form: str
    x: Any
    w: Any
    weights: Any
    constants: dict[str, Any]
    attributes: dict[str, Any]

    @property
    def channels(self) -> int:
        return self.weights.shape[1] * self.attributes["group"]

    @property
    def rank(self) -> int:
        return self.weights.ndim - 2

    @property
    def least(self) -> list[int]:
        """The smallest sizes of an input that the kernel fits."""
        pads, rank = self.attributes["pads"], self.rank
        taps = zip(self.weights.shape[2:], self.attributes["dilations"], strict=True)
        reach = [(tap - 1) * gap + 1 for tap, gap in taps]
        return [max(1, r - pads[i] - pads[i + rank]) for i, r in enumerate(reach)]


def some_bytes(rng: np.random.Generator, dtype: Any, *shape: int) -> Any:
    ends = np.iinfo(dtype)
    return rng.integers(ends.min, ends.max, shape, dtype, endpoint=True)


def random_case(form: str, seed: int) -> Case:
    rng = np.random.default_rng([seed, *form.encode()])
    rank = int(rng.choice([1, 2, 2]))
    x = np.uint8 if form == "ConvInteger" else rng.choice([np.uint8, np.int8])
    w = rng.choice([np.uint8, np.int8]) if form == "ConvInteger" else np.int8
    inside, outside = int(rng.choice([1, 3, 8, 17])), int(rng.choice([2, 5, 16, 40]))
    group = 1
    if form.startswith(DEPTHWISE):
        form, inside = form.removeprefix(DEPTHWISE), 1
        group = outside = int(rng.choice([5, 16, 70]))
    taps = [int(n) for n in rng.integers(1, 5, rank)]
    weights = some_bytes(rng, w, outside, inside, *taps)
    zeros = {"zx": some_bytes(rng, x), "zw": np.zeros((), w)}
    if form == "ConvInteger":
        zeros["zw"] = some_bytes(rng, w)
    spread = 127 * 40 * np.sqrt(inside * np.prod(taps))
    count = outside if form == "QDQ" or rng.random() < 0.5 else 1
    numbers = {
        "sx": np.float32(0.03),
        "sw": rng.uniform(0.01, 0.03, count).astype(np.float32).reshape(-1 if count > 1 else ()),
        "sy": np.float32(0.03 * 0.02 * spread / 100),
        "zy": np.array(3, x),
        "bias": rng.integers(-1000, 1000, outside).astype(np.int32),
    }
    numbers["zw"] = np.zeros(numbers["sw"].shape, w) if form != "ConvInteger" else zeros["zw"]
    numbers["zx"] = zeros["zx"]
    steps, gaps = (rng.integers(1, 4, rank).tolist() for _ in range(2))
    pads = rng.integers(0, 4, 2 * rank).tolist()
    attributes = {"strides": steps, "dilations": gaps, "pads": pads, "group": group}
    return Case(form, x, w, weights, numbers, attributes)


def model_of(case: Case) -> bytes:
    node, c = helper.make_node, case.constants
    if case.form == "ConvInteger":
        nodes = [node(case.form, ["x", "w", "zx", "zw"], ["y"], **case.attributes)]
    elif case.form == "QLinearConv":
        inputs = ["x", "sx", "zx", "w", "sw", "zw", "sy", "zy", "bias"]
        nodes = [node(case.form, inputs, ["y"], **case.attributes)]
    else:
        c = c | {"sb": (c["sx"] * c["sw"]).astype(np.float32)}
        along = {"axis": 0} if c["sw"].ndim else {}
        nodes = [
            node("DequantizeLinear", ["x", "sx", "zx"], ["xf"]),
            node("DequantizeLinear", ["w", "sw", "zw"], ["wf"], **along),
            node("DequantizeLinear", ["bias", "sb"], ["bf"], **along),
            node("Conv", ["xf", "wf", "bf"], ["c"], **case.attributes),
            node("Relu", ["c"], ["r"]),
            node("QuantizeLinear", ["r", "sy", "zy"], ["y"]),
        ]
    used = {name for each in nodes for name in each.input}
    arrays = {"w": case.weights, **c}
    tensors = [numpy_helper.from_array(np.asarray(v), k) for k, v in arrays.items() if k in used]
    shape = ["n", case.channels, *"hw"[: case.rank]]
    given = helper.make_tensor_value_info("x", CODES[case.x], shape)
    result = TensorProto.INT32 if case.form == "ConvInteger" else CODES[case.x]
    made = helper.make_tensor_value_info("y", result, None)
    graph = helper.make_graph(nodes, "g", [given], [made], tensors)
    opsets = [helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()


def check(ours: Any, theirs: Any, x: Any) -> None:
    """Sums are exact. Bytes may differ by one, where a sum is next to the middle of two."""
    (found,), (expected,) = (ours(x),), theirs.run(None, {"x": x})
    found = found[0] if isinstance(found, tuple | list) else found
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    if found.dtype == np.int32:
        np.testing.assert_array_equal(found, expected)
        return
    differs = np.abs(found.astype(int) - expected.astype(int))
    assert differs.max(initial=0) <= 1
    assert (differs > 0).mean() < 0.02 if differs.size > 100 else differs.sum() <= 2


@pytest.mark.parametrize(("form", "seed"), CASES)
@pytest.mark.parametrize("isa", executable_isas())
def test_random_convolutions(form: str, isa: str, seed: int) -> None:
    case = random_case(form, seed + 100 * executable_isas().index(isa))
    model = model_of(case)
    ours = ash.compile(model, options=Options(isa=isa))
    assert TAKEN in str(ours.explain())
    theirs = onnxruntime.InferenceSession(model)
    rng = np.random.default_rng(seed)
    for batch, more in ((1, [0, 0]), (2, [1, 6]), (1, [17, 30])):
        sizes = [least + extra for least, extra in zip(case.least, more, strict=False)]
        check(ours, theirs, some_bytes(rng, case.x, batch, case.channels, *sizes))
    none = some_bytes(rng, case.x, 0, case.channels, *case.least)
    assert np.asarray(ours(none)).size == 0
