"""Imported models against onnxruntime, at sizes that nobody chose for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnxruntime
import pytest
from tests.unit.frontend.onnx.models import I64, add_model, model, node, tensor, value

import anyshape as ash
from anyshape.base.errors import AxisConflictError, InputError, OptionError, UnsupportedModelError

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
        from onnx import helper

        return helper.make_graph([node(op, ["x", "x"], [op])], op, [], [value(op, None)])

    nodes = [node("If", ["p"], ["z"], then_branch=branch("Add"), else_branch=branch("Mul"))]
    from onnx import TensorProto

    made = model(nodes, [value("p", [], TensorProto.BOOL), value("x", ["n"])], [value("z", None)])
    compiled = ash.compile(made)
    x = randoms(5)
    np.testing.assert_array_equal(compiled(np.array(True), x)[0], x + x)
    np.testing.assert_array_equal(compiled(np.array(False), x)[0], x * x)
