"""The emitter: kernels of the loop IR as LLVM IR, with explicit vectors.

`emit_kernel(kernel, target)` gives the text of a module with one function; `loop/interpret.py` says
what it means. No call leaves the module. Floats behave as NumPy's, but for two liberties: a * b + c
may be contracted, and a vectorised loop may reorder its reductions.

Buffers do not overlap, except that a written buffer may be the very memory of one whose elements
are all read before they are written: in the same iteration, or in a loop that is over, as
`loop/accesses.py` proves. Hence nothing here may tell LLVM that pointers differ, or store an
element twice.

Words:
  - *lane*, *part*, *tile*: iterations computed at once are a tile of `parts` vectors of `lanes`;
  - *uniform*: the same in all lanes of a tile; *varying*: not so;
  - *scope*: a straight line of code, and what is known there; *home*: the outermost scope where an
    expression can be computed;
  - *frame*: the position at which a statement is written;
  - *slot*: where an accumulator lives;
  - *segment*: a range of a loop in which guards are constant.

The files, from the ground up:

    isa, types, intrinsics       LLVM's types and instructions
    arithmetic, division, logic, convert, table    op name -> generator
    scope, lanes, index, condition                 where code goes; values; index expressions
    walk, safety, plan, split    questions about loops, and decisions
    register_tile, multiply      matrix products
    frame, streaming, access, evaluate, accumulate, loops, kernel     statements
"""

from anyshape.codegen.llvm.emit.kernel import emit_kernel
from anyshape.codegen.llvm.emit.table import GENERATORS

__all__ = ["GENERATORS", "emit_kernel"]
