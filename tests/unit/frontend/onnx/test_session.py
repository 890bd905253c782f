"""`InferenceSession` behaves as onnxruntime's: results, names of errors, and texts."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from tests.unit.frontend.onnx.models import I64, add_model, model, node, tensor, value

import anyshape as ash
from anyshape.base.warnings import SessionOptionsWarning, SplitAxesWarning
from anyshape.session import errors

Array = Any


def two_outputs() -> Any:
    nodes = [node("Add", "xy", ["sum"]), node("Sub", "xy", ["difference"])]
    inputs = [value("x", ["n", 3]), value("y", ["n", 3])]
    outputs = [value("sum", ["n", 3]), value("difference", ["n", None])]
    made = model(nodes, inputs, outputs)
    made.producer_name, made.model_version = "tests", 7
    made.metadata_props.add(key="k", value="v")
    return made


@pytest.fixture(scope="module")
def session() -> Any:
    return ash.InferenceSession(
        two_outputs().SerializeToString(), providers=["CPUExecutionProvider"]
    )


X = np.arange(6, dtype=np.float32).reshape(2, 3)


def test_outputs_by_name_and_order(session: Any) -> None:
    feeds = {"x": X, "y": X * 2}
    whole = session.run(None, feeds)
    assert isinstance(whole, list)
    np.testing.assert_array_equal(whole[0], X * 3)
    np.testing.assert_array_equal(session.run([], feeds)[1], -X)
    np.testing.assert_array_equal(session.run(["difference"], feeds)[0], -X)
    turned = session.run(["difference", "sum"], feeds)
    np.testing.assert_array_equal(turned[1], X * 3)


def test_a_path(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(two_outputs().SerializeToString())
    for given in (path, str(path)):
        assert ash.InferenceSession(given).run(["sum"], {"x": X, "y": X})[0].shape == (2, 3)
    with pytest.raises(errors.NoSuchFile, match=r"cannot read .*none\.onnx"):
        ash.InferenceSession(str(tmp_path / "none.onnx"))


def test_it_tells_what_onnxruntime_tells(session: Any) -> None:
    made = two_outputs()
    peer = onnxruntime.InferenceSession(made.SerializeToString())
    for ours, theirs in (
        (session.get_inputs(), peer.get_inputs()),
        (session.get_outputs(), peer.get_outputs()),
    ):
        assert [(a.name, a.type) for a in ours] == [(a.name, a.type) for a in theirs]
    assert [a.shape for a in session.get_inputs()] == [a.shape for a in peer.get_inputs()]
    ours, theirs = session.get_modelmeta(), peer.get_modelmeta()
    for name in ("custom_metadata_map", "description", "domain", "graph_name", "producer_name",
                 "graph_description", "version"):  # fmt: skip
        assert getattr(ours, name) == getattr(theirs, name)
    assert session.get_providers() == ["CPUExecutionProvider"]
    assert ash.get_available_providers() == ["CPUExecutionProvider"]
    assert ash.get_device() == "CPU"


@pytest.mark.parametrize(
    ("feeds", "kind", "text"),
    [
        ({"y": X}, ValueError, r"Required inputs (['x']) are missing from input feed (['y'])."),
        ({"x": X, "y": X, "q": X}, errors.InvalidArgument, "Invalid input name: q"),
        ({"x": X.astype("f8"), "y": X}, errors.InvalidArgument,
         "Unexpected input data type. Actual: (tensor(double)) , expected: (tensor(float))"),
        ({"x": X[0], "y": X}, errors.InvalidArgument,
         "Invalid rank for input: x Got: 1 Expected: 2"),
        ({"x": X[:, :2], "y": X}, errors.InvalidArgument,
         "Got invalid dimensions for input: x for the following indices\n index: 1 Got: 2"),
        ({"x": X[:1], "y": X}, errors.InvalidArgument, "axis 'n' has conflicting sizes"),
    ],
)  # fmt: skip
def test_texts_that_people_look_for(session: Any, feeds: Any, kind: Any, text: str) -> None:
    with pytest.raises(kind) as raised:
        session.run(None, feeds)
    assert text in str(raised.value)


def test_an_output_that_there_is_not(session: Any) -> None:
    with pytest.raises(errors.InvalidArgument, match="Invalid output name:nope"):
        session.run(["nope"], {"x": X, "y": X})


def test_models_that_cannot_be_loaded() -> None:
    with pytest.raises(errors.InvalidProtobuf, match="INVALID_PROTOBUF"):
        ash.InferenceSession(b"\xff\xff\xff")
    unknown = model([node("Nope", ["x"], ["z"])], [value("x", [2])], [value("z", None)])
    with pytest.raises(errors.NotImplemented, match=r"NOT_IMPLEMENTED[^!]*Nope"):
        ash.InferenceSession(unknown)
    undefined = model([node("Neg", ["q"], ["z"])], [value("x", [2])], [value("z", None)])
    with pytest.raises(errors.InvalidGraph, match="reads 'q'"):
        ash.InferenceSession(undefined)


def test_an_index_out_of_range_ends_the_call() -> None:
    inputs = [value("x", ["n"]), value("i", ["k"], I64)]
    made = model([node("Gather", ["x", "i"], ["z"])], inputs, [value("z", None)])
    session = ash.InferenceSession(made)
    found = session.run(None, {"x": X[0], "i": np.array([-1, 0])})[0]
    assert found.tolist() == [2.0, 0.0]
    with pytest.raises(errors.RuntimeException, match="RUNTIME_EXCEPTION"):
        session.run(None, {"x": X[0], "i": np.array([3])})


# --- options --------------------------------------------------------------------------------------


def test_options_without_a_meaning_are_named_once() -> None:
    options = ash.SessionOptions()
    options.intra_op_num_threads = 1
    options.enable_mem_pattern = False
    options.execution_mode = ash.ExecutionMode.ORT_PARALLEL
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    with pytest.warns(SessionOptionsWarning) as warned:
        ash.InferenceSession(two_outputs(), options, providers=["CUDAExecutionProvider"])
    assert warned[0].message.names == (
        "execution_mode", "enable_mem_pattern", "session.intra_op.allow_spinning",
        "CUDAExecutionProvider",
    )  # fmt: skip


def test_free_dimensions_are_numbers() -> None:
    options = ash.SessionOptions()
    options.add_free_dimension_override_by_name("n", 2)
    session = ash.InferenceSession(two_outputs(), options)
    assert session.run(["sum"], {"x": X, "y": X})[0].shape == (2, 3)
    with pytest.raises(errors.InvalidArgument):
        session.run(None, {"x": X[:1], "y": X[:1]})


def test_a_free_dimension_is_no_negative_number() -> None:
    with pytest.raises(errors.InvalidArgument, match="cannot be -4; fix:"):
        ash.SessionOptions().add_free_dimension_override_by_name("n", -4)


def test_names_that_the_model_contradicts() -> None:
    """`n` is 2 for one use of it, and 3 for the other."""
    inputs = [value("x", [2, "n"]), value("y", ["n", 1])]
    nodes = [node("Concat", ["x", "one"], ["wide"], axis=1), node("MatMul", ["wide", "y"], ["z"])]
    made = model(nodes, inputs, [value("z", None)], [tensor("one", np.ones((2, 1), np.float32))])
    with pytest.warns(SplitAxesWarning, match="contradicts the names of its sizes"):
        session = ash.InferenceSession(made)
    found = session.run(None, {"x": X[:, :2], "y": np.ones((3, 1), np.float32)})[0]
    assert found.tolist() == [[2], [8]]
    strict = ash.SessionOptions()
    strict.add_session_config_entry("anyshape.strict_names", "1")
    with pytest.raises(errors.InvalidGraph, match="n"):
        ash.InferenceSession(made, strict)


def test_two_names_of_one_size() -> None:
    with pytest.warns(SplitAxesWarning):
        session = ash.InferenceSession(add_model(["n"], ["m"]))
    assert session.run(None, {"x": X[0], "y": X[0]})[0].tolist() == [0, 2, 4]


def test_terminated_calls(session: Any) -> None:
    options = ash.RunOptions()
    np.testing.assert_array_equal(session.run(["sum"], {"x": X, "y": X}, options)[0], X + X)
    options.terminate = True
    with pytest.raises(errors.Fail, match="terminate flag"):
        session.run(None, {"x": X, "y": X}, options)
    options.terminate = False
    assert session.run(["sum"], {"x": X, "y": X}, options)


# --- other ways to call ---------------------------------------------------------------------------


def test_run_async(session: Any) -> None:
    done, seen = threading.Event(), []

    def callback(results: Any, user_data: Any, error: str) -> None:
        seen.append((results, user_data, error))
        done.set()

    session.run_async(["sum"], {"x": X, "y": X}, callback, "mine")
    assert done.wait(60)
    ((results, user_data, error),) = seen
    np.testing.assert_array_equal(results[0], X + X)
    assert (user_data, error) == ("mine", "")
    done.clear()
    session.run_async(None, {"x": X}, callback, None)
    assert done.wait(60)
    assert "Required inputs" in seen[1][2]


def test_run_async_tells_of_any_error(session: Any) -> None:
    done, seen = threading.Event(), []

    class Unreadable:
        def __array__(self, *_: Any, **__: Any) -> Any:
            raise RuntimeError("no elements")

    def callback(results: Any, user_data: Any, error: str) -> None:
        seen.append(error)
        done.set()

    session.run_async(None, {"x": Unreadable(), "y": X}, callback, None)
    assert done.wait(10)
    assert seen == ["no elements"]


@pytest.mark.parametrize("x", [X.astype(">f4"), X.astype(str), X.astype(object)])
def test_elements_that_nobody_has(session: Any, x: Array) -> None:
    with pytest.raises(errors.InvalidArgument, match="INVALID_ARGUMENT"):
        session.run(None, {"x": x, "y": X})
    with pytest.raises(errors.InvalidArgument, match="INVALID_ARGUMENT"):
        session.io_binding().bind_cpu_input("x", x)


def test_a_masked_array_is_no_argument(session: Any) -> None:
    with pytest.raises(errors.InvalidArgument, match="masked"):
        session.run(None, {"x": np.ma.masked_array(X, X > 2), "y": X})


def test_a_binding_without_outputs(session: Any) -> None:
    binding = session.io_binding()
    binding.bind_cpu_input("x", X)
    binding.bind_cpu_input("y", X)
    with pytest.raises(errors.InvalidArgument, match="At least one output"):
        session.run_with_iobinding(binding)


def test_bound_inputs_and_outputs(session: Any) -> None:
    binding = session.io_binding()
    binding.bind_cpu_input("x", X)
    binding.bind_ortvalue_input("y", ash.OrtValue.ortvalue_from_numpy(X))
    place = ash.OrtValue.ortvalue_from_shape_and_type([2, 3], np.float32)
    binding.bind_ortvalue_output("sum", place)
    binding.bind_output("difference")
    session.run_with_iobinding(binding)
    np.testing.assert_array_equal(place.numpy(), X + X)
    np.testing.assert_array_equal(binding.copy_outputs_to_cpu()[1], X - X)
    assert binding.get_outputs()[0].numpy() is place.numpy()
    with pytest.raises(errors.InvalidArgument, match="Invalid output name:q"):
        binding.bind_output("q")
    with pytest.raises(errors.InvalidArgument, match="fix: use 'cpu'"):
        binding.bind_output("sum", "cuda")


def test_ort_values(session: Any) -> None:
    value_ = ash.OrtValue.ortvalue_from_numpy(X)
    assert (value_.shape(), value_.data_type(), value_.device_name()) == (
        [2, 3],
        "tensor(float)",
        "cpu",
    )
    (total,) = session.run_with_ort_values(["sum"], {"x": value_, "y": value_})
    np.testing.assert_array_equal(total.numpy(), X + X)
