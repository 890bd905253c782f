"""`python -m anyshape opt`: text in, passes, text out."""

import io
from pathlib import Path

import pytest

from anyshape.cli.app import main
from anyshape.ir import parse
from anyshape.passes import PASSES, run_passes

TEXT = """axes { n: 0..100 }
graph chain(x: f32[n]) -> f32[n] {
  %0 = neg(x)
  %1 = neg(%0)
  %2 = tanh(%1)
  %3 = exp(%2)
  return %3
}
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "chain.ash"
    path.write_text(TEXT)
    return str(path)


def test_the_passes_that_are_named_run(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["opt", file, "-p", "canonicalize, fuse"]) == 0
    printed = capsys.readouterr().out
    steps = [step for step in PASSES if step.name in ("canonicalize", "fuse")][1:]
    assert printed == run_passes(parse(TEXT), steps).graph.as_text()
    assert "neg" not in printed
    assert printed.count("kernel") == 1


def test_without_names_all_run(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["opt", file]) == 0
    assert parse(capsys.readouterr().out) == run_passes(parse(TEXT), PASSES).graph


def test_print_runs_none(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(TEXT))
    assert main(["opt", "-p", "print"]) == 0
    assert parse(capsys.readouterr().out) == parse(TEXT)


def test_each_change_and_decision_is_shown(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["opt", file, "-p", "fold,canonicalize,fuse", "--each", "--decisions"]) == 0
    printed = capsys.readouterr().out
    assert "# after canonicalize: 5 -> 3 nodes" in printed
    assert "# after fold" not in printed  # it changed nothing
    assert "joins exp" in printed


def test_passes_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["opt", "--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(dict.fromkeys(s.name for s in PASSES))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-p", "fuze"], "passes='fuze' is not one of refine, "),
        (["missing.ash"], "No such file or directory: 'missing.ash'"),
    ],
)
def test_errors_are_messages(
    arguments: list[str], message: str, file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["opt", *(arguments if "-p" not in arguments else [file, *arguments])]) == 1
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.out == ""


def test_text_that_is_no_graph_is_an_error_with_its_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "broken.ash"
    path.write_text("graph f(x: f32[n]) -> f32[n] {\n  %0 = exq(x)\n  return %0\n}\n")
    assert main(["opt", str(path)]) == 1
    assert "exq" in capsys.readouterr().err
