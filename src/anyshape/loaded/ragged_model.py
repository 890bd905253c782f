"""`LoadedRaggedModel`: a ragged model from a file."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, cast

from anyshape.base.pickled import from_saved
from anyshape.loaded.executable import LoadedExecutable
from anyshape.loaded.from_file import FromFile
from anyshape.loaded.model import leaves_of, rebuilt
from anyshape.loaded.programs import FileCode
from anyshape.saved.container import Bytes, write_file
from anyshape.saved.records import RaggedRecord

if TYPE_CHECKING:
    from anyshape.execute import Executable
    from anyshape.execute.ragged_calls import RaggedCalls


class LoadedRaggedModel(FromFile):
    """A ragged model from a file, called like it. See `RaggedModule`.

    Results that the model has in a class of its own are in a dict with the same names here.
    """

    def __init__(
        self, record: RaggedRecord, code: FileCode, compiled: Executable | None = None
    ) -> None:
        """`compiled` is what its graph was compiled to anew: then no code of the file is used."""
        loaded = LoadedExecutable(record.executable, code) if compiled is None else None

        def assemble() -> Executable:
            return loaded.executable if loaded is not None else cast("Executable", compiled)

        super().__init__(assemble, record.executable, code)
        self._record = record
        self._compiled = compiled
        self._calls: RaggedCalls | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._calls is None:
            from anyshape.execute.ragged_calls import RaggedCalls  # noqa: PLC0415 - on first use

            record = self._record
            self._calls = RaggedCalls(record.names, frozenset(record.packed), record.of_tokens)
        results = self._calls.results(self.executable, args, kwargs)
        return rebuilt(self._record.results, leaves_of(self._record.returned, results))

    def save(self, path: str | os.PathLike[str], *, targets: Iterable[str] = ()) -> None:
        """The file that it was loaded from, once more; of one that was compiled anew, a new one."""
        if self._compiled is None:
            super().save(path, targets=targets)
        else:
            write_file(path, self.saved(targets))

    def saved(self, targets: Iterable[str] = ()) -> list[Bytes]:
        """The parts of that file."""
        if self._compiled is None:
            return [self._code.file.memory]
        from anyshape.execute.record_file import saved_parts  # noqa: PLC0415 - on first use

        own = self._record
        return saved_parts(
            self._compiled, targets, lambda record, _: own._replace(executable=record)
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return from_saved, (b"".join(self.saved()),)
