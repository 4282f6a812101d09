"""The ground round agents that are stuck: walls in the line to where they go, and gaps before them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.geometry.lengths import hypots

# Farther from its rim than this before a gap nobody is at it. Larger takes crowds in rooms for arches at
# their doors.
GAP_REACH_M = 1.0
_SLACK = 1e-9
PAIRS_AT_ONCE = 1_000_000  # Of points and walls that are held against each other at a time, some 50 MB.


class Segments(NamedTuple):
    """Walls.

    Attributes
    ----------
    start, end : (m, 2) float64, m
    layer : (m,) int32
        Floor on which each stands.
    """

    start: NDArray[np.float64]
    end: NDArray[np.float64]
    layer: NDArray[np.int32]

    def near(self, points: NDArray[np.float64], layer: int, reach: float) -> Segments:
        """Return those of a floor that come within `reach` (m) of the box round some points, (k,
        2) in metres.
        """
        low, high = points.min(axis=0) - reach, points.max(axis=0) + reach
        beside = np.any(
            (np.maximum(self.start, self.end) < low) | (np.minimum(self.start, self.end) > high), axis=1
        )
        keep = (self.layer == layer) & ~beside
        return Segments(self.start[keep], self.end[keep], self.layer[keep])


def walls_beside(
    points: NDArray[np.float64], layer: NDArray[np.int32], walls: Segments, reach: float
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return which walls come near each of some points, in x and y, on its floor.

    Parameters
    ----------
    points : (k, 2) float64, m
    layer : (k,) int32
    walls : Segments
    reach : float, m

    Returns
    -------
    first : (k + 1,) int64
    wall : (q,) int64
        Those near point i are ``wall[first[i]:first[i + 1]]``, ascending.
    """
    low, high = np.minimum(walls.start, walls.end) - reach, np.maximum(walls.start, walls.end) + reach
    order = np.argsort(points[:, 0], kind="stable")
    begin = np.searchsorted(points[order, 0], low[:, 0], side="left")
    count = np.searchsorted(points[order, 0], high[:, 0], side="right") - begin
    found: list[NDArray[np.int64]] = [np.zeros((2, 0), dtype=np.int64)]
    parts = np.flatnonzero(np.diff(np.cumsum(count) // PAIRS_AT_ONCE)) + 1
    for wall in np.split(np.arange(len(count)), parts):
        there = np.repeat(wall, count[wall])
        place = np.arange(len(there)) - np.repeat(np.cumsum(count[wall]) - count[wall], count[wall])
        point = order[begin[there] + place]
        y = points[point, 1]
        near = (layer[point] == walls.layer[there]) & (low[there, 1] <= y) & (y <= high[there, 1])
        found.append(np.stack([point[near], there[near]]))
    point, wall = np.concatenate(found, axis=1)
    by_point = np.lexsort((wall, point))
    return np.searchsorted(point[by_point], np.arange(len(points) + 1)), wall[by_point]


class Gap(NamedTuple):
    """A gap between two walls.

    Attributes
    ----------
    a, b : (2,) float64, m
        Its two ends.
    width : float, m
    """

    a: NDArray[np.float64]
    b: NDArray[np.float64]
    width: float


def lines_cut(start: NDArray[np.float64], end: NDArray[np.float64], walls: Segments) -> NDArray[np.bool_]:
    """Return (k,) bool: which of the lines from `start` to `end`, (k, 2) in metres, cross a wall;
    touching its end is no crossing.
    """
    a, b = walls.start[None], walls.end[None]
    p, q = start[:, None], end[:, None]
    one, two = _side(p, q, a), _side(p, q, b)
    three, four = _side(a, b, p), _side(a, b, q)
    return np.any((one * two < -_SLACK) & (three * four < -_SLACK), axis=1)


def _side(p: NDArray[np.float64], q: NDArray[np.float64], r: NDArray[np.float64]) -> NDArray[np.float64]:
    return (q[..., 0] - p[..., 0]) * (r[..., 1] - p[..., 1]) - (q[..., 1] - p[..., 1]) * (
        r[..., 0] - p[..., 0]
    )


def feet(points: NDArray[np.float64], walls: Segments) -> NDArray[np.float64]:
    """Return (k, m, 2): the point of each wall that is nearest to each of some points, (k, 2) in metres."""
    along = walls.end - walls.start
    square = np.maximum((along * along).sum(axis=1), 1e-300)
    share = (((points[:, None] - walls.start) * along).sum(axis=2) / square).clip(0.0, 1.0)
    return walls.start + share[..., None] * along


def wall_distances(points: NDArray[np.float64], walls: Segments) -> NDArray[np.float64]:
    """Return (k,): the distance from each of some points, (k, 2) in metres, to the nearest wall;
    infinite where there is none.
    """
    if not len(walls.start):
        return np.full(len(points), np.inf)
    apart = feet(points, walls) - points[:, None]
    return hypots(apart[..., 0], apart[..., 1]).min(axis=1)


def gap_ahead(
    position: NDArray[np.float64],
    corner: NDArray[np.float64],
    radius: NDArray[np.float64],
    walls: Segments,
    widest: float,
) -> tuple[Gap | None, NDArray[np.int8]]:
    """Return the narrowest gap that some agents go for, and in which direction.

    Parameters
    ----------
    position, corner : (k, 2) float64, m
        Where they are, and the points that they steer at.
    radius : (k,) float64, m
    walls : Segments
        Near them, on their floor.
    widest : float, m
        Wider gaps are none.

    Returns
    -------
    Gap or None
    direction : (k,) int8
        1 and -1 for those that want through the gap from its one side and from the other; 0 for those that do
        not go for it.

    Notes
    -----
    A gap is the shortest line from a corner of a wall to another wall where the disc round that line is free
    of walls. An agent goes for it that is within `GAP_REACH_M` of it and whose line to its corner, made half
    a metre longer, crosses it, or whose corner is not farther from it than its own width.
    """
    nobody = np.zeros(len(position), dtype=np.int8)
    if not len(walls.start):
        return None, nobody
    corners = np.unique(np.concatenate([walls.start, walls.end]), axis=0)
    ends = feet(corners, walls)
    width = hypots(ends[..., 0] - corners[:, None, 0], ends[..., 1] - corners[:, None, 1])
    c, w = np.nonzero((width > 1e-6) & (width <= widest))
    order = np.lexsort((w, c, np.round(width[c, w], 6)))
    for at, wall in zip(c[order].tolist(), w[order].tolist(), strict=True):
        a, b, wide = corners[at], ends[at, wall], float(width[at, wall])
        if wall_distances((0.5 * (a + b))[None], walls)[0] < 0.5 * wide - 1e-6:
            continue
        direction = _through(position, corner, radius, a, b, walls)
        if np.any(direction):
            return Gap(a, b, wide), direction
    return None, nobody


def _through(
    position: NDArray[np.float64],
    corner: NDArray[np.float64],
    radius: NDArray[np.float64],
    a: NDArray[np.float64],
    b: NDArray[np.float64],
    walls: Segments,
) -> NDArray[np.int8]:
    """Return (k,) int8: which agents want through the gap from a to b, as 1 and -1 by direction;
    0 for others.
    """
    gap = Segments(a[None], b[None], np.zeros(1, dtype=np.int32))
    at = wall_distances(position, gap) <= GAP_REACH_M + radius
    to = corner - position
    length = hypots(to[:, 0], to[:, 1])
    ahead = corner + to * (0.5 / np.maximum(length, 1e-9))[:, None]
    crosses = lines_cut(position, ahead, gap) & (length > 1e-3)
    # Where the gap is reached, the line must not have gone through a wall: then it would be a gap on the
    # other side of it.
    foot = feet(position, gap)[:, 0]
    is_open = ~lines_cut(position, foot + (position - foot) * 1e-3, walls)
    goes = at & is_open & (crosses | (wall_distances(corner, gap) <= radius + 0.1))
    normal = np.array([b[1] - a[1], a[0] - b[0]]) / hypots(*(b - a))
    beside = position - 0.5 * (a + b)
    side, heading = (
        beside[:, 0] * normal[0] + beside[:, 1] * normal[1],
        to[:, 0] * normal[0] + to[:, 1] * normal[1],
    )
    direction = np.where(np.abs(side) > 0.5 * radius, -np.sign(side), np.sign(heading))
    return np.where(goes, direction, 0).astype(np.int8)
