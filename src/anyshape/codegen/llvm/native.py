"""The native target: machine code for one CPU, made by LLVM."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import ClassVar, Final

from anyshape.base.errors import CodeError, OptionError
from anyshape.codegen.llvm.compiler import Compiler
from anyshape.codegen.llvm.cpu_target import CpuTarget
from anyshape.codegen.llvm.emitting import Source as Written
from anyshape.codegen.llvm.emitting import source_name, written
from anyshape.codegen.llvm.isa import executed_with
from anyshape.codegen.llvm.target import NAMED_TARGETS, host_target
from anyshape.codegen.shared_code import shared_code
from anyshape.codegen.target import (
    Code,
    Guard,
    Host,
    Load,
    Loaded,
    Origins,
    Progress,
    Setup,
    Source,
)
from anyshape.lower.tiling import Tiling


@dataclass(frozen=True, slots=True)
class NativeTarget(CpuTarget):
    """A CPU that runs what LLVM makes for it."""

    second_level: int = 0  # bytes of its own cache; 0: as many as most have

    name: ClassVar[str] = "native"
    is_measured: ClassVar[bool] = True

    @property
    def tiling(self) -> Tiling:
        usual = self.llvm.tiling
        if not self.second_level:
            return usual
        return replace(usual, caches=usual.caches.with_second_level(self.second_level))

    @property
    def guard(self) -> Guard | None:
        return None  # machine code raises nothing

    def generator(self, setup: Setup) -> LlvmGenerator:
        return LlvmGenerator(self.compiler(setup), setup.load, setup.progress)


class LlvmGenerator:
    """Compiles what is neither in this process nor on disk, and loads the rest."""

    def __init__(self, compiler: Compiler, load: Load, progress: Progress | None = None) -> None:
        self._compiler = compiler
        self._load = load
        self._progress = progress

    def code(self, sources: Sequence[Source]) -> Loaded:
        distinct = {id(source): written(source) for source in sources}  # layers share theirs
        key_of = {number: self._compiler.key(text) for number, text in distinct.items()}
        by_key = {key_of[number]: text for number, text in distinct.items()}
        keys = [key_of[id(source)] for source in sources]
        return shared_code(keys, lambda missing: self._made({key: by_key[key] for key in missing}))

    def _made(self, wanted: Mapping[str, Written]) -> tuple[dict[str, Code], Origins]:
        compiled: list[str] = []

        def note(done: int, total: int, kernel: str) -> None:
            compiled.append(kernel)
            if self._progress is not None:
                self._progress(done, total)

        objects = self._compiler.objects(wanted, note)
        codes = {key: self._loaded(key, wanted[key], elf) for key, elf in objects.items()}
        return codes, Origins(disk=len(wanted) - len(compiled), compiled=len(compiled))

    def _loaded(self, key: str, source: Written, elf_object: bytes) -> Code:
        try:
            return self._own_code(source, elf_object)
        except CodeError as error:  # the disk can hold code that is whole, but not ours
            anew = self._compiler.compiled_anew(key, source, error.problem)
            return self._own_code(source, anew)

    def _own_code(self, source: Written, elf_object: bytes) -> Code:
        """CodeError if that is no code, or not the code of the source."""
        code = self._load(elf_object)
        code.address(source_name(source))
        return code


# --- choosing -------------------------------------------------------------------------------------

_OF_ISA: Final = MappingProxyType(
    {target.isa: target for target in NAMED_TARGETS.values() if not target.byte_products}
)


def native_target(host: Host, isa: str) -> NativeTarget:
    """For an instruction set of this machine; "" is the best.

    The best one means this very CPU, with all that LLVM knows of it. A lesser one means any CPU
    that has it: code for it is the same on every machine.
    """
    best, *lesser = executed_with(host.isa)
    if isa in ("", best):
        here = host_target(host.cpu, best, host.byte_products)
        return NativeTarget(here, host.second_level)
    if isa not in lesser:
        known = ", ".join((best, *lesser))
        raise OptionError("isa", isa, f"an instruction set that this CPU executes: {known}")
    return NativeTarget(_OF_ISA[isa])
