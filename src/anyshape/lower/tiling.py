"""How matrix products are divided: into register tiles, panels and tasks.

Words:
  - *register tile*: the sums that stay in registers while k runs, `rows` times `vectors`;
  - *panel*: as many columns of rhs as a register tile has; constants are stored panel after panel;
  - *block*: the rows of one task. A task multiplies a block of rows with one panel.

The rows of a block are read again for each panel, and a panel for each register tile of the block:
that panel is meant to stay in the second level of the cache.
"""

from __future__ import annotations

from dataclasses import dataclass

from anyshape.ir.types import DType


@dataclass(frozen=True, slots=True)
class Tiling:
    """Sizes that suit an instruction set. `block` is a multiple of `rows`.

    `threads` are those that share the tasks.
    """

    rows: int
    vectors: int
    vector_bytes: int
    block: int = 96
    threads: int = 1

    def columns(self, total: DType) -> int:
        """The columns of a panel whose sums are of this dtype."""
        return self.vectors * self.vector_bytes // total.itemsize


WIDE = Tiling(rows=6, vectors=4, vector_bytes=64)
"""24 sums of 512 bits: what is left of 32 registers holds four vectors of rhs and one of lhs.

Measured on Zen 4, it reaches 97 % of the peak from 8 rows up without any further blocking.
"""

NARROW = Tiling(rows=6, vectors=2, vector_bytes=32)
"""12 sums of 256 bits, for 16 registers."""

NARROWEST = Tiling(rows=6, vectors=2, vector_bytes=16)
"""12 sums of 128 bits, for 16 registers: two vectors of rhs, one of lhs, and one of products, since
there is no fused multiply-add."""

_OF_ISA = {
    "avx512": WIDE,
    "avx2": NARROW,
    "sse2": NARROWEST,
    "neon": Tiling(rows=6, vectors=4, vector_bytes=16),
    "scalar": NARROWEST,
}


def tiling_for(isa: str) -> Tiling:
    """The tiling for an instruction set, by the name that `runtime.machine()` gives it."""
    return _OF_ISA[isa]
