"""The target of a process: what options choose, on the machine that the runtime sees."""

from __future__ import annotations

from anyshape.base.options import Options, options_from_environment
from anyshape.codegen import targets
from anyshape.codegen.target import Host, Target
from anyshape.runtime import cpu_identity, hardware


def executable_isas() -> tuple[str, ...]:
    """The instruction sets that this machine executes, the best first."""
    return targets.executable_isas(_host())


def target_for(options: Options | None = None) -> Target:
    """Where a compile with these options, or with the process's own, runs its program."""
    chosen = options or options_from_environment()
    return targets.target_named(chosen.target, _host(), chosen.isa)


def _host() -> Host:
    found = hardware()
    return Host(found.vector_isa, cpu_identity(), found.byte_products, found.l2_bytes)
