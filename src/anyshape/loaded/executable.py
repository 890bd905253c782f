"""`LoadedExecutable`: what an Executable is, from a file."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from numpy import ndarray

from anyshape.base.pickled import from_saved
from anyshape.loaded.from_file import FromFile
from anyshape.loaded.programs import FileCode
from anyshape.runtime.failures import RuntimeFailure
from anyshape.saved.records import ExecutableRecord, ProgramRecord

if TYPE_CHECKING:
    from anyshape.execute import Executable, StepRun

HOT: Final = 64
"""So many bindings of a saved profile are made ready when it is loaded."""


class LoadedExecutable(FromFile):
    """A compiled graph from a file. Calls are those of `Executable`; so is the rest."""

    def __init__(self, record: ExecutableRecord, code: FileCode) -> None:
        super().__init__(self._assembled, record, code)
        self._record = record
        self._checks = bool(record.checks)
        self._run: Callable[[Sequence[Any]], tuple[Any, ...]] | None = None
        if isinstance(record.executor, ProgramRecord) and not record.executor.output_numbers:
            self._run = code.program(record.executor).run
        if isinstance(record.executor, ProgramRecord):
            self._prepare(record.executor)

    def _prepare(self, program: ProgramRecord) -> None:
        """Level 2 of the bindings that most calls had before it was saved; of a program with static
        axes, all memory."""
        if self._record.static:
            _ = self.executable
        for binding in hot_bindings(self._record.profile, self._code):
            if binding.keys() == set(program.symbols):
                sizes = [binding[name] for name in program.symbols]
                self._code.program(program).native.specialize(sizes)

    def profile_calls(self, *, on: bool = True) -> None:
        """See `Executable.profile_calls`."""
        self._run = None  # calls go through the Executable, which counts them
        super().profile_calls(on=on)

    def get_ready(self) -> None:
        """Puts together now what the first call would need."""
        if self._run is None:
            _ = self.executable

    def _assembled(self) -> Executable:
        from anyshape.loaded.assemble import executable_of  # noqa: PLC0415 - on first use

        return executable_of(self._record, self._code)

    def __call__(self, *arrays: Any) -> tuple[Any, ...]:
        run = self._run
        if run is None:
            return self.executable(*arrays)
        for array in arrays:
            if type(array) is not ndarray:
                return self.executable(*arrays)
        try:
            results = run(arrays)
        except RuntimeFailure as failure:
            raise self.executable.in_words_of_model(failure, arrays) from None
        if not self._checks:
            return results
        return results[:-1] if results[-1][0] < 0 else self.executable.checked(results, arrays)

    def run(self, arrays: tuple[Any, ...], **limits: Any) -> tuple[Any, ...]:
        """A call with a deadline, a cancellation, a memory limit or arrays to write into. See
        `Executable.run`."""
        return self.executable.run(arrays, **limits)

    def steps(self, *arrays: Any) -> Iterator[StepRun]:
        """One call, a step at a time. See `Executable.steps`."""
        return self.executable.steps(*arrays)

    def __reduce__(self) -> tuple[Any, ...]:
        return from_saved, (bytes(self._code.file.memory),)

    def __copy__(self) -> LoadedExecutable:
        return self

    def __deepcopy__(self, memo: object) -> LoadedExecutable:
        return self


def hot_bindings(profile: str, code: FileCode) -> list[dict[str, int]]:
    """Of a saved profile, the most frequent first."""
    try:
        rows = json.loads(profile)
        return [dict(binding) for binding, _, _ in rows[:HOT]]
    except (TypeError, ValueError):
        raise code.damaged("it has no profile of calls") from None
