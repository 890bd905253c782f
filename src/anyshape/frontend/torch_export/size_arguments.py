"""Functions of torch that take integers where a model passes sizes: `torch.linspace(0, 1, n)`.

torch makes a number of such a size before it records the op, so that the program would hold for one
size. With a symbolic one they are written here with ops that take sizes. Everything else about them
is left to torch's own functions.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from threading import get_ident
from typing import Any, cast
from unittest.mock import patch

import torch
from torch.nn import functional

Function = Callable[..., Any]
own: Any = torch
layers: Any = functional


@contextmanager
def size_arguments() -> Generator[None]:
    """Within, these functions take symbolic sizes."""
    with ExitStack() as stack:
        for owner, functions in _OWNERS:
            for name, of_sizes in functions.items():
                taking = _taking(getattr(owner, name), of_sizes, _has_size)
                stack.enter_context(patch.object(owner, name, taking))
        for owner, name in ((own, "as_tensor"), (own.Tensor, "new_tensor")):
            taking = _taking(getattr(owner, name), _NUMBERS[name], _has_number)
            stack.enter_context(patch.object(owner, name, taking))
        taking = _taking(layers.max_pool1d, _max_pool1d, lambda x: isinstance(x, torch.Tensor))
        stack.enter_context(patch.object(layers, "max_pool1d", taking))
        yield


def _taking(function: Function, of_sizes: Function, by: Callable[[Any], bool]) -> Function:
    """`of_sizes` where an argument asks for it, unless it has no answer."""
    thread = get_ident()

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        symbolic = any(map(by, (*args, *kwargs.values())))
        result = of_sizes(*args, **kwargs) if symbolic and get_ident() == thread else None
        return function(*args, **kwargs) if result is None else result

    return called


def _has_size(argument: Any) -> bool:
    if isinstance(argument, (list, tuple)):
        return any(map(_has_size, argument))  # pyright: ignore[reportUnknownArgumentType]
    return type(argument) is torch.SymInt  # pyright: ignore[reportUnknownArgumentType]


def _has_number(argument: Any) -> bool:
    if isinstance(argument, (list, tuple)):
        return any(map(_has_number, argument))  # pyright: ignore[reportUnknownArgumentType]
    return type(argument) in (torch.SymInt, torch.SymFloat)  # pyright: ignore[reportUnknownArgumentType]


# --- elements -------------------------------------------------------------------------------------


def _setitem(x: Any, index: Any, value: Any) -> Any:
    """Into the part that the index stands for; None where that is no view."""
    items = cast(tuple[Any, ...], index) if isinstance(index, tuple) else (index,)
    if not _has_size(items) or not all(map(_is_basic, items)):
        return None
    x[index][...] = value
    return True


def _is_basic(item: Any) -> bool:
    return item is None or item is Ellipsis or type(item) in (int, slice, torch.SymInt)


# --- tensors of numbers ---------------------------------------------------------------------------


def _as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Any:
    return torch.tensor(data, dtype=dtype)


def _new_tensor(x: Any, data: Any, *, dtype: Any = None, **_: Any) -> Any:
    return torch.tensor(data, dtype=dtype or x.dtype)


_NUMBERS: dict[str, Function] = {"as_tensor": _as_tensor, "new_tensor": _new_tensor}


# --- numbers with equal steps ---------------------------------------------------------------------


def _linspace(start: Any, end: Any, steps: Any, *, dtype: Any = None, **_: Any) -> Any:
    """From both ends to the middle, so that each end is exact."""
    dtype = dtype or torch.get_default_dtype()
    if not dtype.is_floating_point or any(
        isinstance(bound, torch.Tensor) for bound in (start, end)
    ):
        return None
    index = torch.arange(steps, dtype=dtype)
    step = torch.scalar_tensor(end - start, dtype=dtype) / own.sym_max(steps - 1, 1)
    return torch.where(
        index < (steps + 1) // 2, start + step * index, end - step * (steps - 1 - index)
    )


def _logspace(start: Any, end: Any, steps: Any, base: float = 10.0, **options: Any) -> Any:
    powers = _linspace(start, end, steps, **options)
    return None if powers is None else torch.pow(base, powers)


# --- windows --------------------------------------------------------------------------------------


def _window(*factors: float) -> Function:
    """A sum of cosines; one element alone is 1."""

    def window(length: Any, periodic: bool = True, *, dtype: Any = None, **_: Any) -> Any:
        dtype = dtype or torch.get_default_dtype()
        last = length if periodic else own.sym_max(length - 1, 1)
        angle = torch.arange(length, dtype=dtype) * (2 * math.pi) / last
        terms = (factor * torch.cos(i * angle) for i, factor in enumerate(factors[1:], 1))
        waves = sum(terms, torch.full_like(angle, factors[0]))
        return torch.where(torch.scalar_tensor(length) == 1, torch.ones_like(waves), waves)

    return window


def _hamming(
    length: Any, periodic: bool = True, alpha: float = 0.54, beta: float = 0.46, **options: Any
) -> Any:
    return _window(alpha, -beta)(length, periodic, **options)


# --- indices --------------------------------------------------------------------------------------


def _triangle(part: Function) -> Function:
    def indices(row: Any, col: Any, offset: int = 0, *, dtype: Any = None, **_: Any) -> Any:
        inside = part(torch.ones(row, col, dtype=torch.bool), offset)
        return inside.nonzero().t().to(dtype or torch.int64)

    return indices


def _one_hot(indices: Any, num_classes: Any = -1) -> Any:
    """A class out of range is one of the scatter."""
    own._check(num_classes >= 1)
    zeros = torch.zeros((*indices.shape, num_classes), dtype=torch.int64)
    return zeros.scatter(-1, indices.unsqueeze(-1), 1)


# --- diagonals ------------------------------------------------------------------------------------


def _diagonal(x: Any, offset: Any = 0, dim1: int = 0, dim2: int = 1) -> Any:
    """A view, as torch's own: the first diagonal of what is left of rows and columns."""
    down, right = _corner(offset)
    parts = [slice(None)] * x.dim()
    parts[dim1], parts[dim2] = slice(down, None), slice(right, None)
    return x[tuple(parts)].diagonal(0, dim1, dim2)


def _of_matrices(x: Any, *, offset: Any = 0, dim1: int = -2, dim2: int = -1) -> Any:
    return _diagonal(x, offset, dim1, dim2)


def _diag(x: Any, diagonal: Any = 0) -> Any:
    return _diag_embed(x, diagonal) if x.dim() == 1 else _diagonal(x, diagonal).clone()


def _diag_embed(x: Any, offset: Any = 0, dim1: int = -2, dim2: int = -1) -> Any:
    down, right = _corner(offset)
    planes = layers.pad(torch.diag_embed(x), (right, down, down, right))
    return planes.movedim((-2, -1), (dim1, dim2))


def _corner(offset: Any) -> tuple[Any, Any]:
    """Where a diagonal begins: its row and column, of which one is 0."""
    return own.sym_max(-offset, 0), own.sym_max(offset, 0)


# --- signals --------------------------------------------------------------------------------------


def _istft(
    x: Any,
    n_fft: Any,
    hop_length: Any = None,
    win_length: Any = None,
    window: Any = None,
    center: bool = True,
    normalized: bool = False,
    onesided: Any = None,
    length: Any = None,
    return_complex: bool = False,
) -> Any:
    """All samples, of which it has as many as it is long, and zeros behind them."""
    if return_complex or _has_size((n_fft, hop_length, win_length)):
        return None
    whole = own.istft(x, n_fft, hop_length, win_length, window, False, normalized, onesided)
    first = n_fft // 2 if center else 0
    missing = own.sym_max(first + length - whole.shape[-1], 0)
    return layers.pad(whole, (0, missing))[..., first : first + length]


# --- pooling over all that there is ---------------------------------------------------------------


def _pool(rank: int, whole: Function) -> Function:
    """`avg_pool2d(x, x.shape[2:])`; None where the kernel is anything else than all."""

    def pool(
        x: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, *rest: Any, **others: Any
    ) -> Any:
        sizes = x.shape[-rank:]
        strides = kernel_size if stride is None else stride
        given = (*_each(rank, kernel_size), *_each(rank, strides))
        if rest or others or padding != 0 or not all(map(_is_same, given, (*sizes, *sizes))):
            return None
        for size in x.shape[x.dim() == rank + 2 :]:  # a batch may be empty
            own._check(size >= 1)
        return whole(x, tuple(range(-rank, 0)), keepdim=True)

    return pool


def _max_pool1d(
    x: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """Of images of one row: torch's code for one axis takes its size as a number."""
    if type(x.shape[-1]) is not torch.SymInt or _has_size(kernel_size):
        return None
    steps = kernel_size if stride is None else stride
    given = ((1, kernel_size), (1, steps), (0, padding), (1, dilation))
    pairs = [(row, _each(1, size)[0]) for row, size in given]
    found = layers.max_pool2d(x.unsqueeze(-2), *pairs, ceil_mode, return_indices)
    return tuple(each.squeeze(-2) for each in found) if return_indices else found.squeeze(-2)


def _each(rank: int, given: Any) -> tuple[Any, ...]:
    return (given,) * rank if isinstance(given, (int, torch.SymInt)) else tuple(given)


def _is_same(one: Any, other: Any) -> bool:
    """Without asking torch."""
    return _expression(one) == _expression(other)


def _expression(size: Any) -> Any:
    return size.node.expr if hasattr(size, "node") else size


_DIAGONALS: dict[str, Function] = {
    "diagonal": _diagonal,
    "diag": _diag,
    "diag_embed": _diag_embed,
}
_OF_TORCH: dict[str, Function] = {
    "linspace": _linspace,
    "logspace": _logspace,
    "hann_window": _window(0.5, -0.5),
    "hamming_window": _hamming,
    "blackman_window": _window(0.42, -0.5, 0.08),
    "triu_indices": _triangle(torch.triu),
    "tril_indices": _triangle(torch.tril),
    "istft": _istft,
    **_DIAGONALS,
}
_OF_LAYERS: dict[str, Function] = {"one_hot": _one_hot} | {
    f"{kind}_pool{rank}d": _pool(rank, whole)
    for kind, whole in (("avg", torch.mean), ("max", torch.amax))
    for rank in (1, 2, 3)
}
_OWNERS: tuple[tuple[Any, dict[str, Function]], ...] = (
    (own, _OF_TORCH),
    (own.Tensor, {**_DIAGONALS, "__setitem__": _setitem, "istft": _istft}),
    (own.linalg, {"diagonal": _of_matrices}),
    (layers, _OF_LAYERS),
)
