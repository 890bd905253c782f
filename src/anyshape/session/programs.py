"""The programs of an ONNX model: one, or one for each value of inputs that decide its structure.

Where the rank of a tensor depends on what an input holds (the axes of a reduction, say), no program
is right for all of its values. Each value then has a program of its own, made when it is first
given; the last few are kept, and they share the weights.
"""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from anyshape.base.errors import ShapeError
from anyshape.base.fork_lock import call_lock
from anyshape.execute import CompileKeywords, compile_graph
from anyshape.frontend.onnx.importer import Naming, OnnxModel, StaticInputNamesError, import_model
from anyshape.frontend.onnx.model_file import ModelFile
from anyshape.frontend.onnx.size_names import all_names, apart_for, in_words_of_names
from anyshape.ir.literal import WeightStore
from anyshape.ir.types import Array
from anyshape.session.model import SessionModel
from anyshape.session.options import SessionOptions
from anyshape.session.program import Key, OnnxProgram, SplitNames, form_of, is_array, key_of

MOST_PROGRAMS = 64
MOST_ROUNDS = 4
"""Contradictions after each of which names are taken apart; then all of them are."""


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
        self.split: SplitNames | None = None
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

    @staticmethod
    def of(
        model: SessionModel,
        options: SessionOptions,
        overridden: frozenset[str] = frozenset(),
        apart: frozenset[str] = frozenset(),
    ) -> OnnxPrograms:
        """As a session's options ask for. Names that are known to be contradicted are `apart`."""
        strict, sizes = options.strict_names, options.free_sizes(model.file)
        naming = Naming(sizes=sizes, strict=strict, overridden=overridden, apart=apart)
        return OnnxPrograms(model.file, naming, options.keywords(), lenient=not strict)

    @property
    def only(self) -> OnnxProgram | None:
        """The program of all calls, if there is one."""
        return self._only

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
                key = key_of(given)
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
        values: dict[str, Array] = {n: x.copy() for n, x in given.items() if is_array(x)}
        forms = {n: form_of(x) for n, x in given.items() if n not in values}
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
            self.split = SplitNames(self.file.name, tuple(sorted(apart)), str(problems[0]))
            warnings.warn(self.split.warning(), stacklevel=8)  # of whoever makes the session
