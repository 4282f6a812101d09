"""Velocity obstacles as convex sets: what an agent may not do for the sake of another one, or of a wall.

A velocity obstacle is the intersection of up to four open half-planes: a velocity v is forbidden where
``normal_k . v < offset_k`` for every plane k of it, and permitted where one plane lets it go. Two planes are
the legs of the cone of velocities that lead to a collision at all, the others cut the cone off where the
collision would come later than the time horizon. Every shape of the literature that has straight edges is of
this kind: the truncated cone with a butt end of [Guy 2009], the same with a spike, the hybrid cone of
[Snape 2011], the half-plane of agents that overlap, the shadow of a wall.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

import numpy as np

from crowdsim.avoidance.neighbours import MOST_NEIGHBOURS
from crowdsim.avoidance.orca.wall_planes import MOST_WALLS, collision, wall_height
from crowdsim.geometry.walls import ALONG_X, ALONG_Y, LEFT_X, LEFT_Y, RIGHT_X, RIGHT_Y
from crowdsim.kernels.decorator import lean_kernel

PLANES = 4  # Of one obstacle.
# Obstacles of one agent, and room for a whole set of lanes.
AREA = np.uint64(MOST_NEIGHBOURS + MOST_WALLS + 16)
SET = np.uint64(PLANES) * AREA  # Plane k of obstacle j stands at ``k * AREA + j`` of each set of numbers.
# sets within the array of planes
NORMAL_X, NORMAL_Y, OFFSET, BASE, CUT = (SET * np.uint64(number) for number in range(5))
PLANE_FLOATS = 5 * PLANES * (MOST_NEIGHBOURS + MOST_WALLS + 16)

# How the side on which two pass is biased.
UNBIASED, HYBRID, LIBRARY = 0, 1, 2

_INFINITE = np.float32(np.inf)


@lean_kernel
def _put(planes, obstacle, plane, nx, ny, base, cut):
    """Write one plane of an obstacle: `base` is the offset of an endless horizon,
    `cut` what the declared one adds.
    """
    at = np.uint64(plane) * AREA + obstacle
    planes[NORMAL_X + at], planes[NORMAL_Y + at] = np.float32(nx), np.float32(ny)
    planes[BASE + at], planes[CUT + at], planes[OFFSET + at] = (
        np.float32(base),
        np.float32(cut),
        np.float32(base + cut),
    )


@lean_kernel
def _put_nothing(planes, obstacle, plane):
    """Write a plane that lets nothing go: it is not there."""
    at = np.uint64(plane) * AREA + obstacle
    planes[NORMAL_X + at], planes[NORMAL_Y + at] = np.float32(0.0), np.float32(0.0)
    planes[BASE + at], planes[CUT + at], planes[OFFSET + at] = _INFINITE, np.float32(0.0), _INFINITE


@lean_kernel
def _reaches(planes, obstacle, speed):
    """Tell whether an obstacle forbids any velocity of the disc of `speed` m/s."""
    for plane in range(PLANES):
        if planes[OFFSET + np.uint64(plane) * AREA + obstacle] <= -speed:
            return False
    return True


@lean_kernel
def _put_half_plane(planes, obstacle, nx, ny, offset):
    """Write an obstacle that is a half-plane."""
    _put(planes, obstacle, 0, nx, ny, offset, 0.0)
    for plane in range(1, PLANES):
        _put_nothing(planes, obstacle, plane)


@lean_kernel
def _put_tip(planes, obstacle, ax, ay, mx, my, reach, leg, cut, farther):
    """Write the planes that cut a cone off whose axis is (ax, ay) and whose apex is (mx, my):
    a spike with shoulders `cut` m/s from the apex.
    """
    # The left edge runs from the point of the spike at (cut / farther, 0) to the butt's end at (cut,
    # cut * reach / leg), in axis and left of it.
    across = (1.0 - 1.0 / farther) * leg
    length = np.sqrt(reach * reach + across * across)
    along, across = -reach / length, across / length
    for plane in range(2, PLANES):
        nx = along * ax - across * ay if plane == 2 else along * ax + across * ay
        ny = along * ay + across * ax if plane == 2 else along * ay - across * ax
        _put(planes, obstacle, plane, nx, ny, nx * mx + ny * my, along * (cut / farther))


@lean_kernel
def agent_obstacle(
    planes,
    obstacle,
    px,
    py,
    vx,
    vy,
    other_vx,
    other_vy,
    reach,
    share,
    turn,
    per_horizon,
    per_tick,
    lower,
    shape,
    speed,
):
    """Write the velocity obstacle of another agent.

    Parameters
    ----------
    planes : (PLANE_FLOATS,) float32
        Receives it in the place `obstacle`.
    obstacle : uint64
    px, py : float64, m
        Centre of the other one, seen from the agent's.
    vx, vy, other_vx, other_vy : float64, m/s
    reach : float64, m
        Sum of both radii.
    share : float64
        What is left to the other one: 1/2 of one that decides for itself, 0 of one that stands.
    turn : float64
        Positive where the agent passes with the other one on its right, negative with it on its left, 0
        undecided.
    per_horizon, per_tick : float64, 1/s
        Reciprocals of the time horizon (0: endless) and of the tick.
    lower : bool
        The agent's entity id is the lower one; decides between those at the very same place.
    shape : tuple of float64
        Kind of bias (UNBIASED, HYBRID or LIBRARY), its strength 0..1, and by what factor the spike looks
        farther ahead than the shoulders (1: a butt end).
    speed : float32, m/s
        Radius of the disc of velocities.

    Returns
    -------
    bool
        Whether it forbids any of these velocities; otherwise its place is free for the next.

    Notes
    -----
    With the legs of the cone at the origin, an obstacle that is shared is moved by
    ``other_v + share * (v - other_v)`` and shrunk by ``1 - share`` ([Guy 2009], section 3; [van den Berg
    2008]). The hybrid of [Snape 2011], section IV, moves one leg less than the other, by
    ``share * (1 - strength)``: the one on the side where the agent is not to go. Its library ([HRVO 2009])
    moves a leg the wrong way round, by ``-share``, where the agent passes with the other one on its left,
    whereby mirrored scenes are no longer mirrored; LIBRARY does that as well. The butt end touches the disc
    that cuts the cone off, as in [Guy 2009]; the spike ([Mononen 2010], Geometric vs. Sampling) begins at the
    butt's ends and comes to its point on the axis, where a collision would come after that many horizons.
    Twin: `tests/reference/clearpath.py`.
    """
    kind, strength, farther = shape
    rx, ry = vx - other_vx, vy - other_vy
    square = px * px + py * py
    distance = np.sqrt(square)
    if not square > reach * reach:  # overlapping: no closer, and apart within a tick, each its share
        if distance > 0.0:
            nx, ny = -px / distance, -py / distance
        else:
            nx, ny = (1.0 if lower else -1.0), 0.0
        base = (
            (nx * other_vx + ny * other_vy)
            + share * (nx * rx + ny * ry)
            + (1.0 - share) * (reach - distance) * per_tick
        )
        _put_half_plane(planes, obstacle, nx, ny, base)
        return _reaches(planes, obstacle, speed)
    leg = np.sqrt(square - reach * reach)
    ax, ay = px / distance, py / distance  # the axis
    sine, cosine = reach / distance, leg / distance
    # Normals of the legs, away from the cone: (axis turned by the half opening) turned by a right angle to
    # its own side.
    left_x, left_y = -(ax * sine + ay * cosine), ax * cosine - ay * sine
    right_x, right_y = ay * cosine - ax * sine, -(ax * cosine + ay * sine)
    left_share, right_share = share, share
    if turn > 0.0:
        right_share = share * (1.0 - strength) if kind != UNBIASED else share
    elif turn < 0.0 and kind != UNBIASED:
        left_share = share * (1.0 - strength)
        if kind == LIBRARY:
            right_share = -share
    _put(
        planes,
        obstacle,
        0,
        left_x,
        left_y,
        (left_x * other_vx + left_y * other_vy) + left_share * (left_x * rx + left_y * ry),
        0.0,
    )
    _put(
        planes,
        obstacle,
        1,
        right_x,
        right_y,
        (right_x * other_vx + right_y * other_vy) + right_share * (right_x * rx + right_y * ry),
        0.0,
    )
    if per_horizon > 0.0:
        cut = (1.0 - share) * (distance - reach) * per_horizon
        _put_tip(
            planes, obstacle, ax, ay, other_vx + share * rx, other_vy + share * ry, reach, leg, cut, farther
        )
    else:
        _put_nothing(planes, obstacle, 2)
        _put_nothing(planes, obstacle, 3)
    return _reaches(planes, obstacle, speed)


@lean_kernel
def wall_obstacle(planes, obstacle, frame_shape, frame_link, wall, x, y, radius, per_horizon, speed):
    """Write the velocity obstacle of a wall.

    Parameters
    ----------
    planes : (PLANE_FLOATS,) float32
        Receives it in the place `obstacle`.
    obstacle : uint64
    frame_shape, frame_link : (m, 6) float64 and (m, 4) int64
        As in `WallFrame`.
    wall : int
    x, y : float64, m
        Where the agent is.
    radius : float64, m
    per_horizon : float64, 1/s
        Reciprocal of the time for which walls are to be kept clear.
    speed : float32, m/s

    Returns
    -------
    bool
        As of `agent_obstacle`.

    Notes
    -----
    All velocities that lead the disc onto the segment: tangents of its two ends are the legs, or of the near
    end where the wall is seen from its tip; cut off parallel to the wall, and across the direction to the
    near end where the foot lies beyond it. A wall that is touched forbids to go on into it. No velocity
    obstacle of a wall forbids to stand still. Twin: `tests/reference/clearpath.py`.
    """
    ux, uy = frame_shape[wall, ALONG_X], frame_shape[wall, ALONG_Y]
    lx, ly = frame_shape[wall, LEFT_X] - x, frame_shape[wall, LEFT_Y] - y
    rx, ry = frame_shape[wall, RIGHT_X] - x, frame_shape[wall, RIGHT_Y] - y
    height = wall_height(ux, uy, lx, ly, rx, ry)
    before, after = lx * ux + ly * uy > 0.0, rx * ux + ry * uy < 0.0
    collides, exists, nx, ny = collision(
        frame_shape, frame_link, wall, lx, ly, rx, ry, height, before, after, radius * radius
    )
    if collides:
        if not exists:  # a corner that is none: the next wall, which goes on there, is touched as well
            return False
        _put_half_plane(planes, obstacle, nx, ny, 0.0)
        return True
    if height <= radius:  # seen from beyond an end, not from before it
        if before:
            rx, ry = lx, ly
        else:
            lx, ly = rx, ry
    left_square, right_square = lx * lx + ly * ly, rx * rx + ry * ry
    left_leg, right_leg = (
        np.sqrt(max(left_square - radius * radius, 0.0)),
        np.sqrt(max(right_square - radius * radius, 0.0)),
    )
    _put(
        planes,
        obstacle,
        0,
        -(lx * radius + ly * left_leg) / left_square,
        (lx * left_leg - ly * radius) / left_square,
        0.0,
        0.0,
    )
    _put(
        planes,
        obstacle,
        1,
        (ry * right_leg - rx * radius) / right_square,
        -(rx * right_leg + ry * radius) / right_square,
        0.0,
        0.0,
    )
    if height > radius:
        _put(planes, obstacle, 2, uy, -ux, 0.0, (radius - height) * per_horizon)
    else:
        _put_nothing(planes, obstacle, 2)
    if before or after:
        nx, ny, length = (lx, ly, np.sqrt(left_square)) if before else (rx, ry, np.sqrt(right_square))
        _put(planes, obstacle, 3, -nx / length, -ny / length, 0.0, (radius - length) * per_horizon)
    else:
        _put_nothing(planes, obstacle, 3)
    return _reaches(planes, obstacle, speed)
