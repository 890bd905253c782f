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
from anyshape.frontend.onnx.input_shapes import Form
from anyshape.frontend.onnx.model_file import ModelFile
from anyshape.frontend.onnx.size_names import all_names, apart_for, in_words_of_names
from anyshape.ir.literal import WeightStore
from anyshape.ir.types import Array

MOST_PROGRAMS = 64
MOST_ROUNDS = 4
"""Contradictions after each of which names are taken apart; then all of them are."""

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
    """See the module. `lenient` takes the model's names of sizes apart where it contradicts
    them."""

    def __init__(
        self,
        file: ModelFile,
        naming: Naming,
        chosen: CompileKeywords,
        *,
        lenient: bool,
        weights: WeightStore | None = None,
    ) -> None:
        self.file = file
        self.static: tuple[str, ...] = ()
        self.made = 0  # programs
        self._naming = naming
        self._chosen = chosen
        self._lenient = lenient
        self._weights = WeightStore() if weights is None else weights
        self._programs: OrderedDict[Key, OnnxProgram] = OrderedDict()
        self._overriding: dict[frozenset[str], OnnxPrograms] = {}
        self._one_by_one = call_lock()
        try:
            self._only = self._compiled({})
        except StaticInputNamesError as error:
            self.static, self._only = error.names, None

    def program(self, feeds: Mapping[str, Any]) -> OnnxProgram:
        """The one for these inputs."""
        return self._only if self._only is not None else self._of_values(feeds)

    def overriding(self, names: frozenset[str]) -> OnnxPrograms:
        """Those of calls that give these initializers, which then are inputs as any others."""
        if not names:
            return self
        with self._one_by_one:
            if names not in self._overriding:
                naming = replace(self._naming, overridden=names)
                self._overriding[names] = OnnxPrograms(
                    self.file, naming, self._chosen, lenient=self._lenient, weights=self._weights
                )
            return self._overriding[names]

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
        self.made += 1
        return OnnxProgram(executable, model.inputs, model.outputs, model.lengths)

    def _imported(self, naming: Naming) -> OnnxModel:
        """Leniently, names that the model contradicts are taken apart, round by round; each round
        leaves fewer, and the last leaves none."""
        problems: list[ShapeError] = []
        while True:
            try:
                model = import_model(self.file, naming, self._weights)
            except ShapeError as error:
                problems.append(error)
                apart = apart_for(error, self.file, naming.apart) if self._lenient else ()
                if not apart:
                    raise in_words_of_names(problems[0], self.file) from None
                every = len(problems) >= MOST_ROUNDS
                naming = replace(naming, apart=all_names(self.file) if every else apart)
            else:
                self._tell(naming.apart, problems)
                return model

    def _tell(self, apart: frozenset[str], problems: Sequence[ShapeError]) -> None:
        """Warns of names that were taken apart, which later programs take for granted."""
        if problems:
            self._naming = replace(self._naming, apart=apart)
            warning = SplitAxesWarning(self.file.name, sorted(apart), str(problems[0]))
            warnings.warn(warning, stacklevel=5)


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
