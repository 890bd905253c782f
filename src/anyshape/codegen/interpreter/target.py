"""The interpreter target: the same plan, memory and native walk, with kernels run by Python.

It is for finding out whose mistake a wrong result is, and for testing what stands above code
generation: lowering, in-place results, arenas, waits, variants and level 2 all take part. Every
access to memory is checked. Blocks and tiles are so small that small sizes have many of them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from anyshape.base.errors import NoListingError, OptionError
from anyshape.codegen.interpreter.failures import raising
from anyshape.codegen.interpreter.functions import code_of
from anyshape.codegen.shared_code import shared_code
from anyshape.codegen.target import (
    Code,
    Guard,
    Host,
    Loaded,
    MemoryKind,
    Origins,
    Setup,
    Source,
)
from anyshape.loop import Kernel
from anyshape.lower.tiling import Caches, Tiling

_FEW: Final = Caches(strip=8, turned=(2, 3), panels=1 << 8, keys=6, keys_of_few=5)
SMALL: Final = Tiling(rows=2, vectors=1, vector_bytes=16, block=4, caches=_FEW)


@dataclass(frozen=True, slots=True)
class InterpreterTarget:
    """Python on the loops themselves. See `codegen.target.Target`.

    One thread: Python runs one at a time, and callers that wait for the team may hold its lock.
    """

    name: ClassVar[str] = "interpreter"
    memory: ClassVar[MemoryKind] = MemoryKind.HOST
    most_threads: ClassVar[int | None] = 1
    is_measured: ClassVar[bool] = False
    is_machine_code: ClassVar[bool] = False

    @property
    def isa(self) -> str:
        return "loops"

    @property
    def tiling(self) -> Tiling:
        return SMALL

    @property
    def guard(self) -> Guard | None:
        return raising

    def generator(self, setup: Setup) -> Interpreter:
        del setup  # nothing is compiled, kept or loaded
        return Interpreter()

    def listing(self, kernel: Kernel, form: str) -> str:
        del kernel
        raise NoListingError(self.name, form, ())


class Interpreter:
    """Makes functions of sources as they are."""

    def code(self, sources: Sequence[Source]) -> Loaded:
        keys = [_key(source) for source in sources]
        by_key = dict(zip(keys, sources, strict=True))

        def make(missing: Sequence[str]) -> tuple[dict[str, Code], Origins]:
            codes: dict[str, Code] = {key: code_of(by_key[key]) for key in missing}
            return codes, Origins()

        return shared_code(keys, make)


def _key(source: Source) -> str:
    text = f"interpreted {type(source).__name__}\n{source.as_text()}"
    return hashlib.sha256(text.encode()).hexdigest()


def interpreter(host: Host, isa: str) -> InterpreterTarget:
    """The same on every machine."""
    del host
    if isa:
        raise OptionError("isa", isa, "an instruction set of target 'interpreter', which has none")
    return InterpreterTarget()
