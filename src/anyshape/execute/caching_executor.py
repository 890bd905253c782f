"""An executor that remembers: results of earlier calls, where the inputs are the same.

It stands in front of any other executor. Only results that depend on nothing but the inputs can be
kept, so `compile` refuses graphs with effects. An input must not change while a call runs, which
holds for every call; here a wrong result would outlive it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NoReturn

from anyshape.base.errors import NotSavableError, ResultCacheError
from anyshape.execute.capabilities import all_nodes
from anyshape.execute.executor import ExecutableMemory, Executor, Out
from anyshape.execute.result_cache import Digest, ResultCache, ResultCounters, digest_of
from anyshape.execute.tensors import as_numpy
from anyshape.execute.wrapper import ExecutorWrapper
from anyshape.ir.graph import Graph
from anyshape.ir.inputs import tensor_inputs
from anyshape.ir.opdef import Trait
from anyshape.ir.types import Array
from anyshape.ops.torch_call import op_name
from anyshape.runtime.limits import UNLIMITED, RunLimits
from anyshape.runtime.program import Metrics
from anyshape.saved.container import Blobs


def with_result_cache(graph: Graph, executor: Executor, chosen: int | ResultCache) -> Executor:
    """The executor with a cache in front of it: a given one, or one of so many bytes."""
    cache = chosen if isinstance(chosen, ResultCache) else ResultCache(chosen)
    return CachingExecutor(graph, executor, cache)


def refuse_effects(graph: Graph) -> None:
    """Names what makes results differ between calls with the same inputs."""
    effects = Counter(op_name(n) for n in all_nodes(graph.body) if n.op.has(Trait.EFFECT))
    if effects:
        raise ResultCacheError(graph.name, {f"op '{op}'": n for op, n in sorted(effects.items())})


class CachingExecutor(ExecutorWrapper[Executor]):
    """The results of `executor`, computed or remembered."""

    def __init__(self, graph: Graph, executor: Executor, cache: ResultCache) -> None:
        super().__init__(executor)
        self.cache = cache
        self._dtypes = [type_.dtype.numpy for _, type_ in tensor_inputs(graph)]
        self._counters = ResultCounters()

    def run(self, arrays: Sequence[Any]) -> tuple[Array, ...]:
        return self.run_within(arrays, UNLIMITED)

    def run_within(
        self, arrays: Sequence[Any], limits: RunLimits, out: Out | None = None
    ) -> tuple[Array, ...]:
        """A remembered call needs no memory but that of its results, which are never `out`."""
        limits.check()
        digest = self._digest(arrays)
        if digest is None:
            return self.results_of(arrays, limits)
        found = self.cache.find(self._counters, digest)
        if found is not None and _fits(found, limits):
            return found
        results = self.results_of(arrays, limits)
        self.cache.keep(self._counters, digest, results)
        return results

    def _digest(self, arrays: Sequence[Any]) -> Digest | None:
        """None for inputs that the executor will refuse: it knows how to say why."""
        try:
            given = [as_numpy(array) for array in arrays]
        except (AttributeError, BufferError, RuntimeError, TypeError, ValueError):
            return None
        return digest_of(given) if [array.dtype for array in given] == self._dtypes else None

    def trim(self) -> None:
        self.cache.forget(self._counters)
        self.executor.trim()

    def metrics(self) -> Metrics:
        counted = self._counters
        return self.executor.metrics()._replace(
            result_hits=counted.hits,
            result_misses=counted.misses,
            result_evictions=counted.evictions,
            results=counted.entries,
            result_bytes=counted.bytes,
        )

    def memory(self) -> ExecutableMemory:
        return self.executor.memory()._replace(results=self._counters.bytes)

    def record(self, name: str, blobs: Blobs) -> NoReturn:
        raise NotSavableError(name, {"a cache of results": 1}, "compile it without result_cache")


def _fits(results: Sequence[Array], limits: RunLimits) -> bool:
    limit = limits.memory_limit
    return limit is None or sum(result.nbytes for result in results) <= limit
