"""A compiled model of a framework: called like the model, run by an Executable.

Tensors go in and come out without copies. Buffers that the model updates belong to the compiled
model: they start as the model's were when it was compiled, and calls change them one at a time.
They are donated, as are inputs that the model writes into: where the plan allows it, a call writes
them in place. A call that ends early may leave them half written, as in torch.

It holds an Executable and is none: its arguments are the model's, not the graph's. What concerns
sizes, memory and reports is the same for both, and passed on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from os import PathLike
from typing import Any

import numpy as np

from anyshape.api.call_errors import in_words_of_call
from anyshape.api.graph_calls import graph_arrays, passes_on, returned_leaves
from anyshape.api.layouts import refuse_layouts
from anyshape.api.overlaps import refuse_overlaps
from anyshape.api.record_model import model_record
from anyshape.api.transformers_caches import Caches
from anyshape.base.errors import DimMismatchError, InputError
from anyshape.base.fork_lock import call_lock
from anyshape.base.pickled import from_saved
from anyshape.execute import (
    BranchedExecutable,
    Executable,
    StepRun,
)
from anyshape.execute.record_file import saved_parts
from anyshape.execute.tensors import as_numpy
from anyshape.frontend.builder.pytree import unflatten
from anyshape.frontend.imported.program import ImportedModel, ImportedProgram
from anyshape.holders.passed_on import PassedOn
from anyshape.ir.types import Array
from anyshape.saved.container import Blobs, Bytes, write_file
from anyshape.saved.records import ExecutableRecord, ModelRecord


class CompiledModule(PassedOn):
    """A model that was compiled once and runs at any shape. See `anyshape.compile`.

    Calls take what the model takes, in the same containers, and give what it gives. Results are
    torch tensors, or NumPy arrays if all tensors of the call were NumPy arrays. A copy shares the
    code and has the state as it is then, which calls of the one change for the one.
    """

    def __init__(self, executable: Executable, model: ImportedModel) -> None:
        self._executable = executable
        self._branched = executable if isinstance(executable, BranchedExecutable) else None
        self._model = model
        self._signature = model.signature
        self._program = model.program
        self._programs = model.programs
        self._state = dict(model.program.state)
        self._one_by_one = call_lock() if self._state else nullcontext()
        self._cases_pass_on = passes_on(model)
        self._passes_on = self._cases_pass_on and self._branched is None
        self._written = frozenset(leaf for each in model.programs for leaf in each.input_updates)
        self._caches = Caches(model)
        self._takes_caches = bool(self._caches)
        self._memory_reader = next(filter(None, (p.memory_reader for p in model.programs)), None)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._takes_caches:
            result = self._call((), self._caches.arguments(args, kwargs))
            return self._caches.returned(result, args, kwargs)
        return self._call(args, kwargs)

    def _call(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        leaves = self._leaves(args, kwargs)
        try:
            if self._passes_on:
                return self._returned(self._program, self._executable(*leaves))
            return self._returned(*self._computed(leaves))
        except (InputError, DimMismatchError) as error:
            source = self._executable.source
            raise in_words_of_call(error, self._signature, leaves, source) from None

    def steps(self, *args: Any, **kwargs: Any) -> Iterator[StepRun]:
        """One call, a step at a time; the state stays as it is."""
        if self._takes_caches:
            args, kwargs = (), self._caches.arguments(args, kwargs)
        return self._executable.steps(*self._arrays(self._leaves(args, kwargs)))

    @property
    def state(self) -> dict[str, Array]:
        """Copies of the buffers that the model updates, by their names in the model."""
        with self._one_by_one:
            return {name: np.array(as_numpy(value)) for name, value in self._state.items()}

    @property
    def executable(self) -> Executable:
        """What runs the model's graph. It takes the graph's arrays in order, those of the state
        among them, returns a tuple, and knows nothing of containers or of the state here."""
        return self._executable

    def __copy__(self) -> CompiledModule:
        copied = CompiledModule(self._executable, self._model)
        copied._state.update(self.state)
        return copied

    def __deepcopy__(self, memo: object) -> CompiledModule:
        return self.__copy__()

    # --- files --------------------------------------------------------------------------------

    def save(self, path: str | PathLike[str], *, targets: Iterable[str] = ()) -> None:
        """Writes a file that `anyshape.load` runs without compiling, with the state as it is, for
        this CPU or for `targets`. What no file can hold is refused by name. See
        `Executable.save`."""
        write_file(path, self.saved(targets))

    def saved(self, targets: Iterable[str] = ()) -> list[Bytes]:
        """The parts of that file."""
        state = self.state

        def root(executable: ExecutableRecord, blobs: Blobs) -> ModelRecord:
            return model_record(self._model, executable, state, blobs)

        return saved_parts(self._executable, targets, root)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled as that file."""
        return from_saved, (b"".join(self.saved()),)

    # --- inside -------------------------------------------------------------------------------

    def _leaves(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Sequence[Any]:
        leaves = self._signature.flatten(args, kwargs)
        if self._memory_reader is not None:
            refuse_layouts(self._signature.paths, leaves, self._memory_reader)
        return leaves

    def _computed(self, leaves: Sequence[Any]) -> tuple[ImportedProgram, Sequence[Any]]:
        """As `_run`, with state and inputs updated."""
        if self._cases_pass_on:
            return self._run(leaves)
        if self._written:
            refuse_overlaps(self._signature.paths, leaves, self._written)
        with self._one_by_one:
            program, results = self._run(self._arrays(leaves))
            self._update(program, results, leaves)
        return program, results

    def _arrays(self, leaves: Sequence[Any]) -> list[Any]:
        return graph_arrays(self._program.sources, leaves, self._state)

    def _run(self, arrays: Sequence[Any]) -> tuple[ImportedProgram, Sequence[Any]]:
        """The results, and the program whose they are."""
        if self._branched is None:
            return self._program, self._executable(*arrays)
        number, results = self._branched.call_case(arrays)
        return self._programs[number], results

    def _update(
        self, program: ImportedProgram, results: Sequence[Any], leaves: Sequence[Any]
    ) -> None:
        for name, number in program.state_updates.items():
            self._state[name] = results[number]
        for leaf, number in program.input_updates.items():
            if results[number] is not leaves[leaf]:
                leaves[leaf][...] = results[number]

    def _returned(self, program: ImportedProgram, results: Sequence[Any]) -> Any:
        torch_out = not any(self._signature.is_tensor)  # nothing else says what the caller wants
        leaves = returned_leaves(program.returned, results, torch_out=torch_out)
        return unflatten(program.result_structure, leaves)
