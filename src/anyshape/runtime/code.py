"""Object code, loaded: the typed face of `csrc/core/object.h`."""

from __future__ import annotations

from dataclasses import dataclass

from anyshape.base.errors import CodeError
from anyshape.runtime import _native
from anyshape.runtime.perf_map import write_perf_map


@dataclass(frozen=True, slots=True)
class Function:
    """A function of loaded code: where it starts and how many bytes it has."""

    name: str
    address: int
    size: int


class Code:
    """Executable memory, and what it can be called by.

    Addresses stay valid as long as this object lives; whoever stores one keeps the object too.
    Immutable, and safe to use from any thread.
    """

    def __init__(self, native: _native.CodeObject, elf_object: bytes) -> None:
        self._native = native
        self.elf_object = elf_object
        """What it was loaded from: for those who save it."""

    def address(self, name: str) -> int:
        """The address of a function; `CodeError` if there is none of that name."""
        address = self._native.find(name)
        if address == 0:
            known = ", ".join(function.name for function in self.functions)
            raise CodeError(f"no function '{name}'; it has {known or 'none'}")
        return address

    @property
    def functions(self) -> tuple[Function, ...]:
        """All functions that can be called from outside, by name."""
        return tuple(Function(*symbol) for symbol in self._native.symbols)

    @property
    def mapped_bytes(self) -> int:
        """How much memory the code takes: whole pages."""
        return self._native.size


def native_kernel(name: str) -> int:
    """The address of a kernel that the runtime brings along."""
    return _native.native_kernels()[name]


def load_code(elf_object: bytes, *, perf_map: bool = False) -> Code:
    """Map object code into this process. `perf_map` tells Linux's `perf` the functions' names.

    Malformed bytes raise `CodeError`. Well-formed ones are code: load what you trust.
    """
    try:
        code = Code(_native.CodeObject.load(elf_object), elf_object)
    except _native.ObjectError as error:
        raise CodeError(str(error)) from error
    if perf_map:
        write_perf_map((f.address, f.size, f.name) for f in code.functions)
    return code
