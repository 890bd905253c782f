"""Between the calls of an imported model and those of its graph.

A call's leaves become the arrays that the graph takes; the graph's results become the leaves of
what the model returns. Which inputs a call gives up, and whether results may be kept, follow from
what the model updates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from sys import modules
from typing import Any, assert_never, cast

import numpy as np

from anyshape.base.errors import OptionError, ResultCacheError
from anyshape.execute.tensors import as_torch, is_torch
from anyshape.frontend.imported.program import (
    ComplexInput,
    ComplexResult,
    FixedResult,
    FloatResult,
    ImportedModel,
    Returned,
    SizeInput,
    SizeResult,
    Source,
    StateInput,
    StridedResult,
    TensorResult,
    TruthResult,
    UserInput,
)
from anyshape.ir.types import Array


def graph_arrays(
    sources: Sequence[Source], leaves: Sequence[Any], state: Mapping[str, Array]
) -> list[Any]:
    """The arrays that a graph takes, from the leaves of a call."""
    return [_array(source, leaves, state) for source in sources]


def _array(source: Source, leaves: Sequence[Any], state: Mapping[str, Array]) -> Any:
    match source:
        case UserInput(leaf):
            return leaves[leaf]
        case ComplexInput(leaf):
            return _parts(leaves[leaf])
        case SizeInput(leaf, below):
            return np.empty(max(-leaves[leaf] if below else leaves[leaf], 0), np.bool_)
        case StateInput(name):
            return state[name]
        case _:
            assert_never(source)


def _parts(numbers: Any) -> Any:
    """The parts of complex numbers as a last axis; what has none is refused by the call."""
    if is_torch(numbers):
        plain = numbers.resolve_conj()
        return modules["torch"].view_as_real(plain) if plain.is_complex() else plain
    array: Any = np.asarray(numbers, order="C")
    if array.dtype.kind != "c":
        return array
    return array.view(array.real.dtype).reshape(*array.shape, 2)


def returned_leaves(
    returned: Sequence[Returned], results: Sequence[Any], *, torch_out: bool
) -> list[Any]:
    """The leaves of what a model returns, from the results of its graph."""
    leaves = [_leaf(item, results) for item in returned]
    return [_as_tensor(leaf) for leaf in leaves] if torch_out else leaves


def _leaf(item: Returned, results: Sequence[Any]) -> Any:
    match item:
        case TensorResult(result, order):
            return results[result].permute(order) if order else results[result]
        case StridedResult(result, strides, offset):
            layout = [int(results[number]) for number in (*strides, offset)]
            return _laid_out(results[result], layout[:-1], layout[-1])
        case ComplexResult(result):
            return _complex(results[result])
        case SizeResult(result):
            return int(results[result])
        case FloatResult(result):
            return float(results[result])
        case TruthResult(result):
            return bool(results[result])
        case FixedResult(value):
            return value
        case _:
            assert_never(item)


def _complex(parts: Any) -> Any:
    """A tensor or an array of complex numbers on the memory of their parts."""
    if is_torch(parts):
        dense = parts if parts.numel() else parts.new_empty(parts.shape)  # of any strides
        return modules["torch"].view_as_complex(dense)
    numbers = cast(Array, parts)
    return numbers.view(np.result_type(numbers.dtype, np.complex64))[..., 0]


def _laid_out(tensor: Any, strides: Sequence[int], offset: int) -> Any:
    """A copy of a tensor with these strides, from this offset on; stride 0 repeats an element."""
    reach = sum((size - 1) * stride for size, stride in zip(tensor.shape, strides, strict=True))
    memory = tensor.new_empty(max(offset + reach + 1, 0))
    once = tensor[tuple(slice(None) if stride else slice(0, 1) for stride in strides)]
    memory.as_strided(once.shape, strides, offset).copy_(once)
    return memory.as_strided(tensor.shape, strides, offset)


def _as_tensor(leaf: Any) -> Any:
    return as_torch(leaf) if isinstance(leaf, np.ndarray) else leaf  # pyright: ignore[reportUnknownArgumentType]


def refuse_updates(model: ImportedModel) -> None:
    """For `result_cache`: calls that change buffers are never the same call again."""
    updated = sorted({name for program in model.programs for name in program.state_updates})
    if updated:
        causes = {f"buffer '{name}'": 1 for name in updated}
        raise ResultCacheError(model.program.graph.name, causes)


def donated_names(model: ImportedModel, names: Sequence[str]) -> tuple[str, ...]:
    """The inputs of the graph that calls give up: all tensors in arguments of these names, buffers
    that the model updates, and inputs that it writes into."""
    paths, program = model.signature.paths, model.program
    for name in names:
        if not any(_is_within(path, name) for path in paths):
            raise OptionError("donate", name, f"an argument: {', '.join(model.signature.names)}")
    named = zip(program.graph.inputs, program.sources, strict=True)
    return tuple(name for name, source in named if _is_donated(source, model, names))


def channels_last_names(
    model: ImportedModel, names: Sequence[str], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[str, ...]:
    """The inputs of the graph whose channels lie last in memory: tensors in arguments of these
    names, and those that did in the call that the model was captured by."""
    paths, program = model.signature.paths, model.program
    for name in names:
        if not any(_is_within(path, name) for path in paths):
            known = ", ".join(model.signature.names)
            raise OptionError("channels_last", name, f"an argument: {known}")
    leaves = model.signature.flatten(args, kwargs) if args or kwargs else [None] * len(paths)
    return tuple(
        name
        for name, source in zip(program.graph.inputs, program.sources, strict=True)
        if isinstance(source, UserInput)
        and (
            any(_is_within(paths[source.leaf], name) for name in names)
            or _lies_channels_last(leaves[source.leaf])
        )
    )


def _lies_channels_last(leaf: Any) -> bool:
    if not is_torch(leaf) or leaf.ndim not in (4, 5) or leaf.is_contiguous():
        return False
    torch = modules["torch"]
    form = torch.channels_last if leaf.ndim == 4 else torch.channels_last_3d
    return leaf.is_contiguous(memory_format=form)


def _is_donated(source: Source, model: ImportedModel, names: Sequence[str]) -> bool:
    match source:
        case UserInput(leaf):
            path = model.signature.paths[leaf]
            written = any(leaf in program.input_updates for program in model.programs)
            return written or any(_is_within(path, name) for name in names)
        case SizeInput() | ComplexInput():
            return False
        case StateInput():
            return True
        case _:
            assert_never(source)


def _is_within(path: str, name: str) -> bool:
    """Whether a tensor at `path` is the argument `name`, or in a container that is."""
    return path == name or path.startswith((f"{name}.", f"{name}["))


def passes_on(model: ImportedModel) -> bool:
    """Whether the arrays of the graph are the leaves of a call, as they are."""
    leaves = len(model.signature.paths)
    in_order = tuple(UserInput(leaf) for leaf in range(leaves))
    return all(each.sources == in_order and not each.input_updates for each in model.programs)
