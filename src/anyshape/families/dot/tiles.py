"""How the register tiles of a block share its rows: as many as fit each, or evenly.

A tile of one or two rows has fewer sums than multipliers have places in their pipelines, and waits
for each of them: 8 rows are better 4 and 4 than 6 and 2, 13 better 5, 4 and 4 than 6, 6 and 1.
Finding an even share takes some twenty cycles for each tile, which a deep product does not notice.

The place of an even tile is two indices of their own: proofs need neither products nor divisions.
"""

from __future__ import annotations

from dataclasses import dataclass

from anyshape.loop import Bind, For, Number, Statement
from anyshape.loop.ir import Ahead
from anyshape.lower.tiling import Tiling
from anyshape.sym import Dim, Symbol, ceildiv, maximum, minimum

TILE, FIRST_ROW, ROWS = (Symbol(name) for name in ("r", "fr", "nr"))
LEAST, LONGER = Symbol("lr"), Symbol("nl")

EVEN_FROM = 256
"""The depth from which on even shares cost less than a percent."""


@dataclass(frozen=True, slots=True)
class Tiles:
    """`height` rows in tiles of at most so many."""

    height: Dim
    most: int
    are_even: bool = False

    @staticmethod
    def of(height: Dim, tiling: Tiling, depth: Dim) -> Tiles:
        deep = depth.constant is not None and depth.constant >= EVEN_FROM
        return Tiles(height, tiling.rows, deep)

    @property
    def count(self) -> Dim:
        return ceildiv(self.height, self.most)

    @property
    def first(self) -> Dim:
        """The first row of a tile."""
        return Dim.of(FIRST_ROW) if self.are_even else Dim.of(TILE) * self.most

    @property
    def rows(self) -> Dim:
        """How many a tile has."""
        return Dim.of(ROWS) if self.are_even else minimum(self.most, self.height - self.first)

    @staticmethod
    def reading_on(near: int, least: int) -> Ahead:
        """What each tile of so many rows reads itself, so many elements later."""
        return Ahead(Dim.of(near), Dim.of(0), Dim.of(1), least)

    def following(self, panel: int, tiles: int, near: int, least: int) -> Ahead:
        """The next panel, of which each tile fetches a part, if there are so many tiles. Fewer
        read on, which goes over into the next panel, too."""
        shares = minimum(1, self.count // tiles)  # 0 or 1
        distance, part = near + (panel - near) * shares, Dim.of(TILE) * shares
        return Ahead(distance, part, maximum(1, self.count * shares), least)

    def loop(self, body: tuple[Statement, ...]) -> tuple[Statement, ...]:
        """The body for each tile."""
        if not self.are_even:
            return (For(TILE, self.count, body),)
        return (*self._shares, For(TILE, self.count, (*self._place, *body)))

    @property
    def _shares(self) -> tuple[Bind, Bind]:
        """The rows that every tile has, and the number of tiles that have one more: the first."""
        count = maximum(1, self.count)
        least, longer = self.height // count, self.height - count * Dim.of(LEAST)
        return (
            Bind(LEAST, Number(least), Dim.of(self.most + 1)),
            Bind(LONGER, Number(longer), count),
        )

    @property
    def _place(self) -> tuple[Bind, Bind]:
        tile, least, longer = Dim.of(TILE), Dim.of(LEAST), Dim.of(LONGER)
        first = tile * least + minimum(tile, longer)
        rows = least + minimum(1, maximum(0, longer - tile))
        left = minimum(self.most, self.height - self.first)
        return (
            Bind(FIRST_ROW, Number(first), self.height + 1),
            Bind(ROWS, Number(rows), left + 1),
        )
