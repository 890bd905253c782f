"""The examples run, and print what they promise."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


def output_of(name: str) -> str:
    command = [sys.executable, "-W", "error", str(EXAMPLES / name)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.name)
def test_every_example_runs(path: Path) -> None:
    assert output_of(path.name)


def test_the_demo_agrees_with_numpy_and_explains_mistakes() -> None:
    text = output_of("demo.py")
    assert "\033[" not in text  # no colours in a pipe
    rows = [line for line in text.splitlines() if line.startswith("batch=")]
    assert len(rows) == 5
    assert all(float(row.split()[-1]) < 1e-5 for row in rows)
    assert "axis 'batch' has conflicting sizes: input 'x' has 2 (axis 0)" in text
    assert "axes 'seq' and 'kv' have different names but must be equal" in text
    assert text.count("fix: ") == 2


def test_the_demo_runs_compiled_code() -> None:
    text = output_of("demo.py")
    assert re.search(r"\d+ ms for \d+ steps, \d+ distinct kernels, ", text)
    rows = [line.split() for line in text.splitlines() if line.startswith("batch=")]
    assert all(row[-4] == row[-2] == "µs" for row in rows)  # to prepare, to run
    assert "block at batch=5, seq=131, pooled=65: " in text


def test_quickstart() -> None:
    text = output_of("quickstart.py")
    head = "(2, 5, 64)\n(2, 3, 64)\naxes { batch: 0..   seq: 0..   kv: 0.. }\n"
    assert text.startswith(head)
    assert "\nattention: native executor, " in text
    assert "\n  attention at batch=2, seq=5, kv=9: " in text


def test_the_readme_runs(capsys: pytest.CaptureFixture[str]) -> None:
    text = (EXAMPLES.parent / "README.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    body = blocks[0].partition("@ash.jit")[2].strip()
    assert body in (EXAMPLES / "quickstart.py").read_text()
    exec("\n".join(blocks), {"__name__": "readme"})
    assert "attention at batch=2, seq=5, kv=9: " in capsys.readouterr().out
