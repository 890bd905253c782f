"""Kernels: a task loop around statements, with the buffers and sizes that it is given.

    kernel (n0, n1; x: f32[n0, n1], out: f32[n0, n1] written) tasks t < n0 {
      for j < n1 vector with total: f32 add {
        total <- x[t, j]
      }
      for j < n1 vector {
        out[t, j] = f32 div(x[t, j], total)
      }
    }

That is the text of one: the printer writes it, the parser reads it.
"""

from __future__ import annotations

from dataclasses import dataclass

from anyshape.loop.ir import NEVER, STACK_BYTES, Buffer, Statement
from anyshape.loop.printer import kernel_text
from anyshape.sym import Dim, Facts, Symbol

NO_FACTS = Facts()


@dataclass(frozen=True, slots=True)
class Kernel:
    """Buffers and sizes in the order of the argument block, and the work of one task.

    Scratch belongs to one task at a time and is arbitrary when a task starts, unless a `Prepare`
    filled it. Small scratch of constant size is on the stack; the rest is the worker's own part of
    a *workspace*, whose address is given between those of the buffers and the sizes.

    A *native* kernel has no body: it is a function of the runtime, by its name (`loop/native.py`).
    """

    buffers: tuple[Buffer, ...]
    sizes: tuple[Symbol, ...]
    task: Symbol
    tasks: Dim
    body: tuple[Statement, ...]
    facts: Facts = NO_FACTS  # what holds of the sizes
    scratch: tuple[Buffer, ...] = ()
    streams: Dim = NEVER  # not 0 where results had better go past the caches: they are too large
    native: str = ""
    stack_bytes: int = STACK_BYTES

    def as_text(self) -> str:
        """Its buffers, facts and loops; `anyshape.loop.parser` reads them back."""
        return kernel_text(self)

    def __str__(self) -> str:
        return self.as_text()

    @property
    def results(self) -> tuple[Buffer, ...]:
        return tuple(buffer for buffer in self.buffers if buffer.written)

    @property
    def workspaces(self) -> tuple[Buffer, ...]:
        """Scratch that is not on the stack."""
        return tuple(buffer for buffer in self.scratch if not self.is_on_stack(buffer))

    def is_on_stack(self, scratch: Buffer) -> bool:
        size = scratch.bytes.constant
        return size is not None and size <= self.stack_bytes
