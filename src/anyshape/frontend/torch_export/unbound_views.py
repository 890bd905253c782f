"""Parts by `unbind` that a program writes into, as selections of one place each.

Both are views. Where torch makes a program functional, it brings what is written into a view back
into what it is a view of; for `unbind` its code takes all sizes of that as numbers on the way, and
for `select` it does not.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any
from warnings import catch_warnings

import torch

aten: Any = torch.ops.aten
UNBIND, SELECT = aten.unbind.int, aten.select.int


def selected_parts(program: Any) -> Any:
    """The program without `unbind`; itself if it has none."""
    if not any(node.target is UNBIND for node in program.graph.nodes):
        return program
    module = torch.fx.GraphModule(program.graph_module, deepcopy(program.graph))
    module.meta.update(program.graph_module.meta)
    for node in list(module.graph.nodes):
        if node.target is UNBIND and all(_is_part(user) for user in node.users):
            _select_instead(module.graph, node)
    with catch_warnings(action="ignore", category=FutureWarning):  # of torch, about itself
        return program._update(module, program.graph_signature)


def _is_part(node: Any) -> bool:
    return getattr(node.target, "__name__", "") == "getitem"


def _select_instead(graph: Any, node: Any) -> None:
    """Parts keep their names: the program's signature has some of them."""
    x, *axis = node.args
    for part in list(node.users):
        part.target, part.args = SELECT, (x, axis[0] if axis else 0, part.args[1])
    graph.erase_node(node)
