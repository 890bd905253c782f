"""A computation that every engine builds for itself, with inputs and weights from fixed seeds.

A model is a frozen dataclass: its fields say which one it is, and it travels between processes as
nothing but those. It writes its computation down once for each language: anyshape, torch and ONNX.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float32]
Binding: TypeAlias = Mapping[str, int]
Shape: TypeAlias = tuple[str | int, ...]  # axes by name, constants as numbers


class Model(ABC):
    """What to compute. Matrices among the weights are [in, out]; torch gets them as [out, in]."""

    @property
    @abstractmethod
    def signature(self) -> Mapping[str, Shape]:
        """The inputs by name."""

    @property
    @abstractmethod
    def result(self) -> Shape:
        """The shape of the only output."""

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

    @abstractmethod
    def flops(self, binding: Binding) -> int:
        """Additions and multiplications of its matrix products."""

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


def size(dim: str | int, binding: Binding) -> int:
    return binding[dim] if isinstance(dim, str) else dim
