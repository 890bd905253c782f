"""An exported program in ops that can be imported: those of the table, or calls of torch's kernels.

Most programs are so already. Where one is not, torch decomposes ops and makes the program
functional, which traces all of it again and takes longer than the export. What the table has stays
whole. An op whose parts are not all in the table stays whole, too: one call of its own kernel does
what several calls of its parts would.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Set
from contextlib import AbstractContextManager, nullcontext
from typing import Any
from unittest.mock import patch
from warnings import catch_warnings

import torch
from torch.fx import node as fx_node
from torch.fx.experimental import _config as symbolic_config

from anyshape.frontend.aten.calls import TABLE
from anyshape.frontend.aten.host_calls import refusal
from anyshape.frontend.aten.walk import unknown_calls, writes
from anyshape.frontend.torch_export.conds import any_strides
from anyshape.frontend.torch_export.fake_kernels import KERNELS, fake_kernels
from anyshape.frontend.torch_export.number_functions import any_function
from anyshape.frontend.torch_export.overlaps import exclude_overlaps
from anyshape.frontend.torch_export.questions import Questions
from anyshape.frontend.torch_export.unbound_views import selected_parts

Decompositions = dict[Any, Callable[..., Any]]

_ASK_ABOUT_SIZES = frozenset({"aten.isin.Tensor_Tensor"})
"""Ops whose decompositions choose between ways to compute the same by sizes."""


def any_size() -> AbstractContextManager[None]:
    """Within, torch does not specialize on sizes 0 and 1."""
    config: Any = symbolic_config
    return config.patch(backed_size_oblivious=True)


def simplified(program: Any, questions: Questions) -> Any:
    """The program in ops that can be imported, none of which writes into its operands. Questions of
    decompositions that are not taken in the end are forgotten."""
    unknown = {node.target for node in unknown_calls(program.graph_module)}
    writing = writes(program.graph_module)
    traced_again = writing or any(map(_changes_ops, program.graph.nodes))
    if not unknown and not traced_again:
        return program
    if writing:
        exclude_overlaps(program, questions)
        program = selected_parts(program)
    table: Decompositions = torch.export.default_decompositions()
    whole = TABLE.keys() | _ASK_ABOUT_SIZES | set(map(str, KERNELS))
    _keep_whole(table, [op for op in table if str(op) in whole])
    while traced_again or any(_is_decomposed(op, table) for op in unknown):
        before = dict(questions.asked)
        decomposed = _decomposed(program, table)
        names = _origins_of_unknown(decomposed)
        parted = [op for op in table if str(op) in names and refusal(op) is None]
        if not parted:
            return decomposed
        _keep_whole(table, parted)
        questions.forget_all_but(before)
    return program


def _changes_ops(node: Any) -> bool:
    """Whether ops of the program are others than they say: what `torch.vmap` maps over is for one
    of a batch, and autocast converts operands. Tracing it again gives what is computed."""
    is_of_vmap = getattr(node.target, "__module__", None) == "torch._functorch.predispatch"
    return is_of_vmap or getattr(node.target, "__name__", None) == "wrap_with_autocast"


def _keep_whole(table: Decompositions, ops: Iterable[Any]) -> None:
    for op in ops:
        del table[op]


def _is_decomposed(op: Any, table: Decompositions) -> bool:
    """Whether torch takes an op apart with this table. Views that are written in terms of others
    are, whatever the table says."""
    schema = getattr(op, "_schema", None)
    if op in table or schema is None:
        return op in table
    return any(a.alias_info is not None for a in schema.arguments) and op._can_decompose()


def _decomposed(program: Any, table: Decompositions) -> Any:
    quiet = catch_warnings(action="ignore", category=FutureWarning)  # of torch, about itself
    kept = _all_kept(program)
    with torch.no_grad(), any_size(), fake_kernels(), any_strides(), any_function(), quiet, kept:
        return program.run_decompositions(dict(table))


def _all_kept(program: Any) -> AbstractContextManager[Any]:
    """Within, torch drops no op of the table for want of users. The model's code may have gone by
    the number of its results or their rank (`len(x.chunk(4))`), which its entry makes a fact; and
    sizes that it refuses are to be refused. Few programs have such an op."""
    calls = (node for node in program.graph.nodes if node.op == "call_function")
    if all(node.users for node in calls):
        return nullcontext()
    name = "_side_effectful_functions"
    return patch.object(fx_node, name, _WithTable(getattr(fx_node, name)))


class _WithTable(set[Any]):
    """Ops that torch never drops, and those of the table."""

    def __contains__(self, op: object) -> bool:
        return super().__contains__(op) or str(op) in TABLE


def _origins_of_unknown(program: Any) -> Set[str]:
    """The ops that the program's unknown ones are parts of."""
    sources = (node.meta.get("from_node") for node in unknown_calls(program.graph_module))
    return {str(source[-1].target) for source in sources if source}
