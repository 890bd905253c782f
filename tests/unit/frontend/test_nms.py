"""Non-maximum suppression against onnxruntime's, at sizes 0, 1 and odd."""

from functools import cache
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

import anyshape as ash
from anyshape.base.errors import TraceError

Array = Any


@cache
def peer() -> Any:
    """onnxruntime's op alone in a model; corners are given as (y1, x1, y2, x2), which is the same
    with both axes swapped."""
    names = ["boxes", "scores", "most", "iou", "score"]
    kinds = [TensorProto.FLOAT, TensorProto.FLOAT, TensorProto.INT64, *[TensorProto.FLOAT] * 2]
    shapes = [["b", "n", 4], ["b", "c", "n"], [1], [1], [1]]
    inputs = [
        helper.make_tensor_value_info(*each) for each in zip(names, kinds, shapes, strict=True)
    ]
    outputs = [helper.make_tensor_value_info("rows", TensorProto.INT64, ["k", 3])]
    node = helper.make_node("NonMaxSuppression", names, ["rows"])
    graph = helper.make_graph([node], "nms", inputs, outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    return onnxruntime.InferenceSession(model.SerializeToString())


def expected(boxes: Array, scores: Array, iou: float, most: int, score: float) -> Array:
    feeds = {
        "boxes": boxes, "scores": scores, "most": np.array([most]),
        "iou": np.array([iou], np.float32), "score": np.array([score], np.float32),
    }  # fmt: skip
    return peer().run(None, feeds)[0]


def made(batch: int, classes: int, count: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(count)
    low = rng.random((batch, count, 2)) * 10
    boxes = np.concatenate([low, low + 0.5 + rng.random(low.shape) * 4], 2).astype(np.float32)
    return boxes, rng.permuted(
        np.linspace(0.01, 1, batch * classes * count, dtype=np.float32)
    ).reshape(batch, classes, count)


@ash.jit
def one_class(boxes: ash.f32["n", 4], scores: ash.f32["n"], iou: ash.f32[()]):
    return ash.nms(boxes, scores, iou), boxes[ash.nms(boxes, scores, iou)]


@ash.jit
def many_classes(boxes: ash.f32["b", "n", 4], scores: ash.f32["b", "c", "n"]):
    return ash.nms(boxes, scores, 0.5, max_output=4, score_threshold=0.25)


@pytest.mark.parametrize("executor", ["reference", "native"])
@pytest.mark.parametrize("count", [0, 1, 7, 133])
@pytest.mark.parametrize("iou", [0.0, 0.3, 1.0])
def test_one_class(count: int, iou: float, executor: Any) -> None:
    boxes, scores = made(1, 1, count)
    wanted = expected(boxes, scores, iou, count, -1)[:, 2]
    given = boxes[0], scores[0, 0], np.array(iou, np.float32)
    found, chosen = ash.compile(one_class, executor=executor)(*given)
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(chosen, boxes[0][wanted])


@pytest.mark.parametrize("executor", ["reference", "native"])
@pytest.mark.parametrize("sizes", [(0, 2, 3), (1, 0, 3), (2, 3, 0), (1, 1, 1), (2, 3, 65)])
def test_classes_of_batches(sizes: tuple[int, int, int], executor: Any) -> None:
    boxes, scores = made(*sizes)
    (found,) = ash.compile(many_classes, executor=executor)(boxes, scores)
    if 0 in sizes:
        assert found.shape == (0, 3)
    else:
        np.testing.assert_array_equal(found, expected(boxes, scores, 0.5, 4, 0.25))


@pytest.mark.parametrize("executor", ["reference", "native"])
def test_a_score_that_is_no_number_is_above_no_threshold(executor: Any) -> None:
    boxes, scores = made(2, 3, 21)
    scores[:, :, ::4] = np.nan
    (found,) = ash.compile(many_classes, executor=executor)(boxes, scores)
    np.testing.assert_array_equal(found, expected(boxes, scores, 0.5, 4, 0.25))


def test_the_better_of_equal_scores_is_the_first() -> None:
    boxes = np.array([[0, 0, 2, 2], [0, 0, 2, 2], [5, 5, 6, 6]], np.float32)
    found, _ = one_class(boxes, np.ones(3, np.float32), np.array(0.5, np.float32))
    assert found.tolist() == [0, 2]


def test_other_ranks_are_refused() -> None:
    @ash.jit
    def wrong(boxes: ash.f32["n", 4], scores: ash.f32["n", 2]):
        return ash.nms(boxes, scores, 0.5)

    with pytest.raises(TraceError, match=r"nms of boxes f32\[n, 4\] and scores f32\[n, 2\]"):
        _ = wrong.graph
