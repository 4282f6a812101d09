"""Whether a disc may be pushed to a place, as far as walls are concerned."""

# mypy: allow-untyped-defs

from __future__ import annotations

import numpy as np

from crowdsim.kernels.decorator import kernel, lean_kernel

# A push may leave a disc this much nearer to a wall than its radius: rounding of the walk along walls would
# else stop it.
GRACE_M = 1e-4
# "No nearer than before" is meant up to a nanometre: a push along a wall is rounded, at map coordinates by a
# tenth of that.
ROUNDING_M = 1e-9
_BEHIND_M = 1e-3  # A centre up to a millimetre behind a wall counts as on it.
_MOST_WALLS = 4  # Walls that a disc is moved off in turn; a corner has two.
# What rounding to float32 may add to a distance is taken off again: it has to be a lower bound.
_LESS = np.float32(0.999999)
# A push that keeps less than this part of its length along a wall goes into the wall: it parts no discs (its
# square counts, 1 %).
_LEAST_BEND = 0.1
_LEAST_SLIDE = 1e-6  # Below this part the side to which a disc slides would be a matter of rounding.


@lean_kernel
def may_be_pushed(shape, zone_wall, begin, end, x, y, to_x, to_y, radius):
    """Return whether a disc may be pushed from (x, y) straight to (to_x, to_y).

    It may if it stays its radius clear of every wall on whose free side it is, and of the ends of those
    beyond which it would be, or no nearer than it was, and its centre crosses none.

    Parameters
    ----------
    shape : (m, 6) float64, m
        By wall: end x and y, start x and y, unit vector from end to start; free ground on the right of that
        vector.
    zone_wall : (k,) int32
    begin, end : int
        The walls that count are ``zone_wall[begin:end]``.
    x, y, to_x, to_y, radius : float, m

    Returns
    -------
    bool

    Notes
    -----
    Source: [Pathfinding undated], section 8 ("If a pushed position is unwalkable, only the other character is
    moved"). Twin: `tests/reference/clearance.py`.
    """
    for entry in range(begin, end):
        wall = zone_wall[entry]
        ux, uy = shape[wall, 4], shape[wall, 5]
        if ux == 0.0 and uy == 0.0:
            continue
        height = _height(shape, wall, ux, uy, x, y)
        if height < -_BEHIND_M and not _is_beyond(shape, wall, ux, uy, to_x, to_y):
            continue
        new_height = _height(shape, wall, ux, uy, to_x, to_y)
        if height >= 0.0 and new_height < 0.0:
            share = height / (height - new_height)
            cut_x, cut_y = x + (to_x - x) * share, y + (to_y - y) * share
            if (cut_x - shape[wall, 0]) * ux + (cut_y - shape[wall, 1]) * uy >= 0.0 and (
                cut_x - shape[wall, 2]
            ) * ux + (cut_y - shape[wall, 3]) * uy <= 0.0:
                return False
        distance = _distance(shape, wall, ux, uy, to_x, to_y, new_height)
        if (
            distance < radius - GRACE_M
            and distance < _distance(shape, wall, ux, uy, x, y, height) - ROUNDING_M
        ):
            return False
    return True


@lean_kernel
def clear_of_walls(frame, zone, wall_distance, reach, x, y, dx, dy, length, radius):
    """Return whether the walls let a disc be pushed, far from walls without looking at them.

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
    return may_be_pushed(
        shape, zone_wall, zone_start[zone], zone_start[zone + 1], x, y, x + dx, y + dy, radius
    )


@lean_kernel
def bent_along_walls(frame, zone, reach, x, y, dx, dy, radius, slides):
    """Bend a push that walls refuse along the wall that it would come nearest to.

    Parameters
    ----------
    frame : WallFrame
    zone : int
        Row of the wall lists.
    reach : float, m
        The wall lists are whole within this distance; a push that would need more is refused.
    x, y, dx, dy, radius : float, m
        Where the disc is, the push, and how large the disc is.
    slides : bool
        Whether it goes along the wall by the whole length of the push where it can: before what does not make
        way, as a cart, a disc that is between it and a wall leaves to the side, however squarely it is
        pressed. That never brings it nearer to either.

    Returns
    -------
    dx, dy : float, m
        What of the push is along the wall, or nothing where that is refused too, or too little to part discs.

    Notes
    -----
    Two discs in a corner, each between the other and a wall, could not part otherwise. Walls that are equally
    near count together, so that their order does not matter. Twin: `tests/reference/clearance.py`.
    """
    length = np.sqrt(dx * dx + dy * dy)
    if length + radius > reach:
        return 0.0, 0.0
    shape, _, zone_start, zone_wall = frame
    begin, end = zone_start[zone], zone_start[zone + 1]
    into_x, into_y, _ = _nearest_wall(shape, zone_wall, begin, end, x, y, x + dx, y + dy, radius)
    square = into_x * into_x + into_y * into_y
    if square <= 0.0:
        return 0.0, 0.0
    lost = (dx * into_x + dy * into_y) / square
    ex, ey = dx - lost * into_x, dy - lost * into_y
    left = np.sqrt(ex * ex + ey * ey)
    if lost > 0.0 and slides and left > _LEAST_SLIDE * length:
        sx, sy = ex * (length / left), ey * (length / left)
        if may_be_pushed(shape, zone_wall, begin, end, x, y, x + sx, y + sy, radius):
            return sx, sy
    if lost <= 0.0 or left < _LEAST_BEND * length:
        return 0.0, 0.0
    if not may_be_pushed(shape, zone_wall, begin, end, x, y, x + ex, y + ey, radius):
        return 0.0, 0.0
    return ex, ey


@kernel
def move_off_walls(start, stop, position, tentative, radius, zone, wall_distance, reach, frame, out, clear):
    """Move discs that would be within walls off them, as walking does in the end.

    Parameters
    ----------
    start, stop : int
        Range of rows.
    position, tentative : (n, 2) float64, m
        Where discs are, and where they would be.
    radius : (n,) float64, m
    zone : (n,) int64
        Row of the wall lists.
    wall_distance : (n,) float32, m
        Lower bound of the distance from `position` to any wall.
    reach : float, m
        The wall lists are whole within this distance of `position`.
    frame : WallFrame
    out : (n, 2) float64, m
        Receives the tentative positions, clear of walls where that can be had in a few moves. A disc that
        steps farther than its radius, and so may have crossed a wall, is left as it is.
    clear : (n,) float32, m
        Receives a lower bound of the distance from `out` to any wall.

    Notes
    -----
    Twin: `tests/reference/clearance.py`.
    """
    for row in range(start, stop):
        x, y = tentative[row, 0], tentative[row, 1]
        out[row, 0], out[row, 1] = x, y
        dx, dy = x - position[row, 0], y - position[row, 1]
        step = np.sqrt(dx * dx + dy * dy)
        clear[row] = np.float32(max(wall_distance[row] - step, 0.0)) * _LESS
        if clear[row] >= radius[row] or step > radius[row] or step + radius[row] > reach:
            continue
        shape, _, zone_start, zone_wall = frame
        begin, end = zone_start[zone[row]], zone_start[zone[row] + 1]
        for _ in range(_MOST_WALLS + 1):
            mx, my, distance = _nearest_wall(shape, zone_wall, begin, end, x, y, x, y, radius[row] - GRACE_M)
            length = np.sqrt(mx * mx + my * my)
            if length == 0.0:
                out[row, 0], out[row, 1] = x, y
                break
            away = radius[row] - distance
            x, y = x - mx / length * away, y - my / length * away


@lean_kernel
def _nearest_wall(shape, zone_wall, begin, end, x, y, to_x, to_y, within):
    """Return the vector from (x, y) to the wall that is nearest to another place,
    and that place's distance from it; nothing if none is within reach.

    Only walls count that have each of the two places on their free side or beyond an end: a thin wall's other
    side may be that of another floor, as beside a stair, and then nothing else stands for its end. Where
    several are equally near, their vectors are added: their order does not matter.
    """
    nearest, into_x, into_y = within, 0.0, 0.0
    for entry in range(begin, end):
        wall = zone_wall[entry]
        ux, uy = shape[wall, 4], shape[wall, 5]
        if ux == 0.0 and uy == 0.0:
            continue
        here, there = _height(shape, wall, ux, uy, x, y), _height(shape, wall, ux, uy, to_x, to_y)
        if (here <= 0.0 and not _is_beyond(shape, wall, ux, uy, x, y)) or (
            there <= 0.0 and not _is_beyond(shape, wall, ux, uy, to_x, to_y)
        ):
            continue
        distance = _distance(shape, wall, ux, uy, to_x, to_y, there)
        if distance > nearest:
            continue
        if distance < nearest:
            nearest, into_x, into_y = distance, 0.0, 0.0
        mx, my = _towards(shape, wall, ux, uy, x, y, here)
        into_x, into_y = into_x + mx, into_y + my
    return into_x, into_y, nearest


@lean_kernel
def _towards(shape, wall, ux, uy, x, y, height):
    """Return the vector from a point to the nearest point of a wall."""
    lx, ly, rx, ry = shape[wall, 0] - x, shape[wall, 1] - y, shape[wall, 2] - x, shape[wall, 3] - y
    if lx * ux + ly * uy > 0.0:
        return lx, ly
    if rx * ux + ry * uy < 0.0:
        return rx, ry
    return -uy * height, ux * height


@lean_kernel
def _is_beyond(shape, wall, ux, uy, x, y):
    """Return whether the point of a wall that is nearest to a point is one of its ends."""
    return (shape[wall, 0] - x) * ux + (shape[wall, 1] - y) * uy > 0.0 or (shape[wall, 2] - x) * ux + (
        shape[wall, 3] - y
    ) * uy < 0.0


@lean_kernel
def _height(shape, wall, ux, uy, x, y):
    """Return how far a point is above a wall's line, positive on the free side;
    the mean from both ends, so that mirrored walls give the same.
    """
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
