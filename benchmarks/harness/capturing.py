"""What a module of torch takes until it runs, and what torch alone takes to export it.

Each function is for a process that has done nothing before. Imports and the making of the module
are paid before the clock starts; what torch loads at its first export, both pay.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import NamedTuple

from benchmarks.harness.engines import library
from benchmarks.harness.model import TorchModel
from benchmarks.harness.module_engines import dynamic_shapes, example

# ruff: noqa: PLC0415 - anyshape is imported by the processes that use it


class Phases(NamedTuple):
    """Seconds of the wall clock."""

    capture: float  # everything before level 1
    level_1: float

    @property
    def total(self) -> float:
        return self.capture + self.level_1


def export_seconds(model: TorchModel) -> float:
    """One plain export with every named axis dynamic, without decompositions."""
    torch = library("torch")
    module, arguments = model.module(), example(model)
    shapes = dynamic_shapes(model)
    start = time.perf_counter()
    with torch.no_grad():
        torch.export.export(module, arguments, dynamic_shapes=shapes, strict=False)
    return time.perf_counter() - start


def phases(model: TorchModel, folder: str) -> Phases:
    """As `anyshape.compile` goes about it, with a cache of kernels in a folder."""
    import anyshape as ash
    from anyshape.api.torch_compile import captured_model
    from anyshape.base.options import Options

    module, arguments = model.module(), example(model)
    start = time.perf_counter()
    captured = captured_model(module, arguments, {}, model.signature, None, {})
    between = time.perf_counter()
    ash.compile(captured.program.graph, options=Options(cache_dir=Path(folder)))
    return Phases(between - start, time.perf_counter() - between)
