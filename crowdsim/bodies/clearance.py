"""Whether a disc may be pushed to a place, as far as walls and open edges of the ground are concerned."""

# mypy: allow-untyped-defs

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.geometry.walls import Walls, wall_frame
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


class Barriers(NamedTuple):
    """What holds pushed discs back: walls, and after them the open edges of the ground, laid out for kernels.

    Discs keep their radius from walls. At an open edge, as under an exit, they only keep their centres on the
    ground, which is what walking does.

    Attributes
    ----------
    shape : (m, 6) float64, m
        As in `WallFrame`: end x and y, start x and y, unit vector from end to start; free ground on the right
        of that vector.
    zone_start : (z + 1,) int64
    zone_wall : (k,) int32
        The barriers of zone z are ``zone_wall[zone_start[z]:zone_start[z + 1]]``, ascending.
    first_open : int
        Barriers from this number on are open edges.
    """

    shape: NDArray[np.float64]
    zone_start: NDArray[np.int64]
    zone_wall: NDArray[np.int32]
    first_open: int


def barriers(walls: Walls, open_edges: Walls | None = None) -> Barriers:
    """Return walls and the open edges of the same zones as kernels read them."""
    frame, first_open = wall_frame(walls), len(walls.start)
    if open_edges is None or not len(open_edges.start):
        return Barriers(frame.shape, frame.zone_start, frame.zone_wall, first_open)
    edges = wall_frame(open_edges)
    zone = np.concatenate(
        [np.repeat(np.arange(len(each) - 1), np.diff(each)) for each in (frame.zone_start, edges.zone_start)]
    )
    both = np.concatenate([frame.zone_wall, edges.zone_wall + np.int32(first_open)])
    return Barriers(
        np.ascontiguousarray(np.vstack([frame.shape, edges.shape])),
        frame.zone_start + edges.zone_start,
        both[np.argsort(zone, kind="stable")],
        first_open,
    )


@lean_kernel
def may_be_pushed(barriers, begin, end, x, y, to_x, to_y, radius):
    """Return whether a disc may be pushed from (x, y) straight to (to_x, to_y).

    It may if it stays its radius clear of every wall on whose free side it is, and of the ends of those
    beyond which it would be, or no nearer than it was, and its centre crosses none, and no open edge.

    Parameters
    ----------
    barriers : Barriers
    begin, end : int
        Those that count are ``zone_wall[begin:end]``.
    x, y, to_x, to_y, radius : float, m

    Returns
    -------
    bool

    Notes
    -----
    Source: [Pathfinding undated], section 8 ("If a pushed position is unwalkable, only the other character is
    moved"). Twin: `tests/reference/clearance.py`.
    """
    shape, _, zone_wall, first_open = barriers
    for entry in range(begin, end):
        wall = zone_wall[entry]
        ux, uy = shape[wall, 4], shape[wall, 5]
        if ux == 0.0 and uy == 0.0:
            continue
        if wall >= first_open:
            if _leaves(shape, wall, ux, uy, x, y, to_x, to_y):
                return False
            continue
        height = _height(shape, wall, ux, uy, x, y)
        if height < -_BEHIND_M and not _is_beyond(shape, wall, ux, uy, to_x, to_y):
            continue
        new_height = _height(shape, wall, ux, uy, to_x, to_y)
        if height >= 0.0 > new_height and _cuts(
            shape, wall, ux, uy, x, y, to_x, to_y, height / (height - new_height)
        ):
            return False
        distance = _distance(shape, wall, ux, uy, to_x, to_y, new_height)
        if (
            distance < radius - GRACE_M
            and distance < _distance(shape, wall, ux, uy, x, y, height) - ROUNDING_M
        ):
            return False
    return True


@lean_kernel
def _cuts(shape, wall, ux, uy, x, y, to_x, to_y, share):
    """Return whether the point at a share of the line between two places is on a wall, along it."""
    cut_x, cut_y = x + (to_x - x) * share, y + (to_y - y) * share
    return (cut_x - shape[wall, 0]) * ux + (cut_y - shape[wall, 1]) * uy >= 0.0 and (
        cut_x - shape[wall, 2]
    ) * ux + (cut_y - shape[wall, 3]) * uy <= 0.0


@lean_kernel
def _leaves(shape, edge, ux, uy, x, y, to_x, to_y):
    """Return whether a centre leaves the ground over an open edge; if it is off it already, whether it goes
    farther.
    """
    height, new_height = _height(shape, edge, ux, uy, x, y), _height(shape, edge, ux, uy, to_x, to_y)
    if height < -_BEHIND_M or new_height >= min(height, 0.0):
        return False
    share = max(height, 0.0) / (height - new_height)
    return _cuts(shape, edge, ux, uy, x, y, to_x, to_y, share)


@lean_kernel
def clear_of_walls(barriers, zone, wall_distance, reach, x, y, dx, dy, length, radius):
    """Return whether the walls let a disc be pushed, far from walls without looking at them.

    Parameters
    ----------
    barriers : Barriers
    zone : int
        Row of their lists.
    wall_distance : float, m
        Lower bound of the distance from (x, y) to any wall, and of `radius` and the distance to any open
        edge.
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
    zone_start = barriers.zone_start
    return may_be_pushed(barriers, zone_start[zone], zone_start[zone + 1], x, y, x + dx, y + dy, radius)


@lean_kernel
def bent_along_walls(barriers, zone, reach, x, y, dx, dy, radius, slides):
    """Bend a push that walls refuse along the wall that it would come nearest to.

    Parameters
    ----------
    barriers : Barriers
    zone : int
        Row of their lists.
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
    begin, end = barriers.zone_start[zone], barriers.zone_start[zone + 1]
    into_x, into_y, _ = _nearest_wall(barriers, begin, end, x, y, x + dx, y + dy, radius)
    square = into_x * into_x + into_y * into_y
    if square <= 0.0:
        return 0.0, 0.0
    lost = (dx * into_x + dy * into_y) / square
    ex, ey = dx - lost * into_x, dy - lost * into_y
    left = np.sqrt(ex * ex + ey * ey)
    if lost > 0.0 and slides and left > _LEAST_SLIDE * length:
        sx, sy = ex * (length / left), ey * (length / left)
        if may_be_pushed(barriers, begin, end, x, y, x + sx, y + sy, radius):
            return sx, sy
    if lost <= 0.0 or left < _LEAST_BEND * length:
        return 0.0, 0.0
    if not may_be_pushed(barriers, begin, end, x, y, x + ex, y + ey, radius):
        return 0.0, 0.0
    return ex, ey


@kernel
def move_off_walls(
    start, stop, position, tentative, radius, zone, wall_distance, reach, barriers, out, clear
):
    """Move discs that would be within walls off them, and centres back over open edges, as walking does in
    the end.

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
    barriers : Barriers
    out : (n, 2) float64, m
        Receives the tentative positions, clear of walls where that can be had in a few moves. A disc that
        steps farther than its radius, and so may have crossed a wall, is left as it is.
    clear : (n,) float32, m
        Receives a lower bound of the distance from `out` to any wall, and of `radius` and the distance to any
        open edge.

    Notes
    -----
    Twin: `tests/reference/clearance.py`.
    """
    for row in range(np.uint64(start), np.uint64(stop)):
        begin, end = barriers.zone_start[zone[row]], barriers.zone_start[zone[row] + 1]
        x, y, open_distance = tentative[row, 0], tentative[row, 1], np.inf
        if end > begin and barriers.zone_wall[end - 1] >= barriers.first_open:  # edges are listed after walls
            x, y, open_distance = _back_over_edges(
                barriers, begin, end, position[row, 0], position[row, 1], x, y
            )
        out[row, 0], out[row, 1] = x, y
        dx, dy = x - position[row, 0], y - position[row, 1]
        step = np.sqrt(dx * dx + dy * dy)
        free = min(wall_distance[row] - step, radius[row] + open_distance)
        clear[row] = np.float32(max(free, 0.0)) * _LESS
        if clear[row] >= radius[row] or step > radius[row] or step + radius[row] > reach:
            continue
        for _ in range(_MOST_WALLS + 1):
            mx, my, distance = _nearest_wall(barriers, begin, end, x, y, x, y, radius[row] - GRACE_M)
            length = np.sqrt(mx * mx + my * my)
            if length == 0.0:
                out[row, 0], out[row, 1] = x, y
                break
            away = radius[row] - distance
            x, y = x - mx / length * away, y - my / length * away


@lean_kernel
def _back_over_edges(barriers, begin, end, x, y, to_x, to_y):
    """Return where a centre comes to that goes straight from a place on the ground to another, and along open
    edges where it meets them; and a lower bound of its distance from any.
    """
    shape, _, zone_wall, first_open = barriers
    distance = np.inf
    for _ in range(2):  # in a corner the first may lead over the second
        distance, has_left = np.inf, False
        for back in range(end - begin):
            edge = zone_wall[end - 1 - back]
            if edge < first_open:
                break
            ux, uy = shape[edge, 4], shape[edge, 5]
            if ux == 0.0 and uy == 0.0:
                continue
            height = _height(shape, edge, ux, uy, to_x, to_y)
            if height < 0.0 and _leaves(shape, edge, ux, uy, x, y, to_x, to_y):
                to_x, to_y, height, has_left = to_x - uy * height, to_y + ux * height, 0.0, True
            distance = min(distance, abs(height))  # from its line: no edge is nearer than that
        if not has_left:
            break
    return to_x, to_y, distance


@lean_kernel
def _nearest_wall(barriers, begin, end, x, y, to_x, to_y, within):
    """Return the vector from (x, y) to the wall that is nearest to another place,
    and that place's distance from it; nothing if none is within reach.

    Only walls count that have each of the two places on their free side or beyond an end: a thin wall's other
    side may be that of another floor, as beside a stair, and then nothing else stands for its end. Where
    several are equally near, their vectors are added: their order does not matter. An open edge counts only
    where the line between the places leaves the ground over it, and then before all walls; of its vector only
    the direction holds.
    """
    shape, _, zone_wall, first_open = barriers
    nearest, into_x, into_y = within, 0.0, 0.0
    for entry in range(begin, end):
        wall = zone_wall[entry]
        ux, uy = shape[wall, 4], shape[wall, 5]
        if ux == 0.0 and uy == 0.0:
            continue
        if wall >= first_open:
            if _leaves(shape, wall, ux, uy, x, y, to_x, to_y):
                if nearest > 0.0:
                    nearest, into_x, into_y = 0.0, 0.0, 0.0
                into_x, into_y = into_x - uy, into_y + ux
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
