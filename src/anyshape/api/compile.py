"""`compile`: level 1, once; what it returns runs at any shape."""

from __future__ import annotations

from typing import Any

from anyshape.api.jit import Jitted
from anyshape.base.options import Options
from anyshape.execute import Executable, compile_graph
from anyshape.ir.graph import Graph


def compile(source: Graph | Jitted[..., Any], *, options: Options | None = None) -> Executable:
    """Native code for a graph or a jitted function.

    The Executable takes the arrays of `graph.inputs` in order and returns a tuple of NumPy arrays.
    Ops without a native form are refused here, all of them by name.
    """
    graph = source if isinstance(source, Graph) else source.graph
    return compile_graph(graph, options)
