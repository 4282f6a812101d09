"""The ground that agents and obstacles stand on while it is gone: where a tile was taken out, or in the hole
that an obstacle has cut for itself. They are as high up as they were, and meet those that they met.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.navigation.tiles.tiled_mesh import TiledMesh


class Planes(NamedTuple):
    """The planes under some rows.

    Attributes
    ----------
    part : (k,) int32
        In which part of the whole ground each is, see `TiledMesh.whole_parts`.
    place : (k, 3) float64, m
        A point of it.
    slope : (k, 2) float64
    """

    part: NDArray[np.int32]
    place: NDArray[np.float64]
    slope: NDArray[np.float64]

    def heights(self, position: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return how high (m) they are over places, (k, 2) m."""
        offset = position - self.place[:, :2]
        return self.place[:, 2] + (self.slope[:, 0] * offset[:, 0] + self.slope[:, 1] * offset[:, 1])


NO_ROWS = np.zeros(0, dtype=np.int64)
NO_PLANES = Planes(np.zeros(0, dtype=np.int32), np.zeros((0, 3)), np.zeros((0, 2)))


class LostGround:
    """Finds the planes under rows without ground; such rows rarely move, so the last answer is kept.

    Parameters
    ----------
    tiles : TiledMesh
    """

    def __init__(self, tiles: TiledMesh) -> None:
        self._tiles = tiles
        self._asked: tuple[bytes, ...] = ()
        self._found = NO_PLANES

    def planes(self, position: NDArray[np.float64], layer: NDArray[np.int32]) -> Planes:
        """Return the planes under places, (k, 2) m, of floors, (k,)."""
        asked = (position.tobytes(), layer.tobytes(), self._tiles.contents_version.to_bytes(8, "little"))
        if asked != self._asked:
            rows = [
                self._tiles.plane_under(x, y, floor)
                for (x, y), floor in zip(position.tolist(), layer.tolist(), strict=True)
            ]
            self._found = Planes(
                np.array([row[0] for row in rows], dtype=np.int32),
                np.array([row[1] for row in rows], dtype=np.float64).reshape(-1, 3),
                np.array([row[2] for row in rows], dtype=np.float64).reshape(-1, 2),
            )
            self._asked = asked
        return self._found
