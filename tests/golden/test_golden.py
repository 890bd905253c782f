"""Golden tests: text in, passes, text out.

A file `*.ash` begins with the passes to run (`# RUN: canonicalize, fold`; `# RUN: print` for none),
then has the input, a line of dashes, and the expected text. Write the expected texts anew with

    ANYSHAPE_UPDATE_GOLDEN=1 pytest tests/golden

and read the difference before keeping it.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from anyshape.cli.opt import passes_of as named_passes
from anyshape.ir.graph import Graph
from anyshape.ir.literal import WeightStore
from anyshape.ir.text.parser import parse
from anyshape.ir.verify import verify
from anyshape.passes import Pass, run_passes

HERE = Path(__file__).parent
FILES = sorted(HERE.glob("*.ash"))
SEPARATOR = "-" * 80 + "\n"
UPDATE = bool(os.environ.get("ANYSHAPE_UPDATE_GOLDEN"))


def weights() -> WeightStore:
    """What `@w0` and `@w1` are in all files."""
    store = WeightStore()
    store.add(np.arange(64, dtype=np.float32).reshape(8, 8))
    store.add(np.ones((8, 16), np.float32))
    return store


def passes_of(run_line: str) -> list[Pass]:
    assert run_line.startswith("# RUN: "), "the first line says what to run"
    return list(named_passes(run_line.removeprefix("# RUN: ")))


def read(text: str) -> Graph:
    """Parsed, checked, and printed back to the identical graph."""
    store = weights()
    graph = verify(parse(text, store))
    assert parse(graph.as_text(), store) == graph
    return graph


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_golden(path: Path):
    head, _, expected = path.read_text().partition(SEPARATOR)
    run_line, _, text = head.partition("\n")
    before = read(text)
    after = run_passes(before, passes_of(run_line), verify=True).graph
    found = after.as_text()
    assert parse(found, after.weights) == after, "the result prints and parses to itself"
    if UPDATE:
        path.write_text(head + SEPARATOR + found)
    else:
        assert found == expected, f"{path.name} differs; see ANYSHAPE_UPDATE_GOLDEN"


def test_there_are_files():
    assert len(FILES) > 10
