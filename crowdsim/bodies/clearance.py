"""Whether a body may be pushed to a place, as far as walls are concerned."""

from __future__ import annotations

import numpy as np

from crowdsim.kernels import lean_kernel

GRACE_M = 1e-4  # A push may leave a body this much nearer to a wall than its radius: rounding of the walk along walls would else hold it fast.
_BEHIND_M = 1e-3  # A centre up to a millimetre behind a wall counts as on it.


@lean_kernel
def may_be_pushed(shape, zone_wall, begin, end, x, y, to_x, to_y, radius):
    """Tell whether a disc may be pushed from (x, y) straight to (to_x, to_y).

    It may if it stays its radius clear of every wall on whose free side it is, or no nearer than it was, and its centre crosses none.

    Parameters
    ----------
    shape : (m, 6) float64, m
        By wall: end x and y, start x and y, unit vector from end to start; free ground on the right of that vector.
    zone_wall : (k,) int32
    begin, end : int
        The walls that count are ``zone_wall[begin:end]``.
    x, y, to_x, to_y, radius : float, m

    Returns
    -------
    bool

    Notes
    -----
    Source: S2, section 8 ("If a pushed position is unwalkable, only the other character is moved"). Twin: `tests/reference/clearance.py`.
    """
    for entry in range(begin, end):
        wall = zone_wall[entry]
        ux, uy = shape[wall, 4], shape[wall, 5]
        if ux == 0.0 and uy == 0.0:
            continue
        height = _height(shape, wall, ux, uy, x, y)
        if height < -_BEHIND_M:
            continue
        new_height = _height(shape, wall, ux, uy, to_x, to_y)
        if height >= 0.0 and new_height < 0.0:
            share = height / (height - new_height)
            cut_x, cut_y = x + (to_x - x) * share, y + (to_y - y) * share
            if (cut_x - shape[wall, 0]) * ux + (cut_y - shape[wall, 1]) * uy >= 0.0 and (cut_x - shape[wall, 2]) * ux + (cut_y - shape[wall, 3]) * uy <= 0.0:
                return False
        distance = _distance(shape, wall, ux, uy, to_x, to_y, new_height)
        if distance < radius - GRACE_M and distance < _distance(shape, wall, ux, uy, x, y, height):
            return False
    return True


@lean_kernel
def clear_of_walls(frame, zone, wall_distance, reach, x, y, dx, dy, length, radius):
    """Tell whether the walls let a disc be pushed, far from walls without looking at them.

    Parameters
    ----------
    frame : WallFrame
    zone : int
        Row of the wall lists.
    wall_distance : float, m
        Lower bound of the distance from (x, y) to any wall.
    reach : float, m
        The wall lists are whole within this distance; a push that would need more is refused.
    x, y, dx, dy, length, radius : float, m
        Where the disc is, the push and its length, and how large the disc is.

    Returns
    -------
    bool

    Notes
    -----
    Twin: `tests/reference/clearance.py`.
    """
    if length + radius <= wall_distance:
        return True
    if length + radius > reach:
        return False
    shape, _, zone_start, zone_wall = frame
    return may_be_pushed(shape, zone_wall, zone_start[zone], zone_start[zone + 1], x, y, x + dx, y + dy, radius)


@lean_kernel
def _height(shape, wall, ux, uy, x, y):
    """Return how far a point is above a wall's line, positive on the free side; the mean from both ends, so that mirrored walls give the same."""
    lx, ly, rx, ry = shape[wall, 0] - x, shape[wall, 1] - y, shape[wall, 2] - x, shape[wall, 3] - y
    return 0.5 * ((ly * ux - lx * uy) + (ry * ux - rx * uy))


@lean_kernel
def _distance(shape, wall, ux, uy, x, y, height):
    """Return the distance of a point from a wall."""
    lx, ly, rx, ry = shape[wall, 0] - x, shape[wall, 1] - y, shape[wall, 2] - x, shape[wall, 3] - y
    if lx * ux + ly * uy > 0.0:
        return np.sqrt(lx * lx + ly * ly)
    if rx * ux + ry * uy < 0.0:
        return np.sqrt(rx * rx + ry * ry)
    return abs(height)
