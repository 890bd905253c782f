"""Code for other machines: compiled here, and run where a saved file is loaded.

A *level* is a kind of CPU that many machines have in common, by the name that the psABI gives it.
Code for one is never called in this process, not even if it could be: it is not loaded, and calls
into its programs raise. Nobody is given an Executable of it: what is saved is all that is done.
"""

from __future__ import annotations

from collections.abc import Generator as Yields
from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, Final

from anyshape.base.errors import CodeError, OptionError
from anyshape.codegen.llvm.compiler import Compiler
from anyshape.codegen.llvm.elf import defined_symbols
from anyshape.codegen.llvm.emitting import written
from anyshape.codegen.llvm.listings import listing
from anyshape.codegen.llvm.target import NAMED_TARGETS, LlvmTarget
from anyshape.codegen.target import Guard, Loaded, MemoryKind, Origins, Progress, Setup, Source
from anyshape.loop import Kernel
from anyshape.lower.tiling import Tiling

LEVELS: Final[Mapping[str, LlvmTarget]] = MappingProxyType(
    {
        "x86-64-v4": NAMED_TARGETS["x86-64-avx512"],
        "x86-64-v3": NAMED_TARGETS["x86-64-avx2"],
        "x86-64": NAMED_TARGETS["x86-64-sse2"],
        "aarch64": NAMED_TARGETS["aarch64-neon"],
    }
)


def level_named(name: str) -> LevelTarget:
    """The target of that name."""
    if name not in LEVELS:
        raise OptionError("targets", str(name), f"one of native, {', '.join(LEVELS)}")
    return LevelTarget(name, LEVELS[name])


NOWHERE: Final = 1
"""The address of a function that is not in this process: descriptions of programs must have one."""


class ObjectCode:
    """Object code that is not loaded. See `codegen.target.Code`."""

    mapped_bytes = 0

    def __init__(self, elf_object: bytes) -> None:
        self.elf_object = elf_object
        self._names = defined_symbols(elf_object)

    def address(self, name: str) -> int:
        """Nowhere; but the function has to be there."""
        if name not in self._names:
            raise CodeError(f"no function '{name}'; it has {', '.join(self._names) or 'none'}")
        return NOWHERE


@contextmanager
def _refusing() -> Yields[None]:
    """Around every call into a program for another machine."""
    raise CodeError("code of a level is for files, not for this process")
    yield


@dataclass(frozen=True, slots=True)
class LevelTarget:
    """CPUs of one level, wherever they are. See `codegen.target.Target`."""

    level: str
    llvm: LlvmTarget

    name: ClassVar[str] = "level"
    memory: ClassVar[MemoryKind] = MemoryKind.HOST
    most_threads: ClassVar[int | None] = None
    is_measured: ClassVar[bool] = False
    is_machine_code: ClassVar[bool] = True

    @property
    def isa(self) -> str:
        return self.llvm.isa

    @property
    def tiling(self) -> Tiling:
        return self.llvm.tiling

    @property
    def guard(self) -> Guard | None:
        return _refusing

    def generator(self, setup: Setup) -> ObjectGenerator:
        return ObjectGenerator(
            Compiler(self.llvm, cpus=setup.jobs, cache=setup.cache), setup.progress
        )

    def listing(self, kernel: Kernel, form: str) -> str:
        return listing(kernel, self.llvm, form)


class ObjectGenerator:
    """Compiles what is not on disk, and loads nothing. Code is not shared with that of this
    process, which has addresses."""

    def __init__(self, compiler: Compiler, progress: Progress | None = None) -> None:
        self._compiler = compiler
        self._progress = progress

    def code(self, sources: Sequence[Source]) -> Loaded:
        compiled: list[str] = []

        def note(done: int, total: int, kernel: str) -> None:
            compiled.append(kernel)
            if self._progress is not None:
                self._progress(done, total)

        distinct = {id(source): written(source) for source in sources}  # layers share theirs
        objects = self._compiler.compile(list(distinct.values()), note)
        codes = dict(zip(distinct, map(ObjectCode, objects), strict=True))
        origins = Origins(disk=len(codes) - len(compiled), compiled=len(compiled))
        return Loaded(tuple(codes[id(source)] for source in sources), origins)
