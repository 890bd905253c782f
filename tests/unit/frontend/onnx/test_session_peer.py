"""One script for both: each part is run with onnxruntime and with anyshape in its place."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import onnxruntime
import pytest
from tests.unit.frontend.onnx.models import I64, model, node, tensor, value

import anyshape

ENGINES = [onnxruntime, anyshape]

X = np.arange(6, dtype=np.float32).reshape(2, 3)
W = np.ones((3, 2), np.float32)


def overridable(ir_version: int = 9) -> bytes:
    """x @ w, where a call may give another w."""
    made = model(
        [node("MatMul", "xw", "z")],
        [value("x", ["n", 3]), value("w", [3, "m"])],
        [value("z", ["n", "m"])],
        [tensor("w", W)],
    )
    made.ir_version = ir_version
    return made.SerializeToString()


def quiet(engine: ModuleType) -> Any:
    options = engine.SessionOptions()
    options.log_severity_level = 4
    return options


def outcome(function: Any) -> Any:
    """The shapes and elements of results, or the name of an error and the text that both have."""
    try:
        return [(x.shape, x.dtype.str, x.tolist()) for x in function()]
    except Exception as error:
        text = str(error).split("] ", 1)[-1]
        return type(error).__name__, text.split(" for input: w")[0]  # which of them: ours alone


def both(script: Any) -> None:
    theirs, ours = (script(engine) for engine in ENGINES)
    assert ours == theirs


@pytest.mark.parametrize("ir_version", [3, 4, 9])
def test_initializers_that_a_call_overrides(ir_version: int) -> None:
    def script(engine: ModuleType) -> Any:
        session = engine.InferenceSession(overridable(ir_version), quiet(engine))
        told = [
            [(arg.name, arg.type, list(arg.shape)) for arg in args]
            for args in (session.get_inputs(), session.get_overridable_initializers())
        ]
        given = (None, W * 2, np.full((3, 5), 0.5, np.float32), np.zeros((3, 0), np.float32),
                 W[:2], W[0], W.astype(np.float64))  # fmt: skip
        feeds = [{"x": X} if w is None else {"x": X, "w": w} for w in given]
        return told, [outcome(lambda f=f: session.run(None, f)) for f in (*feeds, {"x": X})]

    both(script)


def test_an_overridden_shape() -> None:
    """A program for each shape that is given, and that of the model."""
    made = model(
        [node("Reshape", ["x", "shape"], "z")],
        [value("x", ["n", 3]), value("shape", [2], I64)],
        [value("z", [None, None])],
        [tensor("shape", np.array([-1, 1]))],
    ).SerializeToString()

    def script(engine: ModuleType) -> Any:
        session = engine.InferenceSession(made, quiet(engine))
        feeds = [{}, {"shape": np.array([1, -1])}, {"shape": np.array([3, 2])}, {}]
        return [outcome(lambda f=f: session.run(None, {"x": X, **f})) for f in feeds]

    both(script)


def test_free_dimensions() -> None:
    def script(engine: ModuleType) -> Any:
        options = quiet(engine)
        options.add_free_dimension_override_by_name("n", 2)
        session = engine.InferenceSession(overridable(), options)
        shapes = [list(arg.shape) for arg in (*session.get_inputs(), *session.get_outputs())]
        runs = [outcome(lambda x=x: session.run(None, {"x": x})) for x in (X, X[:1])]
        return shapes, runs

    both(script)


def test_free_dimensions_by_denotation() -> None:
    made = model([node("Relu", "x", "z")], [value("x", ["n", 3])], [value("z", ["n", 3])])
    made.graph.input[0].type.tensor_type.shape.dim[0].denotation = "DATA_BATCH"

    def script(engine: ModuleType) -> Any:
        options = quiet(engine)
        options.add_free_dimension_override_by_denotation("DATA_BATCH", 2)
        session = engine.InferenceSession(made.SerializeToString(), options)
        runs = [outcome(lambda x=x: session.run(None, {"x": x})) for x in (X, X[:1])]
        return list(session.get_inputs()[0].shape), runs

    both(script)


def test_run_async() -> None:
    def script(engine: ModuleType) -> Any:
        session = engine.InferenceSession(overridable(), quiet(engine))
        done, seen = threading.Event(), []

        def callback(results: Any, user_data: Any, error: str) -> None:
            seen.append(([x.tolist() for x in results], user_data, error))
            done.set()

        session.run_async(["z"], {"x": X}, callback, {"mine": 1})
        assert done.wait(60)
        return seen

    both(script)


def test_bindings_and_values() -> None:
    def script(engine: ModuleType) -> Any:
        session = engine.InferenceSession(overridable(), quiet(engine))
        given = engine.OrtValue.ortvalue_from_numpy(X.copy())
        place = engine.OrtValue.ortvalue_from_shape_and_type([2, 2], np.float32)
        binding = session.io_binding()
        binding.bind_cpu_input("x", X)
        binding.bind_ortvalue_output("z", place)
        session.run_with_iobinding(binding)
        first = place.numpy().tolist(), [x.tolist() for x in binding.copy_outputs_to_cpu()]
        binding.clear_binding_outputs()
        binding.bind_ortvalue_input("x", given)
        binding.bind_output("z")
        given.update_inplace(X + 1)
        session.run_with_iobinding(binding)
        second = [(v.shape(), v.data_type(), v.numpy().tolist()) for v in binding.get_outputs()]
        (third,) = session.run_with_ort_values(["z"], {"x": given})
        about = (given.shape(), given.data_type(), given.element_type(), given.device_name(),
                 given.is_tensor(), given.has_value(), given.is_tensor_sequence(),
                 given.is_sparse_tensor(), given.tensor_size_in_bytes())  # fmt: skip
        return first, second, third.numpy().tolist(), about

    both(script)


def test_profiles(tmp_path: Path) -> None:
    def script(engine: ModuleType) -> Any:
        options = quiet(engine)
        options.enable_profiling = True
        options.profile_file_prefix = str(tmp_path / engine.__name__)
        session = engine.InferenceSession(overridable(), options)
        results = [session.run(None, {"x": x})[0].tolist() for x in (X, X[:1])]
        assert session.get_profiling_start_time_ns() > 0
        path = Path(session.end_profiling())
        assert path.name.startswith(f"{engine.__name__}_20")
        events = json.loads(path.read_text())
        keys = {frozenset(event) for event in events}
        counts = {
            (event["cat"], event["ph"])
            for event in events
            if event["name"] == "model_run" or event["cat"] == "Node"
        }
        runs = sum(event["name"] == "model_run" for event in events)
        later = session.run(None, {"x": X})[0].tolist()
        return results, keys, counts, runs, later, session.end_profiling()

    both(script)
    plain = anyshape.InferenceSession(overridable())
    assert plain.end_profiling() == ""


def test_a_profile_is_written_when_its_session_ends(tmp_path: Path) -> None:
    options = anyshape.SessionOptions()
    options.enable_profiling, options.profile_file_prefix = True, str(tmp_path / "p")
    session = anyshape.InferenceSession(overridable(), options)
    session.run(None, {"x": X})
    del session
    (path,) = tmp_path.iterdir()
    assert any(event["name"] == "model_run" for event in json.loads(path.read_text()))


def test_programs_of_one_model_share_its_weights() -> None:
    """One for each value of the axes, which are an input."""
    weight = np.ones((64, 64), np.float32)
    made = model(
        [node("MatMul", ["x", "w"], ["y"]), node("ReduceSum", ["y", "axes"], ["z"])],
        [value("x", ["n", 64]), value("axes", [1], I64)],
        [value("z", None)],
        [tensor("w", weight)],
    )
    options = anyshape.SessionOptions()
    options.add_session_config_entry("anyshape.executor", "reference")
    session = anyshape.InferenceSession(made, options)
    x = np.ones((2, 64), np.float32)
    for axis in (0, 1):
        wanted = (x @ weight).sum(axis, keepdims=True)
        found = session.run(None, {"x": x, "axes": np.array([axis])})[0]
        np.testing.assert_array_equal(found, wanted)
    assert session._programs.made == 2
    assert len(session._programs._weights) == 1


SCRIPT = """
import sys, numpy as np
import {engine} as ort

options = ort.SessionOptions()
options.intra_op_num_threads = 1
options.log_severity_level = 3
providers = ["CPUExecutionProvider"]
session = ort.InferenceSession(sys.argv[1], sess_options=options, providers=providers)
name = session.get_inputs()[0].name
label = session.get_outputs()[0].name
print(session.get_inputs()[0].shape, session.get_inputs()[0].type, session.get_providers())
for rows in (1, 3, 2):
    x = np.arange(rows * 3, dtype=np.float32).reshape(rows, 3)
    (y,) = session.run([label], {{name: x}})
    print(y.shape, y.dtype, y.tolist())
try:
    session.run(None, {{name: np.zeros((2, 4), np.float32)}})
except Exception as error:
    print(type(error).__name__, "Got invalid dimensions for input: x" in str(error))
try:
    session.run(None, {{}})
except ValueError as error:
    print(error)
print(ort.get_available_providers()[-1], ort.get_device())
"""


def test_a_script_with_another_import(tmp_path: Path) -> None:
    """`import anyshape as ort` is all that changes."""
    path = tmp_path / "model.onnx"
    path.write_bytes(overridable(3))
    printed = []
    for engine in ENGINES:
        command = [sys.executable, "-c", SCRIPT.format(engine=engine.__name__), str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        printed.append(done.stdout)
    assert printed[0] == printed[1]
