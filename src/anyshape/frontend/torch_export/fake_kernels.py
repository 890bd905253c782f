"""Result shapes of ops whose own shape rule in torch takes a size as a number.

torch follows most ops by kernels that compute shapes alone. Some have none: torch runs the op's C++
or Python code instead, which loops over a size (an LSTM over its sequence) or reads it as an
integer. For these, what torch needs to know is said here, in symbolic sizes. The op itself is
recorded whole, and is an entry of the table or a call of torch's own kernel like any other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial, reduce
from typing import Any
from unittest.mock import patch

import torch
from torch._C import DispatchKey
from torch._subclasses import fake_impls
from torch._subclasses.fake_tensor import is_fake
from torch.utils._pytree import tree_leaves

own: Any = torch
aten: Any = torch.ops.aten
Kernel = Callable[..., Any]

KERNELS: dict[Any, Kernel] = {}
"""By overload: what it gives, in the shapes and dtypes of its results alone."""


def fake_kernels() -> AbstractContextManager[Any]:
    """Within, torch asks these about the ops that they are for, if a size is symbolic."""
    impls: Any = fake_impls
    return patch.dict(impls.get_fast_op_impls(), {op: _in_mode(KERNELS[op]) for op in KERNELS})


def _in_mode(kernel: Kernel) -> Kernel:
    def called(mode: Any, *args: Any, **kwargs: Any) -> Any:
        with mode:
            return kernel(*args, **kwargs)

    return called


@contextmanager
def recorded_whole() -> Generator[None]:
    """Within, torch also asks about those of these ops that are written with others in C++ or in
    Python: it would run that code for the shape of the result, after recording the op."""
    composite = [op for op in KERNELS if op._can_decompose()]
    with ExitStack() as stack:
        stack.enter_context(fake_kernels())
        for op in composite:
            stack.callback(op._dispatch_cache.clear)
            stack.enter_context(patch.dict(op.py_kernels, {_KEY: _for_fakes(op)}))
            op._dispatch_cache.clear()
        yield


_KEY: Any = DispatchKey.AutogradCPU  # where torch's dispatcher looks first for tensors on the CPU


def _for_fakes(op: Any) -> Kernel:
    """What torch computes with constants is left to the op itself."""
    kernel, own = KERNELS[op], _own(op)

    def called(*args: Any, **kwargs: Any) -> Any:
        leaves = tree_leaves((args, kwargs))
        tensors = (leaf for leaf in leaves if isinstance(leaf, torch.Tensor))
        return (kernel if all(map(is_fake, tensors)) else own)(*args, **kwargs)

    return called


def _own(op: Any) -> Kernel:
    """An op's own definition in terms of others."""
    key: Any = DispatchKey.CompositeImplicitAutograd
    return op.py_kernels.get(key) or partial(op._op_dk, key)


def _kernel(*ops: Any) -> Callable[[Kernel], Kernel]:
    def add(function: Kernel) -> Kernel:
        KERNELS.update(dict.fromkeys(ops, function))
        return function

    return add


# --- recurrent layers -----------------------------------------------------------------------------


@_kernel(aten.lstm.input)
def lstm(x: Any, state: Sequence[Any], *options: Any) -> tuple[Any, Any, Any]:
    hidden, cell = state
    return _outputs(x, hidden, options[5]), _like(hidden), _like(cell)


@_kernel(aten.gru.input, aten.rnn_tanh.input, aten.rnn_relu.input)
def rnn(x: Any, hidden: Any, *options: Any) -> tuple[Any, Any]:
    return _outputs(x, hidden, options[5]), _like(hidden)


def _outputs(x: Any, hidden: Any, bidirectional: bool) -> Any:
    """Of all positions; the state's last axis is the projection's, if there is one."""
    width = hidden.shape[-1] * (2 if bidirectional else 1)
    return x.new_empty((*x.shape[:-1], width))


def _like(x: Any) -> Any:
    return x.new_empty(x.shape)


# --- products -------------------------------------------------------------------------------------


@_kernel(aten.kron.default)
def kron(x: Any, y: Any) -> Any:
    rank = max(x.dim(), y.dim())
    pairs = zip(_with_rank(x, rank), _with_rank(y, rank), strict=True)
    return x.new_empty([one * other for one, other in pairs], dtype=torch.result_type(x, y))


def _with_rank(x: Any, rank: int) -> list[Any]:
    return [1] * (rank - x.dim()) + list(x.shape)


@_kernel(aten.linalg_multi_dot.default)
def multi_dot(tensors: Sequence[Any]) -> Any:
    return reduce(torch.matmul, tensors)


@_kernel(aten.ldexp.Tensor)
def ldexp(x: Any, exponent: Any) -> Any:
    """torch's own shape rule gives a power of 2 without axes the default dtype, whatever it is."""
    power = exponent if exponent.is_floating_point() else exponent.to(torch.get_default_dtype())
    return x * power


@_kernel(aten.cov.default)
def cov(x: Any, **_: Any) -> Any:
    """A number for one row; the entry says that a size which may vary is captured for others."""
    is_one = x.dim() < 2 or (isinstance(x.shape[0], int) and x.shape[0] == 1)
    dtype = x.dtype if x.is_floating_point() or x.is_complex() else torch.get_default_dtype()
    return x.new_empty([] if is_one else (x.shape[0], x.shape[0]), dtype=dtype)


@_kernel(aten.corrcoef.default)
def corrcoef(x: Any) -> Any:
    return cov(x)


# --- selection ------------------------------------------------------------------------------------


@_kernel(aten.take_along_dim.default)
def take_along_dim(x: Any, indices: Any, dim: int | None = None) -> Any:
    if dim is None:
        return x.new_empty([math.prod(indices.shape)])
    place = dim % x.dim()
    pairs = zip(x.shape, indices.shape, strict=True)
    rest = [own.broadcast_shapes((a,), (b,))[0] for a, b in pairs]
    return x.new_empty([*rest[:place], indices.shape[place], *rest[place + 1 :]])


@_kernel(aten.combinations.default)
def combinations(x: Any, r: int = 2, with_replacement: bool = False) -> Any:
    n, count = x.shape[0], 1
    for i in range(r):  # each product is a multiple of the next divisor
        count = count * (n + i if with_replacement else n - i) // (i + 1)
    return x.new_empty([count if with_replacement else own.sym_max(count, 0), r])


@_kernel(aten.diff.default)
def diff(x: Any, n: int = 1, dim: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """torch's own code asks whether there is as much as it takes away. No differences are the
    elements themselves, whatever is prepended."""
    if n == 0:
        return _like(x)
    parts = [part for part in (prepend, x, append) if part is not None]
    whole = torch.cat(parts, dim) if len(parts) > 1 else x
    place = dim % x.dim()
    size = own.sym_max(whole.shape[place] - n, 0)
    return whole.new_empty([*whole.shape[:place], size, *whole.shape[place + 1 :]])


@_kernel(aten.vander.default)
def vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:  # noqa: N803 - torch's
    dtype = x.dtype if x.is_floating_point() or x.is_complex() else torch.int64
    return x.new_empty([x.shape[-1], x.shape[-1] if N is None else N], dtype=dtype)


@_kernel(aten.histogram.bin_ct)
def histogram(x: Any, bins: int = 100, **_: Any) -> tuple[Any, Any]:
    return x.new_empty([bins]), x.new_empty([bins + 1])
