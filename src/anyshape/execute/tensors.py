"""Arrays of other libraries, in and out.

The native runtime reads NumPy arrays and whatever speaks DLPack where they are. What is left for
Python: objects that only know `__array__`, tensors that must not be read (on another device, or
part of an autograd graph), and the rule for results: **if any input is a torch tensor, all results
are torch tensors**, on the same memory; else they are NumPy arrays.

torch is never imported here: a tensor can only come from a process that has imported it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from sys import modules
from typing import Any, cast

import numpy as np

from anyshape.base.errors import InputError
from anyshape.ir.types import Array, TensorType, bf16

Inputs = Sequence[tuple[str, TensorType]]
"""Name and type of each input."""


def is_torch(thing: object) -> bool:
    torch = modules.get("torch")  # a tensor's class is there before any tensor is
    return torch is not None and isinstance(thing, torch.Tensor)


def readable(arrays: Sequence[object], inputs: Inputs) -> tuple[object, ...]:
    """The arrays as the runtime reads them; one that cannot be read is an error that names it."""
    return tuple([_readable(array, number, inputs) for number, array in enumerate(arrays)])


def _readable(thing: object, number: int, inputs: Inputs) -> object:
    if type(thing) is np.ndarray:
        return thing
    if is_masked(thing) and number < len(inputs):
        raise _masked(inputs[number][0])
    if is_torch(thing):
        tensor = cast(Any, thing)
        if tensor.is_cpu and not tensor.requires_grad:
            return tensor.resolve_neg()  # DLPack does not tell of negation that is still to be done
    elif hasattr(type(thing), "__dlpack__"):
        return thing
    elif hasattr(type(thing), "__array__"):
        return np.asarray(thing)
    if number >= len(inputs):
        return thing  # the runtime counts them
    raise _refused(thing, *inputs[number])


def is_masked(thing: object) -> bool:
    """Whether it is NumPy's array with a mask, of which the runtime would see the elements only."""
    masked = modules.get("numpy.ma")  # as with torch: its class is there before any array is
    return masked is not None and isinstance(thing, masked.MaskedArray)


def refuse_masked(arrays: Sequence[object], inputs: Inputs) -> None:
    for number, array in enumerate(arrays[: len(inputs)]):
        if is_masked(array):
            raise _masked(inputs[number][0])


def _masked(name: str) -> InputError:
    fix = f"pass {name}.filled(value), and its mask as an input of its own"
    return InputError(name, "is a masked array, whose mask would be lost", fix)


def _refused(thing: Any, name: str, type_: TensorType) -> InputError:
    if not is_torch(thing):
        fix = f"pass np.asarray({name}, '{type_.dtype.numpy}')"
        return InputError(name, f"is a {type(thing).__name__}, no array", fix)
    if not thing.is_cpu:
        problem = f"is on device '{thing.device}', not in this machine's memory"
        return InputError(name, problem, f"pass {name}.cpu()")
    problem = "requires grad, and results would be cut off from its gradient"
    return InputError(name, problem, f"pass {name}.detach()")


def shape_of(thing: object) -> tuple[int, ...]:
    """The sizes of anything that has a shape; nothing for what has none."""
    shape: Iterable[int] = getattr(thing, "shape", ())
    return tuple(int(size) for size in shape)


def as_torch(array: Array) -> Any:
    """A tensor on the memory of `array`, which it keeps alive."""
    torch: Any = modules["torch"]
    if array.dtype != bf16.numpy:
        return torch.from_numpy(array)
    return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)


def as_numpy(thing: object) -> Array:
    """A NumPy array on the memory of what `readable` let pass."""
    if isinstance(thing, np.ndarray):
        return cast(Array, thing)
    tensor = cast(Any, thing)
    if is_torch(thing) and tensor.dtype == modules["torch"].bfloat16:
        bits = tensor.contiguous().view(modules["torch"].int16)
        return cast(Array, bits.numpy().view(bf16.numpy))
    return cast(Array, np.from_dlpack(tensor))
