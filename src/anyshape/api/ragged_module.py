"""A padded model that was compiled without its padding: called with sequences of any lengths."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

import numpy as np

from anyshape.base.errors import InputError, OffsetsError, RaggedModelError
from anyshape.base.options import Options
from anyshape.dynamic.ragged_rewrite import RaggedGraph, ragged_graph
from anyshape.execute import CompileKeywords, Executable, compile_graph
from anyshape.execute.tensors import as_numpy, is_torch
from anyshape.frontend.builder.pytree import unflatten
from anyshape.frontend.builder.ragged_value import Ragged, pack
from anyshape.frontend.imported.program import FixedResult, ImportedModel, TensorResult, UserInput

MASK: Final = "attention_mask"
"""How models call the input that tells tokens from padding."""


class RaggedModule:
    """A model that computes nothing for padding. See `compile`, `ragged`.

    It takes the model's tensors by name, but for the mask: a `Ragged`, or a list of arrays, one for
    each sequence. Results that have a row for each sequence are arrays; those that have one for
    each token are `Ragged`, in the containers of the model.
    """

    def __init__(self, executable: Executable, made: RaggedGraph, model: ImportedModel) -> None:
        self.executable = executable
        self._made = made
        self._names = made.graph.inputs[:-1]
        self._program = model.program

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        given = self._given(args, kwargs)
        arrays: list[Any] = []
        offsets: Any = None
        for name in self._names:
            value = given[name]
            if name in self._made.packed:
                packed = _packed(name, value)
                _check_same(name, offsets, packed.offsets)
                value, offsets = packed.values, packed.offsets
            arrays.append(value)
        results = self.executable(*arrays, offsets)
        pairs = zip(results, self._made.of_tokens, strict=True)
        leaves = [Ragged(each, offsets) if is_tokens else each for each, is_tokens in pairs]
        return unflatten(self._program.result_structure, self._returned(leaves))

    def _given(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        given = {**dict(zip(self._names, args, strict=False)), **kwargs}
        wanted = ", ".join(self._names)
        if len(args) > len(self._names) or given.keys() != set(self._names):
            found = ", ".join(map(str, given)) or "nothing"
            raise InputError("arguments", f"are {found}", f"pass {wanted}, each once")
        return given

    def _returned(self, results: Sequence[Any]) -> list[Any]:
        return [
            results[each.result] if isinstance(each, TensorResult) else each.value
            for each in self._program.returned
            if isinstance(each, TensorResult | FixedResult)
        ]


def ragged_module(
    model: ImportedModel, seq: str, mask: str, options: Options | None, chosen: CompileKeywords
) -> RaggedModule:
    """The captured model, rewritten and compiled."""
    program = model.program
    plain = all(isinstance(source, UserInput) for source in program.sources)
    kept = all(
        isinstance(each, FixedResult) or (isinstance(each, TensorResult) and not each.order)
        for each in program.returned
    )
    if model.others or model.refused or not plain or not kept or program.input_updates:
        problem = "it branches on sizes, has state, or takes or gives what is no plain tensor"
        raise RaggedModelError(program.graph.name, problem, "compile it without ragged=")
    made = ragged_graph(program.graph, seq, mask)
    return RaggedModule(compile_graph(made.graph, options, **chosen), made, model)


def _packed(name: str, value: Any) -> Ragged:
    if isinstance(value, Ragged):
        return Ragged(value.values, np.asarray(as_numpy(value.offsets), np.int64))
    if not isinstance(value, (list, tuple)):
        fix = "pass a list of arrays, one for each sequence, or what ash.pack makes of it"
        raise InputError(name, f"is a {type(value).__name__}, and not ragged", fix)
    given = cast(Sequence[Any], value)
    return pack([as_numpy(each) if is_torch(each) else each for each in given])


def _check_same(name: str, known: Any, offsets: Any) -> None:
    if known is not None and not np.array_equal(known, offsets):
        raise OffsetsError(f"{name}.offsets", "they are not those of the inputs before it")
