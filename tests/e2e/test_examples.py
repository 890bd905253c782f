"""The examples run, and print what they promise."""

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


def test_quickstart() -> None:
    text = output_of("quickstart.py")
    assert text.startswith("(2, 5, 64)\naxes { batch: 0..   seq: 0..   kv: 0.. }\n")
