"""The command line: what is typed, what is printed, and what a mistake says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from anyshape.base.errors import OptionError
from anyshape.cli.app import main
from anyshape.cli.sizes import Sizes, given


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    weight = np.arange(12, dtype=np.float32).reshape(4, 3)
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["product"]),
        helper.make_node("Relu", ["product"], ["y"]),
    ]
    x, y = (
        helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", size])
        for name, size in (("x", 4), ("y", 3))
    )
    initial = onnx.numpy_helper.from_array(weight, "w")
    graph = helper.make_graph(nodes, "layer", [x], [y], [initial])
    path = tmp_path_factory.mktemp("cli") / "layer.onnx"
    made = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])
    onnx.save(made, path)
    return str(path)


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert main(arguments) == 0
    return json.loads(capsys.readouterr().out)


# --- sizes ----------------------------------------------------------------------------------------


def test_sizes_as_they_are_written() -> None:
    assert given(["batch=1..32@8, seq=128"]).axes == {
        "batch": Sizes(1, 32, 8),
        "seq": Sizes(128, 128),
    }
    several = given(["x:8x128", "y[1,3,1..8,?]"]).inputs
    assert several == {
        "x": (Sizes(8, 8), Sizes(128, 128)),
        "y": (Sizes(1, 1), Sizes(3, 3), Sizes(1, 8), None),
    }
    shapes = {"x": ["batch", "seq"], "y": ["1", "3", "width", "height"]}
    assert given(["x:8x128,y[1,3,1..8,?]"]).by_axis(shapes) == {
        "batch": Sizes(8, 8),
        "seq": Sizes(128, 128),
        "width": Sizes(1, 8),
    }


@pytest.mark.parametrize("text", ["batch", "batch=", "batch=x", "batch=-1", "x:8xa", "batch=8..1"])
def test_sizes_that_are_none(text: str) -> None:
    with pytest.raises(OptionError):
        given([text])


# --- commands -------------------------------------------------------------------------------------


def test_run(model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    x = np.linspace(-1, 1, 20, dtype=np.float32).reshape(5, 4)
    np.save(tmp_path / "x.npy", x)
    out, trace = str(tmp_path / "out.npz"), tmp_path / "trace.json"
    files = ["--input", f"x={tmp_path / 'x.npy'}", "-o", out, "--trace", str(trace)]
    found = told(capsys, "run", model, *files, "--json")
    assert [row["shape"] for row in found["results"]] == [[5, 3]]
    expected = np.maximum(x @ np.arange(12, dtype=np.float32).reshape(4, 3), 0)
    np.testing.assert_allclose(np.load(out)["arr_0"], expected, rtol=1e-5, atol=1e-5)
    events = json.loads(trace.read_text())["traceEvents"]
    assert [event["ph"] for event in events] == ["X"] * len(events)
    assert events[0]["args"]["binding"] == {"batch": 5}
    assert main(["run", model, "--bind", "batch=7"]) == 0
    assert "layer at batch=7" in capsys.readouterr().out


def test_compile_and_what_is_compiled(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved = str(tmp_path / "layer.ash")
    assert main(["compile", model, "-o", saved]) == 0
    assert capsys.readouterr().out.startswith(f"{saved}: ")
    of_model, of_saved = (told(capsys, "inspect", each, "--json") for each in (model, saved))
    assert (of_model.pop("kind"), of_saved.pop("kind")) == ("ONNX model", "saved executable")
    assert of_model == of_saved
    assert of_saved["inputs"] == {"x": "f32[batch, 4]"}
    results = [told(capsys, "run", each, "--bind", "batch=3", "--json") for each in (model, saved)]
    assert results[0] == results[1]
    assert main(["explain", saved, "--bind", "batch=3"]) == 0
    assert "at this binding" in capsys.readouterr().out


def test_bench(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    ranges = ["--shapes", "batch=1..9", "--n", "4"]
    found = told(capsys, "bench", model, *ranges, "--against", "onnxruntime,nothing", "--json")
    assert [row["engine"] for row in found["engines"]] == ["anyshape", "onnxruntime"]
    assert found["bindings"] == found["engines"][0]["calls"] == 4
    assert list(found["left_out"]) == ["nothing"]
    assert main(["bench", model, "--bind", "batch=2", "--n", "2"]) == 0
    assert "at 1 bindings" in capsys.readouterr().out


def test_doctor(capsys: pytest.CaptureFixture[str]) -> None:
    assert told(capsys, "doctor", "--json")["self-test"] == "ok"


# --- mistakes -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["run", "model.txt"], 1, "an .onnx, .pt2 or .ash file, or module:function"),
        (["run", "missing.ash"], 1, "missing.ash"),
        (["run", "no_such_module:f"], 1, "no_such_module"),
        (["run", "json:loads"], 1, "a function with @anyshape.jit, or a Graph"),
        (["run"], 2, "MODEL"),
        (["fly"], 2, "fly"),
        (["run", "MODEL", "--bind", "beam=3"], 1, "beam"),
        (["run", "MODEL", "--bind", "batch"], 1, "sizes by axis"),
        (["run", "MODEL", "--shapes", "x:1x2x3"], 1, "2 sizes for x"),
        (["run", "MODEL", "--input", "missing.npz"], 1, "missing.npz"),
    ],
)
def test_mistakes_are_messages(
    model: str, arguments: list[str], code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    typed = [model if each == "MODEL" else each for each in arguments]
    assert main(typed) == code
    said = capsys.readouterr().err
    assert message in said
    assert "Traceback" not in said


def test_help_has_an_example_of_each(capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("run", "bench", "explain", "inspect", "compile", "doctor", "opt"):
        assert main([command, "--help"]) == 0
        assert f"Example: anyshape {command}" in capsys.readouterr().out
