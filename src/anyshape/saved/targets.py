"""The machines that a saved file has code for: a table in its manifest.

A machine is either the very CPU that the file was saved on, or a level that many have. Each has
records of its own: tilings differ between instruction sets, and with them kernels, descriptions of
programs and packed constants. Blobs that are equal are in the file once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, cast

from anyshape.base.errors import DamagedFileError, SavedMachineError, SavedVersionError
from anyshape.runtime.machine import cpu_identity, cpu_levels
from anyshape.saved.codec import RecordError, decoded, encoded
from anyshape.saved.container import Blobs, Bytes, SavedFile, json_bytes, packed
from anyshape.saved.identity import runtime_identity
from anyshape.saved.records import Root

NATIVE: Final = "native"
"""The CPU that saved the file, with all that it has."""


class SavedTarget(NamedTuple):
    """A machine, and what a file has for it: the blob of its records, and all blobs of its own."""

    name: str  # "native", or a level
    cpu: str  # of a native one, which CPU that is
    isa: str
    root: int
    blobs: tuple[int, ...]


def target_saved(name: str, isa: str, root: Root, blobs: Blobs) -> SavedTarget:
    """Called when all that belongs to this machine has been added, and nothing of the next."""
    number = blobs.add(json_bytes(encoded(root, Root)))
    cpu = cpu_identity() if name == NATIVE else ""
    return SavedTarget(name, cpu, isa, number, blobs.taken())


def file_parts(
    targets: Sequence[SavedTarget], blobs: Blobs, more: Mapping[str, object] | None = None
) -> list[Bytes]:
    """A whole file; `more`, in JSON, is what its manifest has beside."""
    table = encoded(tuple(targets), tuple[SavedTarget, ...])
    return packed({**(more or {}), "runtime": runtime_identity(), "targets": table}, blobs)


def targets_of(file: SavedFile) -> tuple[SavedTarget, ...]:
    """Those of a file of any version, if it says so."""
    try:
        found = decoded(cast(Any, tuple[SavedTarget, ...]), file.manifest.get("targets"))
    except RecordError as error:
        raise DamagedFileError(file.name, f"is damaged: {error}") from None
    if not found:
        raise DamagedFileError(file.name, "is damaged: it has no programs")
    return found


def chosen_target(file: SavedFile) -> SavedTarget:
    """The best that this machine runs; nothing else of the file needs to be whole."""
    if file.manifest.get("runtime") != runtime_identity():
        raise SavedVersionError(file.name, "was saved by another version of anyshape")
    targets = targets_of(file)
    here = cpu_identity()
    own = [each for each in targets if each.name == NATIVE and each.cpu == here]
    by_level = {each.name: each for each in targets if each.name != NATIVE}
    fitting = [*own, *(by_level[level] for level in cpu_levels() if level in by_level)]
    if not fitting:
        raise SavedMachineError(file.name, _lacking(targets))
    return fitting[0]


def _lacking(targets: Sequence[SavedTarget]) -> str:
    names = ", ".join(
        f"another CPU ({each.isa})" if each.name == NATIVE else each.name for each in targets
    )
    best = next(iter(cpu_levels()), "of no level")
    return f"has code for {names}, which this machine does not run: it is {best}"
