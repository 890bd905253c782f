"""How work is divided: for vectors and registers into tiles, panels and tasks; for caches, blocks.

Targets have a tiling each (`codegen/target.py`); lowering knows no more of a machine than that.

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
class Caches:
    """How much there may be of something that is to be in a cache when it is used again."""

    strip: int = 4096
    """Elements per task of a map that is one loop: about a third of a typical first level."""

    turned: tuple[int, int] = (16, 256)
    """Rows and columns of a block that is transposed: lines of the operand, long runs of the
    result, and a tile well within the first level."""

    panels: int = 256 << 10
    """Bytes of panels that stay in the second level, beside rows and results."""

    far: int = 4 << 20
    """Bytes of panels from which on few of them are in the second level when they are needed."""

    keys: int = 192
    """Keys of attention that stay there with their scores and values."""

    keys_of_few: int = 512
    """The same for few queries: a few rows of scores are smaller than many."""

    keys_of_heads: int = 256
    """The same where a task has many heads."""

    heads: int = 16
    """Whose queries and sums stay in the first level."""

    streamed: int = 24 << 20
    """Bytes of results from which on they are stored past all caches: more than a share of most."""


@dataclass(frozen=True, slots=True)
class Tiling:
    """Sizes that suit an instruction set and its caches. `block` is a multiple of `rows`.

    `threads` are those that share the tasks. `group` are the steps of k that an instruction for
    products of small integers takes at once: 4 of bytes, or 2 of 16 bits.
    """

    rows: int
    vectors: int
    vector_bytes: int
    block: int = 96
    threads: int = 1
    group: int = 2
    caches: Caches = Caches()

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
