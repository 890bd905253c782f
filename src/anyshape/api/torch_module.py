"""A compiled PyTorch model: called like the model, an Executable in everything else.

Tensors go in and come out without copies. Buffers that the model updates belong to the compiled
model: they start as the model's were when it was compiled, and calls change them one at a time.
They are donated, as are inputs that the model writes into: where the plan allows it, a call writes
them in place. One that is ended early may leave them half written, as in torch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from typing import Any, assert_never

import numpy as np

from anyshape.base.errors import OptionError, ResultCacheError
from anyshape.base.fork_lock import call_lock
from anyshape.execute import Executable
from anyshape.execute.executor import StepRun
from anyshape.execute.tensors import as_numpy, as_torch
from anyshape.frontend.builder.pytree import unflatten
from anyshape.frontend.imported.program import (
    FixedResult,
    ImportedModel,
    ImportedProgram,
    Returned,
    SizeInput,
    SizeResult,
    Source,
    StateInput,
    StridedResult,
    TensorResult,
    UserInput,
)
from anyshape.ir.types import Array


class CompiledModule(Executable):
    """A model that was compiled once and runs at any shape. See `anyshape.compile`.

    Calls take what the model takes, in the same containers, and give what it gives. Results are
    torch tensors, or NumPy arrays if all tensors of the call were NumPy arrays.
    """

    def __init__(self, executable: Executable, model: ImportedModel) -> None:
        super().__init__(
            executable.source,
            executable.graph,
            executable.reports,
            executable.executor,
            executable.bindings,
        )
        self._signature = model.signature
        self._program = model.program
        self._state = dict(model.program.state)
        self._one_by_one = call_lock() if self._state else nullcontext()
        self._passes_on = _passes_on(model)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        leaves = self._signature.flatten(args, kwargs)
        if self._passes_on:
            results = super().__call__(*leaves)
        else:
            with self._one_by_one:
                results = super().__call__(*self._arrays(leaves))
                self._update(results, leaves)
        return self._returned(results)

    def steps(self, *args: Any, **kwargs: Any) -> Iterator[StepRun]:
        """One call, a step at a time; the state stays as it is."""
        return super().steps(*self._arrays(self._signature.flatten(args, kwargs)))

    @property
    def state(self) -> dict[str, Array]:
        """Copies of the buffers that the model updates, by their names in the model."""
        with self._one_by_one:
            return {name: np.array(as_numpy(value)) for name, value in self._state.items()}

    # --- inside -------------------------------------------------------------------------------

    def _arrays(self, leaves: Sequence[Any]) -> list[Any]:
        return graph_arrays(self._program.sources, leaves, self._state)

    def _update(self, results: Sequence[Any], leaves: Sequence[Any]) -> None:
        for name, number in self._program.state_updates.items():
            self._state[name] = results[number]
        for leaf, number in self._program.input_updates.items():
            if results[number] is not leaves[leaf]:
                leaves[leaf][...] = results[number]

    def _returned(self, results: Sequence[Any]) -> Any:
        torch_out = not any(self._signature.is_tensor)  # nothing else says what the caller wants
        leaves = returned_leaves(self._program.returned, results, torch_out=torch_out)
        return unflatten(self._program.result_structure, leaves)


def graph_arrays(
    sources: Sequence[Source], leaves: Sequence[Any], state: Mapping[str, Array]
) -> list[Any]:
    """The arrays that a graph takes, from the leaves of a call."""
    return [_array(source, leaves, state) for source in sources]


def _array(source: Source, leaves: Sequence[Any], state: Mapping[str, Array]) -> Any:
    match source:
        case UserInput(leaf):
            return leaves[leaf]
        case SizeInput(leaf, below):
            return np.empty(max(-leaves[leaf] if below else leaves[leaf], 0), np.bool_)
        case StateInput(name):
            return state[name]
        case _:
            assert_never(source)


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
        case SizeResult(result):
            return int(results[result])
        case FixedResult(value):
            return value
        case _:
            assert_never(item)


def _laid_out(tensor: Any, strides: Sequence[int], offset: int) -> Any:
    """A copy of a tensor with these strides, from this offset on; stride 0 repeats an element."""
    reach = sum((size - 1) * stride for size, stride in zip(tensor.shape, strides, strict=True))
    memory = tensor.new_empty(max(offset + reach + 1, 0))
    once = tensor[tuple(slice(None) if stride else slice(0, 1) for stride in strides)]
    memory.as_strided(once.shape, strides, offset).copy_(once)
    return memory.as_strided(tensor.shape, strides, offset)


def _as_tensor(leaf: Any) -> Any:
    return as_torch(leaf) if isinstance(leaf, np.ndarray) else leaf  # pyright: ignore[reportUnknownArgumentType]


def refuse_updates(imported: ImportedProgram) -> None:
    """For `result_cache`: calls that change buffers are never the same call again."""
    if imported.state_updates:
        causes = {f"buffer '{name}'": 1 for name in imported.state_updates}
        raise ResultCacheError(imported.graph.name, causes)


def donated_names(model: ImportedModel, names: Sequence[str]) -> tuple[str, ...]:
    """The inputs of the graph that calls give up: all tensors in arguments of these names, buffers
    that the model updates, and inputs that it writes into."""
    paths, program = model.signature.paths, model.program
    for name in names:
        if not any(_is_within(path, name) for path in paths):
            raise OptionError("donate", name, f"an argument: {', '.join(model.signature.names)}")
    named = zip(program.graph.inputs, program.sources, strict=True)
    return tuple(name for name, source in named if _is_donated(source, model, names))


def _is_donated(source: Source, model: ImportedModel, names: Sequence[str]) -> bool:
    match source:
        case UserInput(leaf):
            path = model.signature.paths[leaf]
            written = leaf in model.program.input_updates
            return written or any(_is_within(path, name) for name in names)
        case SizeInput():
            return False
        case StateInput():
            return True
        case _:
            assert_never(source)


def _is_within(path: str, name: str) -> bool:
    """Whether a tensor at `path` is the argument `name`, or in a container that is."""
    return path == name or path.startswith((f"{name}.", f"{name}["))


def _passes_on(model: ImportedModel) -> bool:
    """Whether the arrays of the graph are the leaves of a call, as they are."""
    program = model.program
    leaves = len(model.signature.paths)
    in_order = tuple(UserInput(leaf) for leaf in range(leaves))
    return program.sources == in_order and not program.input_updates
