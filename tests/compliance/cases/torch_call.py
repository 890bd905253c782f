"""Calls of torch's kernels, against NumPy: what is passed, what is given, and in which order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from tests.compliance.case import Collection, Make

from anyshape.ir import Builder, Value, lookup
from anyshape.ir.attrs import make_attrs
from anyshape.ir.types import bf16, f32, i64
from anyshape.ops.torch_call import TorchCallAttrs
from anyshape.sym import Dim

CASES = Collection()


def _call(**attrs: object) -> Make:
    """All results of the op alone."""

    def make(b: Builder, *operands: Value) -> tuple[Value, ...]:
        record = make_attrs("torch_call", TorchCallAttrs, attrs)
        return b.node(lookup("torch_call"), operands, record).results

    return make


def _ordered(x: Any) -> Any:
    return np.sort(x, axis=1, kind="stable"), np.argsort(x, axis=1, kind="stable")


CASES.add(
    "torch_call", "several results", ("f32[batch, seq]",),
    _call(
        target="aten.sort.stable", arguments="x0, stable=True, dim=1", dtypes=[f32, i64],
        shapes=[["batch", "seq"], ["batch", "seq"]],
    ),
    ("f32[batch, seq]", "i64[batch, seq]"), _ordered,
)  # fmt: skip
CASES.add(
    "torch_call", "a size that the call decides", ("f32[batch]", "bool[batch]"),
    _call(
        target="aten.masked_select.default", arguments="x0, x1", dtypes=[f32], shapes=[[None]]
    ),
    ("f32[?0]",), lambda x, mask: x[mask],
)  # fmt: skip
CASES.add(
    "torch_call", "sizes among the arguments", ("bf16[batch, seq]",),
    _call(
        target="aten.new_full.default", arguments="x0, [n0, 2], -1.5, dtype=torch.bfloat16",
        sizes=["batch + seq"], dtypes=[bf16], shapes=[["batch + seq", 2]],
    ),
    ("bf16[batch + seq, 2]",), lambda x: np.full((sum(x.shape), 2), -1.5),
)  # fmt: skip


def _two_draws(b: Builder, x: Value) -> tuple[Value, ...]:
    """Integers below 2**31, then normal numbers, from torch's generator."""
    shape = x.tensor.shape
    integers = TorchCallAttrs("aten.randint.default", "2147483647, [n0]", (i64,), (shape,), shape)
    normal = TorchCallAttrs("aten.randn.default", "[4, 3]", (f32,), ((Dim.of(4), None),))
    first = b.node(lookup("torch_effect"), [b.emit("token")], integers)
    second = b.node(lookup("torch_effect"), [first.result(1)], normal)
    return first.result(0), second.result(0), second.result(1)


def _as_torch_draws(run: Callable[[], tuple[Any, ...]]) -> None:
    torch.manual_seed(7)
    integers, normal = run()
    again = run()
    torch.manual_seed(7)
    wanted = torch.randint(2147483647, integers.shape), torch.randn(normal.shape)
    assert (integers == wanted[0].numpy()).all()
    assert (normal == wanted[1].numpy()).all()
    assert integers.size == 0 or (again[0] != integers).any()


CASES.add(
    "torch_effect", "draws in order", ("f32[batch]",), _two_draws,
    ("i64[batch]", "f32[4, ?0]", "token"), None, check=_as_torch_draws,
)  # fmt: skip
