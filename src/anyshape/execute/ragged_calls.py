"""Calls of a ragged model: sequences of any lengths in, arrays and sequences out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from anyshape.base.errors import InputError, OffsetsError
from anyshape.execute.executable import Executable
from anyshape.execute.tensors import as_numpy, is_torch
from anyshape.frontend.builder.ragged_value import Ragged, pack


@dataclass(frozen=True, slots=True)
class RaggedCalls:
    """The inputs by name, which of them are packed, and which results have a row for each token.
    The graph takes the inputs in this order, and the offsets last."""

    names: tuple[str, ...]
    packed: frozenset[str]
    of_tokens: tuple[bool, ...]

    def results(
        self, executable: Executable, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> list[Any]:
        """The results of a call; those with a row for each token are `Ragged`."""
        given = self._given(args, kwargs)
        arrays: list[Any] = []
        offsets: Any = None
        for name in self.names:
            value = given[name]
            if name in self.packed:
                ragged = _packed(name, value)
                _check_same(name, offsets, ragged.offsets)
                value, offsets = ragged.values, ragged.offsets
            arrays.append(value)
        pairs = zip(executable(*arrays, offsets), self.of_tokens, strict=True)
        return [Ragged(each, offsets) if is_tokens else each for each, is_tokens in pairs]

    def _given(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        given = {**dict(zip(self.names, args, strict=False)), **kwargs}
        wanted = ", ".join(self.names)
        if len(args) > len(self.names) or given.keys() != set(self.names):
            found = ", ".join(map(str, given)) or "nothing"
            raise InputError("arguments", f"are {found}", f"pass {wanted}, each once")
        return given


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
