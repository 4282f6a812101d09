"""The half-planes of velocities that keep an agent clear of walls for a while (ORCA)."""

# mypy: allow-untyped-defs

from __future__ import annotations

import numpy as np

from crowdsim.avoidance.orca.linear_programs import NORMAL_X, NORMAL_Y, OFFSET
from crowdsim.geometry.walls import (
    ALONG_X,
    ALONG_Y,
    BEYOND_LEFT,
    BEYOND_RIGHT,
    LEFT_CORNER,
    LEFT_X,
    LEFT_Y,
    RIGHT_CORNER,
    RIGHT_X,
    RIGHT_Y,
)
from crowdsim.kernels.decorator import lean_kernel

# Nearest walls that one agent heeds. Those behind are hidden by the nearer ones on any floor plan that agents
# can walk.
MOST_WALLS = 48
# A centre up to a millimetre behind a wall counts as on it: an agent that was clipped to the wall is to leave
# it, not to lose it.
BEHIND_M = 1e-3
# m/s; a wall whose obstacle is kept by an earlier half-plane to within this adds none (RVO2's RVO_EPSILON).
COVERED = 1e-5

_INFINITE = np.inf


@lean_kernel
def wall_height(ux, uy, lx, ly, rx, ry):
    """Return how far the agent is from the wall's line, positive on the free side;
    the mean of both ends', so that mirrored walls give the same.
    """
    return 0.5 * ((ly * ux - lx * uy) + (ry * ux - rx * uy))


@lean_kernel
def near_walls(shape, zone_wall, begin, end, x, y, reach, distances, found):
    """Find the walls of a zone whose free side an agent is on and that come nearer than `reach`,
    nearest first.

    Parameters
    ----------
    shape : (m, 6) float64, m
        As in `WallFrame`.
    zone_wall : (k,) int32
    begin, end : int
        The walls to look at are ``zone_wall[begin:end]``.
    x, y, reach : float, m
    distances : (MOST_WALLS,) float64, m^2
        Workspace.
    found : (MOST_WALLS,) int64
        Receives the walls; equally near ones in the order of the list.

    Returns
    -------
    int
        Their number.

    Notes
    -----
    Twin: `tests/reference/orca.py`.
    """
    count = 0
    reach_squared = reach * reach
    for entry in range(begin, end):
        wall = zone_wall[entry]
        ux, uy = shape[wall, ALONG_X], shape[wall, ALONG_Y]
        lx, ly = shape[wall, LEFT_X] - x, shape[wall, LEFT_Y] - y
        rx, ry = shape[wall, RIGHT_X] - x, shape[wall, RIGHT_Y] - y
        height = wall_height(ux, uy, lx, ly, rx, ry)
        # > 0: left of the left end; < 0: right of the right end
        beyond_left, beyond_right = lx * ux + ly * uy, rx * ux + ry * uy
        if beyond_left > 0.0:
            square, visible = lx * lx + ly * ly, height > 0.0
        elif beyond_right < 0.0:
            square, visible = rx * rx + ry * ry, height > 0.0
        else:
            square, visible = height * height, height > -BEHIND_M
        if not visible or square >= reach_squared or (ux == 0.0 and uy == 0.0):
            continue
        if count == MOST_WALLS:
            if square >= distances[count - 1]:
                continue
            count -= 1
        place = count
        while place > 0 and square < distances[place - 1]:
            distances[place], found[place] = distances[place - 1], found[place - 1]
            place -= 1
        distances[place], found[place] = square, wall
        count += 1
    return count


@lean_kernel
def collision(shape, link, wall, lx, ly, rx, ry, height, before, after, radius_squared):
    """Return (collides, has a half-plane, its normal) where the disc touches the wall already."""
    left_squared, right_squared = lx * lx + ly * ly, rx * rx + ry * ry
    if before and left_squared <= radius_squared:
        length = np.sqrt(left_squared)
        return (
            True,
            (link[wall, LEFT_CORNER] != 0) and length > 0.0,
            -lx / max(length, 1e-300),
            -ly / max(length, 1e-300),
        )
    if after and right_squared <= radius_squared:
        # The wall beyond takes care of this corner where the agent is on its free side as well.
        beyond = link[wall, BEYOND_RIGHT]
        alone = beyond < 0 or rx * shape[beyond, ALONG_Y] - ry * shape[beyond, ALONG_X] >= 0.0
        length = np.sqrt(right_squared)
        return (
            True,
            (link[wall, RIGHT_CORNER] != 0) and alone and length > 0.0,
            -rx / max(length, 1e-300),
            -ry / max(length, 1e-300),
        )
    if not before and not after and height * height <= radius_squared:
        return True, True, shape[wall, ALONG_Y], -shape[wall, ALONG_X]
    return False, False, 0.0, 0.0


@lean_kernel
def _left_leg(x, y, radius):
    """Return the direction from the origin that passes a disc of this radius at (x, y) on its left."""
    square = x * x + y * y
    leg = np.sqrt(max(square - radius * radius, 0.0))
    return (x * leg - y * radius) / square, (x * radius + y * leg) / square


@lean_kernel
def _right_leg(x, y, radius):
    """Return the direction from the origin that passes a disc of this radius at (x, y) on its right."""
    square = x * x + y * y
    leg = np.sqrt(max(square - radius * radius, 0.0))
    return (x * leg + y * radius) / square, (y * leg - x * radius) / square


@lean_kernel
def _legs(shape, link, wall, lx, ly, rx, ry, height, before, after, radius):
    """Return the legs of a wall's velocity obstacle.

    Returns
    -------
    exists : bool
        False where the only corner in sight is none.
    single : int
        0: both ends shape the obstacle; 1: the left end alone, 2: the right end alone (the wall is seen
        obliquely).
    left_x, left_y, right_x, right_y : float64
        Unit vectors.
    left_foreign, right_foreign : bool
        The leg is the cut-off line of the wall beyond.
    """
    ux, uy = shape[wall, ALONG_X], shape[wall, ALONG_Y]
    left_beyond, right_beyond = link[wall, BEYOND_LEFT], link[wall, BEYOND_RIGHT]
    left_corner, right_corner = link[wall, LEFT_CORNER] != 0, link[wall, RIGHT_CORNER] != 0
    single = 0
    if before and height * height <= radius * radius:  # seen obliquely: the left end alone
        if not left_corner:
            return False, 0, 0.0, 0.0, 0.0, 0.0, False, False
        single = 1
        left_x, left_y = _left_leg(lx, ly, radius)
        right_x, right_y = _right_leg(lx, ly, radius)
        right_corner, right_beyond = True, wall
    elif after and height * height <= radius * radius:  # seen obliquely: the right end alone
        if not right_corner:
            return False, 0, 0.0, 0.0, 0.0, 0.0, False, False
        single = 2
        left_x, left_y = _left_leg(rx, ry, radius)
        right_x, right_y = _right_leg(rx, ry, radius)
        left_corner, left_beyond = True, wall
    else:
        if left_corner:
            left_x, left_y = _left_leg(lx, ly, radius)
        else:  # the boundary goes on: the leg extends the cut-off line
            left_x, left_y = -ux, -uy
        if right_corner:
            right_x, right_y = _right_leg(rx, ry, radius)
        else:
            right_x, right_y = ux, uy
    # A leg never points into the wall beyond: that wall's own obstacle begins there.
    left_foreign = right_foreign = False
    if left_corner and left_beyond >= 0:
        next_ux, next_uy = shape[left_beyond, ALONG_X], shape[left_beyond, ALONG_Y]
        if left_y * next_ux - left_x * next_uy >= 0.0:
            left_x, left_y, left_foreign = -next_ux, -next_uy, True
    if right_corner and right_beyond >= 0:
        next_ux, next_uy = shape[right_beyond, ALONG_X], shape[right_beyond, ALONG_Y]
        if right_x * next_uy - right_y * next_ux <= 0.0:
            right_x, right_y, right_foreign = next_ux, next_uy, True
    return True, single, left_x, left_y, right_x, right_y, left_foreign, right_foreign


@lean_kernel
def _covered(lines, count, lx, ly, rx, ry, per_horizon, radius):
    """Tell whether an earlier half-plane keeps the agent clear of both ends, and so of the whole wall."""
    for line in range(count):
        nx, ny, offset = lines[NORMAL_X + line], lines[NORMAL_Y + line], lines[OFFSET + line]
        left, right = nx * lx + ny * ly, nx * rx + ny * ry
        if (
            offset - per_horizon * (left + radius) >= -COVERED
            and offset - per_horizon * (right + radius) >= -COVERED
        ):
            return True
    return False


@lean_kernel
def _project(shape, wall, legs, lx, ly, rx, ry, height, vx, vy, per_horizon, radius):
    """Return (exists, normal, offset) of the half-plane at the point of the velocity obstacle that is nearest
    to the velocity.
    """
    _, single, left_x, left_y, right_x, right_y, left_foreign, right_foreign = legs
    if single == 1:
        rx, ry = lx, ly
    elif single == 2:
        lx, ly = rx, ry
    ux, uy = shape[wall, ALONG_X], shape[wall, ALONG_Y]
    cap = radius * per_horizon
    # from the centres of the cut-off discs to the velocity
    left_vx, left_vy = vx - lx * per_horizon, vy - ly * per_horizon
    right_vx, right_vy = vx - rx * per_horizon, vy - ry * per_horizon
    off_left, off_right = left_vx * ux + left_vy * uy < 0.0, right_vx * ux + right_vy * uy > 0.0
    along_left, along_right = left_vx * left_x + left_vy * left_y, right_vx * right_x + right_vy * right_y
    # left cut-off disc
    if (single == 0 and off_left and along_left < 0.0) or (
        single != 0 and along_left < 0.0 and along_right < 0.0
    ):
        length = np.sqrt(left_vx * left_vx + left_vy * left_vy)
        nx, ny = left_vx / length, left_vy / length
        return True, nx, ny, per_horizon * (nx * lx + ny * ly) + cap
    if single == 0 and off_right and along_right < 0.0:  # right cut-off disc
        length = np.sqrt(right_vx * right_vx + right_vy * right_vy)
        nx, ny = right_vx / length, right_vy / length
        return True, nx, ny, per_horizon * (nx * rx + ny * ry) + cap
    to_cutoff = (
        _INFINITE if single != 0 or off_left or off_right else abs(uy * vx - ux * vy + height * per_horizon)
    )
    to_left = _INFINITE if along_left < 0.0 else abs(left_x * left_vy - left_y * left_vx)
    to_right = _INFINITE if along_right < 0.0 else abs(right_x * right_vy - right_y * right_vx)
    if to_cutoff <= to_left and to_cutoff <= to_right:
        return True, uy, -ux, cap - height * per_horizon
    # heading for the centre: the disc's foremost point, so that mirrored scenes stay mirrored
    if single != 0 and to_left == to_right:
        length = np.sqrt(lx * lx + ly * ly)
        return True, -lx / length, -ly / length, cap - length * per_horizon
    if to_left <= to_right:
        return not left_foreign, -left_y, left_x, per_horizon * (left_x * ly - left_y * lx) + cap
    return not right_foreign, right_y, -right_x, per_horizon * (right_y * rx - right_x * ry) + cap


@lean_kernel
def wall_half_planes(
    shape, link, zone_wall, begin, end, x, y, vx, vy, radius, reach, per_horizon, distances, found, lines
):
    """Write the half-planes that walls impose on an agent, those of nearer walls first.

    Parameters
    ----------
    shape, link : (m, 6) float64 and (m, 4) int64
        As in `WallFrame`.
    zone_wall : (k,) int32
    begin, end : int
        The walls to heed are ``zone_wall[begin:end]``.
    x, y : float, m
    vx, vy : float, m/s
    radius : float, m
    reach : float, m
        Walls farther away are left out.
    per_horizon : float, 1/s
        Reciprocal of the time for which walls are to be kept clear.
    distances, found : (MOST_WALLS,) float64, int64
        Workspaces.
    lines : (LINE_FLOATS,) float32
        Receives the half-planes from the first place on.

    Returns
    -------
    uint64
        Their number.

    Notes
    -----
    [van den Berg 2011], section 5.2, in the form that RVO2 gave it: a wall already kept by an earlier
    half-plane adds none; a wall that is touched forbids to go on into it; one corner seen obliquely stands
    for the wall; at a corner that is none, the leg is the cut-off line; a leg that would point into the wall
    beyond is that wall's cut-off line, and projecting on it adds nothing, since that wall adds its own. Twin:
    `tests/reference/orca.py`.
    """
    count = np.uint64(0)
    for nth in range(near_walls(shape, zone_wall, begin, end, x, y, reach, distances, found)):
        wall = found[nth]
        ux, uy = shape[wall, ALONG_X], shape[wall, ALONG_Y]
        lx, ly = shape[wall, LEFT_X] - x, shape[wall, LEFT_Y] - y
        rx, ry = shape[wall, RIGHT_X] - x, shape[wall, RIGHT_Y] - y
        if _covered(lines, count, lx, ly, rx, ry, per_horizon, radius):
            continue
        height = wall_height(ux, uy, lx, ly, rx, ry)
        before, after = lx * ux + ly * uy > 0.0, rx * ux + ry * uy < 0.0
        collides, exists, nx, ny = collision(
            shape, link, wall, lx, ly, rx, ry, height, before, after, radius * radius
        )
        offset = 0.0
        if not collides:
            legs = _legs(shape, link, wall, lx, ly, rx, ry, height, before, after, radius)
            if not legs[0]:
                continue
            exists, nx, ny, offset = _project(
                shape, wall, legs, lx, ly, rx, ry, height, vx, vy, per_horizon, radius
            )
        if exists:
            lines[NORMAL_X + count], lines[NORMAL_Y + count], lines[OFFSET + count] = (
                np.float32(nx),
                np.float32(ny),
                np.float32(offset),
            )
            count += np.uint64(1)
    return count
