"""The command line: what is typed, what is printed, and what a mistake says."""

from __future__ import annotations

import json
import os
import shlex
import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper

from anyshape.base.errors import OptionError, UntrustedFileError
from anyshape.cli.app import main
from anyshape.cli.mistakes import CommandError
from anyshape.cli.models import model_of
from anyshape.cli.peers import peer
from anyshape.cli.sizes import Given, Sizes, between, given


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


class _Twice(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return 2 * x


@pytest.fixture(scope="module")
def token_model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """With the axes that examples name."""
    text = """<ir_version: 8, opset_import: ["": 17]>
    tokens (float[batch, seq] x) => (float[batch, seq] y) { y = Softmax <axis = -1> (x) }"""
    path = tmp_path_factory.mktemp("cli") / "tokens.onnx"
    onnx.save(onnx.parser.parse_model(text), path)
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


def test_ranges_as_trtexec_has_them() -> None:
    least, likely, most = (given([text]) for text in ("x:1x4", "x:2x?", "x:8x512"))
    assert between(least, likely, most).inputs == {"x": (Sizes(1, 8, 2), Sizes(4, 512))}
    assert between(given([]), given(["batch=3"]), most) == Given(
        {"batch": Sizes(3, 3)}, {"x": (Sizes(1, 8), Sizes(1, 512))}
    )
    for low, high in ((least, given([])), (most, least), (given(["x:1"]), most)):
        with pytest.raises(CommandError):
            between(low, given([]), high)


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


def test_results_are_written_where_they_were_asked_for(model: str, tmp_path: Path) -> None:
    """NumPy itself adds an ending to a path that has another one."""
    assert main(["run", model, "--bind", "batch=2", "-o", str(tmp_path / "results.data")]) == 0
    assert [path.name for path in tmp_path.glob("results*")] == ["results.data"]
    assert np.load(tmp_path / "results.data")["arr_0"].shape == (2, 3)


def test_compile_and_what_is_compiled(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved = str(tmp_path / "layer.ash")
    assert main(["compile", model, "-o", saved]) == 0
    assert capsys.readouterr().out.startswith(f"{saved}: ")
    of_model, of_saved = (told(capsys, "inspect", each, "--json") for each in (model, saved))
    assert (of_model.pop("kind"), of_saved.pop("kind")) == ("ONNX model", "saved executable")
    assert (of_model.pop("targets"), of_saved.pop("targets")) == ([], ["native"])
    assert of_model == of_saved
    assert of_saved["inputs"] == {"x": "f32[batch, 4]"}
    results = [told(capsys, "run", each, "--bind", "batch=3", "--json") for each in (model, saved)]
    assert results[0] == results[1]
    assert main(["explain", saved, "--bind", "batch=3"]) == 0
    assert "at this binding" in capsys.readouterr().out


def test_explain_as_a_page(model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "report.html"
    several = ["--bind", "batch=3", "--bind", "batch=70"]
    assert main(["explain", model, *several, "--html", str(page)]) == 0
    assert capsys.readouterr().out.startswith(f"{page}: ")
    assert '"binding":{"batch":70}' in page.read_text()


def test_bench(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    ranges = ["--shapes", "batch=1..9", "--n", "4"]
    found = told(capsys, "bench", model, *ranges, "--against", "onnxruntime,nothing", "--json")
    assert [row["engine"] for row in found["engines"]] == ["anyshape", "onnxruntime"]
    assert found["bindings"] <= found["engines"][0]["calls"] == 4
    assert list(found["left_out"]) == ["nothing"]
    assert main(["bench", model, "--bind", "batch=2", "--n", "2"]) == 0
    assert "at 1 bindings" in capsys.readouterr().out


def test_bench_takes_ranges_by_input(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    ranges = ["--minShapes", "x:2x4", "--maxShapes", "x:5x4", "-n", "8", "--json"]
    assert 1 < told(capsys, "bench", model, *ranges)["bindings"] <= 4  # different ones
    found = told(capsys, "run", model, *ranges[:4], "--optShapes", "x:3x4", "--json")
    assert found["binding"] == {"batch": 3}
    assert told(capsys, "run", model, "--axis", "batch=1..9@4", "--json")["binding"] == {"batch": 4}


def test_engines_that_do_not_read_the_file_are_named(
    model: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found = told(capsys, "bench", model, "-n", "1", "--against", "torch", "--json")
    assert "an .pt2 file" in found["left_out"]["torch"]


@pytest.mark.skipif(find_spec("openvino") is None, reason="openvino is not installed")
def test_openvino_gets_the_same_arrays(model: str) -> None:
    x = np.linspace(-1, 1, 20, dtype=np.float32).reshape(5, 4)
    found = peer("openvino", model, ["x"], 1)([x])
    theirs = peer("onnxruntime", model, ["x"], 1)([x])
    np.testing.assert_allclose(found[0], theirs[0], rtol=1e-5)


def test_doctor(capsys: pytest.CaptureFixture[str]) -> None:
    assert told(capsys, "doctor", "--json")["self-test"] == "ok"


def test_doctor_tells_threads_and_memory(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANYSHAPE_THREADS", "1")
    monkeypatch.setenv("ANYSHAPE_MEMORY_LIMIT", "3 MiB")
    found = told(capsys, "doctor", "--json")
    assert (found["threads"], found["affinity"]) == (1, "none")
    assert found["memory limit"] == "3.0 MiB"


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
        (["run", "MODEL", "--seed", "-1"], 2, "greater than or equal to 0"),
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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("run MODEL --shapes x:2x5", "input 'x' has size 4 at axis 1, not 5"),
        ("run MODEL --shapes x[2,1..3]", "input 'x' has size 4 at axis 1, not 3"),
        ("run MODEL --shapes x:2", "input 'x' was given 1 sizes, and has 2"),
        ("run MODEL --bind batch=2,batch=3", "batch is given twice"),
        ("run MODEL --shapes x:2x4,x:3x4", "x is given twice"),
        ("run MODEL --minShapes x:1x4", "--minShapes has 'x', and --maxShapes does not"),
        ("run MODEL --minShapes x:1 --maxShapes x:1x4", "other numbers of sizes"),
        ("run MODEL --bind beam=3", "the model has no axis 'beam'"),
        ("run MODEL --bind batch=999999999999", "inputs at batch=999999999999 do not fit"),
        ("run MODEL --bind batch=99999999999999999999999", "do not fit into memory"),
        ("run MODEL --input x=FOLDER/x.npy --bind batch=7", "is given as 7, and has 5 in a file"),
        ("run MODEL --input FOLDER/x.npy", "is not NAME=FILE.npy"),
        ("run MODEL --input x=FOLDER/x.npz", "is not NAME=FILE.npy"),
        ("run MODEL --input x=FOLDER/text", "text holds no arrays that can be read"),
        ("run MODEL --input FOLDER/empty", "empty holds no arrays that can be read"),
        ("run MODEL --input x=FOLDER/objects.npy", "holds no arrays that can be read"),
        ("run MODEL --input FOLDER/missing.npz", "No such file or directory: 'FOLDER/missing.npz'"),
        ("run MODEL -o FOLDER/missing/out.npz", "No such file or directory: 'FOLDER/missing/out.n"),
        ("run MODEL -o FOLDER/folder.ash", "Is a directory: 'FOLDER/folder.ash'"),
        ("run FOLDER/missing.ash", "No such file or directory: 'FOLDER/missing.ash'"),
        ("run FOLDER/folder.ash", "Is a directory: 'FOLDER/folder.ash'"),
        ("run FOLDER/text.pt2 --trust", "text.pt2 is no exported program: "),
        ("run no_such_module:f", "No module named 'no_such_module'"),
        ("compile MODEL -o FOLDER/missing/x.ash", "directory: 'FOLDER/missing/x.ash'"),
        ("compile MODEL -o FOLDER/folder.ash", "Is a directory: 'FOLDER/folder.ash'"),
        ("explain MODEL --html FOLDER/missing/x.html", "directory: 'FOLDER/missing/x.html'"),
        ("opt FOLDER/x.npy", "x.npy is no text"),
        ("opt FOLDER/missing.txt", "No such file or directory: 'FOLDER/missing.txt'"),
    ],
)
def test_mistakes_end_in_a_fix(
    model: str, arguments: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    x = np.ones((5, 4), np.float32)
    np.save(tmp_path / "x.npy", x)
    np.savez(tmp_path / "x.npz", x=x)
    np.save(tmp_path / "objects.npy", np.array([None]), allow_pickle=True)
    for name in ("text", "text.pt2"):
        (tmp_path / name).write_text("some text")
    (tmp_path / "empty").touch()
    (tmp_path / "folder.ash").mkdir()
    typed = arguments.replace("MODEL", model).replace("FOLDER", str(tmp_path)).split()
    assert main(typed) == 1
    said = capsys.readouterr().err.rstrip()
    assert message.replace("FOLDER", str(tmp_path)) in said
    assert said.splitlines()[-1].startswith("fix: ")
    assert sorted(each.name for each in tmp_path.iterdir() if "partial" in each.name) == []


def test_arrays_of_files_have_sizes_for_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sums.py").write_text(
        "import anyshape as ash\n\n@ash.jit\n"
        "def two(x: ash.f32['n', 2], y: ash.f32['n', 2], z: ash.f32[None]):\n"
        "    return x + y, z\n"
    )
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", np.ones((5, 2), np.float32))
    found = told(capsys, "run", "sums:two", "-i", "x=x.npy", "--shapes", "z:3", "--json")
    assert found["binding"] == {"n": 5, "?0": 3}
    assert [each["shape"] for each in found["results"]] == [[5, 2], [3]]


class _Touches:
    """Unpickled, it makes a folder: what a malicious file might do."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.folder),)


def test_exported_programs_are_read_if_they_are_trusted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = tmp_path / "twice.pt2"
    sizes = {"x": {0: torch.export.Dim("rows")}}
    exported = torch.export.export(_Twice(), (torch.ones(2, 3),), dynamic_shapes=sizes)
    torch.export.save(exported, program)
    x = np.arange(15, dtype=np.float32).reshape(5, 3)
    np.savez(tmp_path / "in.npz", x=x)
    out = str(tmp_path / "out.npz")
    arguments = ["run", str(program), "-i", str(tmp_path / "in.npz"), "-o", out]
    assert main(arguments) == 1
    assert "add --trust" in capsys.readouterr().err
    assert main([*arguments, "--trust"]) == 0
    np.testing.assert_array_equal(np.load(out)["arr_0"], 2 * x)


def test_nothing_of_an_untrusted_file_is_unpickled(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = tmp_path / "bad.pt2"
    torch.save(_Touches(tmp_path / "touched"), bad)
    for command in ("run", "bench", "explain", "inspect", "compile"):
        assert main([command, str(bad)]) == 1
        assert "add --trust" in capsys.readouterr().err
    assert not (tmp_path / "touched").exists()


def test_what_an_untrusted_file_is_refused_with(tmp_path: Path) -> None:
    bad = tmp_path / "bad.pt2"
    torch.save(_Touches(tmp_path / "touched"), bad)
    with pytest.raises(UntrustedFileError) as caught:
        model_of(str(bad))
    assert str(caught.value) == (
        f"{bad} is not read: torch unpickles exported programs, and a pickle runs whatever code "
        "its maker put there\n"
        "fix: if you trust whoever made the file, add --trust; else ask for the model as an .onnx "
        "file, which holds no code"
    )


COMMANDS = ("run", "bench", "explain", "inspect", "compile", "doctor", "opt")


@pytest.mark.parametrize("command", COMMANDS)
def test_the_example_of_each_command_runs(
    command: str,
    token_model: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert main([command, "--help"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    example = said.partition("Example: anyshape ")[2].partition("╭")[0].partition(" │")[0]
    assert example.startswith(command)
    shutil.copy(token_model, tmp_path / "model.onnx")
    graph = "graph f(x: f32[n]) -> f32[n] {\n  %0 = exp(x) : f32[n]\n  return %0\n}\n"
    (tmp_path / "graph.txt").write_text(graph)
    monkeypatch.chdir(tmp_path)
    assert main(shlex.split(example)) == 0
