"""The inputs of a model: names, element types, and shapes with named axes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from anyshape.base.errors import InputError, UnsupportedModelError
from anyshape.frontend.onnx.dims import parsed
from anyshape.frontend.onnx.dtypes import dtype_of_code
from anyshape.frontend.onnx.model_file import ModelFile
from anyshape.ir.types import DType, Shape
from anyshape.sym import HOLE, Axis, Dim, Symbol

Size = int | str | None
"""A number, a `dim_param`, or nothing."""


Form = tuple[int, ...] | int | None
"""What a call gives for a sequence (a rank for each element) or for an optional (a rank, the ranks
of a sequence, or nothing)."""


@dataclass(frozen=True, slots=True)
class InputInfo:
    """An input as the model declares it."""

    name: str
    dtype: DType
    shape: tuple[Size, ...]
    is_tensor: bool = True  # or a sequence of these, or an optional

    def elements(self, form: Form) -> list[InputInfo]:
        """The tensors that a sequence or an optional of this form has."""
        ranks = (form,) if isinstance(form, int) else form or ()
        return [
            InputInfo(f"{self.name}[{n}]", self.dtype, (None,) * rank)
            for n, rank in enumerate(ranks)
        ]


def input_infos(file: ModelFile, overridden: Collection[str] = ()) -> list[InputInfo]:
    """The inputs that a call gives: all but those that have an initializer, and those of them that
    it gives nevertheless."""
    constants = {each.name for each in file.proto.graph.initializer} - set(overridden)
    given = [each for each in file.proto.graph.input if each.name not in constants]
    return [_info(file, each) for each in given]


FIRST_OVERRIDABLE = 4
"""The version of the format from which on inputs with an initializer are more than its type."""


def overridable_names(file: ModelFile) -> list[str]:
    """The initializers that are inputs too: a call may give them."""
    if file.proto.ir_version < FIRST_OVERRIDABLE:
        return []
    constants = {each.name for each in file.proto.graph.initializer}
    return [each.name for each in file.proto.graph.input if each.name in constants]


def _info(file: ModelFile, value: Any) -> InputInfo:
    place = f"input '{value.name}'"
    held = tensor_type_in(value.type)
    kind = held.WhichOneof("value")
    if kind != "tensor_type":
        what = f"inputs of kind {(kind or 'nothing').removesuffix('_type')}"
        raise UnsupportedModelError(file.name, {what: [place]}, "let the model take tensors")
    tensor = held.tensor_type
    dtype = dtype_of_code(tensor.elem_type, place)
    if held is not value.type:
        return InputInfo(value.name, dtype, (), is_tensor=False)
    if not tensor.HasField("shape"):
        fix = "declare a shape, with names for sizes that vary"
        raise UnsupportedModelError(file.name, {"inputs of unknown rank": [place]}, fix)
    return InputInfo(value.name, dtype, declared_sizes(tensor.shape))


def tensor_type_in(type_: Any) -> Any:
    """The type of the tensors that sequences and optionals are made of."""
    kind = type_.WhichOneof("value")
    if kind in ("sequence_type", "optional_type"):
        return tensor_type_in(getattr(type_, kind).elem_type)
    return type_


def declared_sizes(shape: Any) -> tuple[Size, ...]:
    return tuple(map(_size, shape.dim))


def _size(dim: Any) -> Size:
    kind = dim.WhichOneof("value")
    if kind == "dim_value":
        return dim.dim_value if dim.dim_value >= 0 else None
    return dim.dim_param if kind == "dim_param" and dim.dim_param not in _NO_NAMES else None


_NO_NAMES = ("", "?")
"""What exporters write where they know no name: two of these are no size in common."""


def named_shapes(
    infos: Sequence[InputInfo],
    axes: Mapping[str, Any],
    sizes: Mapping[str, int],
    apart: Collection[str],
) -> tuple[list[Shape], list[Axis]]:
    """The shapes of inputs, and the axes in them. `sizes` are numbers for names. Names that are
    kept `apart` mean nothing: each of their uses is a size that inference may find to be another.
    """
    namer = _Namer(_plain_names(infos, axes), sizes, apart)
    shapes = [namer.shape(info, axes.get(info.name)) for info in infos]
    return shapes, list(namer.axes.values())


def _plain_names(infos: Sequence[InputInfo], axes: Mapping[str, Any]) -> set[Symbol]:
    """The names that stand alone somewhere, so that a call tells their sizes."""
    items = [each for info in infos for each in (*info.shape, *(axes.get(info.name) or ()))]
    texts = [each.name if isinstance(each, Axis) else each for each in items]
    dims = (size_dim(each) for each in texts if isinstance(each, str))
    return {dim.symbol for dim in dims if dim.symbol is not None}


def size_dim(text: str) -> Dim:
    """What a `dim_param` stands for. Names that begin as those of fresh sizes do get another one,
    which no size of ours has."""
    return Dim.of(Symbol(f"dim {text}")) if text.startswith("?") else parsed(text)


class _Namer:
    """Gives sizes their dims, and collects the axes."""

    def __init__(
        self, plain: set[Symbol], sizes: Mapping[str, int], apart: Collection[str]
    ) -> None:
        self.plain = plain
        self.sizes = sizes
        self.apart = apart
        self.axes: dict[str, Axis] = {}

    def shape(self, info: InputInfo, given: Any) -> Shape:
        items: Sequence[Any] = (None,) * len(info.shape) if given is None else given
        if len(items) != len(info.shape):
            problem = f"has {len(items)} axes in {tuple(items)}, and {len(info.shape)} in the model"
            raise InputError(info.name, problem, "give a name or None for each position")
        pairs = zip(info.shape, items, strict=True)
        return tuple(self._dim(own if item is None else item) for own, item in pairs)

    def _dim(self, item: Size | Axis) -> Dim:
        if item is None:
            return HOLE
        if isinstance(item, int):
            return Dim.of(item)
        if isinstance(item, Axis):
            self.axes[item.name] = item
            return Dim.of(item.symbol)
        return self._named(item)

    def _named(self, text: str) -> Dim:
        if text in self.sizes:
            return Dim.of(self.sizes[text])
        dim = size_dim(text)
        if any(symbol.name in self.apart for symbol in dim.symbols):
            return HOLE
        if dim.symbol is None and not dim.symbols <= self.plain:
            dim = Dim.of(Symbol(text))
        for symbol in sorted(dim.symbols, key=str):
            self.axes.setdefault(symbol.name, Axis(symbol.name))
        return dim.substitute({s: self.sizes[s.name] for s in dim.symbols if s.name in self.sizes})
