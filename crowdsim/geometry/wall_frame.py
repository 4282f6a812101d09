"""Walls as the kernels of avoidance and bodies read them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.geometry.walls import Walls

# Columns of WallFrame.shape and WallFrame.link.
LEFT_X, LEFT_Y, RIGHT_X, RIGHT_Y, ALONG_X, ALONG_Y = range(6)
BEYOND_LEFT, BEYOND_RIGHT, LEFT_CORNER, RIGHT_CORNER = range(4)


class WallFrame(NamedTuple):
    """`Walls` laid out for kernels, made once for each set of walls.

    An agent that looks at a wall from its free side has the wall's `end` on the left and its `start` on the
    right.

    Attributes
    ----------
    shape : (m, 6) float64, m
        Left end x and y, right end x and y, unit vector from the left to the right end (zero for a wall
        without length, which is left out).
    link : (m, 4) int64
        The wall beyond the left end and the one beyond the right end (-1: none), and whether the left and the
        right end stick out as corners.
    zone_start : (z + 1,) int64
    zone_wall : (k,) int32
        The walls of zone z are ``zone_wall[zone_start[z]:zone_start[z + 1]]``.
    """

    shape: NDArray[np.float64]
    link: NDArray[np.int64]
    zone_start: NDArray[np.int64]
    zone_wall: NDArray[np.int32]


def wall_frame(walls: Walls) -> WallFrame:
    """Return the frame of `walls`."""
    along = walls.start - walls.end
    length = np.sqrt(along[:, 0] * along[:, 0] + along[:, 1] * along[:, 1])
    along = along / np.where(length > 0.0, length, 1.0)[:, None]
    left_corner = np.ones(len(walls.next), dtype=np.bool_)
    goes_on = walls.next >= 0
    left_corner[goes_on] = walls.is_corner[walls.next[goes_on]]
    link = np.stack([walls.next, walls.previous, left_corner, walls.is_corner], axis=1).astype(np.int64)
    return WallFrame(
        np.ascontiguousarray(np.hstack([walls.end, walls.start, along])),
        link,
        walls.zone_start,
        walls.zone_wall,
    )
