"""What a session tells about its model, and the checks of inputs against it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from anyshape.ir.types import dtype_of
from anyshape.session.errors import InvalidArgument, while_running
from anyshape.session.type_names import RUNTIME_NAMES

_FIX = "Please fix either the inputs/outputs or the model."


@dataclass(frozen=True)
class NodeArg:
    """An input or an output: its name, `tensor(float)`, and sizes: numbers, names or None."""

    name: str
    type: str
    shape: list[int | str | None]

    @property
    def is_optional(self) -> bool:
        return self.type.startswith("optional(")


@dataclass(frozen=True)
class ModelMetadata:
    """What the model says of itself."""

    custom_metadata_map: dict[str, str]
    description: str
    domain: str
    graph_description: str
    graph_name: str
    producer_name: str
    version: int


class SessionInfos:
    """Inputs, outputs and metadata of a model."""

    def __init__(
        self,
        inputs: Sequence[NodeArg],
        outputs: Sequence[NodeArg],
        overridable: Sequence[NodeArg],
        metadata: ModelMetadata,
    ) -> None:
        self.inputs = tuple(inputs)
        self.outputs = tuple(outputs)
        self.overridable = tuple(overridable)
        self.metadata = metadata
        self.overridable_names = frozenset(each.name for each in self.overridable)
        self.output_numbers = {each.name: n for n, each in enumerate(self.outputs)}
        self._by_name = {each.name: each for each in (*self.inputs, *self.overridable)}

    @staticmethod
    def of(file: Any, sizes: Mapping[str, int]) -> SessionInfos:
        """`sizes` are numbers for names."""
        from anyshape.frontend.onnx.input_shapes import (  # noqa: PLC0415  onnx is optional
            input_infos,
            overridable_names,
        )

        proto = file.proto
        overridable = frozenset(overridable_names(file))
        taken = {each.name for each in input_infos(file)}
        declared = [(each.name, _node_arg(each, sizes)) for each in proto.graph.input]
        metadata = ModelMetadata(
            {each.key: each.value for each in proto.metadata_props},
            proto.doc_string,
            proto.domain,
            proto.graph.doc_string,
            proto.graph.name,
            proto.producer_name,
            proto.model_version,
        )
        return SessionInfos(
            [arg for name, arg in declared if name in taken],
            [_node_arg(each, sizes) for each in proto.graph.output],
            [arg for name, arg in declared if name in overridable],
            metadata,
        )

    def is_tensor(self, name: str) -> bool:
        return self._known(name).type.startswith("tensor(")

    def _known(self, name: str) -> NodeArg:
        known = self._by_name.get(name)
        if known is None:
            raise InvalidArgument(f"Invalid input name: {name}")
        return known

    def checked_elements(self, name: str, held: Any) -> Any:
        """What is given for a sequence or an optional, each of its tensors of the declared type."""
        known = self._known(name)
        wanted = known.type.removeprefix("optional(").removesuffix(")" * known.is_optional)
        is_sequence = wanted.startswith("seq(")
        if (held is None and not known.is_optional) or (
            held is not None and is_sequence != isinstance(held, list)
        ):
            raise InvalidArgument(f"Input {name} is no {known.type}")
        inner = wanted.removeprefix("seq(").removesuffix(")" * is_sequence)
        for array in held or ():
            _check_type(name, array, inner)
        return held

    def check(self, name: str, array: Any) -> None:
        """An input has the type, the rank and the fixed sizes that the model declares."""
        known = self._known(name)
        _check_type(name, array, known.type)
        if array.ndim != len(known.shape):
            problem = f"Got: {array.ndim} Expected: {len(known.shape)}"
            raise InvalidArgument(f"Invalid rank for input: {name} {problem} {_FIX}")
        pairs = enumerate(zip(array.shape, known.shape, strict=True))
        differing = [
            f"index: {i} Got: {got} Expected: {size}"
            for i, (got, size) in pairs
            if isinstance(size, int) and got != size
        ]
        if differing:
            head = f"Got invalid dimensions for input: {name} for the following indices"
            raise InvalidArgument("\n ".join((head, *differing, _FIX)))


def _check_type(name: str, array: Any, wanted: str) -> None:
    with while_running():
        found = tensor_type(array)
    if found != wanted:
        problem = f"Actual: ({found}) , expected: ({wanted})"
        raise InvalidArgument(f"Unexpected input data type. {problem} for input: {name}")


def tensor_type(array: Any) -> str:
    """`tensor(float)`."""
    return f"tensor({RUNTIME_NAMES[dtype_of(array, 'input')]})"


def tensor_type_code(array: Any) -> int:
    """The number of the type in ONNX's format."""
    from anyshape.frontend.onnx.dtypes import CODES  # noqa: PLC0415  onnx is optional

    return CODES[dtype_of(array, "input")]


def _node_arg(value: Any, known: Mapping[str, int]) -> NodeArg:
    from anyshape.frontend.onnx.input_shapes import declared_sizes  # noqa: PLC0415

    sizes = declared_sizes(value.type.tensor_type.shape)
    shape = [known.get(size, size) if isinstance(size, str) else size for size in sizes]
    return NodeArg(value.name, _type_name(value.type), shape)


def _type_name(type_: Any) -> str:
    """`tensor(float)`, `seq(tensor(float))`, `optional(…)`."""
    from anyshape.frontend.onnx.dtypes import DTYPES  # noqa: PLC0415

    kind = type_.WhichOneof("value")
    if kind == "sequence_type":
        return f"seq({_type_name(type_.sequence_type.elem_type)})"
    if kind == "optional_type":
        return f"optional({_type_name(type_.optional_type.elem_type)})"
    dtype = DTYPES.get(type_.tensor_type.elem_type)
    return f"tensor({'?' if dtype is None else RUNTIME_NAMES[dtype]})"
