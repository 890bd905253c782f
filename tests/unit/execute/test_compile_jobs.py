"""`Options(compile_jobs=)`: how many processes compile the kernels of a graph."""

import pytest

from anyshape.base.options import Options
from anyshape.codegen.llvm import workers
from anyshape.execute import compile_graph
from anyshape.ir import parse

GRAPH = """
axes { n: 0.. }
graph kernels(x: f32[n, 2, 3]) -> (f32[2, 3], f32[n, 3], f32[n, 2]) {
  %0 = sum(x) {axes=[0]}
  %1 = sum(x) {axes=[1]}
  %2 = sum(x) {axes=[2]}
  return %0, %1, %2
}
"""


@pytest.mark.parametrize(("jobs", "workers_started"), [(1, 0), (2, 1), (3, 2)])
def test_so_many_processes_compile(
    monkeypatch: pytest.MonkeyPatch, jobs: int, workers_started: int
) -> None:
    started: list[object] = []
    make = workers._Worker.__init__

    def counted(self: workers._Worker, *arguments: object) -> None:
        started.append(self)
        make(self, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(workers, "SOURCES_PER_WORKER", 1)
    monkeypatch.setattr(workers._Worker, "__init__", counted)
    compile_graph(parse(GRAPH), Options(cache_dir=None, compile_jobs=jobs, calibrate=False))
    assert len(started) == workers_started
