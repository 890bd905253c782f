"""Object code for kernels: from memory, else from disk, else from LLVM.

A distinct kernel is compiled once, however many threads ask for it at the same time: the first to
ask owns the work, the others wait for its result.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from threading import Lock  # noqa: TID251  of a Compiler, which no child uses

from anyshape.base.garbage import young_garbage
from anyshape.codegen.cache import ObjectCache
from anyshape.codegen.llvm.compile import DEFAULT_TUNING, Tuning
from anyshape.codegen.llvm.emitting import Source
from anyshape.codegen.llvm.object_key import object_key
from anyshape.codegen.llvm.target import LlvmTarget
from anyshape.codegen.llvm.workers import Progress, compile_many

_Work = Mapping[str, Source]  # by key


class Compiler:
    """Compiles for one target, on at most `cpus` CPUs. Safe to use from any thread.

    Not in a child of a fork, whose parent may have begun work that nobody there goes on with: every
    compile of a graph has a Compiler of its own.
    """

    def __init__(
        self,
        target: LlvmTarget,
        *,
        cpus: int = 1,
        cache: ObjectCache | None = None,
        tuning: Tuning = DEFAULT_TUNING,
    ) -> None:
        self.target = target
        self.tuning = tuning
        self._cpus = cpus
        self._cache = cache
        self._lock = Lock()
        self._objects: dict[str, Future[bytes]] = {}

    def key(self, source: Source) -> str:
        """Equal only for equal code."""
        return object_key(source, self.target, self.tuning)

    def compile(self, sources: Sequence[Source], progress: Progress | None = None) -> list[bytes]:
        """The object code of each source, in order."""
        keys = [self.key(source) for source in sources]
        objects = self.objects(dict(zip(keys, sources, strict=True)), progress)
        return [objects[key] for key in keys]

    def objects(self, wanted: _Work, progress: Progress | None = None) -> dict[str, bytes]:
        """The object code under each key. `progress` hears of those that LLVM compiles."""
        while True:
            futures, ours = self._claim(wanted)
            try:
                self._fulfil(ours, progress)
            finally:
                self._abandon_unfinished(ours)
            with suppress(CancelledError):  # another thread gave up on its work: now it is ours
                return {key: future.result() for key, future in futures.items()}

    def compiled_anew(self, key: str, source: Source, why: str) -> bytes:
        """The object code of a source whose code from the disk turned out to be unusable."""
        if self._cache is not None:
            self._cache.discard(key, why)
        with self._lock:
            self._objects.pop(key, None)
        return self.objects({key: source})[key]

    def _claim(self, wanted: _Work) -> tuple[dict[str, Future[bytes]], _Work]:
        """The future of every key, and the work that nobody else has begun."""
        with self._lock:
            ours = {key: source for key, source in wanted.items() if key not in self._objects}
            self._objects.update((key, Future[bytes]()) for key in ours)
            return {key: self._objects[key] for key in wanted}, ours

    def _fulfil(self, work: _Work, progress: Progress | None) -> None:
        missing = {key: source for key, source in work.items() if not self._load(key)}
        keys = list(missing)
        with young_garbage():  # the graph and its loops stay
            compile_many(
                list(missing.values()),
                self.target,
                cpus=self._cpus,
                tuning=self.tuning,
                progress=progress,
                keep=lambda index, elf_object: self._keep(keys[index], elf_object),
            )

    def _load(self, key: str) -> bool:
        elf_object = self._cache.load(key) if self._cache is not None else None
        if elf_object is not None:
            self._objects[key].set_result(elf_object)
        return elf_object is not None

    def _keep(self, key: str, elf_object: bytes) -> None:
        if self._cache is not None:
            self._cache.store(key, elf_object)
        self._objects[key].set_result(elf_object)

    def _abandon_unfinished(self, keys: Iterable[str]) -> None:
        """After an error, whoever waits for the rest tries it, and so may a later call."""
        with self._lock:
            for key in keys:
                if not self._objects[key].done():
                    self._objects.pop(key).cancel()
