"""The target of a process: this machine's best instruction set, or the one that options choose."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from anyshape.base.errors import OptionError
from anyshape.base.options import Options, options_from_environment
from anyshape.codegen.llvm.target import NAMED_TARGETS, Target, host_target
from anyshape.runtime import VectorIsa, cpu_identity, machine

_EXECUTES: Final = MappingProxyType[VectorIsa, tuple[VectorIsa, ...]](
    {
        "avx512": ("avx512", "avx2", "sse2"),
        "avx2": ("avx2", "sse2"),
        "sse2": ("sse2",),
        "neon": ("neon",),
        "scalar": ("scalar",),
    }
)
"""By the best instruction set of a machine: all that it executes, the best first."""

_OF_ISA: Final = MappingProxyType({target.isa: target for target in NAMED_TARGETS.values()})


def executable_isas() -> tuple[VectorIsa, ...]:
    """The instruction sets that this machine executes, the best first."""
    return _EXECUTES[machine().vector_isa]


def target_for(options: Options | None = None) -> Target:
    """What a compile with these options, or with the process's own, generates code for.

    The best instruction set means this very CPU, with all that LLVM knows of it. A lesser one means
    any CPU that has it: code for it is the same on every machine.
    """
    best, *lesser = executable_isas()
    isa = (options or options_from_environment()).isa or best
    if isa == best:
        return host_target(cpu_identity(), best)
    if isa not in lesser:
        known = ", ".join((best, *lesser))
        raise OptionError("isa", isa, f"an instruction set that this CPU executes: {known}")
    return _OF_ISA[isa]
