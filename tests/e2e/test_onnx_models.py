"""Real ONNX models against onnxruntime: each is compiled once and run at several shapes.

One of them natively, the others by the interpreter, which is quicker than compiling a hundred
kernels; `python -m tests.e2e.onnx_models` compares all of them natively at many shapes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from benchmarks.workloads.onnx_files import PACKAGED
from tests.e2e.onnx_models import difference, sessions

from anyshape.session import programs

SHAPES = {
    "detection": [(1, 3, 32, 64), (2, 3, 96, 32)],
    "recognition": [(1, 3, 48, 9), (3, 3, 48, 131), (2, 3, 48, 320)],
    "direction": [(1, 3, 48, 192), (3, 3, 48, 192)],
    "magika": [(1, 2048), (5, 2048), (0, 2048)],
}
NATIVE = ("magika",)


@pytest.mark.parametrize("name", SHAPES)
def test_as_onnxruntime(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = PACKAGED[name]
    if model.path is None:
        pytest.skip(f"{model.package} is not installed")
    compiled: list[Any] = []
    compile_graph = programs.compile_graph
    monkeypatch.setattr(
        programs,
        "compile_graph",
        lambda graph, **chosen: compiled.append(graph) or compile_graph(graph, **chosen),
    )
    ours, theirs = sessions(model, "native" if name in NATIVE else "reference")
    rng = np.random.default_rng(1)
    for shape in SHAPES[name]:
        x = model.array(shape, rng)
        if 0 in shape:
            assert ours.run(None, {"bytes": x})[0].shape == (0, 214)
        else:
            assert difference(ours, theirs, x) <= 1e-3
    assert len(compiled) == 1
