"""The programs of an ONNX model: one, or one for each value of inputs that decide its structure.

Where the rank of a tensor depends on what an input holds (the axes of a reduction, say), no program
is right for all of its values. Each value then has a program of its own, made when it is first
given; the last few are kept, and they share the weights.
"""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, replace

from anyshape.base.errors import ShapeError
from anyshape.base.fork_lock import call_lock
from anyshape.base.warnings import SplitAxesWarning
from anyshape.execute import CompileKeywords, Executable, compile_graph
from anyshape.frontend.onnx.importer import Naming, OnnxModel, StaticInputNamesError, import_model
from anyshape.frontend.onnx.input_shapes import input_infos
from anyshape.frontend.onnx.model_file import ModelFile
from anyshape.ir.literal import WeightStore
from anyshape.ir.types import Array

MOST_PROGRAMS = 64

Key = tuple[tuple[str, str, tuple[int, ...], bytes], ...]


@dataclass(frozen=True)
class OnnxProgram:
    """An Executable, and which inputs it takes, in order."""

    executable: Executable
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


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

    def program(self, feeds: Mapping[str, Array]) -> OnnxProgram:
        """The one for these inputs."""
        return self._only if self._only is not None else self._of_values(feeds)

    def _of_values(self, feeds: Mapping[str, Array]) -> OnnxProgram:
        with self._one_by_one:
            while True:
                key = _key({name: feeds[name] for name in self.static})
                if key in self._programs:
                    self._programs.move_to_end(key)
                    return self._programs[key]
                try:
                    values = {name: feeds[name].copy() for name in self.static}
                    self._programs[key] = self._compiled(values)
                except StaticInputNamesError as error:  # with these values, others matter too
                    self.static = tuple(dict.fromkeys((*self.static, *error.names)))
                    self._programs.clear()
                if len(self._programs) > MOST_PROGRAMS:
                    self._programs.popitem(last=False)

    def _compiled(self, values: Mapping[str, Array]) -> OnnxProgram:
        model = self._imported(replace(self._naming, values=values))
        graph = model.model.program.graph
        return OnnxProgram(compile_graph(graph, **self._chosen), model.inputs, model.outputs)

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


def _key(values: Mapping[str, Array]) -> Key:
    return tuple((n, str(a.dtype), a.shape, a.tobytes()) for n, a in sorted(values.items()))


def _has_names(file: ModelFile) -> bool:
    return any(isinstance(size, str) for info in input_infos(file) for size in info.shape)
