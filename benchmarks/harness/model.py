"""A computation that every engine builds for itself, with inputs and weights from fixed seeds.

A model is a frozen dataclass: its fields say which one it is, and it travels between processes as
nothing but those. It writes its computation down once for each language (anyshape, torch and ONNX),
or it is a module of torch that every engine captures in its own way.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
Binding: TypeAlias = Mapping[str, int]
Shape: TypeAlias = tuple[str | int, ...]  # axes by name, constants as numbers


class Model(ABC):
    """What to compute."""

    @abstractmethod
    def inputs(self, binding: Binding) -> tuple[Array, ...]:
        """The same ones every time."""

    @abstractmethod
    def flops(self, binding: Binding) -> int:
        """Additions and multiplications of its matrix products."""

    @property
    @abstractmethod
    def weight_bytes(self) -> int:
        """Of the weights that every reading of the model needs in full."""

    @property
    def readings(self) -> int:
        """How often a call goes through all the weights."""
        return 1


class WrittenModel(Model):
    """Written down for each engine. Matrices among the weights are [in, out]; torch gets them as
    [out, in]."""

    @property
    @abstractmethod
    def signature(self) -> Mapping[str, Shape]:
        """The inputs by name."""

    @property
    @abstractmethod
    def result(self) -> Shape:
        """The shape of the only output."""

    @property
    def dtypes(self) -> Mapping[str, str]:
        """Of inputs that are not f32."""
        return {}

    @property
    def weight_shapes(self) -> Mapping[str, tuple[int, ...]]:
        """The constants by name."""
        return {}

    @abstractmethod
    def anyshape(self, weights: Mapping[str, Array], *inputs: Any) -> Any:
        """The computation on traced tensors."""

    @abstractmethod
    def torch(self, weights: Mapping[str, Any], *inputs: Any) -> Any:
        """The computation on torch's tensors."""

    @abstractmethod
    def onnx(self) -> Sequence[str]:
        """Statements of ONNX's text form that define `y`; inputs and weights go by their names."""

    @property
    def weight_bytes(self) -> int:
        return sum(4 * math.prod(shape) for shape in self.weight_shapes.values())

    def weights(self) -> dict[str, Array]:
        """Scaled so that values neither grow nor vanish from layer to layer."""
        rng = np.random.default_rng(0)
        return {
            name: (rng.standard_normal(shape, np.float32) / np.float32(math.sqrt(shape[0])))
            for name, shape in self.weight_shapes.items()
        }

    def inputs(self, binding: Binding) -> tuple[Array, ...]:
        rng = np.random.default_rng(1)
        return tuple(
            rng.standard_normal([size(dim, binding) for dim in shape], np.float32)
            for shape in self.signature.values()
        )


class FileModel(Model):
    """An ONNX file that exists; engines read it themselves."""

    @property
    @abstractmethod
    def path(self) -> Path | None:
        """None if it is not installed."""

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """Of its inputs."""

    def content(self) -> bytes:
        assert self.path is not None, f"{self} is not installed"
        return self.path.read_bytes()


class TorchModel(Model):
    """A module of torch, which takes and gives tensors in flat order."""

    @abstractmethod
    def module(self) -> Any:
        """Ready for inference; its parameters are `signature`, in that order."""

    @property
    @abstractmethod
    def signature(self) -> Mapping[str, Any]:
        """For each parameter the axes of its tensor, or a list of them for a list of tensors."""

    @property
    @abstractmethod
    def example(self) -> Binding:
        """Sizes to capture the module at, all different and greater than 1."""

    @property
    def donated(self) -> tuple[str, ...]:
        """Parameters that a caller gives up with every call."""
        return ()

    def arguments(self, tensors: Sequence[Any]) -> tuple[Any, ...]:
        """What the module takes, from all its tensors in order."""
        return tuple(tensors)

    def perform(self, run: Callable[[Sequence[Any]], Sequence[Any]], tensors: Sequence[Any]) -> Any:
        """What one call of the benchmark does with an engine's `run`."""
        return run(tensors)


def size(dim: str | int, binding: Binding) -> int:
    return binding[dim] if isinstance(dim, str) else dim
