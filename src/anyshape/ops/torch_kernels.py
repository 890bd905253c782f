"""Calls torch's own kernels on NumPy arrays: the one place below the frontends that needs torch.

torch is imported when the first such call runs. Graphs with these calls print, parse, verify and
compile without it, and a process that loads one needs no frontend.

Arrays and tensors share memory. A result has memory of its own, row-major, whatever torch gave.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from functools import cache, partial
from importlib import import_module
from typing import Any, cast

import numpy as np

from anyshape.base.errors import EvaluationError, MissingTorchOpError
from anyshape.ir.types import Array, bf16
from anyshape.ops.torch_arguments import Arguments, Evaluator

READS_MEMORY = frozenset({"as_strided", "as_strided_copy", "as_strided_scatter"})
"""Ops whose results depend on how their operand lies in memory: row by row, as declared."""


def call_torch(
    target: str, arguments: str, operands: Sequence[Array], sizes: Sequence[int]
) -> list[Array]:
    """The results of an op of torch, one by one, as arrays; see `_arrays`."""
    torch, read = _torch(target), Arguments.read(arguments)
    function, copies = _op(target, read.written()), list[Any]()
    if target.split(".")[1] in READS_MEMORY:
        operands = [np.ascontiguousarray(array) for array in operands]  # views are values here
    tensors = [_tensor(torch, array) for array in operands]
    names = {f"x{i}": tensor for i, tensor in enumerate(tensors)}
    names |= {f"n{i}": size for i, size in enumerate(sizes)}
    functions = {**_functions(torch), "written": partial(_written, copies)}
    evaluator = Evaluator(names, partial(_constant, target), functions)
    try:
        with torch.no_grad():
            args = [evaluator.value(value) for value in read.positional]
            kwargs = {name: evaluator.value(value) for name, value in read.named}
            results = function(*args, **kwargs)
    except (MemoryError, EvaluationError):
        raise
    except Exception as error:
        text = str(error).strip() or type(error).__name__
        raise EvaluationError(target, f"torch refuses it: {text.splitlines()[0]}") from error
    lent = {tensor.untyped_storage().data_ptr() for tensor in (*tensors, *copies)}
    arrays = [array for leaf in _leaves(results) for array in _arrays(torch, target, leaf, lent)]
    return arrays + [array for copy in copies for array in _arrays(torch, target, copy, set())]


def _written(copies: list[Any], tensor: Any, *part: int) -> Any:
    """A copy of an operand, or a slice of one (axis, start, end), for an op to write into."""
    copies.append(tensor.clone())
    if not part:
        return copies[-1]
    axis, start, end = part
    return copies[-1].narrow(axis, start, end - start)


def _torch(target: str) -> Any:
    try:
        return import_module("torch")
    except ImportError as error:
        raise MissingTorchOpError(target, "torch is not installed", "install torch") from error


@cache
def _op(target: str, written: frozenset[str]) -> Any:
    """The overload of this name: `aten.sort.stable`. Graphs come from files too: what else torch
    has there (`load_library`), and ops that write into more than the arguments `written`, which are
    copies, are not called."""
    torch = _torch(target)
    found: Any = torch.ops
    fix = "import the module that registers it before the call"
    try:
        for name in target.split("."):
            found = getattr(found, name)
    except AttributeError as error:
        raise MissingTorchOpError(target, "torch has no op of this name", fix) from error
    if not isinstance(found, import_module("torch._ops").OpOverload):
        raise MissingTorchOpError(target, "which is no overload of an op of torch", fix)
    if _written_names(found._schema) - written:
        fix = "call the op that gives a new tensor instead"
        raise MissingTorchOpError(target, "which writes into its operands", fix)
    return found


def _written_names(schema: Any) -> set[str]:
    """The arguments that an op writes into."""
    marked = ((each.name, each.alias_info) for each in schema.arguments)
    return {name for name, alias in marked if alias is not None and alias.is_write}


def _constant(target: str, name: str) -> Any:
    """What torch has under a name, if it is a dtype, a layout or a memory format."""
    torch = _torch(target)
    value = getattr(torch, name, None)
    if not isinstance(value, (torch.dtype, torch.layout, torch.memory_format)):
        raise EvaluationError(target, f"torch.{name} is no dtype, layout or memory format")
    return value


def _item(tensor: Any) -> Any:
    return tensor.item()


@cache
def _functions(torch: Any) -> dict[str, Any]:
    return {
        "item": _item,
        "as_complex": torch.view_as_complex,
        "device": torch.device,
        "complex": complex,
    }


# --- arrays to tensors ----------------------------------------------------------------------------


def _tensor(torch: Any, array: Array) -> Any:
    """A tensor on the memory of `array`, which must live as long."""
    if array.size == 0:  # NumPy has strides of 0 then
        return _on_memory(torch, np.empty(1, array.dtype)).new_empty(array.shape)
    if any(stride < 0 or stride % array.itemsize for stride in array.strides):
        array = np.array(array, order="C")  # torch has no such tensors
    return _on_memory(torch, _writable(array))


def _on_memory(torch: Any, array: Array) -> Any:
    if array.dtype != bf16.numpy:
        return torch.from_numpy(array)
    return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)


def _writable(array: Array) -> Array:
    """The same memory as an array that may be written: torch knows no other, and warns. Nothing is
    written: ops that write into operands are not called."""
    if array.flags.writeable:
        return array
    if not array.flags.c_contiguous:
        return array.copy()
    memory: Any = (ctypes.c_char * array.nbytes).from_address(array.ctypes.data)
    return np.frombuffer(memory, array.dtype).reshape(array.shape)


# --- results to arrays ----------------------------------------------------------------------------


def _leaves(results: Any) -> Iterator[Any]:
    if isinstance(results, (tuple, list)):
        for item in cast(Sequence[Any], results):
            yield from _leaves(item)
    elif results is not None:
        yield results


def _arrays(torch: Any, target: str, leaf: Any, lent: set[int]) -> Iterator[Array]:
    """A tensor is one array, with a last axis of two if it is complex. An integer is two arrays
    without elements, whose sizes say how far it is above 0 and below."""
    if isinstance(leaf, torch.Tensor):
        yield _array(torch, target, leaf, lent)
    elif isinstance(leaf, int) and not isinstance(leaf, bool):
        yield from (np.empty((max(n, 0), 0), np.bool_) for n in (leaf, -leaf))
    else:
        yield np.asarray(leaf)


def _array(torch: Any, target: str, tensor: Any, lent: set[int]) -> Array:
    if tensor.layout != torch.strided or tensor.device.type != "cpu":
        raise EvaluationError(target, f"gives a tensor of {tensor.layout} on '{tensor.device}'")
    plain = tensor.detach().resolve_conj().resolve_neg()
    plain = (torch.view_as_real(plain) if plain.is_complex() else plain).contiguous()
    if plain.untyped_storage().data_ptr() in lent:
        plain = plain.clone()
    if plain.dtype == torch.bfloat16:
        return cast(Array, plain.view(torch.int16).numpy().view(bf16.numpy))
    return cast(Array, plain.numpy())
