"""`torch.compile(model, backend="anyshape", dynamic=True)`.

Each graph that dynamo captures is compiled once for all sizes that it leaves symbolic: those that
are alike in which of them are 0, 1 or more, as dynamo makes numbers of 0 and 1. Parameters are
constants of the compiled graph: they are packed at the first call, and again when one of them
has changed (`parameter_samples` says what is noticed). Ops that anyshape has no form of are
computed by torch's own kernels, and graphs that need gradients are run by torch: a warning says so.
What cannot be compiled for another reason is an error, unless `options={"fallback": True}` says
that torch itself shall run such graphs; a warning then names the reason. `options={"where": ...}`
says what holds between axes, by the names that torch gives them; an axis that a graph does not have
is refused with those it has.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from functorch.compile import make_boxed_func  # pyright: ignore[reportMissingTypeStubs]
from torch._decomp import core_aten_decompositions
from torch._dynamo.backends.common import aot_autograd
from torch._guards import TracingContext

from anyshape.api.graph_calls import graph_arrays, returned_leaves
from anyshape.api.host_ops import report_host_ops
from anyshape.api.parameter_samples import ParameterSamples
from anyshape.base.errors import AnyshapeError, OptionError
from anyshape.base.fork_lock import WorkLock
from anyshape.base.warnings import GradientsWarning
from anyshape.execute import CompileKeywords, CompileOptions, Executable, compile_graph
from anyshape.frontend.aten import entries
from anyshape.frontend.aten.not_decomposed import NOT_DECOMPOSED
from anyshape.frontend.dynamo import import_fx_graph
from anyshape.frontend.imported.program import ImportedProgram
from anyshape.frontend.imported.where import stated
from anyshape.sym import Fact

__all__ = ["DynamoGraph", "anyshape", "entries"]


@dataclass(frozen=True, slots=True)
class BackendOptions:
    """What `options=` of torch.compile may hold: `fallback`, `where`, and all that
    `anyshape.compile` lets one choose."""

    chosen: CompileKeywords
    fallback: bool = False
    where: tuple[Fact, ...] = ()

    @staticmethod
    def of(mode: str | None, given: Mapping[str, Any] | None) -> BackendOptions:
        if mode not in (None, "default"):
            raise OptionError("mode", str(mode), "None or 'default'")
        chosen = dict(given or {})
        names = CompileKeywords.__annotations__.keys() - {"donate", "channels_last"}  # of inputs
        known = (*sorted(names), "fallback", "where")
        for name in chosen.keys() - known:
            raise OptionError("options", name, f"one of {', '.join(known)}")
        fallback, where = chosen.pop("fallback", False), stated(chosen.pop("where", ()), None)
        CompileOptions.of(
            **cast(CompileKeywords, chosen)
        )  # refuses values now, not at the first call
        return BackendOptions(cast(CompileKeywords, chosen), fallback, where)


@dataclass(frozen=True, slots=True)
class _Compiled:
    """A graph with its parameters as they were; without an Executable torch itself runs it."""

    versions: tuple[tuple[int, int], ...]
    samples: ParameterSamples
    executable: Executable | None = None
    imported: ImportedProgram | None = None

    def is_for(self, versions: tuple[tuple[int, int], ...]) -> bool:
        """Whether the parameters are still what they were: where torch counts, and elsewhere."""
        return self.versions == versions and self.samples.unchanged()


class DynamoGraph:
    """One graph of dynamo's, compiled at the first call, when its parameters are known.

    May be called from many threads, also while parameters change: each call uses one `_Compiled`.
    """

    def __init__(self, module: Any, constants: Sequence[int], options: BackendOptions) -> None:
        self.module = module
        self.options = options
        self._constants = tuple(constants)
        self._compiled: _Compiled | None = None
        self._lock = WorkLock()

    @property
    def executable(self) -> Executable | None:
        return self._compiled.executable if self._compiled else None

    def __call__(self, *args: Any) -> Sequence[Any]:
        compiled = self._at(tuple([_version(args[number]) for number in self._constants]), args)
        if compiled.imported is None or compiled.executable is None:
            return self.module(*args)
        results = compiled.executable(*graph_arrays(compiled.imported.sources, args, {}))
        return returned_leaves(compiled.imported.returned, results, torch_out=True)

    def _at(self, versions: tuple[tuple[int, int], ...], args: Sequence[Any]) -> _Compiled:
        """The graph with these parameters, compiled if they are new."""
        compiled = self._compiled
        if compiled is not None and compiled.is_for(versions):
            return compiled
        with self._lock:
            if self._compiled is None or not self._compiled.is_for(versions):
                self._compiled = self._compile(versions, args)
            return self._compiled

    def _compile(self, versions: tuple[tuple[int, int], ...], args: Sequence[Any]) -> _Compiled:
        constants = {number: args[number] for number in self._constants}
        samples = ParameterSamples(list(constants.values()))  # first: they may change meanwhile
        try:
            imported = import_fx_graph(self.module, "graph", constants, self.options.where)
            strict = self.options.chosen.get("strict", False)
            report_host_ops(imported.graph, strict=strict, stacklevel=2)
            executable = compile_graph(imported.graph, **self.options.chosen)
            return _Compiled(versions, samples, executable, imported)
        except AnyshapeError as error:
            if not self.options.fallback:
                raise
            warnings.warn(f"torch runs a graph instead of anyshape: {error}", stacklevel=2)
            return _Compiled(versions, samples)


def _version(tensor: Any) -> tuple[int, int]:
    """Changes when a tensor's memory or, outside of inference mode, its content does."""
    try:
        return tensor.data_ptr(), tensor._version
    except RuntimeError:  # torch counts nothing there
        return tensor.data_ptr(), 0


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
        text = "torch runs a graph that needs gradients: call the model under torch.no_grad()"
        warnings.warn(GradientsWarning(text), stacklevel=2)
        return make_boxed_func(module)

    def for_backward(module: Any, inputs: Sequence[Any]) -> Any:
        return make_boxed_func(module)

    compiler: Any = aot_autograd(
        fw_compiler=for_training,
        bw_compiler=for_backward,
        inference_compiler=for_inference,
        decompositions=_decompositions(),
    )
    return compiler(gm, example_inputs)


def _decompositions() -> dict[Any, Callable[..., Any]]:
    table: Any = core_aten_decompositions()
    return {op: function for op, function in table.items() if str(op) not in NOT_DECOMPOSED}


def compiled_graphs() -> tuple[DynamoGraph, ...]:
    """The graphs compiled so far, in order; `torch._dynamo.reset()` forgets them."""
    return tuple(_graphs)


anyshape.reset = _graphs.clear  # pyright: ignore[reportFunctionMemberAccess]  dynamo calls it
