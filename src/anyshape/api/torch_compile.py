"""What `compile` is given of PyTorch, captured as a graph."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from anyshape.api.consume import refuse_consumed
from anyshape.api.transformers_caches import cache_axes, refuse_lost_caches, register_caches
from anyshape.base.errors import OptionError
from anyshape.frontend.imported.call_signature import Parameters
from anyshape.frontend.imported.program import ImportedModel
from anyshape.frontend.torch_export import capture_module, capture_program
from anyshape.frontend.torch_export.sources import as_module, refuse_scripted
from anyshape.sym import Fact


def module_of(source: Any) -> Any:
    """The module, or ExportedProgram, that `compile` captures: a function is made one."""
    refuse_scripted(source)
    if isinstance(source, (torch.nn.Module, torch.export.ExportedProgram)):
        return getattr(source, "_orig_mod", source)  # what torch.compile has wrapped
    return as_module(source)


def captured_model(
    source: Any,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    axes: Mapping[str, Any] | None,
    dynamic_shapes: Any,
    names: Mapping[str, str],
    *,
    where: tuple[Fact, ...] = (),
    consume: bool = False,
    branches: int = 1,
) -> ImportedModel:
    """The graphs of a module at an example call, or the one of an ExportedProgram."""
    refuse_consumed(source)
    if isinstance(source, torch.export.ExportedProgram):
        if args or kwargs or dynamic_shapes is not None:
            expected = "left out: an ExportedProgram has its example and its shapes"
            raise OptionError("args, kwargs or dynamic_shapes", "...", expected)
        return capture_program(source, axes, names, where=where, share=consume)
    if axes is not None and dynamic_shapes is not None:
        raise OptionError("dynamic_shapes", "...", "left out where axes are given")
    register_caches(source)
    if dynamic_shapes is None:
        axes = cache_axes(axes, Parameters.of(source.forward).bind(args, kwargs))
    call = source, args, kwargs, axes, dynamic_shapes, names
    model = capture_module(*call, where=where, share=consume, branches=branches)
    refuse_lost_caches(model)
    return model
