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
from anyshape.codegen.llvm.cpu_target import CpuTarget
from anyshape.codegen.llvm.elf import defined_symbols
from anyshape.codegen.llvm.emitting import written
from anyshape.codegen.llvm.target import NAMED_TARGETS, LlvmTarget
from anyshape.codegen.target import Guard, Loaded, Origins, Progress, Setup, Source

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
    return LevelTarget(LEVELS[name], name)


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
class LevelTarget(CpuTarget):
    """CPUs of one level, wherever they are."""

    level: str

    name: ClassVar[str] = "level"
    is_measured: ClassVar[bool] = False

    @property
    def guard(self) -> Guard | None:
        return _refusing

    def generator(self, setup: Setup) -> ObjectGenerator:
        return ObjectGenerator(self.compiler(setup), setup.progress)


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
