"""`compile`: level 1, once; what it returns runs at any shape."""

from __future__ import annotations

from collections.abc import Mapping
from sys import modules
from typing import TYPE_CHECKING, Any, overload

from anyshape.api.jit import Jitted
from anyshape.base.errors import InputError
from anyshape.base.options import Options
from anyshape.execute import Executable, ExecutorName, compile_graph
from anyshape.ir.graph import Graph

if TYPE_CHECKING:
    import torch

    from anyshape.api.torch_module import CompiledModule


@overload
def compile(
    source: Graph | Jitted[..., Any],
    *,
    executor: ExecutorName = "native",
    threads: int = 0,
    strict: bool = False,
    deterministic: bool = False,
    wait_for_team: bool = False,
    memory_limit: int | None = None,
    options: Options | None = None,
) -> Executable: ...


@overload
def compile(
    source: torch.nn.Module | torch.export.ExportedProgram,
    args: tuple[Any, ...] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    axes: Mapping[str, Any] | None = None,
    dynamic_shapes: Any = None,
    names: Mapping[str, str] | None = None,
    executor: ExecutorName = "native",
    threads: int = 0,
    strict: bool = False,
    deterministic: bool = False,
    wait_for_team: bool = False,
    memory_limit: int | None = None,
    options: Options | None = None,
) -> CompiledModule: ...


def compile(
    source: Any,
    args: tuple[Any, ...] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    axes: Mapping[str, Any] | None = None,
    dynamic_shapes: Any = None,
    names: Mapping[str, str] | None = None,
    executor: ExecutorName = "native",
    threads: int = 0,
    strict: bool = False,
    deterministic: bool = False,
    wait_for_team: bool = False,
    memory_limit: int | None = None,
    options: Options | None = None,
) -> Executable:
    """An Executable for a graph, a jitted function, or a PyTorch model.

    A graph, or a jitted function at the defaults of its static parameters, takes the arrays of
    `graph.inputs` in order and returns a tuple of arrays.

    A `torch.nn.Module` is captured at an example call, `args` and `kwargs`; the result is called
    like the module:

        model = ash.compile(bert, kwargs={"input_ids": ids}, axes={"input_ids": ("batch", "seq")})
        model(input_ids=other_ids)

    - `axes`: for each input a name, an expression over names, an `Axis` or None per position.
    - `dynamic_shapes`: the same in torch.export's own form, instead of `axes`.
    - `names`: axis names for torch's symbols, `{"s43": "batch"}`, where an exported program (an
      ExportedProgram, which needs no example) has symbols that nobody named.

    For all of them:

    - `executor`: "native" runs generated code; "stepwise" runs the same kernels one at a time;
      "reference" evaluates the graph with NumPy, which is what the others are held to.
    - `threads`: the most that one call may use; 0 means the CPUs allowed to the process.
    - `strict`: an op without a native form is an error that names it.
    - `deterministic`: a binding gives the same bits whatever the number of threads. Without it
      they are the same for one number of threads, whoever else runs.
    - `wait_for_team`: a call that finds the threads busy waits for them, in the order of arrival,
      instead of running on its own thread alone.
    - `memory_limit`: the bytes that one call may take for temporaries, results and copies of
      inputs; one that needs more is refused before it takes any.
    - `options`: where compiled kernels are kept, and the like.
    """

    def made(graph: Graph) -> Executable:
        return compile_graph(
            graph,
            options,
            executor=executor,
            threads=threads,
            strict=strict,
            deterministic=deterministic,
            wait_for_team=wait_for_team,
            memory_limit=memory_limit,
        )

    if isinstance(source, (Graph, Jitted)):
        return made(source if isinstance(source, Graph) else source.graph)
    if _is_of_torch(source):
        from anyshape.api.torch_compile import captured_model  # noqa: PLC0415  torch is optional
        from anyshape.api.torch_module import CompiledModule  # noqa: PLC0415

        found = captured_model(source, args, kwargs or {}, axes, dynamic_shapes, names or {})
        return CompiledModule(made(found.imported.graph), found)
    problem = f"is a {type(source).__name__}, no model"
    raise InputError("source", problem, "pass a Graph, a jitted function, or a torch module")


def _is_of_torch(source: object) -> bool:
    torch: Any = modules.get("torch")  # a model's class is there before any model is
    return torch is not None and isinstance(source, (torch.nn.Module, torch.export.ExportedProgram))
