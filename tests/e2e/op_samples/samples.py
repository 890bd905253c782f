"""The samples that torch has for its ops, a few of each: `OpInfo.sample_inputs`.

torch tests its backends with them. Those of an op differ in ranks, sizes 0 and 1, broadcasting and
options; a few that lie evenly among all of them are taken, the same ones each time.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import Any

import torch
from torch.utils import _pytree as pytree

COUNTS = {torch.float32: 3, torch.int64: 2, torch.bool: 1}
"""How many samples of each dtype an op of the core set is tried with."""

FEWER = {torch.float32: 2, torch.int64: 1, torch.bool: 1}
"""The same for all others."""

_LOOKED_AT = 60
"""Of how many samples they are chosen: some ops have thousands."""


@dataclass(frozen=True)
class Sample:
    """A call of an op: its tensors, in order, and how to make the call of such tensors."""

    call: Callable[[Sequence[Any]], list[Any]]
    tensors: list[Any]
    dtype: torch.dtype


@cache
def all_ops() -> dict[str, Any]:
    """torch's table of ops by name, with the variant: `div.floor_rounding`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from torch.testing._internal import common_methods_invocations
    return {info.full_name: info for info in common_methods_invocations.op_db}


def samples_of(info: Any, counts: Mapping[torch.dtype, int]) -> list[Sample]:
    """Those of an op that eager mode takes."""
    return [
        sample
        for dtype, count in counts.items()
        if info.supports_dtype(dtype, "cpu")
        for sample in _chosen(info, dtype, count)
    ]


def _chosen(info: Any, dtype: torch.dtype, count: int) -> Iterator[Sample]:
    torch.manual_seed(0)
    given = list(islice(info.sample_inputs("cpu", dtype, requires_grad=False), _LOOKED_AT))
    step = max(1, (len(given) - 1) // max(1, count - 1)) if count > 1 else 1
    for sample in given[::step][:count]:
        made = _sample(info, sample, dtype)
        if runs(made):
            yield made


def _sample(info: Any, given: Any, dtype: torch.dtype) -> Sample:
    leaves, spec = pytree.tree_flatten((given.input, given.args, given.kwargs))
    places = [at for at, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]

    def call(tensors: Sequence[Any]) -> list[Any]:
        filled = list(leaves)
        for place, tensor in zip(places, tensors, strict=True):
            filled[place] = tensor
        first, args, kwargs = pytree.tree_unflatten(filled, spec)
        return pytree.tree_leaves(info.op(first, *args, **kwargs))

    return Sample(call, [leaves[place] for place in places], dtype)


def runs(sample: Sample) -> bool:
    """Whether eager mode takes it."""
    try:
        sample.call(copies(sample.tensors))
    except Exception:
        return False
    return True


def copies(tensors: Sequence[Any]) -> list[Any]:
    """Tensors that an op may write into."""
    return [tensor.detach().clone() for tensor in tensors]


def grown(tensors: Sequence[Any]) -> list[Any]:
    """The same tensors with one more of every size above 1: what is behind begins anew, so that
    numbers stay those that the op takes."""
    return [_grown(tensor) for tensor in tensors]


def _grown(tensor: Any) -> Any:
    for axis, size in enumerate(tensor.shape):
        if size > 1:
            tensor = tensor.index_select(axis, torch.arange(size + 1) % size)
    return tensor


def apart(tensors: Sequence[Any]) -> list[Any]:
    """The same tensors with other strides, and gaps between elements."""
    return [_apart(tensor) for tensor in tensors]


def _apart(tensor: Any) -> Any:
    if not tensor.dim():
        return tensor.detach().clone()
    wide = torch.zeros((*reversed(tensor.shape), 2), dtype=tensor.dtype)
    view = wide[..., 0].permute(*reversed(range(tensor.dim())))
    view.copy_(tensor)
    return view
