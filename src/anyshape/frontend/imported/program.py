"""An imported program as a graph, and how its inputs and results belong to the model's.

The graph has tensors only. What else a model takes and gives is described beside it: containers,
constants, sizes returned as integers, buffers that the model updates (the *state*), and inputs
that it writes into.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from anyshape.frontend.builder.pytree import Structure
from anyshape.frontend.imported.axes import NamedAxes
from anyshape.frontend.imported.call_signature import CallSignature
from anyshape.frontend.imported.cases import RefusedCase
from anyshape.ir.graph import Graph
from anyshape.ir.literal import TensorLiteral, WeightRef
from anyshape.ir.types import Array


@dataclass(frozen=True, slots=True)
class UserInput:
    """The tensor at a leaf of the call's arguments."""

    leaf: int


@dataclass(frozen=True, slots=True)
class ComplexInput:
    """The tensor of complex numbers at a leaf; the graph takes their parts, as a last axis."""

    leaf: int


@dataclass(frozen=True, slots=True)
class SizeInput:
    """The integer at a leaf of the arguments, or how far it is `below` 0, as the size of an array
    without content."""

    leaf: int
    below: bool = False


@dataclass(frozen=True, slots=True)
class StateInput:
    """A buffer that the model updates."""

    name: str


@dataclass(frozen=True, slots=True)
class TensorResult:
    """A leaf of what the model returns: a result of the graph, with its axes in another order if
    the caller relies on how they lie in memory."""

    result: int
    order: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class StridedResult:
    """A leaf whose layout in memory has gaps: results of the graph are its elements, its strides,
    and where it begins."""

    result: int
    strides: tuple[int, ...]
    offset: int


@dataclass(frozen=True, slots=True)
class SizeResult:
    """A leaf that is an integer: a result of the graph of rank 0."""

    result: int


@dataclass(frozen=True, slots=True)
class FloatResult:
    """A leaf that is a float which sizes decide: a result of the graph of rank 0."""

    result: int


@dataclass(frozen=True, slots=True)
class TruthResult:
    """A leaf that is a truth which data decide: a result of the graph of rank 0."""

    result: int


@dataclass(frozen=True, slots=True)
class FixedResult:
    """A leaf that every call returns."""

    value: object


@dataclass(frozen=True, slots=True)
class ComplexResult:
    """A leaf of complex numbers: a result of the graph whose last axis has their two parts."""

    result: int


Source = UserInput | ComplexInput | SizeInput | StateInput
Numbers = SizeResult | FloatResult | TruthResult
Returned = TensorResult | StridedResult | ComplexResult | Numbers | FixedResult


@dataclass(frozen=True)
class ImportedProgram:
    """A graph, the sources of its inputs, and the uses of its results."""

    graph: Graph
    sources: tuple[Source, ...]
    returned: tuple[Returned, ...]
    state: Mapping[str, Array]  # at the beginning
    state_updates: Mapping[str, int]  # the result that each buffer becomes
    input_updates: Mapping[int, int]  # the result that is written into the input at a leaf
    result_structure: Structure  # the containers around what the model returns
    constants: Mapping[str, TensorLiteral | WeightRef]  # what the model's tensors became, by name
    memory_reader: str | None = None  # an op whose result depends on how inputs lie in memory

    def constant(self, name: str) -> Array:
        """The elements of one of the model's tensors, wherever they are kept by now."""
        value = self.constants[name]
        return value.array if isinstance(value, TensorLiteral) else self.graph.weights.array(value)


@dataclass(frozen=True)
class ImportedModel:
    """A model's program, and how users call it. Where the model's code branches on sizes, `program`
    is that of the example's case; `others` are those of further cases, with the same sources, and
    `refused` the cases without one. `named` is what the user said of inputs: a case may have
    numbers there."""

    program: ImportedProgram
    signature: CallSignature
    others: tuple[ImportedProgram, ...] = ()
    refused: tuple[RefusedCase, ...] = ()
    named: NamedAxes | None = None

    @property
    def programs(self) -> tuple[ImportedProgram, ...]:
        return (self.program, *self.others)
