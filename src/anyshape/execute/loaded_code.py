"""The machine code of this process: equal sources share it, as long as somebody uses it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from weakref import WeakValueDictionary

from anyshape.base.errors import CodeError
from anyshape.base.fork_lock import fork_lock
from anyshape.codegen.compiler import Compiler
from anyshape.codegen.llvm.emitting import Source, source_name
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
        try:
            code = _loaded(missing[key], elf_object, perf_map)
        except CodeError as error:  # the disk can hold code that is whole, but not ours
            anew = compiler.compiled_anew(key, missing[key], error.problem)
            code = _loaded(missing[key], anew, perf_map)
        codes[key] = _shared(key, code)
    origins = Origins(len(codes) - len(missing), len(missing) - len(compiled), len(compiled))
    return Loaded(tuple(codes[key] for key in keys), origins)


def _loaded(source: Source, elf_object: bytes, perf_map: bool) -> Code:
    """CodeError if that is no code, or not the code of the source."""
    code = load_code(elf_object, perf_map=perf_map)
    code.address(source_name(source))
    return code


def _shared(key: str, code: Code) -> Code:
    """The first that was loaded, if two threads loaded the same."""
    with _LOCK:
        return _LOADED.setdefault(key, code)
