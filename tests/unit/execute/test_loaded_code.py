"""Machine code: compiled once per machine, loaded once per process; LLVM only if needed."""

import subprocess
import sys
from pathlib import Path

import pytest

from anyshape.base.options import Options
from anyshape.codegen.llvm import compiler as compiler_module
from anyshape.execute import compile_graph
from anyshape.ir import parse

MODEL = """
axes { batch: 0..   seq: 0.. }
graph block(x: f32[batch, 2, seq, 32], w: f32[32, 32], b: f32[32]) -> f32[batch, 2, seq, 32] {
  %0 = dense(x, w, b) {activation=gelu}
  %1 = attention(%0, %0, x) {scale=0.5}
  %2 = softmax(%1) {axis=3}
  return %2
}
"""

SCRIPT = """
import sys
from pathlib import Path
import numpy as np
from anyshape.base.options import Options
from anyshape.execute import compile_graph
from anyshape.ir import parse
executable = compile_graph(parse(sys.argv[2]), Options(cache_dir=Path(sys.argv[1])))
x, w, b = np.ones((2, 2, 3, 32), "f"), np.ones((32, 32), "f"), np.ones(32, "f")
(result,) = executable(x, w, b)
print(result.sum().round(3), "llvmlite" in sys.modules, "anyshape.codegen.llvm.emit" in sys.modules)
"""


def test_a_warm_process_never_loads_llvm(tmp_path: Path) -> None:
    command = [sys.executable, "-c", SCRIPT, str(tmp_path), MODEL]
    runs = [subprocess.run(command, capture_output=True, text=True, check=True) for _ in range(2)]
    assert [run.stdout for run in runs] == ["12.0 True True\n", "12.0 False False\n"]


def test_equal_kernels_are_compiled_once_per_process(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = parse(MODEL.replace("0.5", "0.25"))
    options = Options(cache_dir=None)
    first = compile_graph(graph, options)
    monkeypatch.setattr(compiler_module, "compile_many", _refuse)
    second = compile_graph(graph, options)
    assert second.as_text() == first.as_text()


def test_code_goes_with_its_last_user(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = parse(MODEL.replace("0.5", "0.125"))
    options = Options(cache_dir=None)
    compile_graph(graph, options)
    monkeypatch.setattr(compiler_module, "compile_many", _refuse)
    with pytest.raises(AssertionError, match="compiled again"):
        compile_graph(graph, options)


def test_perf_is_told_of_all_code_if_asked() -> None:
    """In a process of its own: the map is the process's."""
    script = PERF_SCRIPT.replace("MODEL", repr(MODEL))
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    had_any, *names = done.stdout.split()
    assert had_any == "False"
    assert {"bind", "kernel", "shape"} <= set(names)


PERF_SCRIPT = """
import os
from pathlib import Path
from anyshape.base.options import Options
from anyshape.execute import compile_graph
from anyshape.ir import parse
perf_map = Path(f"/tmp/perf-{os.getpid()}.map")
perf_map.unlink(missing_ok=True)
compile_graph(parse(MODEL), Options())
had_any = perf_map.exists()
compile_graph(parse(MODEL), Options(perf_map=True))
print(had_any, *sorted({line.split()[2] for line in perf_map.read_text().splitlines()}))
perf_map.unlink()
"""


def _refuse(sources: list[object], *_: object, **__: object) -> list[bytes]:
    assert not sources, "compiled again"
    return []


def test_a_kernel_that_layers_share_is_written_as_text_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    layers = "\n".join(f"  %{i + 1} = cumsum(%{i}) {{axis=1}}" for i in range(12))
    graph = parse(
        "axes { n: 0.. }\n"
        "graph g(x: f32[n, 8]) -> f32[n, 8] {\n  %0 = cumsum(x) {axis=1}\n"
        f"{layers}\n  return %12\n}}\n"
    )
    keys: list[object] = []
    own = compiler_module.Compiler.key
    noted = lambda self, source: keys.append(source) or own(self, source)  # noqa: E731
    monkeypatch.setattr(compiler_module.Compiler, "key", noted)
    executable = compile_graph(graph, Options(cache_dir=None, calibrate=False), threads=1)
    assert len(executable.kernels) >= 13
    assert len(keys) == len({id(key) for key in keys}) <= 4
