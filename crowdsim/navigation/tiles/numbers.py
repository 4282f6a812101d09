"""Which tile has which number: floor by floor, on each row by row from the lower left on.

Lines of tiles run at whole multiples of their size on every floor, so that the tiles of two floors lie above
each other. A floor has a table of tiles of its own: what is taken out upstairs is there downstairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.errors import NavigationError
from crowdsim.navigation.tiles import handles

MOST_TILES = 1 << handles.TILE_BITS
# Ground that ends this near to a line of tiles ends on it, and stops this near to each other are one: as near
# as feet of gaps may come.
SNAP_M = 1e-6


@dataclass(frozen=True)
class TileNumbers:
    """The numbers of the tiles of all floors.

    Attributes
    ----------
    size : float, m
        Side of a tile.
    first : tuple of (int, int)
        For each floor column and row of the tile in the lower left: tile (i, j) covers ``i * size .. (i + 1)
        * size`` in x, likewise j in y.
    shape : tuple of (int, int)
        Columns and rows of each floor.
    floors : tuple of str
        Names of the floors, for messages.
    """

    size: float
    first: tuple[tuple[int, int], ...]
    shape: tuple[tuple[int, int], ...]
    floors: tuple[str, ...] = field(default=(), compare=False)

    @property
    def count(self) -> int:
        """How many numbers there are, those of tiles without ground included."""
        return self.base(len(self.shape))

    def base(self, layer: int) -> int:
        """Return the first number of a floor."""
        return sum(columns * rows for columns, rows in self.shape[:layer])

    def number(self, column: int, row: int, layer: int = 0) -> int:
        """Return the number of the tile in a column and row of a floor; -1 if the floor has none there."""
        if not 0 <= layer < len(self.shape):
            return -1
        (i, j), (columns, rows) = self.first[layer], self.shape[layer]
        i, j = column - i, row - j
        return self.base(layer) + j * columns + i if 0 <= i < columns and 0 <= j < rows else -1

    def place(self, tile: int) -> tuple[int, int]:
        """Return the column and row of a tile."""
        layer = self.layer_of(tile)
        (i, j), columns = self.first[layer], self.shape[layer][0]
        own = tile - self.base(layer)
        return own % columns + i, own // columns + j

    def layers(self, tile: NDArray[Any]) -> NDArray[np.int32]:
        """Return the floors of tiles, shape (n,)."""
        bases = [self.base(layer) for layer in range(len(self.shape))]
        return (np.searchsorted(bases, tile, side="right") - 1).astype(np.int32)

    def table(self) -> NDArray[np.int64]:
        """Return for each floor column and row of its first tile, and how many of both, (floors, 4)."""
        rows = [(*first, *shape) for first, shape in zip(self.first, self.shape, strict=True)]
        return np.array(rows, dtype=np.int64)

    def layer_of(self, tile: int) -> int:
        """Return the floor of a tile."""
        return int(self.layers(np.array([tile]))[0])

    def text(self, tile: int) -> str:
        """Return what a message calls a tile."""
        return f"tile {self.place(tile)}{self.of_floor(self.layer_of(tile))}"

    def extent_text(self, layer: int) -> str:
        """Return in a sentence which tiles a floor has, for messages."""
        (i, j), (columns, rows) = self.first[layer], self.shape[layer]
        last = (i + columns - 1, j + rows - 1)
        return (
            f"Tiles{self.of_floor(layer)} go from {(i, j)} to {last} (column, row), and those without ground "
            "do not count."
        )

    def of_floor(self, layer: int) -> str:
        """Return what a message adds to the name of a tile where there are several floors."""
        if len(self.shape) == 1:
            return ""
        return f' of "{self.floors[layer]}"' if self.floors else f" of floor {layer}"


def numbers_over(grounds: Sequence[Any], size: float) -> TileNumbers:
    """Return the numbers of the tiles of grounds (shapely, m), one for each floor.

    Raises
    ------
    NavigationError
        If the tiles are too many.
    """
    bounds = [ground.bounds if not ground.is_empty else (0.0, 0.0, 0.0, 0.0) for ground in grounds]
    wanted = sum(
        ((right - left) / size + 1.0) * ((top - low) / size + 1.0) for left, low, right, top in bounds
    )
    if wanted > MOST_TILES:
        raise NavigationError(
            f"tiles of {size:g} m make {wanted:,.0f} tiles of this ground, at most {MOST_TILES:,} are "
            "possible; make them larger"
        )
    first, last = zip(
        *(
            (
                tuple(line_at(low, size, np.floor) for low in box[:2]),
                tuple(line_at(high, size, np.ceil) for high in box[2:]),
            )
            for box in bounds
        ),
        strict=True,
    )
    shape = tuple(
        (max(1, right - left), max(1, top - low))
        for (left, low), (right, top) in zip(first, last, strict=True)
    )
    return TileNumbers(size, first, shape)


def line_at(place: float, size: float, away: Any) -> int:
    """Return the line of tiles on which a place is, or the next one away."""
    near = round(place / size)
    return near if abs(place - near * size) <= SNAP_M else int(away(place / size))
