"""`torch.cond` while torch traces a model.

On a condition of sizes it is the `if` that it is in eager mode, where a model is captured for each
of its branches: whoever asks is the model's code. On anything else, and where there is to be one
program only, it is recorded with both branches.

torch merges the results of two branches by their strides, which it expects to be products of sizes,
and asks which of them is larger. For sizes that may be 0 they are products of `max(1, size)`, which
say the same wherever there is an element; and the example tells their order. For the same reason it
does not matter that operands of a branch have the strides that torch's own guards expect of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module
from types import FunctionType
from typing import Any
from unittest.mock import patch

import torch
from torch.fx.experimental.symbolic_shapes import ShapeEnv, has_free_unbacked_symbols

_MODULE: Any = import_module("torch._higher_order_ops.cond")  # a function of that name hides it


@contextmanager
def sizes_choose() -> Generator[None]:
    """Within, `torch.cond` on sizes takes one of its branches. A model may have any name for it, so
    that the function itself has other code."""
    cond = _MODULE.cond
    own = FunctionType(cond.__code__, cond.__globals__, "cond", cond.__defaults__)

    def chosen(pred: Any, true_fn: Any, false_fn: Any, operands: Any) -> Any:
        if not isinstance(pred, torch.SymBool):
            return own(pred, true_fn, false_fn, operands)
        return (true_fn if pred else false_fn)(*operands)

    with patch.object(_MODULE, "_cond_by_sizes", chosen, create=True):
        cond.__code__ = _calling_chosen.__code__
        try:
            yield
        finally:
            cond.__code__ = own.__code__


cond_op: Any = _MODULE.cond_op


def _calling_chosen(pred: Any, true_fn: Any, false_fn: Any, operands: Any = ()) -> Any:
    """Runs with the names of torch's module, where `sizes_choose` has put one. Dynamo, which traces
    regions that stand in others, records the op, as torch's own code does."""
    if torch.compiler.is_dynamo_compiling():
        return cond_op(pred, true_fn, false_fn, operands)
    return globals()["_cond_by_sizes"](pred, true_fn, false_fn, operands)


@contextmanager
def any_strides() -> Generator[None]:
    """Within, torch enters and leaves branches without a question about strides."""
    own: Callable[..., Any] = _MODULE._merge_output
    environment: Any = ShapeEnv
    guards = environment.produce_guards_verbose

    def merge(left: Any, right: Any, mode: Any) -> Any:
        if _is_laid_out_as(left, right):
            return left
        with _strides_by_example():
            return own(_plain(left, mode), _plain(right, mode), mode)

    def without_strides(*args: Any, **kwargs: Any) -> Any:
        texts = guards(*args, **kwargs)
        for text in texts:
            text.exprs[:] = [each for each in text.exprs if not _STRIDE.match(each)]
        return texts

    with (
        patch.object(_MODULE, "_merge_output", merge),
        patch.object(environment, "produce_guards_verbose", without_strides),
    ):
        yield


_STRIDE = re.compile(r"L\[.+\]\.stride\(\)\[\d+\] == ")


def _is_laid_out_as(left: Any, right: Any) -> bool:
    """Whether two results are alike but for their elements, with sizes known outside."""
    if not isinstance(left, torch.Tensor) or not isinstance(right, torch.Tensor):
        return False
    layouts = [_layout(each) for each in (left, right)]
    if layouts[0] != layouts[1] or (left.dtype, left.device) != (right.dtype, right.device):
        return False
    return not any(map(has_free_unbacked_symbols, layouts[0]))


def _layout(x: torch.Tensor) -> list[Any]:
    numbers: Any = (*x.shape, *x.stride(), x.storage_offset())
    return [getattr(getattr(each, "node", None), "expr", each) for each in numbers]


def _strides_by_example() -> AbstractContextManager[Any]:
    layouts: Any = import_module("torch._inductor.ir")  # slow, and torch's merging does it anyway
    own = layouts.get_stride_order

    def order(strides: Sequence[Any], *rest: Any) -> Sequence[int]:
        hints = [getattr(getattr(stride, "node", None), "hint", stride) for stride in strides]
        return own(strides if None in hints else hints, *rest)

    return patch.object(layouts, "get_stride_order", order)


def _plain(result: Any, mode: Any) -> Any:
    """A tensor whose strides are products of sizes, if they are where it has elements."""
    if not isinstance(result, torch.Tensor):
        return result
    strides: Any = result.stride()
    plain = [_without_max(stride) for stride in strides]
    if all(new is old for new, old in zip(plain, strides, strict=True)):
        return result
    with mode:
        return torch.empty_strided(result.size(), plain, dtype=result.dtype, device=result.device)


def _without_max(stride: Any) -> Any:
    node: Any = getattr(stride, "node", None)
    if node is None:
        return stride
    plain = node.expr.replace(_is_at_least_one, _size_in)
    if plain == node.expr:
        return stride
    return node.shape_env.create_symintnode(plain, hint=node.hint)


def _is_at_least_one(expression: Any) -> bool:
    return type(expression).__name__ == "Max" and 1 in expression.args


def _size_in(expression: Any) -> Any:
    return expression.func(*(part for part in expression.args if part != 1))
