"""Imported models against onnxruntime, at sizes that nobody chose for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper
from tests.unit.frontend.onnx.models import F32, I64, add_model, model, node, tensor, value

import anyshape as ash
from anyshape.base.errors import (
    AxisConflictError,
    IndexRangeError,
    InputError,
    InvalidModelError,
    OptionError,
    TraceError,
    UnsupportedModelError,
)

Array = Any


def peer(made: Any, feeds: Mapping[str, Array]) -> list[Array]:
    return onnxruntime.InferenceSession(made.SerializeToString()).run(None, dict(feeds))


def randoms(*shape: int) -> Array:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def heads_model() -> Any:
    """[batch, seq, 12] to [batch, 3, seq, 4] and back, by shapes that the graph computes."""
    nodes = [
        node("Shape", ["x"], ["shape"]),
        node("Gather", ["shape", "zero"], ["batch"], axis=0),
        node("Gather", ["shape", "one"], ["seq"], axis=0),
        node("Unsqueeze", ["batch", "first"], ["batch1"]),
        node("Unsqueeze", ["seq", "first"], ["seq1"]),
        node("Concat", ["batch1", "seq1", "heads"], ["apart"], axis=0),
        node("Reshape", ["x", "apart"], ["h"]),
        node("Transpose", ["h"], ["t"], perm=[0, 2, 1, 3]),
        node("Softmax", ["t"], ["s"], axis=-1),
        node("Transpose", ["s"], ["back"], perm=[0, 2, 1, 3]),
        node("Concat", ["batch1", "rest"], ["flat"], axis=0),
        node("Reshape", ["back", "flat"], ["z"]),
    ]
    numbers = {"zero": 0, "one": 1, "first": [0], "heads": [3, 4], "rest": [-1, 12]}
    constants = [tensor(name, np.array(x, np.int64)) for name, x in numbers.items()]
    return model(nodes, [value("x", ["batch", "seq", 12])], [value("z", None)], constants)


@pytest.mark.parametrize(("batch", "seq"), [(1, 1), (2, 7), (3, 13), (5, 1)])
def test_shapes_that_the_graph_computes_are_sizes(batch: int, seq: int) -> None:
    made = heads_model()
    compiled = ash.compile(made)
    x = randoms(batch, seq, 12)
    (found,) = compiled(x)
    np.testing.assert_allclose(found, peer(made, {"x": x})[0], rtol=1e-6)
    assert {axis.name for axis in compiled.executable.axes} == {"batch", "seq"}
    assert "late" not in compiled.executable.as_text()


def test_sizes_of_zero_and_views() -> None:
    compiled = ash.compile(heads_model())
    (empty,) = compiled(x=np.zeros((0, 5, 12), np.float32))
    assert empty.shape == (0, 5, 12)
    wide = randoms(4, 12, 6).transpose(0, 2, 1)[::2]
    np.testing.assert_array_equal(compiled(wide)[0], compiled(np.ascontiguousarray(wide))[0])


@pytest.mark.parametrize("shape", [[6, 4], [2, -1], [0, 12, 1], [-1], [3, 2, 2, 2]])
def test_a_new_shape_that_is_an_input(shape: list[int]) -> None:
    """Sizes that data decide are computed by each call."""
    nodes = [node("Reshape", ["x", "shape"], ["z"])]
    inputs = [value("x", ["a", "b"]), value("shape", [len(shape)], I64)]
    made = model(nodes, inputs, [value("z", None)])
    feeds = {"x": randoms(2, 12), "shape": np.array(shape)}
    np.testing.assert_array_equal(ash.compile(made)(**feeds)[0], peer(made, feeds)[0])


def test_axes_that_are_an_input_have_a_program_for_each_value() -> None:
    nodes = [node("ReduceMax", ["x", "axes"], ["z"], keepdims=0)]
    inputs = [value("x", ["a", "b", "c"]), value("axes", ["k"], I64)]
    made = model(nodes, inputs, [value("z", None)])
    session = ash.InferenceSession(made)
    for axes in ([0], [1, 2], [-1], [0], [0, 1, 2]):
        for sizes in ((2, 3, 4), (1, 5, 7)):
            feeds = {"x": randoms(*sizes), "axes": np.array(axes)}
            np.testing.assert_array_equal(session.run(None, feeds)[0], peer(made, feeds)[0])
    with pytest.raises(UnsupportedModelError, match="ranks that the values of inputs decide"):
        ash.compile(made)


@pytest.mark.parametrize("sizes", [(1, 5, 5), (2, 9, 6), (3, 13, 11)])
@pytest.mark.parametrize("group", [1, 2])
def test_convolutions_over_images_of_any_size(sizes: tuple[int, int, int], group: int) -> None:
    weights = [tensor("w", randoms(6, 4 // group, 3, 2)), tensor("b", randoms(6))]
    conv = node("Conv", "xwb", "z", strides=[2, 1], pads=[1, 0, 2, 1], group=group)
    made = model([conv], [value("x", ["n", 4, "h", "w1"])], [value("z", None)], weights)
    batch, height, width = sizes
    x = randoms(batch, 4, height, width)
    (found,) = ash.compile(made)(x)
    np.testing.assert_allclose(found, peer(made, {"x": x})[0], rtol=1e-4, atol=1e-5)


def test_names_of_sizes_are_axes() -> None:
    compiled = ash.compile(add_model(["n", "m + n"], ["n", "m + n"]))
    x = randoms(2, 5)
    np.testing.assert_array_equal(compiled(x, x)[0], x + x)
    with pytest.raises(AxisConflictError, match="axis 'n' has conflicting sizes"):
        compiled(randoms(2, 5), randoms(3, 5))


def test_axes_rename_sizes() -> None:
    made = add_model([None, "n"], [None, "n"])
    compiled = ash.compile(made, axes={"x": (ash.Axis("rows", max=4), None), "y": ("rows", None)})
    assert {axis.name for axis in compiled.executable.axes} == {"rows", "n"}
    with pytest.raises(InputError, match="is no input of the model"):
        ash.compile(made, axes={"q": (None, None)})
    with pytest.raises(InputError, match="has 1 axes"):
        ash.compile(made, axes={"x": (None,)})


def test_an_example_is_refused() -> None:
    with pytest.raises(OptionError, match="needs no example"):
        ash.compile(add_model(["n"], ["n"]), (randoms(2),))


def test_branches_see_the_values_around_them() -> None:
    def branch(op: str) -> Any:
        return helper.make_graph([node(op, ["x", "x"], [op])], op, [], [value(op, None)])

    nodes = [node("If", ["p"], ["z"], then_branch=branch("Add"), else_branch=branch("Mul"))]
    made = model(nodes, [value("p", [], TensorProto.BOOL), value("x", ["n"])], [value("z", None)])
    compiled = ash.compile(made)
    x = randoms(5)
    np.testing.assert_array_equal(compiled(np.array(True), x)[0], x + x)
    np.testing.assert_array_equal(compiled(np.array(False), x)[0], x * x)


# --- ends of ranges -------------------------------------------------------------------------------

Feeds = dict[str, Array]
BOOL = TensorProto.BOOL


def agree(made: Any, *calls: Feeds) -> None:
    """One program gives what onnxruntime gives, in each call."""
    session, other = (
        ash.InferenceSession(made),
        onnxruntime.InferenceSession(made.SerializeToString()),
    )
    for feeds in calls:
        for found, expected in zip(session.run(None, feeds), other.run(None, feeds), strict=True):
            np.testing.assert_array_equal(found, expected, strict=True)


def numbers(**values: Any) -> list[Any]:
    return [tensor(name, np.array(each)) for name, each in values.items()]


LOWEST = -(2**63)


def test_backward_slices_whose_bounds_are_data() -> None:
    inputs = [value("x", ["n"]), value("s", [1], I64), value("e", [1], I64)]
    nodes = [node("Slice", ["x", "s", "e", "axes", "steps"], ["z"])]
    made = model(nodes, inputs, [value("z", None)], numbers(axes=[0], steps=[-1]))
    starts, ends = (LOWEST, -100, -6, -1, 0, 3, 100), (LOWEST, -100, -6, -2, -1, 0, 2, 6)
    agree(
        made,
        *(
            {"x": randoms(size), "s": np.array([start]), "e": np.array([end])}
            for size in (0, 1, 5, 6)
            for start in starts
            for end in ends
        ),
    )


@pytest.mark.parametrize("bounds", [(-100, -200), (-3, -100), (-1, LOWEST), (-5, -6)])
def test_backward_slices_from_before_the_first_element(bounds: tuple[int, int]) -> None:
    constants = numbers(s=[bounds[0]], e=[bounds[1]], axes=[0], steps=[-1])
    nodes = [node("Slice", ["x", "s", "e", "axes", "steps"], ["z"])]
    made = model(nodes, [value("x", ["n"])], [value("z", None)], constants)
    agree(made, *({"x": randoms(size)} for size in (0, 1, 2, 3, 5, 8)))


def test_ranges_of_floats_have_as_many_elements() -> None:
    inputs = [value(name, []) for name in "sld"]
    made = model([node("Range", "sld", "z")], inputs, [value("z", None)])
    compiled = ash.compile(made)
    for given in ((0, 0.3, 0.1), (0, 1, 0.1), (1, 0, 0.1), (5, -5, -0.7), (0, 0.9, 0.3)):
        scalars = [np.array(number, np.float32) for number in given]
        (expected,) = peer(made, dict(zip("sld", scalars, strict=True)))
        np.testing.assert_allclose(compiled(*scalars)[0], expected, rtol=1e-5, atol=1e-6)


def test_lengths_of_reversed_sequences_are_checked() -> None:
    inputs = [value("x", ["time", "batch"]), value("lengths", ["batch"], I64)]
    made = model([node("ReverseSequence", ["x", "lengths"], ["z"])], inputs, [value("z", None)])
    agree(made, *({"x": randoms(4, 2), "lengths": np.array(each)} for each in ([1, 4], [0, 3])))
    compiled = ash.compile(made)
    for lengths in ([5, 1], [1, -1]):
        with pytest.raises(IndexRangeError, match="axis 0, which has size 4"):
            compiled(randoms(4, 2), np.array(lengths))


def test_compress_by_conditions_of_any_length() -> None:
    inputs = [value("x", ["a", "b"]), value("c", ["k"], BOOL)]
    made = model([node("Compress", "xc", "z", axis=1)], inputs, [value("z", None)])
    agree(made, *({"x": randoms(2, 3), "c": np.arange(k) % 2 == 0} for k in (0, 1, 3, 4, 7)))


def test_pads_that_data_decide_may_cut() -> None:
    inputs = [value("x", ["a", "b"]), value("pads", [4], I64)]
    made = model([node("Pad", ["x", "pads"], ["z"])], inputs, [value("z", None)])
    pads = [1, 0, 2, 3], [-1, 0, 0, -2], [-1, 2, 3, -1], [0, 0, 0, 0], [-2, 0, -2, 0]
    agree(made, *({"x": randoms(4, 5), "pads": np.array(each)} for each in pads))


def test_a_negative_number_of_boxes_is_none() -> None:
    inputs = [value("boxes", [1, "n", 4]), value("scores", [1, 1, "n"]), value("most", [1], I64)]
    nodes = [node("NonMaxSuppression", ["boxes", "scores", "most"], ["z"])]
    made = model(nodes, inputs, [value("z", None, I64)])
    boxes = np.array([[[0, 0, 1, 1], [3, 3, 4, 4]]], np.float32)
    feeds = {"boxes": boxes, "scores": np.array([[[0.5, 0.9]]], np.float32)}
    agree(made, *({**feeds, "most": np.array([most])} for most in (-1, 0, 1, 5)))


@pytest.mark.parametrize("op", ["QuantizeLinear", "DequantizeLinear"])
def test_one_scale_for_a_vector(op: str) -> None:
    kinds = (F32, TensorProto.UINT8) if op == "QuantizeLinear" else (TensorProto.UINT8, F32)
    constants = [tensor("s", np.array([0.5], np.float32)), tensor("q", np.array([3], np.uint8))]
    inputs, outputs = [value("x", ["n"], kinds[0])], [value("z", None, kinds[1])]
    made = model([node(op, "xsq", "z")], inputs, outputs, constants)
    dtype = np.float32 if op == "QuantizeLinear" else np.uint8
    agree(made, *({"x": np.arange(size).astype(dtype)} for size in (0, 1, 5)))


# --- loops ----------------------------------------------------------------------------------------


def loop_body(*, until: bool, given: bool) -> Any:
    """Adds 1, until 5 or for ever; what iterations give is the sum."""
    again = node("Less", ["w", "five"], ["again"]) if until else node("Identity", ["c"], ["again"])
    nodes = [node("Add", ["v", "one"], ["w"]), again, node("Identity", ["w"], ["each"])]
    inputs = [value("i", [], I64), value("c", [], BOOL), value("v", [])]
    outputs = [value("again", [], BOOL), value("w", []), value("each", [])]
    return helper.make_graph(nodes, "body", inputs, outputs if given else outputs[:2])


ONE_AND_FIVE = [tensor("one", np.array(1, np.float32)), tensor("five", np.array(5, np.float32))]


def test_a_loop_without_a_count() -> None:
    loop = node("Loop", ["", "c", "x"], ["z"], body=loop_body(until=True, given=False))
    inputs = [value("c", [], BOOL), value("x", [])]
    made = model([loop], inputs, [value("z", [])], ONE_AND_FIVE)
    agree(made, *({"c": np.array(c), "x": np.array(1, np.float32)} for c in (True, False)))


def test_a_loop_of_a_negative_count() -> None:
    nodes = [
        node("Size", ["y"], ["size"]),
        node("Sub", ["size", "three"], ["count"]),
        node("Loop", ["count", "", "x"], ["z", "all"], body=loop_body(until=False, given=True)),
    ]
    outputs, constants = [value("z", []), value("all", None)], [*ONE_AND_FIVE, *numbers(three=3)]
    made = model(nodes, [value("x", []), value("y", ["n"])], outputs, constants)
    agree(made, *({"x": np.array(1, np.float32), "y": randoms(n)} for n in (0, 2, 3, 5)))


# --- pools ----------------------------------------------------------------------------------------

POOLS: list[dict[str, Any]] = [
    {"kernel_shape": [3, 2], "strides": [2, 1], "pads": [1, 0, 2, 1]},
    {"kernel_shape": [2, 4], "strides": [2, 3], "pads": [0, 3, 1, 1], "ceil_mode": 1},
    {"kernel_shape": [3, 2], "strides": [1, 2], "pads": [2, 1, 1, 0], "dilations": [2, 1]},
    {"kernel_shape": [4, 2], "auto_pad": "SAME_LOWER"},
]


def pool_of(op: str, outputs: str, attributes: Mapping[str, Any]) -> Any:
    kinds = zip(outputs, (F32, I64), strict=False)
    results = [value(name, None, kind) for name, kind in kinds]
    made = node(op, "x", outputs, **attributes)
    return model([made], [value("x", ["n", "c", "h", "w"])], results, opset=22)


@pytest.mark.parametrize("attributes", POOLS)
def test_pools_of_images_of_any_size(attributes: dict[str, Any]) -> None:
    images = [{"x": randoms(*sizes)} for sizes in ((1, 2, 5, 5), (2, 3, 9, 6), (0, 1, 7, 13))]
    agree(pool_of("MaxPool", "zi", attributes), *images)
    for counted in (0, 1):
        made = pool_of("AveragePool", "z", {**attributes, "count_include_pad": counted})
        compiled = ash.compile(made)
        for feeds in images:
            expected = peer(made, feeds)[0]
            np.testing.assert_allclose(compiled(**feeds)[0], expected, rtol=1e-5, atol=1e-6)


def test_places_in_the_order_of_columns() -> None:
    images = [{"x": randoms(*sizes)} for sizes in ((1, 2, 5, 5), (2, 3, 9, 6), (0, 1, 7, 13))]
    agree(pool_of("MaxPool", "zi", {**POOLS[0], "storage_order": 1}), *images)


def test_pools_that_are_refused() -> None:
    same = {"kernel_shape": [2, 2], "auto_pad": "SAME_UPPER", "dilations": [2, 1]}
    with pytest.raises(TraceError, match="auto_pad SAME_UPPER of a MaxPool with dilations"):
        ash.compile(pool_of("MaxPool", "z", same))
    with pytest.raises(InvalidModelError, match=r"has padding \(2, 0\) for a window of 2"):
        ash.compile(pool_of("MaxPool", "z", {"kernel_shape": [2, 2], "pads": [2, 0, 0, 0]}))
    with pytest.raises(InvalidModelError, match="for 2 spatial axes"):
        ash.compile(pool_of("AveragePool", "z", {"kernel_shape": [2]}))
