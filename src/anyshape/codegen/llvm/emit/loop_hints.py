"""Tells LLVM that a loop is already as it should be: no further unrolling or vectorisation."""

from __future__ import annotations

from typing import Any

from anyshape.codegen.llvm.math.boundary import Module, ir

_HINTS = ("llvm.loop.unroll.disable", "llvm.loop.vectorize.enable")


class _LoopId(ir.MDValue):
    """LLVM knows a loop by a distinct node that names itself first; llvmlite cannot write one."""

    def descr(self, buf: Any) -> None:
        hints = ", ".join(operand.get_reference() for operand in self.operands)
        buf += (f"distinct !{{ {self.get_reference()}, {hints} }}", "\n")


def keep_as_written(module: Module, backward_branch: Any) -> None:
    """Attaches the hints to the branch that closes a loop."""
    unroll = module.add_metadata([_HINTS[0]])
    vectorize = module.add_metadata([_HINTS[1], ir.Constant(ir.IntType(1), 0)])
    loop = _LoopId(module, (unroll, vectorize), name=str(len(module.metadata)))
    backward_branch.set_metadata("llvm.loop", loop)
