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

from dataclasses import dataclass, replace

from anyshape.ir.types import DType

LARGE = 2 << 20
"""Bytes of a second level that is large."""


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

    fetched: tuple[int, int] = (256 << 10, 384 << 10)
    """Bytes of a panel that is fetched while another one is multiplied, as both have to fit there:
    by two register tiles of a task, and by more of them, which have more time for it."""

    late: int = 3
    """Rows of a tile from which on what a CPU reads ahead by itself comes too late. For fewer it is
    in time, where the last level is near, and what else is fetched is in its way."""

    late_within: int = 9
    """The same for programs all of whose weights are in a last level that is near."""

    far: int = 4 << 20
    """Bytes of all weights of a program from which on few are there when they are needed."""

    beyond: int = 24 << 20
    """The same from which on they come from memory: most of a last level."""

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

    def with_second_level(self, size: int) -> Caches:
        """The same for a second level of so many bytes; what does not depend on it is kept. Cores
        with a large one have it because their last level is far away."""
        late, within = (1, 1) if size >= LARGE else (self.late, self.late_within)
        fetched, far = (size // 4, size * 3 // 8), max(self.far, 2 * size)
        return replace(self, fetched=fetched, late=late, late_within=within, far=far)

    def for_weights(self, size: int) -> Caches:
        """The same for a program with so many bytes of weights."""
        return self if size >= self.beyond else replace(self, late=self.late_within)


@dataclass(frozen=True, slots=True)
class Tiling:
    """Sizes that suit an instruction set and its caches. `block` is a multiple of `rows`.

    `threads` are those that share the tasks. `group` are the steps of k that an instruction for
    products of small integers takes at once: 4 of bytes, or 2 of 16 bits. `far_weights` says that
    products find few of their weights in a cache of their thread, because the program has too many.
    """

    rows: int
    vectors: int
    vector_bytes: int
    block: int = 96
    threads: int = 1
    group: int = 2
    caches: Caches = Caches()
    far_weights: bool = False

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
