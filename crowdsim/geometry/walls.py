"""Wall segments as contacts and avoidance see them, with short lists of the walls that matter where an agent
stands.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Walls(NamedTuple):
    """Directed wall segments; free ground lies on the left of start -> end.

    Attributes
    ----------
    start, end : (m, 2) float64, m
    previous, next : (m,) int32
        The wall that ends at `start`, the wall that begins at `end`; -1 where the boundary is open (an exit).
    is_corner : (m,) bool
        The corner at `start` sticks out into free ground (interior angle of the walkable side above
        180 degrees), or `previous` is -1. RVO2 calls its vertex convex.
    layer : (m,) int32
        Floor on which the wall stands.
    zone_start : (z + 1,) int64
    zone_wall : (k,) int32
        Walls that an agent in zone z can come near are ``zone_wall[zone_start[z]:zone_start[z + 1]]``,
        ascending. A zone is a polygon of the mesh (or 0 for everything where there is no mesh).
    reach : float, m
        The lists hold every wall of the same surface within this distance of any point of the zone.
    """

    start: NDArray[np.float64]
    end: NDArray[np.float64]
    previous: NDArray[np.int32]
    next: NDArray[np.int32]
    is_corner: NDArray[np.bool_]
    layer: NDArray[np.int32]
    zone_start: NDArray[np.int64]
    zone_wall: NDArray[np.int32]
    reach: float


def no_walls(zones: int = 1) -> Walls:
    """Return walls of open ground with `zones` zones."""
    empty = np.zeros(0, dtype=np.int32)
    points = np.zeros((0, 2))
    none = np.zeros(0, dtype=np.bool_)
    return Walls(
        points,
        points.copy(),
        empty,
        empty.copy(),
        none,
        empty.copy(),
        np.zeros(zones + 1, dtype=np.int64),
        empty.copy(),
        np.inf,
    )


def walls_from_rings(rings: list[NDArray[np.float64]]) -> Walls:
    """Return the walls of closed rings as one zone.

    Parameters
    ----------
    rings : list of (k, 2) float64, m
        Vertices without repetition of the first; free ground on the left: outer boundaries counter-clockwise,
        obstacles clockwise.
    """
    starts, ends, previous, following, corner = [], [], [], [], []
    base = 0
    for ring in rings:
        count = len(ring)
        after = np.roll(ring, -1, axis=0)
        before = np.roll(ring, 1, axis=0)
        turn = (ring[:, 0] - before[:, 0]) * (after[:, 1] - ring[:, 1]) - (ring[:, 1] - before[:, 1]) * (
            after[:, 0] - ring[:, 0]
        )
        starts.append(ring)
        ends.append(after)
        index = np.arange(count)
        previous.append(base + (index - 1) % count)
        following.append(base + (index + 1) % count)
        corner.append(turn <= 0.0)
        base += count
    if not base:
        return no_walls()
    return Walls(
        np.ascontiguousarray(np.concatenate(starts), dtype=np.float64),
        np.ascontiguousarray(np.concatenate(ends), dtype=np.float64),
        np.concatenate(previous).astype(np.int32),
        np.concatenate(following).astype(np.int32),
        np.concatenate(corner),
        np.zeros(base, dtype=np.int32),
        np.array([0, base], dtype=np.int64),
        np.arange(base, dtype=np.int32),
        np.inf,
    )


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
