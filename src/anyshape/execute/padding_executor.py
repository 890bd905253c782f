"""An executor in front of another one: arrays are padded to the buckets of their axes, results cut
back to the sizes of the call.

The program behind it has masks (`dynamic/masks.py`), so that padding may hold anything. Sizes are
worked out once for each shape of arrays and kept, as level 2 is.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from anyshape.base.fork_lock import fork_lock
from anyshape.dynamic.buckets import PaddedCall, PaddedGraph
from anyshape.dynamic.masks import valid_size
from anyshape.execute.executor import Executor, Out, Steps
from anyshape.execute.specialization import Specialization
from anyshape.execute.tensors import as_numpy, shape_of
from anyshape.execute.wrapper import ExecutorWrapper
from anyshape.ir.inputs import entry_plan
from anyshape.ir.types import Array
from anyshape.runtime.limits import UNLIMITED, RunLimits
from anyshape.runtime.program import Estimate, Metrics
from anyshape.saved.container import Blobs
from anyshape.saved.records import CourseRecord, PaddedRecord, ProgramRecord

MOST_SHAPES: Final = 1024
"""So many shapes of arrays are remembered with their sizes."""

Allocate = Callable[[tuple[int, ...], "np.dtype[Any]"], Array]


class PaddingExecutor(ExecutorWrapper[Executor]):
    """The results of `executor`, which runs the padded graph."""

    def __init__(self, executor: Executor, padded: PaddedGraph) -> None:
        super().__init__(executor)
        self.padded = padded
        self.allocate: Allocate = np.zeros  # what padding holds; nothing depends on it
        self._bindings = entry_plan(padded.source)
        self._names = {axis.name: valid_size(axis.symbol).name for axis in padded.axes}
        self._calls: OrderedDict[tuple[tuple[int, ...], ...], PaddedCall] = OrderedDict()
        self._lock = fork_lock()
        self._valid = self._taken = 0

    def run(self, arrays: Sequence[Any]) -> tuple[Array, ...]:
        return self.run_within(arrays, UNLIMITED)

    def run_within(
        self, arrays: Sequence[Any], limits: RunLimits, out: Out | None = None
    ) -> tuple[Array, ...]:
        """Results are cut from what the program made, and so never `out`."""
        call = self._call(arrays)
        results = self.results_of(self._lengthened(arrays, call), limits)
        self._count(call)
        return tuple(map(_cut, results, call.results))

    def steps(self, arrays: Sequence[Any]) -> Steps:
        """Steps show padded values; results are cut."""
        call = self._call(arrays)
        results = yield from self.executor.steps(self._lengthened(arrays, call))
        return tuple(map(_cut, results, call.results))

    # --- sizes --------------------------------------------------------------------------------

    def _call(self, arrays: Sequence[Any]) -> PaddedCall:
        shapes = tuple(map(shape_of, arrays))
        with self._lock:
            call = self._calls.get(shapes)
            if call is not None:
                self._calls.move_to_end(shapes)
                return call
        call = self.padded.call(self._bindings.solve(shapes))
        with self._lock:
            self._calls[shapes] = call
            if len(self._calls) > MOST_SHAPES:
                self._calls.popitem(last=False)
        return call

    def _lengthened(self, arrays: Sequence[Any], call: PaddedCall) -> tuple[Any, ...]:
        given = [
            array if sizes is None else self._padded_array(as_numpy(array), sizes)
            for array, sizes in zip(arrays, call.inputs, strict=True)
        ]
        return (*given, *(np.empty((size, 0), np.bool_) for size in call.valid))

    def _padded_array(self, array: Array, sizes: tuple[int, ...]) -> Array:
        longer = self.allocate(sizes, array.dtype)
        longer[tuple(map(slice, array.shape))] = array
        return longer

    def _count(self, call: PaddedCall) -> None:
        with self._lock:
            self._valid += call.elements
            self._taken += call.padded_elements

    def _inner(self, sizes: Mapping[str, int]) -> Mapping[str, int]:
        """The binding of the program for one of the caller's; what is wrong with it is for the
        program to say."""
        names = {axis.name: axis.symbol for axis in self._bindings.axes}
        if names.keys() != sizes.keys():
            return {**sizes, **{self._names[n]: sizes[n] for n in self._names.keys() & sizes}}
        binding = {names[name]: size for name, size in sizes.items()}
        self._bindings.check(binding)
        return self.padded.call(binding).binding

    def _outer(self, binding: Mapping[str, int]) -> Mapping[str, int]:
        """The caller's binding of one of the program's."""
        valid = {name: binding[inner] for name, inner in self._names.items()}
        return {n: valid.get(n, s) for n, s in binding.items() if n not in self._names.values()}

    def specialize(self, sizes: Mapping[str, int], limit: int | None = None) -> Specialization:
        return self.executor.specialize(self._inner(sizes), limit)

    def planned_bytes(self, sizes: Mapping[str, int], limit: int | None = None) -> int | None:
        return self.executor.planned_bytes(self._inner(sizes), limit)

    def estimate(self, sizes: Mapping[str, int]) -> Estimate | None:
        return self.executor.estimate(self._inner(sizes))

    def unpadded_estimate(self, sizes: Mapping[str, int]) -> Estimate | None:
        """The same of a call whose sizes are buckets."""
        return self.executor.estimate({**sizes, **{self._names[n]: sizes[n] for n in self._names}})

    def reserve(self, sizes: Mapping[str, int]) -> None:
        self.executor.reserve(self._inner(sizes))

    def bindings_seen(self) -> Sequence[Mapping[str, int]]:
        return list(map(self._outer, self.executor.bindings_seen()))

    def metrics(self) -> Metrics:
        """Elements of arrays along padded axes: as they were passed, and as they were computed."""
        with self._lock:
            counted = {"valid_elements": self._valid, "padded_elements": self._taken}
        return self.executor.metrics()._replace(**counted)

    def record(self, name: str, blobs: Blobs) -> PaddedRecord:
        inner = self.executor.record(name, blobs)
        assert isinstance(inner, ProgramRecord | CourseRecord), "what is padded is one graph"
        return PaddedRecord(blobs.add(self.padded.graph.as_text().encode()), inner)


def _cut(result: Array, sizes: tuple[int, ...] | None) -> Array:
    """As much of a result as is the caller's, dense: one that begins with all of it is a part of
    the memory it came in."""
    if sizes is None:
        return result
    part = result[tuple(slice(None) if size < 0 else slice(size) for size in sizes)]
    return np.ascontiguousarray(part) if part.ndim else part
