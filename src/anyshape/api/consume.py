"""A torch model that gives its weights up: the model compiled from it holds them, once.

The graph's constants share the memory of the model's tensors. Those are emptied before the weights
are packed, so that packing one weight ends its first form before the next one is packed. Where
compiling fails, the model gets its weights back.
"""

from __future__ import annotations

import gc
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any, NoReturn

import numpy as np
import torch

from anyshape.base.errors import ConsumedError
from anyshape.execute.tensors import as_torch
from anyshape.frontend.imported.program import ImportedModel


@contextmanager
def giving_up(source: Any, imported: ImportedModel) -> Generator[None]:
    """Within, a module or an exported program has no weights; afterwards it refuses to be used."""
    tensors = _tensors(source)
    holders = {name: program for program in imported.programs for name in program.constants}
    taken = {name: tensor for name, tensor in tensors.items() if name in holders}
    _empty(taken)
    gc.collect()  # what torch made while it exported is in cycles, and views of weights with it
    try:
        yield
    except BaseException:
        for name, tensor in taken.items():
            tensor.data = as_torch(np.array(holders[name].constant(name)))
        raise
    _empty(tensors)
    _refuse_use(source)


def refuse_consumed(source: Any) -> None:
    """Says so if a model has given its weights up."""
    is_program = isinstance(source, torch.export.ExportedProgram)
    entries = [source.module] if is_program else source._forward_pre_hooks.values()
    for entry in entries:
        if isinstance(entry, _Refusal):
            entry()


def _tensors(source: Any) -> dict[str, Any]:
    """All parameters and buffers under all their names."""
    if isinstance(source, torch.export.ExportedProgram):
        made = source.constants.items()
        return {**source.state_dict, **{n: v for n, v in made if isinstance(v, torch.Tensor)}}
    parameters = dict(source.named_parameters(remove_duplicate=False))
    return {**parameters, **dict(source.named_buffers(remove_duplicate=False))}


def _empty(tensors: Mapping[str, Any]) -> None:
    for tensor in tensors.values():
        tensor.data = torch.empty(0, dtype=tensor.dtype)


class _Refusal:
    """Called before a model's own functions, or in their place."""

    def __init__(self, model: str) -> None:
        self.model = model

    def __call__(self, *_: Any, **__: Any) -> NoReturn:
        raise ConsumedError(self.model)


def _refuse_use(source: Any) -> None:
    refusal = _Refusal(type(source).__name__)
    if isinstance(source, torch.export.ExportedProgram):
        source.module = refusal  # pyright: ignore[reportAttributeAccessIssue]
        return
    for part in source.modules():
        part.register_forward_pre_hook(refusal, prepend=True)
        part.register_state_dict_pre_hook(refusal)
