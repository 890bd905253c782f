"""What the programs of one model have in common: copies of its weights, each made once.

torch takes seconds to follow a large model, in Python. Copying half a gigabyte meanwhile costs
nothing that anybody waits for: a thread makes the copies of a model's tensors from when an export
begins, and whoever needs one waits for that one. Tensors that share memory share the copy.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import torch

from anyshape.frontend.aten.dtypes import is_known
from anyshape.frontend.builder.arrays import as_array
from anyshape.ir.literal import WeightStore
from anyshape.ir.types import Array

WORTH_A_THREAD = 1 << 24
"""Bytes: fewer are copied when they are needed."""

Memory = tuple[int, tuple[int, ...], tuple[int, ...], np.dtype[Any]]

_PLAIN = (torch.Tensor, torch.nn.Parameter)


class _Copy(NamedTuple):
    source: Array  # alive, so that nothing else comes to lie at its address
    made: Future[Array]


@dataclass(frozen=True)
class SharedTensors:
    """Weights are held once, and a buffer that one of the programs updates is `state` of all.
    Constants are copies of the model's tensors, unless these are `given` away."""

    given: bool = False
    weights: WeightStore = field(default_factory=WeightStore)
    state: set[str] = field(default_factory=set[str])
    _copies: dict[Memory, _Copy] = field(default_factory=dict[Memory, _Copy])

    def constant(self, tensor: Any) -> Array:
        """The elements of a tensor of the model that no call changes."""
        source = as_array(tensor)
        if self.given:
            return source
        copy = self._copies.get(_memory(source))
        if copy is None:
            copy = self._copies[_memory(source)] = _Copy(source, Future[Array]())
            copy.made.set_result(source.copy())
        return copy.made.result()

    @contextmanager
    def of_module(self, module: Any) -> Generator[SharedTensors]:
        """Within, programs of a module are made, and its tensors are being copied. Afterwards
        copies are the graphs' own, which may let go of them."""
        try:
            self._begin([*module.parameters(), *module.buffers()])
            yield self
        finally:
            for copy in self._copies.values():
                copy.made.cancel()
            self._copies.clear()

    def _begin(self, tensors: Iterable[Any]) -> None:
        """Copies these from now on, if they are worth it."""
        plain = [] if self.given else [as_array(each) for each in tensors if _is_plain(each)]
        if sum(source.nbytes for source in plain) < WORTH_A_THREAD:
            return
        sources = {_memory(source): source for source in plain}
        thread = ThreadPoolExecutor(1, "anyshape-weights")
        for memory, source in sources.items():
            self._copies[memory] = _Copy(source, thread.submit(source.copy))
        thread.shutdown(wait=False)  # it ends when the last copy is made


def _memory(array: Array) -> Memory:
    return array.ctypes.data, array.shape, array.strides, array.dtype


def _is_plain(tensor: Any) -> bool:
    """Whether NumPy reads its elements where they are."""
    if type(tensor) not in _PLAIN or not is_known(tensor.dtype):
        return False
    return tensor.device.type == "cpu" and tensor.layout is torch.strided and not tensor.is_neg()
