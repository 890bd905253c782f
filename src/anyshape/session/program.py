"""A program of a model, as sessions use it: compiled here, or loaded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np

from anyshape.base.warnings import SplitAxesWarning
from anyshape.ir.types import Array

if TYPE_CHECKING:
    from anyshape.execute import Executable
    from anyshape.frontend.onnx.input_shapes import Form
    from anyshape.loaded import LoadedExecutable

Key = tuple[tuple[str, tuple[Any, ...]], ...]
"""Values and forms of inputs that decide the structure of a model."""


@dataclass(frozen=True)
class OnnxProgram:
    """An Executable, and which inputs it takes, in order."""

    executable: Executable | LoadedExecutable
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    lengths: tuple[int | None, ...]

    def arguments(self, feeds: Mapping[str, Any]) -> tuple[Array, ...]:
        """The arrays that the Executable takes: elements of sequences have names of their own."""
        flat = {
            f"{name}[{n}]": each
            for name, given in feeds.items()
            if not is_array(given)
            for n, each in enumerate(given or ())
        }
        return tuple(feeds[name] if name in feeds else flat[name] for name in self.inputs)

    def outcome(self, results: Sequence[Array]) -> list[Any]:
        """The outputs of the model, of which some are sequences or None."""
        rest = iter(results)
        return [
            next(rest) if length is None else None if length < 0 else list(islice(rest, length))
            for length in self.lengths
        ]


class Programs(Protocol):
    """The programs of a model."""

    @property
    def static(self) -> tuple[str, ...]:
        """The inputs of whose values each has a program of its own."""
        ...

    @property
    def made(self) -> int:
        """How many there are."""
        ...

    def program(self, feeds: Mapping[str, Any]) -> OnnxProgram:
        """The one for these inputs."""
        ...

    def overriding(self, names: frozenset[str]) -> Programs:
        """Those of calls that give these initializers, which then are inputs as any others."""
        ...


@dataclass(frozen=True)
class SplitNames:
    """Names of sizes that a model contradicts, which therefore mean nothing, and how."""

    model: str
    names: tuple[str, ...]
    problem: str

    def warning(self) -> SplitAxesWarning:
        return SplitAxesWarning(self.model, list(self.names), self.problem)


def form_of(given: Any) -> Form:
    """Of a sequence (a list), of a tensor in an optional (a tuple of it), or of an empty one."""
    if isinstance(given, tuple):
        return cast(tuple[Array], given)[0].ndim
    return None if given is None else tuple(each.ndim for each in given)


def key_of(values: Mapping[str, Any]) -> Key:
    return tuple((name, _shown(given)) for name, given in sorted(values.items()))


def _shown(given: Any) -> tuple[Any, ...]:
    if not is_array(given):
        return (form_of(given),)
    return str(given.dtype), given.shape, given.tobytes()


def is_array(given: Any) -> bool:
    return isinstance(given, np.ndarray)
