"""Where a size turned out to be one number: the line, and the weights that the op there has.

Asked in the middle of an export, when an op compares the sizes of its operands.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from types import FrameType
from typing import Any

import torch

from anyshape.base.location import Location
from anyshape.frontend.aten.torch_paths import TORCH_FOLDER
from anyshape.frontend.torch_export.askers import location_in_model

_LAYERS = f"{TORCH_FOLDER}nn{os.sep}"


@dataclass(frozen=True, slots=True)
class FixingOp:
    """The line of an op, and its operands that are weights: `encoder.fc.weight`, [4, 4]."""

    location: Location
    weights: Mapping[str, tuple[int, ...]]


def fixing_op() -> FixingOp:
    """The op whose sizes torch compares right now."""
    here = sys._getframe()  # pyright: ignore[reportPrivateUsage]
    frames = list(_outwards(here))
    layer = next((f for f in frames if f.f_code.co_filename.startswith(_LAYERS)), None)
    location = location_in_model(here)
    if location.file == __file__ and layer is not None:  # the model is a layer of torch's
        location = Location(layer.f_code.co_filename, layer.f_lineno)
    return FixingOp(location, _weights(frames))


def _outwards(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _weights(frames: list[FrameType]) -> dict[str, tuple[int, ...]]:
    """Parameters and buffers of the exported module among the operands of the op."""
    root = next((r for f in frames if (r := _exported_module(f)) is not None), None)
    if root is None:
        return {}
    operands = {id(operand) for frame in frames for operand in _operands(frame)}
    named = chain(root.named_parameters(), root.named_buffers())
    return {name: tuple(tensor.shape) for name, tensor in named if id(tensor) in operands}


def _exported_module(frame: FrameType) -> Any:
    """torch.export wraps it."""
    return getattr(frame.f_locals.get("self"), "_export_root", None)


def _operands(frame: FrameType) -> Iterator[Any]:
    """The tensors that a function of torch is called with."""
    if frame.f_code.co_name == "__torch_function__":
        args: Any = frame.f_locals.get("args") or ()
        kwargs: Any = frame.f_locals.get("kwargs") or {}
        yield from (each for each in (*args, *kwargs.values()) if isinstance(each, torch.Tensor))
