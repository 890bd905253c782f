"""`compile`: level 1, once; what it returns runs at any shape."""

from __future__ import annotations

from typing import Any

from anyshape.api.jit import Jitted
from anyshape.base.options import Options
from anyshape.execute import Executable, ExecutorName, compile_graph
from anyshape.ir.graph import Graph


def compile(
    source: Graph | Jitted[..., Any],
    *,
    executor: ExecutorName = "native",
    threads: int = 0,
    strict: bool = False,
    options: Options | None = None,
) -> Executable:
    """An Executable for a graph or a jitted function (at the defaults of its static parameters).

    It takes the arrays of `graph.inputs` in order and returns a tuple of arrays.

    - `executor`: "native" runs generated code; "stepwise" runs the same kernels one at a time;
      "reference" evaluates the graph with NumPy, which is what the others are held to.
    - `threads`: the most that one call may use; 0 means the CPUs allowed to the process.
    - `strict`: an op without a native form is an error that names it.
    - `options`: where compiled kernels are kept, and the like.
    """
    graph = source if isinstance(source, Graph) else source.graph
    return compile_graph(graph, options, executor=executor, threads=threads, strict=strict)
