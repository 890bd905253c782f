"""The machine code of this process: equal sources share it, as long as somebody uses it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from weakref import WeakValueDictionary

from anyshape.base.fork_lock import fork_lock
from anyshape.codegen.compiler import Compiler
from anyshape.codegen.llvm.emitting import Source
from anyshape.runtime.code import Code, load_code

_LOCK = fork_lock()
_LOADED: WeakValueDictionary[str, Code] = WeakValueDictionary()  # by the key of the object


@dataclass(frozen=True, slots=True)
class Origins:
    """Where distinct pieces of code came from."""

    memory: int  # this process had them
    disk: int
    compiled: int


@dataclass(frozen=True, slots=True)
class Loaded:
    """The code of each source, in order."""

    codes: tuple[Code, ...]
    origins: Origins


def loaded_code(compiler: Compiler, sources: Sequence[Source], *, perf_map: bool = False) -> Loaded:
    """The code of the sources; compiled and loaded if nobody has it yet."""
    keys = [compiler.key(source) for source in sources]
    compiled: list[str] = []
    codes = {key: code for key in keys if (code := _LOADED.get(key)) is not None}
    missing = {key: s for key, s in zip(keys, sources, strict=True) if key not in codes}
    found = compiler.objects(missing, lambda done, total, kernel: compiled.append(kernel))
    for key, elf_object in found.items():
        codes[key] = _shared(key, load_code(elf_object, perf_map=perf_map))
    origins = Origins(len(codes) - len(missing), len(missing) - len(compiled), len(compiled))
    return Loaded(tuple(codes[key] for key in keys), origins)


def _shared(key: str, code: Code) -> Code:
    """The first that was loaded, if two threads loaded the same."""
    with _LOCK:
        return _LOADED.setdefault(key, code)
