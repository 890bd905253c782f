"""What a call of a compiled model lacks, with the line of `compile` that would allow it.

The Executable knows arrays and sizes; how the model was captured is known here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from anyshape.base.errors import AnyshapeError, DimMismatchError, InputError
from anyshape.frontend.imported.call_signature import CallSignature
from anyshape.ir.graph import Graph
from anyshape.ir.inputs import tensor_inputs

_NAMES = ("batch", "seq", *(f"size{number}" for number in range(9)))
"""For new axes, by position."""


def in_words_of_call(
    error: InputError | DimMismatchError,
    signature: CallSignature,
    leaves: Sequence[Any],
    graph: Graph,
) -> AnyshapeError:
    """The error to raise instead of what the Executable said of a call."""
    if isinstance(error, DimMismatchError):
        error.fix = _axes_to_add(error, signature, graph)
        return error
    tensors = zip(leaves, signature.is_tensor, signature.paths, strict=True)
    missing = [path for leaf, tensor, path in tensors if tensor and leaf is None]
    if not missing:
        return error
    problem = "is None, and the model was compiled with a tensor"
    fix = f"pass a tensor, or compile a second model, with {missing[0]}=None in its example"
    return InputError(missing[0], problem, fix)


def _axes_to_add(error: DimMismatchError, signature: CallSignature, graph: Graph) -> str:
    """The entry of `axes` for an input whose size was left out of it."""
    shapes = {f"input '{name}'": (name, type_.shape) for name, type_ in tensor_inputs(graph)}
    name, shape = shapes.get(error.subject, ("", ()))
    if name not in signature.names or shape[error.position].constant is None:
        return error.fix
    taken = {symbol.name for dim in shape for symbol in dim.symbols}
    new = next(each for each in (*_NAMES[error.position :], *_NAMES) if each not in taken)
    entry = [None if dim.constant is not None else str(dim) for dim in shape]
    entry[error.position] = new
    line = f"compile(..., axes={{'{name}': {tuple(entry)}, ...}})"
    return f"pass size {error.expected} there, or name the axis: {line}"
