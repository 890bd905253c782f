"""What all that is loaded tells about its file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

from anyshape.base.errors import NotSavableError
from anyshape.holders.passed_on import PassedOn
from anyshape.loaded.programs import FileCode
from anyshape.saved.container import write_file
from anyshape.saved.records import ExecutableRecord
from anyshape.saved.targets import targets_of

if TYPE_CHECKING:
    from anyshape.execute import Executable


class FromFile(PassedOn):
    """An executable of a file, or what stands around one."""

    def __init__(
        self, assemble: Callable[[], Executable], record: ExecutableRecord, code: FileCode
    ) -> None:
        self._assemble = assemble
        self._whole: Executable | None = None
        self._code = code
        self._inputs = record.inputs
        self._name = record.name

    @property
    def executable(self) -> Executable:
        """The same with all that an Executable can do, put together when it is first asked for."""
        if self._whole is None:
            self._whole = self._assemble()
        return self._whole

    @property
    def inputs(self) -> Sequence[tuple[str, str]]:
        """Name and type of each array that its graph takes."""
        return self._inputs

    @property
    def name(self) -> str:
        return self._name

    @property
    def targets(self) -> tuple[str, ...]:
        """The machines that the file has code for; the first is what runs here."""
        names = (target.name for target in targets_of(self._code.file))
        return tuple(dict.fromkeys((self._code.target.name, *names)))

    def trace(self, path: str | PathLike[str], *arrays: Any) -> None:
        """Makes one call of its graph, and writes which thread did what when. See
        `Executable.trace`."""
        self.executable.trace(path, *arrays)

    def save(self, path: str | PathLike[str], *, targets: Iterable[str] = ()) -> None:
        """The file that it was loaded from, once more: with the state that was saved, for the
        machines that it is for. Code for others is compiled, and this is not."""
        file = self._code.file
        known = {target.name for target in targets_of(file)}
        for target in targets:
            if target not in known:
                causes = {f"no code for {target}, and nothing to compile": 1}
                fix = "load the file with recompile=True, then save that"
                raise NotSavableError(self.name, causes, fix)
        write_file(path, [file.memory])
