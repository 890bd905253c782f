"""A few ATen ops as an imported graph, without torch's own decompositions in between."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental import _config as symbolic_config
from torch.fx.experimental.symbolic_shapes import (
    DimDynamic,
    ShapeEnv,
    StatelessSymbolicContext,
)

from anyshape.api.graph_calls import graph_arrays, returned_leaves
from anyshape.frontend.dynamo import import_fx_graph


@dataclass(frozen=True)
class Input:
    """A tensor: sizes by letter or number, and how its elements are made."""

    shape: tuple[str | int, ...]
    make: Callable[..., Any] = field(default=torch.randn)

    def tensor(self, binding: dict[str, int]) -> Any:
        return self.make([binding.get(str(size), size) for size in self.shape])


@dataclass(frozen=True)
class Case:
    """A function of tensors that calls the op, and its inputs."""

    function: Callable[..., Any]
    inputs: tuple[Input, ...]
    expected: Callable[..., Any] | None = None  # where torch's own op cannot take size 0


def imported(case: Case) -> Any:
    """The graph, whose lettered sizes are symbolic."""
    module: Any = torch.fx.symbolic_trace(_positional(case))
    with symbolic_config.patch(backed_size_oblivious=True), torch.no_grad():
        mode = FakeTensorMode(shape_env=ShapeEnv())
        fakes = [_fake(mode, spec) for spec in case.inputs]
        with mode:
            _Recorder(module).run(*fakes)
    return import_fx_graph(module, "case", {})


def run(program: Any, executable: Any, tensors: Sequence[Any]) -> list[Any]:
    results = executable(*graph_arrays(program.sources, tensors, {}))
    return returned_leaves(program.returned, results, torch_out=True)


class _Recorder(torch.fx.Interpreter):
    """Leaves each node's result where importers look for it."""

    def run_node(self, n: Any) -> Any:
        n.meta["val"] = super().run_node(n)
        return n.meta["val"]


def _positional(case: Case) -> Any:
    names = ", ".join("abcdef"[: len(case.inputs)])
    return eval(f"lambda {names}: function({names})", {"function": _several(case.function)})


def _several(function: Callable[..., Any]) -> Callable[..., Any]:
    """Results as a tuple, as dynamo has them."""

    def call(*tensors: Any) -> tuple[Any, ...]:
        results = function(*tensors)
        return results if isinstance(results, tuple) else (results,)

    return call


def _fake(mode: Any, spec: Input) -> Any:
    tensor = spec.tensor({"n": 5, "m": 7, "k": 11})
    kinds = [DimDynamic.DYNAMIC if isinstance(s, str) else DimDynamic.STATIC for s in spec.shape]
    context = StatelessSymbolicContext(dynamic_sizes=kinds)
    return mode.from_tensor(tensor, symbolic_context=context)
