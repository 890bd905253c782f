"""Arrays of other libraries as NumPy arrays, without copies where memory can be shared.

Nothing is imported for this: an object is recognised by the protocols it has. torch's bfloat16 has
no NumPy type of its own, so its bits go through int16 to ml_dtypes' bfloat16.
"""

from __future__ import annotations

import sys
from typing import Any, cast

import numpy as np

from anyshape.base.errors import InputError
from anyshape.ir.types import Array, bf16


def is_array(thing: object) -> bool:
    """Whether `as_array` takes it."""
    kind = type(thing)
    return hasattr(kind, "__array__") or hasattr(kind, "__dlpack__")


def as_array(thing: object) -> Array:
    """A NumPy array with the elements of `thing`."""
    if isinstance(thing, np.ndarray):
        _refuse_mask(cast(Array, thing))
        return cast(Array, thing)
    if type(thing).__module__.partition(".")[0] == "torch":
        return _from_torch(cast(Any, thing))
    if hasattr(type(thing), "__array__"):
        return np.asarray(thing)
    return cast(Array, np.from_dlpack(cast(Any, thing)))


def _refuse_mask(array: Array) -> None:
    masked = sys.modules.get("numpy.ma")  # its class is there before any array is
    if masked is not None and isinstance(array, masked.MaskedArray):
        fix = "pass array.filled(value), and the mask as an array of its own"
        raise InputError("constant", "is a masked array, whose mask would be lost", fix)


def _from_torch(tensor: Any) -> Array:
    plain = tensor.detach().cpu()
    if str(plain.dtype) != "torch.bfloat16":
        return cast(Array, plain.numpy())
    bits = plain.contiguous().view(sys.modules["torch"].int16)
    return cast(Array, bits.numpy().view(bf16.numpy))
