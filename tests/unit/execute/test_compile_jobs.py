"""`Options(compile_jobs=)`: how many processes compile the kernels of a graph, and how many threads
pack its weights."""

import threading
from typing import Any

import numpy as np
import pytest

from anyshape.base.options import Options
from anyshape.codegen.llvm import workers
from anyshape.codegen.llvm.native import LlvmGenerator
from anyshape.execute import compile_graph, link
from anyshape.ir import Builder, Graph, evaluate, parse
from anyshape.ir.types import f32

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


def multilayer() -> Graph:
    """Four products by weights, one of them used twice."""
    b, rng = Builder.at_entry(), np.random.default_rng(0)
    weights = [rng.standard_normal((32, 32), np.float32) for _ in range(4)]
    value = b.param(f32["n", 32])
    for weight in (*weights, weights[0]):
        value = b.emit("tanh", b.emit("dot", value, b.constant(weight), contract=([1], [0])))
    return b.graph("multilayer", ["x"], [value])


@pytest.mark.parametrize("jobs", [1, 3])
def test_weights_are_packed_by_so_many_threads(monkeypatch: pytest.MonkeyPatch, jobs: int) -> None:
    threads: set[str] = set()
    own = link.pack
    noted = lambda *rest: threads.add(threading.current_thread().name) or own(*rest)  # noqa: E731
    monkeypatch.setattr(link, "WORTH_THREADS", 0)
    monkeypatch.setattr(link, "pack", noted)
    options = Options(cache_dir=None, compile_jobs=jobs, calibrate=False)
    compiled, x = compile_graph(multilayer(), options), np.ones((5, 32), np.float32)
    (expected,) = evaluate(multilayer(), x)
    np.testing.assert_allclose(compiled(x)[0], expected, rtol=1e-4, atol=1e-5)
    assert threads
    assert all(name.startswith("anyshape-pack") for name in threads) == (jobs > 1)


def test_code_is_made_while_weights_are_packed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Packing goes on only when code is asked for."""
    own_pack, own_code, asked = link.pack, LlvmGenerator.code, threading.Event()

    def code(*arguments: Any) -> Any:
        asked.set()
        return own_code(*arguments)

    monkeypatch.setattr(link, "WORTH_THREADS", 0)
    monkeypatch.setattr(link, "pack", lambda *rest: own_pack(*rest) if asked.wait(60) else None)
    monkeypatch.setattr(LlvmGenerator, "code", code)
    options = Options(cache_dir=None, compile_jobs=2, calibrate=False)
    compiled, x = compile_graph(multilayer(), options), np.ones((5, 32), np.float32)
    np.testing.assert_allclose(compiled(x)[0], evaluate(multilayer(), x)[0], rtol=1e-4, atol=1e-5)


def test_a_failure_waits_for_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever gets the error has the weights for itself, and all of them."""
    own_pack, failing, packed = link.pack, threading.Event(), list[Any]()

    def fail(*_: Any) -> Any:
        failing.set()
        raise ZeroDivisionError

    def pack(*arguments: Any) -> Any:
        failing.wait(60)
        packed.append(own_pack(*arguments))
        return packed[-1]

    monkeypatch.setattr(link, "WORTH_THREADS", 0)
    monkeypatch.setattr(link, "pack", pack)
    monkeypatch.setattr(LlvmGenerator, "code", fail)
    with pytest.raises(ZeroDivisionError):
        compile_graph(multilayer(), Options(cache_dir=None, compile_jobs=2, calibrate=False))
    assert len(packed) == 4
