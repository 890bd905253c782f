"""Models are untrusted: each way in which they are wrong is an error that says so."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper
from tests.unit.frontend.onnx.models import add_model, model, node, tensor, value

from anyshape.base.errors import InvalidModelError, ModelFileError, UnsupportedModelError
from anyshape.frontend.onnx import import_model, read_model


def refused(made: Any, problem: str, kind: type = InvalidModelError) -> None:
    with pytest.raises(kind, match=problem) as raised:
        import_model(read_model(made))
    assert "\nfix: " in str(raised.value)


X = value("x", ["n"])
Z = value("z", None)


def test_a_path_without_a_file(tmp_path: Path) -> None:
    path = str(tmp_path / "none.onnx")
    with pytest.raises(ModelFileError) as caught:
        read_model(path)
    first, fix = str(caught.value).splitlines()
    assert first.startswith(f"cannot read {path}: ")
    assert fix == "fix: pass the path of a model"


@pytest.mark.parametrize("content", [b"", b"no model", b"\xff" * 100])
def test_bytes_that_are_no_model(content: bytes) -> None:
    refused(content, "has no graph|cannot be parsed")


def test_truncated_bytes() -> None:
    whole = add_model(["n"], ["n"]).SerializeToString()
    for length in range(1, len(whole), 7):
        with pytest.raises((InvalidModelError, UnsupportedModelError)):
            import_model(read_model(whole[:length]))


def test_all_unknown_ops_are_named_at_once() -> None:
    nodes = [
        node("Nope", ["x"], ["a"]),
        node("Nope", ["a"], ["b"]),
        node("Other", ["b"], ["z"], domain="d"),
    ]
    with pytest.raises(UnsupportedModelError, match="does not know") as raised:
        import_model(read_model(model(nodes, [X], [Z], opsets=[helper.make_opsetid("d", 1)])))
    assert raised.value.parts == {"Nope": ("a", "b"), "d::Other": ("z",)}


@pytest.mark.parametrize("repeats", [[], [2, 2]])
def test_repeats_of_other_axes_than_there_are(repeats: list[int]) -> None:
    constant = tensor("r", np.array(repeats, np.int64))
    tiled = model([node("Tile", ["x", "r"], ["z"])], [X], [Z], [constant])
    refused(tiled, f"Tile -> z repeats {len(repeats)} axes of a tensor of rank 1")


def test_names_that_are_no_text() -> None:
    content = model([node("Relu", ["x"], ["other"])], [X], [value("other", None)])
    damaged = content.SerializeToString().replace(b"other", b"oth\xffr")
    refused(damaged, "has a name that is no UTF-8|cannot be parsed")


def test_values_of_other_kinds_than_an_op_takes() -> None:
    nodes = [node("SequenceConstruct", ["x"], ["s"]), node("Shape", ["s"], ["z"])]
    refused(model(nodes, [X], [Z]), "Shape -> z cannot be applied to its inputs")


def test_cycles() -> None:
    nodes = [node("Neg", ["b"], ["a"]), node("Neg", ["a"], ["b"]), node("Neg", ["x"], ["z"])]
    refused(model(nodes, [X], [Z]), "has a cycle")


def test_nodes_in_any_order() -> None:
    nodes = [node("Neg", ["a"], ["z"]), node("Exp", ["x"], ["a"])]
    graph = import_model(read_model(model(nodes, [X], [Z]))).model.program.graph
    assert "neg" in graph.as_text()


def test_undefined_names() -> None:
    refused(model([node("Add", ["x", "q"], ["z"])], [X], [Z]), "reads 'q', which nothing gives")
    refused(model([node("Neg", ["x"], ["a"])], [X], [Z]), "reads 'z', which nothing gives")


def test_doubled_names() -> None:
    nodes = [node("Neg", ["x"], ["z"]), node("Exp", ["x"], ["z"])]
    refused(model(nodes, [X], [Z]), "gives 'z' twice")
    refused(model([node("Neg", ["x"], ["z"])], [X, X], [Z]), "two inputs of one name")


def test_attributes_of_other_types_and_names() -> None:
    wrong = node("LeakyRelu", ["x"], ["z"], alpha=1)
    refused(model([wrong], [X], [Z]), "'alpha' of another type")
    unknown = node("LeakyRelu", ["x"], ["z"], beta=1.0)
    refused(model([unknown], [X], [Z]), "attribute 'beta' of LeakyRelu", UnsupportedModelError)
    refused(model([node("Concat", ["x"], ["z"])], [X], [Z]), "lacks the attribute 'axis'")


def test_numbers_of_inputs() -> None:
    refused(model([node("Neg", ["x", "x"], ["z"])], [X], [Z]), "has 2 inputs")
    refused(model([node("Add", ["x", ""], ["z"])], [X], [Z]), "has 1 inputs")
    refused(model([node("Where", ["", "x", "x"], ["z"])], [X], [Z]), "lacks an input")


def test_operands_of_several_types() -> None:
    other = value("y", ["n"], TensorProto.DOUBLE)
    refused(model([node("Add", "xy", "z")], [X, other], [Z]), "inputs of types f32, f64")


def test_functions_that_call_themselves() -> None:
    opsets = [helper.make_opsetid("d", 1), helper.make_opsetid("", 18)]
    body = [node("F", ["x"], ["z"], domain="d")]
    function = helper.make_function("d", "F", ["x"], ["z"], body, opsets)
    made = model(body, [X], [Z], functions=[function], opsets=opsets[:1])
    refused(made, "calls itself")


def test_functions_of_the_model_are_applied() -> None:
    opsets = [helper.make_opsetid("d", 1), helper.make_opsetid("", 18)]
    inner = node("LeakyRelu", ["x"], ["z"])
    inner.attribute.add(name="alpha", ref_attr_name="slope", type=1)
    function = helper.make_function("d", "F", ["x"], ["z"], [inner], opsets, ["slope"])
    call = node("F", ["x"], ["z"], domain="d", slope=0.5)
    made = model([call], [X], [Z], functions=[function], opsets=opsets[:1])
    assert "0.5" in import_model(read_model(made)).model.program.graph.as_text()


def overloaded(*overloads: str) -> list[Any]:
    """Functions `d::F` that differ in their overloads: the first doubles, the second negates."""
    opsets = [helper.make_opsetid("", 18)]
    bodies = node("Add", ["x", "x"], ["z"]), node("Neg", ["x"], ["z"])
    return [
        helper.make_function("d", "F", ["x"], ["z"], [body], opsets, overload=overload)
        for overload, body in zip(overloads, bodies, strict=True)
    ]


def calling(overload: str, functions: list[Any]) -> Any:
    call = node("F", ["x"], ["z"], domain="d", overload=overload)
    return model([call], [X], [Z], functions=functions, opsets=[helper.make_opsetid("d", 1)])


@pytest.mark.parametrize(("overload", "op"), [("a", "add"), ("b", "neg")])
def test_overloads_are_functions_of_their_own(overload: str, op: str) -> None:
    made = calling(overload, overloaded("a", "b"))
    text = import_model(read_model(made)).model.program.graph.as_text()
    assert [name for name in ("add", "neg") if name in text] == [op]


def test_overloads_that_nothing_has_or_two_have() -> None:
    refused(calling("c", overloaded("a", "b")), "d::F:c", UnsupportedModelError)
    refused(calling("a", overloaded("a", "a")), "has two functions 'd::F:a'")


@pytest.mark.parametrize(
    ("dims", "size", "problem"),
    [([4], 8, "8 bytes for 16"), ([-1], 4, "has the shape"), ([1 << 40, 1 << 40], 4, "would have"),
     ([1] * 65, 4, "has the shape")],
)  # fmt: skip
def test_tensors_that_claim_other_sizes(dims: list[int], size: int, problem: str) -> None:
    made = TensorProto(name="y", data_type=1, dims=dims, raw_data=b"\0" * size)
    refused(model([node("Add", "xy", "z")], [X], [Z], [made]), problem)


def test_elements_that_are_missing() -> None:
    made = TensorProto(name="y", data_type=1, dims=[3], float_data=[1.0])
    refused(model([node("Add", "xy", "z")], [X], [Z], [made]), "has 1 elements")


def test_element_types_that_nobody_has() -> None:
    made = value("x", ["n"], TensorProto.STRING)
    problem = "elements of type STRING"
    refused(model([node("Identity", ["x"], ["z"])], [made], [Z]), problem, UnsupportedModelError)


def test_two_versions_of_a_domain() -> None:
    made = model([node("Neg", ["x"], ["z"])], [X], [Z], opsets=[helper.make_opsetid("", 17)])
    refused(made, "in two versions")


# --- external data --------------------------------------------------------------------------------


def external(folder: Path, **entries: str) -> Path:
    made = TensorProto(name="y", data_type=1, dims=[2], data_location=TensorProto.EXTERNAL)
    for key, text in entries.items():
        made.external_data.add(key=key, value=text)
    path = folder / "model.onnx"
    path.write_bytes(model([node("Add", "xy", "z")], [X], [Z], [made]).SerializeToString())
    return path


DATA = np.array([0, 1, 2, 3], np.float32)


def test_external_data_is_read_at_its_offset(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "w.bin").write_bytes(DATA.tobytes())
    path = external(tmp_path, location="data/w.bin", offset="4", length="8")
    assert "[1.0, 2.0]" in import_model(read_model(path)).model.program.graph.as_text()


@pytest.mark.parametrize(
    ("entries", "problem"),
    [
        ({"location": "/etc/hostname"}, "outside of the model's folder"),
        ({"location": "../w.bin"}, "outside of the model's folder"),
        ({"location": "a/../../w.bin"}, "outside of the model's folder"),
        ({"location": ""}, "outside of the model's folder"),
        ({"location": "none.bin"}, "No such file"),
        ({"location": "link.bin"}, "symbolic links|Too many levels"),
        ({"location": "folder/w.bin"}, "Not a directory|symbolic links|Too many levels"),
        ({"location": "hard.bin"}, "no plain file"),
        ({"location": "pipe"}, "no plain file"),
        ({"location": "w.bin", "offset": "12"}, "bytes 12..20 of 'w.bin', which has 16"),
        ({"location": "w.bin", "offset": "-4"}, "the offset '-4'"),
        ({"location": "w.bin", "offset": "9" * 30}, "the offset"),
        ({"location": "w.bin", "length": "16"}, "16 bytes of external data, not 8"),
        ({"location": "w.bin", "basepath": "/"}, "the key 'basepath'"),
    ],
)
def test_external_data_that_is_refused(
    tmp_path: Path, entries: dict[str, str], problem: str
) -> None:
    (tmp_path / "w.bin").write_bytes(DATA.tobytes())
    (tmp_path / "link.bin").symlink_to("w.bin")
    (tmp_path / "folder").symlink_to(tmp_path)
    (tmp_path / "other.bin").write_bytes(DATA.tobytes())
    (tmp_path / "hard.bin").hardlink_to(tmp_path / "other.bin")
    os.mkfifo(tmp_path / "pipe")
    refused(external(tmp_path, **entries), problem)


def test_external_data_of_a_model_that_came_as_bytes(tmp_path: Path) -> None:
    (tmp_path / "w.bin").write_bytes(DATA.tobytes())
    refused(external(tmp_path, location="w.bin").read_bytes(), "came without a folder")


def test_weights_are_held_once() -> None:
    made = tensor("y", np.arange(100, dtype=np.float32))
    nodes = [node("Add", ["x", "y"], ["a"]), node("Mul", ["a", "y"], ["z"])]
    graph = import_model(read_model(model(nodes, [X], [Z], [made]))).model.program.graph
    assert len(graph.weights) == 1
