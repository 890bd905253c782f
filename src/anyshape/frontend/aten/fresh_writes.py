"""Ops that write into memory which nobody else has: `zeros_like(m).masked_fill_(m, -inf)`.

Such an op is the functional one of the same name, and its program needs no functionalisation by
torch, which traces all of it again. What is written must be

    new memory        the result of an op that makes no views, by its schema
    read nowhere else the write is its only use
    like the result   every other operand has its shape and dtype, or is a number: no rule of
                      broadcasting or promotion is needed, which writes have of their own
"""

from __future__ import annotations

from typing import Any

import torch

_NEW = frozenset(
    {"conv1d", "conv2d", "conv3d", "linear", "matmul", "layer_norm", "batch_norm", "zeros", "full"}
)
"""Composite ops whose results are new memory, too; others may give an operand back."""


def writes_unseen(node: Any) -> bool:
    """Whether nobody can tell that the node writes, instead of making a new tensor."""
    while _is_like_written(node):
        node = node.args[0]
        if _is_new(node):
            return True
    return False


def _is_like_written(node: Any) -> bool:
    """Whether a node writes into what only it uses, and what it reads is like that."""
    written, *others = node.args or (None,)
    if not isinstance(written, torch.fx.Node) or len(written.users) != 1 or node.kwargs:
        return False
    schema = getattr(node.target, "_schema", None)  # a part of several results has none
    if schema is None or not schema.is_mutable:
        return False
    return all(_is_like(other, written) for other in others)


def _is_new(node: Any) -> bool:
    schema = getattr(node.target, "_schema", None)
    if node.op != "call_function" or schema is None or schema.is_mutable:
        return False
    if len(schema.returns) != 1 or schema.returns[0].alias_info is not None:
        return False
    name = schema.name.removeprefix("aten::")
    dispatcher: Any = getattr(torch, "_C")  # noqa: B009 - torch has no types for it
    composite = "CompositeImplicitAutograd"
    return name in _NEW or not dispatcher._dispatch_has_kernel_for_dispatch_key(
        schema.name + (f".{schema.overload_name}" if schema.overload_name else ""), composite
    )


def _is_like(argument: Any, written: Any) -> bool:
    if not isinstance(argument, torch.fx.Node):
        return isinstance(argument, (bool, int, float))
    value, wanted = argument.meta.get("val"), written.meta["val"]
    if not isinstance(value, torch.Tensor) or len(value.shape) != len(wanted.shape):
        return False
    sizes = zip(value.shape, wanted.shape, strict=True)
    same = all(_expression(one) == _expression(other) for one, other in sizes)
    return same and value.dtype in (wanted.dtype, torch.bool)


def _expression(size: Any) -> Any:
    """Compared without asking torch, which would take the answer for a fact."""
    return size.node.expr if hasattr(size, "node") else size
