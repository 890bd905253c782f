"""The file of a saved executable, for this machine and for others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final, TypeAlias

from anyshape.base.errors import NotSavableError, OptionError
from anyshape.codegen.targets import LEVELS, level_named
from anyshape.saved.container import Blobs, Bytes
from anyshape.saved.records import ExecutableRecord, Root
from anyshape.saved.targets import NATIVE, SavedTarget, file_parts, target_saved

if TYPE_CHECKING:
    from anyshape.execute.executable import Executable

TARGETS: Final = (NATIVE, *LEVELS)
"""What a file may be for."""

AsRoot: TypeAlias = Callable[[ExecutableRecord, Blobs], Root]
"""What a file holds beside an executable, around it."""


def saved_parts(
    executable: Executable,
    targets: Iterable[str],
    as_root: AsRoot,
    more: Mapping[str, object] | None = None,
) -> list[Bytes]:
    """The parts of a file: of an executable, compiled anew for each target but this machine.
    `more`, in JSON, is what its manifest has beside."""
    blobs, written = Blobs(), list[SavedTarget]()
    for name, compiled in _for_each(executable, checked_targets(targets)):
        root = as_root(compiled.record(blobs), blobs)
        written.append(target_saved(name, compiled.isa, root, blobs))
    return file_parts(written, blobs, more)


def checked_targets(targets: Iterable[str]) -> tuple[str, ...]:
    """Each once, in the order given; none is this machine."""
    expected = f"a list of targets: {', '.join(TARGETS)}"
    if isinstance(targets, str):
        raise OptionError("targets", targets, expected)
    names = tuple(dict.fromkeys(targets)) or (NATIVE,)
    for name in names:
        if name != NATIVE:
            level_named(name)
    return names


def _for_each(executable: Executable, names: Iterable[str]) -> Iterator[tuple[str, Executable]]:
    for name in names:
        if name == NATIVE:
            yield name, executable
        elif executable.again is None:
            causes = {f"no code for {name}, and nothing to compile": 1}
            raise NotSavableError(
                executable.notes.name, causes, "load the file with recompile=True, then save that"
            )
        else:
            yield name, executable.again(level_named(name))
