"""`torch.compile(model, backend="anyshape", dynamic=True)`.

Each graph that dynamo captures is compiled once for all sizes that it leaves symbolic. Parameters
are constants of the compiled graph: they are packed at the first call, and again when one of them
has changed. What cannot be compiled is an error, unless `options={"fallback": True}` says that
torch itself shall run such graphs; a warning then names what was missing.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any

from functorch.compile import make_boxed_func  # pyright: ignore[reportMissingTypeStubs]
from torch._decomp import core_aten_decompositions
from torch._dynamo.backends.common import aot_autograd
from torch._guards import TracingContext

from anyshape.api.torch_module import graph_arrays, returned_leaves
from anyshape.base.errors import AnyshapeError, OptionError, TraceError
from anyshape.execute import Executable, ExecutorName, compile_graph
from anyshape.frontend.dynamo import import_fx_graph
from anyshape.frontend.torch_export import entries
from anyshape.frontend.torch_export.capture import KEPT
from anyshape.frontend.torch_export.program import ImportedProgram

__all__ = ["DynamoGraph", "anyshape", "entries"]


@dataclass(frozen=True, slots=True)
class BackendOptions:
    """What `options=` of torch.compile may hold; see `anyshape.compile`."""

    executor: ExecutorName = "native"
    threads: int = 0
    strict: bool = False
    fallback: bool = False

    @staticmethod
    def of(mode: str | None, given: Mapping[str, Any] | None) -> BackendOptions:
        if mode not in (None, "default"):
            raise OptionError("mode", str(mode), "None or 'default'")
        for name in (given or {}).keys() - BackendOptions.__slots__:
            known = ", ".join(BackendOptions.__slots__)
            raise OptionError("options", name, f"one of {known}")
        return BackendOptions(**(given or {}))


class DynamoGraph:
    """One graph of dynamo's, compiled at the first call, when its parameters are known."""

    def __init__(self, module: Any, constants: Sequence[int], options: BackendOptions) -> None:
        self.module = module
        self.options = options
        self.executable: Executable | None = None
        self._constants = tuple(constants)
        self._versions: list[tuple[int, int]] | None = None
        self._imported: ImportedProgram | None = None
        self._lock = Lock()

    def __call__(self, *args: Any) -> Sequence[Any]:
        versions = [_version(args[number]) for number in self._constants]
        if versions != self._versions:
            with self._lock:
                self._compile(args)
                self._versions = versions
        if self._imported is None or self.executable is None:
            return self.module(*args)
        results = self.executable(*graph_arrays(self._imported.sources, args, {}))
        return returned_leaves(self._imported.returned, results, torch_out=True)

    def _compile(self, args: Sequence[Any]) -> None:
        chosen = self.options
        constants = {number: args[number] for number in self._constants}
        try:
            imported = import_fx_graph(self.module, "graph", constants)
            self.executable = compile_graph(
                imported.graph,
                executor=chosen.executor,
                threads=chosen.threads,
                strict=chosen.strict,
            )
            self._imported = imported
        except AnyshapeError as error:
            if not chosen.fallback:
                raise
            warnings.warn(f"torch runs a graph instead of anyshape: {error}", stacklevel=2)


def _version(tensor: Any) -> tuple[int, int]:
    """Changes when a tensor's memory or, outside of inference mode, its content does."""
    return tensor.data_ptr(), 0 if tensor.is_inference() else tensor._version


_graphs: list[DynamoGraph] = []


def anyshape(
    gm: Any,
    example_inputs: Sequence[Any],
    *,
    mode: str | None = None,
    options: Mapping[str, Any] | None = None,
) -> Callable[..., Any]:
    """The backend: called by dynamo once per captured graph."""
    chosen = BackendOptions.of(mode, options)

    def for_inference(module: Any, inputs: Sequence[Any]) -> Any:
        context: Any = TracingContext.get()
        graph = DynamoGraph(module, context.fw_metadata.static_input_indices or (), chosen)
        _graphs.append(graph)
        return make_boxed_func(graph)

    def for_training(module: Any, inputs: Sequence[Any]) -> Any:
        if not chosen.fallback:
            raise TraceError(
                "torch.compile",
                "anyshape computes no gradients, and this graph needs them",
                "call the model under torch.no_grad(), or pass options={'fallback': True}",
            )
        warnings.warn("torch runs a graph that needs gradients", stacklevel=2)
        return make_boxed_func(module)

    compiler: Any = aot_autograd(
        fw_compiler=for_training, inference_compiler=for_inference, decompositions=_decompositions()
    )
    return compiler(gm, example_inputs)


def _decompositions() -> dict[Any, Callable[..., Any]]:
    table: Any = core_aten_decompositions()
    return {op: function for op, function in table.items() if str(op) not in KEPT}


def compiled_graphs() -> tuple[DynamoGraph, ...]:
    """The graphs compiled so far, in order; `torch._dynamo.reset()` forgets them."""
    return tuple(_graphs)


anyshape.reset = _graphs.clear  # pyright: ignore[reportFunctionMemberAccess]  dynamo calls it
