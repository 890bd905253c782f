"""The targets that there are, by the names that options have for them.

A target is made for the machine of this process and the instruction set that options ask for. The
modules of all but the first are imported when they are chosen: few programs choose.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from anyshape.base.errors import OptionError
from anyshape.base.fork_lock import LOADING
from anyshape.codegen.llvm.isa import executed_with
from anyshape.codegen.llvm.levels import LEVELS, level_named
from anyshape.codegen.llvm.native import native_target
from anyshape.codegen.target import Host, Target


def _interpreter(host: Host, isa: str) -> Target:
    with LOADING:
        from anyshape.codegen.interpreter.target import interpreter  # noqa: PLC0415 - on first use

    return interpreter(host, isa)


__all__ = ["LEVELS", "TARGETS", "executable_isas", "level_named", "target_named"]

TARGETS: Final[Mapping[str, Callable[[Host, str], Target]]] = MappingProxyType(
    {
        "native": native_target,  # machine code of this CPU: what everybody wants
        "interpreter": _interpreter,  # loops as data, run by Python: what tests compare with
    }
)


def target_named(name: str, host: Host, isa: str = "") -> Target:
    """The target of that name; `isa` is the instruction set that is asked for, "" for the best."""
    make = TARGETS.get(name)
    if make is None:
        raise OptionError("target", name, f"one of {', '.join(TARGETS)}")
    return make(host, isa)


def executable_isas(host: Host) -> tuple[str, ...]:
    """The instruction sets that native code may be for, the best first."""
    return executed_with(host.isa)
