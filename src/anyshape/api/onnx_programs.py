"""The programs of an ONNX model: one, or one for each value of inputs that decide its structure.

Where the rank of a tensor depends on what an input holds (the axes of a reduction, say), no program
is right for all of its values. Each value then has a program of its own, made when it is first
given; the last few are kept, and they share the weights.
"""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, cast

import numpy as np

from anyshape.base.errors import ShapeError
from anyshape.base.fork_lock import call_lock
from anyshape.base.warnings import SplitAxesWarning
from anyshape.execute import CompileKeywords, Executable, compile_graph
from anyshape.frontend.onnx.importer import Naming, OnnxModel, StaticInputNamesError, import_model
from anyshape.frontend.onnx.input_shapes import Form, input_infos
from anyshape.frontend.onnx.model_file import ModelFile
from anyshape.ir.literal import WeightStore
from anyshape.ir.types import Array

MOST_PROGRAMS = 64

Key = tuple[tuple[str, tuple[Any, ...]], ...]


@dataclass(frozen=True)
class OnnxProgram:
    """An Executable, and which inputs it takes, in order."""

    executable: Executable
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    lengths: tuple[int | None, ...]

    def arguments(self, feeds: Mapping[str, Any]) -> tuple[Array, ...]:
        """The arrays that the Executable takes: elements of sequences have names of their own."""
        flat = {
            f"{name}[{n}]": each
            for name, given in feeds.items()
            if not _is_array(given)
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


class OnnxPrograms:
    """See the module. `lenient` takes the model's names of sizes for nothing where it contradicts
    them."""

    def __init__(
        self, file: ModelFile, naming: Naming, chosen: CompileKeywords, *, lenient: bool
    ) -> None:
        self.file = file
        self.static: tuple[str, ...] = ()
        self._naming = naming
        self._chosen = chosen
        self._lenient = lenient
        self._weights = WeightStore()
        self._programs: OrderedDict[Key, OnnxProgram] = OrderedDict()
        self._one_by_one = call_lock()
        try:
            self._only = self._compiled({})
        except StaticInputNamesError as error:
            self.static, self._only = error.names, None

    def program(self, feeds: Mapping[str, Any]) -> OnnxProgram:
        """The one for these inputs."""
        return self._only if self._only is not None else self._of_values(feeds)

    def _of_values(self, feeds: Mapping[str, Any]) -> OnnxProgram:
        with self._one_by_one:
            while True:
                given = {name: feeds.get(name) for name in self.static}
                key = _key(given)
                if key in self._programs:
                    self._programs.move_to_end(key)
                    return self._programs[key]
                try:
                    self._programs[key] = self._compiled(given)
                except StaticInputNamesError as error:  # with these values, others matter too
                    self.static = tuple(dict.fromkeys((*self.static, *error.names)))
                    self._programs.clear()
                if len(self._programs) > MOST_PROGRAMS:
                    self._programs.popitem(last=False)

    def _compiled(self, given: Mapping[str, Any]) -> OnnxProgram:
        values: dict[str, Array] = {n: x.copy() for n, x in given.items() if _is_array(x)}
        forms = {n: _form(x) for n, x in given.items() if n not in values}
        model = self._imported(replace(self._naming, values=values, forms=forms))
        executable = compile_graph(model.model.program.graph, **self._chosen)
        return OnnxProgram(executable, model.inputs, model.outputs, model.lengths)

    def _imported(self, naming: Naming) -> OnnxModel:
        try:
            return import_model(self.file, naming, self._weights)
        except ShapeError as error:
            if not self._lenient or naming.apart or not _has_names(self.file):
                raise
            apart = replace(naming, apart=True)
            try:
                model = import_model(self.file, apart, self._weights)
            except ShapeError:
                raise error from None
            self._naming = replace(self._naming, apart=True)
            warnings.warn(SplitAxesWarning(self.file.name, str(error)), stacklevel=4)
            return model


def _form(given: Any) -> Form:
    """Of a sequence (a list), of a tensor in an optional (a tuple of it), or of an empty one."""
    if isinstance(given, tuple):
        return cast(tuple[Array], given)[0].ndim
    return None if given is None else tuple(each.ndim for each in given)


def _key(values: Mapping[str, Any]) -> Key:
    return tuple((name, _shown(given)) for name, given in sorted(values.items()))


def _shown(given: Any) -> tuple[Any, ...]:
    if not _is_array(given):
        return (_form(given),)
    return str(given.dtype), given.shape, given.tobytes()


def _is_array(given: Any) -> bool:
    return isinstance(given, np.ndarray)


def _has_names(file: ModelFile) -> bool:
    return any(isinstance(size, str) for info in input_infos(file) for size in info.shape)
